"""Exact products of float64 matrices, and error-free sums and products of float64.

Ogita, Rump and Oishi 2005, SIAM Journal on Scientific Computing 26(6); Dekker 1971; Knuth."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.base.errors import InputError

Array = NDArray[np.float64]

SPLITTER = float((1 << 27) + 1)  # cuts 53 bits in 26 and 26, with a sign (Veltkamp)


def two_sum(x: Array, y: Array) -> tuple[Array, Array]:
    """x + y rounded, and the error: their sum is x + y (Knuth)."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def fast_two_sum(x: Array, y: Array) -> tuple[Array, Array]:
    """`two_sum` where x is zero or |x| >= |y| (Dekker)."""
    total = x + y
    return total, y - (total - x)


def split_product(x: Array, y: Array) -> tuple[Array, Array]:
    """x * y rounded, and the error: their sum is x * y (Dekker). |x| and |y|: from 2^-100 to 2^100, or zero."""
    product = x * y
    high_x, low_x = _split(x)
    high_y, low_y = _split(y)
    error = low_x * low_y - (((product - high_x * high_y) - low_x * high_y) - high_x * low_y)
    return product, error


def _split(x: Array) -> tuple[Array, Array]:
    scaled = SPLITTER * x
    high = scaled - (scaled - x)
    return high, x - high


EXACT_BITS = 53  # integers of at most 2^53 are float64, and so are their sums up to there
MOST_SLICE = 52  # bits of a slice: 3 * 2^(g + 51), added to a wider one, would not round at 2^g
DIGIT = 24  # bits of a digit of the sums of slice products
MOST_SPAN = 960  # bits that both operands may span together, so that nothing leaves float64's range on the way
MOST_PARTS = 8  # of K: so few sums of up to 2^53 that no digit of 64 bits overflows
FEW = 1 << 13  # numbers that are looked at together, so that what comes of them stays in a cache
PANEL = 1 << 23  # numbers of a panel's digits or slices: 64 MiB


class DoubleDouble(NamedTuple):
    """An unevaluated sum hi + lo; |lo| is at most half an ulp of hi."""

    hi: Array
    lo: Array

    @classmethod
    def of(cls, values: Array) -> DoubleDouble:
        """Numbers of float64 as they are."""
        hi = np.asarray(values, dtype=np.float64)
        return cls(hi, np.zeros_like(hi))


def exact_product(a: Array, b: Array) -> DoubleDouble:
    """The matrix product a b, exact before its one rounding to a sum of two float64 (relative error at most 2^-105).

    a: (m, k), b: (k, n), finite; any scale and any range. Where the product is a sum of two float64, it is that sum.
    A `lo` below the least subnormal of float64 is rounded to it.
    Raises ValueError for shapes that do not fit, for numbers that are not finite, and for results beyond float64.
    """
    a, b = _operand(a, "a"), _operand(b, "b")
    if a.shape[1] != b.shape[0]:
        raise InputError(f"a and b must fit: a is {a.shape}, b is {b.shape}")
    rows, columns = _exponents(a, 1), _exponents(b, 0)
    span_a, span_b = _span(a, rows, 1), _span(b, columns, 0)
    if not (a.size and b.size and span_a and span_b):
        return DoubleDouble.of(np.zeros((a.shape[0], b.shape[1])))
    if span_a + span_b > MOST_SPAN:
        result = _by_integers(a, b)
    else:
        scaled = _sliced(_normalised(a, rows), span_a, _normalised(b, columns), span_b)
        result = _scaled(scaled, rows + columns)
    if not np.isfinite(result.hi).all():
        raise InputError("the product of a and b must be below 2^1024, the range of float64")
    return result


def difference(x: DoubleDouble, y: DoubleDouble) -> Array:
    """x - y, rounded to float64 with a relative error below 2^-50, however much of it cancels.

    Both pairs are added as one expansion of four numbers that do not overlap, without error (Shewchuk 1997, Discrete &
    Computational Geometry 18, expansion-sum), and that from its least on.
    """
    first, low = two_sum(x.lo, -y.lo)
    second, high = two_sum(x.hi, first)  # from its least on: low, high, second
    third, middle = two_sum(high, -y.hi)
    fourth, upper = two_sum(second, third)
    return np.asarray(fourth + (upper + (middle + low)))


def times(x: DoubleDouble, factor: Array) -> DoubleDouble:
    """x * factor with a relative error below 2^-100; exact for powers of two. factor: finite, broadcasts.

    Raises ValueError where the product is beyond float64.
    """
    mantissa, exponent = np.frexp(x.hi)
    scale, shift = np.frexp(np.asarray(factor, dtype=np.float64))
    high, low = split_product(mantissa, scale)
    rest = np.ldexp(x.lo, -exponent)
    hi, lo = fast_two_sum(high, low + rest * scale)
    with np.errstate(over="ignore"):
        result = DoubleDouble(np.ldexp(hi, exponent + shift), np.ldexp(lo, exponent + shift))
    if not np.isfinite(result.hi).all():
        raise InputError("the product with a factor must be below 2^1024, the range of float64")
    return result


def magnitude(a: Array, b: Array) -> Array:
    """The matrix product |a| |b|, correct to half an ulp of float64."""
    return exact_product(np.abs(a), np.abs(b)).hi


def _operand(x: Array, name: str) -> Array:
    x = np.asarray(x, dtype=np.float64)
    if x.ndim != 2:
        raise InputError(f"{name} must be a matrix, not of shape {x.shape}")
    if not np.isfinite(x).all():
        raise InputError(f"{name} must be finite")
    return x


def _exponents(x: Array, axis: int) -> NDArray[np.intc]:
    """The least exponents e of each row or column with |x| < 2^e; 0 for zeros."""
    most = np.maximum(x.max(axis=axis, keepdims=True, initial=0.0), -x.min(axis=axis, keepdims=True, initial=0.0))
    return np.asarray(np.frexp(most)[1], dtype=np.intc)


def _span(x: Array, exponents: NDArray[np.intc], axis: int) -> int:
    """The largest number of bits between 2^e and the lowest set bit of any row or column; 0 for zeros."""
    if not x.size:
        return 0
    step = max(1, FEW // x.shape[1])
    parts = [_lowest(x[start : start + step], axis) for start in range(0, len(x), step)]
    least = np.concatenate(parts) if axis else np.minimum.reduce(parts)
    nonzero = np.isfinite(least)
    if not nonzero.any():
        return 0
    return int((exponents[nonzero] - np.frexp(least[nonzero])[1] + 1).max())


def _lowest(x: Array, axis: int) -> Array:
    """The weight of the lowest set bit in each row or column; infinity where all are zero."""
    bits = np.ascontiguousarray(x).view(np.int64)
    # A number without the lowest one of its significand lacks what that one is worth.
    lowest = np.abs(x - (bits & (bits - 1)).view(np.float64))
    hidden = (bits & ((1 << 52) - 1)) == 0
    np.copyto(lowest, np.abs(x), where=hidden)
    lowest[lowest == 0] = np.inf
    return np.asarray(lowest.min(axis=axis, keepdims=True), dtype=np.float64)


def _normalised(x: Array, exponents: NDArray[np.intc]) -> Array:
    if np.abs(exponents).max() > MOST_SPAN:
        return np.asarray(np.ldexp(x, -exponents), dtype=np.float64)
    return np.asarray(x * np.ldexp(1.0, -exponents), dtype=np.float64)


def slice_widths(span_a: int, span_b: int, length: int) -> tuple[int, int]:
    """Bits of a slice of either operand: as few slice products as `length` products of slices allow.

    A slice of w bits holds integers of magnitude at most 2^(w - 1), so that no partial sum is beyond
    length * 2^(wa + wb - 2), which must be at most 2^53.
    """
    both = EXACT_BITS + 2 - (length - 1).bit_length()
    if both < 4:
        raise InputError(f"the length of a product must be below 2^51, not {length}")

    def cost(width: int) -> tuple[int, int]:
        first, second = _count(span_a, width), _count(span_b, both - width)
        return first * second, first + second

    width = min(range(max(2, both - MOST_SLICE), min(both - 2, MOST_SLICE) + 1), key=cost)
    return width, both - width


def _count(span: int, width: int) -> int:
    """Slices of `span` bits: the first holds one bit less."""
    return -(-(span + 1) // width)


def slices(x: Array, span: int, width: int) -> list[tuple[int, Array]]:
    """Numbers below 1 as a sum of slices: exponents g, and multiples of 2^g of magnitude at most 2^(g + width - 1).

    Each is what rounds to nearest at 2^g, by adding and subtracting 3 * 2^(g + 51) (Rump, Ogita and Oishi 2008).
    """
    cut, rest, grid = [], x.copy(), 1 - width
    for _ in range(_count(span, width) - 1):
        constant = np.ldexp(3.0, grid + 51)
        part = rest + constant
        part -= constant
        rest -= part
        cut.append((grid, part))
        grid -= width
    return [*cut, (grid, rest)]


def _sliced(a: Array, span_a: int, b: Array, span_b: int) -> DoubleDouble:
    """The product of operands below 1, by slices; columns in panels, and few of them with K in parts."""
    (m, length), n = a.shape, b.shape[1]
    if max(map(_count, (span_a, span_b), slice_widths(span_a, span_b, length))) == 1:
        return DoubleDouble.of(a @ b)
    digits = (span_a + span_b + 2 * EXACT_BITS) // DIGIT + 4
    columns = max(32, PANEL // max(digits * m, (1 + span_b // 16) * length))
    # Long and narrow: slices of a part of K stay in a cache, and their products are few numbers.
    part = length if n > columns else max(length // MOST_PARTS + 1, 512, 16 * m * n // (m + n))
    widths = slice_widths(span_a, span_b, min(part, length))
    whole_slices = slices(a, span_a, widths[0]) if part >= length else []
    panels = []
    for column in range(0, n, columns):
        totals = np.zeros((digits, m, min(columns, n - column)), dtype=np.int64)
        for start in range(0, length, part):
            here = b[start : start + part, column : column + columns]
            slices_a = whole_slices or slices(a[:, start : start + part], span_a, widths[0])
            lowest = _add_products(totals, slices_a, slices(here, span_b, widths[1]))
        panels.append(_from_digits(totals, lowest))
    return DoubleDouble(np.hstack([panel.hi for panel in panels]), np.hstack([panel.lo for panel in panels]))


def _add_products(
    totals: NDArray[np.int64], slices_a: list[tuple[int, Array]], slices_b: list[tuple[int, Array]]
) -> int:
    """Add all products of slices. Returns the exponent of the first digit's unit."""
    lowest = slices_a[-1][0] + slices_b[-1][0]
    for exponent_a, part_a in slices_a:
        for exponent_b, part_b in slices_b:
            grid = exponent_a + exponent_b
            _add_digits(totals, part_a @ part_b, grid, grid - lowest)
    return lowest


def _add_digits(totals: NDArray[np.int64], products: Array, grid: int, place: int) -> None:
    """Add multiples of 2^grid, of at most 2^53 of it, as digits from bit `place` on."""
    whole = np.ldexp(products, -grid).astype(np.int64)
    digit, shift = divmod(place, DIGIT)
    high = whole >> DIGIT
    totals[digit] += (whole - (high << DIGIT)) << shift
    totals[digit + 1] += high << shift


def _from_digits(totals: NDArray[np.int64], lowest: int) -> DoubleDouble:
    """The numbers whose digits are integers; the first is worth 2^lowest."""
    half = 1 << (DIGIT - 1)
    for below, above in pairwise(totals):
        carry = (below + half) >> DIGIT
        below -= carry << DIGIT
        above += carry
    parts = [np.ldexp(digit.astype(np.float64), lowest + DIGIT * place) for place, digit in enumerate(totals)]
    # No digit is beyond half of the next one's unit, so that a leading digit outweighs all below it: nothing cancels.
    hi, errors = _summed(parts)
    lo, rest = _summed(errors)
    low, lost = two_sum(lo, sum(rest, np.zeros_like(lo)))
    hi, lo = fast_two_sum(hi, low)
    # Where lo is half an ulp, what it lost decides which neighbour is the nearest.
    nearest = np.where(lost == 0, hi, hi + np.nextafter(lo, np.copysign(np.inf, lost)))
    return DoubleDouble(nearest, (hi - nearest) + lo)


def _summed(parts: list[Array]) -> tuple[Array, list[Array]]:
    """The rounded sum of parts, the least first, and what each addition lost."""
    total, errors = parts[0], []
    for part in parts[1:]:
        total, error = two_sum(part, total)
        errors.append(error)
    return total, errors


def _scaled(x: DoubleDouble, exponents: NDArray[np.intc]) -> DoubleDouble:
    with np.errstate(over="ignore"):
        return DoubleDouble(np.ldexp(x.hi, exponents), np.ldexp(x.lo, exponents))


def _by_integers(a: Array, b: Array) -> DoubleDouble:
    """The product in Python's integers: of operands with too wide a range for slices, which no data have."""
    unit = 1 << 1074
    rows = [[_integer(x, unit) for x in row] for row in a.tolist()]
    columns = [[_integer(x, unit) for x in column] for column in b.T.tolist()]
    hi, lo = np.zeros((len(rows), len(columns))), np.zeros((len(rows), len(columns)))
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            hi[i, j], lo[i, j] = _rounded(sum(x * y for x, y in zip(row, column, strict=True)), unit * unit)
    return DoubleDouble(hi, lo)


def _integer(x: float, unit: int) -> int:
    top, bottom = x.as_integer_ratio()
    return top * (unit // bottom)


def _rounded(top: int, bottom: int) -> tuple[float, float]:
    """top / bottom rounded to float64 (Python rounds a quotient of integers once), and the remainder."""
    try:
        hi = top / bottom
    except OverflowError:
        return float("inf"), 0.0
    return hi, (top - _integer(hi, bottom)) / bottom
