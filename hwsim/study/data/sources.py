"""Where the numbers of one factor come from: distributions with their parameters, and tensors."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal

import numpy as np
from pydantic import model_validator

from hwsim.formats.yamlfile import RuleError
from hwsim.study.data import distributions
from hwsim.study.data.bits import Bits, drawn
from hwsim.study.data.elementary import Floats
from hwsim.study.data.parameters import (
    Correlation,
    Freedom,
    LogDeviation,
    LogitDeviation,
    LogMean,
    Scale,
    Share,
    Shift,
    StudyModel,
)
from hwsim.study.data.streams import StreamKey


class Source(StudyModel):
    """One factor's numbers. They are drawn as vectors along K: rows of A, and columns of B."""

    @abstractmethod
    def vectors(self, place: StreamKey, count: int) -> Floats:
        """float64[count, place.length]. A vector depends on its index alone, not on the count."""

    def changed(self) -> dict[str, Any]:
        """The parameters that differ from their defaults."""
        return {
            key: value
            for key, value in self.model_dump().items()
            if key != "distribution" and value != type(self).model_fields[key].default
        }


class _Alike(Source):
    """Numbers that are drawn independently, all from the same distribution."""

    def vectors(self, place: StreamKey, count: int) -> Floats:
        streams = [place.stream(part) for part in self.parts]
        return drawn(count * place.length, self.numbers, *streams).reshape(count, place.length)

    @property
    def parts(self) -> tuple[str, ...]:
        """A name for each stream of bits that a number is made of."""
        return ("numbers",)

    @abstractmethod
    def numbers(self, *bits: Bits) -> Floats:
        """The numbers of random bits, of one stream for each of `parts`."""


class NormalSource(_Alike):
    """The normal distribution: weights, and activations behind a normalisation."""

    distribution: Literal["normal"] = "normal"
    mean: Shift = 0.0
    deviation: Scale = 1.0

    def numbers(self, *bits: Bits) -> Floats:
        """mean + deviation z."""
        return self.mean + self.deviation * distributions.normal(*bits)


class UniformSource(_Alike):
    """The uniform distribution from low to high."""

    distribution: Literal["uniform"] = "uniform"
    low: Shift = -1.0
    high: Shift = 1.0

    @model_validator(mode="after")
    def _ordered(self) -> UniformSource:
        if not self.low < self.high:
            raise RuleError("high", f"must be greater than low ({self.low:g}), not {self.high:g}")
        return self

    def numbers(self, *bits: Bits) -> Floats:
        """low + (high - low) u."""
        return distributions.uniform(bits[0], self.low, self.high)


class LogNormalSource(_Alike):
    """exp of a normal number, with a random sign: magnitudes over many binades, as of gradients."""

    distribution: Literal["log-normal"] = "log-normal"
    mu: LogMean = 0.0
    sigma: LogDeviation = 1.0
    signed: bool = True

    def numbers(self, *bits: Bits) -> Floats:
        """+-exp(mu + sigma z)."""
        return distributions.log_normal(bits[0], self.mu, self.sigma, self.signed)


class StudentTSource(_Alike):
    """Student's t: heavy tails, the heavier the fewer the degrees of freedom."""

    distribution: Literal["student-t"] = "student-t"
    freedom: Freedom = 4
    scale: Scale = 1.0

    @property
    def parts(self) -> tuple[str, ...]:
        """A normal number, and what chi-squared is a sum of."""
        return ("numbers", *(f"chi-squared {i}" for i in range(distributions.student_t_parts(self.freedom))))

    def numbers(self, *bits: Bits) -> Floats:
        """scale z / sqrt(chi-squared / freedom)."""
        return self.scale * distributions.student_t(self.freedom, *bits)


class LaplaceSource(_Alike):
    """An exponential number with a random sign: sharper than a normal distribution, with tails in between."""

    distribution: Literal["laplace"] = "laplace"
    scale: Scale = 1.0

    def numbers(self, *bits: Bits) -> Floats:
        """+-scale e."""
        return self.scale * distributions.laplace(*bits)


class NonNegativeSource(_Alike):
    """Numbers that are never negative, as behind an activation function: sums only grow."""

    distribution: Literal["non-negative"] = "non-negative"
    kind: Literal["relu-normal", "half-normal", "exponential"] = "relu-normal"
    scale: Scale = 1.0

    def numbers(self, *bits: Bits) -> Floats:
        """scale times max(0, z), |z| or e."""
        unit = {
            "relu-normal": distributions.relu_normal,
            "half-normal": distributions.half_normal,
            "exponential": distributions.exponential,
        }[self.kind]
        return self.scale * unit(*bits)


class OutliersSource(Source):
    """Normal numbers, those of some channels (indices along K) `factor` times larger, as in activations.

    fraction: of the channels, at least one. Which ones they are depends on the seed and the data's name, not on the
    trial; each factor has its own.
    """

    distribution: Literal["outliers"] = "outliers"
    deviation: Scale = 1.0
    fraction: Share = 0.01
    factor: Scale = 50.0

    def vectors(self, place: StreamKey, count: int) -> Floats:
        """Normal numbers, the columns of the channels times factor."""
        found = NormalSource(deviation=self.deviation).vectors(place, count)
        words = place.lasting("channels").words(place.length)
        wide = max(1, int(self.fraction * place.length + 0.5))
        found[:, distributions.largest(words, wide)] *= self.factor
        return found


class SoftmaxSource(Source):
    """Vectors along K that are a softmax of normal numbers: attention's probabilities, which add to 1."""

    distribution: Literal["softmax"] = "softmax"
    deviation: LogitDeviation = 1.0

    def vectors(self, place: StreamKey, count: int) -> Floats:
        """exp(x_k) / sum of exp(x_i)."""
        logits = NormalSource(deviation=self.deviation).vectors(place, count)
        return distributions.softmax(logits)


class CorrelatedSource(Source):
    """Normal numbers of which those of A and B share a part v_k, for both sides together.

    Every pair (a_ik, b_kj) that is multiplied has that correlation, and the mean of its product is correlation times
    deviation^2.
    """

    distribution: Literal["correlated"] = "correlated"
    correlation: Correlation = 0.5
    deviation: Scale = 1.0

    def vectors(self, place: StreamKey, count: int) -> Floats:
        """deviation (sqrt(c) v_k + sqrt(1 - c) z_ik), c = |correlation|; B's v_k have its sign."""
        size = np.float64(abs(self.correlation))
        common = drawn(place.length, distributions.normal, place.shared("correlated"))
        own = NormalSource().vectors(place, count)
        sign = -1.0 if place.side == "b" and self.correlation < 0 else 1.0
        return np.asarray(self.deviation * (sign * np.sqrt(size) * common + np.sqrt(1.0 - size) * own))


DISTRIBUTIONS: dict[str, type[Source]] = {
    kind.model_fields["distribution"].default: kind
    for kind in (
        NormalSource,
        UniformSource,
        LogNormalSource,
        StudentTSource,
        LaplaceSource,
        OutliersSource,
        NonNegativeSource,
        SoftmaxSource,
        CorrelatedSource,
    )
}
