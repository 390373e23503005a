"""The claims of an aligned sum: each step of its datapath against the model's own functions, and how they compose.

Between steps stand relations: how the RTL's signals say what the model's terms are. A product of exponent e is `exp` = e
+ the bias of products and at least 1, a product of zero has `exp` = 0 and `sig` = 0, an addend of exponent e is e + the
same bias. Each step is proved for every input for which the relation before it holds, and so the relation after it does.

A group is one of three, which are all: one of its terms is special; or none, and no product is other than zero; or none,
and at least one is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, assert_never

from hwsim.formats import Class, Fields, FloatFormat
from hwsim.model.addition import combine_specials
from hwsim.model.definition import Definition
from hwsim.model.scales import scale_exponent
from hwsim.model.terms import Term as ModelTerm
from hwsim.model.terms import addend_term, factor, product
from hwsim.model.window import align
from hwsim.prove.btor import Circuit
from hwsim.prove.circuits import circuits, connected, fixed
from hwsim.prove.claims import AnyClaim, Claim, FormClaim
from hwsim.prove.linear import Bounded, Form, Forms, Variable, form
from hwsim.prove.logic import (
    Kind,
    Term,
    both,
    either,
    implies,
    is_one,
    negated,
    op,
    same,
    substituted,
    true,
    value,
    width,
)
from hwsim.prove.maxima import without_maxima
from hwsim.prove.symbolic import Integer, Path, Truth, as_integer, ite, paths
from hwsim.rtl.datapath import datapath
from hwsim.rtl.numbers import FieldRange, WindowRanges
from hwsim.spec import AlignedSum, Unit

SPECIAL = ("nan", "positive", "negative")


def holds(truth: object) -> Term:
    """A condition as a term."""
    return truth.term if isinstance(truth, Truth) else true() if truth else negated(true())


def exactly(number: object, low: int, high: int) -> Term:
    """That an integer is from low to high."""
    return both(holds(as_integer(number) >= low), holds(as_integer(number) <= high))


def each(found: Sequence[Path[Term]]) -> Term:
    """What holds on every path."""
    return both(*(implies(path.condition, path.result) for path in found))


@dataclass(frozen=True)
class Segments:
    """The steps of a datapath, joined where no relation stands between them."""

    decode: Circuit
    multiply: Circuit
    products: Circuit
    maximum: Circuit
    align: Circuit
    sum: Circuit
    round: Circuit

    @classmethod
    def of(cls, unit: Unit, cuts: Sequence[str]) -> Segments:
        """Those of a unit, as these cuts divide its trees."""
        steps = circuits({step.name: step for step in datapath(unit, cuts).steps})

        def part(*names: str) -> Circuit:
            return connected([circuit for name, circuit in steps.items() if name.split(".")[0] in names])

        return cls(
            steps["decode"], steps["multiply"], part("decode", "multiply"), part("maximum"), part("distance", "align"), part("sum"),
            part("magnitude", "normalize", "round"),
        )  # fmt: skip


class AlignedClaims:
    """All claims about the datapath of a unit of method `aligned`."""

    def __init__(self, unit: Unit, cuts: Sequence[str] = ()):
        assert isinstance(unit.sum, AlignedSum)
        self.unit, self.rule = unit, unit.sum
        self.n, self.model = WindowRanges(unit), Definition(unit, keep=False)
        self.parts = Segments.of(unit, cuts)
        self.lifted = not self.n.subnormal_sums

    def claims(self) -> Iterator[AnyClaim]:
        """In the order of the steps."""
        yield from self._products()
        yield from self._addends()
        yield from self._maximum()
        yield from self._aligned()
        yield from self._sum()
        yield from self._rounded()
        yield from self._no_product()
        yield from self._special()

    # Products.

    @cached_property
    def _neutral(self) -> dict[str, Term]:
        """Inputs of the first steps that are +0, with scales of 1."""
        given = {}
        for name, term in self.parts.products.inputs.items():
            one = 0
            for side, fmt in zip(("scale_a", "scale_b"), self.n.scales, strict=False):
                one = fmt.bias if side in name else one
            given[name] = value(one, width(term))
        return given

    def _lane(self, lane: int) -> dict[str, str]:
        """The names of the inputs that a lane's product depends on."""
        names = {"a": f"i__a__{lane}", "b": f"i__b__{lane}"}
        for side, blocks in zip(("scale_a", "scale_b"), self.n.scale_blocks, strict=True):
            if blocks:
                names[side] = f"i__{side}__{lane // -(-self.n.lanes // blocks)}"
        return names

    def _products(self) -> Iterator[AnyClaim]:
        for side, fmt in (("a", self.n.a), ("b", self.n.b)):
            yield self._factor(side, fmt)
        if self.n.scales:
            yield self._scales()
        yield self._product()
        yield FormClaim(
            "lanes: products", "every lane makes the same of its operands", f"{self.n.lanes} lanes", self._lanes_alike
        )
        yield self._gathered()

    def _factor(self, side: Literal["a", "b"], fmt: FloatFormat) -> Claim:
        circuit = self.parts.decode
        port = circuit.inputs[f"i__{side}__0"]
        sign, bexp, sig, nan, inf = self._factor_ports(circuit.outputs, side, "o")

        def is_fields(fields: Fields) -> Term:
            is_nan, is_inf = is_one(nan), is_one(inf)
            match fields.cls:
                case Class.NAN:
                    return is_nan
                case Class.INFINITY:
                    return both(
                        negated(is_nan), is_inf, holds(Integer.unsigned(sig) != 0), self._equal(sign, fields.sign)
                    )
                case Class.ZERO:
                    return both(negated(is_nan), negated(is_inf), self._equal(sig, 0), self._equal(sign, fields.sign))
                case Class.NORMAL | Class.SUBNORMAL:
                    right = [self._equal(sig, fields.sig), holds(as_integer(fields.sig) != 0)]
                    right += [self._equal(bexp, fields.exp + FieldRange.of(fmt).bias), self._equal(sign, fields.sign)]
                    return both(negated(is_nan), negated(is_inf), *right)
                case _:
                    assert_never(fields.cls)

        operands, code = self.unit.operands, Integer.unsigned(port)
        found = paths(lambda: factor(operands.factor(side), operands.convert, operands.daz, operands.zeros, code))
        within = exactly(Integer.unsigned(bexp), 1, FieldRange.of(fmt).most)
        fits = implies(both(negated(is_one(nan)), negated(is_one(inf)), holds(Integer.unsigned(sig) != 0)), within)
        claim = each([Path(path.condition, is_fields(path.result)) for path in found])
        return Claim(
            f"factor: {side}",
            "a decoded code is the model's factor",
            f"codes of {fmt.name}",
            (),
            both(claim, fits),
            (port,),
        )

    @staticmethod
    def _equal(port: Term, number: object) -> Term:
        return holds(Integer.unsigned(port) == number)

    @staticmethod
    def _factor_ports(ports: Mapping[str, Term], side: str, prefix: str) -> list[Term]:
        return [ports[f"{prefix}__{side}__0__{field}"] for field in ("sign", "bexp", "sig", "nan", "inf")]

    def _scales(self) -> Claim:
        circuit, names = self.parts.decode, self._lane(0)
        ports = [circuit.inputs[names[side]] for side in ("scale_a", "scale_b")]
        x, y = map(Integer.unsigned, ports)
        fmt_a, fmt_b = self.n.scales
        found = paths(lambda: scale_exponent(fmt_a, x, fmt_b, y))  # type: ignore[arg-type]
        outputs = fixed(
            circuit, {name: term for name, term in self._neutral.items() if name not in names.values()}
        ).outputs
        nan, exp = is_one(outputs["o__special__nan"]), outputs["o__scale_exp__0"]
        right = [
            Path(path.condition, nan if path.result is None
                 else both(negated(nan), self._equal(exp, path.result + fmt_a.bias + fmt_b.bias)))
            for path in found
        ]  # fmt: skip
        return Claim(
            "scales", "two codes are the exponent that the model's scales have, or NaN", "codes of both scales",
            (), each(right), tuple(ports),
        )  # fmt: skip

    def _product(self) -> Claim:
        """One lane, of decoded factors: what no code decodes to is left out."""
        circuit, n = self.parts.multiply, self.n
        neutral = {name: value(0, width(term)) for name, term in circuit.inputs.items() if "__0" not in name}
        outputs, known, fields = fixed(circuit, neutral).outputs, [], []
        for side, fmt in (("a", n.a), ("b", n.b)):
            ports = self._factor_ports(circuit.inputs, side, "i")
            sign, bexp, sig, nan, inf = ports
            finite = both(negated(is_one(nan)), negated(is_one(inf)), holds(Integer.unsigned(sig) != 0))
            known += [
                implies(finite, exactly(Integer.unsigned(bexp), 1, FieldRange.of(fmt).most)),
                implies(is_one(inf), holds(Integer.unsigned(sig) != 0)),
            ]  # fmt: skip
            fields.append((ports, FieldRange.of(fmt)))
        scale: object = 0
        if n.scales:
            codes = Integer.unsigned(circuit.inputs["i__scale_exp__0"])
            known.append(holds(codes <= n.scale_most))
            scale = codes.between(0, n.scale_most) - sum(fmt.bias for fmt in n.scales)

        def decoded(ports: list[Term], span: FieldRange) -> Fields:
            sign, bexp, sig, nan, inf = ports
            if Truth(is_one(nan)):
                return Fields(0, 0, 0, Class.NAN)
            if Truth(is_one(inf)):
                return Fields(Integer.unsigned(sign), 0, 0, Class.INFINITY)  # type: ignore[arg-type]
            size = Integer.unsigned(sig)
            if not size:
                return Fields(Integer.unsigned(sign), 0, 0, Class.ZERO)  # type: ignore[arg-type]
            exp = Integer.unsigned(bexp).between(1, span.most) - span.bias
            return Fields(Integer.unsigned(sign), exp, size, Class.NORMAL)  # type: ignore[arg-type]

        def lane() -> ModelTerm:
            x, y = (decoded(*each) for each in fields)
            return self.model.scaled(product(x, y, n.product_fraction_bits), scale)  # type: ignore[arg-type]

        found = [Path(path.condition, self._is_product(outputs, path.result)) for path in paths(lane, known)]
        show = [term for name, term in circuit.inputs.items() if "__0" in name]
        return Claim(
            "lane: product", "a lane's term is the model's product, and its flags say what is special",
            "decoded factors of a lane", tuple(known), each(found), tuple(show),
        )  # fmt: skip

    def _is_product(self, outputs: Mapping[str, Term], term: ModelTerm) -> Term:
        sign, exp, sig = (Integer.unsigned(outputs[f"o__terms__0__{field}"]) for field in ("sign", "exp", "sig"))
        special = self._special_as(outputs, term)
        match term.cls:
            case Class.NORMAL:
                right = [exp == term.exp + self.n.product_bias, sig != 0, sign == term.sign, exp >= 1]
                within = [exp <= self.n.product_most, sig <= self._most_sig]
                return both(special, holds(sig == term.sig), *map(holds, (*right, *within)))
            case Class.ZERO:
                return both(special, holds(exp == 0), holds(sig == 0))
            case _:
                return special

    @property
    def _most_sig(self) -> int:
        return ((2 << self.n.a.fraction_bits) - 1) * ((2 << self.n.b.fraction_bits) - 1)

    def _special_as(self, outputs: Mapping[str, Term], term: ModelTerm) -> Term:
        """That flags say of a term what is special about it."""
        nan, positive, negative = (outputs[f"o__special__{flag}"] for flag in SPECIAL)
        match term.cls:
            case Class.NAN:
                return is_one(nan)
            case Class.INFINITY:
                sign = as_integer(term.sign)
                said = holds(Integer.unsigned(negative) == sign), holds(Integer.unsigned(positive) == 1 - sign)
                return both(negated(is_one(nan)), *said)
            case _:
                return both(*(negated(is_one(flag)) for flag in (nan, positive, negative)))

    def _lanes_alike(self) -> bool:
        front, first = self.parts.products, self._lane(0)
        for lane in range(1, self.n.lanes):
            by = {front.inputs[first[side]]: front.inputs[name] for side, name in self._lane(lane).items()}
            for part in ("sign", "exp", "sig"):
                term = substituted(front.outputs[f"o__terms__0__{part}"], by)
                if term != front.outputs[f"o__terms__{lane}__{part}"]:
                    return False
        return True

    def _gathered(self) -> Claim:
        """A flag of the whole is set where one of a term alone is."""
        front = self.parts.products
        wanted = []
        for flag in SPECIAL:
            alone = []
            for lane in range(self.n.lanes):
                mine = self._lane(lane).values()
                others = {name: term for name, term in self._neutral.items() if name not in mine}
                alone.append(is_one(fixed(front, others).outputs[f"o__special__{flag}"]))
            addend = {
                name: term for name, term in self._neutral.items() if name.startswith(("i__a__", "i__b__", "i__sc"))
            }
            alone.append(is_one(fixed(front, addend).outputs[f"o__special__{flag}"]))
            wanted.append(same(is_one(front.outputs[f"o__special__{flag}"]), either(*alone)))
        return Claim(
            "flags: gathered", "a flag is set where a lane or the addend alone would set it", "all operands",
            (), both(*wanted), tuple(front.inputs.values()),
        )  # fmt: skip

    # Addends.

    def _addends(self) -> Iterator[Claim]:
        front = self.parts.products
        quiet = {
            name: term for name, term in self._neutral.items() if name.startswith(("i__a__", "i__b__", "i__scale"))
        }
        alone = fixed(front, quiet)
        for name, fmt, port, chain in self._sources():
            outputs = fixed(alone, {"i__chain": value(chain, 1)}).outputs
            code, clean = self._code_of(fmt, front.inputs[port], padded=name == "c")
            found = paths(lambda fmt=fmt, code=code: addend_term(fmt, code), [clean])  # type: ignore[misc]
            claim = each([Path(path.condition, self._is_addend(outputs, fmt, path.result)) for path in found])
            yield Claim(
                f"addend: {name}", "it is the model's term, moved to the products' exponents", f"codes of {fmt.name}",
                (clean,), claim, (front.inputs[port],),
            )  # fmt: skip
        if self.n.window_addend is None:
            outputs = fixed(alone, {"i__chain": value(0, 1)}).outputs
            zero = ModelTerm(0, 0, 0, 0, Class.ZERO)
            yield Claim(
                "addend: none", "a group that continues nothing adds +0", "all that is carried",
                (), self._is_addend(outputs, self.n.result, zero), (front.inputs["i__carried__code"],),
            )  # fmt: skip

    def _sources(self) -> Iterator[tuple[str, FloatFormat, str, int]]:
        if self.n.window_addend is not None:
            yield "c", self.n.window_addend, "i__c", 0
        yield "partial sum", self.n.result, "i__carried__code", 1

    @staticmethod
    def _code_of(fmt: FloatFormat, port: Term, padded: bool) -> tuple[object, Term]:
        """A port's code in its container, and that its padding is zeros: what the model takes."""
        code = Integer.unsigned(port)
        if not padded:
            return code << fmt.padding, true()
        clean = true()
        if fmt.padding:
            clean = same(op(Kind.BV_EXTRACT, port, indices=[fmt.padding - 1, 0]), value(0, fmt.padding))
        return code, clean

    def _addend_fields(self, ports: Mapping[str, Term], prefix: str) -> tuple[Integer, Integer, Integer]:
        sign, exp, sig = (ports[f"{prefix}__addend__{field}"] for field in ("sign", "exp", "sig"))
        signed = self.n.addend_exp[0] < 0
        return Integer.unsigned(sign), (Integer.signed if signed else Integer.unsigned)(exp), Integer.unsigned(sig)

    def _is_addend(self, outputs: Mapping[str, Term], fmt: FloatFormat, term: ModelTerm) -> Term:
        sign, exp, sig = self._addend_fields(outputs, "o")
        special, within = self._special_as(outputs, term), exactly(exp, *self.n.addend_exp)
        if term.cls not in (Class.NORMAL, Class.ZERO):
            return special
        if term.cls is Class.ZERO:
            return both(special, holds(sig == 0), within)
        kept = self._kept(term)
        normal = both(
            holds(exp == term.exp + self.n.product_bias), holds(sig == kept), holds(sign == term.sign), within
        )
        if not self.lifted:
            return both(special, normal)
        # A lifted subnormal has a hidden bit, if a bit of it is kept at all, one exponent below the least.
        small = holds(as_integer(term.sig) < 1 << fmt.fraction_bits)
        hidden = ite(as_integer(kept) == 0, 0, 1 << self.n.addend_fraction_bits)
        lifted = both(
            holds(exp == term.exp + self.n.product_bias - 1),
            holds(sig == kept + hidden),
            holds(sign == term.sign),
            within,
        )
        return both(special, implies(small, lifted), implies(negated(small), normal))

    def _kept(self, term: ModelTerm) -> object:
        """A term's significand with the fraction bits that count."""
        bits = self.n.addend_fraction_bits - term.fraction_bits
        sig = as_integer(term.sig)
        return sig << bits if bits >= 0 else sig >> -bits

    # The largest exponent.

    def _max_exp(self, ports: Mapping[str, Term], name: str) -> Integer:
        return (Integer.signed if self.n.max_exp[0] < 0 else Integer.unsigned)(ports[name])

    def _maximum(self) -> Iterator[AnyClaim]:
        circuit, n = self.parts.maximum, self.n
        ports = [circuit.inputs[f"i__terms__{lane}__exp"] for lane in range(n.lanes)]
        # Where the comparisons make a tree of all lanes, what it leaves stands for them.
        tree = without_maxima(circuit.outputs["o__max_exp"], ports)
        whole = frozenset(ports) == frozenset().union(*tree.groups.values())
        exps = [Integer.unsigned(port) for port in (tree.groups if whole else ports)]
        _, exp, sig = self._addend_fields(circuit.inputs, "i")
        found = self._max_exp({"o": tree.term if whole else circuit.outputs["o__max_exp"]}, "o")
        known = [
            *(tree.known if whole else ()),
            *(holds(one <= n.product_most) for one in exps),
            exactly(exp, *n.addend_exp),
        ]
        some, counts = either(*(holds(one != 0) for one in exps)), holds(sig != 0)
        rivals = [(holds(one != 0), one) for one in exps] + [(counts, exp)]
        most = [implies(takes_part, holds(found >= one)) for takes_part, one in rivals]
        among = [both(takes_part, holds(found == one)) for takes_part, one in rivals]
        if n.floor is not None:
            most.append(holds(found >= n.floor))
            among.append(holds(found == n.floor))
        yield Claim(
            "maximum", "max_exp is the largest exponent of a term other than zero"
            + ("" if n.floor is None else ", and at least the floor"),
            f"{n.lanes} products, one of them other than zero, and an addend", (*known, some),
            both(*most, either(*among)), tuple(circuit.inputs.values()),
        )  # fmt: skip
        yield self._passed("maximum", circuit, [name for name in circuit.outputs if name != "o__max_exp"])

    def _passed(self, name: str, circuit: Circuit, outputs: Sequence[str]) -> FormClaim:
        """That outputs are the inputs of the same names."""
        return FormClaim(
            f"{name}: passed on", "what the step does not make leaves as it came", f"{len(outputs)} signals",
            lambda: all(circuit.outputs[one] == circuit.inputs[f"i{one[1:]}"] for one in outputs),
        )  # fmt: skip

    # Alignment.

    def _aligned(self) -> Iterator[AnyClaim]:
        circuit, n = self.parts.align, self.n
        max_exp = self._max_exp(circuit.inputs, "i__max_exp")
        known = [exactly(max_exp, *self._beside_products)]
        sign, exp, sig = (Integer.unsigned(circuit.inputs[f"i__terms__0__{field}"]) for field in ("sign", "exp", "sig"))
        product = [
            holds(exp <= n.product_most), same(holds(sig == 0), holds(exp == 0)), holds(exp <= max_exp),
            holds(sig <= self._most_sig),
        ]  # fmt: skip
        top = max_exp.between(*self._beside_products)
        term = ModelTerm(
            sign, exp.between(0, n.product_most) - n.product_bias, sig.between(0, self._most_sig),
            n.product_fraction_bits, Class.NORMAL,
        )  # fmt: skip
        yield self._aligned_lane("lane: aligned", 0, term, top, (*known, *product), self._product_bound(top))
        yield FormClaim(
            "lanes: aligned", "every lane makes the same of its term and max_exp", f"{n.lanes} lanes", self._align_alike
        )
        sign, exp, sig = self._addend_fields(circuit.inputs, "i")
        addend = [exactly(exp, *n.addend_exp), implies(holds(sig != 0), holds(exp <= max_exp))]
        term = ModelTerm(sign, exp.between(*n.addend_exp) - n.product_bias, sig, n.addend_fraction_bits, Class.NORMAL)
        yield self._aligned_lane("addend: aligned", n.lanes, term, top, (*known, *addend), self._addend_bound)
        if self.lifted:
            yield self._lifted(top, known)

    @property
    def _beside_products(self) -> tuple[int, int]:
        """What max_exp can be where a product is other than zero."""
        return max(1 + sum(fmt.min_code for fmt in self.n.scales), self.n.max_exp[0]), self.n.max_exp[1]

    def _aligned_lane(
        self, name: str, lane: int, term: ModelTerm, top: object, known: Sequence[Term], bound: object
    ) -> Claim:
        """That a term in the window is what `align` makes of it, and not beyond its bound."""
        circuit, max_exp = self.parts.align, as_integer(top) - self.n.product_bias
        ones, carry = (circuit.outputs[f"o__aligned__{lane}__{field}"] for field in ("ones", "carry"))
        found = Integer.signed(ones) + Integer.unsigned(carry)

        def aligned() -> object:
            if not term.sig:
                return 0
            return align(term, max_exp, self.n.fraction_bits, self.rule.lost)

        right = each([Path(path.condition, holds(found == path.result)) for path in paths(aligned, known)])
        more = [right, holds(abs(found) <= bound)]
        if self.n.truncates:
            more.append(same(carry, op(Kind.BV_EXTRACT, ones, indices=[width(ones) - 1] * 2)))
        place = "addend" if lane == self.n.lanes else f"terms__{lane}"
        show = [term for name, term in circuit.inputs.items() if place in name or name == "i__max_exp"]
        return Claim(
            name, "it is what the model aligns, and within its bound", "a term at or below max_exp", tuple(known),
            both(*more), tuple(show),
        )  # fmt: skip

    def _product_bound(self, top: object) -> object:
        """The most that a product leaves in the window below a max_exp."""
        bits = self.n.product_fraction_bits - self.n.fraction_bits
        most = self.n.term_most if bits <= 0 else None
        whole = self._most_in_window
        if most is None or not self.n.truncates:
            return whole
        bound: object = whole
        for distance in range(1, whole.bit_length() + 1):
            bound = ite(as_integer(top) - self.n.product_most >= distance, whole >> distance, bound)
        return bound

    @property
    def _most_in_window(self) -> int:
        return self.n._most_in_window(self._most_sig, self.n.product_fraction_bits)

    @property
    def _addend_bound(self) -> int:
        bits = self.n.addend_fraction_bits
        return self.n._most_in_window((2 << bits) - 1, bits)

    def _align_alike(self) -> bool:
        circuit = self.parts.align
        fields = ("sign", "exp", "sig")
        for lane in range(1, self.n.lanes):
            by = {circuit.inputs[f"i__terms__0__{one}"]: circuit.inputs[f"i__terms__{lane}__{one}"] for one in fields}
            for part in ("ones", "carry"):
                term = substituted(circuit.outputs[f"o__aligned__0__{part}"], by)
                if term != circuit.outputs[f"o__aligned__{lane}__{part}"]:
                    return False
        return True

    def _lifted(self, top: object, known: Sequence[Term]) -> Claim:
        """Beside a product a lifted subnormal leaves in the window what the subnormal itself would."""
        circuit, n = self.parts.align, self.n
        sign, exp, sig = self._addend_fields(circuit.inputs, "i")
        claims, assumptions = [], []
        ones, carry = (circuit.outputs[f"o__aligned__{n.lanes}__{field}"] for field in ("ones", "carry"))
        found = Integer.signed(ones) + Integer.unsigned(carry)
        for _, fmt, _, _ in self._sources():
            least = fmt.emin + n.product_bias
            true_sig = sig & ((1 << n.addend_fraction_bits) - 1)
            # The hidden bit is set where another one is.
            here = both(holds(exp == least - 1), same(holds(sig == 0), holds(true_sig == 0)))
            term = ModelTerm(sign, fmt.emin, true_sig, n.addend_fraction_bits, Class.NORMAL)
            max_exp = as_integer(top) - n.product_bias

            def aligned(term: ModelTerm = term, max_exp: object = max_exp) -> object:
                return align(term, max_exp, n.fraction_bits, self.rule.lost) if term.sig else 0  # type: ignore[arg-type]

            found_paths = paths(aligned, [*known, here])
            claims.append(implies(here, each([Path(one.condition, holds(found == one.result)) for one in found_paths])))
        return Claim(
            "addend: lifted", "beside a product a subnormal with a hidden bit leaves what it leaves without",
            "subnormal addends", (*known, *assumptions), both(*claims),
            tuple(term for name, term in circuit.inputs.items() if "addend" in name or name == "i__max_exp"),
        )  # fmt: skip

    # The sum.

    def _sum(self) -> Iterator[AnyClaim]:
        yield FormClaim(
            "sum", "the total is the sum of all aligned terms, exactly", f"{self.n.lanes + 1} terms", self._is_sum
        )

    def _is_sum(self) -> bool:
        circuit, n = self.parts.sum, self.n
        inputs: dict[str, Form] = {}
        known, wanted = [], {}
        for lane in range(n.lanes + 1):
            ones, carry = (circuit.inputs[f"i__aligned__{lane}__{field}"] for field in ("ones", "carry"))
            top = width(ones) - 1
            low, sign = Variable(ones.symbol(), 0, top), Variable(ones.symbol(), top, 1)
            factors = {low: 1, sign: -(1 << top)}
            if n.truncates:
                inputs[carry.symbol()] = Form(1, 0, {sign: 1})
                factors[sign] += 1
            else:
                factors[Variable(carry.symbol(), 0, 1)] = 1
            most = self._addend_bound if lane == n.lanes else self._most_in_window
            known.append(Bounded(factors, -most, most))
            wanted |= factors
        total = circuit.outputs["o__total"]
        return Forms(inputs, known).of(total).key() == form(width(total), 0, wanted).key()

    # The result.

    def _total_bound(self, top: object) -> object:
        return self.n.lanes * as_integer(self._product_bound(top)) + self._addend_bound

    def _rounded(self) -> Iterator[Claim]:
        circuit, n = self.parts.round, self.n
        total, max_exp = Integer.signed(circuit.inputs["i__total"]), self._max_exp(circuit.inputs, "i__max_exp")
        top = max_exp.between(*self._beside_products)
        known = [
            exactly(max_exp, *self._beside_products), holds(abs(total) <= self._total_bound(top)),
            *(negated(is_one(circuit.inputs[f"i__special__{flag}"])) for flag in SPECIAL),
        ]  # fmt: skip
        inside = total.between(-n.sum_most, n.sum_most)

        def rounded() -> object:
            return self.model.round(inside, top - n.product_bias).code

        code = Integer.unsigned(circuit.outputs["o__code"]) << n.result.padding
        right = each([Path(path.condition, holds(code == path.result)) for path in paths(rounded, known)])
        yield Claim(
            "result", "the code is the model's rounding of the total", "every total within its bound, every max_exp",
            tuple(known), both(right, negated(is_one(circuit.outputs["o__nan"]))),
            (circuit.inputs["i__total"], circuit.inputs["i__max_exp"]),
        )  # fmt: skip

    def _no_product(self) -> Iterator[Claim]:
        """A group without products other than zero, from the addend's code to the result's."""
        front = self.parts.products
        whole = connected([front, self.parts.maximum, self.parts.align, self.parts.sum, self.parts.round])
        quiet = {
            name: term for name, term in self._neutral.items() if name.startswith(("i__a__", "i__b__", "i__scale"))
        }
        zero = ModelTerm(0, 0, 0, self.n.product_fraction_bits, Class.ZERO)
        for name, fmt, port, chain in self._sources():
            outputs = fixed(whole, {**quiet, "i__chain": value(chain, 1)}).outputs
            code, clean = self._code_of(fmt, front.inputs[port], padded=name == "c")

            def group(fmt: FloatFormat = fmt, code: object = code) -> tuple[object, bool]:
                addend = addend_term(fmt, code)  # type: ignore[arg-type]
                if combine_specials([addend]) is not None:
                    return 0, True
                summed = self.model._method.sum([zero], addend, None)
                return self.model.rounding.term(summed.outcome).code, False

            found = Integer.unsigned(outputs["o__code"]) << self.n.result.padding
            results = [
                Path(path.condition, true() if path.result[1] else holds(found == path.result[0]))
                for path in paths(group, [clean])
            ]
            yield Claim(
                f"no product: {name}", "where all products are zero, the result is the addend's alone",
                f"codes of {fmt.name}", (clean,), each(results), (front.inputs[port],),
            )  # fmt: skip

    def _special(self) -> Iterator[Claim]:
        """A group with a special term: flags alone decide the code."""
        circuit, n = self.parts.round, self.n
        nan, positive, negative = (is_one(circuit.inputs[f"i__special__{flag}"]) for flag in SPECIAL)
        code, says_nan = circuit.outputs["o__code"], is_one(circuit.outputs["o__nan"])
        bits = width(code)
        not_a_number = either(nan, both(positive, negative))
        wanted = [implies(not_a_number, both(says_nan, same(code, value(self.model.nan >> n.result.padding, bits))))]
        for sign, flag in ((0, positive), (1, negative)):
            rounded = self.model.rounding.special(ModelTerm(sign, 0, 0, 0, Class.INFINITY))
            is_nan = rounded.code == self.model.nan and n.result.is_nan(rounded.code >> n.result.padding)
            said = says_nan if is_nan else negated(says_nan)
            infinite = both(flag, negated(not_a_number))
            wanted.append(implies(infinite, both(said, same(code, value(rounded.code >> n.result.padding, bits)))))
        yield Claim(
            "special", "flags of special terms give NaN or an infinity, whatever the total is", "all flags and totals",
            (), both(*wanted), tuple(circuit.inputs.values()),
        )  # fmt: skip
        for name, part in (("align", self.parts.align), ("sum", self.parts.sum)):
            yield self._passed(name, part, [*(f"o__special__{flag}" for flag in SPECIAL), "o__max_exp"])
