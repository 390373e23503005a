"""Threefry-2x32 in compiled loops: `hwsim.formats.stochastic.threefry2x32` on uint32."""

from __future__ import annotations

from typing import Any

import numpy as np

from hwsim.compiled import inlined
from hwsim.formats.uint32 import left, right, xor

U = np.uint32
PARITY = U(0x1BD11BDA)


@inlined
def _round(x: Any, y: Any, n: Any) -> Any:
    x = U(x + y)
    return x, xor(U(left(y, U(n)) | right(y, U(32 - n))), x)


@inlined
def _four(x: Any, y: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    x, y = _round(x, y, a)
    x, y = _round(x, y, b)
    x, y = _round(x, y, c)
    return _round(x, y, d)


@inlined
def threefry(key: Any, other: Any, low: Any, high: Any) -> Any:
    """Both words of the key (key, other) at the counter (low, high), all of them uint32.

    Where only the first is used, the compiler omits the work for the second.
    """
    third = xor(xor(PARITY, key), other)
    x, y = U(low + key), U(high + other)
    x, y = _four(x, y, 13, 15, 26, 6)
    x, y = U(x + other), U(U(y + third) + U(1))
    x, y = _four(x, y, 17, 29, 16, 24)
    x, y = U(x + third), U(U(y + key) + U(2))
    x, y = _four(x, y, 13, 15, 26, 6)
    x, y = U(x + key), U(U(y + other) + U(3))
    x, y = _four(x, y, 17, 29, 16, 24)
    x, y = U(x + other), U(U(y + third) + U(4))
    x, y = _four(x, y, 13, 15, 26, 6)
    return U(x + third), U(U(y + key) + U(5))
