"""The claims of an addition of two floats: what the model's rests on, and an adder in hardware."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, assert_never

from hwsim.formats import Class, Fields, FloatFormat
from hwsim.model import rounding as rounding_module
from hwsim.model.rounding import Rounded, combine_specials
from hwsim.model.terms import Term as ModelTerm
from hwsim.model.terms import addend_term, align
from hwsim.prove.circuits import Circuit, circuits
from hwsim.prove.claims import SPECIAL, AnyClaim, Claim, LateClaim, StructuralClaim, each, exactly, holds
from hwsim.prove.composition import Calls, ModelCall
from hwsim.prove.lemmas import zero_terms
from hwsim.prove.linear import Bounded, Forms, Variable, form
from hwsim.prove.rounding import of_every_total
from hwsim.prove.symbolic import (
    MOST_PLACES,
    Integer,
    Places,
    Tailed,
    Truth,
    as_integer,
    bits_for,
    given_function,
    ite,
    paths,
)
from hwsim.prove.terms import (
    Term,
    both,
    constant,
    either,
    false,
    implies,
    is_one,
    negated,
    same,
    substituted,
    true,
    value,
    width,
)
from hwsim.rtl.accumulate import Accumulation, EnteringCode
from hwsim.rtl.addition import GUARDS, FloatAdder, NumberRange
from hwsim.rtl.numbers import FieldRange
from hwsim.spec import Unit
from hwsim.spec.keys import Number, Rounding

Signed = TypeVar("Signed", ModelTerm, Fields)


def number(sign: object, magnitude: object, unit_exp: object) -> ModelTerm:
    """Return (-1)^sign * magnitude * 2^unit_exp as a term."""
    return ModelTerm(sign, unit_exp, magnitude, 0, Class.NORMAL)  # type: ignore[arg-type]


def of_known_sign(term: Signed) -> Signed:
    """Return a term, or fields, whose sign is a number on the path being followed; a magnitude stays what it is."""
    return term._replace(sign=int(as_integer(term.sign) != 0))


def is_sum_of_both(total: Term, pairs: Sequence[tuple[Term, Term]], most: int) -> bool:
    """True if forms show that a total is the exact sum of numbers in a window.

    pairs: their ones' complements and carries. most: what the magnitude of each is at most.
    """
    wanted, known = dict[Variable, int](), list[Bounded]()
    for ones, carry in pairs:
        top = width(ones) - 1
        factors = {
            Variable(ones.symbol(), 0, top): 1, Variable(ones.symbol(), top, 1): -(1 << top),
            Variable(carry.symbol(), 0, 1): 1,
        }  # fmt: skip
        known.append(Bounded(factors, -most, most))
        wanted |= factors
    return bool(Forms(known=known).of(total).key() == form(width(total), 0, wanted).key())


@dataclass(frozen=True)
class PlacedNumber:
    """A number before alignment.

    bits: its bits, the top one of which stands for 2^exp. known: what holds of it.
    """

    sig: Any
    exp: Any
    bits: int
    known: tuple[Term, ...]
    show: tuple[Term, ...] = ()


@dataclass(frozen=True)
class RoundedAddition:
    """An addition of two numbers, rounded once.

    call: the model's addition, by `add`. bits: of a number in the window, the places below it counted. exps: the least
    and the largest value of the larger exponent, as fields of the format count. least: of all exponents.
    """

    call: ModelCall
    bits: int
    exps: tuple[int, int]
    least: int

    @property
    def fmt(self) -> FloatFormat:
        """The format of the sum."""
        return self.call["fmt"]  # type: ignore[no-any-return]

    @property
    def rounding(self) -> Rounding:
        """The rounding of the sum."""
        return self.call["rounding"]  # type: ignore[no-any-return]

    @property
    def bias(self) -> int:
        """The bias of exponent fields."""
        return FieldRange.of(self.fmt).bias

    def code(self, *terms: ModelTerm) -> Any:
        """Return the model's code of a sum, in the format's container."""
        return self.call(terms)

    def unit_exp(self, top: Any) -> Any:
        """Return the exponent of the window's last place. top: the larger exponent, as a field."""
        return top - self.bias - (self.bits - 1)

    def code_of(self, total: Any, top: Any) -> Any:
        """Return the code of a total other than zero, in units of the window's last place."""
        return self.code(number(int(total < 0), abs(total), self.unit_exp(top)))

    @property
    def most(self) -> int:
        """The largest total."""
        return 2 * ((1 << self.bits) - 1)

    def is_large(self, sig: Any, exp: Any) -> Term:
        """The condition on a number in the window that has the larger exponent."""
        guards = holds(as_integer(sig) & ((1 << GUARDS) - 1) == 0)
        return both(guards, self.leads(sig, exp, self.bits))

    def leads(self, sig: Any, exp: Any, bits: int) -> Term:
        """The condition that a number's leading one is on top of its bits, as far as it must be.

        A number at the least exponent is not rounded below its last place. A format without subnormals has a number of
        its own above zero: there whatever is other than zero has its leading one on top.
        """
        leading = holds(sig >= 1 << bits - 1)
        above = implies(holds(exp > 1), leading)
        return above if self.fmt.subnormals else both(above, either(holds(sig == 0), leading))

    def is_small(self, kept: Any) -> Term:
        """The condition on what the window keeps of a number with a tail: it is more than `GUARDS` places down."""
        return holds(kept < 1 << self.bits - GUARDS - 1)

    def composition(self, place: str, numbers: Sequence[PlacedNumber]) -> Claim:
        """The claim that both numbers are what these claims take, whichever has the larger exponent."""
        known = [known for placed in numbers for known in placed.known]
        wanted = []
        for placed in numbers:
            in_window = placed.sig << self.bits - placed.bits
            # Up to so many places down nothing falls out of the window.
            exact = holds(as_integer(in_window) & ((1 << GUARDS) - 1) == 0)
            wanted += [self.is_large(in_window, placed.exp), exact, self.is_small(in_window >> GUARDS + 1)]
            wanted += [holds(placed.exp >= self.least), holds(placed.exp <= self.exps[1])]
        larger = ite(numbers[0].exp > numbers[1].exp, numbers[0].exp, numbers[1].exp)
        return Claim(
            f"{place}: composition", "what is decoded is what the claims of jammed sums take", "both numbers",
            tuple(known), both(*wanted, holds(as_integer(larger) >= self.exps[0])),
            tuple(term for placed in numbers for term in placed.show),
        )  # fmt: skip

    def claims(self, place: str) -> Iterator[LateClaim]:
        """Yield the claims. place: the beginning of their names."""
        yield self._by_value(place)
        for apart in range(GUARDS + 2):
            yield self._near(place, apart)
        for negative in (0, 1) if self.rounding in ("ru", "rd") else (0,):
            yield self._tailed(place, negative)
            if not self.fmt.subnormals:
                yield self._beside_zero(place, negative)

    def _by_value(self, place: str) -> LateClaim:
        """The claim that the model rounds a number's value, however many zeros its significand ends with."""
        low, high = self.exps
        magnitude, exps = (
            constant(f"{place}.value", self.bits + 1),
            constant(f"{place}.exp", bits_for(low, high + self.bits)),
        )
        size, exp = Integer.unsigned(magnitude), Integer.signed(exps)
        known = (exactly(exp, low, high + self.bits), holds(size != 0))
        size, exp = size.between(1, size.high), exp.between(low, high + self.bits)

        def same_code() -> Term:
            unit, sign = self.unit_exp(exp), self._some_sign(place)
            return holds(
                as_integer(self.code(number(sign, size, unit))) == self.code(number(sign, size << 1, unit - 1))
            )

        return LateClaim(
            f"{place}: value", "a number and its double at the exponent below are rounded alike",
            f"magnitudes of {self.bits + 1} bits", known, lambda: each(paths(same_code, known)), (magnitude, exps),
        )  # fmt: skip

    def _near(self, place: str, apart: int) -> LateClaim:
        """The claim of two numbers so close that no bit of either is lost."""
        name, (low, high) = f"{place}.near.{apart}", self.exps
        shows = [constant(f"{name}.{what}", bits) for what, bits in (
            ("large", self.bits), ("small", self.bits), ("exp", bits_for(low, high)), ("sign", 1), ("minus", 1),
        )]  # fmt: skip
        large, small, exp, sign, minus = (Integer.signed(one) if index == 2 else Integer.unsigned(one)
                                          for index, one in enumerate(shows))  # fmt: skip
        guards = holds(as_integer(small) & ((1 << GUARDS) - 1) == 0)
        known = (exactly(exp, low, high), self.is_large(large, exp), guards)
        top = exp.between(low, high)

        def same_code() -> Term:
            signs = int(as_integer(sign) != 0), int(as_integer(minus) != 0)
            terms = [
                ModelTerm(one, top - self.bias - down, sig, self.bits - 1, Class.NORMAL if sig else Class.ZERO)
                for one, sig, down in zip(signs, (large, small), (0, apart), strict=True)
            ]  # fmt: skip
            x, y = (-sig if one else sig for one, sig in zip(signs, (large << apart, small), strict=True))
            total = as_integer(x + y)
            pairs = [(terms, signs), (terms[::-1], signs[::-1])]
            if not total:
                return both(*(holds(as_integer(self.code(*pair)) == self.code(*zero_terms(of))) for pair, of in pairs))
            exact = number(int(total < 0), abs(total), self.unit_exp(top) - apart)
            with given_function(rounding_module, "round_to", lambda *given: Rounded(given, None)):  # type: ignore[arg-type]
                wanted: Any = self.code(exact)
                return both(*(_rounded_alike(self.code(*pair), wanted) for pair, _ in pairs))

        return LateClaim(
            f"{place}: {apart} apart", "of two numbers of which nothing is lost their exact sum is rounded",
            "numbers whose exponents are that far apart, in either order", known, lambda: each(paths(same_code, known)),
            tuple(shows),
        )  # fmt: skip

    def _some_sign(self, place: str) -> int:
        """A sign of either kind, where roundings look at it; else 0."""
        if self.rounding not in ("ru", "rd"):
            return 0
        return int(Truth(is_one(constant(f"{place}.sign", 1))))

    def _tailed(self, place: str, negative: int) -> LateClaim:
        name = f"{place}.{negative}"
        low, high = self.exps
        larges, kepts = constant(f"{name}.large", self.bits), constant(f"{name}.kept", self.bits - GUARDS - 1)
        exps, tails, minus = (
            constant(f"{name}.exp", bits_for(low, high)),
            constant(f"{name}.tail", 1),
            constant(f"{name}.minus", 1),
        )
        large, kept, exp = Integer.unsigned(larges), Integer.unsigned(kepts), Integer.signed(exps)
        known = [
            exactly(exp, low, high), self.is_large(large, exp), self.is_small(kept),
            either(holds(kept != 0), is_one(tails)),
            # A sum of zero has a sign of its own.
            either(is_one(tails), holds(large != kept), negated(is_one(minus))),
            *([] if self.fmt.subnormals else [holds(large != 0)]),
        ]  # fmt: skip
        top = exp.between(low, high)

        def same_code() -> Term:
            sign = negative ^ int(Truth(is_one(minus)))
            exp: Any = Places(top - self.bias, -1)
            sig: Any = Tailed(kept, is_one(tails))
            small = ModelTerm(sign, exp, sig, self.bits - 1, Class.NORMAL)
            exact = self.code(ModelTerm(negative, top - self.bias, large, self.bits - 1, Class.NORMAL), small)
            jammed = align(small, top - self.bias, self.bits - 1, "jam")
            return holds(as_integer(self.code_of((-large if negative else large) + jammed, top)) == exact)

        signs = " to a negative number" if negative else ""
        return LateClaim(
            f"{place}: jammed{signs}", "where bits of the smaller number fall out of the window, the jammed sum has "
            "the code of the exact one", f"every tail of 1 to {MOST_PLACES} places", tuple(known),
            lambda: each(paths(same_code, known)), (larges, kepts, exps, tails, minus),
        )  # fmt: skip

    def _beside_zero(self, place: str, negative: int) -> LateClaim:
        """The claim of a number beside a zero that has the larger exponent: of formats without subnormals alone."""
        name, low = f"{place}.zero.{negative}", self.exps[0]
        widest = max(GUARDS + 1, 1 - self.least)
        sigs, exps, distances = (
            constant(f"{name}.{what}", bits)
            for what, bits in (("sig", self.bits), ("exp", bits_for(min(low, 0), 1)), ("apart", widest.bit_length()))
        )
        sig, exp, apart = Integer.unsigned(sigs), Integer.signed(exps), Integer.unsigned(distances)
        known = (exactly(exp, low, 1), exactly(apart, GUARDS + 1, widest), holds(sig >= 1 << self.bits - 1))
        top, places = exp.between(low, 1), apart.between(GUARDS + 1, widest)
        sig = sig.between(1 << self.bits - 1, sig.high)

        def same_code() -> Term:
            alone = ModelTerm(negative, top - places - self.bias, sig, self.bits - 1, Class.NORMAL)
            jammed = align(alone, top - self.bias, self.bits - 1, "jam")
            return holds(as_integer(self.code_of(jammed, top)) == self.code(alone))

        signs = " of a negative number" if negative else ""
        return LateClaim(
            f"{place}: jammed beside zero{signs}", "what the window leaves of a number beside a zero has its code",
            f"distances {GUARDS + 1} to {widest}", known, lambda: each(paths(same_code, known)),
            (sigs, exps, distances),
        )  # fmt: skip


def special_codes(addition: RoundedAddition) -> list[int]:
    """Return the codes of NaN, and of both infinities, as the model's addition of one term returns them."""
    every = [(0, Class.NAN), (0, Class.INFINITY), (1, Class.INFINITY)]
    return [addition.code(ModelTerm(sign, 0, 0, 0, cls)) for sign, cls in every]


def _rounded_alike(first: Any, second: Any) -> Term:
    """The condition that two sums are rounded alike: that `round_to` is given the same."""
    if not (isinstance(first, tuple) and isinstance(second, tuple)):
        return false()
    integers = list(zip(first[1:4], second[1:4], strict=True))  # sign, significand and unit
    return both(
        *(holds(as_integer(x) == y) for x, y in integers), holds((first[0], first[4:]) == (second[0], second[4:]))
    )


def entering_claim(unit: Unit, what: Accumulation, calls: Calls) -> LateClaim | None:
    """The claim that what is kept of an addend is the model's; None for a unit without an addend."""
    fmt = unit.operands.addend
    if fmt is None:
        return None
    port = constant("entering.c", fmt.container_bits)
    code = Integer.unsigned(port)
    clean = (holds(code & ((1 << fmt.padding) - 1) == 0),) if fmt.padding else ()
    kept_in: Number = what.format if what.start is None else what.start
    kept, source = Integer.unsigned(entering(what, port)), "c"
    if "positive zero" in calls:
        source = "entered"
    enters = [calls[f"{name} {source}"] for name in ("enters", "entering") if f"{name} {source}" in calls]

    def right() -> Term:
        taken: Any = code if source == "c" else calls["positive zero"](code)
        if enters:
            term, rounds = enters
            taken = rounds((of_known_sign(term(taken)),))
        return holds(kept == as_integer(taken) >> kept_in.padding)

    return LateClaim(
        f"{what.name}: entering", "what is kept of an addend is the model's", f"codes of {fmt.name}", clean,
        lambda: each(paths(right, clean)), (port,),
    )  # fmt: skip


def entering(what: Accumulation, c: Term | None) -> Term:
    """Return what is kept of an addend `c`; of None, where a unit has no addend, zero."""
    if c is None:
        return value(0, what.code_bits)
    circuit = circuits({"entering": EnteringCode(what)})["entering"]
    return substituted(circuit.outputs["o"], {circuit.inputs["c"]: c})


SIDES = ("x", "y")
EXACT = "the total is the sum of both, exactly", "both numbers"
AT_ONCE = 40  # bits of totals of which rounding is decided at once


class ReadNumber(ABC):
    """One of two numbers as it enters an adder.

    bits: of its significand. ports: the signals that it is read from.
    """

    bits: int
    ports: tuple[Term, ...]

    @property
    @abstractmethod
    def known(self) -> tuple[Term, ...]:
        """The conditions that hold of it."""

    @abstractmethod
    def read(self) -> tuple[ModelTerm, Any]:
        """Return the model's term, and the field of the exponent of its top bit; to be called on a path."""


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
        """The condition that its exponent is within the range, and its significand normalised."""
        finite = both(negated(is_one(self.nan)), negated(is_one(self.inf)))
        return (implies(finite, is_number(self.sig, self.exp, self.span, self.fmt)),)

    def read(self) -> tuple[ModelTerm, Any]:
        """Return the same as `ReadNumber.read`; flags are asked first."""
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
        """No condition: any code."""
        return ()

    def read(self) -> tuple[ModelTerm, Any]:
        """Return the same as `ReadNumber.read`, as the model decodes the code."""
        term = addend_term(self.fmt, Integer.unsigned(self.port) << self.fmt.padding)
        if term.cls in (Class.NAN, Class.INFINITY):
            return term, 0
        return term, as_integer(term.exp) + FieldRange.of(self.fmt).bias


def is_decoded(ports: Mapping[str, Term], place: str, span: NumberRange, fmt: FloatFormat, term: ModelTerm) -> Term:
    """The condition that fields at a place are a term of the model: the same value, and what holds of every number."""
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
    """The condition on a finite number: the relation between decoding and alignment."""
    top = 1 << span.bits - 1
    size = Integer.unsigned(sig)
    leading = implies(holds(exp > 1), holds(size >= top))
    if not fmt.subnormals:
        leading = both(leading, implies(holds(size != 0), holds(size >= top)))
    return both(exactly(exp, span.low, span.high), leading)


@dataclass(frozen=True)
class AdderCircuits:
    """The circuits of an adder's steps.

    align: to the outputs `aligned`. sum: from them to the total. round: to `code`. place: the prefix of the names of
    fields between the steps.
    """

    align: Circuit
    sum: Circuit
    round: Circuit
    place: str = ""

    def aligned(self, field: str) -> Term:
        """Return a field that alignment makes."""
        return self.align.outputs[f"o__{self.place}{field}"]

    def summed(self, field: str, prefix: str) -> Term:
        """Return a field that the sum takes, `i`, or gives, `o`."""
        ports = self.sum.inputs if prefix == "i" else self.sum.outputs
        return ports[f"{prefix}__{self.place}{field}"]

    def rounds(self, field: str) -> Term:
        """Return a field that rounding takes."""
        return self.round.inputs[f"i__{self.place}{field}"]


class AdderClaims:
    """All claims about one adder.

    name: the beginning of their names. call: the addition that is the model's.
    """

    def __init__(
        self, name: str, adder: FloatAdder, steps: AdderCircuits, numbers: Sequence[ReadNumber], call: ModelCall
    ):
        self.name, self.adder, self.steps, self.numbers = name, adder, steps, tuple(numbers)
        self.fmt, self.low = call["fmt"], min(adder.x.low, adder.y.low)
        self.addition = RoundedAddition(call, adder.bits, adder.max_exp, self.low)

    def claims(self) -> Iterator[AnyClaim]:
        """Yield the claims in the order of the steps."""
        for side in (0, 1):
            yield self._aligned(side)
        yield self._special()
        yield StructuralClaim(f"{self.name}: sum", *EXACT, self._is_sum, self._sum_in_halves)
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
        """The claim of a number in the window, below the larger exponent of both."""
        ones, carry = (self.steps.aligned(f"{SIDES[side]}_{field}") for field in ("ones", "carry"))
        inside, most = Integer.signed(ones) + Integer.unsigned(carry), (1 << self.adder.bits) - 1
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
            wanted = [holds(inside == kept), exactly(inside, -most, most), holds(max_exp == top)]
            wanted += [exactly(top, *self.adder.max_exp), *map(negated, self._said(self.steps.aligned))]
            if self.fmt.signed_zero:  # the sign that the model gives a sum of zeros with these signs
                minus = as_integer(self.addition.code(*zero_terms(term.sign for term in terms))) != 0
                wanted.append(same(holds(sign == 1), holds(minus)))
            return both(*wanted)

        return LateClaim(
            f"{self.name}: {SIDES[side]} aligned", "it is shifted below the larger exponent, its lost bits jammed",
            "both numbers", self._known, lambda: each(paths(right, self._known)), self._show,
        )  # fmt: skip

    @cached_property
    def _special_codes(self) -> list[int]:
        return special_codes(self.addition)

    @staticmethod
    def _said(field: Any) -> list[Term]:
        return [is_one(field(f"special__{flag}")) for flag in SPECIAL]

    def _special(self) -> LateClaim:
        """The claim that flags say what is special about a sum."""
        nan, positive, negative = self._said(self.steps.aligned)
        not_a_number = nan, both(positive, negative)

        def right() -> Term:
            terms = [of_known_sign(number.read()[0]) for number in self.numbers]
            special = combine_specials(terms)
            if special is None:
                return both(*map(negated, (nan, positive, negative)))
            code = as_integer(self.addition.code(*terms))
            if special.cls is Class.NAN:
                return both(negated(both(*map(negated, not_a_number))), holds(code == self._special_codes[0]))
            minus = bool(special.sign == 1)
            signs = (negative, negated(positive)) if minus else (positive, negated(negative))
            return both(negated(nan), *signs, holds(code == self._special_codes[1 + minus]))

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
        """The same claim as a question: of a sum of which a register divides the low half from the high one."""
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
        """The condition that rounding's flag is right: it is set where a code is the format's NaN."""
        flag = self.steps.round.outputs.get("o__nan")
        if flag is None:
            return true()
        is_nan = false() if self.fmt.canonical_nan is None else holds(as_integer(result) == self.fmt.canonical_nan)
        return both(implies(is_nan, is_one(flag)), implies(is_one(flag), is_nan))

    @property
    def _code_of_total(self) -> Term:
        return self.steps.round.outputs[self._code_name]

    @property
    def _code_name(self) -> str:
        return f"o__{self.steps.place.removesuffix('__')}" if self.steps.place else "o__code"

    def _flags(self) -> Claim:
        """The claim that where a sum is special, flags alone decide the code."""
        nan, positive, negative = self._said(self.steps.rounds)
        code, padding = Integer.unsigned(self._code_of_total), self.fmt.padding
        both_signs = both(positive, negative)
        not_a_number = negated(both(negated(nan), negated(both_signs)))
        infinite = [both(flag, negated(not_a_number)) for flag in (positive, negative)]
        results = zip((not_a_number, *infinite), self._special_codes, strict=True)
        wanted = [
            implies(when, both(holds(code == result >> padding), self._says_nan(result))) for when, result in results
        ]
        return Claim(
            f"{self.name}: flags", "flags of special values give the model's code, whatever the total is",
            "all flags and totals", (), both(*wanted), tuple(self.steps.round.inputs.values()),
        )  # fmt: skip

    def _placed(self, number: ReadNumber) -> PlacedNumber:
        """A finite number in the form that `RoundedAddition.composition` takes."""
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
    """The significand and exponent of a code that is finite, as the model decodes it."""
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
