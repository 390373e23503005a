"""The checks can fail: mistakes that are easily made, each caught by a value that other tests demand."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from quantize.quantize_witness import divided_block, mx_block, nvfp4

from hwsim.quantize import Rule, convert, layouts, scales
from hwsim.quantize.convert import quantize_reference

Change = Callable[[pytest.MonkeyPatch], None]


def exact(values: Any) -> list[Fraction]:
    return [Fraction(float(value)) for value in np.asarray(values).ravel()]


def sample() -> Any:
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((40, 32)) * np.exp2(rng.integers(-20, 20, (40, 1)))).astype(np.float32)
    x[0, 0], x[1, 0] = np.nextafter(np.float32(2.0**60), np.float32(0)), 2.0**13
    x[0, 1:] = 2.0**58
    x[1, 1:] /= np.abs(x[1, 1:]).max()
    return x


def check_mx(select: str) -> None:
    x = sample()
    got = quantize_reference(x, "mxfp4-e2m1", select=select)
    for row, block in enumerate(x):
        scale, elements = mx_block("e2m1", exact(block), select)
        assert exact(got.scale_values[row]) == [scale]
        assert exact(got.element.decode(got.codes[row])) == elements


def check_divided() -> None:
    x = sample()
    got = quantize_reference(x, "channel-e4m3")
    for row, block in enumerate(x):
        scale, elements = divided_block("e4m3", exact(block), "divide")
        assert exact(got.scales[row]) == [scale]
        assert exact(got.element.decode(got.codes[row])) == elements


def check_nvfp4() -> None:
    # Elements next to ties, under many scales.
    for seed in range(12):
        x = np.random.default_rng(seed).standard_normal((40, 16)).astype(np.float32)
        whole = quantize_reference(x, "nvfp4")
        total = whole.scale_values.astype(np.float32) * whole.tensor_scale
        x[:, 1:8] = total * np.float32([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5])
        got = quantize_reference(x, "nvfp4")
        _, found, elements = nvfp4([exact(row) for row in x], "multiply")
        assert exact(got.scale_values) == found
        assert exact(got.element.decode(got.codes)) == [number for block in elements for number in block]


def check_torchao() -> None:
    # Next to ties under the scales of both levels, as torchao has them from 0.17.
    x = np.random.default_rng(3).standard_normal((200, 16)).astype(np.float32)
    whole = quantize_reference(x, "nvfp4-torchao-0.17")
    total = whole.scale_values.astype(np.float32) * whole.tensor_scale
    x[:, 1:8] = total * np.float32([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5])
    got = quantize_reference(x, "nvfp4-torchao-0.17")
    _, found, elements = nvfp4([exact(row) for row in x], "divide", "tensor-reciprocal")
    assert exact(got.scale_values) == found
    assert exact(got.element.decode(got.codes)) == [number for block in elements for number in block]


def check_given() -> None:
    x = sample()[:, :16]
    got = quantize_reference(x, "nvfp4", second_scale=0.5)
    _, found, _ = nvfp4([exact(row) for row in x], "multiply", given=Fraction(1, 2))
    assert (got.tensor_scale, exact(got.scale_values)) == (0.5, found)


def check_tiles() -> None:
    scales = np.arange(256 * 8).reshape(256, 8).astype(np.uint8)
    # Row 33 is the second of the second group of 32; scale 5 is in the second tile of its rows.
    assert layouts.swizzle_scales(scales)[512 + 16 + 4 + 1] == scales[33, 5]


def check_nan() -> None:
    x = sample()
    x[3, 5] = np.nan
    assert np.isnan(quantize_reference(x, "mxfp4-e2m1").dequantize()[3]).all()


def floor(sig: Any, exp: Any, emax: int, fraction_bits: int) -> Any:
    return exp - emax


def float_log2(sig: Any, exp: Any, emax: int, fraction_bits: int) -> Any:
    value = np.ldexp(sig.astype(float), exp - 52).astype(np.float32)
    return np.floor(np.log2(value)).astype(np.int64) - emax


def ceil_is_floor_plus_one(sig: Any, exp: Any, emax: int, fraction_bits: int) -> Any:
    return exp + 1 - emax


def even_without_half_up(sig: Any, exp: Any, emax: int, fraction_bits: int) -> Any:
    return exp + (sig + (1 << 51 - fraction_bits) - 1 >> 53) - emax


def ulp_too_small(sig: Any, exp: Any, emax: int, fraction_bits: int) -> Any:
    return exp + (sig + (1 << 50 - fraction_bits) >> 53) - emax


def rule_for(select: str, function: Any) -> Change:
    real = scales.power_exponents

    def wrong(rule: Rule, amax: Any) -> Any:
        assert rule.select == select
        number = scales.exact(amax)
        got = function(number.sig, number.exp, rule.emax, rule.fraction_bits).reshape(amax.shape)
        assert got.shape == real(rule, amax).shape
        return got

    return lambda patch: patch.setattr(scales, "power_exponents", wrong)


def shorter_blocks(patch: pytest.MonkeyPatch) -> None:
    real = convert.block_lengths
    patch.setattr(convert, "block_lengths", lambda *a: tuple(n - 1 if n == 32 else n for n in real(*a)))


def blocks_read_from_the_second(patch: pytest.MonkeyPatch) -> None:
    real = convert.block_max
    patch.setattr(convert, "block_max", lambda x, lengths: real(np.roll(x, -1, axis=0), lengths))


def another_order(apply: str) -> Change:
    real = convert.get_rule
    return lambda patch: patch.setattr(convert, "get_rule", lambda rule: real(rule).replace(apply=apply))


def own_tensor_scale(patch: pytest.MonkeyPatch) -> None:
    real = convert.tensor_scale
    patch.setattr(convert, "tensor_scale", lambda rule, amax, g: real(rule, amax))


def groups_of_64_rows(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(layouts, "LANES", 64)


def nan_left_out(patch: pytest.MonkeyPatch) -> None:
    real = convert._largest
    patch.setattr(convert, "_largest", lambda *a: (np.nan_to_num(real(*a)[0], nan=1.0), real(*a)[1]))


def subnormal_scales_flushed(patch: pytest.MonkeyPatch) -> None:
    real = scales._stored
    patch.setattr(scales, "_stored", lambda rule, codes, *a: real(rule, np.where(codes < 8, 0, codes), *a))


def check_even_tie() -> None:
    # 7 of E2M1 is half an ulp below 8: up.
    assert quantize_reference(np.array([7.0], np.float32), "mxfp4-e2m1", select="even").scales.tolist() == [0x80]


def check_nvfp4_subnormal() -> None:
    x = np.array([6 * 2.0**-9], np.float32)
    assert quantize_reference(x, "nvfp4-block").dequantize().tolist() == x.tolist()


MUTANTS: dict[str, tuple[Change, Callable[[], None]]] = {
    "floor for ceil": (rule_for("ceil", floor), lambda: check_mx("ceil")),
    "floor for even": (rule_for("even", floor), lambda: check_mx("even")),
    "ceil adds one to powers of two": (rule_for("ceil", ceil_is_floor_plus_one), lambda: check_mx("ceil")),
    "a logarithm in binary32": (rule_for("floor", float_log2), lambda: check_mx("floor")),
    "even rounds half down": (rule_for("even", even_without_half_up), check_even_tie),
    "even of half the ulp": (rule_for("even", ulp_too_small), lambda: check_mx("even")),
    "the reciprocal of the scale": (another_order("reciprocal"), check_nvfp4),
    "torchao's reciprocal of the product": (another_order("reciprocal"), check_torchao),
    "torchao's division of before": (another_order("divide"), check_torchao),
    "the caller's tensor scale left out": (own_tensor_scale, check_given),
    "groups of 64 rows in a tile": (groups_of_64_rows, check_tiles),
    "blocks one short": (shorter_blocks, lambda: check_mx("floor")),
    "the next block's amax": (blocks_read_from_the_second, check_divided),
    "the scale of a NaN block dropped": (nan_left_out, check_nan),
    "subnormal scales flushed": (subnormal_scales_flushed, check_nvfp4_subnormal),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change, check = MUTANTS[name]
    check()
    change(monkeypatch)
    with pytest.raises((AssertionError, ValueError)):
        check()
