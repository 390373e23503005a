"""Distributions by other means: Decimal for the elementary functions, Python's floats one by one, closed forms."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, getcontext
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from hwsim.cases.drawing import key_of
from hwsim.formats.stochastic import threefry2x32

getcontext().prec = 70
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803")
Cdf = Callable[[float], float]


def normal_below(x: Decimal) -> Decimal:
    """The normal distribution at x: 1/2 + density (x + x^3 / 3 + x^5 / 15 + ...)."""
    term = total = x
    n = 1
    while abs(term) > Decimal(10) ** -65:
        n += 2
        term *= x * x / n
        total += term
    return Decimal("0.5") + density(x) * total


def density(x: Decimal) -> Decimal:
    return (-x * x / 2).exp() / (2 * PI).sqrt()


def normal_cdf(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2))


def student_cdf(freedom: int) -> Cdf:
    """Abramowitz and Stegun, 26.7.3 and 26.7.4."""

    def below(t: float) -> float:
        theta = math.atan(t / math.sqrt(freedom))
        cosine, total = math.cos(theta), 0.0
        first = freedom % 2
        term = cosine if first else 1.0
        for i in range(1 + first, freedom, 2):
            total += term
            term *= cosine * cosine * i / (i + 1)
        both = math.sin(theta) * total
        return 0.5 + 0.5 * (2 / math.pi * (theta + both) if first else both)

    return below


def laplace_cdf(x: float) -> float:
    return 0.5 * math.exp(x) if x < 0 else 1 - 0.5 * math.exp(-x)


def exponential_cdf(x: float) -> float:
    return -math.expm1(-x) if x > 0 else 0.0


def half_normal_cdf(x: float) -> float:
    return math.erf(x / math.sqrt(2)) if x > 0 else 0.0


def log_normal_cdf(mu: float, sigma: float, signed: bool) -> Cdf:
    def magnitude(x: float) -> float:
        return normal_cdf((math.log(x) - mu) / sigma) if x > 0 else 0.0

    return (lambda x: 0.5 + math.copysign(0.5 * magnitude(abs(x)), x)) if signed else magnitude


def uniform_cdf(low: float, high: float) -> Cdf:
    return lambda x: min(max((x - low) / (high - low), 0.0), 1.0)


def kolmogorov(sample: NDArray[np.float64], cdf: Cdf) -> float:
    """sqrt(n) times the largest distance of the distributions; above 1.95 once in a thousand samples."""
    ordered = np.sort(sample)
    expected = np.array([cdf(float(x)) for x in ordered])
    steps = np.arange(len(ordered) + 1) / len(ordered)
    distance = max(np.max(steps[1:] - expected), np.max(expected - steps[:-1]))
    return float(distance * math.sqrt(len(ordered)))


def assert_normal_tails(sample: NDArray[np.float64]) -> None:
    """Of a large sample, as many numbers beyond each place as there must be, on both sides, within 5 deviations."""
    for place in (0.5, 1, 2, 3, 3.5, 4, 4.5):
        share = normal_cdf(-place)
        expected = len(sample) * share
        for side in (sample > place, sample < -place):
            assert abs(int(side.sum()) - expected) <= 5 * math.sqrt(expected * (1 - share)) + 1, place


def assert_moments(sample: NDArray[np.float64], mean: float, variance: float, fourth: float) -> None:
    """Mean and variance within 5 deviations of theirs; fourth: the central moment."""
    n = sample.size
    assert abs(sample.mean() - mean) <= 5 * math.sqrt(variance / n)
    assert abs(sample.var() - variance) <= 5 * math.sqrt((fourth - variance**2) / n) + variance / n


def assert_apart(one: NDArray[np.float64], other: NDArray[np.float64]) -> None:
    """No correlation: within 5 deviations of none."""
    assert abs(np.corrcoef(one, other)[0, 1]) <= 5 / math.sqrt(len(one))


def first_normals(seed: int, count: int, *names: str | int) -> list[float]:
    """The numbers of a stream, word by word, by Python's integers and its own inverse of the distribution."""
    key = key_of(seed, *names)

    def word(place: int) -> int:
        return int(threefry2x32((key & 0xFFFFFFFF, key >> 32), (place, 0))[0])

    found = []
    for i in range(count):
        high, low = word(2 * i), word(2 * i + 1)
        odd = (high << 20 | low >> 12) * 2 + 1
        z = NormalDist().inv_cdf(odd / 2**54)
        found.append(z if low & 1 else -z)
    return found


def scalar_log(x: float) -> float:
    """hwsim's logarithm by Python's floats, which are rounded one by one."""
    mantissa, exponent = math.frexp(x)
    if mantissa < 0.7071067811865476:
        mantissa, exponent = mantissa * 2, exponent - 1
    beyond = mantissa - 1.0
    s = beyond / (mantissa + 1.0)
    z = s * s
    series = 1 / 23
    for n in range(10, 0, -1):
        series = series * z + 1 / (2 * n + 1)
    series *= z
    return exponent * 0.6931471803691238 + (beyond + (exponent * 1.9082149292705877e-10 - (beyond - 2 * series) * s))


def scalar_exp(x: float) -> float:
    """hwsim's exponential in the same way."""
    power = round(x * 1.4426950408889634)
    rest = (x - power * 0.6931471803691238) - power * 1.9082149292705877e-10
    value = 1 / math.factorial(13)
    for n in range(12, -1, -1):
        value = value * rest + 1 / math.factorial(n)
    return math.ldexp(value, power)
