"""Dot products of arrays of codes, by the definition alone: slow, and what tests hold compiled code to."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.formats import container_dtype
from hwsim.model.definition import Definition
from hwsim.spec import Unit, UnitLike, load_unit
from hwsim.spec.arguments import addends, dot_scales, factors, pad, result_array


@lru_cache(maxsize=16)
def definition_of(unit: Unit) -> Definition:
    """A unit's definition, kept for the next call. Raises NotImplementedYet."""
    return Definition(unit)


def dot(unit: UnitLike, a: Any, b: Any, c: Any = None, scale_a: Any = None, scale_b: Any = None) -> NDArray[Any]:
    """The dot products of n pairs of rows, as `hwsim.dot` takes and returns them."""
    unit = load_unit(unit)
    definition, fill = definition_of(unit), unit.instruction.fill
    codes_a, codes_b = factors(unit, a, b, ("n", "K"))
    arrays = (
        pad(codes_a, fill, 0),
        pad(codes_b, fill, 0),
        addends(unit, c, (len(codes_a),), "c"),
        *dot_scales(unit, scale_a, scale_b, *codes_a.shape),
    )
    rows = zip(*(array.tolist() for array in arrays), strict=True)
    codes = [definition.dot(*row).code for row in rows]
    return result_array(unit, np.array(codes, dtype=container_dtype(unit.output)))
