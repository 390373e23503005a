"""Every rule against exact rationals: random numbers, ties, edges, any axis; and mistakes that this must see."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from built_presets import others_slow
from quantize.quantize_checks import anywhere, check, exact, f32, next_to_ties, normals
from quantize.quantize_witness import largest, numbers, rounded

import hwsim
from hwsim.formats import get_format
from hwsim.quantize import Rule, convert, get_rule, layouts, rules, scales

MX = ["mxfp8-e4m3", "mxfp8-e5m2", "mxfp6-e3m2", "mxfp6-e2m3", "mxfp4-e2m1", "mxint8"]
POWERS = ["floor", "ceil", "even", "rceil", "rceil-reciprocal"]
NVFP4 = [name for name in rules() if name.startswith("nvfp4")]
WITH_SECOND = [name for name in NVFP4 if rules()[name].tensor_scale != "none"]
# (elements' dtype: ml_dtypes)
TYPES = {
    "mxfp8-e4m3": ml_dtypes.float8_e4m3fn, "mxfp8-e5m2": ml_dtypes.float8_e5m2, "mxfp6-e3m2": ml_dtypes.float6_e3m2fn,
    "mxfp6-e2m3": ml_dtypes.float6_e2m3fn, "mxfp4-e2m1": ml_dtypes.float4_e2m1fn,
}  # fmt: skip


@pytest.mark.parametrize("name", rules())
def test_every_rule_is_that_of_exact_rationals(name: str) -> None:
    x = normals(4, 96)
    x[1, :64], x[2, 3] = 0, 2.0**-30
    check(x, name)
    if rules()[name].flush:
        check(f32(-(2.0**-127), 2.0**-130, 0, 2.0**-126, 2.0**-127), name)
    got = hwsim.quantize(f32(0, -0.0, -1, 1)[None], name)
    assert np.signbit(got.dequantize()).tolist() == [[False, not got.element.twos_complement, True, False]]


@pytest.mark.quick(cases=3)
@pytest.mark.parametrize("select", POWERS)
@pytest.mark.parametrize("name", others_slow(MX, MX[::3]))
def test_powers_of_two_of_every_selection(name: str, select: str) -> None:
    check(anywhere(150, 4, seed=len(name) * 10 + len(select)), name, block=(1, 4), select=select)
    # 127 / 64 * (1 + 2^-24...): its reciprocal rounds mxint8's quotient to 1, the division above it.
    check(f32(1.9843751, 496, 448, 464)[:, None], name, block=(1, 1), select=select)


@pytest.mark.parametrize("name", MX)
def test_ties_away_from_zero(name: str) -> None:
    check(np.round(anywhere(60, 4, seed=3, low=-20, high=20) * 64) / 64, name, block=(1, 4), rounding="rna")


@pytest.mark.parametrize("length", [1, 3, 16, 32, 100])
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_any_axis_and_any_block_length(axis: int, length: int) -> None:
    check(
        np.random.default_rng(0).standard_normal((2, 33, 3)).astype(np.float32), "mxfp8-e4m3", axis, block=(1, length)
    )


@pytest.mark.parametrize("select", POWERS)
@pytest.mark.parametrize("name", TYPES)
def test_elements_agree_with_ml_dtypes(name: str, select: str) -> None:
    x = anywhere(500, 32, seed=5, low=-100, high=120)
    got = hwsim.quantize(x, name, select=select)
    with np.errstate(over="ignore"):
        scaled = np.ldexp(x, -np.log2(got.scale_values).astype(int))
    most = float(ml_dtypes.finfo(TYPES[name]).max)
    assert (got.codes == np.clip(scaled, -most, most).astype(TYPES[name]).view(np.uint8)).all()


DIVIDED = ["tensor-e4m3", "tensor-e5m2", "int8-tensor", "channel-e4m3", "channel-e5m2", "int8-channel"]
DIVIDED += ["deepseek-v3-1x128", "deepseek-v3.1-1x128", "deepseek-v3-128x128"]


@pytest.mark.parametrize("apply", ["divide", "reciprocal", "multiply", "exact"])
@pytest.mark.parametrize("name", others_slow(DIVIDED, DIVIDED[::3]))
def test_quotients_in_every_order_of_operations(name: str, apply: str) -> None:
    x = normals(6, 50)
    x[3] = 0
    # Ragged: 6 by 50 of 4 by 16.
    changes = {"block": (1 if name.endswith("1x128") else 4, 16)} if name.startswith("deepseek") else {}
    check(x, name, apply=apply, **changes)
    x[:, 1:] = (np.arange(49) + np.float32(0.5)) * hwsim.quantize(x[:, :1], "int8-channel").scales  # next to ties
    check(x, name, apply=apply, **changes)
    for tiny in (2.0**-149, 2.0**-141):
        small = hwsim.quantize(f32(tiny, 0)[None], name, apply=apply)
        assert np.isfinite(small.dequantize()).all() and (small.scales > 0).all()
    most = get_rule(name).largest
    huge = hwsim.quantize(f32(3.4e38, -3.4e38)[None], name, apply=apply)
    assert huge.element.decode(huge.codes).tolist() == [[most, -most]]


@pytest.mark.parametrize("name", NVFP4)
@pytest.mark.parametrize("seed", others_slow(range(12), (0, 7)))
def test_nvfp4_of_every_publication_and_version(name: str, seed: int) -> None:
    check(normals(5, 48, seed=seed) * np.float32(2.0 ** (seed - 6)), name)
    check(next_to_ties(name, normals(40, 16, seed=seed + 1)), name)
    for given in [0.01, 1.0, 3e-5] if name in WITH_SECOND else []:
        check(normals(20, 16, seed=3), name, given=np.float32(given))


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


@pytest.mark.parametrize("name", sorted(rules()))
def test_the_largest_element_of_every_rule_is_the_formats(name: str) -> None:
    rule = get_rule(name)
    assert rule.source
    assert Fraction(rule.largest) == largest(rule.element.name)
    assert 2.0**rule.emax <= rule.largest < 2.0 ** (rule.emax + 1)


# Mistakes that are easily made.

Change = Callable[[pytest.MonkeyPatch], None]


def sample() -> Any:
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((40, 32)) * np.exp2(rng.integers(-20, 20, (40, 1)))).astype(np.float32)
    x[0, 0], x[1, 0] = np.nextafter(np.float32(2.0**60), np.float32(0)), 2.0**13
    x[0, 1:] = 2.0**58
    x[1, 1:] /= np.abs(x[1, 1:]).max()
    x[2] = 0
    x[2, 0] = 7  # of E2M1, half an ulp below 8: up
    return x


def of_mx(select: str) -> Callable[[], None]:
    return lambda: check(sample(), "mxfp4-e2m1", select=select)


def of_nvfp4(name: str) -> Callable[[], None]:
    def checks() -> None:
        for seed in range(2):
            check(next_to_ties(name, normals(100, 16, seed=seed)), name)

    return checks


def of_tiles() -> None:
    scales = np.arange(256 * 8).reshape(256, 8).astype(np.uint8)
    # Row 33 is the second of the second group of 32; scale 5 is in the second tile of its rows.
    assert layouts.swizzle_scales(scales)[512 + 16 + 4 + 1] == scales[33, 5]


def of_nan() -> None:
    x = sample()
    x[3, 5] = np.nan
    assert np.isnan(convert.quantize_reference(x, "mxfp4-e2m1").dequantize()[3]).all()


def rule_for(select: str, exponent: Callable[[Any, Any, int, int], Any]) -> Change:
    """The exponent of a block's scale from amax, sig * 2^(exp - 52), the element's emax and fraction bits."""
    real = scales.power_exponents

    def wrong(rule: Rule, amax: Any) -> Any:
        assert rule.select == select
        number = scales.exact(amax)
        got = exponent(number.sig, number.exp, rule.emax, rule.fraction_bits).reshape(amax.shape)
        assert got.shape == real(rule, amax).shape
        return got

    return lambda patch: patch.setattr(scales, "power_exponents", wrong)


def float_log2(sig: Any, exp: Any, emax: int, fraction_bits: int) -> Any:
    return np.floor(np.log2(np.ldexp(sig.astype(float), exp - 52).astype(np.float32))).astype(np.int64) - emax


def another(where: Any, name: str, change: Callable[[Any], Any]) -> Change:
    """A function in the place of one that is there."""
    return lambda patch: patch.setattr(where, name, change(getattr(where, name)))


def another_order(apply: str) -> Change:
    return another(convert, "get_rule", lambda real: lambda rule: real(rule).replace(apply=apply))


MUTANTS: dict[str, tuple[Change, Callable[[], None]]] = {
    "floor for ceil": (rule_for("ceil", lambda sig, exp, emax, bits: exp - emax), of_mx("ceil")),
    "floor for even": (rule_for("even", lambda sig, exp, emax, bits: exp - emax), of_mx("even")),
    "ceil adds one to powers of two": (rule_for("ceil", lambda sig, exp, emax, bits: exp + 1 - emax), of_mx("ceil")),
    "a logarithm in binary32": (rule_for("floor", float_log2), of_mx("floor")),
    "even rounds half down": (
        rule_for("even", lambda sig, exp, emax, bits: exp + (sig + (1 << 51 - bits) - 1 >> 53) - emax), of_mx("even")
    ),
    "even of half the ulp": (
        rule_for("even", lambda sig, exp, emax, bits: exp + (sig + (1 << 50 - bits) >> 53) - emax), of_mx("even")
    ),
    "the reciprocal of the scale": (another_order("reciprocal"), of_nvfp4("nvfp4")),
    "torchao's reciprocal of the product": (another_order("reciprocal"), of_nvfp4("nvfp4-torchao-0.17")),
    "torchao's division of before": (another_order("divide"), of_nvfp4("nvfp4-torchao-0.17")),
    "the caller's tensor scale left out": (
        another(convert, "tensor_scale", lambda real: lambda rule, amax, g: real(rule, amax)),
        lambda: check(sample()[:, :16], "nvfp4", given=0.5),
    ),
    "groups of 64 rows in a tile": (another(layouts, "LANES", lambda real: 64), of_tiles),
    "blocks one short": (
        another(convert, "block_lengths", lambda real: lambda *a: tuple(n - 1 if n == 32 else n for n in real(*a))),
        of_mx("floor"),
    ),
    "the next block's amax": (
        another(convert, "block_max", lambda real: lambda x, lengths: real(np.roll(x, -1, axis=0), lengths)),
        lambda: check(sample(), "channel-e4m3"),
    ),
    "the scale of a NaN block dropped": (
        another(convert, "_largest", lambda real: lambda *a: (np.nan_to_num(real(*a)[0], nan=1.0), real(*a)[1])), of_nan
    ),
    "subnormal scales flushed": (
        another(scales, "_stored", lambda real: lambda rule, codes, *a: real(rule, np.where(codes < 8, 0, codes), *a)),
        lambda: check(f32(*[6 * 2.0**-9, 2.0**-9] * 8), "nvfp4-block"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", others_slow(MUTANTS, [name for name in MUTANTS if "of" not in name.split()]))
def test_a_mutant_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change, holds = MUTANTS[name]
    holds()
    change(monkeypatch)
    with pytest.raises((AssertionError, ValueError)):
        holds()
