"""Small case files and results, and a machine that computes with the model in place of a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hwsim.explain.candidate import Candidate, changed, results
from hwsim.explain.silicon.cases import (
    RANDOM,
    CaptureCase,
    CaseFile,
    Section,
    as_case,
    instruction_of,
    read_cases,
    stimuli,
    write_cases,
)
from hwsim.explain.silicon.results import FACTS, SectionResults, result_lines
from hwsim.spec import Unit, load_unit

WGMMA = "hopper-wgmma-e4m3-f32"
FACTS_OF_H200 = dict(zip(FACTS, ("NVIDIA H200", "9.0", "580.1", "13.0", "13.0", "nvcc 13.0.88"), strict=True))


def some_cases(
    name: str, count: int, kinds: tuple[str, ...] = RANDOM, times: tuple[int, ...] = (1,)
) -> list[CaptureCase]:
    """Cases of a unit's instruction. times: over how many instructions they go, in turn."""
    unit = load_unit(name)
    drawn = [stimuli(instruction_of(unit), unit, 1, "random", kinds, (each,)) for each in times]
    return [next(drawn[index % len(drawn)]) for index in range(count)]


def section(unit: str = WGMMA, count: int = 12) -> Section:
    """A section with chained cases, and one whose addend is switched off where that can be."""
    instruction = instruction_of(load_unit(unit))
    cases = some_cases(unit, count, times=(1, 2))
    if instruction.switch:
        cases[0] = CaptureCase("off", cases[0].a, cases[0].b, None)
    return Section(instruction, unit, cases)


def written(folder: Path, *sections: Section) -> tuple[Path, CaseFile]:
    """A case file, and what it holds."""
    path = folder / "cases.txt"
    write_cases(path, "hwsim test", 7, sections)
    return path, read_cases(path)


def machine(cases: CaseFile, changes: dict[str, Any] | None = None) -> list[tuple[int, ...]]:
    """What a machine returns that works as the sections' units do, but for some changes."""
    return [returned(load_unit(one.unit), one.cases, changes) for one in cases.sections]


def returned(unit: Unit, cases: Sequence[CaptureCase], changes: dict[str, Any] | None = None) -> tuple[int, ...]:
    return answers(Candidate("truth", changed(unit, changes or {})), cases)


def answers(candidate: Candidate, cases: Sequence[CaptureCase]) -> tuple[int, ...]:
    """What a candidate returns for hardware's cases."""
    return tuple(results(candidate, [as_case(case) for case in cases], whole=True))


def results_file(folder: Path, cases: CaseFile, codes: list[tuple[int, ...]], **facts: str) -> Path:
    path = folder / "results.txt"
    sections = (SectionResults(one, given) for one, given in zip(cases.sections, codes, strict=True))
    path.write_text("".join(result_lines(cases, {**FACTS_OF_H200, **facts}, sections)))
    return path
