"""Dot products of arrays of codes, and one dot product with all its stages."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.formats import codes_of, container_dtype, own_dtype
from hwsim.formats.blocks import one_code, per_term
from hwsim.formats.codes import Codes
from hwsim.model.arguments import addends, check_length, pad, scale_codes, shape_error
from hwsim.model.definition import Definition
from hwsim.spec import Unit, load_unit


@lru_cache(maxsize=16)
def definition_of(unit: Unit) -> Definition:
    """A unit's definition, kept for the next call. Raises NotImplementedYet."""
    return Definition(unit)


def dot(
    unit: Unit | str | Path, a: Any, b: Any, c: Any = None, scale_a: Any = None, scale_b: Any = None
) -> NDArray[Any]:
    """The dot products of n pairs of rows: a[i] . b[i] + c[i], as the unit returns them.

    unit: a unit, a preset's name or the path of a unit's file.
    a, b: (n, K) codes of the unit's factors, or floats of the format's own dtype, which are taken by their bits. K at
    least 1, and a multiple of the scales' blocks; it is filled with zero terms up to whole groups, or whole
    instructions (docs/arithmetic.md).
    c: (n,) codes, or floats, of `operands.addend`; None is +0.
    scale_a, scale_b: (n, K / block) codes of the shared scales, block being that along K; None for an unscaled unit.
    Returns (n,) float32 or float16 with exact bits, where the result stands in a binary32 or binary16 container
    (NaNs with their payloads), else codes: uint8, uint16 or uint32.
    Raises TypeError for any other dtype; ValueError for a code out of range, a shape that does not fit and for what
    the unit does not take; NotImplementedYet for a unit that asks for what hwsim does not have.
    """
    unit = load_unit(unit)
    definition = definition_of(unit)
    codes_a, codes_b = factors(unit, a, b, ("n", "K"))
    n, k = codes_a.shape
    codes_c = addends(unit, c, (n,), "c")
    whole = unit.instruction.fill
    scales = dot_scales(unit, scale_a, scale_b, n, k)
    rows = zip(
        pad(codes_a, whole, 0).tolist(),
        pad(codes_b, whole, 0).tolist(),
        codes_c.tolist(),
        *(side.tolist() for side in scales),
        strict=True,
    )
    return result_array(unit, [definition.dot(*row).code for row in rows], (n,))


def factors(unit: Unit, a: Any, b: Any, axes: tuple[str, ...]) -> tuple[Codes, Codes]:
    """The codes of a and b, of one shape with these axes; the last is K."""
    codes_a = codes_of(unit.operands.a, a, "a")
    codes_b = codes_of(unit.operands.b, b, "b")
    if codes_a.ndim != len(axes):
        raise shape_error("a", f"({', '.join(axes)}{',' * (len(axes) == 1)})", codes_a.shape)
    if codes_b.shape != codes_a.shape:
        raise shape_error("b", f"{codes_a.shape}, as a", codes_b.shape)
    check_length(unit, codes_a.shape[-1])
    return codes_a, codes_b


def dot_scales(unit: Unit, scale_a: Any, scale_b: Any, n: int, k: int) -> tuple[Codes, Codes]:
    """The scales' codes for every term, padded as the terms are: (n, terms) each; (n, 0) for an unscaled unit."""
    sides = []
    for side, given in (("a", scale_a), ("b", scale_b)):
        if unit.scale is None:
            scale_codes(unit, side, given, (n, 0))
            sides.append(np.zeros((n, 0), dtype=np.uint8))
            continue
        scale = getattr(unit.scale, side)
        length = scale.block[1] if side == "a" else scale.block[0]
        codes = scale_codes(unit, side, given, (n, k // length))
        sides.append(pad(per_term(codes, length, k), unit.instruction.fill, one_code(scale.format)))
    return sides[0], sides[1]


def result_array(unit: Unit, codes: list[int], shape: tuple[int, ...]) -> NDArray[Any]:
    """Result codes as the array that users get: floats by their bits where NumPy has the container's dtype."""
    fmt = unit.output
    bits = np.array(codes, dtype=container_dtype(fmt)).reshape(shape)
    own = own_dtype(fmt)
    return bits.view(own) if own in {"float32", "float16"} else bits
