"""Numbers of every kind that `encode` takes, as integers with all that a rounding needs."""

from __future__ import annotations

import math
import numbers
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.errors import InputTypeError
from hwsim.formats.rounding import Bools, Ints
from hwsim.tensors import as_numbers

# Of a significand: binary64's 53 and two more, so that a rounding to 53 can tell what was cut off.
SIG_BITS = 55
LAST = SIG_BITS - 1  # places below the leading one
# Exponents of zero, which is below every number, and of infinity, which is above.
ZERO_EXP, INFINITY_EXP = -(1 << 20), 1 << 20


class ExactNumbers(NamedTuple):
    """Numbers as (-1)^negative * sig * 2^(exp - LAST); arrays of one dimension.

    sig: of SIG_BITS bits, or 0 for zeros and NaNs. A number with more bits (a Fraction, a large int) is cut with a jam:
    its last bit is 1 where anything was cut off. Formats keep at most 53 bits, so no rounding can tell.
    exp: exponent of the leading one; ZERO_EXP for zeros and NaNs, INFINITY_EXP for infinities.
    """

    negative: Bools
    sig: Ints
    exp: Ints
    infinite: Bools
    nan: Bools

    def at_least(self, sig: int, exp: int) -> Bools:
        """Which magnitudes are at least sig * 2^(exp - LAST); sig of SIG_BITS bits."""
        return np.asarray((self.exp > exp) | (self.exp == exp) & (self.sig >= sig))


def scaled(sig: Ints | int, exp: Ints | int) -> NDArray[np.float64]:
    """sig * 2^exp; the result must fit a float64 exactly."""
    return np.asarray(np.ldexp(np.asarray(sig, dtype=np.float64), np.asarray(exp, dtype=np.intc)))


def numbers_of(x: Any) -> NDArray[Any]:
    """x as a float64 or object array of its shape, with every value kept.

    x: an array of float16, float32, float64, of an ml_dtypes float, or of integers; a tensor of PyTorch; a Python
    number; a Fraction; or (nested) sequences or an object array of those.
    Raises TypeError for what is no real number: booleans, complex numbers, strings, longer floats, ragged lists.
    """
    x = as_numbers(x, "x")
    if not (isinstance(x, np.ndarray) or hasattr(x, "__array__")):
        given = np.array(x, dtype=object)
        return (
            given.astype(np.float64) if all(issubclass(kind, float) for kind in set(map(type, given.flat))) else given
        )
    given = np.asarray(x)
    if is_float(given.dtype):
        with np.errstate(invalid="ignore"):  # a signalling NaN
            return given.astype(np.float64)
    if given.dtype.kind in "iu":
        small = given.dtype.itemsize < 8 or bool(np.all((given >= -(1 << 53)) & (given <= 1 << 53)))
        return given.astype(np.float64 if small else object)
    if given.dtype == object:
        return given
    raise InputTypeError(f"x must hold real numbers of at most 64 bits, not {given.dtype.name}")


def exact(given: NDArray[Any]) -> ExactNumbers:
    """The numbers of an array from `numbers_of`, flattened.

    Raises TypeError for an object that is no real number.
    """
    if given.dtype == object:
        parts = [_parts(value) for value in given.flat]
        columns = zip(*parts, strict=True) if parts else [[]] * 5
        kinds = (np.bool_, np.int64, np.int64, np.bool_, np.bool_)
        return ExactNumbers(*(np.array(column, dtype=kind) for column, kind in zip(columns, kinds, strict=True)))
    values = given.ravel()
    nan, infinite = np.isnan(values), np.isinf(values)
    # frexp and ldexp move bits and never round.
    fraction, exp = np.frexp(np.where(nan | infinite, 0.0, np.abs(values)))
    sig = np.where(infinite, 1 << LAST, np.ldexp(fraction, SIG_BITS).astype(np.int64))
    exp = np.where(infinite, INFINITY_EXP, np.where(sig == 0, ZERO_EXP, exp.astype(np.int64) - 1))
    return ExactNumbers(np.signbit(values) & ~nan, sig, exp, infinite, nan)


@lru_cache(maxsize=64)
def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether float64 holds every value of a dtype: NumPy's floats, and those of ml_dtypes, by name."""
    name = dtype.name
    return name in {"float16", "float32", "float64", "bfloat16"} or name.startswith(("float8_", "float6_", "float4_"))


def _parts(value: Any) -> tuple[bool, int, int, bool, bool]:
    """One number's fields of `ExactNumbers`."""
    if isinstance(value, numbers.Rational) and not isinstance(value, bool):
        return _ratio(int(value.numerator), int(value.denominator), value < 0)
    if not (isinstance(value, float) or (isinstance(value, np.generic) and is_float(value.dtype))):
        raise InputTypeError(f"x must hold real numbers (floats, ints, Fractions), not {type(value).__name__}")
    value = float(value)
    if math.isnan(value):
        return False, 0, ZERO_EXP, False, True
    negative = math.copysign(1, value) < 0
    if math.isinf(value):
        return negative, 1 << LAST, INFINITY_EXP, True, False
    numerator, denominator = value.as_integer_ratio()
    return _ratio(numerator, denominator, negative)


def _ratio(numerator: int, denominator: int, negative: bool) -> tuple[bool, int, int, bool, bool]:
    """numerator / denominator as fields of `ExactNumbers`; denominator > 0."""
    numerator = abs(numerator)
    if numerator == 0:
        return negative, 0, ZERO_EXP, False, False
    exp = numerator.bit_length() - denominator.bit_length()
    if numerator << max(-exp, 0) < denominator << max(exp, 0):
        exp -= 1
    shift = LAST - exp
    sig, rest = divmod(numerator << max(shift, 0), denominator << max(-shift, 0))
    return negative, sig | (rest != 0), min(max(exp, ZERO_EXP + 1), INFINITY_EXP), False, False
