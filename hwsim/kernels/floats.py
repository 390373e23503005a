"""Arithmetic on floats that carry numbers of other formats exactly: sums rounded to odd, and one rounding to a format.

The carrier is float64; where a kernel proves that it suffices, float32. What is `inlined` becomes a part of the kernel
that calls it, whose loop over columns then becomes vectors: no branch is decided by data. Rounding works on magnitudes:
adding and taking away 1.5 * 2^n leaves a multiple of the unit in the last place of 2^n, to nearest, ties to even; the
other roundings correct that by one unit.

A sum that is not exact in the carrier is rounded to odd there, so that one more rounding, to a format with at least two
bits less, is that of the exact sum (Boldo and Melquiond 2008).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hwsim.compiled import inlined
from hwsim.formats import FloatFormat
from hwsim.kernels.bits import binade, cut, jam
from hwsim.kernels.kernel import Unsuited

RNE, RNA, RZ, RU, RD, RTO = range(6)
MODES = {"rne": RNE, "rna": RNA, "rz": RZ, "ru": RU, "rd": RD, "rto": RTO}
# Of `round_in`: the carrier's own arithmetic has rounded; the format is the carrier with fewer bits, to nearest.
NATIVE, CUT = 6, 7
# Added to a mode: a format without subnormals whose numbers below the least are rounded to it or to zero.
NEARBY = 8

MOST_EXPONENT = 500


class Target(NamedTuple):
    """A format and the rules of a rounding to it, as numbers of the carrier's type.

    floor: the power of two whose unit is the least. ceiling: a power of two above every number. unit: an ulp, as a part
    of its binade. shift: 1.5 ulps of the carrier's last place there, as a multiple of it. most: the largest number.
    over: what is too large becomes. infinite: what infinities become. least: a smaller magnitude is none.
    tie_plus, tie_minus: of NEARBY: above that, a magnitude below the least becomes the least. none: zero.
    zero: what added to a zero gives it the sign that it may have. mode: of the rounding. drop: of CUT.
    positive: 1 where a number other than zero that becomes zero loses its sign, else 0.
    """

    floor: Any
    ceiling: Any
    unit: Any
    shift: Any
    most: Any
    over: Any
    infinite: Any
    least: Any
    tie_plus: Any
    tie_minus: Any
    none: Any
    zero: Any
    mode: int
    drop: int
    positive: int


def target_of(
    fmt: FloatFormat,
    rounding: str,
    overflow: str | None = None,
    tiny: str = "signed",
    flush: bool = False,
    carrier: type[np.floating[Any]] = np.float64,
) -> Target:
    """A format and a rounding's rules.

    overflow: a policy of `result.overflow`; None is that of an addition: infinity, or NaN in a format without it.
    tiny: `positive`: what becomes zero loses its sign. flush: subnormals become zero.
    carrier: float32 takes the rules of an addition alone.
    Raises Unsuited for a format that the carrier does not hold with room to spare.
    """
    fraction_bits, place = fmt.fraction_bits, int(np.finfo(carrier).nmant)
    drop = _drop(fmt, rounding, carrier)
    # Beyond the ceiling, the shift must still be a number.
    highest = fmt.emax + (0 if drop else 2 + place - fraction_bits)
    last, first = (127, -149) if carrier is np.float32 else (MOST_EXPONENT + place, -MOST_EXPONENT)
    if fraction_bits > place - 2 or highest > last or fmt.emin - fraction_bits < first or not fmt.signed:
        raise Unsuited(f"{fmt.name} does not fit {np.dtype(carrier).name} with room to spare")
    most, normal = float(fmt.decode(fmt.max_magnitude << fmt.padding)), 2.0**fmt.emin
    over = {"infinity": np.inf, "nan": np.nan, "saturate": most}[overflow or beyond(fmt)]
    least = (normal if flush else 0.0) if fmt.subnormals else normal * (1 + 2.0**-fraction_bits)
    nearby = not fmt.subnormals and fmt.underflow == "nearby"
    above, below = _ties(rounding, carrier(least / 2)) if nearby else (np.inf, np.inf)
    return Target(
        floor=carrier(normal),
        ceiling=carrier(1.0 if drop else 2.0 ** (fmt.emax + 1)),
        unit=carrier(2.0**-fraction_bits),
        shift=carrier(1.5 * 2.0 ** (place - fraction_bits)),
        most=carrier(most),
        over=carrier(over),
        infinite=carrier(np.inf if overflow == "nan" and fmt.infinities else over),
        least=carrier(least),
        tie_plus=carrier(above),
        tie_minus=carrier(below),
        none=carrier(0.0),
        zero=carrier(-0.0 if fmt.signed_zero else 0.0),
        mode=CUT if drop else MODES[rounding] + NEARBY * nearby,
        drop=drop,
        positive=int(tiny == "positive"),
    )


def beyond(fmt: FloatFormat) -> str:
    """What takes the place of a sum that is too large where no setting says so."""
    return "infinity" if fmt.infinities else "nan"


def _drop(fmt: FloatFormat, rounding: str, carrier: type[np.floating[Any]]) -> int:
    """The bits that float32 has more than a format of its own exponents; 0 for any other format or rounding."""
    same = (fmt.exponent_bits, fmt.bias, fmt.nan, fmt.subnormals) == (8, 127, "ieee", True)
    return 23 - fmt.fraction_bits if carrier is np.float32 and same and rounding == "rne" else 0


def _ties(rounding: str, half: np.floating[Any]) -> tuple[float, float]:
    """Above which magnitude a positive, and a negative, number below the least goes up to it. half: of the least."""
    if rounding in ("ru", "rd"):
        return (0.0, np.inf) if rounding == "ru" else (np.inf, 0.0)
    tie = {"rne": half, "rna": np.nextafter(half, type(half)(0)), "rz": np.inf, "rto": 0.0}[rounding]
    return float(tie), float(tie)


@inlined
def add_odd(x: Any, y: Any) -> Any:
    """x + y, rounded to odd. Zeros, infinities and NaNs as IEEE 754 has them, to nearest."""
    total = x + y
    of_y = total - x
    return jam(total, (x - (total - of_y)) + (y - of_y))


@inlined
def fma_odd(x: Any, y: Any, z: Any) -> Any:
    """x * y + z, rounded to odd. x * y: a number of the carrier."""
    return add_odd(x * y, z)


@inlined
def sum_in(x: Any, y: Any, mode: Any, exact: Any) -> Any:
    """x + y for one rounding in that mode: rounded to odd, or exact where the caller knows that; IEEE 754's zeros."""
    total = -((-x) - y) if mode & 7 == RD else x + y
    if exact:
        return total
    of_y = total - x
    return jam(total, (x - (total - of_y)) + (y - of_y))


@inlined
def round_in(x: Any, t: Any, mode: Any) -> Any:
    """x, rounded to t by the rules of an addition. mode: t.mode, as a constant where a loop is to become vectors."""
    if mode == NATIVE:
        kept = abs(x)
    elif mode == CUT:
        kept = abs(cut(x, t.drop))
    else:
        kept = _nearest(abs(x), x > 0, t, mode & 7)
    if mode & 8:
        tie = t.tie_plus if x > 0 else t.tie_minus
        small = t.least if abs(x) > tie else t.none
        kept = small if kept < t.least else kept
    else:
        kept = t.none if kept < t.least else kept
    kept = t.over if kept > t.most else kept
    return np.copysign(kept, x) + t.zero


@inlined
def _nearest(size: Any, positive: Any, t: Any, mode: Any) -> Any:
    """A magnitude, rounded to t's units in that mode. positive: of the number."""
    # Zeros and NaNs take the floor, infinities the ceiling.
    within = size if size > t.floor else t.floor
    power = binade(within if within < t.ceiling else t.ceiling)
    shift, unit = power * t.shift, power * t.unit
    kept = (size + shift) - shift
    if mode == RNE:
        return kept
    if mode == RNA:
        rest = size - kept
        return kept + unit if rest + rest == unit else kept
    low = kept - unit if kept > size else kept
    if mode == RZ:
        return low
    high = kept + unit if kept < size else kept
    if mode == RU:
        return high if positive else low
    if mode == RD:
        return low if positive else high
    twice = shift + shift
    even = (low + twice) - twice == low
    return high if even else low


@inlined
def round_to(x: Any, t: Any) -> Any:
    """x, rounded to t by all of its rules."""
    return settled(x, round_in(x, t, t.mode), t)


@inlined
def settled(x: Any, rounded: Any, t: Any) -> Any:
    """What `round_in` makes of x, with the rules that a result has and an addition has not."""
    made = np.copysign(t.infinite, x) if abs(x) == np.inf else rounded
    return t.none if t.positive and made == 0 and x != 0 else made


@inlined
def add_to(x: Any, y: Any, t: Any) -> Any:
    """x + y, rounded once to t, as an addition of IEEE 754."""
    return round_in(sum_in(x, y, t.mode, False), t, t.mode)
