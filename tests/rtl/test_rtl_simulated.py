"""The RTL in Amaranth's own simulator, cycle by cycle against the cycle-level model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest
from cosim.amaranth_play import amaranth_play
from cosim.odd_units import ODD, TINY, TINY_PROMOTED, odd_pipelines

from hwsim.cosim.ports import port_map
from hwsim.cosim.suites import Planner, Suite
from hwsim.cosim.trace import VALID
from hwsim.pipeline import PipelinedUnit
from hwsim.rtl import dot_unit
from hwsim.spec import Pipeline, Unit, pipeline

UNITS = {unit.name: unit for unit in (TINY, TINY_PROMOTED, *ODD.values())}
SMALL = (TINY.name, TINY_PROMOTED.name, "one-lane-e5m2", "no-addend-e4m3")
BUSY, HANDSHAKE = "dot random, gaps and back-pressure", "handshake and reset"


def suites(unit: Unit, built: Pipeline, count: int) -> Iterator[Suite]:
    """Random sums back to back, under gaps and back-pressure, and the handshake."""
    planner = Planner(unit, built, port_map(unit, built), 7, lambda: None)
    wanted = ("dot random", BUSY, HANDSHAKE)
    for suite in planner.cocotb("icarus", count):
        if suite.name in wanted:
            yield suite
        if suite.name == wanted[-1]:
            return


@pytest.mark.parametrize("cut", ["usual", "trees, 3 contexts", "one register"])
@pytest.mark.parametrize("name", UNITS)
def test_every_cycle_is_the_models(name: str, cut: str) -> None:
    unit = UNITS[name]
    built = odd_pipelines(unit)[cut]
    played = {}
    for suite in suites(unit, built, 80 if name in SMALL else 16):
        outcome = amaranth_play(unit, built, suite.trace)
        assert outcome.mismatches == []
        assert outcome.results == suite.planned > 0
        played[suite.name] = outcome.cycles
    assert len(played) == 3


@pytest.mark.parametrize("contexts", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("cuts", [("decode",), ("multiply", "maximum", "align", "sum", "magnitude", "normalize")])
def test_every_number_of_contexts(contexts: int, cuts: tuple[str, ...]) -> None:
    built = pipeline(TINY_PROMOTED, cuts=(*cuts, "promote.align"), contexts=contexts)
    for suite in suites(TINY_PROMOTED, built, 40):
        outcome = amaranth_play(TINY_PROMOTED, built, suite.trace)
        assert (outcome.mismatches, outcome.results) == ([], suite.planned)


@cache
def tiny_suites() -> dict[str, Suite]:
    return {suite.name: suite for suite in suites(TINY, pipeline(TINY), 60)}


# Faults in the control, and the suites that must see them.
FAULTS = {
    "no wait": ("_ready", "advance & (payload.first | ~waits)", "advance", (BUSY, HANDSHAKE)),
    "first waits": ("_ready", "payload.first | ~waits", "~waits", (HANDSHAKE,)),
    "no hold": ("_operands", "path.enable.eq(advance)", "path.enable.eq(1)", (BUSY, HANDSHAKE)),
    "misuse": ("_misuse", "self.misuse.eq(1)", "self.misuse.eq(0)", (HANDSHAKE,)),
    "context": ("_flight", "eq(stages[-1].context)", "eq(0)", ("dot random", BUSY, HANDSHAKE)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_unit_is_caught(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from cosim.mutants import Mutant

    method, old, new, catching = FAULTS[fault]
    mutant = Mutant(fault, TINY.name, catching, getattr(dot_unit.DotUnit, method), old, new)
    with mutant.applied():
        for name in catching:
            assert amaranth_play(TINY, pipeline(TINY), tiny_suites()[name].trace).count > 0


def test_a_zeroed_result_is_caught() -> None:
    suite = tiny_suites()["dot random"]
    zeroed = replace(suite.trace, results=tuple((case, 0) for case, _ in suite.trace.results))
    assert amaranth_play(TINY, pipeline(TINY), zeroed).count > 0


def test_the_handshake_suite_has_what_it_promises() -> None:
    # Every register full and held, resets in flight, and misuse at the end: not a suite that any unit would pass.
    suite = tiny_suites()[HANDSHAKE]
    trace, latency = suite.trace, pipeline(TINY).latency
    resets = int((trace.drive & 4 > 0).sum())
    assert resets >= 2 * latency
    assert trace.expect[-1] & 4 and not (trace.expect[:-20] & 4).any()
    refused = (trace.drive & VALID > 0) & (trace.expect & 1 == 0)
    assert refused.any()
    assert PipelinedUnit(TINY, pipeline(TINY)).misuse is False
