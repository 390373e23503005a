"""Distributions as functions of random bits, of unit scale. All by the inverse of the distribution, in one step."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hwsim.study.data.bits import Bits
from hwsim.study.data.elementary import Floats, exp, inverse_normal, log, tree_sum


def normal(bits: Bits) -> Floats:
    """Mean 0 and variance 1; within 8.3 of zero, where a magnitude of 2^-54 of all ends."""
    return bits.signed(-inverse_normal(bits.half))


def half_normal(bits: Bits) -> Floats:
    """The magnitude of a normal number."""
    return -inverse_normal(bits.half)


def relu_normal(bits: Bits) -> Floats:
    """A normal number where it is positive, else zero."""
    return np.where(bits.negative, 0.0, half_normal(bits))


def exponential(bits: Bits) -> Floats:
    """Mean 1."""
    return -log(bits.unit)


def laplace(bits: Bits) -> Floats:
    """An exponential number with a random sign: mean 0 and variance 2."""
    return bits.signed(exponential(bits))


def uniform(bits: Bits, low: float, high: float) -> Floats:
    """From low to high."""
    return low + (high - low) * bits.unit


def log_normal(bits: Bits, mu: float, sigma: float, signed: bool) -> Floats:
    """exp of a normal number of mean mu and deviation sigma; signed: with a random sign."""
    size = exp(mu + sigma * normal(bits))
    return np.where(bits.other, -size, size) if signed else size


def student_t(freedom: int, first: Bits, *rest: Bits) -> Floats:
    """Student's t: a normal number over the root of chi-squared / freedom, which has `freedom` degrees of freedom.

    rest: of what chi-squared is a sum of: twice an exponential number for every two degrees, and the square of a
    normal number for an odd one; `student_t_parts` of them.
    """
    pairs = freedom // 2
    squared = np.zeros_like(first.unit)
    for bits in rest[:pairs]:
        squared += 2.0 * exponential(bits)
    for bits in rest[pairs:]:
        root = half_normal(bits)
        squared += root * root
    return normal(first) / np.sqrt(squared / freedom)


def student_t_parts(freedom: int) -> int:
    """How many Bits `student_t` takes besides the first."""
    return freedom // 2 + freedom % 2


def largest(words: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The places of the `count` largest words, ascending; of equal ones the first."""
    return np.sort(np.argsort(-words, kind="stable")[:count])


def softmax(logits: Floats) -> Floats:
    """exp of each over the sum of its row: rows of positive numbers that add to 1, nearly. logits: within 700 of 0."""
    size = exp(logits.reshape(-1)).reshape(logits.shape)
    return np.asarray(size / tree_sum(size)[..., np.newaxis])
