"""Mistakes of alignment and addition: distances, the largest exponent, guard bits, carries, signs of zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, assert_never

from hwsim.explain.mistakes.flaw import Flaw, TermCut
from hwsim.formats import Class
from hwsim.model.terms import Term
from hwsim.spec.keys import Lost

MaximumMistake = Literal[
    "without the addend",
    "of the addend and the first lane",
    "of the first lane alone",
    "of exponents without their signs",
]
ZeroSignMistake = Literal["+", "-", "first term", "last term", "and", "or"]


VANISHED = 1 << 12  # a distance at which nothing is left of a term


@dataclass(frozen=True)
class DistanceWraps(Flaw):
    """The shift distance is taken modulo 2^bits."""

    bits: int

    def distance(self, distance: int) -> int:
        """As in `Flaw`."""
        return distance & ((1 << self.bits) - 1)


@dataclass(frozen=True)
class DistanceLimited(Flaw):
    """A term is never shifted by more than `most`."""

    most: int

    def distance(self, distance: int) -> int:
        """As in `Flaw`."""
        return min(distance, self.most)


@dataclass(frozen=True)
class DistanceBit(Flaw):
    """A stage of the shifter, the one of 2^bit places, does nothing."""

    bit: int

    def distance(self, distance: int) -> int:
        """As in `Flaw`."""
        return distance & ~(1 << self.bit)


@dataclass(frozen=True)
class DistanceOff(Flaw):
    """A term below the largest exponent is shifted by some places too many."""

    by: int

    def distance(self, distance: int) -> int:
        """As in `Flaw`."""
        return max(0, distance + self.by) if distance else distance


@dataclass(frozen=True)
class FarDropped(Flaw):
    """The smaller term of an addition is lost where it is far below the larger one: no sticky bit stands for it.

    least: the distance of the leading ones from which on. of_addend: of which; None: of both.
    """

    least: int
    of_addend: bool | None = None

    def dropped(self, distance: int, addend: bool) -> bool:
        """As in `Flaw`."""
        return distance >= self.least and self.of_addend in (None, addend)


@dataclass(frozen=True)
class MaximumWrong(Flaw):
    """max_exp is that of other terms. vanishing: whether terms above it are lost, as a distance below zero wraps."""

    mistake: MaximumMistake
    vanishing: bool = False

    def distance(self, distance: int) -> int:
        """As in `Flaw`."""
        return VANISHED if self.vanishing and distance < 0 else distance

    def max_exp(self, max_exp: int, products: tuple[Term, ...], addend: Term | None) -> int:
        """As in `Flaw`."""
        match self.mistake:
            case "without the addend":
                among: tuple[Term | None, ...] = products
            case "of the addend and the first lane":
                among = (products[0], addend)
            case "of the first lane alone":
                among = products[:1]
            case "of exponents without their signs":
                exps = [term.exp for term in (*products, addend) if term is not None and term.cls is Class.NORMAL]
                return max(exps, key=lambda exp: (exp < 0, exp), default=max_exp)
            case _:
                assert_never(self.mistake)
        exps = [term.exp for term in among if term is not None and term.cls is Class.NORMAL]
        return max(exps, default=max_exp)


@dataclass(frozen=True)
class ZerosCount(Flaw):
    """A product of zero takes part in max_exp, with the exponent that it has."""

    def max_exp(self, max_exp: int, products: tuple[Term, ...], addend: Term | None) -> int:
        """As in `Flaw`."""
        return max([max_exp, *(term.exp for term in products)])


@dataclass(frozen=True)
class TermLeftOut(Flaw):
    """A term takes part in max_exp, and is left out of the sum. lane: None for the addend."""

    lane: int | None

    def aligned(self, aligned: tuple[int, ...], lanes: int) -> tuple[int, ...]:
        """As in `Flaw`."""
        gone = lanes if self.lane is None else self.lane
        return tuple(0 if at == gone else term for at, term in enumerate(aligned))


@dataclass(frozen=True)
class OperandCut(Flaw):
    """The smaller term of an addition keeps some bits below the larger one's last place, and loses the others.

    extra: bits that it keeps, beside those of the sum's significand. subtractions: only where signs differ.
    """

    extra: int
    lost: Lost
    subtractions: bool = False

    def cut(self, precision: int, opposite: bool) -> TermCut | None:
        """As in `Flaw`."""
        return TermCut(precision - 1 + self.extra, self.lost) if opposite or not self.subtractions else None


@dataclass(frozen=True)
class SumWraps(Flaw):
    """A sum keeps its low bits alone.

    bits: so many, two's complement. unit_exp: of its last place; None: that of a window.
    """

    bits: int
    unit_exp: int | None = None

    def total(self, total: int, unit_exp: int) -> int:
        """As in `Flaw`."""
        lower = 0 if self.unit_exp is None else self.unit_exp - unit_exp
        half = 1 << max(0, self.bits - 1 + lower)
        return (total + half) % (2 * half) - half


@dataclass(frozen=True)
class NoCarryOfNegation(Flaw):
    """The magnitude of a negative sum is its ones' complement, without the 1 that is added.

    unit_exp: of the sum's last place; None: that of a window. vanishes: whether -1 in that place becomes 0.
    """

    unit_exp: int | None = None
    vanishes: bool = True

    def magnitude(self, sign: int, sig: int, unit_exp: int) -> tuple[int, int]:
        """As in `Flaw`."""
        last = unit_exp if self.unit_exp is None else self.unit_exp
        least = min(last, unit_exp)
        made = max(0, (sig << unit_exp - least) - (1 << last - least))
        return (made, least) if sign and (made or self.vanishes) else (sig, unit_exp)


@dataclass(frozen=True)
class NormalizedUpwards(Flaw):
    """The exponent grows by the places that the sum is shifted to be normalised, instead of being smaller by them.

    top: the place of the leading 1 of a sum that is not shifted, counted from the window's last place, or from 2^last.
    complement: whether a negative sum is normalised in two's complement, in which its first 0 leads.
    """

    top: int
    last: int | None = None
    complement: bool = False

    def magnitude(self, sign: int, sig: int, unit_exp: int) -> tuple[int, int]:
        """As in `Flaw`."""
        if not sig:
            return sig, unit_exp
        above = 0 if self.last is None else unit_exp - self.last
        leading = (sig - (sign and self.complement)).bit_length() - 1 + above
        return sig, unit_exp + 2 * (self.top - leading)


@dataclass(frozen=True)
class OppositeInfinities(Flaw):
    """Infinities of both signs are not NaN. last: the last one is the sum; else the first."""

    last: bool

    def special(self, special: Term | None, terms: tuple[Term, ...]) -> Term | None:
        """As in `Flaw`."""
        infinite = [term for term in terms if term.cls is Class.INFINITY]
        if any(term.cls is Class.NAN for term in terms) or len({term.sign for term in infinite}) < 2:
            return special
        return infinite[-1 if self.last else 0]


@dataclass(frozen=True)
class ZeroSignWrong(Flaw):
    """The sign of a sum of exactly zero is another."""

    mistake: ZeroSignMistake

    def zero_sign(self, sign: int, terms: tuple[Term, ...]) -> int:
        """As in `Flaw`."""
        signs = [term.sign for term in terms]
        match self.mistake:
            case "+":
                return 0
            case "-":
                return int(any(term.cls is not Class.ZERO for term in terms) or any(signs))
            case "first term":
                return signs[0]
            case "last term":
                return signs[-1]
            case "and":
                return int(all(signs))
            case "or":
                return int(any(signs))
            case _:
                assert_never(self.mistake)
