"""The scales of blocks: from their largest magnitudes, or given by the caller."""

from __future__ import annotations

from typing import Any, NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from hwsim.base.arrays import as_numbers
from hwsim.base.errors import InputError, InputTypeError
from hwsim.formats import container_dtype
from hwsim.formats.rounding import LAST, SIG_BITS, ExactNumbers, Ints, exact
from hwsim.quantize.rule import Apply, Rule, Select, TensorScale, is_f32, nan_code

Floats = NDArray[np.float64]

SPLITTER = 134217729.0  # 2^27 + 1, Veltkamp's for 53 bits
TINY, HUGE = 2.0**-1022, float(np.finfo(np.float64).max)


def shifted(x: Floats, exp: NDArray[np.integer]) -> Floats:
    """x * 2^exp, exact, or a stand-in that rounds to the same code.

    float64's largest number stands for results beyond it, its least normal number for results below its normal
    numbers: `encode` gives both the same code, in a format with numbers in between.
    """
    with np.errstate(over="ignore", under="ignore"):
        scaled = np.ldexp(x, exp.astype(np.intc))
    magnitude = np.abs(scaled)
    wrong = (np.isinf(magnitude) & ~np.isinf(x)) | ((magnitude < TINY) & (x != 0))
    if not wrong.any():
        return np.asarray(scaled)
    return np.where(wrong, np.copysign(np.where(magnitude > 1, HUGE, TINY), x), scaled)


def quotient(x: Floats, scale: Floats) -> Floats:
    """x / scale, rounded to odd at 53 bits; at 51 bits or fewer it rounds to what the exact quotient rounds to.

    scale: numbers above 0. Infinities and NaNs of x pass through. Ends of the range as in `shifted`.
    (Boldo and Melquiond 2008 for round to odd; Dekker 1971 for the exact product.)
    """
    finite = np.isfinite(x)
    top, exp = np.frexp(np.where(finite, x, 0.0))
    bottom, scale_exp = np.frexp(scale)
    near = np.asarray(top / bottom)
    product, error = _product(near, bottom)
    # The remainder of a rounded quotient is a float64, and so is every step to it.
    rest = (top - product) - error
    beyond = (rest != 0) & ((rest < 0) != (near < 0))
    cut = np.where(beyond, np.nextafter(near, 0.0), near)
    bits = cut.view(np.int64) | (rest != 0)
    return np.where(finite, shifted(bits.view(np.float64), exp - scale_exp), x)


def _product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """a * b as a float64, and its rounding error."""
    product = a * b
    a_high, b_high = _high(a), _high(b)
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _high(a: Floats) -> Floats:
    spread = SPLITTER * a
    return np.asarray(spread - (spread - a))


Singles = NDArray[np.float32]

SINGLE_MAX = np.finfo(np.float32).max


class BlockScales(NamedTuple):
    """The scales of blocks, in the blocks' shape.

    stored: codes, or float32 for scales in f32.
    factor: what elements are multiplied by under `apply: multiply`, binary32; None under other rules.
    """

    stored: NDArray[Any]
    factor: Singles | None = None


def scales_of(rule: Rule, amax: Floats, g: np.float32) -> BlockScales:
    """The scales of blocks. amax: their largest magnitudes, NaN where the scale becomes NaN. g: the tensor's scale."""
    amax = np.asarray(np.maximum(amax, rule.least_amax), dtype=np.float64)
    nan, zero = np.isnan(amax), amax == 0
    ordinary = np.where(nan | zero, 1.0, amax)
    if rule.select is Select.DIVIDE:
        return _divided(rule, ordinary, nan, zero, g)
    exp = power_exponents(rule, ordinary)
    least, most = exponent_range(rule)
    nan |= (exp > most) & (rule.huge_scale == "nan")
    exp = np.clip(exp, least, most)
    with np.errstate(over="ignore"):
        codes = rule.scale_format.encode(np.ldexp(1.0, exp.astype(np.intc))).astype(np.int64)
    return BlockScales(_stored(rule, codes, nan, zero))


def tensor_scale(rule: Rule, amax: float, g: np.float32 | None = None) -> tuple[np.float32, np.float32]:
    """g, and the factor that block scales are multiplied or divided by, as binary32 numbers; 1 for zeros and NaN.

    amax: of the whole tensor. g: the caller's, in place of what follows from amax.
    """
    one = np.float32(1)
    if g is not None:
        with np.errstate(over="ignore"):
            return g, g if rule.tensor_scale is TensorScale.DIVIDE else np.minimum(one / g, SINGLE_MAX)
    if rule.tensor_scale is TensorScale.NONE or amax == 0 or np.isnan(amax):
        return one, one
    span = np.float32(rule.scale_format.largest * rule.largest)
    with np.errstate(over="ignore", under="ignore"):
        if rule.tensor_scale is TensorScale.DIVIDE:
            g = np.maximum(np.float32(amax) / span, np.float32(2.0**-149))
            return g, g
        factor = np.minimum(span / np.float32(amax), SINGLE_MAX)
        return one / factor, factor


def power_exponents(rule: Rule, amax: Floats) -> Ints:
    """The exponents of power-of-two scales, without limits. amax: above 0, finite."""
    number = exact(amax)
    match rule.select:
        case Select.FLOOR:
            exp = number.exp - rule.emax
        case Select.CEIL:
            exp = _ceil(number) - rule.emax
        case Select.EVEN:  # the floor of the magnitude + half an ulp, that of an element in its binade
            exp = number.exp + (number.sig + (1 << LAST - 1 - rule.fraction_bits) >> SIG_BITS) - rule.emax
        case Select.RCEIL | Select.RCEIL_RECIPROCAL:
            with np.errstate(over="ignore", under="ignore"):
                single, largest = amax.astype(np.float32), np.float32(rule.largest)
                ratio = single / largest if rule.select is Select.RCEIL else single * (np.float32(1) / largest)
            exp = _ceil(exact(ratio.astype(np.float64)))
        case Select.DIVIDE:
            raise InputError("select 'divide' gives no powers of two")
        case _:
            assert_never(rule.select)
    return exp.reshape(amax.shape)


def _ceil(number: ExactNumbers) -> Ints:
    """ceil(log2(magnitude)), without taking a logarithm, which would round."""
    return np.asarray(number.exp + (number.sig != 1 << LAST))


def exponent_range(rule: Rule) -> tuple[int, int]:
    """Exponents of the least and the largest power of two that the scale format has; in f32, of normal numbers."""
    subnormal = rule.scale_format.fraction_bits if rule.scale_format.subnormals and not is_f32(rule.scale_format) else 0
    return rule.scale_format.emin - subnormal, rule.scale_format.emax


def _divided(
    rule: Rule, amax: Floats, nan: NDArray[np.bool_], zero: NDArray[np.bool_], factor: np.float32
) -> BlockScales:
    """Scales under `select: divide`: quotients, each step rounded to binary32."""
    with np.errstate(over="ignore", under="ignore"):
        single, largest = amax.astype(np.float32), np.float32(rule.largest)
        ratio: NDArray[Any] = single / largest
        multiplier: Singles | None = None
        if rule.apply is Apply.MULTIPLY:
            at_zero = np.float32(1) / np.float32(rule.zero_scale)
            multiplier = np.where(zero, at_zero, np.minimum(largest / single, SINGLE_MAX))
            ratio = np.float32(1) / multiplier
        if rule.tensor_scale is TensorScale.MULTIPLY:
            ratio = ratio * factor
        elif rule.tensor_scale is TensorScale.DIVIDE:
            ratio = ratio / factor
        elif rule.tensor_scale is TensorScale.RECIPROCAL:
            ratio = single * (factor * (np.float32(1) / largest))
    codes = rule.scale_format.encode(ratio).astype(np.int64)
    least = int(rule.scale_format.encode(rule.least_scale)) if is_f32(rule.scale_format) else int(rule.least_scale)
    return BlockScales(_stored(rule, np.maximum(codes, least), nan, zero), multiplier)


def _stored(rule: Rule, codes: Ints, nan: NDArray[np.bool_], zero: NDArray[np.bool_]) -> NDArray[Any]:
    """Scales as they are stored, with the codes for blocks of zeros and of NaN filled in."""
    at_zero = int(rule.scale_format.encode(rule.zero_scale)) if is_f32(rule.scale_format) else int(rule.zero_scale)
    codes = np.where(zero, at_zero, codes)
    codes = np.where(nan, nan_code(rule.scale_format), codes)  # there is none where the format has no NaN
    stored = codes.astype(container_dtype(rule.scale_format))
    return stored.view(np.float32) if is_f32(rule.scale_format) else stored


class GivenScales(NamedTuple):
    """Scales that a caller gave, checked; None where the rule decides.

    scale: scales of blocks, numbers above 0, which binary32 has where the rule divides in it.
    second_scale: the tensor's scale. tensor_amax: the magnitude that it follows from, above 0, finite.
    """

    scale: NDArray[Any] | None = None
    second_scale: np.float32 | None = None
    tensor_amax: float | None = None

    def scales(self, shape: tuple[int, ...]) -> NDArray[Any]:
        """The scales, one a block. Raises ValueError where they have another shape; there must be some."""
        scale = np.asarray(self.scale)
        try:
            return np.array(np.broadcast_to(scale, shape))
        except ValueError:
            raise InputError(f"scale must have the shape of the blocks, {shape}, not {scale.shape}") from None


def checked_given(rule: Rule, scale: Any, second_scale: Any, tensor_amax: Any) -> GivenScales:
    """A caller's scales, as `quantize` takes them. Raises TypeError and ValueError as it does."""
    for name, value in (("second_scale", second_scale), ("tensor_amax", tensor_amax)):
        if value is not None and rule.tensor_scale is TensorScale.NONE:
            raise InputError(f"{name} goes with a rule that has a tensor_scale; scale gives the scales of blocks")
        if value is not None and scale is not None:
            raise InputError(f"{name} must not be given with scale, which replaces it")
    if second_scale is not None and tensor_amax is not None:
        raise InputError("second_scale and tensor_amax must not both be given: each gives the tensor's scale")
    second = None if second_scale is None else _single("second_scale", second_scale)
    amax = None if tensor_amax is None else float(_single("tensor_amax", tensor_amax))
    return GivenScales(None if scale is None else _block_scales(rule, scale), second, amax)


def _block_scales(rule: Rule, scale: Any) -> NDArray[Any]:
    values = _numbers("scale", scale)
    if rule.apply is Apply.EXACT:
        return values
    with np.errstate(over="ignore", under="ignore"):
        single = values.astype(np.float32)
    if not is_f32(rule.scale_format) or (single != values).any():
        raise InputError(
            f"scale must be binary32 numbers under apply {rule.apply.value!r}, of a rule with scales in f32; "
            "apply='exact' takes any"
        )
    return single


def _numbers(name: str, value: Any) -> NDArray[np.float64]:
    array = np.asarray(as_numbers(value, name))
    if array.dtype.kind not in "fiu" or array.dtype.itemsize > 8:
        raise InputTypeError(f"{name} must be real numbers, not {array.dtype.name}")
    values = array.astype(np.float64)
    if not (np.isfinite(values) & (values > 0)).all():
        raise InputError(f"{name} must be finite numbers above 0")
    return values


def _single(name: str, value: Any) -> np.float32:
    values = _numbers(name, value)
    if values.size != 1:
        raise InputError(f"{name} must be one number, not {values.size}")
    with np.errstate(over="ignore", under="ignore"):
        single = np.float32(values.item())
    if float(single) != values.item():
        raise InputError(f"{name} must be a binary32 number, not {values.item()}: np.float32 rounds it")
    return single
