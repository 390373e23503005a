"""Compiled loops: when they are worth calling, and how threads share a large array."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

LEAST, LEAST_AT_FIRST = 1 << 8, 1 << 20  # elements that pay for a call, and for the import of the compiler
LEAST_OF_A_THREAD = 1 << 18

_Result = TypeVar("_Result")


def worth(count: int) -> bool:
    """True if the loops are quicker than NumPy for `count` elements."""
    return count >= (LEAST if "hwsim.formats.loops" in sys.modules else LEAST_AT_FIRST)


def split(count: int, size: int, work: Callable[[int, int], _Result]) -> list[_Result]:
    """Results of work(start, end) for parts of range(count), in order, by as many threads as Numba is set to use.

    size: the elements that each item of the range stands for.
    """
    most = min(count * size // LEAST_OF_A_THREAD, count)
    if most <= 1:
        return [work(0, count)]
    import numba

    threads = min(numba.config.NUMBA_NUM_THREADS, most)
    if threads <= 1:
        return [work(0, count)]
    edges = [count * part // threads for part in range(threads + 1)]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, edges[:-1], edges[1:]))


def flat(array: NDArray[Any], kind: str) -> NDArray[Any]:
    """An array's elements in C order, as unsigned integers of a dtype; copied where the loops need a copy."""
    array = np.asarray(array)
    if not array.flags.carray:  # contiguous in C order, aligned and writeable
        array = np.require(array, requirements=["C", "A", "W"])
    return array.reshape(-1).view(kind)
