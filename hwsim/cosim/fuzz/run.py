"""A run over many units, which goes on where it was interrupted."""

from __future__ import annotations

import gc
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import hwsim
from hwsim.base.errors import InputError
from hwsim.base.files import bounded_lines
from hwsim.cases.case import batches
from hwsim.cosim.fuzz.draw import DrawnUnit, Size, drawn_unit, settings
from hwsim.cosim.fuzz.findings import (
    KeptFinding,
    SimplerFinding,
    UnitShrinker,
    failing_again,
    simplest_case,
    write_finding,
)
from hwsim.cosim.fuzz.hardware import TiledCases
from hwsim.cosim.fuzz.trial import SIDES, Ask, Depth, Side, SideMismatch, Trial

PROGRESS = "progress.jsonl"
UNPLAYED = "units that neither kernels nor C have: the model computes a fortieth of their cases, or 1,000"
# Sides that take long: every so many-th unit is put through them.
EVERY: dict[Side, int] = {
    "own kernel": 16, "Icarus": 16, "vectors": 16, "export-c": 8, "study": 16, "qualify": 64, "modes": 32,
}  # fmt: skip


@dataclass(frozen=True)
class FuzzPlan:
    """The plan of a run. folder: for progress and findings, or None. size: of each unit.

    every: which units a side has: every so many-th, 0 for none; each unit unless said. first: the number of the first.
    kept: whether builds are kept in the cache. handed: as `Depth` has it.
    """

    units: int
    cases: int
    seed: int
    folder: Path | None = None
    sides: frozenset[Side] = frozenset(SIDES)
    size: Size = field(default_factory=Size)
    every: Mapping[Side, int] = field(default_factory=lambda: dict(EVERY))
    first: int = 0
    kept: bool = True
    handed: Mapping[Side, Ask] = field(default_factory=dict)

    @property
    def numbers(self) -> range:
        return range(self.first, self.first + self.units)

    def has(self, number: int, side: Side) -> bool:
        step = self.every.get(side, 1)
        return side in self.sides and step > 0 and number % step == 0

    @property
    def header(self) -> dict[str, Any]:
        """The values that a run must share with the one that it goes on from."""
        return {
            "hwsim": hwsim.__version__, "seed": self.seed, "cases": self.cases, "sides": sorted(self.sides),
            "size": asdict(self.size),
        }  # fmt: skip


@dataclass(frozen=True)
class FuzzedUnit:
    """The outcome of one unit, as the progress file keeps it.

    refused: specifications that no implementation has, drawn before it, by reason. lacks: why a side does not have it.
    cases: compared, by side. settings: keys and values. found: side and words of what went wrong, and its file.
    """

    number: int
    refused: dict[str, int]
    lacks: dict[Side, str]
    cases: dict[Side, int]
    settings: list[tuple[str, str]]
    found: list[tuple[Side, str, str]]


def run(
    plan: FuzzPlan, tell: Callable[[FuzzedUnit], None], advance: Callable[[], None] = lambda: None,
    one: Callable[[FuzzPlan, int], FuzzedUnit] | None = None,
) -> list[FuzzedUnit]:  # fmt: skip
    """Run all units of a plan; those that an earlier run in the folder has done are read.

    tell: of each new one. advance: called after each. one: draws and tries what has a number; `fuzzed` unless given.

    Raises InputError for a folder of another plan, and ToolMissing.
    """
    done = {} if plan.folder is None else _done(plan, plan.folder / PROGRESS)
    for number in collected_between(plan.numbers):
        if number not in done:
            done[number] = (one or fuzzed)(plan, number)
            _keep(plan, done[number])
            tell(done[number])
        advance()
    return [done[number] for number in plan.numbers]


def collected_between(numbers: Iterable[int]) -> Iterator[int]:
    """Yield the numbers, and collect garbage only between them.

    To collect it while Amaranth elaborates takes a third of a unit's time.
    """
    collects = gc.isenabled()
    try:
        gc.disable()
        gc.freeze()
        for number in numbers:
            yield number
            gc.collect()
    finally:
        gc.unfreeze()
        if collects:
            gc.enable()


def fuzzed(plan: FuzzPlan, number: int) -> FuzzedUnit:
    """Draw and try one unit; findings are made simpler and written."""
    drawn = drawn_unit(plan.seed, number, plan.size)
    sides = {side for side in plan.sides if plan.has(number, side)}
    result = Trial(drawn, Depth(plan.cases, frozenset(sides), plan.kept, plan.handed)).run()
    findings = []
    for mismatch in result.found:
        simpler = simplified(drawn, mismatch, plan)
        name = ""
        if plan.folder is not None:
            path = plan.folder / f"{number}-{mismatch.side.replace(' ', '-')}.yaml"
            write_finding(path, simpler.drawn, simpler.found, plan.cases)
            name = path.name
        findings.append((mismatch.side, simpler.found.said, name))
    lacks = {side: reason for side, reason in result.refused.items() if side in sides}
    return FuzzedUnit(number, dict(drawn.refused), lacks, result.cases, settings(drawn), findings)


def simplified(drawn: DrawnUnit, found: SideMismatch, plan: FuzzPlan) -> SimplerFinding:
    """Return a finding with a simpler unit, and a simpler case."""
    simpler = UnitShrinker(failing_again(found.side, plan.cases, plan.handed)).shrink(drawn, found)
    return SimplerFinding(simpler.drawn, simplest_case(simpler.drawn, simpler.found), simpler.tried)


def tried_again(finding: KeptFinding, handed: Mapping[Side, Ask]) -> list[SideMismatch]:
    """Try a finding's unit again: with its case alone, and with the cases that are drawn for it.

    handed: as `Depth` has it.
    """
    drawn, depth = finding.drawn, Depth(finding.cases, handed=handed)
    alone = [TiledCases(list(batches(drawn.unit, [finding.case])))] if finding.case is not None else []
    return [mismatch for cases in (*alone, None) for mismatch in Trial(drawn, depth, cases).run().found]


def _done(plan: FuzzPlan, path: Path) -> dict[int, FuzzedUnit]:
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", errors="replace") as file:
        lines = list(bounded_lines(file, str(path)))
    half = lines.pop() if lines and not lines[-1].endswith("\n") else ""  # the run ended while it wrote
    if not lines and f"{json.dumps(plan.header)}\n".startswith(half):
        os.truncate(path, 0)
        return {}
    try:
        header, *units = map(json.loads, lines)
        done = {keys["number"]: FuzzedUnit(**keys) for keys in units}
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InputError(f"{path} is not the progress of hwsim fuzz; name another folder") from None
    if header != plan.header:
        raise InputError(f"{path} is of another seed, number of cases or version; name another folder")
    if half:
        os.truncate(path, path.read_bytes().rfind(b"\n") + 1)
    return done


def _keep(plan: FuzzPlan, unit: FuzzedUnit) -> None:
    if plan.folder is None:
        return
    plan.folder.mkdir(parents=True, exist_ok=True)
    path = plan.folder / PROGRESS
    text = "" if path.exists() and path.stat().st_size else json.dumps(plan.header) + "\n"
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{text}{json.dumps(asdict(unit))}\n")


def reasons(units: Iterable[FuzzedUnit]) -> dict[str, Counter[str]]:
    """The reasons why sides do not have units, with counts, by side; under `any` for units that none has."""
    counts_by_side: dict[str, Counter[str]] = {}
    for unit in units:
        counts_by_side.setdefault("any", Counter()).update(unit.refused)
        for side, reason in unit.lacks.items():
            counts_by_side.setdefault(side, Counter())[reason] += 1
    return {side: counts for side, counts in counts_by_side.items() if counts}


def unplayed(cases: int, units: Iterable[FuzzedUnit]) -> int:
    """The number of cases that the RTL did not play, of so many for each unit, since fewer were drawn (`UNPLAYED`)."""
    return sum(max(cases - unit.cases["RTL"], 0) for unit in units if "RTL" in unit.cases)
