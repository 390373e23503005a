"""That hwsim quantises as exact rationals do, whatever the rule: what tests of rules and their mutants ask."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from quantize.quantize_witness import divided_block, mx_block, nvfp4, single

import hwsim
from hwsim.quantize import Rule, get_rule
from hwsim.quantize.convert import quantize_reference

LEAST_NORMAL = Fraction(1, 1 << 126)


def f32(*values: float) -> Any:
    return np.array(values, np.float32)


def exact(values: Any) -> list[Fraction]:
    return [Fraction(float(value)) for value in np.asarray(values).ravel()]


def normals(*shape: int, seed: int = 1) -> Any:
    """Binary32 numbers of 18 binades."""
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) * np.exp2(rng.integers(-9, 9, shape))).astype(np.float32)


def anywhere(count: int, length: int, seed: int, low: int = -149, high: int = 127) -> Any:
    """Blocks of binary32 numbers of like magnitudes, which are anywhere; some with amax next to a power of two."""
    rng = np.random.default_rng(seed)
    sig = rng.integers(1, 1 << 24, (count, length)).astype(np.float64)
    sig[::3, 0] = rng.choice(
        [2.0**23, 2.0**23 + 1, 2.0**24 - 1, 7 * 2.0**21, 7 * 2.0**21 + 1, 2.0**23 + 2**19], len(sig[::3])
    )
    exp = rng.integers(low, high - 23, (count, 1)) - rng.integers(0, 12, (count, length)) * (np.arange(length) > 0)
    sign = rng.choice([-1.0, 1.0], (count, length))
    return np.ldexp(sign * sig, exp).astype(np.float32)


def next_to_ties(rule: Any, x: Any) -> Any:
    """Rows, a block each, with numbers on or next to the ties of E2M1 under the scales that the rule gives them."""
    for _ in range(2):
        got = quantize_reference(x, rule)
        g = np.float32(1) if got.tensor_scale is None else got.tensor_scale
        x[:, 1:8] = got.scale_values.astype(np.float32) * g * f32(0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5)
    return x


def wanted(rule: Rule, blocks: list[list[Fraction]], given: Any) -> tuple[Fraction, list[Fraction], list[Any]]:
    """The tensor's scale, 1 where there is none, the blocks', and what elements stand for without their scales."""
    if rule.flush:
        blocks = [[x if abs(x) >= LEAST_NORMAL else Fraction(0) for x in block] for block in blocks]
    if rule.scale_format.name == "ue4m3":
        apply = "transformer-engine" if rule.no_scale == "multiplied" else str(rule.apply)
        second = None if given is None else Fraction(float(given))
        return nvfp4(blocks, str(rule.tensor_scale), apply, Fraction(int(rule.least_scale), 512), second)
    element, least = rule.element.name, single(Fraction(rule.least_amax))
    if rule.select == "divide":
        found = [divided_block(element, block, str(rule.apply), least) for block in blocks]
    else:
        found = [mx_block(element, block, str(rule.select), rule.rounding, least) for block in blocks]
    return Fraction(1), [scale for scale, _ in found], [elements for _, elements in found]


def check(x: Any, rule: str, axis: int = -1, given: Any = None, **changes: Any) -> None:
    """That scales, codes and numbers are those of exact rationals. given: the tensor's scale; changes: of the rule."""
    chosen = get_rule(rule).replace(**changes)
    size = block(chosen, x.shape, axis)
    cuts = cut(x.shape, size)
    g, scales, elements = wanted(chosen, [exact(x[place]) for _, place in cuts], given)
    whole = [[number * scale * g for number in numbers] for scale, numbers in zip(scales, elements, strict=True)]
    for quantize in (quantize_reference, hwsim.quantize):
        got = quantize(x, chosen, axis, second_scale=given)
        assert (got.block, got.scales.shape) == (size, tuple(np.array(cuts[-1][0]) + 1))
        assert Fraction(1 if got.tensor_scale is None else float(got.tensor_scale)) == g
        assert [Fraction(float(got.scale_values[index])) for index, _ in cuts] == scales
        values, numbers = got.element.decode(got.codes), got.dequantize()
        assert [exact(values[place]) for _, place in cuts] == elements
        assert [exact(numbers[place]) for _, place in cuts] == whole


def block(rule: Rule, shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """How many numbers share a scale, along each axis of an array."""
    across, along = rule.block
    sizes = list(shape) if across is None else [1] * len(shape)
    if across is not None and len(shape) > 1:
        sizes[-2 if axis in (-1, len(shape) - 1) else -1] = across
    sizes[axis] = shape[axis] if along is None else along
    return tuple(sizes)


def cut(shape: tuple[int, ...], size: tuple[int, ...]) -> list[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """Index of every block of an array, and the slices that cut it out."""
    counts = [-(-length // of) for length, of in zip(shape, size, strict=True)]
    return [
        (index, tuple(slice(at * of, (at + 1) * of) for at, of in zip(index, size, strict=True)))
        for index in np.ndindex(*counts)
    ]
