"""Real numbers to codes and scales."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.base.arrays import as_numbers
from hwsim.base.errors import InputError, InputTypeError
from hwsim.formats import container_dtype
from hwsim.formats.codec import encode
from hwsim.formats.codes import element, refuse_masked
from hwsim.formats.reference import encode_reference
from hwsim.quantize import fast
from hwsim.quantize.quantized import Lengths, Quantized, axis_of, block_lengths, block_max, blocks_shape, spread
from hwsim.quantize.rule import Apply, Rule, Select, Special, TensorScale, get_rule, infinity_codes, nan_code
from hwsim.quantize.scales import (
    SINGLE_MAX,
    BlockScales,
    Floats,
    GivenScales,
    Singles,
    checked_given,
    quotient,
    scales_of,
    shifted,
    tensor_scale,
)

CHUNK = 1 << 15  # elements encoded at a time: what the codec makes of them stays in the cache
SINGLE_MIN_NORMAL = 2.0**-126
INFINITE_AMAX = 2.0**128  # what binary32's exponent field of an infinity would be worth
# dtypes of NumPy and of ml_dtypes whose numbers binary32 has.
NARROW = (
    "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e4m3",
    "float8_e3m4", "float8_e4m3b11fnuz", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn",
)  # fmt: skip


def quantize(
    x: Any,
    rule: str | Rule,
    axis: int = -1,
    *,
    scale: Any = None,
    second_scale: Any = None,
    tensor_amax: Any = None,
    random_bits: int | None = None,
    seed: int | None = None,
    counter: int = 0,
    **changes: Any,
) -> Quantized:
    """Codes and scales of real numbers.

    x: array of float64, float32, float16, or of bfloat16 or FP8 of ml_dtypes, of any shape with at least one axis; a
    tensor of PyTorch of these, whose gradients are not followed; or (nested) sequences of Python floats.
    rule: the name of a rule (`from hwsim.quantize import rules` lists them), or a `Rule`.
    axis: the axis that blocks run along: K, which is -1 of A (M, K) and 0 of B (K, N).
    scale: scales to use in place of the rule's, which elements are divided by: real numbers above 0, one or one a
    block; binary32 numbers where the rule divides in binary32.
    second_scale: the tensor's scale g, a binary32 number above 0, in place of the one that follows from x: of a rule
    with `tensor_scale`, as for activations whose scale is fixed. The factor G of the rule is then RNE(1 / g).
    tensor_amax: the largest magnitude that g follows from in place of x's own, above 0; not with `second_scale`.
    Larger numbers of x saturate.
    random_bits, seed, counter: of `rounding="stochastic"`, as `Format.encode` takes them; the i-th element, in C
    order, has the random bits at counter + i.
    changes: fields of the rule to change, as `block=(1, 16)` or `rounding="rna"`.

    Rules that divide or multiply in binary32 first round float64 numbers to it, to nearest even.
    Raises TypeError for another dtype; ValueError for an axis that is not there, for an unknown rule or field, naming
    the nearest, for fields that do not go together, and for NaN and infinities where the rule's policy is `error`.
    """
    chosen = get_rule(rule).replace(**changes) if changes else get_rule(rule)
    random = {"random_bits": random_bits, "seed": seed, "counter": counter}
    scales = checked_given(chosen, scale, second_scale, tensor_amax)
    return _quantize(x, chosen, axis, scales, random, compiled=True)


def quantize_reference(x: Any, rule: str | Rule, axis: int = -1, **options: Any) -> Quantized:
    """`quantize` step by step in NumPy, with the reference encoder: the compiled loops must return the same."""
    scales = [options.pop(key, None) for key in ("scale", "second_scale", "tensor_amax")]
    random = {key: options.pop(key, None) for key in ("random_bits", "seed")} | {"counter": options.pop("counter", 0)}
    chosen = get_rule(rule).replace(**options) if options else get_rule(rule)
    return _quantize(x, chosen, axis, checked_given(chosen, *scales), random, compiled=False)


def _quantize(
    x: Any, chosen: Rule, axis: int, callers: GivenScales, random: dict[str, Any], compiled: bool
) -> Quantized:
    array = real_numbers(x)
    along = axis_of(axis, array.ndim)
    lengths = block_lengths(array.shape, along, chosen.block)
    if chosen.apply is not Apply.EXACT and array.dtype != np.float32:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            array = array.astype(np.float32)
    quick = fast.Call(chosen, lengths, along, random) if compiled and fast.usable(array) else None
    if quick is not None and callers.scale is None and (both := quick.powers(array)) is not None:
        return Quantized(
            codes=both[0], scales=both[1], element=chosen.element, scale_format=chosen.scale_format, block=lengths,
            axis=along, tensor_scale=None, rule=chosen,
        )  # fmt: skip
    if chosen.flush:
        array = np.where(np.abs(array) < SINGLE_MIN_NORMAL, np.copysign(array.dtype.type(0), array), array)
    amax, special = _largest(chosen, array, lengths, quick)
    stored = None if callers.scale is None else callers.scales(blocks_shape(array.shape, lengths))
    block_scales, g = (
        _scales_and_tensor_scale(chosen, amax, callers)
        if stored is None
        else (BlockScales(np.where(np.isnan(amax), stored.dtype.type(np.nan), stored)), None)
    )
    result = Quantized(
        codes=np.zeros(array.shape, container_dtype(chosen.element)),
        scales=block_scales.stored, element=chosen.element,
        scale_format=chosen.scale_format if stored is None or chosen.apply is not Apply.EXACT else None, block=lengths,
        axis=along, tensor_scale=g, rule=chosen,
    )  # fmt: skip
    if array.size:
        usable = array if special is None else np.where(special, array.dtype.type(0), array)
        codes = None
        if quick is not None and chosen.apply is not Apply.EXACT:
            codes = quick.operands(usable, *_operands(result, block_scales.factor))
        if codes is not None:
            result.codes[...] = codes
        else:
            _fill(result, _scaled(result, usable, block_scales.factor).ravel(), random, compiled)
        _put_special(result, array, special)
    return result


def _scales_and_tensor_scale(rule: Rule, amax: Floats, callers: GivenScales) -> tuple[BlockScales, np.float32 | None]:
    """The scales of blocks, and the tensor's scale, where the rule has one."""
    whole = amax[~np.isnan(amax)]
    most = float(whole.max()) if whole.size else 0.0
    g, factor = tensor_scale(rule, most if callers.tensor_amax is None else callers.tensor_amax, callers.second_scale)
    return scales_of(rule, amax, factor), g if rule.tensor_scale is not TensorScale.NONE else None


def real_numbers(x: Any, name: str = "x") -> NDArray[Any]:
    """Real numbers as float32 or float64, exactly. Raises TypeError for others, ValueError for one number."""
    refuse_masked(x, name)
    numbers = as_numbers(x, name)
    try:
        array = np.asarray(numbers)
    except ValueError as error:  # rows of other lengths
        raise InputError(f"{name} must be an array: {error}") from None
    if array.dtype.name in NARROW:
        with np.errstate(invalid="ignore"):  # a signalling NaN
            array = array.astype(np.float32)  # which holds every one of their numbers
    if array.dtype.name not in ("float32", "float64"):
        raise InputTypeError(f"{name} must be floats of 64, 32 or 16 bits, bfloat16 or FP8, not {array.dtype.name}")
    if array.ndim == 0:
        raise InputError(f"{name} must have at least one axis")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _largest(
    rule: Rule, x: NDArray[Any], lengths: Lengths, quick: fast.Call | None
) -> tuple[Floats, NDArray[np.bool_] | None]:
    """amax of every block, NaN where the scale becomes NaN; and which elements are not finite, or None."""
    with np.errstate(invalid="ignore"):  # a signalling NaN
        amax = (block_max(np.abs(x), lengths) if quick is None else quick.largest(x)).astype(np.float64)
    if np.isfinite(amax).all():
        return amax, None
    nan, infinite = np.isnan(x), np.isinf(x)
    for policy, wrong in ((rule.nan, nan), (rule.infinity, infinite)):
        if policy is Special.ERROR and wrong.any():
            raise InputError(f"{element('x', x, wrong)}, which the rule refuses")
    left_out = nan & (rule.nan is not Special.BLOCK)
    if rule.infinity not in (Special.BLOCK, Special.AMAX):
        left_out |= infinite
    with np.errstate(invalid="ignore"):
        counted = np.where(left_out, x.dtype.type(0), np.abs(x))
        if rule.infinity is Special.AMAX:
            counted = np.where(infinite, INFINITE_AMAX, counted.astype(np.float64))
        amax = block_max(counted, lengths).astype(np.float64)
    return np.where(np.isfinite(amax), amax, np.nan), nan | infinite


def _fill(result: Quantized, values: NDArray[Any], random: dict[str, Any], compiled: bool) -> None:
    """Encode values, which are in units of their scales, into the result's codes."""
    rule, fmt = result.rule, result.element
    flat, put = result.codes.reshape(-1), encode if compiled else encode_reference
    drawn = {key: value for key, value in random.items() if value is not None and key != "counter"}
    for start in range(0, values.size, CHUNK):
        part = slice(start, start + CHUNK)
        place = {"counter": random["counter"] + start} if rule.rounding == "stochastic" else {}
        flat[part] = put(fmt, values[part], rule.rounding, rule.overflow, **drawn, **place)
    if fmt.twos_complement and rule.symmetric:
        least = fmt.max_code + 1
        flat[flat == least] = least + 1


def _put_special(result: Quantized, x: NDArray[Any], special: NDArray[np.bool_] | None) -> None:
    """Write the codes of NaNs and infinities, and of elements of blocks whose scale is NaN."""
    if special is not None:
        result.codes[np.isnan(x)] = nan_code(result.element)
        for infinity, code in zip((np.inf, -np.inf), infinity_codes(result.rule), strict=True):
            result.codes[x == infinity] = code
    dead = np.isnan(result.scale_values)
    if dead.any():
        result.codes[spread(dead, result.block, x.shape)] = nan_code(result.element)


def _operands(result: Quantized, factor: Singles | None) -> tuple[Singles, bool]:
    """Each block's operand, in binary32, and whether elements are multiplied by it (True) or divided.

    A block with scale 0 is divided by infinity or multiplied by 0: its elements become zeros, with their signs; unless
    the rule multiplies by the largest number there.
    """
    if factor is not None:
        return factor, True
    values, one = result.scale_values, np.float32(1)
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        divisor, g = values.astype(np.float32), result.tensor_scale
        if result.rule.apply is Apply.TENSOR_RECIPROCAL:
            one = one if g is None else np.minimum(one / g, SINGLE_MAX)
        elif g is not None:
            divisor = divisor * g
        nothing = divisor == 0
        divisor = np.where(np.isnan(divisor), np.float32(1), divisor)
        if result.rule.apply is Apply.DIVIDE:
            return np.where(nothing, np.float32(np.inf), divisor), False
        at_zero = SINGLE_MAX if result.rule.no_scale == "multiplied" else np.float32(0)
        return np.where(nothing, at_zero, np.minimum(one / divisor, SINGLE_MAX)), True


def _scaled(result: Quantized, x: NDArray[Any], factor: Singles | None) -> NDArray[Any]:
    """Elements in units of their scales, as the rule computes them."""
    if result.rule.apply is Apply.EXACT:
        values = result.scale_values
        return _exactly(result, x, np.where(np.isnan(values), 1.0, values))
    operands, multiply = _operands(result, factor)
    factors = spread(operands, result.block, x.shape)
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(x * factors if multiply else x / factors)


def _exactly(result: Quantized, x: NDArray[Any], values: Floats) -> NDArray[Any]:
    """x / scale: exact for a power of two, else a quotient that rounds as the exact quotient does."""
    nothing = values == 0
    values = np.where(nothing, 1.0, values)
    if result.scale_format is not None and result.rule.select is not Select.DIVIDE:
        if x.dtype == np.float32:
            # No product leaves float64: binary32 has exponents of -149 to 127, a scale's are within -149 and 127.
            scaled = x * spread(1.0 / values, result.block, x.shape)
        else:
            exp = 1 - np.frexp(values)[1]
            scaled = shifted(x, spread(exp, result.block, x.shape))
    else:
        scaled = quotient(x.astype(np.float64), np.asarray(spread(values, result.block, x.shape)))
    return _flushed(scaled, nothing, result, x)


def _flushed(scaled: NDArray[Any], nothing: NDArray[np.bool_], result: Quantized, x: NDArray[Any]) -> NDArray[Any]:
    """The elements, those of blocks with scale zero replaced by zeros with their signs."""
    if not nothing.any():
        return np.asarray(scaled)
    return np.where(spread(nothing, result.block, x.shape), np.copysign(x.dtype.type(0), x), scaled)
