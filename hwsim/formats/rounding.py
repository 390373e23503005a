"""The choices of an encoding, and rounding on integers: the bits that are kept, and whether to add 1 to them."""

from __future__ import annotations

import math
import numbers
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from hwsim.base.arrays import as_numbers
from hwsim.base.errors import InputTypeError

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Rounding(StrEnum):
    """A choice between the two neighbouring codes of a number; a number with a code of its own keeps it.

    IEEE 754-2019, section 4.3, and round to odd (Boldo and Melquiond 2008), on codes: "even" and "odd" are the
    code's last bit. That is the significand's last bit, except where there is no fraction (e8m0).
    """

    RNE = "rne"  # nearest, ties to the even code
    RNA = "rna"  # nearest, ties away from zero
    RZ = "rz"  # towards zero
    RU = "ru"  # towards +infinity
    RD = "rd"  # towards -infinity
    RTO = "rto"  # to the odd code: jam


class Overflow(StrEnum):
    """The codes of infinities, and of numbers beyond the largest after rounding with an unbounded exponent.

    `ieee` is IEEE 754-2019, section 7.4, by `rounds_inward`, and P3109's OvfInf; `saturate` and `propagate` are P3109's
    SatFinite and SatPropagate (IEEE SA P3109 working group, interim report 3.2, Saturate).
    """

    SATURATE = "saturate"  # the largest number
    PROPAGATE = "propagate"  # the largest number; infinities stay, where there are any
    INFINITY = "infinity"  # infinity, in every rounding
    NAN = "nan"  # NaN; infinities stay, where there are any
    IEEE = "ieee"  # the largest number inward, and else infinity, or NaN where there is none; infinities are not finite


class Missing(StrEnum):
    """The substitute for a number that the format cannot represent: a NaN, a negative number or a zero."""

    ERROR = "error"
    NAN = "nan"
    ZERO = "zero"
    SATURATE = "saturate"


class Draw(NamedTuple):
    """Stochastic rounding: the number of random bits, and the word drawn for each number."""

    bits: int
    words: Ints


class Beyond(NamedTuple):
    """Flags of the numbers that become infinite and of those that become NaN.

    Any other number that is too large becomes the largest.
    """

    infinite: Bools
    nan: Bools


# The part cut off, against half of the last place kept.
NOTHING, BELOW_HALF, HALF, ABOVE_HALF = range(4)


def cut(rounding: Rounding | Draw, sig: Ints, shift: Ints) -> tuple[Ints, Ints]:
    """sig >> shift, and the bits shifted out, in the form that `grows` takes."""
    return split_bits(sig, shift, rounding.bits) if isinstance(rounding, Draw) else split(sig, shift)


def split(sig: Ints, shift: Ints) -> tuple[Ints, Ints]:
    """sig >> shift, and how the bits shifted out compare with half: NOTHING to ABOVE_HALF.

    sig in [0, 2^61); shift at least 1, and without an upper end.
    """
    shift = np.minimum(shift, 62)  # everything out, and less than half
    half = np.left_shift(1, shift - 1)
    out = sig & (2 * half - 1)
    return sig >> shift, compare_half(out > 0, out >= half, out > half)


def split_bits(sig: Ints, shift: Ints, bits: int) -> tuple[Ints, Ints]:
    """sig >> shift, and the highest `bits` of what is shifted out, as an integer; what is below them is dropped.

    sig in [0, 2^61); shift at least 1, and without an upper end; bits at most 32.
    """
    shift = np.minimum(shift, 62 + bits)  # everything out, and below the bits kept
    above = np.where(
        shift >= bits, sig >> np.minimum(np.maximum(shift - bits, 0), 63), sig << np.maximum(bits - shift, 0)
    )
    return sig >> np.minimum(shift, 63), above & ((1 << bits) - 1)


def compare_half(some: Bools, at_least_half: Bools, above_half: Bools) -> Ints:
    """NOTHING to ABOVE_HALF, from three comparisons of the part that is cut off."""
    return some.astype(np.int64) + at_least_half + above_half


def grows(rounding: Rounding | Draw, rest: Ints, steps: Ints, negative: Bools) -> Bools:
    """True for magnitudes that are rounded up, to the next larger code.

    rest: from `cut`. steps: the codes below the magnitudes, of which the last bit counts. negative: of the numbers.
    """
    odd, inexact = (steps & 1) == 1, rest != NOTHING
    match rounding:
        case Draw():  # the random bits, added to as many bits below the last place, carry into it
            up = rest + rounding.words >= 1 << rounding.bits
        case Rounding.RNE:
            up = (rest == ABOVE_HALF) | (rest == HALF) & odd
        case Rounding.RNA:
            up = rest >= HALF
        case Rounding.RZ:
            up = np.zeros(rest.shape, dtype=bool)
        case Rounding.RU:
            up = inexact & ~negative
        case Rounding.RD:
            up = inexact & negative
        case Rounding.RTO:
            up = inexact & ~odd
        case _:
            assert_never(rounding)
    return np.asarray(up)


def round_fraction(value: Fraction, rounding: Rounding) -> int:
    """An integer next to a number, by its magnitude."""
    size = abs(value)
    whole = size.numerator // size.denominator
    rest, half = size - whole, Fraction(1, 2)
    match rounding:
        case Rounding.RNE:
            up = rest > half or (rest == half and whole % 2 == 1)
        case Rounding.RNA:
            up = rest >= half
        case Rounding.RZ:
            up = False
        case Rounding.RU:
            up = rest > 0 and value > 0
        case Rounding.RD:
            up = rest > 0 and value < 0
        case Rounding.RTO:
            up = rest > 0 and whole % 2 == 0
        case _:
            assert_never(rounding)
    whole += up
    return -whole if value < 0 else whole


ONES, HALF_OF_ONES = (1 << 32) - 1, 1 << 31
# Of compiled loops: even, turn, flip. A magnitude goes up where its lost bits are above these.
COMPILED = {
    Rounding.RNE: (HALF_OF_ONES, ONES, 0),
    Rounding.RNA: (HALF_OF_ONES - 1, 0, 0),
    Rounding.RZ: (ONES, 0, 0),
    Rounding.RU: (0, 0, ONES),
    Rounding.RD: (ONES, 0, ONES),
    Rounding.RTO: (0, ONES, 0),
}


def rounds_inward(rounding: Rounding | Draw | None, negative: Bools, infinity: int | None) -> Bools:
    """True for the finite, too large numbers that `Overflow.IEEE` takes to the largest number, not to infinity.

    IEEE 754-2019, section 7.4: of directed roundings, those that do not lead to infinity's side. IEEE 754 has no
    rounding to odd: of the largest number and infinity it takes the one whose code is odd. In IEEE 754's formats that
    is the largest number (as in Boldo and Melquiond 2008, where no finite number becomes infinite); in P3109's it is
    what P3109's ToOdd takes: infinity in signed formats, the largest number in unsigned ones. Stochastic rounding (a
    Draw, or None) goes to infinity, as rounding to nearest does.
    infinity: its magnitude bits; None where there is none, and rounding to odd then does not stay inside.
    """
    match rounding:
        case Rounding.RZ:
            return np.ones(negative.shape, dtype=bool)
        case Rounding.RU:
            return negative
        case Rounding.RD:
            return ~negative
        case Rounding.RTO:
            return np.full(negative.shape, infinity is not None and infinity % 2 == 0)
        case Rounding.RNE | Rounding.RNA | Draw() | None:
            return np.zeros(negative.shape, dtype=bool)
        case _:
            assert_never(rounding)


def go_beyond(overflow: Overflow, over: Bools, infinite: Bools, inward: Bools, infinities: bool) -> Beyond:
    """Apply a policy that the format has to numbers that are too large.

    over: True for numbers that are too large, infinities among them. infinite: True for infinities.
    inward: `rounds_inward`. infinities: whether the format has any.
    """
    none = np.zeros(over.shape, dtype=bool)
    match overflow:
        case Overflow.SATURATE:
            return Beyond(none, none)
        case Overflow.PROPAGATE:
            return Beyond(infinite & infinities, none)
        case Overflow.INFINITY:
            return Beyond(over, none)
        case Overflow.NAN:
            return Beyond(infinite & infinities, over & ~(infinite & infinities))
        case Overflow.IEEE:
            outside = over & (infinite | ~inward)
            return Beyond(outside & infinities, outside & (not infinities))
        case _:
            assert_never(overflow)


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
        """True for magnitudes that are at least sig * 2^(exp - LAST); sig of SIG_BITS bits."""
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
        array = np.array(x, dtype=object)
        return (
            array.astype(np.float64) if all(issubclass(kind, float) for kind in set(map(type, array.flat))) else array
        )
    array = np.asarray(x)
    if is_float(array.dtype):
        with np.errstate(invalid="ignore"):  # a signalling NaN
            return array.astype(np.float64)
    if array.dtype.kind in "iu":
        small = array.dtype.itemsize < 8 or bool(np.all((array >= -(1 << 53)) & (array <= 1 << 53)))
        return array.astype(np.float64 if small else object)
    if array.dtype == object:
        return array
    raise InputTypeError(f"x must hold real numbers of at most 64 bits, not {array.dtype.name}")


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
    """True if float64 holds every value of a dtype: NumPy's floats, and those of ml_dtypes, by name."""
    name = dtype.name
    return name in {"float16", "float32", "float64", "bfloat16"} or name.startswith(("float8_", "float6_", "float4_"))


def _parts(value: Any) -> tuple[bool, int, int, bool, bool]:
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
