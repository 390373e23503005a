"""The errors of rounding numbers to a format: signal to noise, and the shares that become zero or saturate."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.errors import InputTypeError
from hwsim.formats import FloatFormat, Format, get_format
from hwsim.quantize import Rule, get_rule, quantize

Floats = NDArray[np.float64]


def float_format(name: str) -> FloatFormat:
    """A format of that name that hwsim ships. Raises TypeError for one that is no floating-point format."""
    fmt = get_format(name)
    if not isinstance(fmt, FloatFormat):
        raise InputTypeError(f"{name} must be a floating-point format")
    return fmt


def signal_to_noise(numbers: NDArray[Any], rounded: NDArray[Any]) -> float:
    """10 log10(sum of squares / sum of squared errors), in dB; infinite where there is no error.

    Both arrays are finite and of one shape. Everything is float64's, and sums are NumPy's, in pairs: right to 1e-14 dB.
    """
    exact = np.asarray(numbers, np.float64)
    noise, signal = (float(np.square(x, order="C").sum()) for x in (exact - rounded, exact))
    if not noise:
        return math.inf
    return 10 * math.log10(signal / noise) if signal else -math.inf


def lost(numbers: NDArray[Any], rounded: NDArray[Any]) -> float:
    """The share of the numbers other than zero that have become zero."""
    there = np.asarray(numbers) != 0
    gone = int(np.count_nonzero(there & (np.asarray(rounded) == 0)))
    return gone / (int(np.count_nonzero(there)) or 1)


def by_rule(numbers: NDArray[np.float32], rule: str | Rule, **changes: Any) -> Floats:
    """Numbers quantised by a rule along the last axis, and back. changes: to fields of the rule."""
    return np.asarray(quantize(numbers, get_rule(rule), **changes).dequantize(), np.float64)


def by_format(numbers: NDArray[np.float32], fmt: Format) -> Floats:
    """Numbers rounded to the nearest of a format as they are, ties to even; what is too large saturates."""
    return fmt.decode(fmt.encode(numbers, overflow="saturate"))


def saturated(numbers: NDArray[Any], fmt: FloatFormat) -> float:
    """The share of the numbers that lie above the format's largest."""
    largest = float(np.nanmax(np.abs(fmt.decode(np.arange(1 << fmt.bits)))))
    return float(np.mean(np.abs(np.asarray(numbers, np.float64)) > largest))
