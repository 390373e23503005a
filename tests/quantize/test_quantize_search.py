"""The format search: its errors are exact sums, rounded once."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import hwsim
from hwsim.quantize import flexible_format, get_rule, search_format


def error(x: Any, numbers: list[Fraction], scale: Fraction) -> float:
    """The mean squared error, by search among the numbers, one element at a time."""
    total = Fraction(0)
    for value in x.ravel().tolist():
        size = abs(Fraction(value)) / scale
        near = min(range(len(numbers)), key=lambda i: (abs(numbers[i] - size), i % 2))
        total += (size - numbers[near]) ** 2
    return float(total * scale**2 / x.size)


def ladder(fraction_bits: int) -> list[Fraction]:
    exponent_bits = 7 - fraction_bits
    found = []
    for code in range(128):
        bexp, frac = divmod(code, 1 << fraction_bits)
        one = Fraction(frac, 1 << fraction_bits) + (bexp > 0)
        found.append(one * Fraction(2) ** (max(bexp, 1) - (1 << exponent_bits - 1)))
    return found


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("fraction_bits", [1, 2, 3, 4, 5, 6])
def test_errors_agree_with_exact_rationals(fraction_bits: int, dtype: Any) -> None:
    x = (np.random.default_rng(fraction_bits).standard_t(3, 23)).astype(dtype)
    got = search_format(x)
    numbers = ladder(fraction_bits)
    for column in (0, 37, 90, 110):
        amax = float(np.abs(x).max())
        scale = np.float32((column + 10) * amax / (100 * float(numbers[-1])))
        assert got.maxima[fraction_bits - 1, column, 0] == float(scale) * float(numbers[-1])
        assert got.errors[fraction_bits - 1, column, 0] == error(x, numbers, Fraction(float(scale)))


def test_ties_go_to_even_as_in_encode() -> None:
    # Every midpoint, of scale 1: at 100 percent of the largest.
    fmt = flexible_format(3)
    numbers = fmt.decode(np.arange(128))
    x = np.append((numbers[1:] + numbers[:-1]) / 2, numbers[-1]).astype(np.float32)
    got = search_format(x, fraction_bits=(3,))
    assert got.maxima[0, 90, 0] == numbers[-1]
    back = hwsim.quantize(x, get_rule("tensor-e4m3").replace(element=fmt, apply="exact"), scale=1.0).dequantize()
    squares = sum((Fraction(float(a)) - Fraction(b)) ** 2 for a, b in zip(x, back.tolist(), strict=True))
    assert got.errors[0, 90, 0] == float(squares / len(x))


def test_the_choice_is_the_least_error_and_quantises_to_it() -> None:
    x = np.random.default_rng(0).standard_normal(400).astype(np.float32)
    got = search_format(x)
    row, column = np.unravel_index(got.errors[..., 0].argmin(), got.errors.shape[:2])
    assert got.format.fraction_bits == got.fraction_bits[row] and got.maximum[0] == got.maxima[row, column, 0]
    rule = get_rule("tensor-e4m3").replace(element=got.format, apply="exact")
    back = hwsim.quantize(x, rule, scale=got.scale).dequantize()
    squares = sum((Fraction(float(a)) - Fraction(float(b))) ** 2 for a, b in zip(x, back, strict=True))
    assert float(squares / 400) == got.errors.min()


def test_uniform_numbers_want_fraction_bits_and_outliers_want_exponent_bits() -> None:
    rng = np.random.default_rng(3)
    uniform = search_format(rng.uniform(-1, 1, 3000).astype(np.float32)).format.fraction_bits
    heavy = search_format((rng.standard_normal(3000) * np.exp2(rng.uniform(0, 12, 3000))).astype(np.float32))
    assert uniform == 6 and heavy.format.fraction_bits < 6


def test_channels_vote_for_a_format_and_have_scales_of_their_own() -> None:
    rng = np.random.default_rng(4)
    x = np.stack([rng.uniform(-1, 1, 200), rng.uniform(-8, 8, 200), rng.standard_t(1, 200)]).astype(np.float32)
    got = search_format(x, axis=0)
    alone = [search_format(row) for row in x]
    bits = [one.format.fraction_bits for one in alone]
    assert got.format.fraction_bits == 6 and bits[:2] == [6, 6] and bits[2] < 6
    assert got.scale.shape == (3, 1) and got.errors.shape == (6, 111, 3)
    assert (got.errors == np.concatenate([one.errors for one in alone], axis=-1)).all()
    assert got.scale[1, 0] == alone[1].scale[0]
    assert search_format(x.T, axis=1, fraction_bits=(6,)).scale.shape == (1, 3)


def test_zeros_have_no_error() -> None:
    got = search_format(np.zeros(5, np.float32))
    assert (got.errors == 0).all() and got.scale.tolist() == [1.0]


def test_far_apart_magnitudes_are_summed_exactly() -> None:
    x = np.array([1e30, 1e-30, 3.0, -(2.0**-140)], np.float32)
    got = search_format(x, fraction_bits=(4,))
    scale = Fraction(float(np.float32(110 * float(x[0]) / (100 * float(ladder(4)[-1])))))
    assert got.errors[0, 100, 0] == error(x, ladder(4), scale)


@pytest.mark.parametrize(
    ("x", "options", "kind", "rule"),
    [
        (np.ones(3, np.int32), {}, TypeError, "x must be a float32 or float64 array"),
        (np.array([1, np.nan]), {}, ValueError, r"x\[1\] is nan, not finite"),
        (np.array([]), {}, ValueError, "x must not be empty"),
        (np.ones(3), {"axis": 1}, ValueError, "axis must be -1 to 0, not 1"),
        (np.ones(3), {"fraction_bits": (7,)}, ValueError, "fraction_bits must be 1 to 6, not 7"),
        (np.ones(3), {"fraction_bits": ()}, ValueError, "fraction_bits must not be empty"),
    ],
)
def test_refusals(x: Any, options: dict[str, Any], kind: type[Exception], rule: str) -> None:
    with pytest.raises(kind, match=rule):
        search_format(x, **options)
