"""What an addition of two floats rests on, whoever does it: jammed, and rounded once, it is the model's.

Of two numbers the one with the smaller exponent is shifted right in a window, and what falls out of it is jammed into
its last place. The window has `GUARDS` places below the longer number, so that up to that distance nothing is lost. At
any larger distance the exact sum is L * 2^places +- S with a tail below the window (hwsim/prove/tailed.py): the model's
own addition of these is claimed to have the code that the jammed sum has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from hwsim.formats import Class, Fields, FloatFormat
from hwsim.model.addition import add
from hwsim.model.terms import Term as ModelTerm
from hwsim.model.window import align
from hwsim.prove.claims import Claim, LateClaim
from hwsim.prove.explore import paths
from hwsim.prove.linear import Bounded, Forms, Variable, form
from hwsim.prove.logic import Term, both, constant, either, implies, is_one, negated, width
from hwsim.prove.relations import each, exactly, holds
from hwsim.prove.symbolic import Integer, Truth, as_integer, bits_for, ite
from hwsim.prove.tailed import MOST_PLACES, Places, Tailed
from hwsim.rtl.addition import GUARDS
from hwsim.rtl.numbers import FieldRange
from hwsim.spec.keys import Overflow, Rounding, Tininess

Signed = TypeVar("Signed", ModelTerm, Fields)


def number(sign: object, magnitude: object, unit_exp: object) -> ModelTerm:
    """(-1)^sign * magnitude * 2^unit_exp as a term."""
    return ModelTerm(sign, unit_exp, magnitude, 0, Class.NORMAL)  # type: ignore[arg-type]


def of_known_sign(term: Signed) -> Signed:
    """A term, or fields, whose sign is a number on the path that is being followed: a magnitude stays what it is."""
    return term._replace(sign=int(as_integer(term.sign) != 0))


def is_sum_of_both(total: Term, pairs: Sequence[tuple[Term, Term]], most: int) -> bool:
    """Whether forms show that a total is the exact sum of numbers in a window.

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
    """A number before alignment: of so many bits, the top one of which stands for 2^exp. known: what holds of it."""

    sig: Any
    exp: Any
    bits: int
    known: tuple[Term, ...]
    show: tuple[Term, ...] = ()


@dataclass(frozen=True)
class RoundedAddition:
    """An addition of two numbers, rounded once.

    bits: of a number in the window, the places below it counted. exps: ends of the larger exponent, as fields of the
    format count. least: of all exponents. flush, overflow: as of `add`.
    """

    fmt: FloatFormat
    rounding: Rounding
    bits: int
    exps: tuple[int, int]
    least: int
    flush: Tininess | None = None
    overflow: Overflow = "ieee"

    @property
    def bias(self) -> int:
        """Of exponent fields."""
        return FieldRange.of(self.fmt).bias

    def code(self, *terms: ModelTerm) -> Any:
        """The model's code of a sum, in the format's container."""
        return add(self.fmt, terms, self.rounding, self.flush, self.overflow)

    def unit_exp(self, top: Any) -> Any:
        """The exponent of the window's last place. top: the larger exponent, as a field."""
        return top - self.bias - (self.bits - 1)

    def code_of(self, total: Any, top: Any) -> Any:
        """The code of a total other than zero, in units of the window's last place."""
        return self.code(number(int(total < 0), abs(total), self.unit_exp(top)))

    @property
    def most(self) -> int:
        """The largest total."""
        return 2 * ((1 << self.bits) - 1)

    def is_large(self, sig: Any, exp: Any) -> Term:
        """What a number in the window is that has the larger exponent."""
        guards = holds(as_integer(sig) & ((1 << GUARDS) - 1) == 0)
        return both(guards, self.leads(sig, exp, self.bits))

    def leads(self, sig: Any, exp: Any, bits: int) -> Term:
        """That a number's leading one is on top of its bits, as far as it must be.

        A number at the least exponent is not rounded below its last place. A format without subnormals has a number
        of its own above zero: there whatever is other than zero has its leading one on top.
        """
        leading = holds(sig >= 1 << bits - 1)
        above = implies(holds(exp > 1), leading)
        return above if self.fmt.subnormals else both(above, either(holds(sig == 0), leading))

    def is_small(self, kept: Any) -> Term:
        """What is left in the window of a number that has a tail below it: it is more than `GUARDS` places down."""
        return holds(kept < 1 << self.bits - GUARDS - 1)

    def composition(self, place: str, numbers: Sequence[PlacedNumber]) -> Claim:
        """What both numbers are is what these claims take, whichever has the larger exponent."""
        known = [known for one in numbers for known in one.known]
        wanted = []
        for one in numbers:
            in_window = one.sig << self.bits - one.bits
            # Up to so many places down nothing falls out of the window.
            exact = holds(as_integer(in_window) & ((1 << GUARDS) - 1) == 0)
            wanted += [self.is_large(in_window, one.exp), exact, self.is_small(in_window >> GUARDS + 1)]
            wanted += [holds(one.exp >= self.least), holds(one.exp <= self.exps[1])]
        larger = ite(numbers[0].exp > numbers[1].exp, numbers[0].exp, numbers[1].exp)
        return Claim(
            f"{place}: composition", "what is decoded is what the claims of jammed sums take", "both numbers",
            tuple(known), both(*wanted, holds(as_integer(larger) >= self.exps[0])),
            tuple(term for one in numbers for term in one.show),
        )  # fmt: skip

    def claims(self, place: str) -> Iterator[LateClaim]:
        """place: what their names begin with."""
        yield self._by_value(place)
        for negative in (0, 1) if self.rounding in ("ru", "rd") else (0,):
            yield self._tailed(place, negative)
            if not self.fmt.subnormals:
                yield self._beside_zero(place, negative)

    def _by_value(self, place: str) -> LateClaim:
        """The model's rounding is of a number's value, however many zeros its significand ends with."""
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

    def _some_sign(self, place: str) -> int:
        """A sign, where roundings look at it."""
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
        """A number beside a zero that has the larger exponent, which only formats without subnormals look at."""
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
