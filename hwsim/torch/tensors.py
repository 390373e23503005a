"""Factors of a recipe's products as codes and scales, on the tensors' own device; the bits are `products.coded`'s.

Nothing is read back from the device, which must have float64. What the host refuses with an error is flagged in a
tensor. Every division is of two tensors of the device: CUDA divides by a number of the host by multiplying by its
reciprocal, which rounds twice, and PyTorch does the same with a number that is divided by a tensor.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from hwsim.formats import ExponentFormat, Format
from hwsim.formats.blocks import BlockScale, one_code, scale_shape
from hwsim.formats.codes import fits_single
from hwsim.quantize import Apply, DelayedScaling, Rule, Select, Special, TensorScale
from hwsim.quantize.quantized import axis_of, block_lengths
from hwsim.quantize.rule import infinity_codes, is_f32, nan_code
from hwsim.quantize.scales import HUGE, SINGLE_MAX, SPLITTER, TINY, GivenScales, checked_given, exponent_range
from hwsim.spec import Unit
from hwsim.torch.codes import (
    DOUBLE,
    HIDDEN,
    INFINITY,
    MAGNITUDE,
    Target,
    container,
    decode,
    encode,
    power,
    random_words,
    refused_format,
    signed,
    target,
)
from hwsim.torch.products import RANDOM_BITS, FactorRule, Side, signs

RAISE = 64
TINY_BITS = 67 << 23  # of 2^-60: a block of smaller numbers is multiplied by 2^RAISE first, exactly
LEAST_EMIN, MOST_BINADES = -60, 60  # of elements that no binary32 subnormal counts for in other blocks


class TensorOperand(NamedTuple):
    """A factor of a product, as `MatrixOperand` has it, in tensors.

    codes, scales: of two and four bytes as signed integers; scales in f32 are float32. factor: what the result is to
    be multiplied by. refused: one bool, True where `coded` of the host raises InputError; None where it never does.
    """

    codes: Tensor
    scales: Tensor | None
    factor: Tensor | None = None
    refused: Tensor | None = None


class QuantizedTensor(NamedTuple):
    """Codes and scales, as `Quantized` has them. block: how many elements a block has along each axis.

    scales: float64 where the caller gave them to a rule that divides exactly. tensor_scale: one float32, or None.
    """

    codes: Tensor
    scales: Tensor
    block: tuple[int, ...]
    tensor_scale: Tensor | None
    refused: Tensor | None


def unsupported(operand: FactorRule) -> list[str]:
    """Why a factor's numbers become codes on the host alone; empty where they do on any device."""
    return unsupported_rule(operand.scaling.rule, operand.scaling.scale)


def unsupported_rule(rule: Rule, scale: float | None = None) -> list[str]:
    """Why `quantized` does not take a rule, with a fixed scale or its own; empty where it does."""
    reasons = [f"elements: {reason}" for reason in (refused_format(rule.element),) if reason]
    fmt = rule.scale_format
    if scale is not None:
        return reasons
    if isinstance(fmt, ExponentFormat):
        fits = fmt.emin >= -1022 and fmt.emax <= 1023
    else:
        fits = fmt.subnormals and fits_single(fmt)
    if not fits:
        reasons.append(f"scales: {fmt.name} has no subnormals, or numbers that binary32 has not")
    elif (rule.zero_scale if is_f32(fmt) else float(fmt.decode(int(rule.zero_scale)))) < 0:
        reasons.append("scales: that of a block of zeros is negative")
    return reasons


class Blocks(NamedTuple):
    """An array cut into blocks: each axis becomes two, of blocks and of what is in them; filled up with zeros."""

    shape: tuple[int, ...]
    counts: tuple[int, ...]
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, shape: tuple[int, ...], lengths: tuple[int, ...]) -> Blocks:
        """Blocks of these lengths; none is longer than its axis."""
        pairs = list(zip(shape, lengths, strict=True))
        return cls(shape, tuple(-(-n // size) for n, size in pairs), tuple(min(size, max(n, 1)) for n, size in pairs))

    def cut(self, x: Tensor) -> Tensor:
        """An array of this shape, cut."""
        missing = [count * size - n for n, count, size in zip(self.shape, self.counts, self.sizes, strict=True)]
        if any(missing):
            x = functional.pad(x, [width for more in reversed(missing) for width in (0, more)])
        return x.reshape([n for pair in zip(self.counts, self.sizes, strict=True) for n in pair])

    def joined(self, x: Tensor) -> Tensor:
        """The array again, without what it was filled up with."""
        whole = x.reshape([count * size for count, size in zip(self.counts, self.sizes, strict=True)])
        return whole[tuple(slice(n) for n in self.shape)].contiguous()

    def largest(self, x: Tensor) -> Tensor:
        """The largest number of each block, which stands for its elements' axes."""
        if not x.numel():
            return x.new_zeros([n for count in self.counts for n in (count, 1)])
        return x.amax(tuple(range(1, 2 * len(self.shape), 2)), keepdim=True)


class Scales(NamedTuple):
    """The scales of blocks. stored: codes, or numbers. values: float64. exp: int64, of powers of two; else None.

    factor: what elements are multiplied by under `apply: multiply`; else None.
    """

    stored: Tensor
    values: Tensor
    exp: Tensor | None = None
    factor: Tensor | None = None


def quantized(x: Tensor, rule: Rule, axis: int = -1, *, scale: float | None = None, seed: int = 0) -> QuantizedTensor:
    """Codes and scales of numbers, the bits of `hwsim.quantize`.

    x: of any float dtype, which is taken to binary32. rule: one without reasons in `unsupported_rule`. scale: in place
    of the rule's own. seed: of stochastic rounding, which has RANDOM_BITS random bits.
    """
    blocks, along = _blocks(tuple(x.shape), rule, axis)
    given = checked_given(rule, scale, None, None)
    to, words = _target(rule, x, seed)
    cut = blocks.cut(x.detach().to(torch.float32))
    bits = cut.view(torch.int32)
    if rule.flush:
        bits = torch.where((bits & MAGNITUDE) < HIDDEN, bits & ~MAGNITUDE, bits)
    magnitude = bits & MAGNITUDE
    maxima, refused = _counted(rule, magnitude, blocks)
    amax, g, factor = _amax(rule, maxima), None, None
    if given.scale is None:
        g, factor = _tensor_scale(rule, amax)
        scales = _scales(rule, amax, factor)
    else:
        scales = _given(given, amax)
    numbers = bits.view(torch.float32)
    if _apart(rule):
        numbers = numbers.masked_fill(magnitude >= INFINITY, 0.0)
    codes = _codes(rule, to, numbers, maxima, scales, g, None if words is None else blocks.cut(words))
    codes = _with_specials(rule, codes, bits, scales)
    stored = scales.stored.reshape(blocks.counts)
    lengths = block_lengths(tuple(x.shape), along, rule.block)
    return QuantizedTensor(blocks.joined(codes), stored, lengths, g, refused)


def _blocks(shape: tuple[int, ...], rule: Rule, axis: int) -> tuple[Blocks, int]:
    along = axis_of(axis, len(shape))
    return Blocks.of(shape, block_lengths(shape, along, rule.block)), along


def _target(rule: Rule, x: Tensor, seed: int) -> tuple[Target, Tensor | None]:
    """The element format and its rounding, and a random word for each number in the order of x, or None."""
    random_bits = RANDOM_BITS if rule.rounding == "stochastic" else 0
    to = target(rule.element, rule.rounding, rule.overflow, rule.symmetric, random_bits)
    words = random_words(seed, x.numel(), random_bits, x.device).reshape(x.shape) if random_bits else None
    return to, words


def _apart(rule: Rule) -> bool:
    """True if NaNs or infinities leave their block's scale a number."""
    return (rule.nan, rule.infinity) != (Special.BLOCK, Special.BLOCK)


def _counted(rule: Rule, magnitude: Tensor, blocks: Blocks) -> tuple[Tensor, Tensor | None]:
    """The bits of each block's largest magnitude, of numbers that count; and whether the rule refuses any number."""
    refused = None
    if rule.nan is not Special.BLOCK or rule.infinity not in (Special.BLOCK, Special.AMAX):
        nan, infinite = magnitude > INFINITY, magnitude == INFINITY
        for policy, wrong in ((rule.nan, nan), (rule.infinity, infinite)):
            if policy is Special.ERROR:
                refused = wrong.any() if refused is None else refused | wrong.any()
        if rule.nan is not Special.BLOCK:
            magnitude = magnitude.masked_fill(nan, 0)
        if rule.infinity not in (Special.BLOCK, Special.AMAX):
            magnitude = magnitude.masked_fill(infinite, 0)
    return blocks.largest(magnitude), refused


def _amax(rule: Rule, maxima: Tensor) -> Tensor:
    """The largest magnitudes of blocks, float64; NaN where the scale becomes NaN."""
    amax = maxima.view(torch.float32).double()
    counts = rule.infinity is Special.AMAX
    return amax.masked_fill(maxima == INFINITY, 2.0**128 if counts else torch.nan)


def _single(value: float, like: Tensor) -> Tensor:
    """A binary32 number on a tensor's device."""
    with np.errstate(over="ignore", under="ignore"):
        return torch.full((), float(np.float32(value)), dtype=torch.float32, device=like.device)


def _reciprocal(x: Tensor) -> Tensor:
    return torch.div(torch.ones_like(x), x)


def _limited(x: Tensor) -> Tensor:
    return x.clamp(max=float(SINGLE_MAX))


def _tensor_scale(rule: Rule, amax: Tensor) -> tuple[Tensor | None, Tensor | None]:
    """The tensor's scale g, and the factor that block scales are multiplied or divided by; None where there is none."""
    if rule.tensor_scale is TensorScale.NONE:
        return None, None
    whole = amax.nan_to_num(nan=0.0).amax().float() if amax.numel() else _single(0, amax)
    one, span = _single(1, amax), _single(rule.scale_format.largest * rule.largest, amax)
    if rule.tensor_scale is TensorScale.DIVIDE:
        g = torch.where(whole == 0, one, torch.div(whole, span).clamp(min=2.0**-149))
        return g, g
    factor = _limited(torch.div(span, whole))
    return torch.where(whole == 0, one, torch.div(one, factor)), torch.where(whole == 0, one, factor)


def _scales(rule: Rule, amax: Tensor, g: Tensor | None) -> Scales:
    """The scales of blocks. amax: NaN where the scale becomes NaN. g: `_tensor_scale`'s factor."""
    amax = amax.clamp(min=rule.least_amax)
    nan, zero = amax.isnan(), amax == 0
    ordinary = amax.masked_fill(nan | zero, 1.0)
    if rule.select is Select.DIVIDE:
        codes, factor = _divided(rule, ordinary, zero, g)
        return _filled(rule, codes, nan, zero)._replace(factor=factor)
    exp = _exponents(rule, ordinary)
    least, most = exponent_range(rule)
    if rule.huge_scale == "nan":
        nan = nan | (exp > most)
    exp = exp.clamp(least, most)
    fmt = rule.scale_format
    codes = exp + (fmt.min_code - fmt.emin) if isinstance(fmt, ExponentFormat) else encode(target(fmt), power(exp))
    return _filled(rule, codes, nan, zero)._replace(exp=exp)


def _exponents(rule: Rule, amax: Tensor) -> Tensor:
    """The exponents of power-of-two scales, without limits. amax: above 0, finite, or 2^128."""
    emax, carry = rule.emax, (1 << DOUBLE.fraction) - 1  # takes the exponent up but for a power of two
    match rule.select:
        case Select.FLOOR:
            add = 0
        case Select.CEIL:
            add = carry
        case Select.EVEN:
            add = 1 << DOUBLE.fraction - 1 - rule.fraction_bits
        case _:
            add, emax, single, largest = carry, 0, amax.float(), _single(rule.largest, amax)
            divides = rule.select is Select.RCEIL
            amax = (torch.div(single, largest) if divides else single * _reciprocal(largest)).double()
    return (amax.view(torch.int64) + add >> DOUBLE.fraction) - (DOUBLE.bias + emax)


def _divided(rule: Rule, amax: Tensor, zero: Tensor, g: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Codes of scales under `select: divide`, and what elements are multiplied by under `apply: multiply`."""
    single, largest = amax.float(), _single(rule.largest, amax)
    ratio, factor = torch.div(single, largest), None
    if rule.apply is Apply.MULTIPLY:
        with np.errstate(over="ignore", divide="ignore"):
            at_zero = float(np.float32(1) / np.float32(rule.zero_scale))
        factor = _limited(torch.div(largest, single)).masked_fill(zero, at_zero)
        ratio = _reciprocal(factor)
    if g is not None:
        match rule.tensor_scale:
            case TensorScale.MULTIPLY:
                ratio = ratio * g
            case TensorScale.DIVIDE:
                ratio = torch.div(ratio, g)
            case _:
                ratio = single * (g * _reciprocal(largest))
    codes = encode(target(rule.scale_format), ratio).long() & (1 << rule.scale_format.container_bits) - 1
    return codes.clamp(min=_constant(rule, rule.least_scale)), factor


def _constant(rule: Rule, scale: float) -> int:
    """The code of a scale that the rule names."""
    return int(rule.scale_format.encode(scale)) if is_f32(rule.scale_format) else int(scale)


def _filled(rule: Rule, codes: Tensor, nan: Tensor, zero: Tensor) -> Scales:
    """Scales as they are stored, with those of blocks of zeros and of NaN."""
    fmt = rule.scale_format
    codes = codes.to(container(fmt)).masked_fill(zero, signed(_constant(rule, rule.zero_scale), fmt))
    codes = codes.masked_fill(nan, signed(nan_code(fmt), fmt))
    if is_f32(fmt):
        stored = codes.view(torch.float32)
        return Scales(stored, stored.double())
    return Scales(codes, decode(fmt, codes))


def _given(given: GivenScales, amax: Tensor) -> Scales:
    assert given.scale is not None
    kind = torch.float32 if given.scale.dtype == np.float32 else torch.float64
    stored = torch.full_like(amax, float(given.scale), dtype=kind).masked_fill(amax.isnan(), torch.nan)
    return Scales(stored, stored.double())


def _codes(
    rule: Rule, to: Target, x: Tensor, maxima: Tensor, scales: Scales, g: Tensor | None, words: Tensor | None
) -> Tensor:
    """Codes of elements in units of their scales, as the rule computes them."""
    if rule.apply is not Apply.EXACT:
        operand, multiply = _operand(rule, scales, g)
        return encode(to, x * operand if multiply else torch.div(x, operand), None, words)
    if scales.exp is None:
        values = scales.values
        nothing = values == 0
        exact = _quotient(x.double(), values.masked_fill(nothing | values.isnan(), 1.0))
        return encode(to, torch.where(nothing, x.double() * 0.0, exact), None, words)
    down = scales.exp
    if not to.wide:
        if to.emin < LEAST_EMIN or to.emax - to.emin > MOST_BINADES or rule.scale_format.emax < 0:
            x = x.double()
        else:
            tiny = maxima < TINY_BITS
            x = x * torch.ones_like(maxima, dtype=torch.float32).masked_fill(tiny, 2.0**RAISE)
            down = down + RAISE * tiny
    return encode(to, x, down, words)


def _operand(rule: Rule, scales: Scales, g: Tensor | None) -> tuple[Tensor, bool]:
    """Each block's operand, in binary32, and whether elements are multiplied by it (True) or divided.

    Under a scale of 0 elements become zeros, or are multiplied by the largest number.
    """
    if scales.factor is not None:
        return scales.factor, True
    divisor = scales.values.float()
    one = torch.ones_like(divisor)
    if rule.apply is Apply.TENSOR_RECIPROCAL:
        one = one if g is None else _limited(torch.div(one, g))
    elif g is not None:
        divisor = divisor * g
    nothing = divisor == 0
    divisor = divisor.masked_fill(divisor.isnan(), 1.0)
    if rule.apply is Apply.DIVIDE:
        return divisor.masked_fill(nothing, torch.inf), False
    at_zero = float(SINGLE_MAX) if rule.no_scale == "multiplied" else 0.0
    return _limited(torch.div(one, divisor)).masked_fill(nothing, at_zero), True


def _quotient(x: Tensor, scale: Tensor) -> Tensor:
    """x / scale, rounded to odd at 53 bits: `hwsim.quantize.scales.quotient`."""
    top, exp = torch.frexp(x)
    bottom, scale_exp = torch.frexp(scale)
    near = torch.div(top, bottom)
    product = near * bottom
    near_high, bottom_high = _high(near), _high(bottom)
    near_low, bottom_low = near - near_high, bottom - bottom_high
    error = (near_high * bottom_high - product) + near_high * bottom_low + near_low * bottom_high
    rest = (top - product) - (error + near_low * bottom_low)
    beyond = (rest != 0) & ((rest < 0) != (near < 0))
    bits = near.view(torch.int64) - beyond.long() | (rest != 0).long()  # the next towards zero, jammed
    return _shifted(bits, (exp - scale_exp).long()).masked_fill(near == 0, 0.0).copysign(near)


def _high(a: Tensor) -> Tensor:
    spread = a * SPLITTER
    return spread - (spread - a)


def _shifted(bits: Tensor, exp: Tensor) -> Tensor:
    """A normal number's bits times 2^exp; ends of the range as in `hwsim.quantize.scales.shifted`."""
    biased = (bits >> DOUBLE.fraction & 0x7FF) + exp
    moved = (bits + (exp << DOUBLE.fraction)).view(torch.float64)
    return moved.masked_fill(biased > 2046, HUGE).masked_fill(biased < 1, TINY)


def _with_specials(rule: Rule, codes: Tensor, bits: Tensor, scales: Scales) -> Tensor:
    """Codes with those of NaNs, of infinities, and of elements of blocks whose scale is NaN."""
    fmt = rule.element
    nan = signed(nan_code(fmt), fmt)
    if _apart(rule):
        plus, minus = (signed(code, fmt) for code in infinity_codes(rule))
        codes = codes.masked_fill((bits & MAGNITUDE) > INFINITY, nan)
        codes = codes.masked_fill(bits == INFINITY, plus).masked_fill(bits == INFINITY - (1 << 31), minus)
    return codes.masked_fill(scales.values.isnan(), nan)


def coded(operand: FactorRule, unit: Unit, side: Side, x: Tensor, seed: int) -> TensorOperand:
    """A factor ready for a product, by a rule that knows these numbers alone: `hwsim.torch.products.coded`.

    operand: one without reasons in `unsupported`. x: (..., M, K) of side a, (..., K, N) of b, of any float dtype.
    seed: of stochastic rounding.
    """
    scaling = operand.scaling
    rule = scaling.rule
    if operand.direct:
        to, words = _target(rule, x, seed)
        numbers = x.detach().to(torch.float32)
        codes = encode(to, numbers, None, words)
        refused = None if rule.element.has_nan else numbers.isnan().any()
        return TensorOperand(codes, _ones(unit, side, x), None, refused)
    result = quantized(x, rule, -1 if side == "a" else -2, scale=scaling.scale, seed=seed)
    if scaling.enters:
        g = result.tensor_scale
        scales = _repeated(operand, result, tuple(x.shape))
        return TensorOperand(result.codes, scales, None if g is None else g.reshape(1, 1), result.refused)
    factor = result.scales.float()
    factor = factor.reshape(1, 1) if factor.numel() == 1 else factor
    return TensorOperand(result.codes, _ones(unit, side, x), factor, result.refused)


def _ones(unit: Unit, side: Side, x: Tensor) -> Tensor | None:
    """Scales of 1 for a unit that takes scales: `scales_of_one`."""
    if unit.scale is None:
        return None
    scale: BlockScale = unit.scale.of(side)
    size = (*x.shape[:-2], *scale_shape(x.shape[-2], x.shape[-1], scale.block))
    if is_f32(scale.format):
        return torch.ones(size, dtype=torch.float32, device=x.device)
    one = signed(one_code(scale.format), scale.format)
    return torch.full(size, one, dtype=container(scale.format), device=x.device)


def _repeated(operand: FactorRule, result: QuantizedTensor, shape: tuple[int, ...]) -> Tensor:
    """Scales of the unit's blocks: each as often as its block has some of these."""
    scales = result.scales
    if operand.block is None:
        return scales
    for axis, length, size in zip((-2, -1), result.block[-2:], operand.block, strict=True):
        if length != size:
            after = axis % scales.dim() + 1
            several = scales.unsqueeze(after).expand(*scales.shape[:after], length // size, *scales.shape[after:])
            scales = several.flatten(after - 1, after).narrow(axis, 0, -(-shape[axis] // size))
    return scales.contiguous()


class ScaleHistory(NamedTuple):
    """The state of delayed scaling on a device: the factor, one float32, and the magnitudes, float32[length]."""

    factor: Tensor
    magnitudes: Tensor

    @classmethod
    def of(cls, state: DelayedScaling, device: torch.device) -> ScaleHistory:
        """A state of the host."""
        return cls(
            torch.tensor(state.factor, dtype=torch.float32, device=device),
            torch.tensor(state.history, dtype=torch.float32, device=device),
        )

    def to(self, device: torch.device) -> ScaleHistory:
        """The state on another device."""
        return ScaleHistory(self.factor.to(device), self.magnitudes.to(device))

    def read(self) -> tuple[float, tuple[float, ...]]:
        """The factor and the history as `DelayedScaling` has them, copied to the host."""
        return float(self.factor), tuple(self.magnitudes.tolist())

    def updated(self, rule: DelayedScaling, amax: Tensor) -> ScaleHistory:
        """`DelayedScaling.update` of kernel `fused`."""
        first, rest = torch.maximum(self.magnitudes[:1], amax), self.magnitudes[1:]
        history = torch.cat([first, rest])
        seen = (history.nan_to_num(nan=0.0, posinf=torch.inf) if rule.algorithm == "max" else first).amax()
        largest = _single(float(np.float32(rule.format.largest) * np.float32(2.0**-rule.margin)), seen)
        factor = torch.where((seen > 0) & seen.isfinite(), _limited(torch.div(largest, seen)), self.factor)
        rolled = torch.cat([torch.zeros_like(first), rest[1:], *([first] if len(history) > 1 else [])])
        zero = first == 0
        return ScaleHistory(torch.where(zero[0], self.factor, factor), torch.where(zero, self.magnitudes, rolled))


def delayed(operand: FactorRule, x: Tensor, state: ScaleHistory) -> tuple[TensorOperand, ScaleHistory]:
    """Codes under the scale that earlier numbers left, and the state updated with these: `Histories.codes`.

    operand: one with a history.
    """
    rule = operand.history
    assert rule is not None
    numbers = x.detach().to(torch.float32)
    codes = encode(target(rule.format), numbers * state.factor)
    largest = (numbers.view(torch.int32) & MAGNITUDE).amax() if x.numel() else _single(0, x).view(torch.int32)
    refused = None if rule.format.has_nan else numbers.isnan().any()
    scale = _reciprocal(state.factor).reshape(1, 1)
    return TensorOperand(codes, None, scale, refused), state.updated(rule, largest.view(torch.float32))


def transformed(x: Tensor, axis: int, size: int, seed: int) -> Tensor:
    """The Hadamard transform of runs of numbers along an axis: `hwsim.torch.products.transformed`."""
    along = x.detach().to(torch.float32).movedim(axis, -1)
    runs = along.reshape(-1, size) * _signs(size, seed, x.device)
    half = 1
    while half < size:
        pairs = runs.reshape(len(runs), -1, 2, half)
        runs = torch.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], dim=2)
        half *= 2
    scaled: Tensor = runs.reshape(along.shape) * size**-0.5
    return scaled.movedim(-1, axis)


@lru_cache(maxsize=16)
def _signs(size: int, seed: int, device: torch.device) -> Tensor:
    return torch.tensor(signs(size, seed).tolist(), dtype=torch.float32, device=device)


def dequantized(rule: Rule, codes: Tensor, scales: Tensor, axis: int = -1) -> Tensor:
    """The numbers of codes and scales of a rule without a tensor's scale, in float32: `Quantized.dequantize`."""
    blocks, _ = _blocks(tuple(codes.shape), rule, axis)
    fmt: Format = rule.scale_format
    values = scales.double() if is_f32(fmt) else decode(fmt, scales)
    each = values.reshape([n for count in blocks.counts for n in (count, 1)])
    return blocks.joined((decode(rule.element, blocks.cut(codes)) * each).float())
