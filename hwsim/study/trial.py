"""Trials: data drawn, quantised, multiplied by units, and measured against exact products."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.base.errors import InputError
from hwsim.compute.products import FEW, chosen, gemm
from hwsim.explain.explained import explain
from hwsim.spec import Unit
from hwsim.study.accuracy.exact import DoubleDouble, exact_product, magnitude
from hwsim.study.accuracy.measures import TrialOutcome, trial_measures
from hwsim.study.accuracy.swamped import swamped_terms
from hwsim.study.data import Data, draw
from hwsim.study.plan.grid import Point
from hwsim.study.plan.scaling import QuantizedFactor, Scaling, apply

Floats = NDArray[np.float64]
Row = dict[str, Any]


@dataclass(frozen=True)
class Trials:
    """Trials of points that share their data and length.

    explained: how many results of each are compared with the definition. compiled: whether the study is large enough
    to load compiled kernels for.
    """

    data: Data
    length: int
    seed: int
    rows: int
    columns: int
    explained: int
    trials: tuple[int, ...]
    points: tuple[Point, ...]
    compiled: bool


class Disagreement(Exception):
    """A compiled kernel and the definition return different results."""


class QuantizedProduct(NamedTuple):
    """The quantised factors of all units of the same formats and scaling, and their exact product."""

    a: QuantizedFactor
    b: QuantizedFactor
    product: DoubleDouble
    magnitude: Floats
    factor: Floats | None


def execute(task: Trials) -> list[Row]:
    """The rows of trials: `point`, `trial`, and the measures of each.

    Pure: the same rows wherever and whenever it runs. Raises Disagreement where a kernel is wrong.
    """
    return list(rows(task))


def rows(task: Trials) -> Iterator[Row]:
    """The rows of trials, one after the other."""
    for trial in task.trials:
        drawn = draw(task.data, task.seed, trial, task.length, task.rows, task.columns)
        numbers = exact_product(drawn.a.astype(np.float64), drawn.b.astype(np.float64))
        known: dict[Any, QuantizedProduct] = {}
        for point in task.points:
            key = point.scaling.a, point.scaling.b, point.unit.scale
            if key not in known:
                known[key] = _quantized(point, drawn.a, drawn.b)
            yield {"point": point.index, "trial": trial, **_measured(task, point, known[key], numbers)}


def _quantized(point: Point, a: NDArray[np.float32], b: NDArray[np.float32]) -> QuantizedProduct:
    try:
        return quantized_product(point.unit, point.scaling, a, b)
    except ValueError as error:
        raise InputError(f"{point.name}: {error}") from None


def quantized_product(unit: Unit, scaling: Scaling, a: NDArray[Any], b: NDArray[Any]) -> QuantizedProduct:
    """The factors (M, K) and (K, N) of a product, quantised, and their exact product. Raises as `apply` does."""
    of_a, of_b = apply(scaling.a, "a", unit, a), apply(scaling.b, "b", unit, b)
    factors = [one.factor for one in (of_a, of_b) if one.factor is not None]
    # Two numbers of 24 bits: exact.
    factor = None if not factors else factors[0] if len(factors) == 1 else factors[0] * factors[1]
    values = of_a.values, of_b.values
    return QuantizedProduct(of_a, of_b, exact_product(*values), magnitude(*values), factor)


def _measured(task: Trials, point: Point, made: QuantizedProduct, numbers: DoubleDouble) -> dict[str, float]:
    if task.compiled:
        chosen(point.unit, FEW + 1, task.length)  # from now on its kernel computes small products too
    returned = gemm(point.unit, made.a.codes, made.b.codes, None, made.a.scales, made.b.scales)
    outcome = trial_outcome(point.unit, made, numbers, returned)
    return {**trial_measures(outcome), **_explained(task, point, made, returned)}


def trial_outcome(unit: Unit, made: QuantizedProduct, numbers: DoubleDouble, returned: NDArray[Any]) -> TrialOutcome:
    """What a unit returned beside what it should have. numbers: the exact product before quantisation."""
    a, b = made.a, made.b
    return TrialOutcome(
        unit=unit, returned=as_numbers(unit, returned), quantized=made.product, numbers=numbers, factor=made.factor,
        magnitude=made.magnitude, values_a=a.elements, values_b=b.elements, scales_a=a.each, scales_b=b.each,
    )  # fmt: skip


def as_numbers(unit: Unit, results: NDArray[Any]) -> Floats:
    """The results of a unit as float64, exactly."""
    return results.astype(np.float64) if results.dtype.kind == "f" else unit.output.decode(results)


def _explained(task: Trials, point: Point, made: QuantizedProduct, returned: NDArray[Any]) -> dict[str, float]:
    """Compare the trial's first results with the definition, and count their swamped terms."""
    unit, count = point.unit, task.explained
    if not count:
        return {"terms": 0.0, "swamped_terms": 0.0, "swamped": np.nan}
    i, j = np.divmod(np.arange(count), task.columns)
    scale_a = scale_b = None
    if unit.scale is not None and made.a.scales is not None and made.b.scales is not None:
        scale_a = made.a.scales[i // unit.scale.a.block[0]]
        scale_b = made.b.scales[:, j // unit.scale.b.block[1]].T
    codes_a, codes_b = made.a.codes[i], made.b.codes[:, j].T
    got = np.ascontiguousarray(returned).view(f"u{returned.itemsize}")
    terms = swamped = 0
    for at in range(count):
        scales = [None if side is None else side[at] for side in (scale_a, scale_b)]
        explained = explain(unit, codes_a[at], codes_b[at], None, *scales)
        if explained.result != got[i[at], j[at]]:
            raise Disagreement(
                f"{point.name}: result [{i[at]}, {j[at]}] is {explained.value} by the definition and "
                f"{as_numbers(unit, returned[i[at], j[at]])} by its kernel; this is a defect of hwsim, please report "
                "it with the study"
            )
        found = swamped_terms(explained)
        terms, swamped = terms + len(found), swamped + sum(found.values())
    return {"terms": float(terms), "swamped_terms": float(swamped), "swamped": swamped / terms if terms else np.nan}
