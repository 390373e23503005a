"""Room for arrays that are filled anew for every part of a product: memory that is new costs more than filling it."""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Bytes that a thread keeps; what is larger is new each time.
MOST_KEPT = 1 << 21


class _Kept(threading.local):
    def __init__(self) -> None:
        self.bytes = np.empty(MOST_KEPT, np.uint8)


_kept = _Kept()


def room(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """An array of any content, until this thread asks again."""
    kind = np.dtype(dtype)
    size = int(np.prod(shape)) * kind.itemsize
    if size > MOST_KEPT:
        return np.empty(shape, kind)
    found: NDArray[Any] = _kept.bytes[:size].view(kind).reshape(shape)
    return found


def zeros(shape: tuple[int, int]) -> NDArray[np.uint32]:
    """Zeros that nobody writes to."""
    size = int(np.prod(shape))
    return _zeros()[:size].reshape(shape) if size <= _zeros().size else np.zeros(shape, np.uint32)


@cache
def _zeros() -> NDArray[np.uint32]:
    kept = np.zeros(MOST_KEPT // 4, np.uint32)
    kept.setflags(write=False)
    return kept
