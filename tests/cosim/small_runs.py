"""Runs of `hwsim cosim` that are small enough for a test."""

from __future__ import annotations

import contextlib
import os
import xml.etree.ElementTree as ElementTree
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from cosim.mutants import MUTANTS, Mutant
from odd_units import unit

from hwsim.cases.bins.covering import directed
from hwsim.cases.case import Case
from hwsim.cosim import suites, tables
from hwsim.cosim.run import CosimOptions, run
from hwsim.cosim.tables import tables_design
from hwsim.cosim.unitdesign import unit_design
from hwsim.explain import Row, RunReport, failure_lines
from hwsim.formats import get_format
from hwsim.spec import Pipeline, Unit, pipeline

TINY = unit("tiny")

CASES = 24
SEED = 3
SUITES = {"dot directed", "dot random", "dot random, gaps and back-pressure", "handshake and reset", "GEMM 3 x 3 x 64"}
BULK_SUITES = {"code pairs through every lane", "dot random, many"}


@cache
def some_directed(unit: Unit, seed: int) -> list[Case]:
    """Every fifth directed case."""
    return directed(unit, seed)[::5]


def small_suites(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small matrices, every fifth directed case and few captured ones."""
    for name in ("directed", "covering_or_directed"):
        monkeypatch.setattr(suites, name, some_directed)
    monkeypatch.setattr(suites, "SIZES", {name: suites.DriverSize(CASES, (3, 3, 64), 40) for name in suites.SIZES})


def shrink(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small suites, and tables of FP4 only."""
    small_suites(monkeypatch)
    monkeypatch.setattr(tables, "elements", lambda: [get_format("e2m1")])
    monkeypatch.setattr(tables, "PAIRS", (("e2m1", "e2m1"),))


def options(
    folder: Path, *units: tuple[Unit, Pipeline], tables: bool = False, called: str = "", **more: Any
) -> CosimOptions:
    """One small unit, without tables, unless said. called: what a command line calls it."""
    designs = [unit_design(unit, built, called) for unit, built in units or ((TINY, pipeline(TINY)),)]
    if tables:
        more["designs"] = (tables_design({design.called: design.unit for design in designs}), *designs)
    return CosimOptions(**{"designs": tuple(designs), "seed": SEED, "cases": CASES, "folder": folder, **more})


def small_run(folder: Path, *units: tuple[Unit, Pipeline], **more: Any) -> RunReport:
    return run(options(folder, *units, **more))


def lines(result: RunReport, row: Row) -> list[str]:
    """What is said of a row that failed."""
    return [] if row.passed else failure_lines(row, result.of(row))


def figures(rows: list[Row]) -> list[tuple[object, ...]]:
    """What of a run must not change from one to the next."""
    return [(row.unit, row.suite, row.driver, row.planned, row.compared, row.mismatches, row.cycles) for row in rows]


def mutant(name: str) -> Mutant:
    (found,) = [one for one in MUTANTS if one.name == name]
    return found


def processes_in(folder: Path) -> list[str]:
    """Command lines of processes that work in a folder or name it."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if process.name != str(os.getpid()) and (
                str(folder) in command or str((process / "cwd").readlink()).startswith(str(folder))
            ):
                found.append(f"{process.name} {command}")
    return found


def junit(folder: Path) -> dict[str, Any]:
    """Every testcase of a run's JUnit XML; by suite and name, its failure or None."""
    root = ElementTree.parse(folder / "results.xml").getroot()
    assert root.tag == "testsuites"
    cases: dict[str, Any] = {}
    for suite in root:
        members = suite.findall("testcase")
        failures = [case.find("failure") for case in members]
        assert suite.get("tests") == str(len(members))
        assert suite.get("failures") == str(sum(failure is not None for failure in failures))
        for case, failure in zip(members, failures, strict=True):
            assert case.get("classname") == suite.get("name")
            cases[f"{suite.get('name')}/{case.get('name')}"] = failure
    return cases


def one_row(planned: int = 1, compared: int = 1, mismatches: int = 0, suite: str = "suite") -> Row:
    return Row(unit="tiny", suite=suite, driver="none", planned=planned, compared=compared, mismatches=mismatches)
