"""Looks up points of a study's results by their axes."""

from __future__ import annotations

from typing import Any

from hwsim.study.results import Results

PointSummary = dict[str, Any]


def at(results: Results, **wanted: Any) -> PointSummary:
    """The single point of the summary with these values. A name that is no column is that of an axis.

    `entry` is the label of the unit's entry. The point has `results` too: how many there are in a trial.

    Raises LookupError where none or several have them.
    """
    here = [point for point in results.points if all(_value(results, point, key) == one for key, one in wanted.items())]
    if len(here) != 1:
        raise LookupError(f"study {results.study.name}: {len(here)} points have {wanted}")
    return {**here[0], "results": results.study.rows * results.study.columns}


def largest(results: Results, point: PointSummary, measure: str) -> float:
    """The largest of a measure over a point's trials, where the summary has their mean."""
    numbers = results.rows.column("point").to_pylist()
    values = results.rows.column(measure).to_pylist()
    return max(float(value) for number, value in zip(numbers, values, strict=True) if number == point["point"])


def percent(value: float) -> str:
    """A share with three digits, in %: 7.45, 0.0552, 1,230."""
    if value != value:
        return "-"
    shown = 100 * value
    return f"{shown:,.0f}" if abs(shown) >= 1000 else f"{shown:.3g}"


def entry_of(results: Results, point: PointSummary) -> str:
    """The label of the entry of `units` that a point is of."""
    said = f"{point['label']} ".replace(",", " ,")
    labels = [one.label for one in results.study.units if said.startswith(one.label.replace(",", " ,") + " ")]
    return max(labels, key=len)


def _value(results: Results, point: PointSummary, key: str) -> Any:
    if key == "entry":
        return entry_of(results, point)
    return point[key] if key in point else point.get(f"axis.{key}")
