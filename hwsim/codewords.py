"""Codes of any length in arrays: in memory Python's integers where NumPy's are too short, in files words of 64 bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

WORD = 64


def words_of(bits: int) -> int:
    """Words that codes of so many bits take."""
    return -(-bits // WORD)


def objects(values: Sequence[Any]) -> NDArray[np.object_]:
    """A sequence as an array of one dimension, each element as it is."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def code_array(codes: Sequence[int], bits: int = 0) -> NDArray[Any]:
    """Codes (n,): uint64, or Python's integers in an array of objects where one, or `bits`, is more than 64 bits."""
    longest = max([bits, *(code.bit_length() for code in codes)])
    return objects(codes) if longest > WORD else np.array(codes, np.uint64)


def to_words(codes: NDArray[Any], words: int = 1) -> NDArray[np.uint64]:
    """Codes (...,), none negative, as words (..., words), the low one first; of more words where one needs more."""
    if codes.dtype != object:
        wide = np.zeros((*codes.shape, words), np.uint64)
        wide[..., 0] = codes
        return wide
    given = [int(code) for code in codes.ravel()]
    words = max([words, *(words_of(code.bit_length()) for code in given)])
    data = b"".join(code.to_bytes(words * WORD // 8, "little") for code in given)
    return np.frombuffer(data, "<u8").astype(np.uint64).reshape(*codes.shape, words)


def from_words(words: NDArray[Any]) -> NDArray[Any]:
    """The codes (...,) of words (..., words): uint64 of one word, Python's integers of more."""
    if words.shape[-1] == 1:
        return words[..., 0]
    rows = words.reshape(-1, words.shape[-1]).astype("<u8")
    return objects([int.from_bytes(row.tobytes(), "little") for row in rows]).reshape(words.shape[:-1])
