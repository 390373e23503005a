"""Delayed scaling, loss scaling and the steps of HFP8."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from quantize.quantize_witness import rounded, single

from hwsim.formats import get_format
from hwsim.quantize import DelayedScaling, LossScaling, overflowed, softmax_input, split_residual, update_residual


def test_delayed_scaling_follows_the_history() -> None:
    state = DelayedScaling(length=3)
    assert (state.factor, state.history) == (1.0, (0.0, 0.0, 0.0))
    factors = []
    for amax in (4.0, 2.0, 1.0, 1.0, 1.0):
        state = state.update(amax)
        factors.append(state.factor)
    # Three magnitudes are in the window: 4 leaves it after two more steps.
    assert factors == [448 / 4, 448 / 4, 448 / 4, 448 / 2, 448 / 1]
    assert state.history == (0.0, 1.0, 1.0)


def test_delayed_scaling_by_the_most_recent_magnitude_with_a_margin() -> None:
    state = DelayedScaling(length=4, algorithm="most_recent", margin=2, format=get_format("e5m2"))
    assert [(state := state.update(amax)).factor for amax in (4.0, 2.0)] == [57344 / 16, 57344 / 8]


@pytest.mark.parametrize("amax", [0.0, float("inf"), float("nan")])
def test_delayed_scaling_keeps_its_factor_where_there_is_nothing_to_go_by(amax: float) -> None:
    state = DelayedScaling(length=2).update(7.0)
    later = DelayedScaling(length=2, factor=state.factor).update(amax)
    assert later.factor == 64.0


def test_delayed_scaling_of_tiny_tensors_ends_at_the_largest_binary32_number() -> None:
    assert DelayedScaling(length=1).update(2.0**-149).factor == float(np.finfo(np.float32).max)


def test_delayed_scaling_divides_in_binary32() -> None:
    amax = float(np.float32(0.3))
    assert Fraction(DelayedScaling().update(amax).factor) == single(448 / Fraction(amax))


@pytest.mark.parametrize(("kernel", "factor", "history"), [
    ("plain", 448.0, (0.0, 0.0)), ("unfused", 448.0, (0.0, 0.0)), ("fused", 112.0, (0.0, 1.0)),
])  # fmt: skip
def test_the_fused_kernel_does_not_roll_after_zeros(kernel: str, factor: float, history: tuple[float, ...]) -> None:
    state = DelayedScaling(length=2, kernel=kernel)
    for amax in (4.0, 1.0, 0.0):
        state = state.update(amax)
    assert (state.factor, state.history) == (factor, history)


@pytest.mark.parametrize(("kernel", "factor"), [("plain", 1.0), ("unfused", 1.0), ("fused", 224.0)])
def test_the_fused_kernels_maximum_skips_nan(kernel: str, factor: float) -> None:
    state = DelayedScaling(length=3, kernel=kernel, history=(0.0, np.nan, 2.0)).update(1.0)
    assert state.factor == factor
    recent = DelayedScaling(length=2, kernel=kernel, algorithm="most_recent").update(float("nan"))
    assert recent.factor == 1.0 and np.isnan(recent.history[1])


@pytest.mark.parametrize("margin", [0, 3, -2])
def test_unfused_factors_are_pytorchs(margin: int) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(margin + 5)
    amaxes = np.abs(rng.standard_normal(2000) * np.exp2(rng.integers(-60, 60, 2000))).astype(np.float32)
    amaxes[:3] = 2.0**-149, 2.0**-120, 3e38
    # A number over a tensor is the tensor's reciprocal times the number.
    want = (448.0 / torch.from_numpy(amaxes) / 2**margin).clamp(max=float(np.finfo(np.float32).max)).numpy()
    start = DelayedScaling(length=1, kernel="unfused", margin=margin)
    assert [start.update(amax).factor for amax in amaxes.tolist()] == want.tolist()
    plain = DelayedScaling(length=1, margin=margin)
    assert [plain.update(amax).factor for amax in amaxes.tolist()] != want.tolist()


@pytest.mark.parametrize("margin", [0, 3, -2])
def test_fused_factors_agree_with_exact_rationals(margin: int) -> None:
    start = DelayedScaling(length=1, kernel="fused", margin=margin)
    for amax in np.random.default_rng(2).standard_normal(200).astype(np.float32).tolist():
        want = single(Fraction(448) / Fraction(2) ** margin / Fraction(abs(amax)))
        assert Fraction(start.update(abs(amax)).factor) == want


def test_delayed_scaling_quantises_with_the_factor_of_before() -> None:
    x = np.array([[3.0, -1000.0], [0.1, 0.0]], np.float32)
    state = DelayedScaling(length=2).update(2.0)
    got, after = state.quantize(x)
    assert state.factor == 224
    products = [rounded("e4m3", single(Fraction(float(v)) * 224)) for v in x.ravel()]
    assert [Fraction(v) for v in got.element.decode(got.codes).ravel().tolist()] == products
    assert Fraction(float(got.scales[0, 0])) == single(Fraction(1, 224))
    assert (after.factor, after.history) == (float(np.float32(448) / np.float32(1000)), (0.0, 1000.0))
    with pytest.raises(ValueError, match=r"x\[0\] is nan: x must be finite"):
        state.quantize(np.array([np.nan], np.float32))


@pytest.mark.parametrize(
    ("state", "wrong", "rule"),
    [
        (DelayedScaling, {"length": 0}, "length must be at least 1"),
        (DelayedScaling, {"algorithm": "mean"}, "algorithm must be max or most_recent"),
        (DelayedScaling, {"history": (1.0,), "length": 2}, "history must have 2 magnitudes"),
        (DelayedScaling, {"margin": 0.5}, "margin must be an integer"),
        (DelayedScaling, {"kernel": "te"}, "kernel must be one of plain, fused, unfused"),
        (LossScaling, {"scale": 0.0}, "scale"),
        (LossScaling, {"factor": 1.0}, "factor"),
        (LossScaling, {"window": 0}, "window"),
    ],
)
def test_what_a_state_refuses(state: type[DelayedScaling | LossScaling], wrong: dict[str, Any], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        state(**wrong)


def test_loss_scaling_backs_off_and_grows_again() -> None:
    state = LossScaling(window=3)
    assert state.scale == 65536
    seen = [(state := state.update(bad)).scale for bad in (True, True, False, False, True, False, False, False, False)]
    assert seen == [32768, 16384, 16384, 16384, 8192, 8192, 8192, 16384, 16384]
    assert state.good_steps == 1


def test_loss_scaling_stays_within_its_limits() -> None:
    assert LossScaling(scale=2.0**24, window=1).update(False).scale == 2.0**24
    assert LossScaling(scale=2.0**24, window=1, most=None).update(False).scale == 2.0**25
    assert LossScaling(scale=1.0, least=1.0).update(True).scale == 1.0
    assert LossScaling(scale=1.0).update(True).scale == 0.5


def test_loss_scaling_after_2000_good_steps() -> None:
    state = LossScaling()
    for _ in range(1999):
        state = state.update(False)
    assert state.scale == 2.0**16 and state.update(False) == LossScaling(scale=2.0**17)


def test_overflow_is_infinity_or_nan_anywhere() -> None:
    fine = np.ones(3, np.float32)
    assert not overflowed(fine, fine)
    assert overflowed(fine, np.array([np.inf])) and overflowed(np.array([[np.nan]]), fine)


def test_the_softmax_step_subtracts_before_it_quantises() -> None:
    fmt = get_format("hfp8-e4m3")
    x = np.array([[20.0, 20.5, 19.0], [-1, -1, -50]], np.float32)
    codes = softmax_input(x)
    assert codes.tolist() == fmt.encode(np.array([[-0.5, 0, -1.5], [0, 0, -49]])).tolist()
    before = fmt.encode(x)
    assert before[0, 0] == before[0, 1] and codes[0, 0] != codes[0, 1]  # what the order is for
    assert softmax_input(x, axis=0).tolist() == fmt.encode(x - x.max(axis=0)).tolist()
    with pytest.raises(TypeError, match="x must be a float32 array, not float64"):
        softmax_input(x.astype(np.float64))


def test_a_residual_holds_what_the_weight_lost() -> None:
    weight = np.random.default_rng(0).uniform(-2, 2, 500).astype(np.float32)
    codes, residual = split_residual(weight)
    narrow, wide = get_format("hfp8-e4m3"), get_format("f16")
    assert codes.tolist() == narrow.encode(weight).tolist()
    lost = weight.astype(np.float64) - narrow.decode(codes)
    assert residual.tolist() == wide.encode(lost).tolist()


def test_small_changes_gather_in_the_residual_until_the_weight_moves() -> None:
    narrow = get_format("hfp8-e4m3")
    codes, residual = split_residual(np.ones(1, np.float32))
    plain = codes
    change = np.array([2.0**-7], np.float32)  # an eighth of half an ulp of 1
    values = []
    for _ in range(24):
        codes, residual = update_residual(codes, residual, change)
        plain = narrow.encode(narrow.decode(plain) + change)
        values.append(float(narrow.decode(codes)[0]))
    assert plain.tolist() == split_residual(np.ones(1, np.float32))[0].tolist()  # without a residual nothing moves
    # 1 + 8 * 2^-7 is the tie, and goes to even, 1; 24 steps come to 1.1875, the next tie, and go up.
    assert values == [1.0] * 8 + [1.125] * 15 + [1.25]


def test_an_update_is_exact_steps_in_binary32() -> None:
    rng = np.random.default_rng(1)
    narrow, wide = get_format("hfp8-e4m3"), get_format("f16")
    codes, residual = split_residual(rng.uniform(-2, 2, 300).astype(np.float32))
    change = (rng.standard_normal(300) / 100).astype(np.float32)
    new, left = update_residual(codes, residual, change)
    for i in range(300):
        start = single(Fraction(narrow.decode(codes[i : i + 1])[0]) + Fraction(wide.decode(residual[i : i + 1])[0]))
        whole = single(start + Fraction(float(change[i])))
        code = narrow.encode([whole])
        assert new[i] == code[0]
        assert left[i] == wide.encode([single(whole - Fraction(narrow.decode(code)[0]))])[0]
