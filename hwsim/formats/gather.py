"""Compiled loops that read codes and values from tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from hwsim.compiled import compiled
from hwsim.formats.uint32 import right

U = np.uint32
BEYOND_SINGLE = np.uint64(1151 << 52)  # binary64's 2^128
LEAST_SINGLE = np.uint64(897 << 52)  # binary64's 2^-126


@compiled
def take(codes: Any, entries: Any, out: Any) -> None:
    """out[i] = entries[codes[i]]."""
    for i in range(out.size):
        out[i] = entries[codes[i]]


@compiled
def take_codes(codes: Any, entries: Any, out: Any) -> int:
    """The same for entries wider than `out`; all of them, or-ed."""
    seen = 0
    for i in range(out.size):
        entry = entries[codes[i]]
        out[i] = entry
        seen |= entry
    return seen


@compiled
def take_singles(bits: Any, entries: Any, shift: int, out: Any) -> int:
    """Codes of binary32 numbers: the entry at their bits from `shift` up, the last of which takes the lost ones.

    Entries may be wider than `out`. All of them, or-ed.
    """
    low, down = U((1 << shift) - 1), U(shift)
    seen = 0
    for i in range(out.size):
        w = bits[i]
        entry = entries[right(w, down) | U((w & low) != 0)]
        out[i] = entry
        seen |= entry
    return seen


@compiled
def take_doubles(bits: Any, entries: Any, shift: int, out: Any) -> int:
    """`take_singles` for the bits of binary64 numbers.

    Those below 2^-126 but not zero count as one number, and so do those from 2^128: entries must not tell them apart.
    """
    sign, low = np.uint64(63), np.uint64((1 << (29 + shift)) - 1)
    down, back = np.uint64(29 + shift), np.uint64(31 - shift)
    top, unit = np.uint64(0x7F800000 >> shift), np.uint64(1)
    seen = 0
    for i in range(out.size):
        w = bits[i]
        magnitude = w & np.uint64(0x7FFFFFFFFFFFFFFF)
        place = ((magnitude - np.uint64(896 << 52)) >> down) | np.uint64((magnitude & low) != 0)
        if magnitude < LEAST_SINGLE:
            place = np.uint64(magnitude != 0)
        if magnitude >= BEYOND_SINGLE:
            infinite = np.uint64(0x7FF << 52)
            place = top - unit if magnitude < infinite else top + np.uint64(magnitude > infinite)
        entry = entries[place | ((w >> sign) << back)]
        out[i] = entry
        seen |= entry
    return seen
