"""`hwsim.error`: the errors of one product, against rationals."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from study.study_fractions import fraction, product_of

import hwsim
from hwsim.study.product_error import KindOfError

RANDOM = np.random.default_rng(5)
A, B = RANDOM.normal(size=(6, 64)).astype(np.float32), RANDOM.normal(size=(64, 5)).astype(np.float32)


@pytest.mark.parametrize(
    ("name", "rule"), [("hopper-wgmma-e4m3-f32", None), ("ada-mma-e5m2-f32", None), ("mxfp8-e4m3-f32", "mxfp8-e4m3")]
)
def test_errors_are_those_of_rationals(name: str, rule: str | None) -> None:
    unit = hwsim.load_unit(name)
    found = hwsim.error(unit, A, B)
    if rule is None:
        codes = unit.operands.a.encode(A), unit.operands.b.encode(B)
        given, values = codes, (unit.operands.a.decode(codes[0]), unit.operands.b.decode(codes[1]))
        result = hwsim.gemm(unit, *given)
    else:
        a, b = hwsim.quantize(A, rule, axis=1), hwsim.quantize(B, rule, axis=0)
        values, result = (a.dequantize(), b.dequantize()), hwsim.gemm(unit, a, b)
    numbers, quantized = product_of(A, B), product_of(*values)
    returned = np.vectorize(fraction, otypes=[object])(result)
    for kind, wanted in (
        (found.quantization, quantized - numbers),
        (found.accumulation, returned - quantized),
        (found.total, returned - numbers),
    ):
        np.testing.assert_allclose(kind.errors, wanted.ravel().astype(float), rtol=1e-12, atol=0)
        assert kind.largest == np.abs(kind.errors).max() and kind.mean == np.abs(kind.errors).mean()
    signal = np.sqrt(np.mean(numbers.astype(float) ** 2))
    assert found.size == pytest.approx(signal)
    assert found.total.snr_db == pytest.approx(20 * np.log10(signal / np.sqrt(np.mean(found.total.errors**2))))
    assert repr(found) == f"<ProductError {found}>"
    assert str(found).count("\n") == 0 and f"SNR {found.total.snr_db:.1f} dB" in str(found)


@pytest.mark.parametrize("dtype", [np.float64, np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn])
def test_arrays_as_people_have_them(dtype: Any) -> None:
    given = A.astype(dtype), B.astype(dtype)
    found = hwsim.error("hopper-wgmma-e4m3-f32", *given)
    same = hwsim.error("hopper-wgmma-e4m3-f32", *(x.astype(np.float32) for x in given))
    if dtype is not np.float64:
        assert (found.total.errors == same.total.errors).all()
    if dtype is ml_dtypes.float8_e4m3fn:  # the unit's own format
        assert str(found.quantization) == "exact, at most 0, mean 0"


def test_what_cannot_be_measured_is_refused_or_counted() -> None:
    for a, b, message in (
        (A * np.nan, B, r"A must hold finite numbers: 384 are not"),
        (A, B[0], r"B must be a matrix, not of shape \(5,\)"),
        (A, B[1:], r"B must have shape \(\.\.\., 64, N\)"),
    ):
        with pytest.raises(ValueError, match=message):
            hwsim.error("hopper-wgmma-e4m3-f32", a, b)
    with pytest.raises(TypeError, match="A must be floats"):
        hwsim.error("hopper-wgmma-e4m3-f32", A.astype(int), B)
    with pytest.raises(ValueError, match="unknown"):
        hwsim.error("hopper-wgmma-e4m3-f32", A, B, "no-such-rule")
    large = hwsim.error("ada-mma-f16-f16", A * 1e4, B * 1e4)
    assert large.nonfinite > 0 and f"{large.nonfinite} results are not finite" in str(large)
    assert KindOfError(np.empty(0), np.nan).largest == 0
