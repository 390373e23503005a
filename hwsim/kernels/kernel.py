"""What every kernel has: a part of a matrix product, packed once, computed in tiles."""

from __future__ import annotations

from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from hwsim.formats.codes import Codes

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
        """The same with no code that is compiled for this unit alone: slower, and ready sooner."""

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
