"""Arguments of a dot product and of a GEMM, checked where they enter."""

from __future__ import annotations

from typing import Any

import numpy as np

from hwsim.formats import codes_of, container_dtype
from hwsim.formats.codes import Codes
from hwsim.spec import Unit


def shape_error(what: str, expected: str, shape: tuple[int, ...]) -> ValueError:
    """An array of the wrong shape."""
    return ValueError(f"{what} must have shape {expected}, not {shape}")


def check_length(unit: Unit, k: int) -> None:
    """Raise ValueError for a number of products, K, that the unit does not take."""
    if k < 1:
        raise ValueError("K, the number of products, must be at least 1, not 0")
    instruction = unit.instruction
    if instruction.chain is None and k > instruction.k:
        raise ValueError(
            f"K, the number of products, must be at most instruction.k ({instruction.k}), because {unit.name} has "
            f"instruction.chain none, not {k}"
        )
    if unit.scale is not None:
        for side, length in (("a", unit.scale.a.block[1]), ("b", unit.scale.b.block[0])):
            if k % length:
                raise ValueError(
                    f"K, the number of products, must be a multiple of scale.{side}.block along K ({length}), not {k}"
                )


def addends(unit: Unit, c: Any, shape: tuple[int, ...], what: str) -> Codes:
    """The addends' codes, +0 for None, in that shape.

    Raises ValueError for another shape, and for any addend where the unit has none.
    """
    fmt = unit.operands.addend
    if fmt is None:
        if c is not None:
            raise ValueError(f"{what} must be None, because {unit.name} has operands.addend none")
        return np.zeros(shape, dtype=np.uint8)
    if c is None:
        return np.zeros(shape, dtype=container_dtype(fmt))
    codes = codes_of(fmt, c, what)
    if codes.shape != shape:
        raise shape_error(what, str(shape), codes.shape)
    return codes


def scale_codes(unit: Unit, side: str, scales: Any, shape: tuple[int, ...]) -> Codes:
    """The codes of one operand's shared scales, in that shape; side: `a` or `b`.

    Raises ValueError for another shape, for scales of an unscaled unit, and for none of a scaled one.
    """
    what = f"scale_{side}"
    if unit.scale is None:
        if scales is not None:
            raise ValueError(f"{what} must be None, because {unit.name} has scale none")
        return np.zeros(shape, dtype=np.uint8)
    if scales is None:
        raise ValueError(f"{what} is missing: {unit.name} takes one scale for every block, shape {shape}")
    codes = codes_of(getattr(unit.scale, side).format, scales, what)
    if codes.shape != shape:
        raise shape_error(what, str(shape), codes.shape)
    return codes


def pad(codes: Codes, multiple: int, fill: int) -> Codes:
    """Codes (n, K), filled up along K to a multiple of `multiple`."""
    return np.pad(codes, ((0, 0), (0, -codes.shape[1] % multiple)), constant_values=fill)
