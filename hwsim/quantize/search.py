"""Searches the 8-bit format and the clipping maximum with the least mean squared error."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.errors import InputError, InputTypeError
from hwsim.formats import FloatFormat
from hwsim.formats.codes import element
from hwsim.quantize.sums import Prefixes, prefixes, square_sum

PERCENT = np.arange(10, 121)  # of the largest magnitude: 111 clipping maxima
FRACTION_BITS = (1, 2, 3, 4, 5, 6)


@dataclass(frozen=True, eq=False, kw_only=True)
class Search:
    """The outcome of a format search.

    format: the chosen format, all of whose codes are numbers, with the bias 2^(exponent_bits - 1).
    scale: float32, what its numbers are multiplied by; a scale of 2^-d is a bias larger by d, d a real number. For a
    channel search in a shape that `hwsim.quantize(..., scale=scale)` takes, with 1 along the channel's elements.
    maximum: float64, the clipping maximum that goes with the scale, in the same shape.
    errors: float64[fraction bits, 111, channels], the mean squared errors, exact sums rounded once.
    fraction_bits: of the rows of errors. maxima: float64[fraction bits, 111, channels], the clipping maxima.
    """

    format: FloatFormat
    scale: NDArray[np.float32]
    maximum: NDArray[np.float64]
    errors: NDArray[np.float64]
    fraction_bits: tuple[int, ...]
    maxima: NDArray[np.float64]


def flexible_format(fraction_bits: int, bits: int = 8) -> FloatFormat:
    """A signed format, all of whose codes are numbers, with subnormals and bias 2^(exponent_bits - 1).

    Raises ValueError where no fraction or exponent bit is left.
    """
    exponent_bits = bits - 1 - fraction_bits
    if fraction_bits < 1 or exponent_bits < 1:
        raise InputError(f"fraction_bits must be 1 to {bits - 2}, not {fraction_bits}")
    return FloatFormat(
        name=f"flexible-e{exponent_bits}m{fraction_bits}", exponent_bits=exponent_bits, fraction_bits=fraction_bits,
        bias=1 << exponent_bits - 1,
    )  # fmt: skip


def search_format(x: Any, axis: int | None = None, fraction_bits: tuple[int, ...] = FRACTION_BITS) -> Search:
    """The format with 8 bits and the clipping maximum that quantise x with the least mean squared error.

    x: float32 or float64 array, finite, not empty.
    axis: None for one scale of the tensor; or the axis of the channels, which have a scale each and a format in common.
    fraction_bits: of the formats that are tried, 1 to 6.

    A candidate's scale is the binary32 number next to (percent * amax) / (100 * largest), a float64 quotient, with
    percent from 10 to 120 and amax of the channel; its clipping maximum is scale * largest. Elements are rounded to
    nearest even and saturate. Of equal errors the first counts: fewer fraction bits, then the smaller maximum.
    Channels vote for their best fraction bits; of equal votes the fewer bits win.
    Raises TypeError for another dtype; ValueError for an axis that is not there and for x that is not finite.
    (Kuzmin et al. 2022, arXiv 2208.09225, section 5; FP8-quantization, range_estimators.py, FP_MSE_Estimator.)
    """
    array = np.asarray(x)
    if array.dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise InputTypeError(f"x must be a float32 or float64 array, not {array.dtype.name}")
    if array.size == 0 or (wrong := ~np.isfinite(array)).any():
        raise InputError("x must not be empty" if array.size == 0 else f"{element('x', array, wrong)}, not finite")
    if axis is not None and not -array.ndim <= axis < array.ndim:
        raise InputError(f"axis must be {-array.ndim} to {array.ndim - 1}, not {axis}")
    formats = [flexible_format(bits) for bits in fraction_bits]
    if not formats:
        raise InputError("fraction_bits must not be empty")
    channels = array.reshape(1, -1) if axis is None else np.moveaxis(array, axis, 0).reshape(array.shape[axis], -1)
    results = [_channel(channel.astype(np.float64), formats) for channel in channels]
    errors = np.stack([errors for errors, _ in results], axis=-1)
    scales = np.stack([scales for _, scales in results], axis=-1)
    votes = np.bincount(errors.min(axis=1).argmin(axis=0), minlength=len(formats))
    row = int(votes.argmax())
    best = errors[row].argmin(axis=0)
    chosen = scales[row][best, np.arange(len(best))]
    shape = tuple(array.shape[axis] if axis is not None and i == axis % array.ndim else 1 for i in range(array.ndim))
    largest = np.array([float(fmt.decode(fmt.max_magnitude)) for fmt in formats])
    return Search(
        format=formats[row], scale=chosen.reshape(shape), errors=errors, fraction_bits=tuple(fraction_bits),
        maximum=(chosen.astype(np.float64) * largest[row]).reshape(shape),
        maxima=scales.astype(np.float64) * largest[:, None, None],
    )  # fmt: skip


def _channel(values: NDArray[np.float64], formats: list[FloatFormat]) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Errors and scales of every candidate: float64 and float32[formats, 111]."""
    magnitudes = np.sort(np.abs(values))
    amax = float(magnitudes[-1])
    sums, squares = prefixes(magnitudes), square_sum(magnitudes)
    errors = np.empty((len(formats), len(PERCENT)))
    scales = np.ones((len(formats), len(PERCENT)), np.float32)
    for row, fmt in enumerate(formats):
        numbers = fmt.decode(np.arange(fmt.max_magnitude + 1))
        if amax:
            with np.errstate(over="ignore", under="ignore"):
                scales[row] = np.clip((PERCENT * amax) / (100 * numbers[-1]), 2.0**-149, np.finfo(np.float32).max)
        for column, scale in enumerate(scales[row].tolist()):
            errors[row, column] = _error(magnitudes, sums, squares, numbers, scale)
    return errors, scales


def _error(
    magnitudes: NDArray[np.float64],
    sums: Prefixes,
    squares: tuple[int, int],
    numbers: NDArray[np.float64],
    scale: float,
) -> float:
    """The mean of (x - v * scale)^2, where x / scale rounds to v; exact, then rounded once.

    The magnitudes are sorted, so those that round to one number stand together: with their count n and their sum s,
    the error is the sum of squares plus, for each number, (n v scale - 2 s) v scale.
    """
    # Products of a number, or of a midpoint, with a binary32 scale have at most 33 bits: exact.
    middles = (numbers[:-1] + numbers[1:]) / 2 * scale
    even_above = np.arange(1, len(numbers)) % 2 == 0
    ends = np.where(
        even_above, np.searchsorted(magnitudes, middles, "left"), np.searchsorted(magnitudes, middles, "right")
    )
    edges = np.concatenate([[0], ends, [len(magnitudes)]])
    used = np.flatnonzero(edges[1:] > edges[:-1])
    start, end = edges[used], edges[used + 1]
    numerators, denominator = _integers(numbers[used] * scale)
    linear, quadratic = 0, 0
    for v, n, s in zip(numerators, (end - start).tolist(), sums.between(start, end), strict=True):
        linear += v * s
        quadratic += n * v * v
    total = _dyadic(*squares) - 2 * _dyadic(linear, sums.unit) / denominator + Fraction(quadratic, denominator**2)
    return float(total / len(magnitudes))


def _integers(values: NDArray[np.float64]) -> tuple[list[int], int]:
    """Values as integers over a common denominator."""
    ratios = [value.as_integer_ratio() for value in values.tolist()]
    denominator = max(below for _, below in ratios)
    return [above * (denominator // below) for above, below in ratios], denominator


def _dyadic(value: int, exp: int) -> Fraction:
    return Fraction(value << exp) if exp >= 0 else Fraction(value, 1 << -exp)
