"""A matrix product, every element as a unit returns it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.formats import codes_of, container_dtype, own_dtype
from hwsim.formats.blocks import scale_shape
from hwsim.formats.codes import Codes
from hwsim.model.arguments import check_length, shape_error
from hwsim.products.engine import Progress, Scales, chosen, multiply
from hwsim.spec import Unit, load_unit


def gemm(
    unit: Unit | str | Path,
    A: Any,
    B: Any,
    C: Any = None,
    scale_a: Any = None,
    scale_b: Any = None,
    *,
    progress: Progress | None = None,
) -> NDArray[Any]:
    """A @ B + C, every element as the unit returns it.

    unit: a unit, a preset's name or the path of a unit's file.
    A: (M, K) and B: (K, N) codes of the unit's factors, or floats of the format's own dtype, taken by their bits; K
    as for `hwsim.dot`. C: (M, N) codes, or floats, of `operands.addend`; None is +0.
    scale_a: (M / block rows, K / block columns), scale_b: (K / block rows, N / block columns) codes of the shared
    scales, M and N divided upwards; None for an unscaled unit.
    All may have more axes before these, which are broadcast as `numpy.matmul` does. Any strides; arrays of other
    libraries are taken through DLPack without a copy.
    progress: called now and then, from any thread, with the number of products computed since.
    Returns (..., M, N) in the dtype that `hwsim.dot` returns. As many threads compute as NUMBA_NUM_THREADS says.
    Raises as `hwsim.dot` does.
    """
    unit = load_unit(unit)
    codes_a = codes_of(unit.operands.a, as_array(A), "A")
    codes_b = codes_of(unit.operands.b, as_array(B), "B")
    if codes_a.ndim < 2:
        raise shape_error("A", "(..., M, K)", codes_a.shape)
    m, k = codes_a.shape[-2:]
    if codes_b.ndim < 2 or codes_b.shape[-2] != k:
        raise shape_error("B", f"(..., {k}, N), because A has {k} columns", codes_b.shape)
    n = codes_b.shape[-1]
    check_length(unit, k)
    try:
        batch = np.broadcast_shapes(codes_a.shape[:-2], codes_b.shape[:-2])
    except ValueError:
        rule = f"{codes_a.shape[:-2]}, A's axes before the last two, or what broadcasts with them, before its last two"
        raise shape_error("B", rule, codes_b.shape) from None
    addends = _addends(unit, C, (*batch, m, n))
    scales = _scales(unit, scale_a, scale_b, (m, k, n), batch)
    of_a, of_b = (np.broadcast_to(side, (*batch, *side.shape[-2:])) for side in (codes_a, codes_b))
    results = np.empty((*batch, m, n), container_dtype(unit.output))
    kernel = chosen(unit, results.size * k, k)
    for at in np.ndindex(batch):
        of_scales = None if scales is None else scales._replace(a=scales.a[at], b=scales.b[at])
        operands = of_a[at], of_b[at], None if addends is None else addends[at], of_scales
        multiply(unit, kernel, operands, results[at], progress)
    return as_results(unit, results)


def as_array(given: Any) -> Any:
    """An argument; through DLPack where that is all it has."""
    if hasattr(given, "__dlpack__") and not hasattr(given, "__array__"):
        return np.from_dlpack(given)
    return given


def as_results(unit: Unit, codes: Codes) -> NDArray[Any]:
    """Result codes as the array that users get: floats by their bits where NumPy has the container's dtype."""
    own = own_dtype(unit.output)
    return codes.view(own) if own in {"float32", "float16"} else codes


def _addends(unit: Unit, c: Any, shape: tuple[int, ...]) -> Codes | None:
    """The addends' codes, broadcast along the axes before the last two; None for +0."""
    fmt = unit.operands.addend
    if c is None:
        return None
    if fmt is None:
        raise ValueError(f"C must be None, because {unit.name} has operands.addend none")
    codes = codes_of(fmt, as_array(c), "C")
    return _broadcast("C", codes, shape)


def _broadcast(what: str, codes: Codes, shape: tuple[int, ...]) -> Codes:
    if codes.ndim < 2 or codes.shape[-2:] != shape[-2:]:
        raise shape_error(what, str(shape), codes.shape)
    try:
        return np.broadcast_to(codes, shape)
    except ValueError:
        raise shape_error(what, str(shape), codes.shape) from None


def _scales(unit: Unit, a: Any, b: Any, size: tuple[int, int, int], batch: tuple[int, ...]) -> Scales | None:
    """The shared scales of all products of a batch, or None."""
    if unit.scale is None:
        for what, given in (("scale_a", a), ("scale_b", b)):
            if given is not None:
                raise ValueError(f"{what} must be None, because {unit.name} has scale none")
        return None
    m, k, n = size
    shapes = scale_shape(m, k, unit.scale.a.block), scale_shape(k, n, unit.scale.b.block)
    sides = []
    for what, given, side, shape in zip(
        ("scale_a", "scale_b"), (a, b), (unit.scale.a, unit.scale.b), shapes, strict=True
    ):
        if given is None:
            raise ValueError(f"{what} is missing: {unit.name} takes one scale for every block, shape {shape}")
        sides.append(_broadcast(what, codes_of(side.format, as_array(given), what), (*batch, *shape)))
    return Scales(sides[0], sides[1], unit.scale.a.block, unit.scale.b.block)


def products(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    """How many products a matrix product of these shapes has: the total of what `progress` is called with."""
    return math.prod(np.broadcast_shapes(a[:-2], b[:-2])) * a[-2] * a[-1] * b[-1]
