"""The scales of blocks, from their largest magnitudes."""

from __future__ import annotations

from typing import Any, NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from hwsim.errors import InputError
from hwsim.formats import container_dtype
from hwsim.formats.exact import LAST, SIG_BITS, ExactNumbers, exact
from hwsim.formats.rounding import Ints
from hwsim.quantize.division import Floats
from hwsim.quantize.rule import Apply, Rule, Select, TensorScale, is_f32
from hwsim.quantize.special import nan_code

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
    least, most = _exponent_range(rule)
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


def _exponent_range(rule: Rule) -> tuple[int, int]:
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
