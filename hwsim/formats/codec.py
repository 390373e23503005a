"""Codes to values and numbers to codes, by arrays. `fields.unpack` is the definition of a code, one at a time."""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hwsim.formats import fast
from hwsim.formats.codes import Codes, codes_of, container_dtype, element, fits_single, own_dtype
from hwsim.formats.exact import Exact, exact, numbers_of
from hwsim.formats.format import ExponentFormat, FixedFormat, FloatFormat, Format
from hwsim.formats.rounding import Bools, Ints, Rounding, compare_half, grows, split, split_bits
from hwsim.formats.stochastic import NAME as STOCHASTIC
from hwsim.formats.stochastic import Draw, draw, drawn


class Overflow(StrEnum):
    """What a number becomes that, rounded with an unbounded exponent, is beyond the largest; infinities too."""

    SATURATE = "saturate"
    INFINITY = "infinity"
    NAN = "nan"


class Missing(StrEnum):
    """What a number becomes that the format has nothing for: NaN, or a sign, or a zero that it lacks."""

    ERROR = "error"
    NAN = "nan"
    ZERO = "zero"
    SATURATE = "saturate"


def decode(fmt: Format, codes: Any, dtype: Any = np.float64) -> NDArray[Any]:
    """The exact value of every code, in the argument's shape (0-d for a scalar). NaNs and infinities are the dtype's.

    codes: as `codes_of` takes them; its errors. dtype: float64, or float32, half as long, for a format whose values
    are binary32 numbers.
    Raises TypeError for another dtype, ValueError for float32 where values do not fit.
    """
    kind = np.dtype(dtype)
    if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise TypeError(f"dtype must be float32 or float64, not {kind.name}")
    if kind.itemsize == 4 and not fits_single(fmt):
        raise ValueError(f"dtype must be float64 for {fmt.name}, which has values that float32 does not hold")
    checked = codes_of(fmt, codes)
    if fmt.container_bits > 16:
        return np.asarray(_wide(fmt, checked).astype(kind, copy=False))
    table = _table(fmt, kind)
    return fast.take(table, checked) if fast.worth(checked.size) else np.asarray(table[checked])


def decode_reference(fmt: Format, codes: Any) -> NDArray[np.float64]:
    """`decode` to float64 by arithmetic on every code, without tables."""
    return np.asarray(_values(fmt, codes_of(fmt, codes)))


@lru_cache(maxsize=64)
def _table(fmt: Format, kind: np.dtype[Any]) -> NDArray[Any]:
    return _values(fmt, np.arange(1 << fmt.container_bits, dtype=container_dtype(fmt))).astype(kind)


def _wide(fmt: Format, codes: Codes) -> NDArray[np.float64]:
    """Values of codes of more than 16 bits."""
    if own_dtype(fmt) != "float32":
        return _values(fmt, codes)
    with np.errstate(invalid="ignore"):  # a signalling NaN
        values = codes.view(np.float32).astype(np.float64)
    return np.where(np.isnan(values), np.nan, values)


def _values(fmt: Format, codes: Codes) -> NDArray[np.float64]:
    """`decode` by arithmetic. Every step is exact: a format's values are float64s."""
    code = codes.astype(np.int64) >> fmt.padding
    if isinstance(fmt, FixedFormat):
        return _scaled(code - (code >> (fmt.bits - 1) << fmt.bits), -fmt.fraction_bits)
    if isinstance(fmt, ExponentFormat):
        return np.where(np.isin(code, fmt.nan), np.nan, _scaled(1, code - fmt.bias))
    magnitude = code & (fmt.sign_bit - 1)
    bexp, frac = magnitude >> fmt.fraction_bits, magnitude & ((1 << fmt.fraction_bits) - 1)
    hidden = (bexp > 0) | (not fmt.subnormals) & (frac > 0)
    infinity = np.inf if fmt.infinity_magnitude is None else fmt.infinity_magnitude
    infinite = magnitude == infinity
    nan = magnitude > infinity if fmt.nan == "ieee" else np.isin(code, fmt.nan)
    exp = np.where(infinite | nan, 0, np.maximum(bexp, fmt.least_bexp) - fmt.bias - fmt.fraction_bits)
    value = np.where(infinite, np.inf, _scaled(frac + (hidden.astype(np.int64) << fmt.fraction_bits), exp))
    return np.where(nan, np.nan, np.where(code & fmt.sign_bit, -value, value))


def _scaled(sig: Ints | int, exp: Ints | int) -> NDArray[np.float64]:
    return np.asarray(np.ldexp(np.asarray(sig, dtype=np.float64), np.asarray(exp, dtype=np.intc)))


def encode(
    fmt: Format,
    x: Any,
    rounding: str = "rne",
    overflow: str = "saturate",
    missing: str = "error",
    *,
    random_bits: int | None = None,
    seed: int | None = None,
    counter: int = 0,
) -> Codes:
    """The code of every number, each rounded once from its exact value, as `container_dtype` in x's shape (0-d for
    a scalar).

    x: float16, float32, float64 or ml_dtypes floats, integers, Python numbers, Fractions, or (nested) sequences of
    them. Integers are numbers here, not codes.
    rounding: `rne`, `rna`, `rz`, `ru`, `rd`, `rto` (`Rounding`), or `stochastic`: the number, cut to random_bits below
    the last place, plus as many random bits there, and then cut to the last place; all of magnitudes.
    random_bits, seed, counter: of `stochastic`. The bits of the i-th number, in C order, are those of `random_words` at
    counter + i, so that an array in parts gives the same codes.
    overflow: judged after rounding with an unbounded exponent, in every rounding: `saturate` gives the largest
    number of the sign, for infinities too; `infinity` and `nan` give those, and infinities stay infinite in a format
    that has them. A fixed format can only saturate; its negative end is -2^(bits - 1).
    missing: what becomes of a number that the format has nothing for: a NaN (e3m2, e2m3, e2m1, mxint8), any negative
    number other than zero in an unsigned format, and in e8m0 zero and what rounds to less than its least number.
    `error` raises, `nan` gives the canonical NaN, `zero` gives code 0, `saturate` the largest number for a NaN and the
    smallest of an unsigned format for the others.

    A NaN gives the canonical NaN, without its sign. A zero, or what rounds to zero, keeps its sign where the format
    has a signed zero. In a format without subnormals the numbers next to zero are +-(1 + 2^-fraction_bits) * 2^-bias;
    `underflow` of the format says what lies between.
    Raises ValueError for a policy that does not exist or that asks the format for an infinity, a NaN or a zero that
    it lacks, whatever x is; for a missing number under `error`. TypeError for what is no real number.
    """
    beyond = _choice("overflow", Overflow, overflow, overflows(fmt), fmt)
    absent = _choice("missing", Missing, missing, _missings(fmt), fmt)
    if fast.takes(x):
        codes = fast.encode(fmt, x, _mode(fmt, rounding, random_bits, seed, counter), beyond, absent)
        if codes is not None:
            return codes
    return encode_reference(fmt, x, rounding, overflow, missing, random_bits=random_bits, seed=seed, counter=counter)


def encode_reference(
    fmt: Format,
    x: Any,
    rounding: str = "rne",
    overflow: str = "saturate",
    missing: str = "error",
    *,
    random_bits: int | None = None,
    seed: int | None = None,
    counter: int = 0,
) -> Codes:
    """`encode` by the definition, on 64-bit integers: no tables, nothing compiled but the random words."""
    beyond = _choice("overflow", Overflow, overflow, overflows(fmt), fmt)
    absent = _choice("missing", Missing, missing, _missings(fmt), fmt)
    given = numbers_of(x)
    number = exact(given)
    codes, lacking = _codes(fmt, number, _rounding(fmt, rounding, given.size, random_bits, seed, counter), beyond)
    if lacking.any():
        if absent is Missing.ERROR:
            others = " or ".join(f"missing={name.value!r}" for name in _missings(fmt)[1:])
            raise ValueError(
                f"{element('x', given, lacking.reshape(given.shape))}, for which {fmt.name} has no code; "
                f"{others} gives it one"
            )
        codes = np.where(lacking, _substitute(fmt, number, absent), codes)
    return codes.astype(container_dtype(fmt)).reshape(given.shape)


def outcome(fmt: Format, x: Any, rounding: Rounding, overflow: Overflow) -> tuple[Ints, Bools]:
    """The reference's codes, flattened, and which numbers are missing."""
    return _codes(fmt, exact(numbers_of(x)), rounding, overflow)


def _codes(fmt: Format, number: Exact, mode: Rounding | Draw, overflow: Overflow) -> tuple[Ints, Bools]:
    if isinstance(fmt, FloatFormat):
        return _float_codes(fmt, number, mode, overflow)
    if isinstance(fmt, FixedFormat):
        return _fixed_codes(fmt, number, mode)
    return _exponent_codes(fmt, number, mode, overflow)


def _mode(
    fmt: Format, name: str, random_bits: int | None, seed: int | None, counter: int
) -> Rounding | tuple[int, int, int]:
    """The rounding of that name, or what is drawn: random_bits, seed and counter, checked."""
    if name == STOCHASTIC:
        return drawn(fmt, random_bits, seed, counter)
    if name not in list(Rounding):
        raise ValueError(f"rounding must be one of {', '.join([*Rounding, STOCHASTIC])}, not {name!r}")
    if random_bits is not None or seed is not None or counter:
        raise ValueError(f"random_bits, seed and counter are of rounding='{STOCHASTIC}', not of {str(name)!r}")
    return Rounding(name)


def _rounding(
    fmt: Format, name: str, count: int, random_bits: int | None, seed: int | None, counter: int
) -> Rounding | Draw:
    """The rounding of that name, with its random words."""
    mode = _mode(fmt, name, random_bits, seed, counter)
    return draw(count, *mode) if isinstance(mode, tuple) else mode


_Choice = TypeVar("_Choice", bound=StrEnum)


def _choice(key: str, kind: type[_Choice], name: str, allowed: tuple[_Choice, ...], fmt: Format) -> _Choice:
    """The member of that name. Raises ValueError, naming the choices that the format has."""
    if name in allowed:
        return kind(name)
    known = [member.value for member in kind]
    if name not in known:
        raise ValueError(f"{key} must be one of {', '.join(known)}, not {name!r}")
    raise ValueError(f"{key} must be one of {', '.join(allowed)} for {fmt.name}, not {str(name)!r}")


@lru_cache(maxsize=64)
def overflows(fmt: Format) -> tuple[Overflow, ...]:
    """The policies that a format has."""
    if isinstance(fmt, FixedFormat):
        return (Overflow.SATURATE,)
    return (Overflow.SATURATE, *[Overflow.INFINITY] * fmt.infinities, *[Overflow.NAN] * fmt.has_nan)


@lru_cache(maxsize=64)
def _missings(fmt: Format) -> tuple[Missing, ...]:
    has_zero = not isinstance(fmt, ExponentFormat)
    return (Missing.ERROR, *[Missing.NAN] * fmt.has_nan, *[Missing.ZERO] * has_zero, Missing.SATURATE)


def _substitute(fmt: Format, x: Exact, missing: Missing) -> Ints:
    """The codes that stand for missing numbers."""
    code = np.zeros(x.sig.shape, dtype=np.int64)
    if missing is Missing.NAN and not isinstance(fmt, FixedFormat):
        code += fmt.canonical_nan or 0
    elif missing is Missing.SATURATE:
        if isinstance(fmt, ExponentFormat):
            return np.where(x.nan, fmt.max_code, fmt.min_code)
        largest = fmt.max_magnitude << fmt.padding if isinstance(fmt, FloatFormat) else (1 << fmt.bits - 1) - 1
        return np.where(x.nan, largest, 0)
    return code


def _cut(rounding: Rounding | Draw, sig: Ints, shift: Ints) -> tuple[Ints, Ints]:
    """What of a significand is kept, and what a rounding needs to know of the rest."""
    return split_bits(sig, shift, rounding.bits) if isinstance(rounding, Draw) else split(sig, shift)


def _grows(rounding: Rounding | Draw, rest: Ints, steps: Ints, negative: Bools) -> Bools:
    """Whether magnitudes go to the next larger code."""
    return rounding.grows(rest) if isinstance(rounding, Draw) else grows(rounding, rest, (steps & 1) == 1, negative)


def _float_codes(fmt: FloatFormat, x: Exact, rounding: Rounding | Draw, overflow: Overflow) -> tuple[Ints, Bools]:
    """Codes, and which numbers are missing. A magnitude that grows past its fraction carries into its exponent."""
    steps = _float_steps(fmt, x, rounding)
    over = steps > fmt.max_magnitude
    nan = x.nan
    if overflow is Overflow.SATURATE:
        steps = np.where(over, fmt.max_magnitude, steps)
    else:
        infinite = over if overflow is Overflow.INFINITY else x.infinite & fmt.infinities
        nan = nan | over & ~infinite
        steps = np.where(infinite, fmt.infinity_magnitude or 0, steps)
    signed = x.negative & ((steps != 0) | fmt.signed_zero)
    codes = (np.where(signed, fmt.sign_bit, 0) | steps) << fmt.padding
    lacking = np.zeros(nan.shape, dtype=bool) if fmt.has_nan else x.nan
    if not fmt.signed:
        lacking = lacking | x.negative & (x.sig != 0)
    return np.where(nan, fmt.canonical_nan or 0, codes), lacking


def _float_steps(fmt: FloatFormat, x: Exact, rounding: Rounding | Draw) -> Ints:
    """How many numbers up from zero each magnitude comes to stand, as if the exponent had no upper end."""
    exp = _binade(fmt, x)
    kept, rest = _cut(rounding, x.sig, 52 - fmt.fraction_bits + exp - x.exp)
    steps = ((exp - fmt.emin) << fmt.fraction_bits) + kept
    if fmt.subnormals:
        return steps + _grows(rounding, rest, steps, x.negative)
    # Fraction 0 of the lowest binade is zero, so the least number stands alone above it.
    steps = steps - (1 << fmt.fraction_bits)
    if fmt.underflow == "zero":
        return np.where(x.exp < fmt.emin, 0, steps + _grows(rounding, rest, steps, x.negative))
    tiny = ~_at_least(x, *_least(fmt))
    steps, rest = np.where(tiny, 0, steps), np.where(tiny, _of_least(fmt, x, rounding), rest)
    return steps + _grows(rounding, rest, steps, x.negative)


def _of_least(fmt: FloatFormat, x: Exact, rounding: Rounding | Draw) -> Ints:
    """What a rounding needs to know of magnitudes between zero and the least number, as a part of that."""
    sig, exp = _least(fmt)
    if not isinstance(rounding, Draw):
        half = _at_least(x, sig, exp - 1)
        return compare_half(x.sig != 0, half, half & ~((x.exp == exp - 1) & (x.sig == sig)))
    below = np.minimum(exp - x.exp, 54 + rounding.bits).tolist()
    parts = [(one << rounding.bits) // (sig << max(0, down)) for one, down in zip(x.sig.tolist(), below, strict=True)]
    return np.array([min(part, 1 << 33) for part in parts], dtype=np.int64)


def _binade(fmt: FloatFormat, x: Exact) -> Ints:
    """The exponent that sets a number's ulp: its own, or emin below the normal numbers."""
    return np.maximum(x.exp, fmt.emin)


def _least(fmt: FloatFormat) -> tuple[int, int]:
    """sig, as in `Exact`, and exponent of the least number of a format without subnormals."""
    if fmt.fraction_bits == 0:
        return 1 << 52, fmt.emin + 1
    return ((1 << fmt.fraction_bits) + 1) << (52 - fmt.fraction_bits), fmt.emin


def _at_least(x: Exact, sig: int, exp: int) -> Bools:
    answer: Bools = (x.exp > exp) | (x.exp == exp) & (x.sig >= sig)
    return answer


def _fixed_codes(fmt: FixedFormat, x: Exact, rounding: Rounding | Draw) -> tuple[Ints, Bools]:
    """Codes, and which numbers are missing."""
    # At a shift of 12 everything kept is 2^40 or more, beyond every end.
    kept, rest = _cut(rounding, x.sig, np.maximum(52 - fmt.fraction_bits - x.exp, 12))
    steps = kept + _grows(rounding, rest, kept, x.negative)
    steps = np.minimum(steps, np.where(x.negative, 1 << fmt.bits - 1, (1 << fmt.bits - 1) - 1))
    return np.where(x.negative, -steps, steps) & ((1 << fmt.bits) - 1), x.nan


def _exponent_codes(fmt: ExponentFormat, x: Exact, rounding: Rounding | Draw, overflow: Overflow) -> tuple[Ints, Bools]:
    """Codes, and which numbers are missing."""
    steps = x.exp + fmt.bias
    _, rest = _cut(rounding, x.sig, np.full(x.sig.shape, 52))
    steps = steps + _grows(rounding, rest, steps, x.negative)
    over = steps > fmt.max_code
    nan = x.nan | over if overflow is Overflow.NAN else x.nan
    codes = np.where(nan, fmt.canonical_nan or 0, np.minimum(steps, fmt.max_code))
    lacking = x.negative | (steps < fmt.min_code)
    return codes, lacking & ~x.nan if fmt.has_nan else lacking
