"""Traces: every beat once, in a context of its own, and what the cycle-level model says of each cycle."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import pytest
from cosim.plays import design_of, odd_pipelines, output_words, stream, trace_of
from cosim.plays import recorded as recorded_cases
from odd_units import IN_RTL, unit, units_of

from hwsim.cases.case import beats
from hwsim.cases.random_cases import random_cases
from hwsim.cosim.bench import port_map
from hwsim.cosim.design import FULL, Play, Suite, Tagged, Traffic, interleave
from hwsim.cosim.play import answers
from hwsim.cosim.play import compared as held_against
from hwsim.model.clock import PipelinedUnit
from hwsim.spec import Pipeline, Unit, pipeline
from hwsim.tb.job import (
    READY,
    RESET,
    SEEN_MISUSE,
    SEEN_READY,
    SEEN_UNKNOWN,
    SEEN_VALID,
    UNKNOWN,
    VALID,
    SuiteOutcome,
)
from hwsim.tb.trace import compare

ODD = units_of(IN_RTL)
TINY = unit("tiny")
TINY_PROMOTED = unit("tiny-promoted")

BUSY = Traffic(0.6, 0.5, bursts=True)
UNITS = {unit.name: unit for unit in (TINY, TINY_PROMOTED, ODD["blocks-in-a-beat"], ODD["no-addend-e4m3"])}


def recorded(unit: Unit, built: Pipeline, traffic: Traffic, count: int = 30) -> Play:
    return recorded_cases(unit, built, random_cases(unit, count, 1), traffic, shuffled=traffic is not FULL)


@pytest.mark.parametrize("order", [None, 5])
@pytest.mark.parametrize("contexts", [1, 2, 3, 8, 50])
@pytest.mark.parametrize("name", UNITS)
def test_every_beat_of_every_case_comes_once_and_in_order(name: str, contexts: int, order: int | None) -> None:
    unit = UNITS[name]
    cases = random_cases(unit, 20, 3)
    items = list(interleave(unit, cases, contexts, None if order is None else stream(order)))
    by_case: dict[int, list[Tagged]] = defaultdict(list)
    open_in: dict[int, int] = {}
    for item in items:
        by_case[item.case].append(item)
        context = item.beat.context
        assert context < contexts
        # A context holds one sum at a time.
        assert item.beat.first == (context not in open_in)
        assert open_in.setdefault(context, item.case) == item.case
        if item.beat.last:
            del open_in[context]
    assert not open_in
    for number, case in enumerate(cases):
        items = by_case[number]
        assert [item.index for item in items] == list(range(len(items)))
        assert [item.beat for item in items] == list(beats(unit, case, items[0].beat.context))


@pytest.mark.quick
@pytest.mark.parametrize("traffic", [FULL, BUSY], ids=["full", "busy"])
@pytest.mark.parametrize("cut", ["usual", "trees, 3 contexts", "one register"])
@pytest.mark.parametrize("name", UNITS)
def test_a_trace_is_what_the_model_does(name: str, cut: str, traffic: Traffic) -> None:
    unit = UNITS[name]
    built = odd_pipelines(unit)[cut]
    play = recorded(unit, built, traffic)
    trace = trace_of(play)
    results, result_cycles, accepted = replayed(unit, built, play)
    assert play.script.results.tolist() == results
    assert np.flatnonzero(trace.results).tolist() == result_cycles
    # Every beat was accepted once, in order, and every case has its result.
    assert accepted == list(range(len(play.beats)))
    assert sorted(play.owners) == list(range(30))
    ports = port_map(unit, built)
    assert list(play.script.payloads) == [ports.pack(beat) for beat in play.beats]
    assert trace.cycles == len(trace.drive) == len(trace.offered) == len(trace.expect)


def replayed(unit: Unit, built: Pipeline, play: Play) -> tuple[list[list[int]], list[int], list[int]]:
    """Play what a trace drives into a model of its own, and compare every cycle. Results, their cycles, beats."""
    model, trace = PipelinedUnit(unit, built), trace_of(play)
    results, result_cycles, accepted = [], [], []
    rows = zip(trace.drive.tolist(), trace.offered.tolist(), trace.expect.tolist(), strict=True)
    for cycle, (drive, offered, expect) in enumerate(rows):
        if drive & RESET:
            assert expect == 0
            model.reset()
            continue
        take, beat = bool(drive & READY), play.beats[offered] if drive & VALID else None
        assert bool(expect & SEEN_VALID) == model.valid
        assert bool(expect & SEEN_MISUSE) == model.misuse
        ready = beat is not None and model.ready(beat.first, beat.context, take)
        assert bool(expect & SEEN_READY) == ready
        if take and model.result is not None:
            results.append([model.result.context, model.result.code])
            result_cycles.append(cycle)
        if model.tick(beat, take):
            accepted.append(offered)
    return results, result_cycles, accepted


@pytest.mark.parametrize("cut", ["usual", "trees, 3 contexts", "one register"])
@pytest.mark.parametrize("name", UNITS)
def test_the_handshake_trace_is_what_the_model_does(name: str, cut: str) -> None:
    unit = UNITS[name]
    built = odd_pipelines(unit)[cut]
    play = recorded_cases(unit, built, random_cases(unit, 16, 1), resets=True)
    trace = trace_of(play)
    results, result_cycles, _ = replayed(unit, built, play)
    assert play.script.results.tolist() == results
    assert np.flatnonzero(trace.results).tolist() == result_cycles
    assert len(play.suite.cases) == 32
    assert trace.expect[-1] & SEEN_MISUSE


def test_a_trace_can_be_held_against_other_answers() -> None:
    built, cases = pipeline(TINY), tuple(random_cases(TINY, 30, 1))
    before = recorded(TINY, built, FULL)
    suite = Suite("suite", cases, tuple(range(100, 130)))
    answered = design_of(TINY, built).play(suite, stream())
    assert answered.owners == before.owners
    assert answered.script.results[:, 1].tolist() == [100 + owner for owner in before.owners]
    assert (answered.script.results[:, 0] == before.script.results[:, 0]).all()


PORTS = port_map(TINY, pipeline(TINY))


@dataclass
class Seen:
    """What a device shows: flags in each cycle, and the payloads of its results."""

    flags: np.ndarray
    results: np.ndarray


def perfect(play: Play) -> Seen:
    """A device that is right."""
    return Seen(trace_of(play).expect.copy(), output_words(play.script, PORTS).copy())


def compared(play: Play, seen: Seen) -> SuiteOutcome:
    trace = trace_of(play)
    return held_against(play.script, trace, answers(trace.drive, seen.flags, seen.results, PORTS))


@pytest.mark.parametrize(("bit", "kind"), [(SEEN_READY, "ready"), (SEEN_VALID, "valid"), (SEEN_MISUSE, "misuse")])
def test_a_flag_that_is_wrong_in_one_cycle_is_seen(bit: int, kind: str) -> None:
    play = recorded(TINY, pipeline(TINY), BUSY)
    trace = trace_of(play)
    cycle = int(np.flatnonzero(trace.drive & VALID)[20])
    seen = perfect(play)
    seen.flags[cycle] ^= bit
    outcome = compared(play, seen)
    (mismatch,) = outcome.mismatches
    expected = int(trace.expect[cycle] & bit > 0)
    assert (mismatch.kind, mismatch.cycle, mismatch.got, mismatch.expected) == (kind, cycle, 1 - expected, expected)
    # Results count as compared only up to there.
    assert outcome.results == int((np.flatnonzero(trace.results) < cycle).sum()) < 30


def test_an_unknown_result_is_told_once_and_those_after_it_are_compared() -> None:
    play = recorded(TINY, pipeline(TINY), FULL)
    trace, seen = trace_of(play), perfect(play)
    cycle, outcome = int(np.flatnonzero(trace.results)[11]), SuiteOutcome("suite")
    seen.flags[cycle] |= SEEN_UNKNOWN
    seen.results[11] = 0
    compare(play.script, trace, answers(trace.drive, seen.flags, seen.results, PORTS), outcome)
    (mismatch,) = outcome.mismatches
    assert (mismatch.kind, mismatch.cycle, mismatch.index, mismatch.got) == ("unknown", cycle, 11, UNKNOWN)
    assert (outcome.count, outcome.results) == (1, 30)


def test_what_is_not_promised_is_not_compared() -> None:
    play = recorded(TINY, pipeline(TINY), BUSY)
    trace = trace_of(play)
    seen = perfect(play)
    seen.flags[trace.drive & VALID == 0] ^= SEEN_READY
    seen.flags[trace.drive & RESET > 0] ^= SEEN_VALID | SEEN_MISUSE
    assert compared(play, seen).count == 0


def test_a_result_that_is_wrong_in_one_bit_is_seen() -> None:
    play = recorded(TINY, pipeline(TINY), BUSY)
    trace = trace_of(play)
    for bit in range(PORTS.output.width):
        seen = perfect(play)
        seen.results[11, 0] ^= 1 << bit
        outcome = compared(play, seen)
        (mismatch,) = outcome.mismatches
        assert (mismatch.kind, mismatch.index, mismatch.cycle) == ("result", 11, np.flatnonzero(trace.results)[11])
        got, expected = (mismatch.got, mismatch.got_context), (mismatch.expected, mismatch.expected_context)
        assert (got[0] ^ expected[0]) | (got[1] ^ expected[1]) << 16 == 1 << bit
