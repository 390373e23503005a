"""Means over trials, and their confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

UNDEFINED = float("nan")


class Interval(NamedTuple):
    """A mean, and the ends of its confidence interval."""

    mean: float
    low: float
    high: float


def interval(values: Sequence[float], confidence: float) -> Interval:
    """The mean over trials, and Student's t interval around it.

    values: one a trial; NaNs, where there was nothing to measure, are left out. Trials have data drawn apart from the
    same source, so that a mean over many is nearly normal; of maxima and of dB too the interval is that of their mean
    over trials, not of the largest possible value.
    Where some are finite, infinite ones are left out: of dB, the trials without any error. The ends are NaN for fewer
    than two values and where all are infinite; the mean of no value is NaN.
    """
    there = [value for value in values if not math.isnan(value)]
    finite = [value for value in there if math.isfinite(value)]
    if not finite:
        return Interval(there[0] if len(set(there)) == 1 else UNDEFINED, UNDEFINED, UNDEFINED)
    there = finite
    count = len(there)
    mean = math.fsum(there) / count
    if count < 2:
        return Interval(mean, UNDEFINED, UNDEFINED)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in there) / (count - 1))
    reach = t_quantile((1 + confidence) / 2, count - 1) * deviation / math.sqrt(count)
    return Interval(mean, mean - reach, mean + reach)


@cache
def t_quantile(probability: float, freedom: int) -> float:
    """The quantile of Student's t distribution at a probability in (1/2, 1), by bisection."""
    high = 1.0
    while _below(high, freedom) < probability:
        high *= 2
    low = 0.0
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (low, middle) if _below(middle, freedom) >= probability else (middle, high)
    return high


def _below(t: float, freedom: int) -> float:
    """The probability of less than t, t >= 0 (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    angle = math.atan(t / math.sqrt(freedom))
    cosine, sine = math.cos(angle), math.sin(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = term if freedom > 1 else 0.0
    for n in range(2 + odd, freedom - 1, 2):
        term *= cosine * cosine * (n - 1) / n
        total += term
    inside = 2 / math.pi * (angle + sine * total) if odd else sine * total
    return (1 + inside) / 2
