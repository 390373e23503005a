"""Products of sparse units: the factors of b beside those that a keeps are gathered; the dense unit multiplies them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.compute.kernels.tiles import Progress
from hwsim.compute.products import product
from hwsim.formats import container_dtype
from hwsim.spec import SparseLike, Unit, load_sparse
from hwsim.spec.arguments import addends, result_dtype
from hwsim.spec.sparse import Compressed, compressed, gathered


def compress(unit: SparseLike, a: Any, *, prune: bool = False) -> Compressed:
    """What a sparse unit takes of a matrix (M, K) of codes: those that are kept, and their metadata.

    unit: as of `hwsim.gemm` with metadata. a: as it takes A, K a multiple of `sparsity.of` runs. Where fewer than
    `keep` of these are other than zero, the first zeros are kept too. prune: whether of more the largest are kept, the
    first of equals; otherwise more are refused.
    Returns `codes` (M, K keep / of) and `metadata`, uint8, the index of each kept run among its `of`.
    Raises ValueError for more numbers than are kept, as `load_unit` does for the unit, and as `hwsim.gemm` for a.
    """
    return compressed(load_sparse(unit), a, prune)


def sparse_product(unit: SparseLike | Unit, a: Any, b: Any, c: Any, metadata: Any, progress: Progress) -> NDArray[Any]:
    """`hwsim.gemm` of a sparse unit: a, metadata (M, kept), b (K, N), c (M, N). Rows that keep the same go together."""
    unit = load_sparse(unit)
    codes_a, codes_b, places = gathered(unit, a, b, metadata, "(K, N)")
    shape = len(codes_a), codes_b.shape[1]
    codes_c = None if c is None else addends(unit.dense, c, shape, "C")
    out = np.empty(shape, container_dtype(unit.dense.output)).view(result_dtype(unit.dense.output))
    kinds, of_rows = np.unique(places, axis=0, return_inverse=True)
    for number, kept in enumerate(kinds):
        rows = np.flatnonzero(of_rows.reshape(-1) == number)
        own = None if codes_c is None else codes_c[rows]
        out[rows] = product(
            unit.dense, codes_a[rows], codes_b[kept], own, progress=progress, again=out.size * places.shape[1] > ALONE
        )
    return out


ALONE = 1 << 19  # products that the model computes as soon as kernels are loaded, as of dense products
