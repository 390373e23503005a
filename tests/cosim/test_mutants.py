"""Every deliberate fault is caught by every suite that claims to see it.

In RTL of four lanes, which is built in an eighth of the time; in the soak in that of the presets themselves.
"""

from __future__ import annotations

import pytest
from built_presets import others_slow
from computed_once import computed_once
from cosim.mutants import DIRECTED, LANES, MUTANTS, Mutant, of_lanes
from cosim.plays import planned
from cosim.plays import played as compared

from hwsim.cosim.bench import port_map
from hwsim.cosim.build import bulk_build
from hwsim.cosim.design import Play
from hwsim.cosim.diagnose import first_difference
from hwsim.cosim.play import BulkUnit
from hwsim.rtl import verilog
from hwsim.spec import pipeline
from hwsim.tb.job import SuiteOutcome

pytestmark = pytest.mark.simulator
SEED = 20261121
FULL = 32  # as the presets have


@computed_once()
def suites(name: str, lanes: int) -> dict[str, Play]:
    return {play.suite.name: play for play in planned(of_lanes(name, lanes), "icarus", 600, SEED)}


def played(mutant: Mutant | None, name: str, lanes: int) -> dict[str, SuiteOutcome]:
    """What the suites say of a unit whose RTL has a fault, or none."""
    unit = of_lanes(name, lanes)
    built = pipeline(unit)
    ports = port_map(unit, built)
    if mutant is None:
        text = verilog(unit, built)
    else:
        with mutant.applied():
            text = verilog(mutant.built_from(unit), built)
    library = bulk_build(text, ports)
    outcomes = {}
    for suite, play in suites(name, lanes).items():
        with BulkUnit(library, ports) as device:
            outcomes[suite] = compared(device, play)
    return outcomes


@pytest.mark.parametrize("lanes", [LANES, pytest.param(FULL, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", others_slow(sorted({mutant.unit for mutant in MUTANTS}), []))
def test_without_a_fault_nothing_is_caught(verilator: None, name: str, lanes: int) -> None:
    outcomes = played(None, name, lanes)
    assert {outcome.count for outcome in outcomes.values()} == {0}
    assert all(outcome.results == suites(name, lanes)[suite].script.planned for suite, outcome in outcomes.items())


# The stage that the report names.
STAGES = {
    "dropped lane": "align",
    "dropped addend": "align",
    "shift off by one in a lane": "align",
    "addend takes no part in the maximum": "maximum",
    "zero product sets the maximum": "multiply",
    "subnormal with the exponent of zero": "decode",
    "sum one bit narrower": "sum",
    "rounded for truncated result": "round",
    "tie rounded down in the promotion": "promote",
    "sticky bit lost in the promotion": "promote",
}


# One of most steps, of the specification, and of the control; the others are as many of the same.
ALWAYS = [
    mutant
    for mutant in MUTANTS
    if mutant.name
    in {
        "subnormal with the exponent of zero", "reset leaves a valid bit",
    }
]  # fmt: skip


FULL_AND_FEW = [(mutant, full) for full in (False, True) for mutant in MUTANTS]


def name_of(mutant: Mutant, full: bool) -> str:
    return f"{mutant.name}-{'all lanes' if full else 'few lanes'}"


@pytest.mark.quick(cases=2)
@pytest.mark.parametrize(
    ("mutant", "full"),
    others_slow(
        FULL_AND_FEW,
        [(mutant, False) for mutant in ALWAYS],
        [(mutant, full) for mutant, full in FULL_AND_FEW if mutant in ALWAYS or not full],
    ),
    ids=[name_of(*each) for each in FULL_AND_FEW],
)
def test_a_fault_is_caught_and_its_stage_is_named(verilator: None, mutant: Mutant, full: bool) -> None:
    lanes = FULL if full else mutant.lanes
    outcomes = played(mutant, mutant.unit, lanes)
    missed = [suite for suite in mutant.caught_by if outcomes[suite].count == 0]
    assert not missed, f"{mutant.name} survived {missed}; caught by {[s for s, o in outcomes.items() if o.count]}"
    if mutant.name in STAGES and not full:
        mismatch = next(m for m in outcomes[DIRECTED].mismatches if m.kind == "result")
        case = suites(mutant.unit, lanes)[DIRECTED].case(mismatch.index)
        assert case is not None
        with mutant.applied():
            difference = first_difference(of_lanes(mutant.unit, lanes), case)
        assert difference is not None
        assert difference.stage == STAGES[mutant.name]


@pytest.mark.slow
def test_without_a_fault_no_stage_differs() -> None:
    for name in sorted({mutant.unit for mutant in MUTANTS}):
        for case in suites(name, LANES)[DIRECTED].suite.cases[::2000]:
            assert first_difference(of_lanes(name, LANES), case) is None
