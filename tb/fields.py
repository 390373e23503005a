"""Fields of bits, side by side, in a payload or in a line: where elements stand, and putting many there at once."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.base.arrays import WORD, code_array
from hwsim.base.compiled import compiled
from hwsim.base.errors import InputError


@dataclass(frozen=True)
class Field:
    """`count` elements of `bits` bits, the first in the low bits, from `offset` on.

    signed: two's complement. port: the port that they are; empty where they are bits of something larger.
    """

    name: str
    offset: int
    bits: int
    count: int = 1
    signed: bool = False
    port: str = ""

    def place(self, values: Iterable[int]) -> int:
        """Return the elements at their places in the port's word."""
        word = 0
        for index, value in enumerate(values):
            word |= (value & ((1 << self.bits) - 1)) << (self.offset + index * self.bits)
        return word

    def take(self, words: np.ndarray) -> np.ndarray:
        """The field's only element in each port: uint32[ports, words] to uint64[ports]; objects if it is longer."""
        if self.bits > WORD:
            rows = [int.from_bytes(row.astype("<u4").tobytes(), "little") for row in words]
            return code_array([row >> self.offset & (1 << self.bits) - 1 for row in rows], self.bits)
        first, shift = divmod(self.offset, 32)
        value = words[:, first].astype(np.uint64)
        value >>= np.uint64(shift)
        for place in range(1, -(-(shift + self.bits) // 32)):
            value |= words[:, first + place].astype(np.uint64) << np.uint64(32 * place - shift)
        value &= np.uint64((1 << self.bits) - 1)
        return value


def side_by_side(fields: Iterable[tuple[str, int, int]]) -> tuple[Field, ...]:
    """Place fields, each a name, bits of an element and number of elements, one after the other."""
    placed, offset = list[Field](), 0
    for name, bits, count in fields:
        placed.append(Field(name, offset, bits, count))
        offset += bits * count
    return tuple(placed)


@dataclass(frozen=True)
class Layout:
    fields: tuple[Field, ...]

    @property
    def bits(self) -> int:
        last = self.fields[-1]
        return last.offset + last.bits * last.count

    @property
    def digits(self) -> int:
        return -(-self.bits // 4)

    def field(self, name: str) -> Field:
        return next(field for field in self.fields if field.name == name)

    def words(self, values: Mapping[str, NDArray[Any]]) -> NDArray[np.uint64]:
        """Words of 64 bits, the low one first: (lines, words). values: of each field, (lines, count)."""
        lines = len(next(iter(values.values())))
        words = np.zeros((lines, -(-self.bits // WORD)), np.uint64)
        for field in self.fields:
            _put(field, values[field.name], words)
        return words.astype("<u8", copy=False)

    def packed(self, values: Mapping[str, NDArray[Any]]) -> bytes:
        """Lines of `digits` hexadecimal digits. values: of each field, (lines, count)."""
        words = self.words(values)
        out = np.empty((len(words), self.digits + 1), np.uint8)
        _lines(words.view(np.uint8), out)
        return out.tobytes()

    def unpacked(self, line: bytes) -> dict[str, tuple[int, ...]]:
        """The elements of every field of a line, as bits."""
        word = int(line, 16)
        return {
            field.name: tuple(word >> field.offset + i * field.bits & (1 << field.bits) - 1 for i in range(field.count))
            for field in self.fields
        }


def _put(field: Field, values: NDArray[Any], words: NDArray[np.uint64]) -> None:
    """Put values (lines, count) into their places; of signed ones, which have at most 64 bits, the low bits."""
    if field.bits > WORD:
        _put_long(field, values, words)
        return
    if values.shape != (len(words), field.count):
        raise InputError(f"{field.name} takes {(len(words), field.count)} values, not {values.shape}")
    values = np.ascontiguousarray(values)
    if field.offset % 8 == 0 and field.bits == 8 * values.dtype.itemsize and sys.byteorder == "little":
        first, size = field.offset // 8, field.bits * field.count // 8
        words.view(np.uint8)[:, first : first + size] = values.view(np.uint8).reshape(len(words), size)
        return
    _place(values, field.offset, field.bits, words)


def _put_long(field: Field, values: NDArray[Any], words: NDArray[np.uint64]) -> None:
    """Put values of more than 64 bits, Python's integers, into their places, 64 bits at a time."""
    for first in range(0, field.bits, WORD):
        bits = min(WORD, field.bits - first)
        part = (values >> first & (1 << bits) - 1).astype(np.uint64)
        for element in range(field.count):
            _place(part[:, element : element + 1], field.offset + element * field.bits + first, bits, words)


@compiled
def _place(values: Any, offset: Any, bits: Any, words: Any) -> None:
    mask = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - bits)
    for i in range(values.shape[0]):
        low = offset
        for j in range(values.shape[1]):
            value = np.uint64(values[i, j]) & mask
            word, shift = low >> 6, np.uint64(low & 63)
            words[i, word] |= value << shift
            if shift and (low & 63) + bits > 64:
                words[i, word + 1] |= value >> (np.uint64(64) - shift)
            low += bits


@compiled
def _lines(data: Any, out: Any) -> None:
    """Write bytes (lines, bytes), the low one first, as digits (lines, digits + 1), the high one first."""
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
