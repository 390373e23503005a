"""Scales that are quotients: tensors, channels, tiles, INT8 and NVFP4, against exact rationals."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from quantize.quantize_witness import divided_block, largest, numbers, rounded

import hwsim
from hwsim.formats import get_format
from hwsim.quantize import get_rule, rules


def normals(*shape: int, seed: int = 1) -> Any:
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) * np.exp2(rng.integers(-9, 9, shape))).astype(np.float32)


def exact(values: Any) -> list[Fraction]:
    return [Fraction(float(value)) for value in np.asarray(values).ravel()]


def blocks(shape: tuple[int, int], size: tuple[int, int]) -> list[tuple[tuple[int, int], tuple[slice, slice]]]:
    """Index of every block of a matrix, and the slices that cut it out."""
    return [
        ((i // size[0], j // size[1]), (slice(i, i + size[0]), slice(j, j + size[1])))
        for i in range(0, shape[0], size[0])
        for j in range(0, shape[1], size[1])
    ]


CASES = [
    ("tensor-e4m3", "e4m3", (6, 50)), ("tensor-e5m2", "e5m2", (6, 50)), ("int8-tensor", "int8", (6, 50)),
    ("channel-e4m3", "e4m3", (1, 50)), ("channel-e5m2", "e5m2", (1, 50)), ("int8-channel", "int8", (1, 50)),
    ("deepseek-v3-1x128", "e4m3", (1, 16)), ("deepseek-v3-128x128", "e4m3", (4, 16)),
]  # fmt: skip


@pytest.mark.parametrize("apply", ["divide", "reciprocal", "multiply", "exact"])
@pytest.mark.parametrize(("rule", "element", "size"), CASES)
def test_quotients_agree_with_exact_rationals(rule: str, element: str, size: tuple[int, int], apply: str) -> None:
    x = normals(6, 50)
    x[3] = 0
    changes = {"block": size} if rule.startswith("deepseek") else {}  # ragged: 6 by 50 of 4 by 16
    got = hwsim.quantize(x, rule, apply=apply, **changes)
    assert got.scales.dtype == np.float32 and got.codes.dtype == np.uint8
    values = got.element.decode(got.codes)
    seen = blocks(x.shape, size)
    assert got.scales.shape == tuple(np.array(seen[-1][0]) + 1)
    for index, cut in seen:
        scale, elements = divided_block(element, exact(x[cut]), apply)
        assert Fraction(float(got.scales[index])) == scale
        assert exact(values[cut]) == elements
        assert exact(got.dequantize()[cut]) == [scale * number for number in elements]


def test_tiles_of_their_published_sizes_and_ragged_edges() -> None:
    x = normals(130, 300)
    rows, tiles = hwsim.quantize(x, "deepseek-v3-1x128"), hwsim.quantize(x, "deepseek-v3-128x128")
    assert (rows.scales.shape, tiles.scales.shape) == ((130, 3), (2, 3))
    assert (rows.block, tiles.block) == ((1, 128), (128, 128))
    assert tiles.scales[1, 2] == np.abs(x[128:, 256:]).max() / np.float32(448)
    weights = hwsim.quantize(x, "deepseek-v3-1x128", axis=0)
    assert (weights.scales.shape, weights.block) == ((2, 300), (128, 1))
    assert hwsim.quantize(x, "deepseek-v3-128x128", axis=0).scales.tolist() == tiles.scales.tolist()


def test_power_of_two_tiles() -> None:
    # 450 / 448 is above 1, 448 / 448 is not; DeepGEMM takes 1e-4 for a smaller amax, which
    # gives 2^-22.
    x = np.array([[450, 1], [448, 1], [1e-9, 0], [0, 0]], np.float32)
    got = hwsim.quantize(x, "deepseek-v3-1x128-power-of-two")
    assert got.scales.ravel().tolist() == [2, 1, 2.0**-22, 2.0**-22]
    assert got.dequantize()[0, 0] == 448  # 225 is next to 224
    codes = hwsim.quantize(x, "deepseek-v3-1x128-power-of-two", scale_format="e8m0")
    assert codes.scales.ravel().tolist() == [0x80, 0x7F, 127 - 22, 127 - 22]


def test_deepseek_from_2025_08_27_counts_a_smaller_amax_as_1e_4() -> None:
    x = np.array([[448, 1], [5e-5, 1e-6], [0, 0]], np.float32)
    before, since = (hwsim.quantize(x, f"deepseek-{version}-1x128") for version in ("v3", "v3.1"))
    least = np.float32(1e-4) / np.float32(448)
    assert before.scales.ravel().tolist() == [1, np.float32(5e-5) / np.float32(448), 1]
    assert since.scales.ravel().tolist() == [1, least, least]
    assert since.element.decode(since.codes)[1, 0] == 224 and before.element.decode(before.codes)[1, 0] == 448


def test_the_order_of_operations_changes_bits() -> None:
    # Next to ties, halves of a scale.
    x = normals(200, 64, seed=4)
    x[:, 1:] = (np.arange(63) + np.float32(0.5)) * hwsim.quantize(x[:, :1], "int8-channel").scales
    by = {apply: hwsim.quantize(x, "int8-channel", apply=apply).codes for apply in ("divide", "reciprocal", "multiply")}
    assert (by["divide"] != by["reciprocal"]).any()
    x = normals(20000, 1, seed=4)
    scales = {apply: hwsim.quantize(x, "channel-e4m3", apply=apply).scales for apply in ("divide", "multiply")}
    assert (scales["divide"] != scales["multiply"]).any()


def test_zeros_and_the_smallest_and_largest_numbers_of_a_tensor() -> None:
    for apply in ("divide", "reciprocal", "multiply", "exact"):
        zero = hwsim.quantize(np.zeros((2, 3), np.float32), "tensor-e4m3", apply=apply)
        assert (zero.scales.tolist(), zero.codes.tolist()) == ([[1.0]], [[0] * 3] * 2)  # a bare x / amax gives NaN
        for tiny in (2.0**-149, 2.0**-141):
            small = hwsim.quantize(np.array([tiny, 0], np.float32), "tensor-e4m3", apply=apply)
            assert np.isfinite(small.dequantize()).all() and small.scales[0] > 0
        huge = hwsim.quantize(np.array([3.4e38, -3.4e38], np.float32), "tensor-e4m3", apply=apply)
        assert huge.codes.tolist() == [0x7E, 0xFE]


def test_nan_and_infinity_make_scales_nan_without_a_sign() -> None:
    x = np.ones((2, 4), np.float32)
    x[0, 0] = -np.nan
    x[1, 0] = np.inf
    got = hwsim.quantize(x, "channel-e4m3")
    assert got.scales.view(np.uint32).ravel().tolist() == [0x7FFFFFFF] * 2 and np.isnan(got.dequantize()).all()
    kept = hwsim.quantize(x, "channel-e4m3", infinity="saturate", nan="element")
    assert kept.codes.tolist() == [[0x7F, 0x7E, 0x7E, 0x7E], [0x7E] * 4]


def test_int8_is_symmetric_and_rounds_ties_to_even() -> None:
    got = hwsim.quantize(np.array([-127, 0.5, 1.5, 2.5, -2.5, 126.5], np.float32), "int8-tensor")
    assert got.scales.tolist() == [1]
    assert got.codes.view(np.int8).tolist() == [-127, 0, 2, 2, -2, 126]
    full = hwsim.quantize(np.array([-128.0, 127], np.float32), "int8-tensor", symmetric=False, scale=np.float32(1))
    assert full.codes.view(np.int8).tolist() == [-128, 127]


# Real scales.


@pytest.mark.parametrize("element", ["e4m3", "e5m2", "e2m1"])
def test_a_real_scale_is_divided_by_exactly(element: str) -> None:
    # Products of midpoints and scales, and their neighbours: where a quotient that is rounded twice goes wrong.
    rng = np.random.default_rng(6)
    ladder = np.array([float(number) for number in numbers(element)])
    changes = {} if element != "e2m1" else {"nan": "block"}
    rule = get_rule("tensor-e4m3").replace(element=get_format(element), apply="exact", **changes)
    for scale in [*np.exp(rng.uniform(-5, 5, 6)).tolist(), 0.1, 1 / 3, 3.0]:
        middles = (ladder[1:] + ladder[:-1]) / 2 * scale
        x = np.concatenate([middles, np.nextafter(middles, 0), np.nextafter(middles, np.inf), -middles])
        got = hwsim.quantize(x, rule, scale=scale)
        assert got.scale_format is None and got.scales.dtype == np.float64
        found = exact(got.element.decode(got.codes))
        assert found == [rounded(element, v / Fraction(scale)) for v in exact(x)]


def test_scales_of_ones_own() -> None:
    x = normals(4, 8)
    per_row = np.array([[1.0], [2.0], [4.0], [8.0]], np.float32)
    got = hwsim.quantize(x, "channel-e4m3", scale=per_row)
    assert got.scales.dtype == np.float32 and (got.scales == per_row).all()
    pairs = zip(x, per_row[:, 0].tolist(), strict=True)
    values = [rounded("e4m3", v / Fraction(scale)) for row, scale in pairs for v in exact(row)]
    assert exact(got.element.decode(got.codes)) == values
    with pytest.raises(ValueError, match="scale must be binary32 numbers under apply 'divide'"):
        hwsim.quantize(x, "channel-e4m3", scale=0.1)
    with pytest.raises(ValueError, match=r"scale must have the shape of the blocks, \(4, 1\), not \(3, 1\)"):
        hwsim.quantize(x, "channel-e4m3", scale=np.ones((3, 1), np.float32))
    with pytest.raises(ValueError, match="scale must be finite numbers above 0"):
        hwsim.quantize(x, "channel-e4m3", scale=0.0)
    with pytest.raises(TypeError, match="scale must be real numbers"):
        hwsim.quantize(x, "channel-e4m3", scale="1")


def test_binary64_is_rounded_to_binary32_first_where_the_rule_is_in_binary32() -> None:
    x = np.random.default_rng(8).standard_normal((50, 40))
    got, single = hwsim.quantize(x, "channel-e4m3"), hwsim.quantize(x.astype(np.float32), "channel-e4m3")
    assert (got.codes == single.codes).all() and (got.scales == single.scales).all()


@pytest.mark.parametrize("name", sorted(rules()))
def test_the_largest_element_of_every_rule_is_the_formats(name: str) -> None:
    rule = get_rule(name)
    assert Fraction(rule.largest) == largest(rule.element.name)
    assert 2.0**rule.emax <= rule.largest < 2.0 ** (rule.emax + 1)
