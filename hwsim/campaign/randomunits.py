"""A block of random units as a run's record: a row for each side, a mismatch for each finding, and what was drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hwsim.explain import CodeReading, CoverageGroup, LeftOut, Mismatch, Row, RunReport, coverage_groups
from hwsim.fuzz.campaign import UNPLAYED, FuzzedUnit, FuzzPlan, reasons, unplayed
from hwsim.fuzz.draw import counted_settings
from hwsim.fuzz.trial import Side

DRIVER = "random units"
UNITS = "random units"  # what coverage calls all of them: settings are of the language, not of a unit
SHOWN = 400  # characters of a finding


def random_units_report(plan: FuzzPlan, units: Sequence[FuzzedUnit], version: str) -> RunReport:
    """The record of some units of a plan."""
    first, last = units[0].number, units[-1].number
    name = f"units {first} to {last} of seed {plan.seed}"
    found = [(unit, *one) for unit in units for one in unit.found]
    sides = dict.fromkeys([*(side for unit in units for side in unit.cases), *(side for _, side, _, _ in found)])
    mismatches = tuple(_mismatch(plan, name, unit, side, said, file) for unit, side, said, file in found)
    return RunReport(
        title=f"Random {name}",
        command=f"hwsim fuzz --first {first} --units {len(units)} --cases {plan.cases} --seed {plan.seed} -o found",
        version=version,
        seed=plan.seed,
        rows=tuple(_row(name, side, units, mismatches) for side in sides),
        left_out=(*_left_out(name, units, set(sides)), *_few(name, plan, units)),
        coverage=_drawn(units),
        mismatches=mismatches,
    )


def _row(name: str, side: Side, units: Sequence[FuzzedUnit], mismatches: Sequence[Mismatch]) -> Row:
    """What a side was asked; of a unit that it raised for nothing was compared."""
    wrong = sum(one.suite == side for one in mismatches)
    asked = sum(unit.cases.get(side, 0) for unit in units)
    raised = [unit for unit in units if side not in unit.cases and any(where == side for where, _, _ in unit.found)]
    return Row(
        unit=name, suite=side, driver=DRIVER, planned=asked + len(raised), compared=asked, mismatches=wrong
    )  # fmt: skip


def _mismatch(plan: FuzzPlan, name: str, unit: FuzzedUnit, side: Side, said: str, file: str) -> Mismatch:
    again = f"hwsim fuzz --again {file}" if file else ""
    return Mismatch(
        unit=name,
        suite=side,
        driver=DRIVER,
        case=f"unit {unit.number}",
        what="finding",
        expected=CodeReading(code="equal", value=""),
        got=CodeReading(code=said[:SHOWN], value=""),
        notes=(f"seed {plan.seed}",),
        again=again,
    )


def _left_out(name: str, units: Sequence[FuzzedUnit], ran: set[Side]) -> Iterator[LeftOut]:
    """Why sides do not have units: with the results that they were not asked for, where they had others."""
    for side, counts in reasons(units).items():
        if side == "any":
            continue
        for reason, count in counts.items():
            cases = count if side in ran else 0
            yield LeftOut(unit=name, suite=side, driver=DRIVER, cases=cases, reason=f"units with {reason}")


def _few(name: str, plan: FuzzPlan, units: Sequence[FuzzedUnit]) -> Iterator[LeftOut]:
    if cases := unplayed(plan.cases, units):
        yield LeftOut(unit=name, suite="RTL", driver=DRIVER, cases=cases, reason=UNPLAYED)


def _drawn(units: Sequence[FuzzedUnit]) -> tuple[CoverageGroup, ...]:
    """Every value of every key that was drawn; words that were not are open: nobody knows whether they can be."""
    counts = counted_settings(unit.settings for unit in units)
    planned = [(key, f"{key}: {value}", None, "") for key, values in counts.items() for value in values]
    hits = {f"{key}: {value}": count for key, values in counts.items() for value, count in values.items() if count}
    return coverage_groups(planned, hits, unit=UNITS)
