"""Tasks of workers: some trials of some points that share their data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby

from hwsim.base.package import identity
from hwsim.runners import OtherCode, Rows
from hwsim.spec import as_yaml
from hwsim.study.data import Data, digest
from hwsim.study.part import StudyPart
from hwsim.study.plan import Study
from hwsim.study.plan.grid import Point, points
from hwsim.study.trial import Trials, execute

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
        """The number of products that are summed."""
        return self.rows * self.columns * self.length * len(self.trials) * len(self.points)

    @property
    def work(self) -> int:
        """The cost, in products of a kernel."""
        each = _cost(self.rows * self.columns, self.length, self.explained)
        return each * len(self.trials) * len(self.points)

    @property
    def key(self) -> str:
        """A digest of all that the rows depend on, the code of hwsim included."""
        sizes = (self.length, self.seed, self.rows, self.columns, self.explained, list(self.trials))
        told = [(one.index, as_yaml(one.unit), repr(one.scaling)) for one in self.points]
        text = json.dumps([identity(self.code), self.data.name, self.content, sizes, told])
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    @property
    def count(self) -> int:
        """A row for each trial of each point."""
        return len(self.trials) * len(self.points)

    def execute(self) -> Rows:
        """The measures of every trial. Raises Disagreement where a kernel is wrong."""
        return execute(self)

    def check(self) -> None:
        """Raise OtherCode where a file on this machine holds other numbers."""
        if _content(self.data) != self.content:
            raise OtherCode(f"data {self.data.name}: a worker finds other numbers in its files than this machine")


@cache
def _content(data: Data) -> str:
    return digest(data)


def tasks(study: Study, made: Sequence[Point] | None = None) -> list[Task]:
    """The tasks of a study: the same whatever runs them, so that a run that was interrupted finds its parts.

    made: the study's points, where they are known. Raises as `points` does.
    """
    made = points(study) if made is None else made
    each = study.rows * study.columns
    total = sum(each * point.length * study.trials for point in made)
    contents = {data.name: digest(data) for data in study.data}
    found = []
    drawn = study.trials * len({(point.data.name, point.length) for point in made})
    order = sorted(made, key=lambda point: (point.data.name, point.length, point.index))
    for _, group in groupby(order, key=lambda point: (point.data.name, point.length)):
        alike = list(group)
        cost = _cost(each, alike[0].length, study.explained)
        for trials, some in _cut(study.trials, alike, cost, drawn):
            found.append(
                Task(
                    alike[0].data, alike[0].length, study.seed, study.rows, study.columns,
                    min(study.explained, each), trials, some, total > COMPILED, contents[alike[0].data.name],
                )
            )  # fmt: skip
    return found


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
