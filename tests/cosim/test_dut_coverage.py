"""Coverage of a user's design: what the answered cases did, and what showed at its ports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from cosim.dut_files import SEED, design, play
from cosim.plays import stream

from hwsim.cases.bins import plan as functional
from hwsim.cases.bins.covering import directed
from hwsim.cases.bins.plan import plan
from hwsim.cosim import suites as planning
from hwsim.cosim.coverage import design_coverage
from hwsim.cosim.design import Played, Suite
from hwsim.cosim.dutdesign import DutDesign
from hwsim.cosim.suites import Planner
from hwsim.explain import CoverageGroup, read_json
from hwsim.explain.record import bin_counts
from hwsim.model.clock import Beat
from hwsim.tb.job import MISSING, UNKNOWN, SuiteOutcome

OFFERED, TAKEN, RESET, READY, VALID = 1, 2, 4, 16, 32


def shown(groups: Sequence[CoverageGroup]) -> dict[str, int]:
    return {one.name: one.hits for group in groups for one in group.bins}


def test_cases_count_that_were_answered_and_ports_as_they_were_seen(tmp_path: Path) -> None:
    dut = design(tmp_path, "stream")
    some = tuple(directed(dut.drawn_for, SEED)[:6])
    traffic = [
        RESET,
        OFFERED | TAKEN | READY,  # ready without valid; one context open
        OFFERED | TAKEN | READY,  # the same; back to back
        OFFERED | VALID,  # a beat waits, and so does a result
        RESET,
        OFFERED | TAKEN | READY,
        TAKEN,  # ready without valid; one cycle without a beat, if the next is taken
        OFFERED | TAKEN | READY | VALID,
    ]
    codes = np.array([7, 7, MISSING, 7, MISSING, UNKNOWN])
    made = dut.play(Suite("dot directed", some, (7,) * 6), stream())
    assert made.beats == tuple(Beat(case.a, case.b, case.c) for case in some)
    one = Played(made, "none", SuiteOutcome("dot directed"), tmp_path, codes, np.array(traffic, np.uint8))
    (found,) = design_coverage(dut, SEED, [one])
    assert (found.sampled, found.compared) == (4, 4)
    counter = functional.Counter(plan(dut.drawn_for))
    for at in (0, 1, 3, 5):
        counter.sample(some[at])
    hits = shown(found.groups)
    assert {name: count for name, count in counter.counts.items() if name in hits} | {
        "beats back to back": 1,
        "one cycle without a beat": 1,
        "ready without valid": 4,
        "reset while a result waits": 1,
        "1 context open": 4,
    } == hits
    # Stages are not known, nor is what a design would do with misuse.
    assert {one.name for one in plan(dut.unit).bins if "stage" in one.name}.isdisjoint(hits)
    assert bin_counts(found.groups).missed > 100
    assert "of dot4_stream: of 4 different cases" in found.notes[0]


def names_of(dut: DutDesign) -> list[str]:
    return [one.name for one in dut.interface]


def test_without_back_pressure_its_bins_are_left_out(tmp_path: Path) -> None:
    assert names_of(design(tmp_path, "comb")) == [
        "beats back to back", "one cycle without a beat", "1 context open"
    ]  # fmt: skip
    assert "ready without valid" in names_of(design(tmp_path, "stream"))


@pytest.mark.slow
@pytest.mark.simulator
def test_a_runs_report_holds_it(icarus: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "directed", lambda unit, seed: directed(unit, seed)[::5])
    monkeypatch.setattr(planning, "PAIR_STEP", {"icarus": 512})
    report = play(tmp_path, "stream")
    assert report.passed
    dut = design(tmp_path, "stream")
    played = {case for suite in Planner(dut, SEED).simulated("icarus", 30) if not suite.resets for case in suite.cases}
    counter = functional.Counter(plan(dut.drawn_for))
    for case in played:
        counter.sample(case)
    # Cases that a reset cut off were not answered: the others of that suite are among those of the other suites.
    hits, bins = shown(report.coverage), plan(dut.drawn_for).bins
    assert {one.name: hits[one.name] for one in bins if one.how == "model"} == {
        one.name: counter.counts[one.name] for one in bins if one.how == "model"
    }
    assert hits["beats back to back"] > hits["one cycle without a beat"] > 0
    assert hits["1 context open"] > len(played)
    assert hits["ready without valid"] > 0
    assert read_json(tmp_path / "run" / "results.json") == report
    assert any(note.startswith("coverage of dot4_stream: of ") for note in report.notes)
