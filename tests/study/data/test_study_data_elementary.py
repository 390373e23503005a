"""Logarithm, exponential and the inverse of the normal distribution: right to 1e-15, the same bits everywhere."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pytest
from numpy.typing import NDArray
from study.data.study_data_witness import density, normal_below, scalar_exp, scalar_log

from hwsim.study.data import draws as elementary

Floats = NDArray[np.float64]
BOUND, NEAR = Decimal("1e-15"), Decimal("3e-16")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def positive(rng: np.random.Generator) -> Floats:
    near = np.concatenate([1 - 2.0 ** -np.arange(1, 53), 1 + 2.0 ** -np.arange(1, 52)])
    halves = np.nextafter([elementary.SQRT_HALF] * 2, [0, 1])
    wide = 10.0 ** rng.integers(-307, 307, 100) * (1 + rng.random(100))
    return np.concatenate([rng.random(400), near, halves, wide, 2.0 ** -np.arange(1, 60), [5e-324, 1e-310]])


def exponents(rng: np.random.Generator) -> Floats:
    steps = (np.arange(-40, 40) + 0.5) * np.log(2)
    return np.concatenate([rng.uniform(-1, 1, 300), rng.uniform(-700, 700, 300), steps, [0.0, 1e-300, -700, 700]])


def probabilities(rng: np.random.Generator) -> Floats:
    # 0.075 is where the tails begin, exp(-25) where the far ones do.
    edges = [0.075, np.nextafter(0.075, 0), np.exp(-25), np.nextafter(np.exp(-25), 0), 0.5 - 2.0**-53]
    return np.concatenate([rng.random(150) / 2, edges, 2.0 ** -np.arange(2.0, 55), 10.0 ** -rng.uniform(1, 16, 100)])


def assert_log(log: Callable[[Floats], Floats], x: Floats) -> None:
    for given, got in zip(x.tolist(), log(x).tolist(), strict=True):
        right = Decimal(given).ln()
        assert abs(Decimal(got) - right) <= NEAR * abs(right), given


def assert_exp(exp: Callable[[Floats], Floats], x: Floats) -> None:
    for given, got in zip(x.tolist(), exp(x).tolist(), strict=True):
        right = Decimal(given).exp()
        assert abs(Decimal(got) - right) <= NEAR * right, given


def assert_inverse(inverse: Callable[[Floats], Floats], p: Floats) -> None:
    for given, got in zip(p.tolist(), inverse(p).tolist(), strict=True):
        z = Decimal(got)
        off = (normal_below(z) - Decimal(given)) / density(z)  # Newton's step to the right number
        assert abs(off) <= BOUND * abs(z), given


def test_the_logarithm_is_right(rng: np.random.Generator) -> None:
    assert_log(elementary.log, positive(rng))
    assert elementary.log(np.array([1.0])).tolist() == [0.0]


def test_the_exponential_is_right(rng: np.random.Generator) -> None:
    assert_exp(elementary.exp, exponents(rng))


def test_the_inverse_of_the_normal_distribution_is_right(rng: np.random.Generator) -> None:
    p = probabilities(rng)
    assert_inverse(elementary.inverse_normal, p)
    upper = np.array([0.6, 0.9, 0.95, 0.999, 1 - 2.0**-40])
    assert elementary.inverse_normal(upper).tolist() == (-elementary.inverse_normal(1 - upper)).tolist()


def test_an_array_has_the_bits_of_its_numbers_one_by_one(rng: np.random.Generator) -> None:
    # Python rounds every operation by itself; vectors of any width and alignment must do so too.
    x, y = positive(rng), exponents(rng)
    assert elementary.log(x).tolist() == [scalar_log(value) for value in x.tolist()]
    assert elementary.exp(y).tolist() == [scalar_exp(value) for value in y.tolist()]
    p = probabilities(rng)
    whole = elementary.inverse_normal(p)
    assert whole.tolist() == [elementary.inverse_normal(p[i : i + 1])[0] for i in range(len(p))]
    assert whole[1::3].tolist() == elementary.inverse_normal(p[1::3]).tolist()


def test_a_tree_adds_neighbours(rng: np.random.Generator) -> None:
    for count in (1, 2, 3, 5, 8, 13):
        x = rng.standard_normal((2, count))

        def tree(values: list[float]) -> float:
            while len(values) > 1:
                half = len(values) // 2
                values = [values[i] + values[half + i] for i in range(half)] + values[2 * half :]
            return values[0]

        assert elementary.tree_sum(x).tolist() == [tree(row) for row in x.tolist()]


MUTANTS = {
    "a term less of the logarithm": ("ATANH", elementary.ATANH[3:], assert_log, elementary.log, positive),
    "ln 2 in one part": ("LN2_LOW", 0.0, assert_log, elementary.log, positive),
    "a term less of the exponential": ("EXP", elementary.EXP[2:], assert_exp, elementary.exp, exponents),
    "far tails as the tails": ("FAR", elementary.TAIL, assert_inverse, elementary.inverse_normal, probabilities),
    "tails as the middle": ("TAIL", elementary.MIDDLE, assert_inverse, elementary.inverse_normal, probabilities),
    "a digit of a coefficient": (
        "MIDDLE",
        ((*elementary.MIDDLE[0][:-1], elementary.MIDDLE[0][-1] * (1 + 1e-14)), elementary.MIDDLE[1]),
        assert_inverse,
        elementary.inverse_normal,
        probabilities,
    ),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutants_are_caught(mutant: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    name, value, verdict, function, cases = MUTANTS[mutant]
    monkeypatch.setattr(elementary, name, value)
    with pytest.raises(AssertionError):
        verdict(function, cases(rng))
