"""Shapes, arguments and refusals; and that what is returned goes into a matrix product as it is."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from quantize.quantize_witness import numbers

import hwsim
from hwsim.quantize import Rule, get_rule, rules
from hwsim.quantize.convert import NARROW


def test_the_package_is_called_as_its_function() -> None:
    import hwsim.quantize as package
    from hwsim import quantize

    x = np.float32([[1, 2, 3, 500]])
    want = package.quantize(x, "mxfp8-e4m3", rounding="rz")
    for got in (hwsim.quantize(x, "mxfp8-e4m3", rounding="rz"), package(x, rule="mxfp8-e4m3", rounding="rz")):
        assert np.array_equal(got.codes, want.codes) and np.array_equal(got.scales, want.scales)
    assert package.Rule is Rule and package.get_rule("mxfp8-e4m3") is hwsim.quantize.rules()["mxfp8-e4m3"]
    assert quantize is hwsim.quantize is package


@pytest.mark.parametrize("name", ["mxfp8-e4m3", "mxfp6-e2m3", "mxfp4-e2m1", "mxint8"])
def test_codes_and_scales_go_into_gemm(name: str) -> None:
    unit = hwsim.load_unit(f"{name}-f32")
    rng = np.random.default_rng(0)
    # Small integers, so that every sum is exact and what the unit cuts off is nothing.
    a, b = (rng.integers(-8, 9, shape).astype(np.float32) * 4 for shape in ((3, 64), (64, 5)))
    qa, qb = hwsim.quantize(a, name), hwsim.quantize(b, name, axis=0)
    assert (qa.block, qb.block) == (unit.scale.a.block, unit.scale.b.block)  # type: ignore[union-attr]
    got = hwsim.gemm(unit, qa.codes, qb.codes, scale_a=qa.scales, scale_b=qb.scales)
    assert got.tolist() == (qa.dequantize() @ qb.dequantize()).tolist()


def test_any_rule_quantises_any_shape() -> None:
    for name in rules():
        for shape in ((5,), (0,), (3, 0), (2, 3, 40), (130, 129)):
            if len(shape) < 2 and get_rule(name).block[0] == 128:
                continue
            got = hwsim.quantize(np.ones(shape, np.float32), name)
            assert got.codes.shape == shape and got.scales.ndim == len(shape)
            assert hwsim.dequantize(got).shape == shape
            assert got.scales.shape == tuple(-(-size // length) for size, length in zip(shape, got.block, strict=True))


def test_lists_and_foreign_byte_orders_are_taken() -> None:
    x = [[1.0, 2.5], [3.0, -4.0]]
    native = hwsim.quantize(x, "mxfp8-e4m3")
    swapped = hwsim.quantize(np.array(x).astype(">f4"), "mxfp8-e4m3")
    assert (native.codes == swapped.codes).all() and (native.scales == swapped.scales).all()
    transposed = hwsim.quantize(np.asfortranarray(np.array(x)), "mxfp8-e4m3")
    assert (native.codes == transposed.codes).all()


def test_dequantize_in_binary32_rounds_once() -> None:
    got = hwsim.quantize(np.random.default_rng(0).standard_normal((4, 64)), "nvfp4")
    exact, single = got.dequantize(), got.dequantize(np.float32)
    assert single.dtype == np.float32 and (single == exact.astype(np.float32)).all()
    with pytest.raises(TypeError, match="dtype must be float32 or float64, not float16"):
        got.dequantize(np.float16)
    with pytest.raises(TypeError, match="quantized must be what"):
        hwsim.dequantize(exact)  # type: ignore[arg-type]


def test_stochastic_rounding_is_passed_through_and_does_not_depend_on_chunks() -> None:
    x = np.random.default_rng(0).standard_normal((3, 32768)).astype(np.float32)
    options = {"rounding": "stochastic", "random_bits": 12, "seed": 5}
    got = hwsim.quantize(x, "mxfp8-e4m3", **options)  # type: ignore[arg-type]
    scaled = x.astype(np.float64) / np.repeat(got.scale_values, 32, axis=1)
    assert (got.codes == got.element.encode(scaled, **options)).all()  # type: ignore[arg-type]
    row = hwsim.quantize(x[1], "mxfp8-e4m3", counter=32768, **options)  # type: ignore[arg-type]
    assert (row.codes == got.codes[1]).all()
    assert (got.codes != hwsim.quantize(x, "mxfp8-e4m3").codes).any()


@pytest.mark.parametrize("rounding", ["rne", "rna", "rz", "ru", "rd", "rto"])
def test_elements_are_rounded_as_encode_does(rounding: str) -> None:
    x = np.random.default_rng(0).standard_normal(320)
    got = hwsim.quantize(x, "mxfp6-e3m2", rounding=rounding)
    scaled = x / np.repeat(got.scale_values, 32)
    assert (got.codes == got.element.encode(scaled, rounding=rounding)).all()


def test_directed_rounding_of_what_is_below_every_float64_under_its_scale() -> None:
    # 2^-1074 under the scale 2^127 * 2^-8 has no float64: still above zero.
    x = np.array([2.0**500, 2.0**-1074])
    assert hwsim.quantize(x, "mxfp8-e4m3", rounding="ru").codes[1] == 1
    assert hwsim.quantize(x, "mxfp8-e4m3", rounding="rz").codes[1] == 0


@pytest.mark.parametrize(
    ("arguments", "options", "kind", "message"),
    [
        ((np.ones(3, np.int64), "mxfp8-e4m3"), {}, TypeError, "x must be floats of 64, 32 or 16 bits, .* not int64"),
        (
            (np.ma.ones(3), "mxfp8-e4m3"),
            {},
            TypeError,
            r"x must not be a masked array; fill it first, as with x.filled",
        ),
        ((np.float32(1), "mxfp8-e4m3"), {}, ValueError, "x must have at least one axis"),
        ((np.ones(3), "mxfp8-e4m3", 1), {}, ValueError, "axis must be -1 to 0, not 1"),
        ((np.ones(3), "mxfp8-e4m3", 0.0), {}, TypeError, "axis must be an integer, not float"),
        ((np.ones(3), "mxfp8-e4m4"), {}, ValueError, "unknown rule 'mxfp8-e4m4': did you mean mxfp8-e4m3, mxfp8-e5m2"),
        ((np.ones(3), 8), {}, TypeError, "rule must be a rule or the name of one, not int"),
        (
            (np.ones(3), "mxfp8-e4m3"),
            {"mode": "ceil"},
            ValueError,
            "unknown field of a rule 'mode': did you mean select",
        ),
        ((np.ones(3), "mxfp8-e4m3"), {"blocks": 3}, ValueError, "unknown field of a rule 'blocks': did you mean block"),
        ((np.ones(3), "mxfp8-e4m3"), {"block": (1, 0)}, ValueError, "block must be two numbers of at least 1"),
        ((np.ones(3), "mxfp8-e4m3"), {"block": 32}, ValueError, "block must be two numbers of at least 1"),
        ((np.ones(3), "mxfp8-e4m3"), {"select": "round"}, ValueError, "select must be one of floor, ceil, even"),
        ((np.ones(3), "mxfp8-e4m3"), {"select": "divide"}, ValueError, "select must give powers of two"),
        ((np.ones(3), "mxfp8-e4m3"), {"nan": "saturate"}, ValueError, "nan must be one of block, element, error"),
        ((np.ones(3), "mxfp8-e4m3"), {"huge_scale": "inf"}, ValueError, "huge_scale must be saturate or nan"),
        (
            (np.ones(3), "mxfp8-e4m3"),
            {"huge_scale": "nan", "scale_format": "e3m2", "nan": "error", "infinity": "error"},
            ValueError,
            "huge_scale must not be 'nan': e3m2 has no NaN",
        ),
        ((np.ones(3), "mxfp8-e4m3"), {"apply": "multiply"}, ValueError, "apply 'multiply' goes with"),
        ((np.ones(3), "mxfp8-e4m3"), {"tensor_scale": "divide"}, ValueError, "tensor_scale goes with"),
        ((np.ones(3), "mxfp8-e4m3"), {"element": "e8m0"}, ValueError, "element must be a signed format"),
        ((np.ones(3), "mxfp8-e4m3"), {"scale_format": "mxint8"}, ValueError, "scale_format must be a float or"),
        ((np.ones(3), "mxfp8-e4m3"), {"least_amax": -1.0}, ValueError, "least_amax must be a number of at least 0"),
        ((np.ones(3), "mxfp8-e4m3"), {"rounding": "up"}, ValueError, "rounding must be one of"),
        ((np.ones(3), "mxfp4-e2m1"), {"infinity": "element"}, ValueError, "infinity must not be 'element'"),
        ((np.ones(300), "deepseek-v3-128x128"), {}, ValueError, "axis must be one of the last two of at least two"),
        ((np.ones((2, 2, 2)), "deepseek-v3-128x128", 0), {}, ValueError, "axis must be one of the last two"),
    ],
)
def test_refusals(arguments: tuple[Any, ...], options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        hwsim.quantize(*arguments, **options)


def test_a_rule_prints_as_its_constructor_and_is_data() -> None:
    rule = get_rule("mxfp4-e2m1")
    assert rule == Rule(element="e2m1", scale_format="e8m0", source=rule.source)  # type: ignore[arg-type]
    assert rule.replace(block=(1, 16)).block == (1, 16) and rule.block == (1, 32)
    assert Fraction(rule.largest) == numbers("e2m1")[-1]


@pytest.mark.parametrize("dtype", NARROW)
def test_narrow_floats_are_the_numbers_that_they_are(dtype: str) -> None:
    kind = np.dtype(dtype) if dtype == "float16" else np.dtype(getattr(ml_dtypes, dtype))
    count = 1 << 8 * kind.itemsize
    codes = np.arange(count if kind.itemsize > 1 else min(count, 1 << ml_dtypes.finfo(kind).bits))
    x = codes.astype(f"uint{8 * kind.itemsize}").view(kind)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        values = x.astype(np.float64)
    x, values = x[np.isfinite(values)], values[np.isfinite(values)]
    made, wanted = hwsim.quantize(x, "mxfp8-e4m3"), hwsim.quantize(values, "mxfp8-e4m3")
    assert np.array_equal(made.codes, wanted.codes) and np.array_equal(made.scales, wanted.scales)
    assert made.codes.any()


def test_rows_of_other_lengths_are_refused_in_words() -> None:
    with pytest.raises(hwsim.base.errors.InputError, match=r"x must be an array: "):
        hwsim.quantize([[1.0], [1.0, 2.0]], "mxfp8-e4m3")
