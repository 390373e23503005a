"""Units of several modes in RTL: every beat is computed by its own mode, whatever the mode of the beat before."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from built_presets import others_slow
from cosim.modal_mutants import MIXED, MUTANTS, OWN, STRANGE
from cosim.modal_plays import changing, design_of, recorded
from cosim.mutants import Mutant
from cosim.plays import amaranth_play, bulk_outcomes, stream, trace_of
from cosim.small_runs import shrink
from odd_modes import ODD_MODES

from hwsim.cases.case import beats, modal_dot
from hwsim.cosim import suites as modalsuites
from hwsim.cosim.design import Play, Suite, Traffic, interleave
from hwsim.cosim.run import CosimOptions, run
from hwsim.cosim.trace import record
from hwsim.model.clock import PipelinedUnit
from hwsim.model.definition import Definition
from hwsim.spec import ModalUnit, load_specified, pipeline
from hwsim.tb.job import SEEN_MISUSE

BUSY = Traffic(0.75, 0.7, bursts=True)


WINDOW = ODD_MODES["modes-window"]
ALWAYS = ["modes-window", "modes-counted"]


@pytest.mark.quick(cases=1)
@pytest.mark.parametrize("name", others_slow(list(ODD_MODES), ALWAYS))
def test_every_beat_is_computed_by_its_own_mode(name: str) -> None:
    design = design_of(ODD_MODES[name])
    own, mixed = changing(design.modal, 16)
    several = 2 if max(len(case.modes) for case in mixed) > 1 else 1
    assert all(len(case.modes) >= several for case in mixed)
    plays = [recorded(design, own[-8:] + mixed[:8]), recorded(design, own[:6] + mixed[8:14], BUSY)]
    for play, outcome in zip(plays, amaranth_play(design.modal, design.pipeline, *plays), strict=True):
        assert outcome.mismatches == []
        assert outcome.results == play.script.planned > 0


def test_a_sum_of_mixed_modes_is_the_chain_of_its_groups() -> None:
    # Group by group by each mode's own unit, the result of one as the addend of the next.
    modes = tuple(map(Definition, WINDOW.units))
    _, mixed = changing(WINDOW, 16)
    for case in mixed[:12]:
        total = case.c
        for beat in beats(WINDOW, case):
            mode = modes[beat.mode]
            scales = ([beat.scale_a[lane // 2] for lane in range(4)], list(beat.scale_b) * 4)
            total = mode.dot(beat.a, beat.b, total, *(scales if mode.unit.scale else ())).code
        assert modal_dot(WINDOW, modes, case).code == total


def strange_mode(unit: ModalUnit) -> Play:
    """A sum in a mode that there is not, and then others."""
    design = design_of(unit)
    cases = changing(unit, 4)[0]
    order = list(interleave(unit, cases, 1, None))
    strange = replace(order[2], beat=replace(order[2].beat, mode=len(unit.modes)))
    order[2:3] = [strange]
    return record(Suite("strange", tuple(cases)), unit, design.pipeline, design.ports, order, stream())


def test_a_mode_that_there_is_not_is_misuse() -> None:
    play = strange_mode(WINDOW)
    assert trace_of(play).expect[-1] & SEEN_MISUSE
    (outcome,) = amaranth_play(WINDOW, pipeline(WINDOW), play)
    assert [one for one in outcome.mismatches if one.kind == "misuse"] == []
    # Two modes have two numbers: nothing can be misused.
    device = PipelinedUnit(ODD_MODES["modes-integers"], pipeline(ODD_MODES["modes-integers"]))
    assert len(device.modes) == 1 << ODD_MODES["modes-integers"].mode_bits


@pytest.mark.parametrize("mutant", others_slow(MUTANTS, MUTANTS[::3]), ids=lambda mutant: mutant.name)
def test_a_fault_in_a_mode_is_caught(mutant: Mutant) -> None:
    design = design_of(WINDOW)
    own, mixed = changing(WINDOW, 16)
    plays = {OWN: recorded(design, own[:24]), MIXED: recorded(design, mixed[:12]), STRANGE: strange_mode(WINDOW)}
    with mutant.applied():
        outcomes = dict(zip(plays, amaranth_play(WINDOW, design.pipeline, *plays.values()), strict=True))
    assert all(outcomes[play].count for play in mutant.caught_by), {name: one.count for name, one in outcomes.items()}
    if mutant.name == "the mode is taken at first only":
        assert outcomes[OWN].count == 0


@pytest.mark.slow
@pytest.mark.simulator
@pytest.mark.parametrize("name", ["modes-window", "modes-chain"])
def test_a_whole_run_is_equal_and_counts_every_mode(
    verilator: None, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shrink(monkeypatch)
    monkeypatch.setattr(modalsuites, "MOST_DIRECTED", {"verilator": 400, "icarus": 60})
    design = design_of(ODD_MODES[name])
    options = CosimOptions(designs=(design,), seed=3, cases=40, folder=tmp_path / "run")
    report = run(options)
    assert report.passed
    assert {row.driver for row in report.rows} == {"verilator", "icarus", "verilator, bulk"}
    assert set(report.covered_units) == {mode.name for mode in design.modes}


@pytest.mark.slow
@pytest.mark.simulator
@pytest.mark.parametrize("name", ["fp8-any", "hfp8-hybrid"])
def test_every_pair_of_codes_in_every_mode(verilator: None, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modalsuites, "MOST_PAIRS", 1 << 18)
    unit = load_specified(name)
    assert isinstance(unit, ModalUnit)
    design = design_of(unit)
    planner = modalsuites.ModalPlanner(design, 1)
    suite = planner._pairs()
    assert suite.left_out == () and len(suite.cases) == len(unit.modes) << 16
    (outcome,) = bulk_outcomes(design, [design.play(suite, stream())])
    assert (outcome.count, outcome.results) == (0, len(suite.cases))
