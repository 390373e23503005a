"""A matrix product as the dot products of its rows and columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.blocks import scale_shape
from hwsim.formats import codes_of
from hwsim.formats.codes import Codes
from hwsim.model.arguments import addends, check_length, one_code, pad, scale_codes, shape_error
from hwsim.model.arrays import definition_of, result_array
from hwsim.spec import Unit, load_unit


def gemm(
    unit: Unit | str | Path, A: Any, B: Any, C: Any = None, scale_a: Any = None, scale_b: Any = None
) -> NDArray[Any]:
    """A @ B + C, every element as the unit returns it.

    unit: a unit, a preset's name or the path of a unit's file.
    A: (M, K) and B: (K, N) codes of the unit's factors, or floats of the format's own dtype, taken by their bits; K
    as for `hwsim.dot`. C: (M, N) codes, or floats, of `operands.addend`; None is +0.
    scale_a: (M / block rows, K / block columns), scale_b: (K / block rows, N / block columns) codes of the shared
    scales, M and N divided upwards; None for an unscaled unit.
    Returns (M, N) in the dtype that `hwsim.dot` returns.
    Raises as `hwsim.dot` does.
    """
    unit = load_unit(unit)
    definition = definition_of(unit)
    codes_a = codes_of(unit.operands.a, A, "A")
    codes_b = codes_of(unit.operands.b, B, "B")
    if codes_a.ndim != 2:
        raise shape_error("A", "(M, K)", codes_a.shape)
    m, k = codes_a.shape
    if codes_b.ndim != 2 or codes_b.shape[0] != k:
        raise shape_error("B", f"({k}, N), because A has {k} columns", codes_b.shape)
    n = codes_b.shape[1]
    check_length(unit, k)
    addend = addends(unit, C, (m, n), "C").tolist()
    scales_a, scales_b = (side.tolist() for side in term_scales(unit, scale_a, scale_b, (m, k, n)))
    whole = unit.instruction.fill
    rows, columns = pad(codes_a, whole, 0).tolist(), pad(codes_b.T, whole, 0).tolist()
    codes = [
        definition.dot(rows[i], columns[j], addend[i][j], scales_a[i], scales_b[j]).code
        for i in range(m)
        for j in range(n)
    ]
    return result_array(unit, codes, (m, n))


def term_scales(unit: Unit, scale_a: Any, scale_b: Any, size: tuple[int, int, int]) -> tuple[Codes, Codes]:
    """The scales' codes of every element along K, padded as the elements are: of A (M, terms), of B (N, terms).

    size: M, K, N. Empty rows for an unscaled unit.
    """
    m, k, n = size
    if unit.scale is None:
        return scale_codes(unit, "a", scale_a, (m, 0)), scale_codes(unit, "b", scale_b, (n, 0))
    a, b = unit.scale.a, unit.scale.b
    given_a = scale_codes(unit, "a", scale_a, scale_shape(m, k, a.block))
    given_b = scale_codes(unit, "b", scale_b, scale_shape(k, n, b.block))
    of_a = _elements(given_a, a.block)[:m, :k]
    of_b = _elements(given_b, b.block)[:k, :n].T
    whole = unit.instruction.fill
    return pad(of_a, whole, one_code(a.format)), pad(of_b, whole, one_code(b.format))


def _elements(scales: Codes, block: tuple[int, int]) -> Codes:
    """A scale for every element of the blocks."""
    return np.repeat(np.repeat(scales, block[0], axis=0), block[1], axis=1)
