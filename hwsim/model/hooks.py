"""Places of the arithmetic at which something other than specified may happen: what designs get wrong there.

`Definition` takes one `Hooks` and computes as specified at every place of it that is None.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar, TypeVarTuple

from hwsim.formats import Class, Fields, FloatFormat, Format
from hwsim.model.terms import Term, cut_magnitude, round_magnitude
from hwsim.spec import Unit
from hwsim.spec.keys import Lost, Rounding
from hwsim.spec.parts import ScaledPromotion

V = TypeVar("V")
Known = TypeVarTuple("Known")

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


class TermCut(NamedTuple):
    """The cut of an addition's smaller term. bits: of its fraction below the leading one of the larger."""

    bits: int
    lost: Lost


def passed(place: Callable[[V, *Known], V] | None, value: V, *known: *Known) -> V:
    """The value that leaves a place: of its function, or the value itself. known: what else the function takes."""
    return value if place is None else place(value, *known)


@dataclass(frozen=True)
class Hooks:
    """Functions at some places of the arithmetic. A place that is None is as specified.

    Each function takes what passes its place, as specified, and returns what passes in its stead; what else it takes
    is known there. The methods of readings have no place of their sums.
    """

    factor: Callable[[Fields, Side, Format, int], Fields] | None = None
    """A decoded factor; whose, its format and its code."""
    addend: Callable[[Term, Format, int], Term] | None = None
    """A decoded addend, or a decoded sum so far; its format and its code."""
    product: Callable[[Term, Fields, Fields], Term] | None = None
    """The term of two decoded factors; these."""
    products: Callable[[tuple[Term, ...]], tuple[Term, ...]] | None = None
    """The products of a group."""
    special: Callable[[Term | None, tuple[Term, ...]], Term | None] | None = None
    """The NaN or infinity that terms make together, None where they are finite; the terms."""
    max_exp: Callable[[int, tuple[Term, ...], Term | None], int] | None = None
    """The exponent that a window's terms are aligned to; the products, and the addend."""
    distance: Callable[[int], int] | None = None
    """By how many places a term is shifted below the largest exponent."""
    align: Callable[[int, Term, int, int], int] | None = None
    """A term in units of a window's last place, 2^(max_exp - fraction_bits); the term, max_exp, and fraction_bits."""
    aligned: Callable[[tuple[int, ...], int], tuple[int, ...]] | None = None
    """A window's terms in units of its last place, the addend last; how many of them are products."""
    dropped: Callable[[bool, int, bool], bool] | None = None
    """Whether the smaller term of an addition of two is lost, with all that rounding would know of it.

    The distance of the leading ones; whether the term is what the addition goes on from, and not the product.
    """
    cut: Callable[[TermCut | None, int, bool], TermCut | None] | None = None
    """How the smaller term of an addition of two is cut before it; the bits of the sum's significand, and whether the
    terms' signs differ."""
    total: Callable[[int, int], int] | None = None
    """A sum in units of 2^unit_exp, the last place of a window; unit_exp."""
    magnitude: Callable[[tuple[int, int], int], tuple[int, int]] | None = None
    """The magnitude of a sum before it is normalised and rounded, and the exponent of its unit; the sign."""
    last_place: Callable[[LastPlace], LastPlace] | None = None
    """What is rounded, and how."""
    number: Callable[[int | None, UnpackedResult], int | None] | None = None
    """The code of a rounded float, without padding, None where it is made as specified; the float."""
    fixed: Callable[[int, int], int] | None = None
    """A rounded fixed number before it is limited to so many bits, two's complement; these bits."""
    zero_sign: Callable[[int, tuple[Term, ...]], int] | None = None
    """The sign of a sum of exactly zero; the terms."""
    scaling: Callable[[ScaledPromotion, Unit], ScaledPromotion] | None = None
    """What a promotion with scales multiplies, and in which order; the unit."""
    multipliers: Hooks | None = None
    """Of the rounding of products, in a unit that rounds them; the rest is not of these roundings."""
    after: Hooks | None = None
    """Of the addition after groups: a promotion, or a late addition that is rounded; the rest is not of these."""

    def rounded(self, sig: int, shift: int, sign: int, rounding: Rounding, tiny: bool) -> int:
        """Round like `round_magnitude`, by a specification's rule or by a mistaken one."""
        return rounded_magnitude(passed(self.last_place, LastPlace(sig, shift, sign, rounding, tiny)))

    def pair(self, terms: tuple[Term, ...], fmt: FloatFormat, fused: bool) -> tuple[Term, ...]:
        """Two terms that an adder has aligned: the smaller one may be shifted wrongly, and may have lost bits."""
        if len(terms) != 2 or any(term.cls is not Class.NORMAL for term in terms):
            return terms
        # Products enter a fused addition normalised; what a format holds is compared by its exponent field.
        leading = [term.sig.bit_length() - 1 + term.exp - term.fraction_bits if fused else term.exp for term in terms]
        small = int(leading[0] >= leading[1])
        term, top, distance = terms[small], leading[1 - small], leading[1 - small] - leading[small]
        if passed(self.dropped, False, distance, small == 0):
            return (terms[1 - small],)
        shifted = term._replace(exp=term.exp + distance - passed(self.distance, distance))
        cut = passed(self.cut, None, fmt.fraction_bits + 1, terms[0].sign != terms[1].sign)
        if cut is not None:
            unit_exp = top - cut.bits
            shift = unit_exp - (shifted.exp - shifted.fraction_bits)
            if shift > 0:
                kept = cut_magnitude(shifted.sig, shift, shifted.sign, cut.lost)
                shifted = Term(shifted.sign, unit_exp, kept, 0, Class.NORMAL)
        return (terms[0], shifted) if small else (shifted, terms[1])


def rounded_magnitude(place: LastPlace) -> int:
    """A magnitude in units of its last place, rounded, by a specification's rule or by one that is a mistake."""
    if place.shift <= 0:
        return place.sig << -place.shift
    kept, lost, half = place.sig >> place.shift, place.sig & ((1 << place.shift) - 1), 1 << (place.shift - 1)
    match place.rule:
        case "ties-odd":
            return kept + (lost > half or (lost == half and not kept & 1))
        case "ties-up":
            return kept + (lost > half or (lost == half and not place.sign))
        case "ties-down":
            return kept + (lost > half)
        case rounding:
            return round_magnitude(place.sig, place.shift, place.sign, rounding)
