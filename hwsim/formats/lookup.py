"""Tables from numbers to codes, filled by the reference encoder."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.formats.codec import Missing, Overflow, encode_reference, outcome
from hwsim.formats.codes import container_dtype
from hwsim.formats.format import ExponentFormat, FixedFormat, FloatFormat, Format
from hwsim.formats.rounding import Rounding

MOST_INDEX_BITS = 18  # 2^18 entries of a byte: a quarter of a second cache


class Table(NamedTuple):
    """Codes of binary32 numbers, by their bits from `shift` up, the last of which takes the lost ones.

    entries: of the container's dtype, or of the next wider, with the bit above the container's set where the format
    has nothing for a number. doubles: whether it serves binary64 numbers cut to binary32's range too.
    """

    entries: NDArray[Any]
    shift: int
    doubles: bool


@lru_cache(maxsize=64)
def singles(fmt: Format, rounding: Rounding, overflow: Overflow, missing: Missing) -> Table | None:
    """The table of a format of up to 8 bits, or None for one that needs more than 2^18 entries."""
    edges = breakpoints(fmt)
    inside = edges[edges < 2.0**128]
    with np.errstate(under="ignore"):
        narrow = inside.astype(np.float32)
    bits = int(np.bitwise_or.reduce(narrow.view(np.uint32)))
    # Every edge is at an even index, so that an odd one, and all that is jammed into it, lies between two.
    shift = (bits & -bits).bit_length() - 2
    if (narrow != inside).any() or not 0 <= 32 - shift <= MOST_INDEX_BITS:
        return None
    index = np.arange(1 << 32 - shift, dtype=np.uint32) << np.uint32(shift)
    entries = _entries(fmt, index.view(np.float32), rounding, overflow, missing)
    return Table(entries, shift, bool(edges[0] >= 2.0**-126 and edges[-1] <= 2.0**127))


@lru_cache(maxsize=64)
def by_code(
    fmt: Format, dtype: np.dtype[Any], rounding: Rounding, overflow: Overflow, missing: Missing
) -> NDArray[Any] | None:
    """Codes of the numbers of a dtype of 8 or 16 bits, by their bits; as in `Table`. None where one is too wide."""
    bits = np.arange(1 << 8 * dtype.itemsize).astype(f"u{dtype.itemsize}")
    found = _entries(fmt, bits.view(dtype), rounding, overflow, missing)
    return found if found.dtype.itemsize <= 4 else None


def breakpoints(fmt: Format) -> NDArray[np.float64]:
    """The magnitudes above zero, sorted, at which a code can change, in any rounding: values and midpoints.

    fmt: of up to 8 bits. The values are followed by the next one that an unbounded exponent would add; of formats
    without zero or without subnormals, they are preceded by one.
    """
    if isinstance(fmt, FixedFormat):
        values = np.ldexp(np.arange((1 << fmt.bits - 1) + 1), -fmt.fraction_bits)
    elif isinstance(fmt, ExponentFormat):
        values = np.ldexp(1.0, np.arange(fmt.min_code - 1, fmt.max_code + 2) - fmt.bias)
    else:
        values = _float_values(fmt)
    middles = (values[1:] + values[:-1]) / 2
    both = np.unique(np.concatenate([values, middles]))
    return both[both > 0]


def _float_values(fmt: FloatFormat) -> NDArray[np.float64]:
    magnitudes = np.arange(fmt.max_magnitude + 2)
    bexp, frac = magnitudes >> fmt.fraction_bits, magnitudes & ((1 << fmt.fraction_bits) - 1)
    exp = np.maximum(bexp, fmt.least_bexp) - fmt.bias - fmt.fraction_bits
    hidden = (bexp >= fmt.least_bexp).astype(np.int64)  # without subnormals magnitude 0 is the place below the least
    values = np.ldexp((frac + (hidden << fmt.fraction_bits)).astype(np.float64), exp)
    return np.concatenate([[0.0], values])


def _entries(
    fmt: Format, numbers: NDArray[Any], rounding: Rounding, overflow: Overflow, missing: Missing
) -> NDArray[Any]:
    codes, lacking = outcome(fmt, numbers, rounding, overflow)
    if not lacking.any():
        return codes.astype(container_dtype(fmt))
    if missing is not Missing.ERROR:
        return encode_reference(fmt, numbers, rounding, overflow, missing)
    size = container_dtype(fmt).itemsize
    return np.where(lacking, 1 << 8 * size, codes).astype(f"u{2 * size}")
