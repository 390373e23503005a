"""Engines' RTL: every port in every cycle as the model has it, every word as `hwsim.gemm` returns it."""

from __future__ import annotations

from pathlib import Path

import pytest
from built_presets import others_slow
from conftest import at_hand
from engine.engine_mutants import MUTANTS, EngineMutant
from engine.engines import engine, notice
from odd_modes import ODD_MODES
from odd_units import unit

from hwsim.cosim.engine.run import play
from hwsim.cosim.engine.suites import scripts
from hwsim.rtl.engine.top import engine_verilog
from hwsim.spec.engine import Engine
from hwsim.tb.job import SuiteOutcome


def played(built: Engine, folder: Path, simulator: str) -> list[SuiteOutcome]:
    with at_hand():
        return play(built, list(scripts(built, 1, small=True)), folder, simulator)


def agrees(outcomes: list[SuiteOutcome]) -> None:
    assert {outcome.name: outcome.mismatches[:3] for outcome in outcomes if outcome.count} == {}
    assert sum(outcome.results for outcome in outcomes) > 100 and sum(outcome.cycles for outcome in outcomes) > 1000


@pytest.mark.parametrize("simulator", others_slow(["verilator", "icarus"], ["verilator"]))
def test_an_engine_is_its_model(simulator: str, tmp_path: Path) -> None:
    agrees(played(engine(), tmp_path, simulator))


def test_sums_wait_where_contexts_are_few(tmp_path: Path) -> None:
    agrees(played(engine(reuse=[1, 2], reset="async-low"), tmp_path, "icarus"))


def test_an_engine_without_addends_tells_of_frames_of_other_lengths(tmp_path: Path) -> None:
    outcomes = played(engine(addends=False), tmp_path, "icarus")
    agrees(outcomes)
    names = {outcome.name for outcome in outcomes}
    assert {"frames-of-other-lengths", "frames-that-end-early"} <= names


ODD_ENGINES = {
    "several scales a beat": unit("blocks-in-a-beat"), "scales of parts": unit("subgroups"),
    "scales of partial sums": unit("scaled-promotion"), "products in an order": unit("ordered-blocks"),
    "modes, one without scales": ODD_MODES["modes-window"],
}  # fmt: skip


APART = {"scale_a": 16, "scale_b": 8}  # scales as streams of their own


@pytest.mark.parametrize("apart", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize("what", others_slow(ODD_ENGINES, ["several scales a beat"]))
def test_a_small_engine_of_every_place_of_scales_is_its_model(what: str, apart: bool, tmp_path: Path) -> None:
    ports = {"a": 32, "b": 64, "d": 32} | (APART if apart else {})
    if ODD_ENGINES[what].operands.addend is not None:
        ports["c"] = 64
    agrees(played(engine(ODD_ENGINES[what], columns=2, ports=ports), tmp_path, "icarus"))


UNITS = {  # of every method and place of scales, with addends where they take some
    "hopper-wgmma-e4m3-f32": True, "mx-any": False, "deepseek-v3-e4m3-f32-scaled": True,
    "blackwell-mxf4nvf4-e2m1-f32": True, "exact-e4m3-f32": True, "cdna3-mfma-e4m3fnuz-f32": True,
    "hopper-mma-e4m3-f16": True, "cdna2-mfma-f16-f32": True, "int8-i32": True, "sequential-e4m3-bf16": False,
    "hfp8-hybrid": False, "mxfp4-e2m1-f32": True,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", UNITS)
def test_engines_of_every_method_are_their_models(name: str, tmp_path: Path) -> None:
    ports = {"a": 128, "b": 256, "d": 64} | ({"c": 64} if UNITS[name] else {})
    agrees(played(engine(name, ports=ports), tmp_path, "verilator"))


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.what.replace(" ", "-") for mutant in MUTANTS])
def test_a_mutant_is_caught(mutant: EngineMutant, tmp_path: Path) -> None:
    built = engine(addends="c_slices" in mutant.old, reuse=[1, 1] if mutant.contexts == 1 else [2, 2])
    text = engine_verilog(built)
    assert mutant.old in text
    every = list(scripts(built, 1, small=True))
    assert notice(built, every, tmp_path, text.replace(mutant.old, mutant.new, 1)), mutant.what
