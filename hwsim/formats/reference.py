"""The codecs by their definition, on 64-bit integers, without tables; only long runs of random words are compiled."""

from __future__ import annotations

import math
import numbers
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar, assert_never

import numpy as np
from numpy.typing import NDArray

from hwsim.base.arrays import objects
from hwsim.base.errors import InputError, InputTypeError
from hwsim.formats.codes import Codes, codes_of, container_dtype, element
from hwsim.formats.kind import Kind
from hwsim.formats.rounding import (
    Bools,
    Draw,
    Ints,
    Missing,
    Overflow,
    Rounding,
    exact,
    is_float,
    numbers_of,
    round_fraction,
)
from hwsim.formats.stochastic import NAME as STOCHASTIC
from hwsim.formats.stochastic import Stochastic, checked_stochastic


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
    steps = round_fraction(Fraction(value) * Fraction(2) ** fmt.fraction_bits, rounding)
    return min(max(steps, -most), most - 1) & mask


class Choices(NamedTuple):
    """The settings of an encoder, checked against the format."""

    rounding: Rounding | Stochastic
    overflow: Overflow
    missing: Missing


def choices(
    fmt: Kind,
    rounding: str,
    overflow: str,
    missing: str,
    random_bits: int | None = None,
    seed: int | None = None,
    counter: int = 0,
) -> Choices:
    """`encode`'s arguments, checked; its errors."""
    named = isinstance(rounding, str) and isinstance(overflow, str) and isinstance(missing, str)
    # What is no name may have no hash, and is an error.
    how = (_named_choices if named else _named_choices.__wrapped__)(fmt, rounding, overflow, missing)
    if how is None:
        beyond, absent = _policies(fmt, overflow, missing)
        return Choices(checked_stochastic(fmt, random_bits, seed, counter), beyond, absent)
    if random_bits is not None or seed is not None or counter:
        raise InputError(f"random_bits, seed and counter are of rounding='{STOCHASTIC}', not of {str(rounding)!r}")
    return how


@lru_cache(maxsize=128)
def _named_choices(fmt: Kind, rounding: str, overflow: str, missing: str) -> Choices | None:
    """The choices of these names, which take a call longer to check than a thousand numbers to encode.

    None of stochastic rounding, which has more arguments.
    """
    beyond, absent = _policies(fmt, overflow, missing)
    if rounding == STOCHASTIC:
        return None
    if rounding not in list(Rounding):
        raise InputError(f"rounding must be one of {', '.join([*Rounding, STOCHASTIC])}, not {rounding!r}")
    return Choices(Rounding(rounding), beyond, absent)


def _policies(fmt: Kind, overflow: str, missing: str) -> tuple[Overflow, Missing]:
    beyond = _choice("overflow", Overflow, overflow, overflows(fmt), fmt)
    return beyond, _choice("missing", Missing, missing, _missings(fmt), fmt)


def decode_reference(fmt: Kind, codes: Any) -> NDArray[Any]:
    """`decode` to float64, or Fractions, by arithmetic on every code, without tables."""
    return values_of(fmt, codes_of(fmt, codes))


def values_of(fmt: Kind, codes: Codes) -> NDArray[Any]:
    """`decode_reference` for an array from `codes_of`. Every step is exact: values are float64s, or Fractions."""
    if not fmt.in_float64:
        return decode(fmt, codes)
    return np.asarray(fmt.values(codes.astype(np.int64) >> fmt.padding))


def encode_reference(
    fmt: Kind,
    x: Any,
    rounding: str = "rne",
    overflow: str = "saturate",
    missing: str = "error",
    *,
    random_bits: int | None = None,
    seed: int | None = None,
    counter: int = 0,
) -> Codes:
    """`encode` by the definition."""
    return codes_by(fmt, x, choices(fmt, rounding, overflow, missing, random_bits, seed, counter))


def codes_by(fmt: Kind, x: Any, how: Choices) -> Codes:
    """`encode_reference` with its arguments checked."""
    numbers = numbers_of(x)
    if not fmt.in_float64:
        return encode(fmt, numbers, how.rounding, how.missing)
    rounding = how.rounding.draw(numbers.size) if isinstance(how.rounding, Stochastic) else how.rounding
    return codes_drawn(fmt, numbers, rounding, how.overflow, how.missing)


def codes_drawn(
    fmt: Kind, given: NDArray[Any], rounding: Rounding | Draw, overflow: Overflow, missing: Missing
) -> Codes:
    """`encode_reference` of an array from `numbers_of`, with settings that were checked, and random words as given."""
    number = exact(given)
    codes, lacking = fmt.rounded(number, rounding, overflow)
    if lacking.any():
        if missing is Missing.ERROR:
            others = " or ".join(f"missing={name.value!r}" for name in _missings(fmt)[1:])
            raise InputError(
                f"{element('x', given, lacking.reshape(given.shape))}, for which {fmt.name} has no code; "
                f"{others} gives it one"
            )
        codes = np.where(lacking, _substitute(fmt, number.nan, missing), codes)
    return codes.astype(container_dtype(fmt)).reshape(given.shape)


def outcome(fmt: Kind, x: Any, rounding: Rounding, overflow: Overflow) -> tuple[Ints, Bools]:
    """The reference's codes, flattened, and which numbers are missing."""
    return fmt.rounded(exact(numbers_of(x)), rounding, overflow)


_Choice = TypeVar("_Choice", bound=StrEnum)


def _choice(key: str, kind: type[_Choice], name: str, allowed: tuple[_Choice, ...], fmt: Kind) -> _Choice:
    """The choice of a name. Raises ValueError, naming the choices that the format has."""
    if name in allowed:
        return kind(name)
    names = [member.value for member in kind]
    if name not in names:
        raise InputError(f"{key} must be one of {', '.join(names)}, not {name!r}")
    raise InputError(f"{key} must be one of {', '.join(allowed)} for {fmt.name}, not {str(name)!r}")


@lru_cache(maxsize=64)
def overflows(fmt: Kind) -> tuple[Overflow, ...]:
    """The overflow policies that a format has a code for."""
    return tuple(overflow for overflow in Overflow if _has_code(fmt, overflow))


def _has_code(fmt: Kind, overflow: Overflow) -> bool:
    match overflow:
        case Overflow.SATURATE | Overflow.PROPAGATE:
            return True
        case Overflow.INFINITY:
            return fmt.infinities
        case Overflow.NAN:
            return fmt.has_nan
        case Overflow.IEEE:
            return fmt.infinities or fmt.has_nan
        case _:
            assert_never(overflow)


@lru_cache(maxsize=64)
def _missings(fmt: Kind) -> tuple[Missing, ...]:
    return (Missing.ERROR, *[Missing.NAN] * fmt.has_nan, *[Missing.ZERO] * fmt.has_zero, Missing.SATURATE)


def _substitute(fmt: Kind, nan: Bools, missing: Missing) -> Ints:
    """The codes that replace missing numbers. nan: which of the numbers are NaN."""
    match missing:
        case Missing.NAN:
            return np.full(nan.shape, fmt.canonical_nan or 0, dtype=np.int64)
        case Missing.SATURATE:
            return np.where(nan, fmt.max_code, fmt.min_code)
        case Missing.ZERO | Missing.ERROR:
            return np.zeros(nan.shape, dtype=np.int64)
