"""What must hold of the numbers that are drawn, as functions that mutants must fail."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from study.data import study_data_witness as witness

from hwsim.study.data import Data, draw, parse_data

Floats = NDArray[np.float64]
HERE = Path()
# A level of Kolmogorov's distance that one sample in a thousand is above; seeds are fixed.
UNLIKELY = 1.95


class Known(NamedTuple):
    """A distribution's function, and its mean, variance and fourth central moment."""

    cdf: witness.Cdf
    moments: tuple[float, float, float]


NORMAL_MOMENTS = (0.0, 1.0, 3.0)
HALF_MEAN = math.sqrt(2 / math.pi)


def log_moments(sigma: float) -> tuple[float, float, float]:
    """Of a log-normal distribution with mu = 0 and a random sign."""
    return 0.0, math.exp(2 * sigma**2), math.exp(8 * sigma**2)


KNOWN = {
    "normal": Known(witness.normal_cdf, NORMAL_MOMENTS),
    "normal:mean=3,deviation=0.5": Known(lambda x: witness.normal_cdf((x - 3) / 0.5), (3.0, 0.25, 3 / 16)),
    "uniform": Known(witness.uniform_cdf(-1, 1), (0.0, 1 / 3, 1 / 5)),
    "uniform:low=2,high=6": Known(witness.uniform_cdf(2, 6), (4.0, 16 / 12, 256 / 80)),
    "log-normal:sigma=0.5": Known(witness.log_normal_cdf(0, 0.5, True), log_moments(0.5)),
    "laplace": Known(witness.laplace_cdf, (0.0, 2.0, 24.0)),
    "laplace:scale=4": Known(lambda x: witness.laplace_cdf(x / 4), (0.0, 32.0, 24.0 * 256)),
    "student-t:freedom=9": Known(witness.student_cdf(9), (0.0, 9 / 7, 3 * 81 / (7 * 5))),
    "student-t:freedom=20": Known(witness.student_cdf(20), (0.0, 20 / 18, 3 * 400 / (18 * 16))),
    "non-negative:kind=half-normal": Known(
        witness.half_normal_cdf, (HALF_MEAN, 1 - HALF_MEAN**2, 3 - 8 / math.pi + 4 / math.pi - 12 / math.pi**2)
    ),
    "non-negative:kind=exponential,scale=2": Known(lambda x: witness.exponential_cdf(x / 2), (2.0, 4.0, 9.0 * 16)),
}
# Without a fourth moment: the distribution alone.
HEAVY = {
    **{f"student-t:freedom={n}": witness.student_cdf(n) for n in (1, 2, 3, 4)},
    "log-normal:mu=-2,sigma=2,signed=false": witness.log_normal_cdf(-2, 2, False),
}


def sample(entry: str, count: int, side: str = "a", seed: int = 3, trial: int = 0) -> Floats:
    """Numbers of one side, as a row."""
    data = parse_data(entry, HERE)
    length = 1000 if entry.startswith("outliers") else 512
    rows = -(-count // length)
    drawn = draw(data, seed, trial, length, rows, rows)
    return np.asarray((drawn.a if side == "a" else drawn.b).reshape(-1), dtype=np.float64)[:count]


def assert_distribution(entry: str, cdf: witness.Cdf, side: str) -> None:
    assert witness.kolmogorov(sample(entry, 8000, side), cdf) < UNLIKELY


def assert_normal(side: str) -> None:
    """Kolmogorov's distance, both tails and moments of normal numbers."""
    assert_distribution("normal", witness.normal_cdf, side)
    many = sample("normal", 1 << 20, side)
    witness.assert_normal_tails(many)
    witness.assert_moments(many, *NORMAL_MOMENTS)
    witness.assert_apart(many[:-1], many[1:])
    witness.assert_apart(np.abs(many[:-1]), np.abs(many[1:]))


def assert_signs_apart() -> None:
    """The sign and the magnitude of a log-normal number have nothing to do with each other."""
    many = sample("log-normal", 1 << 16)
    witness.assert_apart(np.sign(many), np.log(np.abs(many)))
    witness.assert_apart(np.sign(many[:-1]), np.sign(many[1:]))
    assert abs(np.sign(many).sum()) < 5 * math.sqrt(len(many))


def assert_all_apart() -> None:
    """A and B, trials, seeds, lengths and names are drawn apart; of lengths, the numbers at the same places."""
    one, other = parse_data("normal", HERE), Data(**{**dict(parse_data("normal", HERE)), "name": "other"})
    base = draw(one, 1, 0, 256, 64, 64)
    a = base.a.reshape(-1)
    witness.assert_apart(a, base.b.T.reshape(-1))
    witness.assert_apart(a, base.b.reshape(-1))
    for data, seed, trial in ((one, 1, 1), (one, 2, 0), (other, 1, 0)):
        witness.assert_apart(a, draw(data, seed, trial, 256, 64, 64).a.reshape(-1))
    witness.assert_apart(a, draw(one, 1, 0, 512, 32, 1).a.reshape(-1))


def outlier_channels(x: NDArray[np.float32]) -> list[int]:
    """Channels whose numbers are larger than any normal number."""
    return [int(i) for i in np.flatnonzero(np.max(np.abs(x), axis=0) > 12)]


def assert_outliers() -> None:
    """A hundredth of the channels, the same in all trials, is 50 times larger; each side has its own."""
    data = parse_data("outliers", HERE)
    trials = [draw(data, 1, trial, 1000, 200, 200) for trial in range(3)]
    wide = outlier_channels(trials[0].a)
    assert len(wide) == 10
    assert [outlier_channels(drawn.a) for drawn in trials] == [wide] * 3
    assert len(outlier_channels(trials[0].b.T)) == 10
    assert outlier_channels(trials[0].b.T) != wide
    assert outlier_channels(draw(data, 2, 0, 1000, 200, 1).a) != wide
    for drawn in trials:
        x = drawn.a.astype(np.float64)
        witness.assert_moments(x[:, wide].reshape(-1) / 50, *NORMAL_MOMENTS)
        witness.assert_moments(np.delete(x, wide, axis=1).reshape(-1), *NORMAL_MOMENTS)
    assert not np.array_equal(trials[0].a, trials[1].a)


def assert_correlated(correlation: float) -> None:
    """Pairs that are multiplied have the correlation; of other channels none, and each is normal by itself."""
    data = parse_data({"distribution": "correlated", "correlation": correlation, "deviation": 2}, HERE)
    a, b = draw(data, 1, 0, 40000, 2, 2)
    n = a.shape[1]
    for row in a.astype(np.float64):
        witness.assert_moments(row, 0.0, 4.0, 48.0)
        for column in b.T.astype(np.float64):
            witness.assert_moments(column, 0.0, 4.0, 48.0)
            # The deviation of a correlation r of n normal pairs is (1 - r^2) / sqrt(n).
            assert abs(np.corrcoef(row, column)[0, 1] - correlation) <= 5 * (1 - correlation**2) / math.sqrt(n) + 1e-7
            witness.assert_apart(row[1:], column[:-1])
    other = draw(data, 1, 1, 40000, 1, 1)
    witness.assert_apart(a[0], other.b[:, 0])
