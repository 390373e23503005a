from __future__ import annotations

import math

import pytest

from hwsim.cases.drawing import Stream, normals
from hwsim.study.results import interval, t_quantile

# Student's t distribution, tables of critical values: (probability below, degrees of freedom): t.
TABLE = {
    (0.975, 1): 12.706, (0.975, 2): 4.303, (0.975, 3): 3.182, (0.975, 7): 2.365, (0.975, 10): 2.228,
    (0.975, 30): 2.042, (0.95, 4): 2.132, (0.95, 30): 1.697, (0.995, 5): 4.032, (0.995, 1): 63.657, (0.9, 8): 1.397,
    (0.975, 100_000): 1.960,
}  # fmt: skip


@pytest.mark.parametrize("at", TABLE)
def test_quantiles_are_those_of_the_tables(at: tuple[float, int]) -> None:
    assert abs(t_quantile(*at) - TABLE[at]) < 6e-4


def test_an_interval_by_hand() -> None:
    # Mean 3, deviation sqrt(2.5), t(0.975, 4) = 2.776.
    found = interval([1, 2, 3, 4, 5], 0.95)
    assert found.mean == 3 and abs(found.high - 3 - 2.776 * math.sqrt(2.5 / 5)) < 1e-3
    assert math.isclose(found.high - 3, 3 - found.low)


def test_what_is_not_finite() -> None:
    nan, inf = math.nan, math.inf
    assert interval([1, nan, 3], 0.95) == interval([1, 3], 0.95)
    assert interval([1, inf, 2], 0.95) == interval([1, 2], 0.95)  # dB of a trial without any error
    assert interval([inf, inf], 0.95).mean == inf and math.isnan(interval([inf, inf], 0.95).low)
    assert math.isnan(interval([inf, -inf], 0.95).mean) and math.isnan(interval([nan], 0.95).mean)
    assert interval([2], 0.95).mean == 2 and math.isnan(interval([2], 0.95).high)


@pytest.mark.parametrize(("confidence", "wrong"), [(0.95, 0.9), (0.8, 0.6)])
def test_the_true_mean_is_in_as_many_intervals_as_is_said(confidence: float, wrong: float) -> None:
    draws = normals(Stream(5, "coverage"), (2000, 5)).tolist()

    def share(asked: float) -> float:
        inside = [(found := interval(row, asked)).low <= 0 <= found.high for row in draws]
        return sum(inside) / len(inside)

    assert abs(share(confidence) - confidence) < 0.02
    assert abs(share(wrong) - confidence) > 0.02  # a mutant: another confidence than was asked for
