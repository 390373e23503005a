"""What every kernel has: a part of a matrix product, packed once, computed in tiles."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Unsuited(Exception):
    """A kernel's widths do not hold what a unit needs; says which."""


class Kernel(Protocol):
    """A compiled way to compute a unit's results.

    A kernel is made from a Unit by its module's `kernel(unit)`, which raises Unsuited where its integers do not hold
    what the unit needs. Codes are the container's, K is a multiple of `unit.instruction.fill` throughout, and every
    method may be called from several threads at once. `run` holds no lock of Python's while it computes.
    """

    rows: int
    """Rows of A that `run` likes to have at once."""
    columns: int
    """Columns of B that `run` likes to have at once."""

    def pack_a(self, codes: NDArray[Any], scales: NDArray[Any] | None) -> Any:
        """Rows of A: codes (m, K) and scales' codes (m, K / block), or None for an unscaled unit."""

    def pack_b(self, codes: NDArray[Any], scales: NDArray[Any] | None) -> Any:
        """Columns of B: codes (K, n), any strides, and scales' codes (K / block, n), or None."""

    def run(self, a: Any, b: Any, c: NDArray[np.uint32], out: NDArray[np.uint32]) -> None:
        """Write the results' codes (m, n) to `out`. c: (m, n) codes of the addend's format; zeros where there is none.

        `c` and `out` may be views of larger arrays, contiguous along n.
        """

    def pairs(
        self, a: tuple[NDArray[Any], Any], b: tuple[NDArray[Any], Any], c: NDArray[np.uint32], out: NDArray[np.uint32]
    ) -> None:
        """Write the results' codes (n,) of row i of a with row i of b to `out`.

        a, b: codes (n, K) and scales' codes (n, K / block), or None. c: (n,).
        """
