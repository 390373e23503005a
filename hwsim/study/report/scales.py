"""The axes of charts: their ends, ticks and numbers, and the points that they can show."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from hwsim.study.report.contents import Axis, Chart

MOST_TICKS = 9
# 1e-5 and 2.5e7: every font has these letters, of one height.
SCIENTIFIC = (
    "abs(datum.value) >= 0.00999 && abs(datum.value) < 99999 ? format(datum.value, '.4~g')"
    " : replace(format(datum.value, '.3~e'), '+', '')"
)


class PlottedPoint(NamedTuple):
    """A point that is drawn. series: which of the chart's. low and high: value itself where there is no interval."""

    series: int
    at: int
    x: float | str
    y: float
    low: float
    high: float


def places(chart: Chart) -> tuple[list[PlottedPoint], Counter[str]]:
    """The points that the axes can show, and how many they cannot, by the reason."""
    drawn: list[PlottedPoint] = []
    gone: Counter[str] = Counter()
    for number, one in enumerate(chart.series):
        for at, (x, y) in enumerate(zip(one.x, one.y, strict=True)):
            reason = _reason(y, chart.y.log) or ("" if isinstance(x, str) else _reason(x, chart.x.log))
            if reason:
                gone[reason] += 1
                continue
            low, high = (one.low or one.y)[at], (one.high or one.y)[at]
            # An interval that leaves the axis is cut there, and one that is not known is not drawn.
            low, high = (value if math.isfinite(value) else y for value in (low, high))
            drawn.append(PlottedPoint(number, at, x, y, low, high))
    return drawn, gone


def _reason(value: float, log: int | None) -> str:
    if math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return "infinite"
    return "not above zero, so without a place on a logarithmic axis" if log and value <= 0 else ""


def missing(gone: Counter[str], verb: str = "Not drawn") -> str:
    """How many points are not drawn, in words; empty where none is missing."""
    if not gone:
        return ""
    told = "; ".join(f"{count} {reason}" for reason, count in sorted(gone.items()))
    return f"{verb}: {told}."


@dataclass(frozen=True)
class AxisScale:
    """An axis of numbers. low, high: its ends. ticks: where labels stand. label: a Vega expression of datum.value."""

    low: float
    high: float
    log: int | None
    ticks: list[float]
    label: str

    def position(self, value: float) -> float:
        """Where a value stands, from 0 at the low end to 1 at the high one."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def moved(self, value: float, by: float) -> float:
        """The value that stands so far from another, as a share of the axis."""
        if self.log:
            return value * float((self.high / self.low) ** by)
        return value + by * (self.high - self.low)

    def specification(self) -> dict[str, Any]:
        """The scale in Vega-Lite's words."""
        kind = {"type": "log", "base": self.log} if self.log else {"type": "linear", "zero": False}
        return {**kind, "domain": [self.low, self.high], "nice": False}


def scale(axis: Axis, values: Sequence[float], margin: float = 0.04, few: Sequence[float] = ()) -> AxisScale:
    """The axis that shows all values, with a margin that begins at zero where the axis does.

    few : the places that data have, which are labelled each where they are few and stand apart.
    """
    shown = [value for value in values if math.isfinite(value) and (value > 0 or not axis.log)]
    if axis.zero:
        shown.append(0.0)
    low, high = (min(shown), max(shown)) if shown else (1.0, 10.0)
    if axis.log:
        low, high = (low / axis.log, high * axis.log) if low == high else (low, high)
        over = (high / low) ** margin
        ends = low / over, high * over
        ticks = _apart(few, ends, axis.log) or _powers(*ends, axis.log)
        return AxisScale(*ends, axis.log, ticks, _power_label(ticks, axis.log))
    if low == high:
        low, high = low - (abs(low) or 1.0) / 2, high + (abs(high) or 1.0) / 2
    over = (high - low) * margin
    ends = (low if axis.zero and low == 0 else low - over), (high if axis.zero and high == 0 else high + over)
    ticks = _apart(few, ends, None) or _steps(*ends)
    return AxisScale(*ends, None, ticks, _number_label(ticks))


def _apart(few: Sequence[float], ends: tuple[float, float], log: int | None) -> list[float]:
    """The places themselves as ticks, where they are few whole numbers and far enough from one another."""
    ticks = sorted(set(few))
    if not 1 < len(ticks) <= MOST_TICKS + 3 or any(value != int(value) for value in ticks):
        return []
    whole = AxisScale(*ends, log, [], "")
    at = [whole.position(value) for value in ticks]
    return ticks if min(b - a for a, b in pairwise(at)) > 0.055 else []


def _powers(low: float, high: float, base: int) -> list[float]:
    first, last = math.ceil(math.log(low, base) - 1e-9), math.floor(math.log(high, base) + 1e-9)
    if last - first >= 2:
        step = -(-(last - first + 1) // MOST_TICKS)
        return [float(base) ** power for power in range(first, last + 1) if power % step == 0]
    if base == 10 and high / low > 3:
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        return [m * 10.0**power for power in decades for m in (1, 2, 5) if low <= m * 10.0**power <= high]
    return _steps(low, high)


def _steps(low: float, high: float) -> list[float]:
    """Round numbers from low to high, about seven."""
    rough = (high - low) / 8
    unit = 10.0 ** math.floor(math.log10(rough))
    step = unit * next(m for m in (1, 2, 2.5, 5, 10) if m * unit >= rough * 0.999)
    return [round(n * step, 12 - math.floor(math.log10(step))) for n in
            range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]  # fmt: skip


def _power_label(ticks: list[float], base: int) -> str:
    if base == 2:
        if all(1 <= tick <= 1 << 20 for tick in ticks) or not all(math.log2(tick).is_integer() for tick in ticks):
            return "format(datum.value, '.7~g')"
        return "'2^' + format(round(log(datum.value) / LN2), 'd')"
    return "format(datum.value, '.4~g')" if all(1e-3 <= tick < 1e5 for tick in ticks) else SCIENTIFIC


def _number_label(ticks: list[float]) -> str:
    largest = max(map(abs, ticks), default=1.0)
    # A zero has no sign and no exponent.
    many = "format(datum.value, '.4~g')" if 1e-3 <= largest < 1e5 else SCIENTIFIC
    return f"datum.value == 0 ? '0' : {many}"


def short(value: float) -> str:
    """A number in few characters: 0.0123, 1.23, 123, and 1.2e-5 or 1.2e6 where it is small or large."""
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else "∞" if value > 0 else "−∞"
    text = f"{value:.3g}"
    if "e" in text or 0 < abs(value) < 0.00995:
        digits, power = f"{value:.1e}".split("e")
        text = f"{digits.removesuffix('.0')}e{int(power)}"
    return text.replace("-", "−", 1) if value < 0 else text


def spread(value: float, half: float) -> str:
    """A number and half the width of its interval, to as many digits as the interval tells: 81.0 ± 0.4, (2 ± 3)e-4.

    The half is rounded to one digit, or to two where these are below 36. Without one the number is short.
    """
    if not (math.isfinite(value) and math.isfinite(half) and half > abs(value) * 1e-6):
        return short(value)
    largest = max(abs(value), half)
    power = 0 if 0.01 <= largest < 1e5 else math.floor(math.log10(largest))
    value, half = value / 10.0**power, half / 10.0**power
    digits = -math.floor(math.log10(half))
    if half * 10.0**digits < 3.55:
        digits += 1
    digits = max(0, digits)
    # What rounds to zero has no sign.
    text = f"{round(value, digits) + 0.0:.{digits}f} ± {half:.{digits}f}".replace("-", "−", 1)
    return f"({text})e{power}" if power else text
