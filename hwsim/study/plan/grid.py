"""The points of a study: every combination of units, fields, scalings, data and lengths."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hwsim.base.resources import Cost
from hwsim.formats.yamlfile import SpecError
from hwsim.spec import Unit
from hwsim.spec.arguments import check_length
from hwsim.spec.fields import text, vary
from hwsim.study.accuracy.measurable import measurable
from hwsim.study.data import Data
from hwsim.study.plan.scaling import Scaling, resolve, scaling_name
from hwsim.study.plan.study import Study, UnitEntry

LIMIT = 20_000  # points of a study
MOST_BYTES = 4 << 30  # that a trial may take
# Bytes for each number of A and B (binary32, binary64, codes, slices), and for each result (measures of both exact
# products and of the errors): about what was seen, and more.
FACTOR_BYTES, RESULT_BYTES = 100, 400


@dataclass(frozen=True)
class Point:
    """One unit, with its scaling, on one kind of data of one length.

    label: what tells the unit from the study's others: its entry's label and what is varied. axes: the label of the
    entry (`unit`), the value of each field of its grid, and the scaling (`scaling`), as they are said.
    """

    index: int
    label: str
    unit: Unit
    scaling: Scaling
    data: Data
    length: int
    axes: dict[str, str]

    @property
    def name(self) -> str:
        """The point's full name, for errors."""
        return f"{self.label}, {self.data.name}, K = {self.length}"


def count(study: Study) -> int:
    """How many points a study has, those that `invalid: skip` leaves out included."""
    each = [math.prod(map(len, entry.grid.values())) * len(entry.scaling) for entry in study.units]
    return sum(each) * len(study.data) * len(study.lengths)


def points(study: Study) -> list[Point]:
    """The points of a study, in its order: units, fields, scalings, data, lengths.

    Raises SpecError for more than LIMIT points or trials that take more than MOST_BYTES, saying how many; for a
    combination that breaks a rule, naming it; and where none is left.
    """
    if (many := count(study)) > LIMIT:
        raise SpecError(f"study {study.name}: has {many:,} points, the limit is {LIMIT:,}; vary fewer fields at once")
    _check_memory(study)
    found: list[Point] = []
    for at, entry in enumerate(study.units):
        for label, unit, scaling, axes in _units(study, at, entry):
            for data, length in itertools.product(study.data, study.lengths):
                try:
                    check_length(unit, length)
                except ValueError as error:
                    if entry.invalid == "skip":
                        continue
                    raise SpecError(f"study {study.name}: {label}: {error}") from None
                found.append(Point(len(found), label, unit, scaling, data, length, axes))
    if not found:
        raise SpecError(f"study {study.name}: no combination is valid, and invalid: skip leaves all of them out")
    _check_apart(study, found)
    return found


def _check_memory(study: Study) -> None:
    longest = max(study.lengths)
    needed = FACTOR_BYTES * longest * (study.rows + study.columns) + RESULT_BYTES * study.rows * study.columns
    if needed > MOST_BYTES:
        raise SpecError(
            f"study {study.name}: a trial of rows {study.rows:,}, columns {study.columns:,} and length {longest:,} "
            f"takes about {needed / 2**30:,.1f} GiB, the limit is {MOST_BYTES >> 30} GiB; take fewer rows and columns, "
            "and more trials"
        )
    Cost(f"study {study.name}: a trial", needed, instead="take fewer rows and columns, and more trials").demand()


def _units(study: Study, at: int, entry: UnitEntry) -> Iterator[tuple[str, Unit, Scaling, dict[str, str]]]:
    """Labels, units, scalings and axes of an entry."""
    for values in itertools.product(*entry.grid.values()):
        changes: dict[str, Any] = dict(zip(entry.grid, values, strict=True))
        said = {field: text(value) for field, value in changes.items()}
        combination = " ".join([entry.label, *(f"{field}={value}" for field, value in said.items())])
        try:
            unit = vary(entry.unit, changes)
            measurable(unit).demand()
        except ValueError as error:
            if entry.invalid == "skip":
                continue
            raise SpecError(f"study {study.name}: units.{at}: {combination}: {error}{_hint(entry)}") from None
        for one in entry.scaling:
            name = scaling_name(one)
            label = f"{combination}, {name}" if len(entry.scaling) > 1 else combination
            try:
                scaling = resolve(one, unit)
            except ValueError as error:
                if entry.invalid == "skip":
                    continue
                where = f"units.{at}.scaling"
                raise SpecError(f"study {study.name}: {where}: {combination}, {name}: {error}{_hint(entry)}") from None
            yield label, unit, scaling, {"unit": entry.label, **said, "scaling": name}


def _hint(entry: UnitEntry) -> str:
    many = len(entry.scaling) > 1 or any(len(values) > 1 for values in entry.grid.values())
    return "; `invalid: skip` leaves such combinations out" if many else ""


def _check_apart(study: Study, found: list[Point]) -> None:
    seen: dict[tuple[str, str, int], Point] = {}
    for point in found:
        key = (point.label, point.data.name, point.length)
        if key in seen:
            raise SpecError(f"study {study.name}: two points are called {point.name}; give a unit another label")
        seen[key] = point
