"""Operations on uint32 in compiled loops that stay uint32.

Numba's own sums and shifts have 64 bits, and so half the lanes. Casting a sum back is enough for LLVM to narrow it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba.extending import intrinsic


def _operation(arguments: int, build: Callable[..., Any]) -> Any:
    """An operation whose operands and result are uint32. build: from LLVM's builder and values."""
    kind = numba.types.uint32

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return build(builder, *values)

    if arguments == 1:
        return intrinsic(lambda typing, a: (kind(kind), generate))
    return intrinsic(lambda typing, a, b: (kind(kind, kind), generate))


left = _operation(2, lambda builder, a, n: builder.shl(a, n))  # n at most 31, of both shifts
right = _operation(2, lambda builder, a, n: builder.lshr(a, n))
xor = _operation(2, lambda builder, a, b: builder.xor(a, b))
below_zero = _operation(1, lambda builder, a: builder.ashr(a, a.type(31)))  # all ones where the first bit is 1
odd = _operation(1, lambda builder, a: builder.neg(builder.and_(a, a.type(1))))  # all ones where the last bit is 1
