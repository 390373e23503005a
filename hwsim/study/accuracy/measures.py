"""The errors of one trial's matrix product, each against an exact reference.

`accumulation` is what the unit returned less the exact product of the quantised operands, `quantization` that product
less the exact product of the numbers before quantisation, `total` what the unit returned less the latter.
`hwsim docs study-measures` has the formulas.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log10
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.formats import FloatFormat, Format
from hwsim.spec import Unit
from hwsim.study.accuracy.bounds import bounds, worst_errors
from hwsim.study.accuracy.exact import Array, DoubleDouble, difference, times

PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
KINDS = ("accumulation", "quantization", "total")
UNDEFINED = float("nan")


@dataclass(frozen=True, kw_only=True)
class TrialOutcome:
    """One trial: what a unit returned of (rows, K) x (K, columns), and what it should have.

    returned: the unit's own results, exact in float64, infinite and NaN ones too.
    quantized: the exact product of the operands in the unit's domain: codes times the scales that enter the unit.
    numbers: the exact product of the numbers before quantisation.
    factor: what the unit's results are multiplied by, of tensors or channels; broadcasts. None is 1.
    magnitude: the sums of |a| |b| in the unit's domain.
    values_a, values_b: (rows, K) and (K, columns): what the codes are worth, without the unit's scales.
    scales_a, scales_b: the scales that enter the unit, one a term, or what broadcasts to it; None for a unit without.
    """

    unit: Unit
    returned: Array
    quantized: DoubleDouble
    numbers: DoubleDouble
    factor: Array | None
    magnitude: Array
    values_a: Array
    values_b: Array
    scales_a: Array | None = None
    scales_b: Array | None = None


class Errors(NamedTuple):
    """Signed errors, and what they are measured against: one of each for every finite result.

    value, reference: rounded to float64. magnitude: sum |a| |b|. ulp: of the result's format at the reference, or None.
    """

    error: Array
    value: Array
    reference: Array
    magnitude: Array
    ulp: Array | None


def trial_measures(outcome: TrialOutcome) -> dict[str, float]:
    """All measures of a trial, by name; `hwsim docs study-measures`. Results that are not finite are counted, and left
    out.

    NaN stands where nothing is left to measure, or 0 / 0: an SNR without a signal and without an error.
    """
    finite = np.isfinite(outcome.returned)
    measured: dict[str, float] = {"nonfinite": float(finite.size - np.count_nonzero(finite))}
    kinds = _kinds(outcome, finite)
    for kind in KINDS:
        measured |= {f"{kind}_{name}": value for name, value in _measures(kinds[kind]).items()}
    measured["accumulation_zero_references"] = _zeros(kinds["accumulation"])
    measured["zero_references"] = _zeros(kinds["total"])
    return measured | _beside_bounds(outcome, finite)


def errors_by_kind(outcome: TrialOutcome) -> dict[str, tuple[Array, float]]:
    """The signed errors of each kind, one for each finite result, and their signal-to-noise ratio in decibels."""
    kinds = _kinds(outcome, np.isfinite(outcome.returned))
    snr = {kind: _energies(np.abs(errors.error), np.abs(errors.reference))["snr_db"] for kind, errors in kinds.items()}
    return {kind: (errors.error, snr[kind]) for kind, errors in kinds.items()}


def measure(
    returned: DoubleDouble, reference: DoubleDouble, magnitude: Array, fmt: Format | None = None
) -> dict[str, float]:
    """The measures of finite numbers against a reference, without a prefix. fmt: of the ulp; None leaves that out."""
    ulp = None if fmt is None else ulps(fmt, reference)
    errors = Errors(difference(returned, reference), returned.hi, reference.hi, magnitude, ulp)
    return _measures(Errors(*(None if part is None else np.ravel(part) for part in errors)))  # type: ignore[arg-type]


def ulps(fmt: Format, reference: DoubleDouble) -> Array:
    """The distance of a format's neighbours around a reference.

    In a binade it is 2^(e - fraction bits), above the largest number too; below the least normal number it is that of
    subnormals, and in a fixed format always the same.
    """
    if not isinstance(fmt, FloatFormat):
        return np.full(reference.hi.shape, 2.0**-fmt.fraction_bits)
    mantissa, exponent = np.frexp(reference.hi)
    # A power of two less something is of the binade below.
    below = (np.abs(mantissa) == 0.5) & (np.sign(reference.lo) == -np.sign(mantissa))
    binade = np.where(reference.hi == 0, fmt.emin, exponent - 1 - below)
    return np.asarray(np.ldexp(1.0, np.maximum(binade, fmt.emin) - fmt.fraction_bits), dtype=np.float64)


def _kinds(outcome: TrialOutcome, finite: NDArray[np.bool_]) -> dict[str, Errors]:
    """The errors of each kind, in the domain of the numbers: the unit's times the factor."""
    shape = finite.shape

    def part(values: Array) -> Array:
        return np.asarray(np.broadcast_to(values, shape)[finite], dtype=np.float64)

    def exact(values: DoubleDouble) -> DoubleDouble:
        return DoubleDouble(part(values.hi), part(values.lo))

    returned, quantized, numbers = (
        DoubleDouble.of(part(outcome.returned)),
        exact(outcome.quantized),
        exact(outcome.numbers),
    )
    factor = part(np.ones(()) if outcome.factor is None else outcome.factor)
    scale, fmt = np.abs(factor), outcome.unit.output
    result, product = times(returned, factor), times(quantized, factor)
    magnitude = part(outcome.magnitude) * scale
    accumulated = difference(returned, quantized) * factor
    ulp = ulps(fmt, quantized) * scale
    # The low part tells on which side of a power of two a reference is: its sign is all that counts.
    ulp_total = ulps(fmt, DoubleDouble(numbers.hi / np.where(scale, scale, 1.0), numbers.lo)) * scale
    return {
        "accumulation": Errors(accumulated, result.hi, product.hi, magnitude, ulp),
        "quantization": Errors(difference(product, numbers), product.hi, numbers.hi, magnitude, None),
        "total": Errors(difference(result, numbers), result.hi, numbers.hi, magnitude, ulp_total),
    }


def _beside_bounds(outcome: TrialOutcome, finite: NDArray[np.bool_]) -> dict[str, float]:
    """The bounds of the unit, and the largest part of the worst case that an accumulation error reached."""
    bound = bounds(outcome.unit, outcome.values_a.shape[1])
    operands = outcome.values_a, outcome.values_b, outcome.scales_a, outcome.scales_b
    most = worst_errors(outcome.unit, *operands)[finite]
    exact = DoubleDouble(outcome.quantized.hi[finite], outcome.quantized.lo[finite])
    size = np.abs(difference(DoubleDouble.of(outcome.returned[finite]), exact))
    # Where nothing can be lost and nothing is, nothing of it is reached.
    parts = np.divide(size, most, out=np.where(size > 0, np.inf, 0.0), where=most > 0)
    return {
        "bound_worst": bound.worst,
        "bound_probabilistic": bound.probabilistic,
        "accumulation_of_worst": _most(parts),
    }


def _measures(errors: Errors) -> dict[str, float]:
    size, reference = np.abs(errors.error), np.abs(errors.reference)
    with np.errstate(over="ignore"):
        relative = _quotients(size, reference)
        values = {
            "relative_max": _most(relative),
            "relative_mean": _mean(relative),
            **_percentiles(relative),
            **_pair("normalized", _quotients(size, errors.magnitude)),
            **_energies(size, reference),
            "bias": _over(_mean(errors.error), _mean(reference)),
            "shrink": _over(_mean(-errors.error * np.sign(errors.reference)), _mean(reference)),
            "cosine": _cosine(errors.value, errors.reference),
        }
        return values if errors.ulp is None else values | _pair("ulp", _quotients(size, errors.ulp))


def _pair(name: str, values: Array) -> dict[str, float]:
    return {f"{name}_max": _most(values), f"{name}_mean": _mean(values)}


def _percentiles(values: Array) -> dict[str, float]:
    if not values.size:
        return {f"relative_{name}": UNDEFINED for name in PERCENTILES}
    quantiles = np.quantile(values, list(PERCENTILES.values()))
    return {f"relative_{name}": float(x) for name, x in zip(PERCENTILES, quantiles, strict=True)}


def _energies(size: Array, reference: Array) -> dict[str, float]:
    error, signal = _root_mean_square(size), _root_mean_square(reference)
    snr = _over(signal, error)
    decibels = 20 * log10(snr) if snr > 0 else -np.inf if snr == 0 else UNDEFINED
    return {"rms": _over(error, signal), "snr_db": decibels}


def _root_mean_square(values: Array) -> float:
    """The root mean square of magnitudes, scaled by the largest so that squares neither overflow nor vanish."""
    most = _most(values)
    return float(most * np.sqrt(np.mean((values / most) ** 2))) if most > 0 else most


def _cosine(x: Array, y: Array) -> float:
    most_x, most_y = _most(np.abs(x)), _most(np.abs(y))
    if not (most_x > 0 and most_y > 0):
        return UNDEFINED
    x, y = x / most_x, y / most_y
    return float(np.clip(np.sum(x * y) / np.sqrt(np.sum(x * x) * np.sum(y * y)), -1.0, 1.0))


def _quotients(x: Array, y: Array) -> Array:
    """The quotients x / y of those places where y is not zero."""
    there = y != 0
    return x / y if there.all() else x[there] / y[there]


def _most(values: Array) -> float:
    return float(values.max()) if values.size else UNDEFINED


def _mean(values: Array) -> float:
    return float(values.mean()) if values.size else UNDEFINED


def _over(x: float, y: float) -> float:
    """x / y; infinite where only y is zero, and undefined where both are."""
    if y == 0:
        return UNDEFINED if x == 0 or np.isnan(x) else float(np.copysign(np.inf, x))
    return x / y


def _zeros(errors: Errors) -> float:
    return float(np.count_nonzero(errors.reference == 0))
