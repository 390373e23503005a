"""The claims of operands: decoded factors, scales, products, addends, and the flags of what is special about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, assert_never

from hwsim.formats import Class, Fields, FloatFormat
from hwsim.model.definition import Definition
from hwsim.model.scales import scale_exponent
from hwsim.model.terms import Term as ModelTerm
from hwsim.model.terms import addend_term, factor, product
from hwsim.prove.circuits import fixed
from hwsim.prove.claims import AnyClaim, Claim, FormClaim
from hwsim.prove.explore import Path, paths
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
from hwsim.prove.relations import SPECIAL, StepCircuits, each, exactly, holds
from hwsim.prove.symbolic import Integer, Truth, as_integer, ite
from hwsim.rtl.numbers import FieldRange, WindowRanges
from hwsim.spec import AlignedSum, Unit


class OperandClaims:
    """All claims about what an aligned sum is of.

    parts: the steps' circuits, where they are not those of the unit's own RTL; ranges: their numbers' then.
    """

    def __init__(
        self,
        unit: Unit,
        cuts: Sequence[str] = (),
        parts: StepCircuits | None = None,
        ranges: WindowRanges | None = None,
    ):
        assert isinstance(unit.sum, AlignedSum)
        self.unit, self.rule = unit, unit.sum
        self.n, self.model = WindowRanges(unit) if ranges is None else ranges, Definition(unit, keep=False)
        self.parts = StepCircuits.of(unit, cuts) if parts is None else parts
        self.lifted = not self.n.subnormal_sums

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
        yield self._factor("a", self.n.a)
        yield self._factor("b", self.n.b)
        if self.n.scales:
            yield self._scales()
        yield self._product()
        yield FormClaim(
            "lanes: products", "every lane makes the same of its operands", f"{self.n.lanes} lanes", self._lanes_alike
        )
        yield self._flags_alike()
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
                    return both(negated(is_nan), is_inf, self._equal(sign, fields.sign))
                case Class.ZERO:
                    return both(negated(is_nan), negated(is_inf), self._equal(sig, 0), self._equal(sign, fields.sign))
                case Class.NORMAL | Class.SUBNORMAL:
                    right = [self._equal(sig, fields.sig), holds(as_integer(fields.sig) != 0)]
                    right += [self._equal(bexp, fields.exp + FieldRange.of(fmt).bias), self._equal(sign, fields.sign)]
                    return both(negated(is_nan), negated(is_inf), *right)
                case _:
                    assert_never(fields.cls)

        operands, code = self.unit.operands, Integer.unsigned(port)
        known = self._padded(fmt, code)
        found = paths(
            lambda: factor(operands.factor(side), operands.convert, operands.daz, operands.zeros, code), known
        )
        claim = each([Path(path.condition, is_fields(path.result)) for path in found])
        return Claim(
            f"factor: {side}",
            "a decoded code is the model's factor",
            f"codes of {fmt.name}",
            known,
            both(claim, self._is_factor(circuit.outputs, side, "o")),
            (port,),
        )

    def _is_factor(self, ports: Mapping[str, Term], side: str, prefix: str) -> Term:
        """What every decoded code is: the relation between decoding and multiplication."""
        _, bexp, sig, nan, inf = self._factor_ports(ports, side, prefix)
        some = holds(Integer.unsigned(sig) != 0)
        finite = both(negated(is_one(nan)), negated(is_one(inf)), some)
        within = exactly(Integer.unsigned(bexp), 1, FieldRange.of(getattr(self.n, side)).most)
        return both(implies(finite, within), implies(both(negated(is_one(nan)), is_one(inf)), some))

    @staticmethod
    def _padded(fmt: FloatFormat, code: Integer) -> tuple[Term, ...]:
        """That the padding of a container is as it must be."""
        if not fmt.padding:
            return ()
        zero = holds(code & ((1 << fmt.padding) - 1) == 0)
        return (zero if fmt.canonical_nan is None else either(zero, holds(code == fmt.canonical_nan)),)

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
        found = paths(lambda: scale_exponent(fmt_a, x, fmt_b, y))
        outputs = fixed(
            circuit, {name: term for name, term in self._neutral.items() if name not in names.values()}
        ).outputs
        nan, exp = is_one(outputs["o__special__nan"]), circuit.outputs["o__scale_exp__0"]
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
        # Flags are those of this lane alone. Its term must be right beside any others: it is not to depend on them.
        flags = {name: term for name, term in fixed(circuit, neutral).outputs.items() if "special" in name}
        outputs, known, fields = {**circuit.outputs, **flags}, [], []
        for side, fmt in (("a", n.a), ("b", n.b)):
            known.append(self._is_factor(circuit.inputs, side, "i"))
            fields.append((self._factor_ports(circuit.inputs, side, "i"), FieldRange.of(fmt)))
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
                return Fields(Integer.unsigned(sign), 0, 0, Class.INFINITY)
            size = Integer.unsigned(sig)
            if not size:
                return Fields(Integer.unsigned(sign), 0, 0, Class.ZERO)
            exp = Integer.unsigned(bexp).between(1, span.most) - span.bias
            return Fields(Integer.unsigned(sign), exp, size, Class.NORMAL)

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
                right = [exp == term.exp + self.n.product_bias, sig != 0, sign == term.sign, sig == term.sig]
                return both(special, *map(holds, right), self._is_term(outputs, 0, "o"))
            case Class.ZERO:
                return both(special, holds(exp == 0), self._is_term(outputs, 0, "o"))
            case _:
                return special

    def _is_term(self, ports: Mapping[str, Term], lane: int, prefix: str) -> Term:
        """What the product of a lane is that is not special: the relation between multiplication and what follows."""
        exp, sig = (Integer.unsigned(ports[f"{prefix}__terms__{lane}__{field}"]) for field in ("exp", "sig"))
        within = holds(exp <= self.n.product_most), holds(sig <= self._most_sig)
        at_least = either(holds(exp == 0), holds(exp >= self.n.product_least))
        return both(*within, at_least, same(holds(sig == 0), holds(exp == 0)))

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

    def _flags_alone(self, flag: str) -> list[Term]:
        """A flag as each lane alone would set it: all other operands are +0."""
        alone = []
        for lane in range(self.n.lanes):
            mine = self._lane(lane).values()
            others = {name: term for name, term in self._neutral.items() if name not in mine}
            alone.append(is_one(fixed(self.parts.products, others).outputs[f"o__special__{flag}"]))
        return alone

    def _flags_alike(self) -> Claim:
        front, first, wanted = self.parts.products, self._lane(0), []
        for flag in SPECIAL:
            one, *others = self._flags_alone(flag)
            for lane, other in enumerate(others, 1):
                by = {front.inputs[first[side]]: front.inputs[name] for side, name in self._lane(lane).items()}
                wanted.append(same(substituted(one, by), other))
        return Claim(
            "lanes: flags", "every lane alone sets the flags of its operands as the first lane does",
            f"{self.n.lanes} lanes", (), both(*wanted), tuple(front.inputs.values()),
        )  # fmt: skip

    def _gathered(self) -> Claim:
        """A flag of the whole is set where one of a term alone is."""
        front = self.parts.products
        wanted = []
        for flag in SPECIAL:
            alone = self._flags_alone(flag)
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
        names = [f"o__addend__{field}" for field in ("sign", "exp", "sig")]
        yield Claim(
            "addend: alone", "factors and scales do not change the addend", "all operands", (),
            both(*(same(front.outputs[name], alone.outputs[name]) for name in names)), tuple(front.inputs.values()),
        )  # fmt: skip

    def _sources(self) -> Iterator[tuple[str, FloatFormat, str, int]]:
        if self.n.window_addend is not None:
            yield "c", self.n.window_addend, "i__c", 0
        yield "partial sum", self.n.result, "i__carried__code", 1

    def _code_of(self, fmt: FloatFormat, port: Term, padded: bool) -> tuple[object, Term]:
        """A port's code in its container, and that its padding is zeros: what the model takes."""
        code = Integer.unsigned(port)
        if not padded:
            return code << fmt.padding, true()
        clean = true()
        if fmt.padding:
            clean = same(op(Kind.BV_EXTRACT, port, indices=[fmt.padding - 1, 0]), value(0, fmt.padding))
        return code, clean

    def _addend_fields(self, ports: Mapping[str, Term], prefix: str) -> tuple[Any, Any, Any]:
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
