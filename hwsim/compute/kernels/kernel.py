"""What every kernel has: a part of a matrix product, its memory, and the order of products."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from hwsim.formats.codes import Codes
from hwsim.spec import Unit

# Codes (n, K) and scales' codes (n, K / block), or None for an unscaled unit.
Rows = tuple[Codes, Codes | None]
# Codes in a kernel's `word`.
Words = NDArray[Any]
Packed = TypeVar("Packed")
WORD: np.dtype[np.unsignedinteger[Any]] = np.dtype(np.uint32)


class Kernel(Protocol[Packed]):
    """A compiled way to compute a unit's results.

    Codes are the container's, K is a multiple of `instruction.fill`, and every method may be called from several
    threads at once. `run` holds no lock of Python's while it computes.
    """

    rows: int
    """Rows of A that `run` likes to have at once."""
    columns: int
    """Columns of B that `run` likes to have at once."""
    longest: int
    """The largest K whose sums it holds."""
    word: np.dtype[np.unsignedinteger[Any]]
    """The dtype of addends' and results' codes: uint32, which holds narrower ones too, or uint64."""

    @property
    def general(self) -> Self:
        """The same kernel without code that is compiled for this unit alone: slower, and ready sooner."""

    def pack_a(self, codes: Codes, scales: Codes | None) -> Packed:
        """Rows of A: codes (m, K) and scales' codes (m, K / block), or None for an unscaled unit."""

    def pack_b(self, codes: Codes, scales: Codes | None) -> Packed:
        """Columns of B: codes (K, n), any strides, and scales' codes (K / block, n), or None."""

    def run(self, a: Packed, b: Packed, c: Words, out: Words) -> None:
        """Write the results' codes (m, n) to `out`. c: (m, n) codes of the addend's format; zeros where there is none.

        `c` and `out` may be views of larger arrays, contiguous along n.
        """

    def pairs(self, a: Rows, b: Rows, c: Words, out: Words) -> None:
        """Write the results' codes (n,) of row i of a with row i of b to `out`. c: (n,)."""


# What a kernel packs is its own affair: whoever runs it hands that on without a look.
AnyKernel = Kernel[Any]


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
    array: NDArray[Any] = _kept.bytes[:size].view(kind).reshape(shape)
    return array


def zeros(shape: tuple[int, int]) -> NDArray[np.uint32]:
    size = int(np.prod(shape))
    return _zeros()[:size].reshape(shape) if size <= _zeros().size else np.zeros(shape, np.uint32)


@cache
def _zeros() -> NDArray[np.uint32]:
    kept = np.zeros(MOST_KEPT // 4, np.uint32)
    kept.setflags(write=False)
    return kept


Integer = int | np.integer[Any]
int32: Callable[[Integer], int] = np.int32  # type: ignore[assignment]
int64: Callable[[Integer], int] = np.int64  # type: ignore[assignment]

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]


def lane_indices(unit: Unit, k: int) -> Int64s:
    """The index along K of each group's lanes: (groups, lanes). k: a multiple of `instruction.fill`."""
    instruction = unit.instruction
    if instruction.order == "sequential":
        return np.arange(k, dtype=np.int64).reshape(-1, instruction.lanes)
    groups = [instruction.indices(group) for group in range(instruction.groups)]
    first = np.arange(0, k, instruction.k, dtype=np.int64)
    return (first[:, None, None] + np.array(groups, dtype=np.int64)).reshape(-1, instruction.lanes)
