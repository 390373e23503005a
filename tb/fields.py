"""Fields of a payload: where their elements stand among its bits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from hwsim.base.arrays import WORD, code_array


@dataclass(frozen=True)
class PortField:
    """Bits of a payload: `count` elements of `bits` bits, the first in the low bits, from `offset` on.

    port: the port that they are; empty where the payload is one.
    """

    name: str
    offset: int
    bits: int
    count: int = 1
    port: str = ""

    def place(self, values: Iterable[int]) -> int:
        """The field with these elements, in its place in the port."""
        word = 0
        for index, value in enumerate(values):
            word |= (value & ((1 << self.bits) - 1)) << (self.offset + index * self.bits)
        return word

    def take(self, words: np.ndarray) -> np.ndarray:
        """The only element of the field: of ports, uint32[ports, words], as uint64[ports]; objects if it is longer."""
        if self.bits > WORD:
            rows = [int.from_bytes(row.astype("<u4").tobytes(), "little") for row in words]
            return code_array([row >> self.offset & (1 << self.bits) - 1 for row in rows], self.bits)
        first, shift = divmod(self.offset, 32)
        found = words[:, first].astype(np.uint64) >> np.uint64(shift)
        for place in range(1, -(-(shift + self.bits) // 32)):
            found |= words[:, first + place].astype(np.uint64) << np.uint64(32 * place - shift)
        return found & np.uint64((1 << self.bits) - 1)
