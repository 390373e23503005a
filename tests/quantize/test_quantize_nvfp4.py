"""NVFP4 as each publication and version has it, against exact rationals."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from built_presets import others_slow
from quantize.quantize_witness import nvfp4

import hwsim
from hwsim.quantize.convert import quantize_reference


def normals(*shape: int, seed: int = 1) -> Any:
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) * np.exp2(rng.integers(-9, 9, shape))).astype(np.float32)


def exact(values: Any) -> list[Fraction]:
    return [Fraction(float(value)) for value in np.asarray(values).ravel()]


RULES = {
    "nvfp4": ("multiply", "divide", 0), "nvfp4-block": ("none", "divide", 0), "nvfp4-torchao": ("divide", "divide", 8),
    "nvfp4-torchao-0.17": ("divide", "tensor-reciprocal", 8), "nvfp4-block-torchao": ("none", "divide", 8),
    "nvfp4-block-torchao-0.17": ("none", "reciprocal", 8),
    "nvfp4-transformer-engine": ("reciprocal", "transformer-engine", 0),
}  # fmt: skip
WITH_SECOND = [rule for rule, (second, _, _) in RULES.items() if second != "none"]


def check(x: Any, rule: str, given: Any = None) -> None:
    """That a rule's scales, codes and numbers are those of exact rationals. given: the tensor's scale."""
    got = quantize_reference(x, rule, second_scale=given)
    compiled = hwsim.quantize(x, rule, second_scale=given)
    assert np.array_equal(got.codes, compiled.codes) and np.array_equal(got.scales, compiled.scales)
    second, apply, least = RULES[rule]
    exact_given = None if given is None else Fraction(float(given))
    g, scales, elements = nvfp4(
        [exact(row) for row in x.reshape(-1, 16)], second, apply, Fraction(least, 512), exact_given
    )
    assert Fraction(1 if got.tensor_scale is None else float(got.tensor_scale)) == g
    assert exact(got.scale_values) == scales
    assert exact(got.element.decode(got.codes)) == [number for block in elements for number in block]
    whole = [number * scale * g for scale, block in zip(scales, elements, strict=True) for number in block]
    assert exact(got.dequantize()) == whole


def next_to_ties(rule: str, count: int, seed: int) -> Any:
    """Blocks with numbers on or next to the ties of E2M1, under the scales that the rule gives them."""
    x = normals(count, 16, seed=seed)
    for _ in range(2):
        got = quantize_reference(x, rule)
        g = np.float32(1) if got.tensor_scale is None else got.tensor_scale
        whole = got.scale_values.astype(np.float32) * g
        x[:, 1:8] = whole * np.float32([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5])
    return x


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", others_slow(range(12), (0, 7)))
def test_nvfp4_agrees_with_exact_rationals(rule: str, seed: int) -> None:
    check(normals(5, 48, seed=seed) * np.float32(2.0 ** (seed - 6)), rule)


@pytest.mark.parametrize("rule", RULES)
def test_numbers_next_to_ties_agree_with_exact_rationals(rule: str) -> None:
    check(next_to_ties(rule, 40, 1), rule)


@pytest.mark.parametrize("rule", WITH_SECOND)
@pytest.mark.parametrize("given", [0.01, 1.0, 3e-5])
def test_a_tensors_scale_of_ones_own_agrees_with_exact_rationals(rule: str, given: float) -> None:
    check(normals(20, 16, seed=3), rule, np.float32(given))


def test_versions_of_peers_differ() -> None:
    # What tells each rule from the one that it is mistaken for: a change of either would be seen.
    pairs = {
        "nvfp4-torchao": "nvfp4-torchao-0.17", "nvfp4-block-torchao": "nvfp4-block-torchao-0.17",
        "nvfp4": "nvfp4-transformer-engine",
    }  # fmt: skip
    for one, other in pairs.items():
        x = next_to_ties(one, 4000, 2)
        assert (hwsim.quantize(x, one).codes != hwsim.quantize(x, other).codes).any()


def test_transformer_engines_scale_is_amax_times_a_rounded_product() -> None:
    # Next to ties of UE4M3, under g = 1: RNE(amax / 6) and RNE(amax * RNE(1 / 6)) are on other sides of some.
    ties = 6 * (1 + (2 * np.arange(8, dtype=np.float32) + 1) / np.float32(16))
    x = np.concatenate([(ties.view(np.uint32) + step).view(np.float32) for step in np.arange(-3, 4)]).reshape(-1, 1)
    ways = ("multiply", "reciprocal")
    scales = [quantize_reference(x, "nvfp4", tensor_scale=way, second_scale=1).scales for way in ways]
    assert (scales[0] != scales[1]).any()
    check(np.repeat(x, 16, axis=1), "nvfp4-transformer-engine", 1)


def test_transformer_engine_multiplies_by_the_largest_number_where_the_scale_is_0() -> None:
    x = np.array([1.0] + [0] * 15 + [2.0**-30, -(2.0**-30), 1e-45] + [0] * 13, np.float32)
    got = hwsim.quantize(x, "nvfp4-transformer-engine")
    assert got.scales.tolist() == [0x7E, 0x00]
    assert got.codes[16:20].tolist() == [0x7, 0xF, 0x0, 0x0]
    check(x.reshape(2, 16), "nvfp4-transformer-engine")


def test_an_amax_of_ones_own_gives_the_tensors_scale() -> None:
    x = normals(4, 32, seed=1)
    for rule in WITH_SECOND:
        own = hwsim.quantize(x, rule)
        same = hwsim.quantize(x, rule, tensor_amax=np.abs(x).max())
        assert np.array_equal(own.codes, same.codes) and own.tensor_scale == same.tensor_scale
        twice = hwsim.quantize(x, rule, tensor_amax=2 * np.abs(x).max())
        assert twice.tensor_scale == 2 * own.tensor_scale
    # Numbers above the magnitude that was expected: the scale of the block and its elements are the largest.
    beyond = hwsim.quantize(np.float32([8, 1, -8]), "nvfp4", tensor_amax=1)
    assert (beyond.scales.tolist(), beyond.codes.tolist()) == ([0x7E], [0x7, 0x7, 0xF])


@pytest.mark.parametrize(
    ("rule", "given", "words"),
    [
        ("nvfp4", {"second_scale": 0.0}, "second_scale must be finite numbers above 0"),
        ("nvfp4", {"second_scale": -1.0}, "second_scale must be finite numbers above 0"),
        ("nvfp4", {"second_scale": np.inf}, "second_scale must be finite numbers above 0"),
        ("nvfp4", {"second_scale": 0.1}, "second_scale must be a binary32 number, not 0.1"),
        ("nvfp4", {"second_scale": [1.0, 2.0]}, "second_scale must be one number, not 2"),
        ("nvfp4", {"second_scale": "1"}, "second_scale must be real numbers"),
        ("nvfp4", {"tensor_amax": 0}, "tensor_amax must be finite numbers above 0"),
        ("nvfp4", {"tensor_amax": 1, "second_scale": 1}, "second_scale and tensor_amax must not both be given"),
        ("nvfp4-block", {"second_scale": 1}, "second_scale goes with a rule that has a tensor_scale"),
        ("mxfp4-e2m1", {"tensor_amax": 1}, "tensor_amax goes with a rule that has a tensor_scale"),
        ("nvfp4", {"tensor_amax": 1, "scale": 1.0}, "tensor_amax must not be given with scale"),
        ("nvfp4", {"no_scale": "multiplied"}, "no_scale 'multiplied' goes with apply 'reciprocal'"),
        ("nvfp4", {"no_scale": "one"}, "no_scale must be zeros or multiplied"),
    ],
)
def test_a_tensors_scale_that_is_refused(rule: str, given: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError if given.get("second_scale") == "1" else ValueError, match=words):
        hwsim.quantize(np.ones(16, np.float32), rule, **given)


def test_nvfp4_scale_is_amax_over_6_and_a_subnormal_scale_is_kept() -> None:
    got = hwsim.quantize(np.array([6, 3, 0.5, 0], np.float32), "nvfp4-block")
    assert (got.scales.tolist(), got.dequantize().tolist()) == ([0x38], [6, 3, 0.5, 0])
    x = np.array([6 * 2.0**-9, 2.0**-9], np.float32)
    small = hwsim.quantize(x, "nvfp4-block")
    assert (small.scales.tolist(), small.dequantize().tolist()) == ([0x01], x.tolist())
    # Raised to the least normal number, 2^-6, as torchao does, the scale loses the second element.
    assert hwsim.quantize(x, "nvfp4-block", least_scale=0x08).dequantize().tolist() == [2.0**-6 * 0.5 * 1.0 * 2, 0]


def test_nvfp4_of_zeros() -> None:
    for rule, code in (("nvfp4", 0x00), ("nvfp4-block", 0x00), ("nvfp4-torchao", 0x08)):
        got = hwsim.quantize(np.array([0, -0.0], np.float32), rule)
        assert got.scales.tolist() == [code] and got.codes.tolist() == [0x0, 0x8]
        assert got.tensor_scale is None or got.tensor_scale == 1


def test_nvfp4_blocks_whose_scale_rounds_to_zero_are_zeros() -> None:
    x = np.array([1.0] + [0] * 15 + [2.0**-30, -(2.0**-30)] + [0] * 14, np.float32)
    got = hwsim.quantize(x, "nvfp4")
    assert got.scales.tolist() == [0x7E, 0x00]
    assert got.codes[16:18].tolist() == [0x0, 0x8]
    assert hwsim.quantize(x, "nvfp4", least_scale=0x01).scales.tolist() == [0x7E, 0x01]


def test_nvfp4_division_is_not_multiplication_by_a_reciprocal() -> None:
    x = np.random.default_rng(2).standard_normal((4000, 16)).astype(np.float32)
    # x / scale on or next to a tie, where x * (1 / scale) is on its other side.
    x[:, 1] = np.abs(x[:, 0]) / np.float32(6) * np.float32(2.5)
    divided = hwsim.quantize(x, "nvfp4")
    whole = divided.scale_values[:, 0].astype(np.float32) * divided.tensor_scale
    x[:, 1] = whole * np.float32(2.5)
    again, other = (hwsim.quantize(x, "nvfp4", apply=apply) for apply in ("divide", "reciprocal"))
    assert (again.scales == other.scales).all() and (again.codes != other.codes).any()
