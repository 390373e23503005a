"""Tables from numbers to codes, filled by the reference encoder, and the compiled loops that read them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.base.compiled import compiled
from hwsim.formats.codes import container_dtype
from hwsim.formats.kind import Kind
from hwsim.formats.loops import right
from hwsim.formats.reference import encode_reference, outcome
from hwsim.formats.rounding import Missing, Overflow, Rounding

U = np.uint32
BEYOND_SINGLE = np.uint64(1151 << 52)  # binary64's 2^128
LEAST_SINGLE = np.uint64(897 << 52)  # binary64's 2^-126
MOST_INDEX_BITS = 18  # 2^18 entries of a byte: a quarter of a second cache


class EncoderTable(NamedTuple):
    """Codes of binary32 numbers, by the numbers' bits from `shift` up; lost bits are OR-ed into the last of them.

    entries: of the container's dtype, or of the next wider, with the bit above the container's set where the format
    lacks a number. doubles: whether it serves binary64 numbers cut to binary32's range too.
    """

    entries: NDArray[Any]
    shift: int
    doubles: bool


@lru_cache(maxsize=64)
def singles(fmt: Kind, rounding: Rounding, overflow: Overflow, missing: Missing) -> EncoderTable | None:
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
    return EncoderTable(entries, shift, bool(edges[0] >= 2.0**-126 and edges[-1] <= 2.0**127))


@lru_cache(maxsize=64)
def by_code(
    fmt: Kind, dtype: np.dtype[Any], rounding: Rounding, overflow: Overflow, missing: Missing
) -> NDArray[Any] | None:
    """Codes of the numbers of a dtype of 8 or 16 bits by their bits, as in `EncoderTable`; None where they are wide."""
    bits = np.arange(1 << 8 * dtype.itemsize).astype(f"u{dtype.itemsize}")
    entries = _entries(fmt, bits.view(dtype), rounding, overflow, missing)
    return entries if entries.dtype.itemsize <= 4 else None


def breakpoints(fmt: Kind) -> NDArray[np.float64]:
    """The magnitudes above zero, sorted, at which a code can change, in any rounding: values and midpoints.

    fmt: of up to 8 bits. The values are those of `Kind.magnitudes`.
    """
    values = fmt.magnitudes()
    middles = (values[1:] + values[:-1]) / 2
    both = np.unique(np.concatenate([values, middles]))
    return both[both > 0]


def _entries(
    fmt: Kind, numbers: NDArray[Any], rounding: Rounding, overflow: Overflow, missing: Missing
) -> NDArray[Any]:
    codes, lacking = outcome(fmt, numbers, rounding, overflow)
    if not lacking.any():
        return codes.astype(container_dtype(fmt))
    if missing is not Missing.ERROR:
        return encode_reference(fmt, numbers, rounding, overflow, missing)
    size = container_dtype(fmt).itemsize
    return np.where(lacking, 1 << 8 * size, codes).astype(f"u{2 * size}")


@compiled
def take(codes: Any, entries: Any, out: Any) -> None:
    """out[i] = entries[codes[i]]."""
    for i in range(out.size):
        out[i] = entries[codes[i]]


@compiled
def take_codes(codes: Any, entries: Any, out: Any) -> int:
    """out[i] = entries[codes[i]], for entries wider than `out`. Returns all entries used, OR-ed."""
    marks = 0
    for i in range(out.size):
        entry = entries[codes[i]]
        out[i] = entry
        marks |= entry
    return marks


@compiled
def take_singles(bits: Any, entries: Any, shift: int, out: Any) -> int:
    """Codes of binary32 numbers: the entry at their bits from `shift` up; lost bits are OR-ed into the last of them.

    Entries may be wider than `out`. Returns all entries used, OR-ed.
    """
    low, down = U((1 << shift) - 1), U(shift)
    marks = 0
    for i in range(out.size):
        w = bits[i]
        entry = entries[right(w, down) | U((w & low) != 0)]
        out[i] = entry
        marks |= entry
    return marks


@compiled
def take_doubles(bits: Any, entries: Any, shift: int, out: Any) -> int:
    """`take_singles` for the bits of binary64 numbers.

    Numbers below 2^-126 other than zero share an entry, and so do numbers from 2^128.
    """
    sign, low = np.uint64(63), np.uint64((1 << (29 + shift)) - 1)
    down, back = np.uint64(29 + shift), np.uint64(31 - shift)
    top, unit = np.uint64(0x7F800000 >> shift), np.uint64(1)
    marks = 0
    for i in range(out.size):
        w = bits[i]
        magnitude = w & np.uint64(0x7FFFFFFFFFFFFFFF)
        index = ((magnitude - np.uint64(896 << 52)) >> down) | np.uint64((magnitude & low) != 0)
        if magnitude < LEAST_SINGLE:
            index = np.uint64(magnitude != 0)
        if magnitude >= BEYOND_SINGLE:
            infinite = np.uint64(0x7FF << 52)
            index = top - unit if magnitude < infinite else top + np.uint64(magnitude > infinite)
        entry = entries[index | ((w >> sign) << back)]
        out[i] = entry
        marks |= entry
    return marks
