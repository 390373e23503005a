"""Tasks of workers: trials of points, quantised, multiplied by units, and measured against exact products."""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.base.errors import InputError
from hwsim.base.package import identity
from hwsim.compute.gemm import gemm
from hwsim.compute.products import FEW, chosen
from hwsim.explain.explained import explain
from hwsim.runners import OtherCode, Rows, WorkPart
from hwsim.spec import Unit, as_yaml
from hwsim.study.accuracy.exact import DoubleDouble, exact_product, magnitude
from hwsim.study.accuracy.measures import TrialOutcome, trial_measures
from hwsim.study.accuracy.swamped import swamped_terms
from hwsim.study.data import Data, digest, draw
from hwsim.study.plan import Study
from hwsim.study.plan.scaling import QuantizedFactor, Scaling, apply
from hwsim.study.plan.study import Point, points


class StudyPart(WorkPart):
    """A part of a study. Its work is counted in products of a kernel."""

    @property
    @abstractmethod
    def products(self) -> int:
        """The number of products that are summed, which a progress bar counts."""

    @property
    @abstractmethod
    def count(self) -> int:
        """The number of rows."""

    @abstractmethod
    def execute(self) -> Rows:
        """The rows: `point` and `trial`, whole numbers, and measures. The same wherever and whenever it runs."""


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
    factors = [side.factor for side in (of_a, of_b) if side.factor is not None]
    # Two numbers of 24 bits: exact.
    factor = None if not factors else factors[0] if len(factors) == 1 else factors[0] * factors[1]
    values = of_a.values, of_b.values
    return QuantizedProduct(of_a, of_b, exact_product(*values), magnitude(*values), factor)


def _measured(task: Trials, point: Point, product: QuantizedProduct, numbers: DoubleDouble) -> dict[str, float]:
    if task.compiled:
        chosen(point.unit, FEW + 1, task.length)  # from now on its kernel computes small products too
    returned = gemm(point.unit, product.a.codes, product.b.codes, None, product.a.scales, product.b.scales)
    outcome = trial_outcome(point.unit, product, numbers, returned)
    return {**trial_measures(outcome), **_explained(task, point, product, returned)}


def trial_outcome(unit: Unit, product: QuantizedProduct, numbers: DoubleDouble, returned: NDArray[Any]) -> TrialOutcome:
    """A unit's results with those that it should have returned. numbers: the exact product before quantisation."""
    a, b = product.a, product.b
    return TrialOutcome(
        unit=unit, returned=as_numbers(unit, returned), quantized=product.product, numbers=numbers,
        factor=product.factor, magnitude=product.magnitude, values_a=a.elements, values_b=b.elements,
        scales_a=a.each, scales_b=b.each,
    )  # fmt: skip


def as_numbers(unit: Unit, results: NDArray[Any]) -> Floats:
    """The results of a unit as float64: exactly, but for integers beyond 2^53, which are rounded."""
    return np.asarray(results if results.dtype.kind == "f" else unit.output.decode(results), np.float64)


def _explained(task: Trials, point: Point, product: QuantizedProduct, returned: NDArray[Any]) -> dict[str, float]:
    """Compare the trial's first results with the definition, and count their swamped terms."""
    unit, count = point.unit, task.explained
    if not count:
        return {"terms": 0.0, "swamped_terms": 0.0, "swamped": np.nan}
    i, j = np.divmod(np.arange(count), task.columns)
    scale_a = scale_b = None
    if unit.scale is not None and product.a.scales is not None and product.b.scales is not None:
        scale_a = product.a.scales[i // unit.scale.a.block[0]]
        scale_b = product.b.scales[:, j // unit.scale.b.block[1]].T
    codes_a, codes_b = product.a.codes[i], product.b.codes[:, j].T
    got = np.ascontiguousarray(returned).view(f"u{returned.itemsize}")
    terms = swamped = 0
    for index in range(count):
        scales = [None if side is None else side[index] for side in (scale_a, scale_b)]
        explained = explain(unit, codes_a[index], codes_b[index], None, *scales)
        if explained.result != got[i[index], j[index]]:
            raise Disagreement(
                f"{point.name}: result [{i[index]}, {j[index]}] is {explained.value} by the definition and "
                f"{as_numbers(unit, returned[i[index], j[index]])} by its kernel; this is a defect of hwsim, please "
                "report it with the study"
            )
        swamped_lanes = swamped_terms(explained)
        terms, swamped = terms + len(swamped_lanes), swamped + sum(swamped_lanes.values())
    return {"terms": float(terms), "swamped_terms": float(swamped), "swamped": swamped / terms if terms else np.nan}


# What a task should cost, in products of a kernel, about half a second of a core; and what it may, rather than have
# the data of a trial drawn, and their exact product made, by another task too. A study has at least so many tasks.
WORK, MOST_WORK, MANY = 1 << 28, 1 << 31, 16
# A trial of a point costs as many as it sums, its exact products and measures, and what explains a term in Python.
MEASURED, EXPLAINED = 1 << 22, 1 << 13


@dataclass(frozen=True)
class Task(Trials, StudyPart):
    """Trials for one worker; picklable, and all that its rows depend on.

    content: the digest of the data.
    """

    code = "hwsim.study.task"

    content: str

    @property
    def products(self) -> int:
        return self.rows * self.columns * self.length * len(self.trials) * len(self.points)

    @property
    def work(self) -> int:
        trial = _cost(self.rows * self.columns, self.length, self.explained)
        return trial * len(self.trials) * len(self.points)

    @property
    def key(self) -> str:
        """A digest of all that the rows depend on, the code of hwsim included."""
        sizes = (self.length, self.seed, self.rows, self.columns, self.explained, list(self.trials))
        points = [(point.index, as_yaml(point.unit), repr(point.scaling)) for point in self.points]
        text = json.dumps([identity(self.code), self.data.name, self.content, sizes, points])
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    @property
    def count(self) -> int:
        return len(self.trials) * len(self.points)

    def execute(self) -> Rows:
        return execute(self)

    def check(self) -> None:
        """Raise OtherCode where a file on this machine holds other numbers."""
        if _content(self.data) != self.content:
            raise OtherCode(f"data {self.data.name}: a worker finds other numbers in its files than this machine")


@cache
def _content(data: Data) -> str:
    return digest(data)


def tasks(study: Study, planned: Sequence[Point] | None = None) -> list[Task]:
    """The tasks of a study: the same whatever runs them, so that a run that was interrupted finds its parts.

    made: the study's points, where they are known. Raises as `points` does.
    """
    planned = points(study) if planned is None else planned
    results = study.rows * study.columns
    total = sum(results * point.length * study.trials for point in planned)
    contents = {data.name: digest(data) for data in study.data}
    planned_tasks = []
    drawn = study.trials * len({(point.data.name, point.length) for point in planned})
    order = sorted(planned, key=lambda point: (point.data.name, point.length, point.index))
    for _, group in groupby(order, key=lambda point: (point.data.name, point.length)):
        alike = list(group)
        cost = _cost(results, alike[0].length, study.explained)
        for trials, some in _cut(study.trials, alike, cost, drawn):
            planned_tasks.append(
                Task(
                    alike[0].data, alike[0].length, study.seed, study.rows, study.columns,
                    min(study.explained, results), trials, some, total > COMPILED, contents[alike[0].data.name],
                )
            )  # fmt: skip
    return planned_tasks


# Products that the model takes as long for as kernels take to load.
COMPILED = 1 << 17


def _cost(results: int, length: int, explained: int) -> int:
    """The cost of a trial of a point, in products of a kernel."""
    return (results + EXPLAINED * min(explained, results)) * length + MEASURED


def _cut(trials: int, alike: list[Point], cost: int, drawn: int) -> Iterator[tuple[tuple[int, ...], tuple[Point, ...]]]:
    """Cut by trials first: points of one trial share its data and its exact product.

    cost: of a trial of a point. drawn: how many trials of any points draw data.
    """
    whole = cost * len(alike)
    together = max(1, WORK // whole)
    pieces = min(-(-whole // WORK), max(-(-whole // MOST_WORK), -(-MANY // drawn)), len(alike))
    few = -(-len(alike) // pieces)
    for first in range(0, trials, together):
        for start in range(0, len(alike), few):
            yield tuple(range(first, min(first + together, trials))), tuple(alike[start : start + few])
