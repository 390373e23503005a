"""Fields into words, and words into hexadecimal lines, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.compiled import compiled
from hwsim.vectorset.layout import Field, Layout

WORD = 64
_DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)


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
def _lines(words: Any, digits: Any, out: Any) -> None:
    for i in range(out.shape[0]):
        last = out.shape[1] - 2
        for d in range(last + 1):
            nibble = words[i, d >> 4] >> np.uint64((d & 15) * 4) & np.uint64(15)
            out[i, last - d] = digits[nibble]
        out[i, last + 1] = 10


def words_for(layout: Layout, lines: int) -> NDArray[np.uint64]:
    """Zeros to place fields in: (lines, words of 64 bits)."""
    return np.zeros((lines, -(-layout.bits // WORD)), np.uint64)


def place(field: Field, values: NDArray[Any], words: NDArray[np.uint64]) -> None:
    """Put values (lines, count) of at most 64 bits into their places; of signed ones the low bits."""
    if values.shape != (len(words), field.count):
        raise ValueError(f"{field.name} takes {(len(words), field.count)} values, not {values.shape}")
    _place(np.ascontiguousarray(values), field.offset, field.bits, words)


def hex_lines(layout: Layout, words: NDArray[np.uint64]) -> bytes:
    """A line of `layout.digits` hexadecimal digits for each row."""
    out = np.empty((len(words), layout.digits + 1), np.uint8)
    _lines(words, _DIGITS, out)
    return out.tobytes()
