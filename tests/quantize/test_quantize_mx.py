"""MX blocks: every rule, against exact rationals and ml_dtypes, and the values that others get wrong."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from built_presets import others_slow
from quantize.quantize_witness import mx_block, mx_scale, rounded

import hwsim
from hwsim.quantize import rules
from hwsim.quantize.convert import quantize_reference

ELEMENTS = {
    "mxfp8-e4m3": "e4m3", "mxfp8-e5m2": "e5m2", "mxfp6-e3m2": "e3m2", "mxfp6-e2m3": "e2m3", "mxfp4-e2m1": "e2m1",
    "mxint8": "mxint8",
}  # fmt: skip
POWERS = ["floor", "ceil", "even", "rceil", "rceil-reciprocal"]
TYPES = {
    "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m3": ml_dtypes.float6_e2m3fn, "e2m1": ml_dtypes.float4_e2m1fn,
}  # fmt: skip


def f32(*values: float) -> Any:
    return np.array(values, np.float32)


def random_blocks(count: int, length: int, seed: int, low: int = -149, high: int = 127) -> Any:
    """Blocks of binary32 numbers of like magnitudes, which are anywhere; some with amax next to a power of two."""
    rng = np.random.default_rng(seed)
    sig = rng.integers(1, 1 << 24, (count, length)).astype(np.float64)
    sig[::3, 0] = rng.choice(
        [2.0**23, 2.0**23 + 1, 2.0**24 - 1, 7 * 2.0**21, 7 * 2.0**21 + 1, 2.0**23 + 2**19], len(sig[::3])
    )
    exp = rng.integers(low, high - 23, (count, 1)) - rng.integers(0, 12, (count, length)) * (np.arange(length) > 0)
    sign = rng.choice([-1.0, 1.0], (count, length))
    return np.ldexp(sign * sig, exp).astype(np.float32)


@pytest.mark.quick(cases=3)
@pytest.mark.parametrize("select", POWERS)
@pytest.mark.parametrize("rule", others_slow(ELEMENTS, [*ELEMENTS][::3]))
def test_every_rule_agrees_with_exact_rationals(rule: str, select: str) -> None:
    x = random_blocks(150, 4, seed=len(rule) * 10 + len(select))
    got = hwsim.quantize(x, rule, block=(1, 4), select=select)
    values = got.element.decode(got.codes)
    for row, block in enumerate(x.astype(float).tolist()):
        scale, elements = mx_block(ELEMENTS[rule], [Fraction(v) for v in block], select)
        assert Fraction(float(got.scale_values[row, 0])) == scale, block
        assert [Fraction(v) for v in values[row].tolist()] == elements, block


@pytest.mark.parametrize("rule", ELEMENTS)
def test_ties_away_from_zero_agree_with_exact_rationals(rule: str) -> None:
    x = np.round(random_blocks(60, 4, seed=3, low=-20, high=20) * 64) / 64
    got = hwsim.quantize(x, rule, block=(1, 4), rounding="rna")
    for row, block in enumerate(x.astype(float).tolist()):
        _, elements = mx_block(ELEMENTS[rule], [Fraction(v) for v in block], "floor", "rna")
        assert [Fraction(v) for v in got.element.decode(got.codes)[row].tolist()] == elements


@pytest.mark.parametrize("select", POWERS)
@pytest.mark.parametrize("rule", [rule for rule in ELEMENTS if rule != "mxint8"])
def test_elements_agree_with_ml_dtypes(rule: str, select: str) -> None:
    x = random_blocks(500, 32, seed=5, low=-100, high=120)
    got = hwsim.quantize(x, rule, select=select)
    with np.errstate(over="ignore"):
        scaled = np.ldexp(x, -np.log2(got.scale_values).astype(int))
    kind = TYPES[ELEMENTS[rule]]
    most = float(ml_dtypes.finfo(kind).max)
    assert (got.codes == np.clip(scaled, -most, most).astype(kind).view(np.uint8)).all()


# The values of the traps: what others get wrong.


@pytest.mark.parametrize(
    ("select", "scale", "values"),
    [("floor", 0x7F, [448, 448, 448, 1]), *[(s, 0x80, [512, 448, 448, 1]) for s in ("ceil", "even", "rceil")]],
)
def test_e4m3_block_of_496(select: str, scale: int, values: list[float]) -> None:
    got = hwsim.quantize(f32(496, 448, 464, 1), "mxfp8-e4m3", select=select)
    assert (got.scales.tolist(), got.dequantize().tolist()) == ([scale], values)


def test_every_number_below_a_power_of_two_where_a_binary32_logarithm_rounds_up() -> None:
    # From 2^-126 to 2^127, three binary32 numbers below each power of two.
    powers = np.ldexp(1.0, np.arange(-126, 128)).astype(np.float32)
    below = [powers]
    for _ in range(3):
        below.append(np.nextafter(below[-1], np.float32(0)))
    x = np.concatenate(below[1:])
    got = hwsim.quantize(x, "mxfp4-e2m1", block=(1, 1))
    assert got.scales.tolist() == [max(math.frexp(v)[1] - 1 - 2, -127) + 127 for v in x.tolist()]
    wrong = np.floor(np.log2(x)).astype(int) != np.frexp(x)[1] - 1
    assert wrong.sum() > 0  # the shortcut that the bits avoid


def test_tiny_blocks_are_exact_under_the_least_scale() -> None:
    x = f32(2**-126, 2**-128, 2**-133)
    got = hwsim.quantize(x, "mxfp8-e4m3")
    assert (got.scales.tolist(), got.dequantize(np.float32).tolist()) == ([0x00], x.tolist())


def test_large_blocks_ceil_pass_binary32_and_stay_in_binary64() -> None:
    got = hwsim.quantize(f32(3.4e38, 1e38), "mxfp8-e4m3", select="ceil")
    assert got.scales.tolist() == [0xF7]
    assert got.dequantize()[0] == 256 * 2.0**120 == 2.0**128
    assert np.isinf(got.dequantize(np.float32)[0])


def test_the_scale_ends_at_2_to_the_127() -> None:
    got = hwsim.quantize(np.array([2.0**1000, 2.0**-1000]), "mxfp8-e4m3")
    assert (got.scales.tolist(), got.dequantize().tolist()) == ([0xFE], [448 * 2.0**127, 0])
    assert hwsim.quantize(np.array([2.0**1000]), "mxfp8-e4m3", huge_scale="nan").scales.tolist() == [0xFF]


@pytest.mark.parametrize("rule", ELEMENTS)
@pytest.mark.parametrize("code", [0x00, 0x7F])
def test_an_all_zero_block_has_the_scale_that_is_named(rule: str, code: int) -> None:
    got = hwsim.quantize(f32(0, -0.0), rule, zero_scale=code)
    assert (got.scales.tolist(), got.dequantize().tolist()) == ([code], [0, 0])
    assert np.signbit(got.dequantize()).tolist() == [False, rule != "mxint8"]


@pytest.mark.parametrize("rule", ELEMENTS)
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


def test_quantising_and_transposing_do_not_commute() -> None:
    a = np.zeros((32, 32), np.float32)
    a[0, :2] = 6144, 1
    assert hwsim.quantize(a, "mxfp4-e2m1", axis=1).dequantize()[0, 1] == 0
    assert hwsim.quantize(a, "mxfp4-e2m1", axis=0).dequantize()[0, 1] == 1


@pytest.mark.parametrize("name", ["e4m3", "e5m2", "e3m2", "e2m3", "e2m1", "mxint8"])
def test_algorithm_1_flushes_binary32_subnormals_and_is_floor_otherwise(name: str) -> None:
    rule = f"mx-algorithm-1-{name}"
    subnormal, normal = f32(-(2.0**-127), 2.0**-130), f32(1, -1.75)
    got = hwsim.quantize(subnormal, rule)
    assert (got.scales.tolist(), got.dequantize().tolist()) == ([0x00], [0, 0])
    like = next(key for key, element in ELEMENTS.items() if element == name)
    floor = hwsim.quantize(normal, like)
    assert hwsim.quantize(normal, rule).codes.tolist() == floor.codes.tolist()
    # In a block of normal numbers too: 2^-127 would be representable under the scale 2^-127.
    assert hwsim.quantize(f32(2**-126, 2**-127), rule).dequantize()[1] == 0
    assert hwsim.quantize(f32(1e30, 1), rule, rounding="rna").scales[0] == hwsim.quantize(f32(1e30, 1), like).scales[0]
    assert np.isnan(hwsim.quantize(f32(np.inf, 1), rule).dequantize()).all()


def test_rceil_by_division_and_by_reciprocal_differ_in_one_significand_of_mxint8() -> None:
    # 127 / 64 * (1 + 2^-24...): the reciprocal rounds the quotient to 1, the division above it. All others of
    # the 2^23 significands agree, in all six formats; one in 61 of them here.
    x = np.append((np.arange(0, 1 << 23, 61, dtype=np.uint32) | np.uint32(127 << 23)).view(np.float32), f32(1.9843751))
    for rule in ELEMENTS:
        by_division = hwsim.quantize(x, rule, block=(1, 1), select="rceil").scales
        by_reciprocal = hwsim.quantize(x, rule, block=(1, 1), select="rceil-reciprocal").scales
        assert np.flatnonzero(by_division != by_reciprocal).tolist() == ([len(x) - 1] if rule == "mxint8" else [])


def test_rounding_once_from_binary64() -> None:
    # 2.5 + 2^-45 would be the tie 2.5 in binary32, and 2.
    assert hwsim.quantize(np.array([4, 2.5 + 2.0**-45]), "mxfp4-e2m1").dequantize().tolist() == [4, 3]
    # Of the binary32 rules amax itself is rounded, not the elements.
    assert hwsim.quantize(np.array([4, 2.5 + 2.0**-45]), "mxfp4-e2m1", select="rceil").dequantize()[1] == 3


@pytest.mark.parametrize("length", [1, 3, 16, 32, 100])
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_any_axis_and_any_block_length(axis: int, length: int) -> None:
    x = np.random.default_rng(0).standard_normal((5, 33, 7)).astype(np.float32)
    got = hwsim.quantize(x, "mxfp8-e4m3", axis, block=(1, length))
    moved = np.moveaxis(x, axis, -1)
    size = moved.shape[-1]
    assert got.scales.shape[axis] == -(-size // length)
    scales, values = np.moveaxis(got.scale_values, axis, -1), np.moveaxis(got.dequantize(), axis, -1)
    for index in np.ndindex(moved.shape[:-1]):
        for start in range(0, size, length):
            block = [Fraction(float(v)) for v in moved[index][start : start + length]]
            scale = mx_scale("e4m3", max(map(abs, block)), "floor")
            assert Fraction(float(scales[index][start // length])) == scale
            if index[0] == 0:
                _, elements = mx_block("e4m3", block)
                assert [Fraction(float(v)) for v in values[index][start : start + length]] == [
                    e * scale for e in elements
                ]


def test_every_rule_has_a_source() -> None:
    assert all(rule.source for rule in rules().values())


def test_scales_whose_product_leaves_binary32_are_added_as_exponents() -> None:
    # 2^65 * 2^65 is above binary32; with elements of 2^-9 the product is 2^112.
    codes, scales = np.zeros((1, 32), np.uint8), np.full((1, 1), 127 + 65, np.uint8)
    codes[0, 0] = 0x01
    got = hwsim.gemm("mxfp8-e4m3-f32", codes, codes.T, scale_a=scales, scale_b=scales)
    assert got.tolist() == [[2.0**112]]
