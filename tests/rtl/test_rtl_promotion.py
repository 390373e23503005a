"""The promotion adder against NumPy, which rounds once too, and against exact fractions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from built_presets import others_slow
from in_amaranth import played
from model.witness_numbers import read, rounded
from numpy.typing import NDArray
from unit_keys import odd_unit, promoted, window

from hwsim.formats import FloatFormat
from hwsim.model.rounding import add as model_add
from hwsim.model.terms import addend_term
from hwsim.rtl import promotion
from hwsim.spec import Unit

NAN32, NAN16 = 0x7FFFFFFF, 0x7FFF


def adder_of(result: str, fmt: str, rounding: str = "rne") -> Unit:
    keys = {"rounding": "rz", "overflow": "saturate", **promoted(1, fmt, rounding)}
    return odd_unit("adder", "e4m3", fmt, window(13), result, 1, **keys)


def add(unit: Unit, register: Sequence[int], partial: Sequence[int]) -> list[int]:
    """register + partial, each pair of codes, by the RTL's steps."""
    assert unit.promotion is not None
    fmt: Any = unit.promotion.format
    inputs = {
        "i.register": [code >> fmt.padding for code in register],
        "i.partial": [code >> unit.result.format.padding for code in partial],
    }
    said = played(promotion(unit, ()), inputs, ["o.nan", "o.code"])
    return [fmt.canonical_nan if nan else code << fmt.padding for nan, code in said]


def numpy_sum(register: NDArray[Any], partial: NDArray[Any], dtype: Any, nan: int) -> list[int]:
    """The sums as NumPy's, NaNs as the canonical one."""
    with np.errstate(all="ignore"):
        total = (register.view(dtype) + partial.view(dtype)).astype(dtype)
    return np.where(np.isnan(total), nan, total.view(register.dtype)).tolist()


# Zeros, subnormals, the ends of the normal range, ones and their neighbours, halves of an ulp, infinities, NaNs.
MAGNITUDES = (
    0x00000000, 0x00000001, 0x00000002, 0x003FFFFF, 0x00400000, 0x007FFFFF, 0x00800000, 0x00800001, 0x00FFFFFF,
    0x01000000, 0x33800000, 0x33800001, 0x337FFFFF, 0x34000000, 0x34400000, 0x34800000, 0x3F7FFFFF, 0x3F800000,
    0x3F800001, 0x3FFFFFFF, 0x40000000, 0x4B800000, 0x4C000000, 0x72FFFFFF, 0x73000000, 0x73000001, 0x73800000,
    0x7EFFFFFF, 0x7F000000, 0x7F7FFFFE, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF,
)  # fmt: skip


def corner_pairs(every: bool) -> tuple[NDArray[Any], NDArray[Any]]:
    """Every pair of magnitudes, the partial sum with both signs; the register with both, or with one in turn."""
    corners = np.array([magnitude | sign for magnitude in MAGNITUDES for sign in (0, 1 << 31)], np.uint32)
    at = np.arange(len(corners))
    register, partial = np.meshgrid(at, at)
    keep = (register + register // 2 + partial // 2) % 2 == 1
    return corners[register[keep | every]], corners[partial[keep | every]]


def near_pairs(rng: np.random.Generator, count: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Numbers of any exponent, with another of up to 27 binades less or more; few ones in their fractions, for ties."""
    exponents = rng.integers(0, 255, count)
    others = np.clip(exponents + rng.integers(-27, 28, count), 0, 254)
    fractions = rng.integers(0, 1 << 23, (2, count))
    sparse = rng.random((2, count)) < 0.5
    fractions = np.where(sparse, fractions & rng.integers(0, 1 << 23, (2, count)) & 0x700007, fractions)
    signs = rng.integers(0, 2, (2, count)) << 31
    return tuple(
        (signs[side] | exponent << 23 | fractions[side]).astype(np.uint32)
        for side, exponent in enumerate((exponents, others))
    )  # type: ignore[return-value]


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_f32_corners_are_numpys(every: bool) -> None:
    register, partial = corner_pairs(every)
    assert len(register) == len(MAGNITUDES) ** 2 * (4 if every else 2)
    expected = numpy_sum(register, partial, np.float32, NAN32)
    assert add(adder_of("f32", "f32"), register.tolist(), partial.tolist()) == expected
    # What the corners bring about: overflow, cancellation to zero, subnormal sums, -0.
    codes = set(expected)
    assert {0x7F800000, 0xFF800000, NAN32, 0x80000000, 0x00000001} <= codes


def test_random_f32_pairs_are_numpys() -> None:
    register, partial = near_pairs(np.random.default_rng(11), 1000)
    expected = numpy_sum(register, partial, np.float32, NAN32)
    assert add(adder_of("f32", "f32"), register.tolist(), partial.tolist()) == expected


def test_every_alignment_distance_and_every_cancellation() -> None:
    # 2^d +- (1 + j ulp) and its like: guard, round and sticky bits alone and together, and each left shift.
    register, partial = [], []
    for distance in range(28):
        for low in (0, 1, 2, 0x400000, 0x400001, 0x7FFFFF):
            for high in (0, 0x7FFFFF):
                for sign in (0, 1 << 31):
                    register.append((100 + distance) << 23 | high)
                    partial.append(sign | 100 << 23 | low)
    expected = numpy_sum(np.array(register, np.uint32), np.array(partial, np.uint32), np.float32, NAN32)
    assert add(adder_of("f32", "f32"), register, partial) == expected
    assert add(adder_of("f32", "f32"), partial, register) == expected


@pytest.mark.slow
def test_the_partial_sums_format_is_narrower() -> None:
    # e8m13 in a binary32 container: the same numbers, with ten zeros below.
    register, partial = corner_pairs(every=False)
    keep = (partial & 0x3FF == 0) | (partial == NAN32)
    register, partial = register[keep], partial[keep]
    near_register, near_partial = near_pairs(np.random.default_rng(12), 500)
    register = np.concatenate([register, near_register])
    partial = np.concatenate([partial, near_partial & np.uint32(0xFFFFFC00)])
    expected = numpy_sum(register, partial, np.float32, NAN32)
    assert add(adder_of("e8m13", "f32"), register.tolist(), partial.tolist()) == expected


def own_format(name: str, exponent_bits: int, fraction_bits: int, bias: int) -> FloatFormat:
    keys = {"name": name, "exponent_bits": exponent_bits, "fraction_bits": fraction_bits, "bias": bias}
    return FloatFormat.model_validate({"kind": "float", "nan": "ieee", "infinities": True, **keys})


# Partial sums whose least normal number is above the register's (as f16's is above f32's), far and near, and below.
OTHER_RANGES: dict[str, tuple[Any, Any, str]] = {
    "f16 to f32": ("f16", "f32", "rne"),
    "e4m3 to f16": ("e4m3", "f16", "rd"),
    "e5m2 to bf16": ("e5m2", "bf16", "rz"),
    "binary8p3se to f32": ("binary8p3se", "f32", "rto"),
    "fewer binades than fraction bits": (own_format("near", 5, 7, 15), own_format("wide", 6, 12, 18), "rne"),
    "a binade above": (own_format("above", 4, 5, 7), own_format("next", 5, 8, 8), "ru"),
    "below": (own_format("below", 3, 2, 9), own_format("over", 5, 10, 2), "rna"),
    "e5m2fnuz to f16": ("e5m2fnuz", "f16", "rne"),
}


def pairs_of(register: FloatFormat, partial: FloatFormat, count: int) -> tuple[list[int], list[int]]:
    """Every small code of both, with both signs, and random ones; not padded."""
    rng = np.random.default_rng(17)
    small = [[code | sign for code in (0, 1, 2, 3, (1 << fmt.fraction_bits) - 1, 1 << fmt.fraction_bits)
              for sign in (0, fmt.sign_bit)] for fmt in (register, partial)]  # fmt: skip
    corners = [(one, other) for one in small[0] for other in small[1]]
    registers = [one for one, _ in corners] + rng.integers(0, 1 << register.bits, count).tolist()
    partials = [other for _, other in corners] + rng.integers(0, 1 << partial.bits, count).tolist()
    return registers, partials


@pytest.mark.parametrize("name", others_slow(OTHER_RANGES, list(OTHER_RANGES)[::2]))
def test_the_partial_sums_exponents_have_another_range(name: str) -> None:
    result, register, rounding = OTHER_RANGES[name]
    unit = adder_of(result, register, rounding)
    assert unit.promotion is not None
    assert isinstance(unit.result.format, FloatFormat)
    wide, narrow = unit.promotion.format, unit.result.format
    registers, partials = pairs_of(wide, narrow, 200)
    expected = [
        model_add(wide, (addend_term(wide, one << wide.padding), addend_term(narrow, other)), rounding)
        for one, other in zip(registers, partials, strict=True)
    ]
    assert add(unit, registers, partials) == expected


def f16_pairs(count: int) -> tuple[NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(13)
    register, partial = rng.integers(0, 1 << 16, (2, count)).astype(np.uint16)
    # In a half of them, the same exponent or a neighbour.
    close = (register & 0x7C00).astype(np.int64) + (rng.integers(-3, 4, count) << 10)
    partial[::2] = (partial[::2] & 0x83FF) | np.clip(close[::2], 0, 0x7800).astype(np.uint16)
    return register, partial


def test_f16_pairs_are_numpys() -> None:
    register, partial = f16_pairs(1000)
    expected = numpy_sum(register, partial, np.float16, NAN16)
    assert add(adder_of("f16", "f16"), register.tolist(), partial.tolist()) == expected


@pytest.mark.parametrize("rounding", others_slow(["rz", "ru", "rd", "rna", "rto"], ["rna", "rd"]))
def test_other_roundings_are_those_of_exact_fractions(rounding: str) -> None:
    register, partial = f16_pairs(300)
    got = add(adder_of("f16", "f16", rounding), register.tolist(), partial.tolist())
    checked = 0
    for one, other, code in zip(register.tolist(), partial.tolist(), got, strict=True):
        x, y = read("f16", one), read("f16", other)
        if x.kind == y.kind == "finite" and x.value + y.value:
            assert code == rounded("f16", x.value + y.value, rounding, "ieee"), (hex(one), hex(other))
            checked += 1
    assert checked > 200


@pytest.mark.parametrize(("rounding", "zero"), [("rne", 0), ("rz", 0), ("ru", 0), ("rna", 0), ("rd", 0x80000000)])
def test_an_exact_zero_of_opposite_signs(rounding: str, zero: int) -> None:
    # IEEE 754-2019, 6.3.
    unit = adder_of("f32", "f32", rounding)
    one, minus_one, minus_zero = 0x3F800000, 0xBF800000, 0x80000000
    pairs = [(0, minus_zero, zero), (one, minus_one, zero), (minus_one, one, zero), (0, 0, 0)]
    pairs.append((minus_zero, minus_zero, minus_zero))
    register, partial, expected = zip(*pairs, strict=True)
    assert add(unit, register, partial) == list(expected)


@pytest.mark.parametrize("bits", [1, 2])
def test_a_narrower_adder_is_caught(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Without the sticky bit, or without guard and sticky: the pairs above must tell.
    from hwsim.rtl import accumulate as promote

    monkeypatch.setattr(promote, "BELOW", 3 - bits)
    register, partial = near_pairs(np.random.default_rng(11), 500)
    expected = numpy_sum(register, partial, np.float32, NAN32)
    assert add(adder_of("f32", "f32"), register.tolist(), partial.tolist()) != expected
