"""The measures of a trial: against their definitions in rationals, at their edges, and mutants of them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from study.study_fractions import fraction, rational

from hwsim.cases.drawing import Stream, normals
from hwsim.formats import get_format
from hwsim.spec import load_unit
from hwsim.study.accuracy import measures
from hwsim.study.accuracy.exact import DoubleDouble, exact_product, magnitude
from hwsim.study.accuracy.measures import KINDS, TrialOutcome, measure, trial_measures, ulps

pytestmark = pytest.mark.filterwarnings("error")
HOPPER = load_unit("hopper-wgmma-e4m3-f32")
EIGHTH = 2.0**-3


def outcome(
    seed: int = 1, shape: tuple[int, int, int] = (4, 40, 3), factor: NDArray[np.float64] | None = None
) -> TrialOutcome:
    """A made-up unit: its results are cut to 14 bits, its operands to multiples of 1/8."""
    m, k, n = shape
    stream = Stream(seed, "measures")
    a, b = normals(stream, (m, k)), normals(stream, (k, n))
    a8, b8 = np.rint(a / EIGHTH) * EIGHTH, np.rint(b / EIGHTH) * EIGHTH
    quantized = exact_product(a8, b8)
    mantissa, exponent = np.frexp(quantized.hi)
    return TrialOutcome(
        unit=HOPPER,
        returned=np.ldexp(np.trunc(mantissa * 2**11), exponent - 11),
        quantized=quantized,
        numbers=exact_product(a * (1 if factor is None else factor), b),
        factor=factor,
        magnitude=magnitude(a8, b8),
        values_a=a8,
        values_b=b8,
    )


def witness(given: TrialOutcome) -> dict[str, float]:
    """The same measures from their definitions, in rationals."""
    places = [at for at in np.ndindex(given.returned.shape) if math.isfinite(given.returned[at])]
    broad = np.broadcast_to(np.ones(()) if given.factor is None else given.factor, given.returned.shape)
    factor = [fraction(broad[at]) for at in places]
    returned = [fraction(given.returned[at]) * f for at, f in zip(places, factor, strict=True)]
    quantized = [rational(given.quantized, at) * f for at, f in zip(places, factor, strict=True)]
    numbers = [rational(given.numbers, at) for at in places]
    sums = [fraction(given.magnitude[at]) * abs(f) for at, f in zip(places, factor, strict=True)]
    made = {"nonfinite": float(given.returned.size - len(places))}
    for kind, values, references in (
        ("accumulation", returned, quantized),
        ("quantization", quantized, numbers),
        ("total", returned, numbers),
    ):
        made |= {f"{kind}_{name}": x for name, x in _of_kind(values, references, sums).items()}
        if kind != "quantization":
            distance = [
                abs(v - r) / (ulp_of(r / f) * abs(f)) for v, r, f in zip(values, references, factor, strict=True)
            ]
            made |= {f"{kind}_ulp_max": float(max(distance)), f"{kind}_ulp_mean": average(distance)}
    made["accumulation_zero_references"] = float(quantized.count(Fraction(0)))
    made["zero_references"] = float(numbers.count(Fraction(0)))
    return made


def _of_kind(values: list[Fraction], references: list[Fraction], sums: list[Fraction]) -> dict[str, float]:
    errors = [v - r for v, r in zip(values, references, strict=True)]
    relative = sorted(abs(e / r) for e, r in zip(errors, references, strict=True) if r)
    normalized = [abs(e) / s for e, s in zip(errors, sums, strict=True) if s]
    energy, signal = sum(e * e for e in errors), sum(r * r for r in references)
    mean = average([abs(r) for r in references])
    towards = [-e if r > 0 else e if r < 0 else Fraction(0) for e, r in zip(errors, references, strict=True)]
    dot = sum(v * r for v, r in zip(values, references, strict=True))
    return {
        "relative_max": float(relative[-1]),
        "relative_mean": average(relative),
        **{f"relative_{name}": float(quantile(relative, Fraction(q))) for name, q in QUANTILES.items()},
        "normalized_max": float(max(normalized)),
        "normalized_mean": average(normalized),
        "rms": math.sqrt(energy / signal),
        "snr_db": 10 * math.log10(signal / energy) if energy else math.inf,
        "bias": average(errors) / mean,
        "shrink": average(towards) / mean,
        "cosine": float(dot) / math.sqrt(sum(v * v for v in values)) / math.sqrt(signal),
    }


QUANTILES = {"p50": "1/2", "p90": "9/10", "p99": "99/100", "p999": "999/1000"}


def average(values: list[Fraction]) -> float:
    return float(sum(values) / len(values))


def quantile(ordered: list[Fraction], q: Fraction) -> Fraction:
    """Between neighbours in proportion."""
    place = q * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def ulp_of(x: Fraction) -> Fraction:
    """Of e8m13, whose binades start at 2^-126."""
    exponent = -126
    while Fraction(2) ** (exponent + 1) <= abs(x):
        exponent += 1
    return Fraction(2) ** (exponent - 13)


def same(given: TrialOutcome) -> None:
    made, right = trial_measures(given), witness(given)
    assert {name for name in made if "bound" not in name and "worst" not in name} == set(right)
    for name, x in right.items():
        assert made[name] == pytest.approx(x, rel=1e-12, abs=0), name


CHANNELS = np.array([[3.0], [0.125], [-7.0], [0.1]])


@pytest.mark.parametrize("factor", [None, np.array(0.3), CHANNELS], ids=["none", "tensor", "channels"])
@pytest.mark.parametrize("seed", [1, 2])
def test_measures_are_those_of_their_definitions(seed: int, factor: NDArray[np.float64] | None) -> None:
    same(outcome(seed, factor=factor))


def test_results_that_are_not_finite_are_counted_and_left_out() -> None:
    given = outcome(3)
    given.returned[0, 0], given.returned[2, 1], given.returned[3, 2] = np.inf, np.nan, -np.inf
    assert trial_measures(given)["nonfinite"] == 3.0
    same(given)


def test_references_of_zero_are_counted_and_left_out() -> None:
    given = outcome(4)
    given.quantized.hi[0, 0] = given.quantized.hi[1, 1] = given.quantized.lo[0, 0] = given.quantized.lo[1, 1] = 0.0
    given.numbers.hi[2, 2] = given.numbers.lo[2, 2] = 0.0
    measured = trial_measures(given)
    assert (measured["accumulation_zero_references"], measured["zero_references"]) == (2.0, 1.0)
    same(given)


def test_no_error_is_infinite_decibels() -> None:
    given = outcome(5)
    right = TrialOutcome(**{**vars(given), "returned": given.quantized.hi, "numbers": given.quantized})
    measured = trial_measures(right)
    for kind in KINDS:
        assert measured[f"{kind}_snr_db"] == math.inf
        assert measured[f"{kind}_cosine"] == 1.0
        assert measured[f"{kind}_relative_max"] == measured[f"{kind}_rms"] == measured[f"{kind}_bias"] == 0.0


def test_only_what_is_0_over_0_is_nan() -> None:
    zeros = np.zeros((2, 2))
    exact = DoubleDouble(zeros, zeros)
    blank = np.zeros((2, 4)), np.zeros((4, 2))
    nothing = TrialOutcome(
        unit=HOPPER,
        returned=zeros,
        quantized=exact,
        numbers=exact,
        factor=None,
        magnitude=zeros,
        values_a=blank[0],
        values_b=blank[1],
    )
    measured = trial_measures(nothing)
    assert measured["zero_references"] == 4.0
    assert measured["accumulation_ulp_max"] == 0.0
    assert math.isnan(measured["total_snr_db"]) and math.isnan(measured["total_relative_max"])
    wrong = trial_measures(TrialOutcome(**{**vars(nothing), "returned": zeros + 1}))
    assert wrong["total_snr_db"] == -math.inf and wrong["total_rms"] == wrong["total_bias"] == math.inf
    none = trial_measures(TrialOutcome(**{**vars(nothing), "returned": zeros + np.nan}))
    assert none["nonfinite"] == 4.0 and math.isnan(none["total_rms"])


def test_errors_survive_cancellation() -> None:
    # A result that differs from an exact product in its 100th bit only.
    one = DoubleDouble(np.array([[1.0]]), np.array([[2.0**-99]]))
    assert measure(DoubleDouble.of(np.array([[1.0]])), one, np.ones((1, 1)))["relative_max"] == 2.0**-99


def test_huge_and_tiny_numbers_measure_the_same() -> None:
    given = outcome(6)
    base = measure(DoubleDouble.of(given.returned), given.quantized, given.magnitude)
    for scale in (2.0**-500, 2.0**500):
        scaled = DoubleDouble(given.quantized.hi * scale, given.quantized.lo * scale)
        assert measure(DoubleDouble.of(given.returned * scale), scaled, given.magnitude * scale) == base


@pytest.mark.parametrize("name", ["f16", "e4m3", "bf16", "e5m2", "int8"])
def test_ulps_are_the_distances_of_a_format(name: str) -> None:
    fmt = get_format(name)
    numbers = np.unique(fmt.decode(np.arange(1 << fmt.bits)))
    numbers = numbers[np.isfinite(numbers) & (numbers >= 0)]
    middles = (numbers[:-1] + numbers[1:]) / 2
    assert (ulps(fmt, DoubleDouble.of(middles)) == np.diff(numbers)).all()
    assert (ulps(fmt, DoubleDouble.of(-middles)) == np.diff(numbers)).all()
    # At a number the distance to the next one up; a little less than it, that to the one below.
    tiny = np.full(numbers[1:].shape, 2.0**-90)
    assert (ulps(fmt, DoubleDouble(numbers[1:], -tiny)) == np.diff(numbers)).all()
    assert (ulps(fmt, DoubleDouble(-numbers[1:], tiny)) == np.diff(numbers)).all()
    assert (ulps(fmt, DoubleDouble(numbers[:-1], tiny[: len(numbers) - 1])) == np.diff(numbers)).all()


MUTANTS = {
    "difference": lambda x, y: x.hi - y.hi,
    "times": lambda x, factor: x,
    "ulps": lambda fmt, reference: np.spacing(np.abs(reference.hi).astype(np.float32)).astype(np.float64),
    "_root_mean_square": lambda values: float(np.mean(values)),
    "_quotients": lambda x, y: x / np.where(y == 0, 1.0, y),
    "_cosine": lambda x, y: float(np.clip(np.sum(x * y) / np.sum(y * y), -1, 1)),
    "_over": lambda x, y: -x / y if y else math.nan,
    "_percentiles": lambda values: {f"relative_{p}": float(np.max(values)) for p in QUANTILES},
    "_mean": lambda values: float(np.median(values)),
    "_most": lambda values: float(values.ravel()[0]),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_caught(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(measures, name, MUTANTS[name])

    def everything() -> None:
        same(outcome(1, factor=CHANNELS))
        test_references_of_zero_are_counted_and_left_out()
        test_errors_survive_cancellation()

    with pytest.raises(AssertionError):
        everything()
