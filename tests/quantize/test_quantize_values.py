"""Values that publications and versions demand, policies of what is not a number, and scales of one's own."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from quantize.quantize_checks import check, exact, f32, next_to_ties, normals
from quantize.quantize_witness import rounded
from quantize.test_quantize_rules import MX, WITH_SECOND

import hwsim
from hwsim.quantize.convert import quantize_reference


def test_large_blocks_ceil_pass_binary32_and_stay_in_binary64() -> None:
    got = hwsim.quantize(f32(3.4e38, 1e38), "mxfp8-e4m3", select="ceil")
    assert got.scales.tolist() == [0xF7]
    assert got.dequantize()[0] == 256 * 2.0**120 == 2.0**128
    assert np.isinf(got.dequantize(np.float32)[0])


def test_the_scale_ends_at_2_to_the_127() -> None:
    got = hwsim.quantize(np.array([2.0**1000, 2.0**-1000]), "mxfp8-e4m3")
    assert (got.scales.tolist(), got.dequantize().tolist()) == ([0xFE], [448 * 2.0**127, 0])
    assert hwsim.quantize(np.array([2.0**1000]), "mxfp8-e4m3", huge_scale="nan").scales.tolist() == [0xFF]


@pytest.mark.parametrize("rule", MX)
@pytest.mark.parametrize("code", [0x00, 0x7F])
def test_an_all_zero_block_has_the_scale_that_is_named(rule: str, code: int) -> None:
    got = hwsim.quantize(f32(0, -0.0), rule, zero_scale=code)
    assert (got.scales.tolist(), got.dequantize().tolist()) == ([code], [0, 0])
    assert np.signbit(got.dequantize()).tolist() == [False, rule != "mxint8"]


@pytest.mark.parametrize("rule", MX)
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_a_nan_or_an_infinity_makes_its_whole_block_nan(rule: str, special: float) -> None:
    x = np.ones(64, np.float32)
    x[40] = special
    got = hwsim.quantize(x, rule)
    assert got.scales[1] == 0xFF
    assert np.isnan(got.dequantize()[32:]).all() and (got.dequantize()[:32] == 1).all()


def test_named_policies_of_nan_and_infinity() -> None:
    x = f32(1, np.nan, np.inf, -np.inf)
    element = hwsim.quantize(x, "mxfp8-e5m2", nan="element", infinity="element")
    assert element.codes.tolist() == [element.codes[0], 0x7F, 0x7C, 0xFC]
    assert element.scales.tolist() == [127 - 15]  # of the finite numbers alone
    saturated = hwsim.quantize(x, "mxfp8-e4m3", nan="element", infinity="saturate")
    assert saturated.codes[1:].tolist() == [0x7F, 0x7E, 0xFE]
    without = hwsim.quantize(x, "mxfp8-e4m3", nan="element", infinity="element")
    assert without.codes[1:].tolist() == [0x7F, 0x7F, 0x7F]  # no infinity: NaN
    integers = hwsim.quantize(f32(1, -np.inf), "mxint8", infinity="saturate")
    assert integers.codes.tolist() == [0x40, 0x81]
    with pytest.raises(ValueError, match=r"x\[1\] is nan"):
        hwsim.quantize(x, "mxfp8-e4m3", nan="error")
    with pytest.raises(ValueError, match="nan must not be 'element': e2m1 has no NaN"):
        hwsim.quantize(x, "mxfp4-e2m1", nan="element")


@pytest.mark.parametrize(
    ("select", "scale"), [("floor", 247), ("even", 247), ("ceil", 247), ("rceil", 254), ("rceil-reciprocal", 254)]
)
def test_an_infinity_that_counts_in_amax(select: str, scale: int) -> None:
    # As torchao has it: binary32's exponent of an infinity, 128, less 8; or infinity / 448, limited.
    x = f32(*[1e38, np.inf, *[1.0] * 30], *[-np.inf, *[2.0**125] * 31], *[1.0] * 32)
    got = hwsim.quantize(x, "mxfp8-e4m3", select=select, infinity="amax")
    assert got.scales.tolist() == [scale, scale, hwsim.quantize(x[64:], "mxfp8-e4m3", select=select).scales[0]]
    assert (got.codes[1], got.codes[32]) == (0x7E, 0xFE)
    values = got.element.decode(got.codes)
    assert values[0] == float(rounded("e4m3", Fraction(float(x[0])) / Fraction(2) ** (scale - 127)))
    assert values[33] == 2.0 ** (125 - (scale - 127))
    whole = np.tile(x, 200)
    both = [q(whole, "mxfp8-e4m3", select=select, infinity="amax") for q in (hwsim.quantize, quantize_reference)]
    assert np.array_equal(both[0].codes, both[1].codes) and np.array_equal(both[0].scales, both[1].scales)


def test_an_infinity_in_amax_beside_nan_and_beside_larger_binary64_numbers() -> None:
    assert hwsim.quantize(f32(np.inf, np.nan), "mxfp8-e4m3", infinity="amax").scales.tolist() == [0xFF]
    huge = hwsim.quantize(np.array([2.0**130, np.inf]), "mxfp8-e4m3", infinity="amax")
    assert (huge.scales.tolist(), huge.codes.tolist()) == ([249], [0x78, 0x7E])
    one_level = hwsim.quantize(f32(np.inf, 6 * 448, -1), "nvfp4-block-torchao-0.17", infinity="amax")
    assert (one_level.scales.tolist(), one_level.codes.tolist()) == ([0x7E], [0x7, 0x7, 0x8])
    for rule in ("tensor-e4m3", "nvfp4"):
        with pytest.raises(ValueError, match="infinity 'amax' goes with scales that are powers of two"):
            hwsim.quantize(f32(1), rule, infinity="amax")
    with pytest.raises(ValueError, match="nan must be one of block, element, error"):
        hwsim.quantize(f32(1), "mxfp8-e4m3", nan="amax")


def test_mxint8_symmetric_or_full_range() -> None:
    x = f32(-1.999, 1.999)
    assert hwsim.quantize(x, "mxint8").dequantize().tolist() == [-1.984375, 1.984375]
    full = hwsim.quantize(x, "mxint8", symmetric=False)
    assert (full.codes.tolist(), full.dequantize().tolist()) == ([0x80, 0x7F], [-2, 1.984375])


def test_rounding_once_from_binary64() -> None:
    # 2.5 + 2^-45 would be the tie 2.5 in binary32, and 2.
    assert hwsim.quantize(np.array([4, 2.5 + 2.0**-45]), "mxfp4-e2m1").dequantize().tolist() == [4, 3]
    # Of the binary32 rules amax itself is rounded, not the elements.
    assert hwsim.quantize(np.array([4, 2.5 + 2.0**-45]), "mxfp4-e2m1", select="rceil").dequantize()[1] == 3


def test_scales_whose_product_leaves_binary32_are_added_as_exponents() -> None:
    # 2^65 * 2^65 is above binary32; with elements of 2^-9 the product is 2^112.
    codes, scales = np.zeros((1, 32), np.uint8), np.full((1, 1), 127 + 65, np.uint8)
    codes[0, 0] = 0x01
    got = hwsim.gemm("mxfp8-e4m3-f32", codes, codes.T, scale_a=scales, scale_b=scales)
    assert got.tolist() == [[2.0**112]]


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


def test_nan_and_infinity_make_scales_nan_without_a_sign() -> None:
    x = np.ones((2, 4), np.float32)
    x[0, 0] = -np.nan
    x[1, 0] = np.inf
    got = hwsim.quantize(x, "channel-e4m3")
    assert got.scales.view(np.uint32).ravel().tolist() == [0x7FFFFFFF] * 2
    # One NaN, whichever factor of a long product NumPy takes first.
    assert set(got.scale_values.view(np.uint64).flat) | set(got.dequantize().view(np.uint64).flat) == {0x7FF8 << 48}
    kept = hwsim.quantize(x, "channel-e4m3", infinity="saturate", nan="element")
    assert kept.codes.tolist() == [[0x7F, 0x7E, 0x7E, 0x7E], [0x7E] * 4]


def test_int8_is_symmetric_and_rounds_ties_to_even() -> None:
    got = hwsim.quantize(np.array([-127, 0.5, 1.5, 2.5, -2.5, 126.5], np.float32), "int8-tensor")
    assert got.scales.tolist() == [1]
    assert got.codes.view(np.int8).tolist() == [-127, 0, 2, 2, -2, 126]
    full = hwsim.quantize(np.array([-128.0, 127], np.float32), "int8-tensor", symmetric=False, scale=np.float32(1))
    assert full.codes.view(np.int8).tolist() == [-128, 127]


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


def test_versions_of_peers_differ() -> None:
    # What tells each rule from the one that it is mistaken for: a change of either would be seen.
    pairs = {
        "nvfp4-torchao": "nvfp4-torchao-0.17", "nvfp4-block-torchao": "nvfp4-block-torchao-0.17",
        "nvfp4": "nvfp4-transformer-engine",
    }  # fmt: skip
    for one, other in pairs.items():
        x = next_to_ties(one, normals(4000, 16, seed=2))
        assert (hwsim.quantize(x, one).codes != hwsim.quantize(x, other).codes).any()


def test_transformer_engines_scale_is_amax_times_a_rounded_product() -> None:
    # Next to ties of UE4M3, under g = 1: RNE(amax / 6) and RNE(amax * RNE(1 / 6)) are on other sides of some.
    ties = 6 * (1 + (2 * np.arange(8, dtype=np.float32) + 1) / np.float32(16))
    x = np.concatenate([(ties.view(np.uint32) + step).view(np.float32) for step in np.arange(-3, 4)]).reshape(-1, 1)
    ways = ("multiply", "reciprocal")
    scales = [quantize_reference(x, "nvfp4", tensor_scale=way, second_scale=1).scales for way in ways]
    assert (scales[0] != scales[1]).any()
    check(np.repeat(x, 16, axis=1), "nvfp4-transformer-engine", given=1)


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
