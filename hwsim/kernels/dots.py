"""Exact dot products of small integers, in vectors: one group of one row of A against 16 columns of B, in parts.

Factors are integers of 16 bits, in units of their formats' least numbers. Packed, a group is, for every two products:

    B: 16 columns x 2 of 16 bits, a vector
    A: the same for one column

and then for each part a word of 32 bits, for B of each column: a bit for every product whose factor is not zero.
"""

from __future__ import annotations

from typing import NamedTuple

from numba import types
from numba.extending import intrinsic

from hwsim.kernels.lanes import PART
from hwsim.kernels.vector_code import V16, V32, VECTOR, Builder, Value, VectorCode


class DotsLayout(NamedTuple):
    """Bytes of a packed group of so many products, in parts."""

    lanes: int
    parts: int

    @property
    def a_bits(self) -> int:
        """Where A's words of bits begin."""
        return 2 * self.lanes

    @property
    def b_bits(self) -> int:
        """Where B's words of bits begin."""
        return VECTOR * self.lanes // 2

    @property
    def a_bytes(self) -> int:
        """Bytes of a group of A."""
        return -(-(self.a_bits + 4 * self.parts) // 8) * 8

    @property
    def b_bytes(self) -> int:
        """Bytes of a group of B."""
        return self.b_bits + VECTOR * self.parts


class _DotsCode(VectorCode):
    """The code of one group."""

    def __init__(self, builder: Builder, layout: DotsLayout, addresses: Value):
        super().__init__(builder, addresses[0])
        self.layout = layout
        _, self.a_at, self.out_at, self.some_at = addresses

    def emit(self) -> None:
        """The sum of each part, and the bits of its products that are not zero."""
        pairs = self.layout.lanes // self.layout.parts // 2
        for part in range(self.layout.parts):
            total = None
            for pair in range(part * pairs, (part + 1) * pairs):
                factor = self.b.bitcast(self.broadcast(self.a_at, 4 * pair), V16)
                product = self.pairwise(factor, self.vector(VECTOR * pair, V16))
                total = product if total is None else self.b.add(total, product)
            self.store(total, self.out_at, part * PART)
            bits = self.broadcast(self.a_at, self.layout.a_bits + 4 * part)
            some = self.b.and_(bits, self.vector(self.layout.b_bits + VECTOR * part, V32))
            self.store(some, self.some_at, part * PART)


@intrinsic  # type: ignore[untyped-decorator]
def dots(typing: Value, lanes: Value, parts: Value, b_at: Value, a_at: Value, out_at: Value, some_at: Value) -> Value:
    """One group of one row against 16 columns.

    lanes, parts: literals. b_at, a_at: addresses of the packed groups. out_at: where the sums of each part go, 16
    int32, PART bytes from one part to the next. some_at: where its products that are not zero go, as bits, likewise.
    """
    if not all(isinstance(word, types.IntegerLiteral) for word in (lanes, parts)):
        return None
    layout = DotsLayout(lanes.literal_value, parts.literal_value)

    def codegen(context: Value, builder: Builder, signature: Value, args: Value) -> Value:
        _DotsCode(builder, layout, args[2:]).emit()
        return context.get_dummy_value()

    return types.void(lanes, parts, *[types.int64] * 4), codegen
