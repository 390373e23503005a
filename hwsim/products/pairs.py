"""Dot products of pairs of rows, as a unit returns them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from hwsim.formats import codes_of
from hwsim.formats.blocks import one_code
from hwsim.model.arguments import addends, check_length, pad, scale_codes, shape_error
from hwsim.model.arrays import definition_of
from hwsim.products.engine import filled, pair_up
from hwsim.products.matrix import as_array, as_results
from hwsim.spec import Unit, load_unit


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
    definition_of(unit)
    codes_a = codes_of(unit.operands.a, as_array(a), "a")
    codes_b = codes_of(unit.operands.b, as_array(b), "b")
    if codes_a.ndim != 2:
        raise shape_error("a", "(n, K)", codes_a.shape)
    if codes_b.shape != codes_a.shape:
        raise shape_error("b", f"{codes_a.shape}, as a", codes_b.shape)
    n, k = codes_a.shape
    check_length(unit, k)
    codes_c = addends(unit, as_array(c), (n,), "c")
    fill = unit.instruction.fill
    rows = pad(codes_a, fill, 0), pad(codes_b, fill, 0)
    scales = [_scales(unit, side, given, n, k, rows[0].shape[1]) for side, given in (("a", scale_a), ("b", scale_b))]
    return as_results(unit, pair_up(unit, *rows, codes_c, *scales))


def _scales(unit: Unit, side: str, given: Any, n: int, k: int, terms: int) -> Any:
    """The scales' codes (n, blocks), filled with ones up to so many terms; None for an unscaled unit."""
    if unit.scale is None:
        return scale_codes(unit, side, given, (n, 0)) if given is not None else None
    scale = getattr(unit.scale, side)
    length = scale.block[1] if side == "a" else scale.block[0]
    return filled(scale_codes(unit, side, as_array(given), (n, k // length)), terms, length, one_code(scale.format))
