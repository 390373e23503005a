"""Fields as hexadecimal lines, compiled."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.compiled import compiled
from hwsim.vectors.layout import Field, Layout

WORD = 64


@compiled
def _place(values: Any, offset: Any, bits: Any, words: Any) -> None:
    mask = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - bits)
    for i in range(values.shape[0]):
        at = offset
        for j in range(values.shape[1]):
            value = np.uint64(values[i, j]) & mask
            word, shift = at >> 6, np.uint64(at & 63)
            words[i, word] |= value << shift
            if shift and (at & 63) + bits > 64:
                words[i, word + 1] |= value >> (np.uint64(64) - shift)
            at += bits


@compiled
def _lines(data: Any, out: Any) -> None:
    """Bytes (lines, bytes), the low one first, as digits (lines, digits + 1), the high one first."""
    digits = out.shape[1] - 1
    for i in range(out.shape[0]):
        for j in range(digits // 2):
            out[i, digits - 1 - 2 * j] = data[i, j] & 15
            out[i, digits - 2 - 2 * j] = data[i, j] >> 4
        if digits & 1:
            out[i, 0] = data[i, digits // 2] & 15
        for d in range(digits):
            nibble = out[i, d]
            # '0' to '9', and 'a' to 'f', which are 39 places further on.
            out[i, d] = nibble + np.uint8(48) + (np.uint8(39) if nibble > 9 else np.uint8(0))
        out[i, digits] = 10


def packed(layout: Layout, fields: Mapping[str, NDArray[Any]]) -> bytes:
    """Hexadecimal lines of `layout.digits` each. fields: by name, (lines, count)."""
    count = len(next(iter(fields.values())))
    words = np.zeros((count, -(-layout.bits // WORD)), np.uint64)
    for field in layout.fields:
        _put(field, fields[field.name], words)
    out = np.empty((count, layout.digits + 1), np.uint8)
    _lines(words.astype("<u8", copy=False).view(np.uint8), out)
    return out.tobytes()


def _put(field: Field, values: NDArray[Any], words: NDArray[np.uint64]) -> None:
    """Put values (lines, count) of at most 64 bits into their places; of signed ones the low bits."""
    if values.shape != (len(words), field.count):
        raise ValueError(f"{field.name} takes {(len(words), field.count)} values, not {values.shape}")
    values = np.ascontiguousarray(values)
    if field.offset % 8 == 0 and field.bits == 8 * values.dtype.itemsize and sys.byteorder == "little":
        first, size = field.offset // 8, field.bits * field.count // 8
        words.view(np.uint8)[:, first : first + size] = values.view(np.uint8).reshape(len(words), size)
        return
    _place(values, field.offset, field.bits, words)
