"""Pairs of rows as one row of ones by columns of products: what kernels that sum in floats do with them."""

from __future__ import annotations

from math import gcd
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hwsim.kernels.values import Packed, each

Codes = NDArray[Any]


class FloatKernel(Protocol):
    """A kernel that packs floats."""

    columns: int

    def pack_a(self, codes: Codes, scales: Codes | None) -> Packed:
        """As in `Kernel`."""

    def pack_b(self, codes: Codes, scales: Codes | None) -> Packed:
        """As in `Kernel`."""

    def run(self, a: Packed, b: Packed, c: NDArray[np.uint32], out: NDArray[np.uint32]) -> None:
        """As in `Kernel`."""


def run_pairs(
    kernel: FloatKernel, a: tuple[Codes, Any], b: tuple[Codes, Any], c: NDArray[np.uint32], out: NDArray[np.uint32]
) -> None:
    """`Kernel.pairs`, some columns at a time."""
    for first in range(0, len(c), kernel.columns):
        part = slice(first, first + kernel.columns)
        rows = kernel.pack_a(a[0][part], None if a[1] is None else a[1][part])
        columns = kernel.pack_b(b[0][part].T, None if b[1] is None else b[1][part].T)
        kernel.run(*paired(rows, columns), c[None, part], out[None, part])


def paired(a: Packed, b: Packed) -> tuple[Packed, Packed]:
    """Rows of A, each for the column of B beside it, as one row of ones for columns of products, which have no error.

    Or have that of a product in float32, where additions are those of float32 too.
    """
    products = np.empty_like(b.values)
    with np.errstate(all="ignore"):
        np.multiply(a.values.T, b.values, out=products)
    one = Packed(np.ones((1, len(products)), products.dtype), None, 1)
    if a.scales is None or b.scales is None:
        return one, Packed(products, None, 1)
    block = gcd(a.block, b.block)
    blocks = max(a.scales.shape[1] * a.block, len(b.scales) * b.block) // block
    scales = each(b.scales, b.block // block, blocks, 0)
    scales *= each(a.scales, a.block // block, blocks, 1).T
    return one._replace(scales=np.ones((1, blocks)), block=block), Packed(products, scales, block)
