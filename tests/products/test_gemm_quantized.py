"""What `hwsim.quantize` makes goes into `hwsim.gemm` as it is, or is refused in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hwsim
from hwsim.quantize import Quantized

MX = "mxfp8-e4m3-f32"
X = np.linspace(-1, 1, 2 * 64).reshape(2, 64)
W = np.linspace(0, 9, 64 * 3).reshape(64, 3)


@pytest.fixture
def pair() -> tuple[Quantized, Quantized]:
    return hwsim.quantize(X, "mxfp8-e4m3"), hwsim.quantize(W, "mxfp8-e4m3", axis=-2)


def test_quantised_operands_are_their_codes_and_scales(pair: tuple[Quantized, Quantized]) -> None:
    a, b = pair
    apart = hwsim.gemm(MX, a.codes, b.codes, scale_a=a.scales, scale_b=b.scales)
    assert np.array_equal(hwsim.gemm(MX, a, b), apart)
    assert np.array_equal(hwsim.gemm(MX, a, b.codes, scale_b=b.scales), apart)
    several = hwsim.quantize(np.stack([X, -X]), "mxfp8-e4m3")
    assert np.array_equal(hwsim.gemm(MX, several, b), np.stack([apart, -apart]))


@pytest.mark.parametrize(
    ("unit", "given", "told"),
    [
        ("mxfp8-e5m2-f32", {}, "A is quantised to e4m3; mxfp8-e5m2-f32 takes e5m2"),
        ("hopper-wgmma-e4m3-f32", {}, "A has scales, which hopper-wgmma-e4m3-f32 does not take; pass A.codes"),
        (MX, {"scale_a": [[127, 127]] * 2}, "scale_a must be None, because A is quantised"),
        (
            "deepseek-v3-e4m3-f32-scaled",
            {},
            r"A has scales of e8m0 for blocks of \[1, 32\]; deepseek-v3-e4m3-f32-scaled takes f32 for blocks of \[1, 1",
        ),
    ],
)
def test_what_a_unit_does_not_take_is_said(
    pair: tuple[Quantized, Quantized], unit: str, given: dict[str, Any], told: str
) -> None:
    with pytest.raises(ValueError, match=told):
        hwsim.gemm(unit, *pair, **given)


def test_blocks_of_the_other_axis_are_refused(pair: tuple[Quantized, Quantized]) -> None:
    with pytest.raises(
        ValueError, match=r"B has scales of e8m0 for blocks of \[1, 32\]; .* takes e8m0 for .*\[32, 1\]"
    ):
        hwsim.gemm(MX, pair[0], hwsim.quantize(W.T, "mxfp8-e4m3"))


def test_masked_codes_are_refused() -> None:
    with pytest.raises(TypeError, match=r"A must not be a masked array; fill it first, as with A.filled\(0\)"):
        hwsim.gemm("hopper-wgmma-e4m3-f32", np.ma.ones((2, 2), np.uint8), np.ones((2, 2), np.uint8))
