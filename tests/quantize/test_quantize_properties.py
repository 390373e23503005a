"""What holds for every rule and every array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from built_presets import others_slow
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import hwsim
from hwsim.quantize import rules

MX = ["mxfp8-e4m3", "mxfp8-e5m2", "mxfp6-e3m2", "mxfp6-e2m3", "mxfp4-e2m1", "mxint8"]
SELECTS = ["floor", "ceil", "even", "rceil"]
QUICK = settings(max_examples=30, deadline=None, derandomize=True)
NUMBERS = arrays(
    np.float32,
    st.tuples(st.integers(1, 3), st.integers(1, 20)),
    elements=st.floats(-(2.0**60), 2.0**60, width=32, allow_nan=False),
)


@pytest.mark.parametrize("name", MX)
@QUICK
@given(x=NUMBERS, select=st.sampled_from(SELECTS))
def test_elements_are_within_half_an_ulp_times_the_scale_unless_they_saturate(name: str, x: Any, select: str) -> None:
    got = hwsim.quantize(x, name, block=(1, 4), select=select)
    numbers = np.unique(np.abs(got.element.decode(np.arange(1 << got.element.bits))))
    numbers = numbers[np.isfinite(numbers) & (numbers <= got.rule.largest)]
    scale = np.repeat(got.scale_values, 4, axis=1)[:, : x.shape[1]]
    size = np.abs(x.astype(np.float64)) / scale
    place = np.clip(np.searchsorted(numbers, size, side="right"), 1, len(numbers) - 1)
    half = (numbers[place] - numbers[place - 1]) / 2
    wrong = np.abs(got.dequantize() - x) / scale
    within = size <= numbers[-1]
    assert (wrong[within] <= half[within]).all()
    assert (np.abs(got.dequantize())[~within] == (numbers[-1] * scale)[~within]).all()
    if select == "rceil":  # the quotient is rounded, by half a binary32 ulp
        assert (size <= numbers[-1] * (1 + 2.0**-23)).all()


@pytest.mark.parametrize("name", MX)
@QUICK
@given(x=NUMBERS)
def test_floor_is_idempotent(name: str, x: Any) -> None:
    once = hwsim.quantize(x, name, block=(1, 4))
    twice = hwsim.quantize(once.dequantize(np.float32), name, block=(1, 4))
    assert (twice.dequantize() == once.dequantize()).all()


@pytest.mark.parametrize("name", ["tensor-e4m3", "deepseek-v3-1x128", "int8-channel", "nvfp4-block"])
@QUICK
@given(x=NUMBERS)
def test_a_block_whose_scale_is_given_again_does_not_move(name: str, x: Any) -> None:
    once = hwsim.quantize(x, name)
    if once.scale_format is not None and once.scale_format.name == "f32":
        again = hwsim.quantize(once.dequantize(), name, apply="exact", scale=once.scale_values)
        assert (again.codes == once.codes).all()


@pytest.mark.parametrize("name", [*MX, "nvfp4-block", "deepseek-v3-1x128", "deepseek-v3-1x128-power-of-two"])
@QUICK
@given(seed=st.integers(0, 1000))
def test_blocks_do_not_know_of_each_other(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    length = rules()[name].block[1] or 1
    x = (rng.standard_normal((6, length)) * np.exp2(rng.integers(-5, 5, (6, 1)))).astype(np.float32)
    order = rng.permutation(6)
    plain, moved = hwsim.quantize(x.reshape(-1), name), hwsim.quantize(x[order].reshape(-1), name)
    assert (plain.scales[order] == moved.scales).all()
    assert (plain.codes.reshape(6, -1)[order] == moved.codes.reshape(6, -1)).all()


@pytest.mark.parametrize("select", SELECTS)
@pytest.mark.parametrize("name", others_slow(MX, MX[::4]))
@QUICK
@given(seed=st.integers(0, 1000), power=st.integers(-40, 40))
def test_a_power_of_two_moves_the_scales_and_nothing_else(name: str, select: str, seed: int, power: int) -> None:
    x = np.random.default_rng(seed).standard_normal(64).astype(np.float32)
    plain = hwsim.quantize(x, name, select=select)
    moved = hwsim.quantize(np.ldexp(x, power), name, select=select)
    assert (moved.codes == plain.codes).all()
    assert (moved.scales.astype(int) == plain.scales.astype(int) + power).all()


@pytest.mark.parametrize("name", others_slow(sorted(rules()), sorted(rules())[::4]))
@QUICK
@given(x=NUMBERS)
def test_signs_are_kept_and_numbers_stay_finite(name: str, x: Any) -> None:
    x = x if rules()[name].block[0] != 128 else np.atleast_2d(x)
    got, other = hwsim.quantize(x, name), hwsim.quantize(-x, name)
    assert np.isfinite(got.dequantize()).all()
    assert (got.dequantize() == -other.dequantize()).all()
    assert (got.scales == other.scales).all()
