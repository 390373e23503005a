"""Searches the 8-bit format and the clipping maximum with the least mean squared error."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.base.errors import InputError, InputTypeError
from hwsim.formats import FloatFormat
from hwsim.formats.codes import element
from hwsim.formats.rounding import SIG_BITS, exact

PIECE = 30  # bits; a sum of 2^33 pieces stays within int64


class Prefixes(NamedTuple):
    """Sums of the first 0, 1, ... n magnitudes, in units of 2^unit.

    pieces: int64[pieces, n + 1], of weights 1, 2^30, 2^60...
    """

    pieces: NDArray[np.int64]
    unit: int

    def between(self, start: NDArray[np.int64], end: NDArray[np.int64]) -> list[int]:
        """Sums of the magnitudes from start to end, as integers."""
        totals = [0] * len(start)
        for weight, piece in enumerate(self.pieces):
            part = (piece[end] - piece[start]).tolist()
            totals = [total + (value << PIECE * weight) for total, value in zip(totals, part, strict=True)]
        return totals


def prefixes(magnitudes: NDArray[np.float64]) -> Prefixes:
    """Prefix sums of finite numbers of at least 0, one dimension."""
    number = exact(magnitudes)
    sig, exp = _trimmed(number.sig, number.exp)
    some = sig != 0
    unit = int(exp[some].min()) if some.any() else 0
    shift = np.where(some, exp - unit, 0)
    count = (int(shift.max(initial=0)) + 53) // PIECE + 1
    pieces = np.zeros((count, len(sig) + 1), np.int64)
    low, high = sig & ((1 << PIECE) - 1), sig >> PIECE
    for part, base in ((low, 0), (high, 1)):
        place, up = base + shift // PIECE, shift % PIECE
        shifted = part << up  # at most 59 bits
        for weight in range(count):
            piece = np.where(place == weight, shifted & ((1 << PIECE) - 1), 0)
            piece += np.where(place + 1 == weight, shifted >> PIECE, 0)
            pieces[weight, 1:] += np.cumsum(piece)
    return Prefixes(pieces, unit)


def square_sum(magnitudes: NDArray[np.float64]) -> tuple[int, int]:
    """The sum of squares as an integer and the exponent of its unit."""
    number = exact(magnitudes)
    sig, exp = _trimmed(number.sig, number.exp)
    total, some = 0, sig != 0
    unit = int(exp[some].min()) if some.any() else 0
    low, high = sig & ((1 << 27) - 1), sig >> 27
    for shift in np.unique(exp[some]).tolist():
        here = some & (exp == shift)
        part = 0
        for first, second, weight in ((low, low, 0), (low, high, 28), (high, high, 54)):
            product = first[here] * second[here]  # at most 54 bits
            part += (int((product >> 27).sum()) << 27) + int((product & ((1 << 27) - 1)).sum()) << weight
        total += part << 2 * (shift - unit)
    return total, 2 * unit


def _trimmed(sig: NDArray[np.int64], exp: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Numbers as integers and exponents of their units; with 24 bits, and so fewer pieces, where all are binary32's."""
    sig = sig >> SIG_BITS - 53  # what is below binary64's bits is zero
    cut = 29 if not (sig & ((1 << 29) - 1)).any() else 0
    return sig >> cut, exp - 52 + cut


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
