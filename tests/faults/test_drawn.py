"""Faults that a seed draws are caught by directed cases alone: of models of every method, and of designs of six styles.

A fault that these do not catch is looked for among other cases; one that none of them shows changes nothing, for all
that is known.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from built_presets import others_slow
from faults.drawn import drawn_faults, drawn_flaws, file_of
from odd_units import unit

from hwsim.base.errors import InputError
from hwsim.cases.bins.covering import covering
from hwsim.cases.random_cases import random_cases
from hwsim.cosim.build import BuildFailed
from hwsim.cosim.design import AskedSuites, SuiteKind
from hwsim.cosim.dutdesign import dut_design
from hwsim.cosim.dutfile import load_dut
from hwsim.cosim.play import command, play_simulated
from hwsim.cosim.suites import Planner
from hwsim.explain.mistakes.kills import killers, search

# Of each method, and of what follows groups.
UNITS = (
    "floor-f16-rne", "rne-bf16-ru", "sticky-f16", "blocks-shorter", "product-limit", "chain-rd", "chain-f16-mul-add",
    "tree-4", "tree-f16-7", "exact-f32", "exact-f16-group", "exact-late", "even-odd", "even-odd-add", "late-window",
    "late-sequential", "promoted-bare", "exact-promoted", "chain-f16-chunks", "scaled-promotion",
)  # fmt: skip
SOON = ("exact-f32",)
SEEDS = (1, 2)
STYLES = ("window", "chain", "tree", "exact", "jam", "blocks")
DRAWN = 10  # faults of each style
STUCK_AFTER = 300.0


@pytest.mark.parametrize("name", others_slow(UNITS, SOON))
def test_drawn_flaws_of_a_model_are_caught(name: str, record_property: pytest.RecordProperty) -> None:
    some, caught, every = unit(name), 0, 0
    cases = covering(some, 1)
    for seed in SEEDS:
        flaws = list(drawn_flaws(some, seed))
        found = killers(some, cases, flaws)
        left = [flaw for flaw in flaws if flaw.name not in found]
        # No flaw that other cases show is missed.
        others, _ = search(some, left, seed=2)
        assert not others
        assert not killers(some, random_cases(some, 1000, 7), left)
        caught, every = caught + len(found), every + len(flaws)
    record_property("caught", f"{caught} of {every}")
    assert caught >= 0.7 * every


def wrong(dut: Path, kind: SuiteKind) -> int:
    """How many results of a kind of suite are wrong."""
    design = dut_design(load_dut(dut))
    program = command("icarus", design.sources("icarus"), trace=False)
    plays, _ = Planner(design, 1, AskedSuites(frozenset({kind}))).plan("icarus", 1000)
    played = play_simulated("icarus", program, design, plays, dut.parent / f"job-{kind.name}", 1, STUCK_AFTER)
    return sum(one.outcome.count for one in played)


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("style", "count"),
    [*((style, 1) for style in STYLES[1:2]), *(pytest.param(style, DRAWN, marks=pytest.mark.slow) for style in STYLES)],
)
def test_drawn_faults_of_a_design_are_caught(
    icarus: None, tmp_path: Path, style: str, count: int, record_property: pytest.RecordProperty
) -> None:
    missed, caught = [], 0
    for number, fault in enumerate(drawn_faults(style, count, 1)):
        try:
            dut = file_of(fault, tmp_path / f"{number}")
            count_of_directed = wrong(dut, SuiteKind.DIRECTED)
        except (InputError, BuildFailed):
            continue  # it is no design
        if count_of_directed:
            caught += 1
        elif wrong(dut, SuiteKind.RANDOM):
            missed.append(fault.cause)
    record_property("caught", caught)
    assert not missed
    assert caught >= 0.6 * count
