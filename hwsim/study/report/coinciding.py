"""Which series of a chart are drawn on one another, so that one of them would hide the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hwsim.study.report.contents import Chart
from hwsim.study.report.scales import AxisScale, PlottedPoint

CLOSE = 0.008  # of an axis: about the width of a line
MOST_NAMES = 6

Places = dict[float | str, float]


def coinciding(chart: Chart, drawn: Sequence[PlottedPoint], y: AxisScale) -> dict[str, list[list[str]]]:
    """By panel, the labels of series whose points coincide where both have one; groups of two and more.

    Of a heatmap and of points at words there are none: those stand side by side.
    """
    if chart.words_of_x:
        return {}
    places: dict[str, dict[str, Places]] = {}
    for one in drawn:
        series = chart.series[one.series]
        if not series.dashed and not series.front:
            places.setdefault(series.panel, {}).setdefault(series.label, {})[one.x] = y.position(one.y)
    found = {panel: _groups(inside) for panel, inside in places.items()}
    return {panel: groups for panel, groups in found.items() if groups}


def _groups(inside: Mapping[str, Places]) -> list[list[str]]:
    groups: list[list[str]] = []
    for label, points in inside.items():
        near = next((group for group in groups if _coincide(inside[group[0]], points)), None)
        if near is None:
            groups.append([label])
        else:
            near.append(label)
    return [group for group in groups if len(group) > 1]


def _coincide(a: Places, b: Places) -> bool:
    both = a.keys() & b.keys()
    return 2 * len(both) >= max(len(a), len(b)) and all(abs(a[x] - b[x]) < CLOSE for x in both)


def told(found: Mapping[str, list[list[str]]]) -> str:
    """What coincides, in words; empty where nothing does."""
    same: dict[tuple[str, ...], list[str]] = {}
    for panel, groups in found.items():
        for group in groups:
            same.setdefault(tuple(group), []).append(panel)
    parts: list[str] = []
    for labels, panels in same.items():
        more = [f"{len(labels) - MOST_NAMES} more"] if len(labels) > MOST_NAMES else []
        names = [*labels[:MOST_NAMES], *more]
        where = f" ({', '.join(panels)})" if panels != [""] else ""
        parts.append(f"{', '.join(names[:-1])} and {names[-1]}{where}")
    return f"Drawn on one another: {'; '.join(parts)}." if parts else ""
