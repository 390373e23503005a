"""uint32 operations for compiled loops, with uint32 results.

Numba's own sums and shifts have 64 bits, and so half the vector lanes. LLVM narrows a sum that is cast back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba.extending import intrinsic


def _operation(arguments: int, build: Callable[..., Any]) -> Any:
    """An operation with uint32 operands and result. build: makes its value from LLVM's builder and operands."""
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
