"""Codecs of fixed formats that float64 does not hold: integers of any length, and values as Fractions."""

from __future__ import annotations

import math
import numbers
from fractions import Fraction
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from hwsim.codewords import objects
from hwsim.errors import InputError, InputTypeError
from hwsim.formats.codes import Codes, container_dtype, element
from hwsim.formats.exact import is_float
from hwsim.formats.kind import Kind
from hwsim.formats.rounding import Missing, Rounding
from hwsim.formats.stochastic import Stochastic


def decode(fmt: Kind, codes: Codes) -> NDArray[np.object_]:
    """Every code's value, a Fraction each, in the codes' shape. fmt: a fixed format."""
    unit, end = Fraction(2) ** -fmt.fraction_bits, 1 << fmt.bits
    values = [unit * (code - end if code >> fmt.bits - 1 else code) for code in codes.ravel().tolist()]
    return objects(values).reshape(codes.shape)


def encode(fmt: Kind, given: NDArray[Any], rounding: Rounding | Stochastic, missing: Missing) -> Codes:
    """The code of every number of an array from `numbers_of`, in its shape; what is too large is an end of the range.

    fmt: a fixed format. Raises ValueError for a NaN under `Missing.ERROR`, and for stochastic rounding; TypeError for
    what is no real number.
    """
    if isinstance(rounding, Stochastic):
        raise InputError(f"rounding must not be stochastic for {fmt.name}, which has more bits than float64")
    codes = [_code(fmt, value, rounding, missing) for value in given.ravel().tolist()]
    lacking = np.array([code is None for code in codes], dtype=bool).reshape(given.shape)
    if lacking.any():
        raise InputError(f"{element('x', given, lacking)}, for which {fmt.name} has no code")
    return objects(codes).astype(container_dtype(fmt)).reshape(given.shape)


def _code(fmt: Kind, value: Any, rounding: Rounding, missing: Missing) -> int | None:
    """A number's code; None for a NaN that is an error."""
    most, mask = 1 << fmt.bits - 1, (1 << fmt.bits) - 1
    if isinstance(value, (float, np.generic)) and not isinstance(value, numbers.Rational):
        if not isinstance(value, float) and not is_float(value.dtype):
            raise InputTypeError(f"x must hold real numbers (floats, ints, Fractions), not {type(value).__name__}")
        value = float(value)
        if math.isnan(value):
            return {Missing.ERROR: None, Missing.NAN: None, Missing.ZERO: 0, Missing.SATURATE: most - 1}[missing]
        if math.isinf(value):
            return most if value < 0 else most - 1
    elif isinstance(value, bool) or not isinstance(value, numbers.Rational):
        raise InputTypeError(f"x must hold real numbers (floats, ints, Fractions), not {type(value).__name__}")
    steps = _rounded(Fraction(value) * Fraction(2) ** fmt.fraction_bits, rounding)
    return min(max(steps, -most), most - 1) & mask


def _rounded(value: Fraction, rounding: Rounding) -> int:
    """An integer next to a number, by its magnitude."""
    size = abs(value)
    kept = size.numerator // size.denominator
    rest, half = size - kept, Fraction(1, 2)
    match rounding:
        case Rounding.RNE:
            up = rest > half or (rest == half and kept % 2 == 1)
        case Rounding.RNA:
            up = rest >= half
        case Rounding.RZ:
            up = False
        case Rounding.RU:
            up = rest > 0 and value > 0
        case Rounding.RD:
            up = rest > 0 and value < 0
        case Rounding.RTO:
            up = rest > 0 and kept % 2 == 0
        case _:
            assert_never(rounding)
    kept += up
    return -kept if value < 0 else kept
