"""hwsim.model.dot against NumPy's binary32 and binary64, where one rounding or none makes them comparable."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from built_presets import others_slow
from numpy.typing import NDArray
from unit_keys import odd_unit, window

import hwsim
import hwsim.model

HOPPER = "hopper-wgmma-e4m3-f32"


def bits(array: NDArray[Any]) -> list[int]:
    codes: list[int] = array.view({2: np.uint16, 4: np.uint32}[array.itemsize]).tolist()
    return codes


FACTORS = [("e4m3", "e5m2"), ("mxint8", "e4m3"), ("e4m3", "e4m3"), ("e5m2", "e5m2")]


@pytest.mark.parametrize(
    ("a", "b", "step"), others_slow([(*FACTORS[0], 5), *((*pair, 1) for pair in FACTORS)], [(*FACTORS[0], 5)])
)
def test_every_single_product_is_exact(a: str, b: str, step: int) -> None:
    # At most 8 bits, in a window of at least 14 below max_exp, and far inside e8m13's range: nothing to round.
    unit = odd_unit("odd", (a, b), "f32", window(13), "e8m13", 1, rounding="rz")
    left, right = (side.ravel() for side in np.meshgrid(np.arange(256), np.arange(0, 256, step), indexing="ij"))
    got = hwsim.model.dot(unit, left[:, None], right[:, None])
    with np.errstate(invalid="ignore"):
        want = (unit.operands.a.decode(left) * unit.operands.b.decode(right)).astype(np.float32)
    nan = np.isnan(want)
    assert set(bits(got[nan])) <= {0x7FFFFFFF}
    # A sum that is exactly zero is +0, whatever the signs of its terms.
    assert bits(got[~nan]) == bits(want[~nan] + np.float32(0))


@pytest.mark.parametrize("fmt", ["f16", "bf16", "tf32"])
def test_wide_products_round_as_binary32_does(fmt: str) -> None:
    # tf32 has 11 significand bits, so a product has 22 and fits binary32; products are kept off its ends.
    unit = odd_unit("odd", fmt, "f32", window(30), "f32", 1)
    random = np.random.default_rng(5)
    values = random.normal(size=(2, 500)).astype(np.float32) * np.float32(2.0) ** random.integers(-6, 7, (2, 500))
    codes = [unit.operands.a.encode(side) for side in values]
    want = np.multiply(*(unit.operands.a.decode(side) for side in codes)).astype(np.float32)
    assert bits(hwsim.model.dot(unit, codes[0][:, None], codes[1][:, None])) == bits(want)


def test_small_integers_are_summed_as_numpy_sums_them() -> None:
    # Products of integers up to 8 in magnitude: 32 of them and an addend stay below 2^13, as multiples of 1.
    random = np.random.default_rng(6)
    a, b = random.integers(-8, 9, (2, 200, 32)).astype(np.float64)
    c = random.integers(-64, 65, 200).astype(np.float32)
    fmt = hwsim.get_format("e4m3")
    got = hwsim.model.dot(HOPPER, fmt.encode(a), fmt.encode(b), c)
    assert bits(got) == bits(((a * b).sum(axis=1) + c).astype(np.float32))


@pytest.mark.parametrize("rounding", ["rne", "rz", "ru", "rd"])
def test_one_rounding_of_an_exact_window(rounding: str) -> None:
    # 40 fraction bits hold every product of e4m3 and of an f32 addend near 1 exactly, and float64 does too.
    unit = odd_unit("odd", "e4m3", "f32", window(40), "f32", 8, rounding=rounding)
    random = np.random.default_rng(7)
    codes = random.integers(0x20, 0x50, (2, 300, 8)) | random.integers(0, 2, (2, 300, 8)) << 7
    c = random.normal(size=300).astype(np.float32)
    exact = np.multiply(*(unit.operands.a.decode(side) for side in codes)).sum(axis=1) + c.astype(np.float64)
    near = exact.astype(np.float32)
    low, high = (np.where(near > exact, np.nextafter(near, np.float32(-np.inf)), near) for _ in range(2))
    high = np.where(low < exact, np.nextafter(low, np.float32(np.inf)), low)
    want = {"rne": near, "rd": low, "ru": high, "rz": np.where(exact > 0, low, high)}[rounding]
    assert bits(hwsim.model.dot(unit, codes[0], codes[1], c)) == bits(want)
    assert np.mean(low != high) > 0.5, "most of these sums should need rounding"


@pytest.mark.parametrize("k", [128, 160, 257, 384])
def test_promotion_is_binary32_addition(k: int) -> None:
    random = np.random.default_rng(k)
    a, b = random.integers(0, 0x60, (2, 60, k)) | random.integers(0, 2, (2, 60, k)) << 7
    c = random.normal(size=60).astype(np.float32)
    register = c
    for start in range(0, k, 128):
        register = register + hwsim.model.dot(HOPPER, a[:, start : start + 128], b[:, start : start + 128])
    assert register.dtype == np.float32
    assert bits(hwsim.model.dot("deepseek-v3-e4m3-f32", a, b, c)) == bits(register)


def test_promotion_rounds_once_at_the_ends_of_binary32() -> None:
    # Ties, cancellation to subnormals, infinities and NaN, through the register's addition alone: partials are exact.
    fmt = hwsim.get_format("e4m3")
    partial = np.array([1, -1, 448, -448, 2.0**-9, -(2.0**-9), 0], dtype=np.float32)
    edges = np.array(
        [0x33800000, 0xB3800000, 0x4B800000, 0x4B7FFFFF, 0x4F800001, 0x00000001, 0x7F7FFFFF, 0xFF7FFFFF, 0x80000000],
        dtype=np.uint32,
    ).view(np.float32)
    c, p = (side.ravel() for side in np.meshgrid(edges, partial))
    got = hwsim.model.dot("deepseek-v3-e4m3-f32", fmt.encode(p)[:, None], fmt.encode(np.ones(p.size))[:, None], c)
    assert bits(got) == bits(c + (p + np.float32(0)))
