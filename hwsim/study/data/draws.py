"""Numbers of a distribution: random words, elementary functions of our own, distributions, and matrices of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.cases.drawing import Stream

Floats = NDArray[np.float64]

# ln 2 in two parts. The first has 32 bits, so that its product with an exponent is exact.
LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10
LOG2_E = 1.4426950408889634
SQRT_HALF = 0.7071067811865476
# atanh(s) / s - 1 = z / 3 + z^2 / 5 + ..., z = s^2 up to 0.0295: what follows is below 2^-54 of it.
ATANH = tuple(1 / (2 * n + 1) for n in range(11, 0, -1))
# exp(r) = 1 + r + r^2 / 2! + ..., |r| up to 0.347: what follows is below 2^-57.
_FACTORIALS = [1.0]
for _n in range(1, 14):
    _FACTORIALS.append(_FACTORIALS[-1] * _n)
EXP = tuple(1 / _f for _f in reversed(_FACTORIALS))

# Rational functions of the inverse, numerator and denominator, highest power first: of 0.425^2 - (p - 1/2)^2 in the
# middle, of sqrt(-log p) - 1.6 in the tails and of sqrt(-log p) - 5 far out.
MIDDLE = (
    (2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
     13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608),
    (5226.495278852854561, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867,
     5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1.0),
)  # fmt: skip
TAIL = (
    (7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177, 1.27045825245236838258,
     3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959, 1.42343711074968357734),
    (1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966, 0.14810397642748007459,
     0.68976733498510000455, 1.6763848301838038494, 2.05319162663775882187, 1.0),
)  # fmt: skip
FAR = (
    (2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386, 0.026532189526576123093,
     0.29656057182850489123, 1.7848265399172913358, 5.4637849111641143699, 6.6579046435011037772),
    (2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5, 7.868691311456132591e-4,
     0.0148753612908506148525, 0.13692988092273580531, 0.59983220655588793769, 1.0),
)  # fmt: skip


def log(x: Floats) -> Floats:
    """The natural logarithm of positive numbers; of subnormal ones too. Its error is below 3e-16 of it."""
    mantissa, exponent = np.frexp(x)
    below = mantissa < SQRT_HALF
    mantissa = np.where(below, mantissa + mantissa, mantissa)
    power = exponent - below.astype(np.float64)
    beyond = mantissa - 1.0
    s = beyond / (mantissa + 1.0)
    z = s * s
    # log(1 + f) = f - s * (f - 2 * series), which rounds less than 2 * atanh(s) does.
    series = _horner(ATANH, z)
    series *= z
    inner = beyond - (series + series)
    inner *= s
    return power * LN2_HIGH + (beyond + (power * LN2_LOW - inner))


def exp(x: Floats) -> Floats:
    """e to the power x, |x| up to 700. Its error is below 3e-16 of it."""
    power = np.rint(x * LOG2_E)
    rest = (x - power * LN2_HIGH) - power * LN2_LOW
    return np.asarray(np.ldexp(_horner(EXP, rest), power.astype(np.int32)))


def inverse_normal(p: Floats) -> Floats:
    """The numbers that a normal number of mean 0 and variance 1 is below with probabilities p, in (0, 1).

    Its error is below 1e-15 of it, where p is at most 1/2. (Wichura, Algorithm AS 241, PPND16, Applied Statistics 37,
    1988; its logarithm is `log`.)
    """
    from_half = p - 0.5
    r = 0.180625 - from_half * from_half
    normal = _ratio(MIDDLE, r)
    normal *= from_half
    outside = np.flatnonzero(r < 0)
    if outside.size:
        below = from_half[outside] < 0
        tail = p[outside]
        root = np.sqrt(-log(np.where(below, tail, 1.0 - tail)))
        size = _ratio(TAIL, root - 1.6)
        far = np.flatnonzero(root > 5.0)
        size[far] = _ratio(FAR, root[far] - 5.0)
        normal[outside] = np.where(below, -size, size)
    return normal


def tree_sum(x: Floats) -> Floats:
    """Sums over the last axis, of pairs, of pairs of pairs and so on: an order that no library chooses."""
    while x.shape[-1] > 1:
        half = x.shape[-1] // 2
        pairs = x[..., :half] + x[..., half : 2 * half]
        x = np.concatenate([pairs, x[..., 2 * half :]], axis=-1)
    return x[..., 0]


def _horner(coefficients: tuple[float, ...], x: Floats) -> Floats:
    """A polynomial, the coefficient of its highest power first."""
    value = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        value *= x
        value += coefficient
    return value


def _ratio(functions: tuple[tuple[float, ...], tuple[float, ...]], x: Floats) -> Floats:
    return _horner(functions[0], x) / _horner(functions[1], x)


BLOCK = 1 << 14  # numbers that are drawn together: what they need stays in the cache
WORDS = 2  # of 32 bits, for a number
LOW_BITS = 12  # of the second word, that are no part of the fraction


class Bits(NamedTuple):
    """The random bits that numbers are made of.

    unit: odd multiples of 2^-53 in (0, 1). negative, other: one bit each, and so three that are drawn apart.
    """

    unit: Floats
    negative: NDArray[np.bool_]
    other: NDArray[np.bool_]

    @property
    def half(self) -> Floats:
        """Odd multiples of 2^-54 in (0, 1/2)."""
        return self.unit * 0.5

    def signed(self, magnitude: Floats) -> Floats:
        """Magnitudes with random signs."""
        return np.where(self.negative, -magnitude, magnitude)


def drawn(count: int, make: Callable[..., Floats], *streams: Stream) -> Floats:
    """float64[count]: the numbers that `make` computes from the Bits of each stream, which must be new.

    A number depends on its place alone, not on the count.
    """
    numbers = np.empty(count)
    for first in range(0, count, BLOCK):
        size = min(BLOCK, count - first)
        numbers[first : first + size] = make(*(_bits(stream, size) for stream in streams))
    return numbers


def _bits(stream: Stream, count: int) -> Bits:
    words = stream.words(WORDS * count).reshape(count, WORDS)
    high, low = words[:, 0], words[:, 1]
    # 52 bits of fraction, and a one below them: below 2^53, and so exact.
    odd = (high << 21) | (low >> LOW_BITS << 1) | 1
    unit = odd.astype(np.float64) * 2.0**-53
    return Bits(unit, (low & 1).astype(bool), (low & 2).astype(bool))


GENERATION = 1  # of the way from words to numbers; another one draws other numbers


@dataclass(frozen=True)
class StreamKey:
    """The keys of one factor of a trial. side: `a` or `b`. name: of the data. The unit is no key."""

    seed: int
    name: str
    side: str
    length: int
    trial: int

    def stream(self, part: str) -> Stream:
        """Random words of this factor of this trial."""
        return self._stream(self.side, self.length, self.trial, part)

    def shared(self, part: str) -> Stream:
        """Random words that both factors of the trial share."""
        return self._stream("both", self.length, self.trial, part)

    def lasting(self, part: str) -> Stream:
        """Random words that this factor has in all trials and lengths."""
        return self._stream(self.side, part)

    def _stream(self, *keys: str | int) -> Stream:
        return Stream(self.seed, "data", GENERATION, self.name, *keys)


def normal(bits: Bits) -> Floats:
    """Mean 0 and variance 1; within 8.3 of zero, where a magnitude of 2^-54 of all ends."""
    return bits.signed(-inverse_normal(bits.half))


def half_normal(bits: Bits) -> Floats:
    """The magnitude of a normal number."""
    return -inverse_normal(bits.half)


def exponential(bits: Bits) -> Floats:
    """Mean 1."""
    return -log(bits.unit)


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
    """The number of Bits that `student_t` takes besides the first."""
    return freedom // 2 + freedom % 2


def largest(words: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The places of the `count` largest words, ascending; of equal ones the first."""
    return np.sort(np.argsort(-words, kind="stable")[:count])
