"""The claims of factors, of their scales and flags, and of a product of two codes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, Generic, Literal, TypeVar, assert_never

from hwsim.formats import Class, ExponentFormat, Fields, FixedFormat, FloatFormat, Format, TableFormat, unpack
from hwsim.model import late as promotion_module
from hwsim.model.terms import Term as ModelTerm
from hwsim.prove.circuits import Circuit, fixed
from hwsim.prove.claims import (
    SPECIAL,
    AnyClaim,
    CasesClaim,
    Claim,
    DatapathClaims,
    FrontCircuits,
    LateClaim,
    StructuralClaim,
    by_value,
    each,
    exactly,
    holds,
)
from hwsim.prove.composition import Calls
from hwsim.prove.linear import children_first, constants
from hwsim.prove.rounding import by_leading_one, leading_ones
from hwsim.prove.symbolic import Integer, Path, Truth, as_integer, given_function, paths
from hwsim.prove.terms import (
    Kind,
    Term,
    below,
    both,
    either,
    implies,
    is_one,
    negated,
    op,
    part,
    same,
    simplified,
    substituted,
    true,
    value,
    width,
)
from hwsim.rtl.numbers import FactorShape, ProductRanges
from hwsim.spec import Unit


def code_of_one(fmt: Format) -> int:
    """Return the code of 1 in its container."""
    match fmt:
        case ExponentFormat():
            return fmt.bias << fmt.padding
        case FixedFormat():
            return 1 << fmt.fraction_bits
        case FloatFormat():
            return fmt.bias << fmt.fraction_bits + fmt.padding
        case TableFormat():
            return int(fmt.encode(1.0, missing="saturate"))
        case _:
            assert_never(fmt)


def _fields(ports: Mapping[str, Term], place: str) -> list[Term]:
    return [ports[f"{place}__{field}"] for field in ("sign", "bexp", "sig", "nan", "inf")]


Ranges = TypeVar("Ranges", bound=ProductRanges)
Side = Literal["a", "b"]
SIDES: tuple[Side, Side] = ("a", "b")


class FactorClaims(DatapathClaims, Generic[Ranges]):
    """Claims about decoded factors, scales of products, and flags of what is special.

    n: the unit's ranges. front: the circuits of the first steps. zero_exponents: whether a zero's exponent counts for
    anything.
    """

    zero_exponents: bool = False

    def __init__(
        self, unit: Unit, n: Ranges, front: FrontCircuits, cuts: Sequence[str] = (), calls: Calls | None = None
    ):
        super().__init__(unit, cuts, calls)
        self.n, self.front = n, front

    @cached_property
    def neutral(self) -> Mapping[str, Term]:
        """The codes of +0, and of 1 for scales, by the inputs of the first steps."""
        codes = {}
        for name, term in self.front.products.inputs.items():
            code = 0
            for side, fmt in zip(("scale_a", "scale_b"), self.n.scale_formats, strict=False):
                code = code_of_one(fmt) if name.startswith(f"i__{side}__") else code
            codes[name] = value(code, width(term))
        return codes

    @property
    def _quiet(self) -> dict[str, Term]:
        """The neutral codes of factors and scales."""
        return {name: term for name, term in self.neutral.items() if name.startswith(("i__a__", "i__b__", "i__scale"))}

    def _lane(self, lane: int) -> dict[str, str]:
        """The names of the inputs that a lane's product depends on."""
        names = {"a": f"i__a__{lane}", "b": f"i__b__{lane}"}
        for side, blocks in zip(("scale_a", "scale_b"), self.n.scale_blocks, strict=True):
            if blocks:
                names[side] = f"i__{side}__{lane // -(-self.n.lanes // blocks)}"
        return names

    # Factors.

    def _factor(self, side: Side) -> Claim:
        operands, index = self.unit.operands, SIDES.index(side)
        fmt, to = operands.factor(side), self.n.multiplied[index]
        port = self.front.decode.inputs[f"i__{side}__0"]
        code = Integer.unsigned(part(port, 0, fmt.container_bits))  # a narrower mode's code stands in the low bits
        return self._decoded(
            f"factor: {side}", "a decoded code is the model's factor", fmt, to, port, f"o__{side}__0",
            self._padded(fmt, code), lambda call=self.calls[f"factor {side}"]: call(code),  # type: ignore[misc]
            to.fraction_bits - operands.multiplied[index].fraction_bits,
        )  # fmt: skip

    def _decoded(
        self, name: str, words: str, fmt: Format, to: FactorShape, port: Term, place: str, known: Sequence[Term],
        decoded: Callable[[], Fields], zeros: int = 0,
    ) -> Claim:  # fmt: skip
        """The claim that fields at a place of the decoded operands are what a function of the model returns.

        zeros: below its significand, in a shape of more fraction bits.
        """
        outputs = self.front.decode.outputs
        sign, bexp, sig, nan, inf = _fields(outputs, place)

        def is_fields(fields: Fields) -> Term:
            is_nan, is_inf = is_one(nan), is_one(inf)
            exponent = holds(Integer.unsigned(bexp) == fields.exp + to.field.bias)
            match fields.cls:
                case Class.NAN:
                    return is_nan
                case Class.INFINITY:
                    return both(negated(is_nan), is_inf, self._equal(sign, fields.sign))
                case Class.ZERO:
                    right = [
                        self._equal(sig, 0),
                        self._equal(sign, fields.sign),
                        *([exponent] if self.zero_exponents else []),
                    ]
                    return both(negated(is_nan), negated(is_inf), *right)
                case Class.NORMAL | Class.SUBNORMAL:
                    right = [self._equal(sig, fields.sig << zeros), holds(as_integer(fields.sig) != 0)]
                    right += [exponent, self._equal(sign, fields.sign)]
                    return both(negated(is_nan), negated(is_inf), *right)
                case _:
                    assert_never(fields.cls)

        claim = each([Path(path.condition, is_fields(path.result)) for path in paths(decoded, known)])
        related = self._is_decoded(outputs, place, to)
        return Claim(name, words, f"codes of {fmt.name}", tuple(known), both(claim, related), (port,))

    def _is_decoded(self, ports: Mapping[str, Term], place: str, shape: FactorShape) -> Term:
        """The condition on every decoded code: the relation between decoding and multiplication."""
        _, bexp, sig, nan, inf = _fields(ports, place)
        some = holds(Integer.unsigned(sig) != 0)
        finite = both(negated(is_one(nan)), negated(is_one(inf)), *([] if self.zero_exponents else [some]))
        within = both(
            exactly(Integer.unsigned(bexp), 1, shape.field.most), holds(Integer.unsigned(sig) <= shape.most_sig)
        )
        return both(implies(finite, within), implies(both(negated(is_one(nan)), is_one(inf)), some))

    def _read(self, ports: Mapping[str, Term], place: str, shape: FactorShape) -> Fields:
        """The model's fields of a decoded code: to be called on a path, with `_is_decoded` known."""
        sign, bexp, sig, nan, inf = _fields(ports, place)
        if Truth(is_one(nan)):
            return Fields(0, 0, 0, Class.NAN)
        if Truth(is_one(inf)):
            return Fields(Integer.unsigned(sign), 0, 0, Class.INFINITY)
        size = Integer.unsigned(sig)
        exp = Integer.unsigned(bexp).between(1, shape.field.most) - shape.field.bias
        if not size:
            return Fields(Integer.unsigned(sign), exp if self.zero_exponents else 0, 0, Class.ZERO)
        return Fields(Integer.unsigned(sign), exp, size, Class.NORMAL)

    @staticmethod
    def _padded(fmt: Format, code: Integer) -> tuple[Term, ...]:
        """The condition that a container's padding is zeros, or that its code is the canonical NaN."""
        if not fmt.padding:
            return ()
        zero = holds(code & ((1 << fmt.padding) - 1) == 0)
        return (zero if fmt.canonical_nan is None else either(zero, holds(code == fmt.canonical_nan)),)

    @staticmethod
    def _equal(port: Term, number: object) -> Term:
        return holds(Integer.unsigned(port) == number)

    # Scales of products.

    def _scales(self, nan: str = "o__special__nan") -> Claim:
        """The claim of decoded scales. nan: the output that says that a scale is NaN."""
        circuit, names = self.front.decode, self._lane(0)
        ports = [circuit.inputs[names[side]] for side in ("scale_a", "scale_b")]
        x, y = map(Integer.unsigned, ports)
        fmt_a, fmt_b = self.n.scales
        # In a mode without scales each is 1, whatever stands at the port.
        call = None if self.unit.scale is None else self.calls["scales"]
        cases = paths(lambda: 0 if call is None else call(x, y))
        outputs = fixed(
            circuit, {name: term for name, term in self.neutral.items() if name not in names.values()}
        ).outputs
        is_nan, exp = is_one(outputs[nan]), circuit.outputs["o__scale_exp__0"]
        beside_nan = call is None or self.calls["scaled"](ModelTerm(0, 0, 1, 0, Class.NORMAL), None).cls is Class.NAN
        right = [
            Path(path.condition, both(is_nan, holds(beside_nan)) if path.result is None
                 else both(negated(is_nan), self._equal(exp, path.result + fmt_a.bias + fmt_b.bias)))
            for path in cases
        ]  # fmt: skip
        within = holds(Integer.unsigned(exp) <= self.n.scale_most)
        return Claim(
            "scales", "two codes are the exponent that the model's scales have, or NaN", "codes of both scales",
            (), both(each(right), either(is_nan, within)), tuple(ports),
        )  # fmt: skip

    # Products.

    def _lane_product(self) -> tuple[list[Term], Callable[[], ModelTerm]]:
        """Return the conditions that hold of lane 0's decoded factors, and the model's product of them."""
        circuit, n = self.front.multiply, self.n
        sides = list(zip(SIDES, n.multiplied, strict=True))
        known = [self._is_decoded(circuit.inputs, f"i__{side}__0", shape) for side, shape in sides]
        scale: object = 0
        if n.scales:
            codes = Integer.unsigned(circuit.inputs["i__scale_exp__0"])
            known.append(holds(codes <= n.scale_most))
            scale = codes.between(0, n.scale_most) - sum(fmt.bias for fmt in n.scales)
            if self.unit.scale is None:  # a mode without scales, in which each is 1
                known.append(holds(as_integer(scale) == 0))

        product, scaled = self.calls["product"], self.calls["scaled"]
        # In a shape of more fraction bits there are zeros below a product.
        zeros = n.product_fraction_bits - sum(fmt.fraction_bits for fmt in self.unit.operands.multiplied)

        def lane() -> ModelTerm:
            x, y = (self._read(circuit.inputs, f"i__{side}__0", shape) for side, shape in sides)
            term: ModelTerm = scaled(product(x, y), *([] if self.unit.scale is None or not n.scales else [scale]))
            return term._replace(fraction_bits=term.fraction_bits + zeros)

        return known, lane

    def _addend(self, source: str, code: Any) -> Any:
        """The model's term of what a group starts from. source: `c`, or what the group before left."""
        if source != "c":
            return self.calls["addend x"](code)
        if "addend entered" in self.calls:
            return self.calls["addend entered"](self.calls["positive zero"](code))
        return self.calls["addend c"](code)

    def _lane_flags(self, circuit: Circuit) -> dict[str, Term]:
        """Outputs of a multiplication, whose flags are those of lane 0 alone.

        Its term must be right beside any others: it is not to depend on them.
        """
        neutral = {name: value(0, width(term)) for name, term in circuit.inputs.items() if "__0" not in name}
        flags = {name: term for name, term in fixed(circuit, neutral).outputs.items() if "special" in name}
        return {**circuit.outputs, **flags}

    def _special_as(self, outputs: Mapping[str, Term], term: ModelTerm, place: str = "o__special") -> Term:
        """The condition that flags say of a term what is special about it."""
        nan, positive, negative = (outputs[f"{place}__{flag}"] for flag in SPECIAL)
        match term.cls:
            case Class.NAN:
                return is_one(nan)
            case Class.INFINITY:
                sign = as_integer(term.sign)
                flags = holds(Integer.unsigned(negative) == sign), holds(Integer.unsigned(positive) == 1 - sign)
                return both(negated(is_one(nan)), *flags)
            case _:
                return both(*(negated(is_one(flag)) for flag in (nan, positive, negative)))

    # All lanes.

    def _lanes_alike(self, fields: Sequence[str] = ("sign", "exp", "sig")) -> StructuralClaim:
        """The claim that all lanes make the same of their operands. fields: those of a term."""

        def alike() -> bool:
            front, first = self.front.products, self._lane(0)
            for lane in range(1, self.n.lanes):
                by = {front.inputs[first[side]]: front.inputs[name] for side, name in self._lane(lane).items()}
                for name in fields:
                    term = substituted(front.outputs[f"o__terms__0__{name}"], by)
                    if term != front.outputs[f"o__terms__{lane}__{name}"]:
                        return False
            return True

        return StructuralClaim(
            "lanes: products", "every lane makes the same of its operands", f"{self.n.lanes} lanes", alike
        )

    @cached_property
    def _never(self) -> list[str]:
        """The flags that nothing sets, where no format has such numbers: they leave the first steps as zeros."""
        ports = {flag: [t for name, t in self.front.products.outputs.items() if name.endswith(f"__special__{flag}")]
                 for flag in SPECIAL}  # fmt: skip
        return [
            flag for flag, terms in ports.items() if terms and all(simplified(term) == value(0, 1) for term in terms)
        ]

    def _flag(self, outputs: Mapping[str, Term], flag: str) -> Term:
        return is_one(outputs[f"o__special__{flag}"])

    def _flags_alone(self, flag: str) -> list[Term]:
        """A flag as each lane alone would set it: all other operands are +0."""
        alone = []
        for lane in range(self.n.lanes):
            mine = self._lane(lane).values()
            others = {name: term for name, term in self.neutral.items() if name not in mine}
            alone.append(self._flag(fixed(self.front.products, others).outputs, flag))
        return alone

    def _flags_alike(self) -> Claim:
        front, first, wanted = self.front.products, self._lane(0), []
        for flag in SPECIAL:
            first_alone, *others = self._flags_alone(flag)
            for lane, alone in enumerate(others, 1):
                by = {front.inputs[first[side]]: front.inputs[name] for side, name in self._lane(lane).items()}
                wanted.append(same(substituted(first_alone, by), alone))
        return Claim(
            "lanes: flags", "every lane alone sets the flags of its operands as the first lane does",
            f"{self.n.lanes} lanes", (), both(*wanted), tuple(front.inputs.values()),
        )  # fmt: skip

    def _gathered(self) -> Claim:
        """The claim that a flag of the whole is set where one of a term alone is."""
        front = self.front.products
        wanted = []
        for flag in SPECIAL:
            alone = self._flags_alone(flag)
            alone.append(self._flag(fixed(front, self._quiet).outputs, flag))
            wanted.append(same(self._flag(front.outputs, flag), either(*alone)))
        return Claim(
            "flags: gathered", "a flag is set where a lane or the addend alone would set it", "all operands",
            (), both(*wanted), tuple(front.inputs.values()),
        )  # fmt: skip

    # Addends.

    def _code_of(self, fmt: Format, port: Term, padded: bool) -> tuple[object, Term]:
        """A port's code in its container, and the condition that its padding is zeros, which the model takes."""
        code = Integer.unsigned(port)
        if not padded:
            return code << fmt.padding, true()
        clean = true()
        if fmt.padding:
            clean = same(op(Kind.BV_EXTRACT, port, indices=[fmt.padding - 1, 0]), value(0, fmt.padding))
        return code, clean


Read = Callable[[], tuple[Fields, Fields]]

SHORT = 8  # bits of codes each of which is a case


def product_claims(
    name: str, words: str, over: str, circuit: Circuit, ports: tuple[Term, Term], known: Sequence[Term], read: Read,
    right: Callable[[], Term],
) -> Iterator[AnyClaim]:  # fmt: skip
    """Yield the claims that a circuit makes what the model makes of the product of two codes.

    name, words, over: of the claim. ports: where the codes are. known: of them. read: the model's fields of both.
    right: the condition to hold, of a run of the model, which multiplies what `unpack` makes of the first code and of
    the second, in this order.
    """

    def claimed(assumed: Sequence[Term], product: Any = None) -> Term:
        """product: any number in the place of the significands' product, if not that product itself."""

        def of_known_sign(fmt: Any, code: Any) -> Fields:
            fields = unpack(fmt, code)
            sig = fields.sig if product is None else AnyFactor(product)
            return fields._replace(sig=sig, sign=int(as_integer(fields.sign) != 0))  # type: ignore[arg-type]

        def run() -> Term:
            with given_function(promotion_module, "unpack", of_known_sign):
                return right()

        return each(paths(run, assumed))

    multiplied = _multiplication(circuit)
    sigs = None if multiplied is None else _of(multiplied, ports)
    if multiplied is None or sigs is None:
        short = min(ports, key=width)
        yield CasesClaim(
            name, words, f"{over}; every code of {width(short)} bits by itself",
            lambda: by_value(short if width(short) <= SHORT else None, claimed(known), known, ports),
        )  # fmt: skip
        return
    bits = width(multiplied)
    most = ((1 << width(sigs[0])) - 1) * ((1 << width(sigs[1])) - 1)
    facts = facts_of(multiplied, sigs, most)

    def alike() -> Term:
        return both(*(
            holds(Integer.unsigned(sig) == fields.sig)
            for sig, fields in zip(sigs, read(), strict=True)
            if fields.cls not in (Class.NAN, Class.INFINITY)
        ))  # fmt: skip

    yield LateClaim(
        f"{name}: significands", "what is multiplied are the model's significands; the product is zero just where one "
        "is, or else no less than either", over, tuple(known), lambda: both(each(paths(alike, known)), facts), ports,
    )  # fmt: skip

    def of(product: Any, show: tuple[Term, ...], few: tuple[Term, ...], case: str) -> Claim:
        by = {multiplied: as_integer(product).at(bits)}
        assumed = (*known, *few, substituted(facts, by))
        return Claim(case, "", "", assumed, substituted(claimed(assumed, product), by), (*ports, *show))

    yield CasesClaim(
        name, words, f"{over}; every place of the leading one of any product of significands",
        lambda: chain([of(0, (), (), "zero")], by_leading_one(of, most, signs=False)),
    )  # fmt: skip
    yield leading_ones(name, most)


def facts_of(multiplied: Term, sigs: Sequence[Term], most: int) -> Term:
    """Return the facts that are kept of a product where any number takes its place.

    It is zero just where a factor is, no less than either where none is, and no more than `most`.
    """
    bits = width(multiplied)
    some = both(*(negated(same(sig, value(0, width(sig)))) for sig in sigs))
    wide = [op(Kind.BV_ZERO_EXTEND, sig, indices=[bits - width(sig)]) for sig in sigs]
    return both(
        op(Kind.EQUAL, some, negated(same(multiplied, value(0, bits)))),
        implies(some, both(*(negated(below(multiplied, factor)) for factor in wide))),
        negated(below(value(most, bits), multiplied)),
    )


class AnyFactor:
    """A significand of which nothing is known but its product with another one."""

    def __init__(self, product: Any):
        self.product = product

    def __mul__(self, other: object) -> Any:
        return self.product


def _multiplication(circuit: Circuit) -> Term | None:
    """The one multiplication of a circuit, if it has one."""
    products = {
        node.id(): node
        for term in circuit.outputs.values()
        for node in children_first(term)
        if node.kind() == Kind.BV_MUL
    }
    if len(products) > 1:
        raise ValueError("a circuit multiplies once")
    return next(iter(products.values()), None)


def _of(multiplied: Term, ports: Sequence[Term]) -> list[Term] | None:
    """The multiplied significands, in the order of the ports that they come from; None of a power of two."""
    sides = [narrowed(child) for child in multiplied.children()]
    sigs = []
    for port in ports:
        from_port = [side for side in sides if any(origin.id() == port.id() for origin in constants(side))]
        if len(from_port) != 1:
            return None
        sigs += from_port
    return sigs


def narrowed(term: Term) -> Term:
    """Return a term without the zeros above it."""
    while term.kind() == Kind.BV_ZERO_EXTEND:
        (term,) = term.children()
    return term
