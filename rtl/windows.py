"""Windows of any terms: the largest exponent, terms shifted into the window, and bits cut off a sum.

For what `align` and `sum` are too special: several windows, addends in windows of their own, sums as terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, assert_never

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from hwsim.spec.keys import Lost

from .lost import any_lost, lost_bits, shifted
from .numbers import signed_shape
from .shifter import Shifter
from .zeros import clamp, leading_zeros


class WindowTerm(NamedTuple):
    """A term: (-1)^sign * sig * 2^(exp - fraction_bits).

    counts: whether it takes part in the maximum. nonzero: whether it counts as other than zero.
    low: its least exponent.
    """

    sign: Value
    exp: Value
    sig: Value
    fraction_bits: int
    counts: Value
    nonzero: Value
    low: int


def maximum(
    m: Module, name: str, terms: Sequence[WindowTerm], span: tuple[int, int], floor: int | None = None
) -> Signal:
    """The largest exponent of the terms that count, and at least `floor`. span: its ends; the lowest for none."""
    return largest(m, name, candidates(m, name, terms, span, floor), span)


def candidates(
    m: Module, name: str, terms: Sequence[WindowTerm], span: tuple[int, int], floor: int | None = None
) -> list[Value]:
    """The exponents of which the largest is sought: those of terms, where they count, the floor, and the lowest."""
    found: list[Value] = [Const(span[0] if floor is None else floor, signed_shape(*span))]
    for at, term in enumerate(terms):
        exp = Signal(signed_shape(*span), name=f"{name}_exp{at}")
        m.d.comb += exp.eq(Mux(term.counts, term.exp, span[0]))
        found.append(exp)
    return found


def largest(m: Module, name: str, values: Sequence[Value], span: tuple[int, int]) -> Signal:
    """The largest of some exponents."""
    left, level = list(values), 0
    while len(left) > 1:
        above: list[Value] = []
        for at in range(0, len(left) - 1, 2):
            larger = Signal(signed_shape(*span), name=f"{name}_larger{level}_{at // 2}")
            m.d.comb += larger.eq(Mux(left[at] > left[at + 1], left[at], left[at + 1]))
            above.append(larger)
        left, level = above + left[len(left) // 2 * 2 :], level + 1
    result = Signal(signed_shape(*span), name=f"{name}_max_exp")
    m.d.comb += result.eq(left[0])
    return result


def aligned(m: Module, name: str, term: WindowTerm, max_exp: Value, most: int, fraction_bits: int, lost: Lost) -> Value:
    """A term in units of 2^(max_exp - fraction_bits), signed. most: the largest max_exp."""
    place = shifter_of(len(term.sig), term.fraction_bits, fraction_bits, lost)
    ones, carry = shifted(m, name, *unshifted(m, name, term, place, max_exp, most), place.drop, lost)
    kept = Signal(ones.shape(), name=f"{name}_ones")
    result = Signal(signed_shape(-(1 << len(ones) - 1), 1 << len(ones) - 1), name=f"{name}_aligned")
    m.d.comb += [kept.eq(ones), result.eq(kept + carry)]
    return result


def loses(m: Module, name: str, term: WindowTerm, max_exp: Value, most: int, fraction_bits: int) -> Value:
    """Whether a 1 of a term is below 2^(max_exp - fraction_bits). Arguments as of `aligned`."""
    place = shifter_of(len(term.sig), term.fraction_bits, fraction_bits, "truncate")
    magnitude, _, distance = unshifted(m, f"{name}_lost", term, place, max_exp, most)
    return any_lost(m, name, magnitude, distance, place.drop)


def shifter_of(sig_bits: int, term_fraction_bits: int, fraction_bits: int, lost: Lost) -> Shifter:
    """What shifts terms of significands of so many bits into a window of so many fraction bits."""
    place = max(fraction_bits, term_fraction_bits)
    top = max(1, sig_bits - term_fraction_bits)
    bits = max(1, (fraction_bits + top + lost_bits(lost).guard_bits).bit_length())
    return Shifter(place - term_fraction_bits + sig_bits, bits, place - fraction_bits, lost)


def unshifted(
    m: Module, name: str, term: WindowTerm, place: Shifter, max_exp: Value, most: int
) -> tuple[Value, Value, Value]:
    """A term's magnitude where max_exp is its own exponent, its sign, and how far it is below max_exp."""
    difference = Signal(max(1, (most - term.low).bit_length()), name=f"{name}_distance")
    m.d.comb += difference.eq(max_exp - term.exp)
    magnitude = Cat(Const(0, place.bits - len(term.sig)), term.sig)
    return magnitude, term.sign, clamp(difference, place.distance_bits)


def aligned_bits(sig_bits: int, term_fraction_bits: int, fraction_bits: int) -> int:
    """Bits of such a term, its sign counted, and one for what rounding adds."""
    return max(1, sig_bits - term_fraction_bits + fraction_bits) + 2


def cut(m: Module, total: Value, places: Value | int, lost: Lost) -> Value:
    """A sum with so many of its low places lost, as `lost` has it of magnitudes; unchanged where `places` is 0.

    places: a number is at least 1, and less than the sum's bits.
    """
    sign = total[-1]
    magnitude = Signal(len(total), name="uncut")
    m.d.comb += magnitude.eq((total ^ sign.replicate(len(total))) + sign)
    kept, below = Signal(len(total), name="kept"), Signal(len(total), name="below")
    # What is lost beside half of the last place that is kept.
    twice, whole = Cat(Const(0, 1), below), Signal(len(total) + 1, name="whole")
    if isinstance(places, int):
        m.d.comb += [kept.eq(magnitude[places:]), below.eq(magnitude[:places]), whole.eq(1 << places)]
    else:
        m.d.comb += [kept.eq(magnitude >> places), below.eq(magnitude - (kept << places)[: len(total)])]
        m.d.comb += whole.eq((Const(1, 1) << places)[: len(total) + 1])
    any_lost, is_cut = below.any(), Const(1) if isinstance(places, int) else places.any()
    match lost:
        case "truncate":
            up: Value = Const(0)
        case "floor":
            up = sign & any_lost
        case "ceil":
            up = ~sign & any_lost
        case "jam":
            up = any_lost & ~kept[0]
        case "rne":
            up = is_cut & ((twice > whole) | ((twice == whole) & kept[0]))
        case "rna":
            up = is_cut & (twice >= whole)
        case "ones-complement":
            up = sign & is_cut
        case _:
            assert_never(lost)
    rounded = Signal(len(total) + 1, name="rounded_total")
    m.d.comb += rounded.eq((kept + up) << places)
    return Mux(sign, -rounded, rounded)


def leading_place(m: Module, magnitude: Value) -> Value:
    """The place of the leading one; of zero, 0."""
    is_zero, count = leading_zeros(m, magnitude)
    place = Signal(range(len(magnitude) + 1), name="leading")
    m.d.comb += place.eq(Mux(is_zero, 0, len(magnitude) - 1 - Cat(count)))
    return place
