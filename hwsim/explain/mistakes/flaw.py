"""The places of the arithmetic at which a design may go wrong, and what passes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from hwsim.cases.case import Case
from hwsim.formats import Fields, FloatFormat, Format
from hwsim.model.terms import Term
from hwsim.spec import Unit
from hwsim.spec.keys import Lost, Rounding

Side = Literal["a", "b"]
# The roundings of specifications, and those that are only made by mistake: ties to odd, ties towards plus infinity,
# and to nearest with a half that is never reached.
LastPlaceRule = Rounding | Literal["ties-odd", "ties-up", "ties-down"]


class LastPlace(NamedTuple):
    """A magnitude before it is rounded: sig * 2^-shift becomes an integer.

    tiny: whether the number is below the format's least normal number.
    """

    sig: int
    shift: int
    sign: int
    rule: LastPlaceRule
    tiny: bool


class UnpackedResult(NamedTuple):
    """A rounded float before it becomes a code.

    magnitude: the code without its sign, with as many exponent bits as it takes. bexp: the biased exponent that it
    would have without subnormals. kept: the rounded significand. sig, unit_exp: the number that was rounded.
    """

    format: FloatFormat
    sign: int
    magnitude: int
    bexp: int
    kept: int
    sig: int
    unit_exp: int

    @property
    def overflows(self) -> bool:
        """Whether the number is too large for the format."""
        return self.magnitude > self.format.max_magnitude

    @property
    def subnormal(self) -> bool:
        """Whether the rounded number is between zero and the least normal number."""
        return 0 < self.magnitude < 1 << self.format.fraction_bits


class TermCut(NamedTuple):
    """How the smaller term of an addition is cut. bits: of its fraction below the leading one of the larger."""

    bits: int
    lost: Lost


@dataclass(frozen=True)
class Flaw:
    """No flaw: everything passes as it is. A mistake changes what passes one place."""

    def case(self, unit: Unit, case: Case, before: int | None) -> Case:
        """The operands that are computed with. before: the design's result before, None where nobody knows it."""
        return case

    def factor(self, side: Side, fmt: Format, code: int, fields: Fields) -> Fields:
        """A decoded factor."""
        return fields

    def addend(self, fmt: Format, code: int, term: Term) -> Term:
        """A decoded addend, or a decoded sum so far."""
        return term

    def product(self, a: Fields, b: Fields, term: Term) -> Term:
        """The term of two decoded factors."""
        return term

    def products(self, products: tuple[Term, ...]) -> tuple[Term, ...]:
        """The products of a group."""
        return products

    def special(self, special: Term | None, terms: tuple[Term, ...]) -> Term | None:
        """The NaN or infinity that terms make together; None where they are finite."""
        return special

    def max_exp(self, max_exp: int, products: tuple[Term, ...], addend: Term | None) -> int:
        """The exponent that the window's terms are aligned to."""
        return max_exp

    def distance(self, distance: int) -> int:
        """By how many places a term is shifted below the largest exponent."""
        return distance

    def align(self, term: Term, max_exp: int, fraction_bits: int) -> int | None:
        """A term in units of a window's last place, 2^(max_exp - fraction_bits); None where it is made as specified."""
        return None

    def aligned(self, aligned: tuple[int, ...], lanes: int) -> tuple[int, ...]:
        """The terms of a window, in units of its last place: of `lanes` lanes, and of the addend where there is one."""
        return aligned

    def dropped(self, distance: int, addend: bool) -> bool:
        """Whether the smaller term of an addition of two is lost, with all that rounding would know of it.

        distance: of the leading ones. addend: whether it is what the addition goes on from, and not the product.
        """
        return False

    def cut(self, precision: int, opposite: bool) -> TermCut | None:
        """How the smaller term of an addition of two is cut before it; None where it is not.

        precision: bits of the sum's significand. opposite: whether the terms' signs differ.
        """
        return None

    def total(self, total: int, unit_exp: int) -> int:
        """A sum, as an integer in units of 2^unit_exp, which is the last place of a window."""
        return total

    def magnitude(self, sign: int, sig: int, unit_exp: int) -> tuple[int, int]:
        """The magnitude of a sum before it is normalised and rounded, in units of 2^unit_exp, and that exponent."""
        return sig, unit_exp

    def last_place(self, place: LastPlace) -> LastPlace:
        """What is rounded, and how."""
        return place

    def number(self, number: UnpackedResult) -> int | None:
        """The code of a rounded float, without padding; None where it is made as specified."""
        return None

    def fixed(self, value: int, bits: int) -> int:
        """A rounded fixed number before it is limited to so many bits, two's complement."""
        return value

    def zero_sign(self, sign: int, terms: tuple[Term, ...]) -> int:
        """The sign of a sum of exactly zero."""
        return sign

    def code(self, unit: Unit, code: int) -> int:
        """The result's code."""
        return code

    @property
    def of_products(self) -> Flaw:
        """The flaw of the multipliers of a unit that rounds products: none, where adders have one."""
        return NO_FLAW


NO_FLAW = Flaw()


@dataclass(frozen=True)
class InMultipliers(Flaw):
    """A flaw of the rounding of products alone."""

    flaw: Flaw

    @property
    def of_products(self) -> Flaw:
        """As in `Flaw`."""
        return self.flaw


@dataclass(frozen=True)
class Both(Flaw):
    """Two flaws in one design: what passes a place passes the first one's and then the second one's."""

    first: Flaw
    second: Flaw

    def case(self, unit: Unit, case: Case, before: int | None) -> Case:
        """As in `Flaw`."""
        return self.second.case(unit, self.first.case(unit, case, before), before)

    def factor(self, side: Side, fmt: Format, code: int, fields: Fields) -> Fields:
        """As in `Flaw`."""
        return self.second.factor(side, fmt, code, self.first.factor(side, fmt, code, fields))

    def addend(self, fmt: Format, code: int, term: Term) -> Term:
        """As in `Flaw`."""
        return self.second.addend(fmt, code, self.first.addend(fmt, code, term))

    def product(self, a: Fields, b: Fields, term: Term) -> Term:
        """As in `Flaw`."""
        return self.second.product(a, b, self.first.product(a, b, term))

    def products(self, products: tuple[Term, ...]) -> tuple[Term, ...]:
        """As in `Flaw`."""
        return self.second.products(self.first.products(products))

    def special(self, special: Term | None, terms: tuple[Term, ...]) -> Term | None:
        """As in `Flaw`."""
        return self.second.special(self.first.special(special, terms), terms)

    def max_exp(self, max_exp: int, products: tuple[Term, ...], addend: Term | None) -> int:
        """As in `Flaw`."""
        return self.second.max_exp(self.first.max_exp(max_exp, products, addend), products, addend)

    def distance(self, distance: int) -> int:
        """As in `Flaw`."""
        return self.second.distance(self.first.distance(distance))

    def align(self, term: Term, max_exp: int, fraction_bits: int) -> int | None:
        """As in `Flaw`."""
        first = self.first.align(term, max_exp, fraction_bits)
        return self.second.align(term, max_exp, fraction_bits) if first is None else first

    def dropped(self, distance: int, addend: bool) -> bool:
        """As in `Flaw`."""
        return self.first.dropped(distance, addend) or self.second.dropped(distance, addend)

    def aligned(self, aligned: tuple[int, ...], lanes: int) -> tuple[int, ...]:
        """As in `Flaw`."""
        return self.second.aligned(self.first.aligned(aligned, lanes), lanes)

    def cut(self, precision: int, opposite: bool) -> TermCut | None:
        """As in `Flaw`."""
        return self.first.cut(precision, opposite) or self.second.cut(precision, opposite)

    def total(self, total: int, unit_exp: int) -> int:
        """As in `Flaw`."""
        return self.second.total(self.first.total(total, unit_exp), unit_exp)

    def magnitude(self, sign: int, sig: int, unit_exp: int) -> tuple[int, int]:
        """As in `Flaw`."""
        return self.second.magnitude(sign, *self.first.magnitude(sign, sig, unit_exp))

    def last_place(self, place: LastPlace) -> LastPlace:
        """As in `Flaw`."""
        return self.second.last_place(self.first.last_place(place))

    def number(self, number: UnpackedResult) -> int | None:
        """As in `Flaw`."""
        first = self.first.number(number)
        return self.second.number(number) if first is None else first

    def fixed(self, value: int, bits: int) -> int:
        """As in `Flaw`."""
        return self.second.fixed(self.first.fixed(value, bits), bits)

    @property
    def of_products(self) -> Flaw:
        """As in `Flaw`."""
        return Both(self.first.of_products, self.second.of_products)

    def zero_sign(self, sign: int, terms: tuple[Term, ...]) -> int:
        """As in `Flaw`."""
        return self.second.zero_sign(self.first.zero_sign(sign, terms), terms)

    def code(self, unit: Unit, code: int) -> int:
        """As in `Flaw`."""
        return self.second.code(unit, self.first.code(unit, code))
