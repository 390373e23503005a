"""The claims of an adder of two floats in hardware: aligned with jammed lost bits, summed, rounded once.

Numbers come in as fields, or as codes of the format that the sum is rounded to. Of each step it is claimed that it is
the model's; that the model's exact sum has the code of the jammed one is what `hwsim.prove.addition` claims.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from hwsim.formats import Class, FloatFormat
from hwsim.model.addition import combine_specials, zero_sign
from hwsim.model.rounding import infinity_code, nan_code
from hwsim.model.terms import Term as ModelTerm
from hwsim.model.terms import addend_term
from hwsim.model.window import align
from hwsim.prove.addition import PlacedNumber, RoundedAddition, is_sum_of_both
from hwsim.prove.btor import Circuit
from hwsim.prove.claims import AnyClaim, Claim, FormClaim, LateClaim
from hwsim.prove.explore import paths
from hwsim.prove.logic import Term, both, false, implies, is_one, negated, same, true
from hwsim.prove.relations import SPECIAL, each, exactly, holds
from hwsim.prove.results import of_every_total
from hwsim.prove.symbolic import Integer, Truth, as_integer, ite
from hwsim.rtl.addition import FloatAdder, NumberRange
from hwsim.rtl.numbers import FieldRange

SIDES = ("x", "y")
EXACT = "the total is the sum of both, exactly", "both numbers"
AT_ONCE = 40  # bits of totals of which rounding is decided at once


class ReadNumber(ABC):
    """One of two numbers as it enters an adder. bits, ports: of its significand; the signals that it is read from."""

    bits: int
    ports: tuple[Term, ...]

    @property
    @abstractmethod
    def known(self) -> tuple[Term, ...]:
        """What holds of it."""

    @abstractmethod
    def read(self) -> tuple[ModelTerm, Any]:
        """The model's term, and the field of the exponent of its top bit; to be called on a path."""


class NumberFields(ReadNumber):
    """A number's fields at a place: finite ones have their leading one on top as far as an addition needs it."""

    def __init__(self, ports: Mapping[str, Term], place: str, span: NumberRange, fmt: FloatFormat):
        self.span, self.fmt, self.bits = span, fmt, span.bits
        fields = [ports[f"{place}__{field}"] for field in ("sign", "exp", "sig", "nan", "inf")]
        self.sign, exp, self.sig, self.nan, self.inf = fields
        self.ports = tuple(fields)
        self.exp = (Integer.signed if span.low < 0 else Integer.unsigned)(exp)

    @property
    def known(self) -> tuple[Term, ...]:
        """That its exponent is within the range, and its significand normalised."""
        finite = both(negated(is_one(self.nan)), negated(is_one(self.inf)))
        return (implies(finite, is_number(self.sig, self.exp, self.span, self.fmt)),)

    def read(self) -> tuple[ModelTerm, Any]:
        """Flags are asked first."""
        sign = Integer.unsigned(self.sign)
        if Truth(is_one(self.nan)):
            return ModelTerm(0, 0, 0, 0, Class.NAN), 0
        if Truth(is_one(self.inf)):
            return ModelTerm(sign, 0, 0, 0, Class.INFINITY), 0
        exp = self.exp.between(self.span.low, self.span.high)
        bias = FieldRange.of(self.fmt).bias
        return ModelTerm(sign, exp - bias, Integer.unsigned(self.sig), self.bits - 1, Class.NORMAL), exp


class NumberCode(ReadNumber):
    """A code of the format that sums are rounded to, which the adder decodes itself."""

    def __init__(self, port: Term, fmt: FloatFormat):
        self.port, self.fmt, self.bits, self.ports = port, fmt, fmt.sig_bits, (port,)

    @property
    def known(self) -> tuple[Term, ...]:
        """Any code."""
        return ()

    def read(self) -> tuple[ModelTerm, Any]:
        """As the model decodes it."""
        term = addend_term(self.fmt, Integer.unsigned(self.port) << self.fmt.padding)
        if term.cls in (Class.NAN, Class.INFINITY):
            return term, 0
        return term, as_integer(term.exp) + FieldRange.of(self.fmt).bias


def is_decoded(ports: Mapping[str, Term], place: str, span: NumberRange, fmt: FloatFormat, term: ModelTerm) -> Term:
    """That fields at a place are a term of the model: the same value, and what every number is."""
    number = NumberFields(ports, place, span, fmt)
    is_nan, is_inf, sign = is_one(number.nan), is_one(number.inf), Integer.unsigned(number.sign)
    match term.cls:
        case Class.NAN:
            return is_nan
        case Class.INFINITY:
            return both(negated(is_nan), is_inf, holds(sign == term.sign))
        case Class.ZERO | Class.NORMAL | Class.SUBNORMAL:
            finite = both(negated(is_nan), negated(is_inf), holds(sign == term.sign), *number.known)
        case _:
            assert_never(term.cls)
    sig, wanted = Integer.unsigned(number.sig), as_integer(term.sig)
    if term.cls is Class.ZERO:
        return both(finite, holds(sig == 0))
    # The same value at the exponent of the RTL: so many places further up.
    lowest = number.exp - FieldRange.of(fmt).bias - (span.bits - 1)
    up = as_integer(term.exp) - term.fraction_bits - lowest
    least, most = -wanted.high.bit_length(), span.bits
    moved = [
        implies(holds(up == places), holds(sig == wanted << places) if places >= 0 else holds(sig << -places == wanted))
        for places in range(max(least, up.low), min(most, up.high) + 1)
    ]
    return both(finite, holds(sig != 0), exactly(up, least, most), *moved)


def is_number(sig: Term, exp: Any, span: NumberRange, fmt: FloatFormat) -> Term:
    """What a finite number is: the relation between decoding and alignment."""
    top = 1 << span.bits - 1
    size = Integer.unsigned(sig)
    leading = implies(holds(exp > 1), holds(size >= top))
    if not fmt.subnormals:
        leading = both(leading, implies(holds(size != 0), holds(size >= top)))
    return both(exactly(exp, span.low, span.high), leading)


@dataclass(frozen=True)
class AdderCircuits:
    """The steps of an adder. align: to the outputs `aligned`. sum: from them to the total. round: to `code`.

    place: what stands before the names of fields between the steps.
    """

    align: Circuit
    sum: Circuit
    round: Circuit
    place: str = ""

    def aligned(self, field: str) -> Term:
        """What alignment makes."""
        return self.align.outputs[f"o__{self.place}{field}"]

    def summed(self, field: str, prefix: str) -> Term:
        """What the sum takes, `i`, or gives, `o`."""
        ports = self.sum.inputs if prefix == "i" else self.sum.outputs
        return ports[f"{prefix}__{self.place}{field}"]

    def rounds(self, field: str) -> Term:
        """What rounding takes."""
        return self.round.inputs[f"i__{self.place}{field}"]


class AdderClaims:
    """All claims about one adder. name: what theirs begin with."""

    def __init__(self, name: str, adder: FloatAdder, steps: AdderCircuits, numbers: Sequence[ReadNumber]):
        self.name, self.adder, self.steps, self.numbers = name, adder, steps, tuple(numbers)
        self.fmt, self.low = adder.fmt, min(adder.x.low, adder.y.low)
        self.addition = RoundedAddition(
            adder.fmt,
            adder.rounding,
            adder.bits,
            adder.max_exp,
            self.low,
            adder.target.flush,
            adder.target.overflow,
        )

    def claims(self) -> Iterator[AnyClaim]:
        """In the order of the steps."""
        for side in (0, 1):
            yield self._aligned(side)
        yield self._special()
        yield FormClaim(f"{self.name}: sum", *EXACT, self._is_sum, self._sum_in_halves)
        yield from self._rounded()
        yield self._flags()
        yield self.addition.composition(self.name, [self._placed(number) for number in self.numbers])
        yield from self.addition.claims(self.name)

    @property
    def _known(self) -> tuple[Term, ...]:
        return tuple(known for number in self.numbers for known in number.known)

    @property
    def _show(self) -> tuple[Term, ...]:
        return tuple(port for number in self.numbers for port in number.ports)

    def _max_exp(self, term: Term) -> Any:
        return (Integer.signed if self.adder.max_exp[0] < 0 else Integer.unsigned)(term)

    def _aligned(self, side: int) -> LateClaim:
        """A number in the window, below the larger exponent of both."""
        ones, carry = (self.steps.aligned(f"{SIDES[side]}_{field}") for field in ("ones", "carry"))
        found, most = Integer.signed(ones) + Integer.unsigned(carry), (1 << self.adder.bits) - 1
        max_exp, sign = self._max_exp(self.steps.aligned("max_exp")), Integer.unsigned(self.steps.aligned("zero_sign"))

        def right() -> Term:
            read = [number.read() for number in self.numbers]
            terms = [term for term, _ in read]
            if combine_specials(terms) is not None:
                return true()
            (_, first), (_, second) = read
            top = ite(as_integer(first) > second, first, second)
            unit = top - self.addition.bias
            kept = align(terms[side], unit, self.adder.bits - 1, "jam") if terms[side].sig else 0
            wanted = [holds(found == kept), exactly(found, -most, most), holds(max_exp == top)]
            wanted += [exactly(top, *self.adder.max_exp), *map(negated, self._said(self.steps.aligned))]
            return both(*wanted, holds(sign == zero_sign(terms, self.adder.rounding)))

        return LateClaim(
            f"{self.name}: {SIDES[side]} aligned", "it is shifted below the larger exponent, its lost bits jammed",
            "both numbers", self._known, lambda: each(paths(right, self._known)), self._show,
        )  # fmt: skip

    @staticmethod
    def _said(field: Any) -> list[Term]:
        return [is_one(field(f"special__{flag}")) for flag in SPECIAL]

    def _special(self) -> LateClaim:
        """Flags say what is special about a sum."""
        nan, positive, negative = self._said(self.steps.aligned)
        not_a_number = nan, both(positive, negative)

        def right() -> Term:
            terms = [number.read()[0] for number in self.numbers]
            special = combine_specials(terms)
            if special is None:
                return both(*map(negated, (nan, positive, negative)))
            if special.cls is Class.NAN:
                return negated(both(*map(negated, not_a_number)))
            minus = bool(special.sign == 1)
            return both(negated(nan), *((negative, negated(positive)) if minus else (positive, negated(negative))))

        return LateClaim(
            f"{self.name}: special", "flags say whether the sum is NaN, or an infinity of which sign", "both numbers",
            self._known, lambda: each(paths(right, self._known)), self._show,
        )  # fmt: skip

    @property
    def _added(self) -> list[tuple[Term, Term]]:
        return [(self.steps.summed(f"{side}_ones", "i"), self.steps.summed(f"{side}_carry", "i")) for side in SIDES]

    @property
    def _passed(self) -> list[tuple[Term, Term]]:
        names = ["max_exp", "zero_sign", *(f"special__{flag}" for flag in SPECIAL)]
        return [(self.steps.summed(name, "o"), self.steps.summed(name, "i")) for name in names]

    def _is_sum(self) -> bool:
        passed = all(after == before for after, before in self._passed)
        return passed and is_sum_of_both(self.steps.summed("total", "o"), self._added, (1 << self.adder.bits) - 1)

    def _sum_in_halves(self) -> Claim:
        """The same as a question: of a sum of which a register divides the low half from the high one."""
        most = (1 << self.adder.bits) - 1
        x, y = (Integer.signed(ones) + Integer.unsigned(carry) for ones, carry in self._added)
        known = exactly(x, -most, most), exactly(y, -most, most)
        total, show = self.steps.summed("total", "o"), tuple(term for pair in self._added for term in pair)
        passed = (same(after, before) for after, before in self._passed)
        return Claim("", *EXACT, known, both(holds(Integer.signed(total) == x + y), *passed), show)

    def _rounded(self) -> Iterator[AnyClaim]:
        steps, most, ends = self.steps, self.addition.most, self.adder.max_exp
        totals, exps, signs = (steps.rounds(field) for field in ("total", "max_exp", "zero_sign"))
        top, sign = self._max_exp(exps), Integer.unsigned(signs)
        known = (
            exactly(top, *ends), *map(negated, self._said(steps.rounds)),
        )  # fmt: skip
        exp = top.between(*ends)
        code = Integer.unsigned(self._code_of_total) << self.fmt.padding
        zero = sign << self.fmt.bits - 1 + self.fmt.padding if self.fmt.signed_zero else 0

        def rounded(inside: Any) -> Term:
            if not inside:
                return both(holds(code == zero), self._says_nan(0))
            result = as_integer(self.addition.code_of(inside, exp))
            # A NaN that overflow leaves has ones in its padding, which the code without padding has not.
            return both(holds(code == (result >> self.fmt.padding << self.fmt.padding)), self._says_nan(result))

        def right(total: Integer, assumed: Sequence[Term]) -> Term:
            return each(paths(lambda: rounded(total), assumed))

        yield from of_every_total(
            right, totals, most, known, (exps,), name=f"{self.name}: result", over="every exponent", at_once=AT_ONCE
        )

    def _says_nan(self, result: Any) -> Term:
        """That what rounding says of a code is right: whether it is the format's NaN."""
        said = self.steps.round.outputs.get("o__nan")
        if said is None:
            return true()
        is_nan = false() if self.fmt.canonical_nan is None else holds(as_integer(result) == self.fmt.canonical_nan)
        return both(implies(is_nan, is_one(said)), implies(is_one(said), is_nan))

    @property
    def _code_of_total(self) -> Term:
        return self.steps.round.outputs[self._code_name]

    @property
    def _code_name(self) -> str:
        return f"o__{self.steps.place.removesuffix('__')}" if self.steps.place else "o__code"

    def _flags(self) -> Claim:
        """Where a sum is special, flags alone decide the code."""
        nan, positive, negative = self._said(self.steps.rounds)
        code, padding = Integer.unsigned(self._code_of_total), self.fmt.padding
        both_signs = both(positive, negative)
        not_a_number = negated(both(negated(nan), negated(both_signs)))
        results = [(not_a_number, nan_code(self.fmt))]
        for sign, flag in ((0, positive), (1, negative)):
            code_of_infinity = infinity_code(self.fmt, sign, self.adder.target.overflow)
            results.append((both(flag, negated(not_a_number)), code_of_infinity))
        wanted = [
            implies(when, both(holds(code == result >> padding), self._says_nan(result))) for when, result in results
        ]
        return Claim(
            f"{self.name}: flags", "flags of special values give the model's code, whatever the total is",
            "all flags and totals", (), both(*wanted), tuple(self.steps.round.inputs.values()),
        )  # fmt: skip

    def _placed(self, number: ReadNumber) -> PlacedNumber:
        """A finite number as `hwsim.prove.addition` takes it."""
        match number:
            case NumberFields():
                finite = negated(is_one(number.nan)), negated(is_one(number.inf))
                return PlacedNumber(
                    Integer.unsigned(number.sig), number.exp, number.bits, (*number.known, *finite), number.ports
                )
            case NumberCode(fmt=fmt):
                return _placed_code(number, fmt)
            case _:
                raise TypeError("a number is fields or a code")


def _placed_code(number: NumberCode, fmt: FloatFormat) -> PlacedNumber:
    """Significand and exponent of a code that is finite, as the model decodes it."""
    sig: Any = 0
    exp: Any = 0
    conditions = []
    for path in paths(number.read):
        term, field = path.result
        if term.cls in (Class.NAN, Class.INFINITY):
            continue
        sig, exp = ite(Truth(path.condition), term.sig, sig), ite(Truth(path.condition), field, exp)
        conditions.append(path.condition)
    finite = negated(both(*map(negated, conditions)))
    return PlacedNumber(as_integer(sig), as_integer(exp), number.bits, (finite,), number.ports)
