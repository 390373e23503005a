"""Suites of a unit with their traces, and what the bulk driver makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from hwsim.cases.case import Case
from hwsim.cases.drawing import Stream
from hwsim.cosim.bench import PortMap, port_map, words_of
from hwsim.cosim.design import FULL, Play, Suite, Tagged, Traffic
from hwsim.cosim.play import BulkUnit, compare, play_in_bulk
from hwsim.cosim.suites import Planner
from hwsim.cosim.trace import record
from hwsim.cosim.unitdesign import UnitDesign, unit_design
from hwsim.spec import Pipeline, Unit, pipeline
from hwsim.tb.job import Script, SuiteOutcome, Trace


def stream(seed: int = 1) -> Stream:
    return Stream(seed, "tests")


def design_of(unit: Unit, built: Pipeline | None = None) -> UnitDesign:
    return unit_design(unit, built or pipeline(unit))


def recorded(
    unit: Unit,
    built: Pipeline,
    cases: Sequence[Case],
    traffic: Traffic = FULL,
    *,
    shuffled: bool = False,
    resets: bool = False,
    expected: Sequence[int] | None = None,
) -> Play:
    """Cases as our RTL is put through them."""
    codes = None if expected is None else tuple(expected)
    suite = Suite("suite", tuple(cases), codes, traffic, shuffled, resets)
    return design_of(unit, built).play(suite, stream())


def recorded_in(unit: Unit, built: Pipeline, cases: Sequence[Case], order: Sequence[Tagged]) -> Play:
    """Beats of cases in an order of one's own."""
    return record(Suite("suite", tuple(cases)), unit, built, port_map(unit, built), order, stream())


def planned(unit: Unit, driver: str, count: int | None, seed: int = 1, built: Pipeline | None = None) -> list[Play]:
    """All suites of a driver."""
    return Planner(design_of(unit, built), seed).plan(driver, count)[0]


def planner(unit: Unit, seed: int = 1) -> Planner:
    return Planner(design_of(unit), seed)


def trace_of(play: Play) -> Trace:
    assert isinstance(play.script.promise, Trace)
    return play.script.promise


def with_trace(play: Play, **changes: np.ndarray) -> Play:
    """The same with other columns of its trace."""
    return replace(play, script=replace(play.script, promise=replace(trace_of(play), **changes)))


def with_codes(play: Play, codes: Sequence[int] | int) -> Play:
    """The same with other results."""
    results = play.script.results.copy()
    results[:, 1] = codes
    return replace(play, script=replace(play.script, results=results))


def codes_of(play: Play) -> list[int]:
    """The codes that are due, in order."""
    return list(play.script.results[:, 1].tolist())


def output_words(script: Script, ports: PortMap) -> np.ndarray:
    """The results of a script as the output's payloads."""
    fields = {field.name: field for field in ports.output.fields}
    rows = script.results.tolist()
    words = [fields["context"].place([context]) | fields["result"].place([code]) for context, code, _ in rows]
    return words_of(words, ports.output.words)


def played(device: BulkUnit, play: Play) -> SuiteOutcome:
    """What comes of a play in a device that is there."""
    trace, words = trace_of(play), words_of(play.script.payloads, device.ports.input.words)
    return compare(play.script, trace, device.run(trace.drive, trace.offered, words), device.ports)


def bulk_outcomes(design: UnitDesign, plays: Sequence[Play]) -> list[SuiteOutcome]:
    """What comes of plays in the bulk driver."""
    return [one.outcome for one in play_in_bulk(design.library(), design.ports, plays, Path())]
