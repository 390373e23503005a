"""Accuracy against area: the error of a study's units, their gates and clock, beside units of others."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field

from hwsim.base.files import written
from hwsim.rtl.synthesis import STAGES, Area
from hwsim.study.area.sized import SizedPoint, SynthesisOptions, areas, error_kind, require_tools, sized_points
from hwsim.study.plan import Study
from hwsim.study.plan.study import points
from hwsim.study.report import Axis, Chart, KeyNumber, Reference, StudyReport, TextTable, markdown
from hwsim.study.report.contents import Row, counted_or_dash, decibels, scientific, table
from hwsim.study.results import Progress, Results, nothing


class ReferenceUnit(BaseModel):
    """A unit that was synthesised as ours are. operands: what its factors may be; lanes: products a cycle."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    what: str
    operands: tuple[str, ...]
    lanes: int = Field(ge=1)
    gates: int = Field(ge=1)
    flipflops: int | None = None
    depth: int | None = None
    comb: int | None = None
    megahertz: float | None = None

    @property
    def gates_per_lane(self) -> float:
        return self.gates / self.lanes


class References(BaseModel):
    """All reference units, and how they were measured."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    units: tuple[ReferenceUnit, ...]

    def of(self, operands: Collection[str]) -> tuple[ReferenceUnit, ...]:
        """The reference units that multiply one of these formats."""
        return tuple(unit for unit in self.units if set(unit.operands) & set(operands))


@cache
def references() -> References:
    """The units in references.yaml."""
    return References.model_validate(yaml.safe_load(files("hwsim.study.area").joinpath("references.yaml").read_text()))


FRONT = "Pareto front"
# References far from the study's units are named below the chart: their lines would leave no room for anything else.
REACH = 1.7
CLOSE = 1.15
GATES = Axis(title="Gates per lane (gates for each product a cycle)")
KINDS = {
    "accumulation": "Error of the accumulation (rms / rms of the result)",
    "total": "Error of quantisation and accumulation (rms / rms of the result)",
}


def pareto_report(study: Study, placed: Sequence[SizedPoint], measure: str, stages: str, command: str) -> StudyReport:
    """One figure of error by gates, one of speed by gates, and the tables of both. measure: of KINDS."""
    sized = [place for place in placed if isinstance(place.area, Area)]
    drawn = (_errors(sized, measure), _speed(sized)) if sized else ()
    charts = [chart for chart in drawn if chart is not None]
    return StudyReport(
        name="pareto",
        title=study.title or f"Accuracy against area: {study.name}",
        command=command,
        verdict=_verdict(sized, measure),
        key=_key(sized),
        summary=(_counted(stages), _measured(study, measure)),
        parts=(_units(placed, measure), *charts, _references(), *_refused(placed)),
        sources=(f"Units of others: {references().source}.",),
    )


def _verdict(sized: Sequence[SizedPoint], measure: str) -> str:
    """The smallest and the most accurate unit of the front, on the first of the data."""
    if not sized:
        return "No unit has an area."
    panel, inside = next(iter(_panels(sized).items()))
    best, varied = sorted((place for place in inside if place.on_front), key=_gates), _varied(sized)
    if not best:
        return f"On {panel} no unit is on the front of gates and error."

    def told(place: SizedPoint) -> str:
        snr = decibels(place.row[f"{measure}_snr_db"])
        return f"{_long(place, varied)} ({_gates(place):,.0f} gates per lane, SNR {snr} dB)"

    last = f" to {told(best[-1])}" if len(best) > 1 else ""
    return f"On {panel}, {len(best)} of {len(inside)} units are on the front of gates and error: {told(best[0])}{last}."


def _key(sized: Sequence[SizedPoint]) -> tuple[KeyNumber, ...]:
    if not sized:
        return ()
    ends = [f"{choose(map(_gates, sized)):,.0f}" for choose in (min, max)]
    units = {place.point.unit for place in sized}
    return (
        KeyNumber(what="Units with an area", value=f"{len(units):,}"),
        KeyNumber(what="Gates per lane", value=" to ".join(dict.fromkeys(ends))),
    )


def _gates(place: SizedPoint) -> float:
    return place.gates_per_lane


def _counted(stages: str) -> str:
    named = STAGES[stages]
    cuts = "every step" if named is None else ", ".join(named)
    return (
        "Gates are the AND, OR, XOR, MUX and NOT that Yosys leaves of the generated RTL, without a technology and "
        f"without multipliers of one's own, flip-flops apart: of one fused sum with registers after {cuts} (those that "
        "a unit has), from the codes of operands, scales and addend to the code of the result, NaN, infinities and "
        "rounding included; and, where a unit promotes, of the adder of its promotion, cut by registers of "
        "its own. Handshake, contexts, the "
        "register that a chain goes on from and what counts to the interval are not counted. Depth is the number of "
        "gates on the longest path that no register cuts."
    )


def _measured(study: Study, measure: str) -> str:
    against = "exact product of the operands" if measure == "accumulation" else "exact product of the numbers"
    lengths = ", ".join(f"{length:,}" for length in study.lengths)
    return (
        f"The error is that of what the unit returns against the {against}, over {study.trials} trials of "
        f"{study.rows} x {study.columns} results at K = {lengths}. On the front is what no other unit beats in gates "
        "per lane and error at once."
    )


def _panels(placed: Sequence[SizedPoint]) -> dict[str, list[SizedPoint]]:
    lengths = {place.point.length for place in placed}
    panels: dict[str, list[SizedPoint]] = {}
    for place in placed:
        name = place.point.data.name + (f", K = {place.point.length:,}" if len(lengths) > 1 else "")
        panels.setdefault(name, []).append(place)
    return panels


def _varied(placed: Sequence[SizedPoint]) -> list[str]:
    """The fields that tell units of one label apart."""
    seen: dict[tuple[str, str], set[str]] = {}
    for place in placed:
        for field, value in place.point.axes.items():
            if field != "unit":
                seen.setdefault((place.entry, field), set()).add(value)
    return list(dict.fromkeys(field for (_, field), values in seen.items() if len(values) > 1))


def _long(place: SizedPoint, varied: Sequence[str]) -> str:
    fields = [f"{field} {place.point.axes[field]}" for field in varied if field in place.point.axes]
    return ", ".join([place.entry, *fields])


def _errors(sized: Sequence[SizedPoint], measure: str) -> Chart | None:
    name, varied = f"{measure}_rms", _varied(sized)
    rows: list[Row] = []
    exact: list[str] = []
    for panel, inside in _panels(sized).items():
        shown = [place for place in inside if 0 < place.row[name] < math.inf]
        exact += [f"{_long(place, varied)} ({panel})" for place in inside if place.row[name] == 0]
        for place in shown:
            ends = {end: place.row[f"{name}_{end}"] for end in ("low", "high")}
            known = ends if all(0 < value < math.inf for value in ends.values()) else {}
            rows.append({**_point(place, varied), "panel": panel, "y": place.row[name], **known})
        best = sorted((p.gates_per_lane, p.row[name]) for p in shown if p.on_front)
        rows += [{"series": FRONT, "panel": panel, "x": x, "y": y} for x, y in best]
    if not rows:
        return None
    near, far = _near(sized)
    sentences = [
        f"Words beside the points: {' and '.join(varied)}." if varied else "",
        f"Vertical lines: gates of {', '.join(f'{u.name} ({u.what})' for u in near)}." if near else "",
        f"Outside: {', '.join(f'{unit.name} at {unit.gates_per_lane:,.0f}' for unit in far)}." if far else "",
        f"Exact, so without a place: {', '.join(exact)}." if exact else "",
    ]
    return Chart(
        name="pareto",
        title="Accuracy against area",
        caption=" ".join(filter(None, sentences)),
        x=GATES,
        y=Axis(title=KINDS[measure], log=10),
        rows=rows,
        front=FRONT,
        references=tuple(Reference(value=unit.gates_per_lane, label=unit.name, axis="x") for unit in near),
        kind="points",
    )


def _speed(sized: Sequence[SizedPoint]) -> Chart:
    """The clock rate by gates; the depth where no unit was placed and routed."""
    varied = _varied(sized)
    units = list({place.point.unit: place for place in sized}.values())
    clocked = [place for place in units if place.megahertz is not None]
    near, _ = _near(sized)
    lines = [(unit.name, unit.megahertz if clocked else unit.depth) for unit in near]
    return Chart(
        name="pareto-clock" if clocked else "pareto-depth",
        title="Clock rate against area, ECP5" if clocked else "Depth against area",
        caption="Out of context: paths from the inputs and to the outputs are not timed." if clocked else "",
        x=GATES,
        y=Axis(title="Fmax (MHz)" if clocked else "Gates between registers", zero=True),
        rows=[_point(place, varied) | {"y": place.megahertz or place.depth} for place in clocked or units],
        references=_merged([(name, value) for name, value in lines if value is not None]),
        kind="points",
    )


def _point(place: SizedPoint, varied: Sequence[str]) -> dict[str, Any]:
    """A point at its gates, with its varied fields beside it."""
    name = " ".join(place.point.axes[field] for field in varied if field in place.point.axes)
    return {"series": place.entry, "x": place.gates_per_lane, "name": name, "note": place.point.unit.name}


def _merged(lines: Sequence[tuple[str, float]]) -> tuple[Reference, ...]:
    """Reference lines; those whose words would overlap become one line, at the largest value, that names them all."""
    groups: list[list[tuple[str, float]]] = []
    for line in sorted(lines, key=lambda line: -line[1]):
        if groups and line[1] > groups[-1][0][1] / CLOSE:
            groups[-1].append(line)
        else:
            groups.append([line])
    return tuple(
        Reference(value=group[0][1], label=", ".join(f"{name} {value:g}" for name, value in group)) for group in groups
    )


def _near(sized: Sequence[SizedPoint]) -> tuple[list[ReferenceUnit], list[ReferenceUnit]]:
    """The references of the same formats whose gates are near enough to the points for a line, and the others."""
    formats = {fmt.name for place in sized for fmt in (place.point.unit.operands.a, place.point.unit.operands.b)}
    units = [unit for unit in references().of(formats) if unit.lanes > 1]
    gates = [place.gates_per_lane for place in sized]
    near = [unit for unit in units if min(gates) / REACH <= unit.gates_per_lane <= max(gates) * REACH]
    return near, [unit for unit in units if unit not in near]


def _units(placed: Sequence[SizedPoint], measure: str) -> TextTable:
    """A row for each unit: its area, then its errors by data, and the data for which it is on the front."""
    varied, panels = _varied(placed), _panels(placed)
    clocked = ["ECP5 LUTs", "MHz"] if any(place.megahertz is not None for place in placed) else []
    by_unit: dict[str, dict[str, str]] = {}
    for place in placed:
        lanes = {"unit": _long(place, varied), "lanes": str(place.point.unit.instruction.lanes)}
        by_unit.setdefault(place.point.label, {**lanes, **_area_cells(place)})
    for panel, inside in panels.items():
        for place in inside:
            row = by_unit[place.point.label]
            row[f"SNR dB, {panel}"] = decibels(place.row[f"{measure}_snr_db"])
            row[f"median error, {panel}"] = scientific(place.row[f"{measure}_relative_p50"])
            if place.on_front:
                row["front"] = ", ".join(filter(None, (row.get("front"), panel)))
    header = ["unit", "lanes", "gates", "a lane", "flip-flops", "depth", *clocked]
    header += [f"{measure_name}, {panel}" for panel in panels for measure_name in ("SNR dB", "median error")]
    return TextTable(
        title="Units",
        header=(*header, "front"),
        rows=tuple(tuple(row.get(head, "") for head in (*header, "front")) for row in by_unit.values()),
        right=tuple(range(1, len(header))),
        caption="Median error: of |error| / |exact result|. Front: the data for which no unit beats it in both.",
    )


def _area_cells(place: SizedPoint) -> dict[str, str]:
    heads = ("gates", "a lane", "flip-flops", "depth", "ECP5 LUTs", "MHz")
    area = place.area
    if isinstance(area, str):
        return dict.fromkeys(heads, "-")
    of_design = f"{area.gates:,}", f"{place.gates_per_lane:,.0f}", f"{area.flipflops:,}", str(area.depth)
    return dict(zip(heads, (*of_design, counted_or_dash(area.comb), counted_or_dash(area.megahertz, 1)), strict=True))


def _references() -> TextTable:
    source = references().source
    columns: dict[str, Callable[[ReferenceUnit], str]] = {
        "unit": lambda unit: unit.name,
        "what": lambda unit: unit.what,
        "lanes": lambda unit: str(unit.lanes),
        "gates": lambda unit: f"{unit.gates:,}",
        "a lane": lambda unit: f"{unit.gates_per_lane:,.0f}",
        "flip-flops": lambda unit: counted_or_dash(unit.flipflops),
        "depth": lambda unit: counted_or_dash(unit.depth),
        "ECP5 LUTs": lambda unit: counted_or_dash(unit.comb),
        "MHz": lambda unit: counted_or_dash(unit.megahertz, 1),
    }
    return table("Units of others", columns, references().units, 2, f"{source[0].upper()}{source[1:]}.")


def _refused(placed: Sequence[SizedPoint]) -> list[TextTable]:
    varied = _varied(placed)
    reasons = {_long(place, varied): place.area for place in placed if isinstance(place.area, str)}
    if not reasons:
        return []
    rows = tuple((label, " ".join(str(reason).split())) for label, reason in reasons.items())
    return [TextTable(title="Units without an area", header=("unit", "why"), rows=rows)]


Run = Callable[[Study, Path], Results]


def report(
    study: Study,
    folder: Path,
    run: Run,
    options: SynthesisOptions | None = None,
    command: str = "",
    progress: Progress = nothing,
) -> StudyReport:
    """Accuracy against area of a study's units: one table and charts, and pareto.md with the tables in `folder`.

    run: a study into a folder (`hwsim.study.results.run`), here folder/study.
    The figures and the page are the caller's to write. Raises ValueError for a study that is wrong, and ToolMissing.
    """
    chosen = options or SynthesisOptions()
    planned = points(study)
    units = [point.unit for point in planned]
    require_tools(chosen.fmax != "none")
    results = run(study, folder / "study")  # first, because it refuses a folder that holds something else
    sized = areas(units, chosen, chosen.fmax == "all", progress)
    measure = error_kind(planned)
    placed = sized_points(planned, results.points, sized, measure)
    if chosen.fmax == "front":
        best = {place.point.unit for place in placed if place.on_front}
        clocked = areas([unit for unit in units if unit in best], chosen, True, progress)
        placed = [replace(place, area=clocked.get(place.point.unit, place.area)) for place in placed]
    pareto = pareto_report(study, placed, measure, chosen.stages, command)
    with written(folder / "pareto.md") as file:
        file.write("\n".join(f"## {table.title}\n\n{markdown(table)}" for table in pareto.tables).encode())
    return pareto
