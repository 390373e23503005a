from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hwsim.compute.gemm import gemm
from hwsim.formats.yamlfile import SpecError
from hwsim.quantize import quantize
from hwsim.spec import load_unit
from hwsim.study.plan.scaling import QuantizedFactor, apply, check_scaling, default_scaling, resolve

RANDOM = np.random.default_rng(11)
A = (RANDOM.standard_normal((6, 128)) * 3).astype(np.float32)
B = (RANDOM.standard_normal((128, 5)) * 3).astype(np.float32)
HOPPER, MX, SCALED = (load_unit(n) for n in ("hopper-wgmma-e4m3-f32", "mxfp8-e4m3-f32", "deepseek-v3-e4m3-f32-scaled"))
NVFP4, INT8 = load_unit("blackwell-mxf4nvf4-e2m1-f32"), load_unit("int8-i32")


def both(
    unit: Any, entry: Any, a: NDArray[np.float32] = A, b: NDArray[np.float32] = B
) -> tuple[QuantizedFactor, QuantizedFactor]:
    made = resolve(entry, unit)
    return apply(made.a, "a", unit, a), apply(made.b, "b", unit, b)


def test_direct_rounds_to_the_format_and_saturates() -> None:
    a, _ = both(HOPPER, "direct", A * np.float32(300))
    assert a.factor is None and a.scales is None
    assert np.array_equal(a.values, HOPPER.operands.a.decode(HOPPER.operands.a.encode(A * np.float32(300))))
    assert np.abs(a.values).max() == 448  # e4m3's largest number


def test_a_fixed_scale_divides_before_and_multiplies_after() -> None:
    a, b = both(HOPPER, {"rule": "tensor", "scale": 1 / 64})
    assert a.factor is not None and b.factor is not None
    assert a.factor.tolist() == b.factor.tolist() == [[1 / 64]]
    assert np.array_equal(a.codes, HOPPER.operands.a.encode(A * 64))


@pytest.mark.parametrize("name", ["hopper-wgmma-e5m2-f32", "hopper-mma-f16-f32", "hopper-mma-tf32-f32", "int8-i32"])
@pytest.mark.parametrize("scale", [1.0, 2.0**-7, 2.0**9])
def test_powers_of_two_give_the_codes_of_quantize(name: str, scale: float) -> None:
    unit = load_unit(name)
    made = resolve({"rule": "direct", "scale": scale}, unit).a
    numbers = np.concatenate([A, np.float32(-1) * A * np.float32(2.0**-20), A * np.float32(2.0**20)])
    assert np.array_equal(apply(made, "a", unit, numbers).codes, quantize(numbers, made.rule, scale=scale).codes)


@pytest.mark.parametrize("unit", [HOPPER, MX, NVFP4, INT8])
def test_tensor_and_channel_bring_the_largest_to_the_largest(unit: Any) -> None:
    for entry, shapes in (("tensor", ((1, 1), (1, 1))), ("channel", ((6, 1), (1, 5)))):
        made = both(unit, entry)
        for operand, shape, numbers, axis in zip(made, shapes, (A, B), (1, 0), strict=True):
            assert operand.factor is not None and operand.factor.shape == shape
            amax = np.abs(numbers).max() if entry == "tensor" else np.abs(numbers).max(axis=axis, keepdims=True)
            largest = np.abs(operand.values).max(axis=None if entry == "tensor" else axis, keepdims=True)
            # The scale is amax / largest in binary32.
            assert np.array_equal(operand.factor, (amax / np.float32(largest.max())).reshape(shape).astype(np.float32))
            assert (largest == largest.max()).all()


@pytest.mark.parametrize("unit", [MX, SCALED, NVFP4])
def test_block_is_the_rule_that_the_unit_takes(unit: Any) -> None:
    rule = {MX: "mxfp8-e4m3", NVFP4: "nvfp4-block"}.get(unit)
    a, b = both(unit, "block")
    for operand, numbers, axis, side in ((a, A, -1, "a"), (b, B, -2, "b")):
        name = rule or ("deepseek-v3-1x128" if side == "a" else "deepseek-v3-128x128")
        known = quantize(numbers, name, axis)
        assert operand.factor is None and operand.scales is not None
        assert np.array_equal(operand.codes, known.codes) and np.array_equal(operand.scales, known.scales)
        assert np.array_equal(operand.values, known.dequantize())


CASES: list[tuple[Any, Any]] = [
    (HOPPER, "direct"), (HOPPER, {"rule": "direct", "scale": 0.125}), (HOPPER, "tensor"), (HOPPER, "channel-e4m3"),
    (MX, "block"), (MX, "direct"), (MX, "tensor"), (MX, {"rule": "mxfp8-e4m3", "select": "ceil"}), (SCALED, "block"),
    (SCALED, {"a": "deepseek-v3-1x128-power-of-two", "b": "deepseek-v3-128x128"}), (NVFP4, "block"), (NVFP4, "nvfp4"),
    (INT8, "channel"),
]  # fmt: skip


@pytest.mark.parametrize(("unit", "entry"), CASES)
def test_what_the_unit_returns_times_the_factors_is_near_the_product_of_the_numbers(unit: Any, entry: Any) -> None:
    # The whole path by another way: one result in rationals of the decoded values, and the unit's own result.
    a, b = both(unit, entry)
    exact = sum(Fraction(float(x)) * Fraction(float(y)) for x, y in zip(a.values[2], b.values[:, 3], strict=True))
    returned = gemm(unit, a.codes, b.codes, None, a.scales, b.scales)[2, 3]
    size = float(np.abs(a.values[2]) @ np.abs(b.values[:, 3]))
    found = returned if returned.dtype.kind == "f" else unit.output.decode(np.array([returned]))[0]
    assert abs(float(found) - float(exact)) <= size * 2.0**-9
    factor = math.prod(1.0 if side.factor is None else float(side.factor.ravel()[0]) for side in (a, b))
    if "channel" not in str(entry):
        # Numbers of 3 bits and more: a sum of 128 errors of both sides.
        assert abs(float(exact) * factor - float(A[2].astype(float) @ B[:, 3])) <= size * factor * 2.0**-2


WRONG: dict[str, tuple[Any, Any]] = {
    "unknown scaling 'tensr': did you mean tensor": (HOPPER, "tensr"),
    "unknown field of a rule 'slect': did you mean select": (MX, {"rule": "mxfp8-e4m3", "slect": "ceil"}),
    "scaling block must not go with hopper-wgmma-e4m3-f32, which takes no scales": (HOPPER, "block"),
    "mxfp8-e4m3 gives elements in e4m3 and scales in e8m0, blocks of 1 x 32; hopper": (HOPPER, "mxfp8-e4m3"),
    "tensor-e4m3 gives elements in e4m3 and scales in f32, one for the whole matrix; mx": (MX, "tensor-e4m3"),
    "scale must be a number above 0, not 0": (HOPPER, {"rule": "tensor", "scale": 0}),
    "scale must be left out of scaling block": (MX, {"rule": "block", "scale": 2}),
    "scale must be left out of scaling mxfp8-e4m3": (MX, {"rule": "mxfp8-e4m3", "scale": 2}),
    "scaling of a alone: b is missing": (HOPPER, {"a": "tensor"}),
    "unknown field of scaling 'c'": (HOPPER, {"a": "tensor", "b": "tensor", "c": "x"}),
    "scaling must be a name": (HOPPER, 3),
    "rounding must not be stochastic": (HOPPER, {"rule": "direct", "rounding": "stochastic"}),
}


@pytest.mark.parametrize("said", WRONG)
def test_wrong_scalings_are_named(said: str) -> None:
    unit, entry = WRONG[said]
    with pytest.raises(SpecError) as caught:
        resolve(entry, unit)
    assert said in str(caught.value)


def test_what_is_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match="not finite, which no exact product goes with"):
        both(load_unit("mxfp8-e5m2-f32"), {"rule": "mxfp8-e5m2", "overflow": "infinity"}, A * np.float32(2))


def test_the_default_is_the_units_own() -> None:
    assert [default_scaling(unit) for unit in (HOPPER, MX)] == ["direct", "block"]
    check_scaling("block")
