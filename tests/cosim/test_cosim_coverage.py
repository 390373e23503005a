"""Coverage of a run: what its traces and its cases did, by other counts than its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from built_presets import others_slow
from cosim.plays import design_of, odd_pipelines, planned, planner, recorded, trace_of, with_trace
from cosim.small_runs import CASES, SEED, shrink, small_run
from odd_units import IN_RTL, unit, units_of
from unit_keys import odd_unit, window

from hwsim.cases.bins import plan as functional
from hwsim.cases.bins.covering import covered, covering, directed
from hwsim.cases.bins.declare import CoverageBin, interface_bins, reset_with
from hwsim.cases.bins.plan import plan
from hwsim.cases.case import Case
from hwsim.cases.random_cases import random_cases
from hwsim.cosim.coverage import port_counts, unit_coverage
from hwsim.cosim.design import Compared, Play, Played, Suite, in_step
from hwsim.cosim.unitdesign import UnitDesign
from hwsim.explain import CoverageGroup, read_json
from hwsim.explain.record import bin_counts
from hwsim.model.clock import Beat, PipelinedUnit
from hwsim.spec import Pipeline, Unit, pipeline, steps
from hwsim.tb.job import (
    READY,
    RESET,
    SEEN_MISUSE,
    SEEN_READY,
    SEEN_VALID,
    VALID,
    PortMismatch,
    Script,
    SuiteOutcome,
    Trace,
)

ODD = units_of(IN_RTL)
TINY = unit("tiny")

SINGLE = odd_unit("single", ("e4m3", "e5m2"), "none", window(13), "e8m13", 3, rounding="rz", chain="none")
IN, OUT, ACCEPTED, LEAVES = VALID, READY, SEEN_READY, SEEN_VALID


def by_hand(*cycles: tuple[int, int, Beat | None]) -> Play:
    """A play of (drive, expect, beat) in each cycle."""
    numbers = iter(range(len(cycles)))
    trace = Trace(
        np.array([drive for drive, _, _ in cycles], np.uint8),
        np.array([-1 if beat is None else next(numbers) for _, _, beat in cycles], np.int32),
        np.array([expect for _, expect, _ in cycles], np.uint8),
    )
    beats = tuple(beat for _, _, beat in cycles if beat is not None)
    return Play(Suite("made by hand"), Script("made by hand", trace), beats)


def interface_counts(play: Play, latency: int, cycles: int | None = None) -> Counter[str]:
    """The bins of a play's ports; cycles: how many count, from its start."""
    counted = trace_of(play).cycles if cycles is None else cycles
    played = Played(play, "none", SuiteOutcome(play.suite.name, cycles=counted), Path())
    return port_counts(played.cycles(), latency)


def beat(context: int = 0, *, first: bool = True, last: bool = True) -> Beat:
    return Beat((0,), (0,), first=first, last=last, context=context)


# Two stages. Each cycle: what is driven, what is seen, the beat at the input; then what is in the stages after it.
BY_HAND = by_hand(
    (RESET, 0, None),
    (IN | OUT, ACCEPTED, beat()),  # x -; ready without valid; one context open
    (IN | OUT, ACCEPTED, beat(1)),  # x x; ready without valid; back to back; one context open
    (IN, LEAVES, beat()),  # every stage full and nothing moves
    (OUT, LEAVES, None),  # - x
    (IN | OUT, LEAVES | ACCEPTED, beat(first=True, last=False)),  # a bubble in stage 1; x -; one open
    (IN | OUT, ACCEPTED, beat(1)),  # a bubble in stage 2; no valid; back to back; two open; x x
    (IN | OUT, 0, beat(first=False)),  # waits for its context: the beat before it is in stage 2; no valid; - x
    (0, LEAVES, None),  # a bubble in stage 1; a result that waits while nothing follows
    (RESET, 0, None),  # one beat in flight, and its result waits
    (RESET, 0, None),
    (IN | OUT, ACCEPTED, beat(first=True, last=False)),  # no valid; one open
    (IN | OUT, ACCEPTED, beat()),  # given up; no valid; back to back; one open
    (RESET, 0, None),  # two in flight
    (IN | OUT, ACCEPTED, beat(first=False)),  # no valid; one open
    (OUT, SEEN_MISUSE, None),  # misuse, once; no valid
    (IN | OUT, SEEN_MISUSE | LEAVES | ACCEPTED, beat()),  # a bubble in stage 1; one cycle without a beat; one open
    (OUT, SEEN_MISUSE, None),  # a bubble in stage 2; no valid
    (OUT, SEEN_MISUSE | LEAVES, None),  # a bubble in stage 1
)
COUNTED = {
    "beats back to back": 3,
    "one cycle without a beat": 1,
    "a bubble at stage 1, beats in the other stages": 4,
    "a bubble at stage 2, beats in the other stages": 2,
    "back-pressure with every stage full": 1,
    "a result that waits while nothing follows": 1,
    "reset with 1 beat in flight": 1,
    "reset with 2 beats in flight": 1,
    "reset while a result waits": 1,
    "1 context open": 7,
    "2 contexts open": 1,
    "ready without valid": 9,
    "a beat that waits for its context": 1,
    "a sum given up for a new one": 1,
    "misuse": 1,
}


def test_every_bin_is_counted_where_it_happens() -> None:
    counts = interface_counts(BY_HAND, 2)
    assert dict(counts) == COUNTED
    two = Pipeline(cuts=tuple(steps(TINY)[-2:]), contexts=2)
    assert {one.name for one in interface_bins(TINY, two)} == set(COUNTED)
    # What comes after the first cycles does not count.
    full = "back-pressure with every stage full"
    first = {"ready without valid": 2, "1 context open": 2, "beats back to back": 1, full: 1}
    assert dict(interface_counts(BY_HAND, 2, 4)) == first


def driven(play: Play) -> np.ndarray:
    return trace_of(play).drive


# What is taken from the trace made by hand, and the bins that it must then miss.
MUTANTS = {
    "no back-pressure": (
        lambda play: with_trace(play, drive=np.where(driven(play) & RESET, driven(play), driven(play) | READY)),
        {
            "back-pressure with every stage full",
            "a result that waits while nothing follows",
            "reset while a result waits",
        },
    ),
    "no reset in flight": (
        lambda play: with_trace(play, drive=np.where(driven(play) & RESET, 0, driven(play))),
        {"reset with 1 beat in flight", "reset with 2 beats in flight", "reset while a result waits"},
    ),
    "never ready": (
        lambda play: with_trace(play, drive=driven(play) & (VALID | RESET)),
        {"ready without valid"},
    ),
    "one context": (
        lambda play: replace(play, beats=tuple(replace(beat, context=0) for beat in play.beats)),
        {"2 contexts open"},
    ),
    "single beats": (
        lambda play: replace(play, beats=tuple(replace(beat, last=True) for beat in play.beats)),
        {"2 contexts open", "a sum given up for a new one"},
    ),
    "no misuse": (
        lambda play: with_trace(play, expect=trace_of(play).expect & (SEEN_READY | SEEN_VALID)),
        {"misuse"},
    ),
    "nothing accepted": (
        lambda play: with_trace(play, expect=trace_of(play).expect & (SEEN_VALID | SEEN_MISUSE)),
        {name for name in COUNTED if "stage" in name or "contexts" in name or "flight" in name}
        | {"beats back to back", "one cycle without a beat", "a sum given up for a new one"},
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_trace_without_something_misses_its_bins(name: str) -> None:
    change, missed = MUTANTS[name]
    counts = interface_counts(change(BY_HAND), 2)
    assert {one for one in COUNTED if not counts[one]} >= missed


def handshake(unit: Unit, built: Pipeline) -> Play:
    cases = planner(unit)._handshake(random_cases(unit, 64, 1))
    return recorded(unit, built, cases, resets=True)


def pipelines(unit: Unit) -> dict[str, Pipeline]:
    more = {f"{cuts} and the last": pipeline(unit, steps(unit)[:cuts], contexts=cuts) for cuts in (2, 6)}
    return {**odd_pipelines(unit), **more, "more contexts than stages": pipeline(unit, contexts=7)}


@pytest.mark.parametrize(
    "unit", others_slow([TINY, ODD["promoted-scaled"], SINGLE], [TINY, SINGLE]), ids=lambda unit: unit.name
)
def test_the_handshakes_suite_hits_every_bin_of_every_pipeline(unit: Unit) -> None:
    for built in pipelines(unit).values():
        counts, bins = interface_counts(handshake(unit, built), built.latency), interface_bins(unit, built)
        assert counts.keys() <= {one.name for one in bins}
        assert {one.name for one in bins if one.reachable} == counts.keys()


@pytest.mark.parametrize("name", pipelines(TINY))
def test_stages_are_as_full_as_the_model_says(name: str) -> None:
    built = pipelines(TINY)[name]
    play = handshake(TINY, built)
    trace = trace_of(play)
    model, full, lost = PipelinedUnit(TINY, built), 0, Counter[int]()
    for drive, offered in zip(trace.drive.tolist(), trace.offered.tolist(), strict=True):
        flying = [one is not None for one in model._registers]
        if drive & RESET:
            lost[sum(flying)] += 1
            model.reset()
            continue
        full += all(flying) and model.valid and not drive & READY
        model.tick(play.beats[offered] if offered >= 0 else None, bool(drive & READY))
    counts = interface_counts(play, built.latency)
    assert counts["back-pressure with every stage full"] == full > 0
    assert {stage: counts[reset_with(stage)] for stage in range(1, built.latency + 1)} == {
        stage: lost[stage] for stage in range(1, built.latency + 1)
    }


def test_cycles_count_as_long_as_a_device_is_in_step() -> None:
    outcome = SuiteOutcome("suite", cycles=100)
    assert in_step(outcome) == 100
    outcome.note(PortMismatch("result", 5, 0, 1, 2))
    assert in_step(outcome) == 100
    outcome.note(PortMismatch("valid", 40, 0, 1, 0))
    assert in_step(outcome) == 40
    assert in_step(SuiteOutcome("never ended")) == 0


def states(groups: Sequence[CoverageGroup]) -> dict[str, tuple[int, str]]:
    return {one.name: (one.hits, one.state) for group in groups for one in group.bins}


class Stranger(UnitDesign):
    """A design that promises no cycles."""

    cycles = False


def device(kind: type[UnitDesign] = UnitDesign, **more: object) -> UnitDesign:
    return kind(**{**vars(design_of(TINY)), **more})  # type: ignore[arg-type]


def counted(unit: Unit, cases: Sequence[Case]) -> dict[str, int]:
    """Each different case, sampled by itself."""
    counter = functional.Counter(plan(unit))
    for case in set(cases):
        counter.sample(case)
    return counter.counts


def agrees(groups: Sequence[CoverageGroup], unit: Unit, cases: Sequence[Case]) -> None:
    counts = counted(unit, cases)
    shown = {name: hits for name, (hits, _) in states(groups).items()}
    model = {one.name for one in plan(unit).bins if one.how == "model"}
    assert {name: shown[name] for name in model} == {name: counts[name] for name in model}


def test_few_cases_show_what_they_miss() -> None:
    few = directed(TINY, 1)[:3]
    found = unit_coverage(device(), 1, [("dot directed", few)], Counter())
    agrees(found.groups, TINY, few)
    assert found.sampled == found.compared == 3
    known = covered(TINY, 1).counter.counts
    for name, (hits, state) in states(found.groups).items():
        if state == "missed":
            assert not hits
            assert known[name] or name in {one.name for one in device().interface}
    bins = bin_counts(found.groups)
    assert bins.missed > 100 > bins.hit > 0
    assert str(bins).startswith(f"{bins.hit} of {bins.hit + bins.missed:,} reachable bins hit")
    # Of a device that does not take them, nobody knows what it could reach.
    unknown = unit_coverage(device(Stranger, chains=False), 1, [("dot directed", few)], Counter())
    never = bin_counts(unknown.groups)
    assert (never.missed, never.hit) == (0, bins.hit)
    assert never.open == bins.missed + bins.open


def test_covering_cases_count_as_if_each_were_sampled() -> None:
    cases, more = covering(TINY, 1), random_cases(TINY, 20, 9)
    suites: list[Compared] = [
        ("dot directed", cases),
        ("dot random", [*more, *cases[:9]]),
        ("dot directed", cases[:99]),
    ]
    found = unit_coverage(device(), 1, suites, Counter({one.name: 1 for one in device().interface}))
    agrees(found.groups, TINY, [*cases, *more])
    assert bin_counts(found.groups).missed == 0


def test_a_proof_that_is_wrong_is_said_and_ends_nothing() -> None:
    wrong = CoverageBin("G12", "misuse", "nobody would", how="trace")
    found = unit_coverage(device(interface=(wrong,)), 1, [("dot directed", directed(TINY, 1)[:3])], {"misuse": 2})
    assert states(found.groups)["misuse"] == (2, "hit")
    assert found.notes[1:] == ["tiny: misuse was hit, and is said to be unreachable"]


@pytest.mark.simulator
def test_a_runs_report_holds_what_its_cases_did(icarus: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch)
    report = small_run(tmp_path / "out", simulators=("icarus",))
    built = pipeline(TINY)
    played = planned(TINY, "icarus", CASES, SEED)
    agrees(report.coverage, TINY, [play.suite.cases[owner] for play in played for owner in play.owners])
    traffic = sum((interface_counts(play, built.latency) for play in played), Counter[str]())
    shown = {name: hits for name, (hits, _) in states(report.coverage).items()}
    assert {name: hits for name, hits in shown.items() if name in traffic} == traffic
    assert report.covered_units["tiny"].missed > 0
    assert read_json(tmp_path / "out" / "results.json") == report
    assert report.notes[0].startswith("coverage of tiny: of ")
    assert 'id="coverage"' in (tmp_path / "out" / "report.html").read_text()
