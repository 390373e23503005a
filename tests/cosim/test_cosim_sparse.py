"""Sparse units in RTL: metadata select the factors of b, whatever the others are, and the dense unit multiplies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from built_presets import others_slow
from cosim.mutants import Mutant, of_lanes
from cosim.plays import amaranth_play, bulk_outcomes, stream, trace_of
from cosim.small_runs import shrink
from cosim.sparse_mutants import ANY, BEYOND, MUTANTS, OF_PAIRS, OF_THREE, SELECTIONS

import hwsim
from hwsim.cases.captured import SPARSE, sparse_captured
from hwsim.cases.case import Case, multiplied
from hwsim.cases.random_cases import random_cases
from hwsim.cases.selection import ordered, placed, selection_cases, selections
from hwsim.cosim.casefile import load_case
from hwsim.cosim.design import BUSY, FULL, Play, Suite, Traffic, interleave
from hwsim.cosim.diagnose import first_difference
from hwsim.cosim.run import CosimOptions, run
from hwsim.cosim.suites import SparsePlanner, expected_codes
from hwsim.cosim.trace import record
from hwsim.cosim.unitdesign import SparseDesign, sparse_design
from hwsim.model.definition import definition_of
from hwsim.rtl import supports
from hwsim.spec import SparseUnit, load_sparse, load_unit, pipeline, sparse_presets
from hwsim.tb.job import SEEN_MISUSE


def of_four(name: str, dense: str, lanes: int, **sparsity: int) -> SparseUnit:
    return load_sparse({"unit": name, "dense": of_lanes(dense, lanes), "sparsity": sparsity})


UNITS = {
    unit.name: unit
    for unit in (
        of_four("two-of-four", "hopper-wgmma-e4m3-f32", 4, keep=2, of=4),
        of_four("four-of-eight", "blackwell-tcgen05-e2m1-f32", 8, keep=4, of=8),
        of_four("pairs", "ampere-mma-int4-i32", 8, keep=2, of=4, run=2),
        of_four("one-of-two", "hopper-wgmma-tf32-f32", 2, keep=1, of=2),
        of_four("one-of-three", "int8-i32", 2, keep=1, of=3),
        of_four("promoted", "deepseek-v3-e4m3-f32", 4, keep=2, of=4),
    )
}
TWO, PAIRS, THREE = (UNITS[name] for name in ("two-of-four", "pairs", "one-of-three"))


def design_of(unit: SparseUnit) -> SparseDesign:
    return sparse_design(unit, pipeline(unit))


def drawn(unit: SparseUnit, count: int) -> list[Case]:
    """Random cases of which the later ones have several beats, also with metadata that do not ascend."""
    return list(placed(unit, random_cases(unit.dense, count, 7), stream(), falling=True))


def recorded(unit: SparseUnit, cases: list[Case], traffic: Traffic = FULL, *, resets: bool = False) -> Play:
    suite = Suite("suite", tuple(cases), traffic=traffic, shuffled=traffic is not FULL, resets=resets)
    return design_of(unit).play(suite, stream())


def beyond(unit: SparseUnit) -> Play:
    """A beat with an index that is not below `of`, which is taken for the last, and then others."""
    design, cases = design_of(unit), drawn(unit, 4)
    order = list(interleave(unit, cases, 1, None))
    order[2:3] = [replace(order[2], beat=replace(order[2].beat, metadata=(3, *order[2].beat.metadata[1:])))]
    return record(Suite("beyond", tuple(cases)), unit, design.pipeline, design.ports, order, stream())


@pytest.mark.quick(cases=1)
@pytest.mark.parametrize("name", others_slow(list(UNITS), ["two-of-four"]))
def test_every_beat_is_multiplied_by_what_its_metadata_select(name: str) -> None:
    unit = UNITS[name]
    cases, every = drawn(unit, 24), selection_cases(unit, stream(), falling=True)
    plays = [recorded(unit, cases), recorded(unit, cases[:12], BUSY), recorded(unit, cases[:6], resets=True)]
    plays.append(recorded(unit, every[:: 1 + len(every) // 100]))
    for play, outcome in zip(plays, amaranth_play(unit, pipeline(unit), *plays), strict=True):
        assert outcome.mismatches == []
        assert outcome.results == play.script.planned > 0


def test_cases_hold_what_the_dense_unit_multiplies() -> None:
    for unit in (TWO, PAIRS, THREE):
        dense = random_cases(unit.dense, 32, 7)
        cases = list(placed(unit, dense, stream(), falling=True))
        assert [multiplied(unit, case) for case in cases] == dense
        assert all(len(case.b) * unit.sparsity.keep == len(case.a) * unit.sparsity.of for case in cases)
        rising = placed(unit, dense, stream())
        assert all(indices in unit.sparsity.patterns for case in rising for _, indices in selections(unit, case))


@pytest.mark.parametrize("name", others_slow(["two-of-four", "pairs", "four-of-eight"], ["two-of-four", "pairs"]))
def test_selections_tell_every_factor_that_a_lane_could_get(name: str) -> None:
    """Each of its group gives another result, and none of another group gives one of these."""
    unit = UNITS[name]
    rule, definition = unit.sparsity, definition_of(unit.dense)
    lanes = unit.dense.instruction.lanes
    every = selection_cases(unit, stream(), falling=True)
    assert len(every) == lanes * rule.of**rule.keep
    for case in every[::7]:
        (lane,) = (i for i, code in enumerate(case.a) if code)
        own = range(lane // rule.kept * rule.whole, (lane // rule.kept + 1) * rule.whole)
        b = [0] * len(case.a)

        def result(code: int, lane: int = lane, a: tuple[int, ...] = case.a, b: list[int] = b) -> int:
            return definition.dot(a, [*b[:lane], code, *b[lane + 1 :]]).code

        results = [result(case.b[place]) for place in own]
        others = {result(code) for place, code in enumerate(case.b) if place not in own}
        assert len(set(results)) == rule.whole and not others & set(results)
    seen = {found for case in every for found in selections(unit, case)}
    assert seen == {(group, pattern) for group in range(lanes // rule.kept) for pattern in ordered(rule, True)}


def test_an_index_beyond_is_misuse_and_takes_the_last() -> None:
    play = beyond(THREE)
    assert trace_of(play).expect[-1] & SEEN_MISUSE
    (outcome,) = amaranth_play(THREE, pipeline(THREE), play)
    assert outcome.mismatches == []


@pytest.mark.parametrize("mutant", others_slow([*MUTANTS, OF_PAIRS, OF_THREE], MUTANTS[1::6]), ids=lambda one: one.name)
def test_a_fault_in_the_selector_is_caught(mutant: Mutant) -> None:
    unit = {OF_PAIRS.name: PAIRS, OF_THREE.name: THREE}.get(mutant.name, TWO)
    plays = {ANY: recorded(unit, drawn(unit, 24)), SELECTIONS: recorded(unit, selection_cases(unit, stream(), True))}
    if BEYOND in mutant.caught_by:
        plays[BEYOND] = beyond(unit)
    with mutant.applied():
        outcomes = dict(zip(plays, amaranth_play(unit, pipeline(unit), *plays.values()), strict=True))
    assert all(outcomes[play].count for play in mutant.caught_by), {name: one.count for name, one in outcomes.items()}


def test_a_fault_in_the_selector_is_named() -> None:
    case = selection_cases(TWO, stream(), True)[5]
    assert first_difference(TWO, case) is None
    with MUTANTS[3].applied():
        found = first_difference(TWO, case)
    assert found is not None and (found.stage, found.beat) == ("select", 0)


CASE = "unit: two-of-four\na: [0x38, 0x40]\nb: [0x38, 0x40, 0x44, 0x48]\nmetadata: [3, 0]\n"
WRONG = {
    "a must be a multiple of the 2 codes": ("a: [0x38, 0x40]", "a: [0x38]"),
    "b must have 4 codes, of which a keeps 2, not 3": ("b: [0x38, ", "b: ["),
    "metadata must be 2 indices below 4": ("[3, 0]", "[4, 0]"),
    "unit must be two-of-four, which is played": ("unit: two", "unit: one"),
}


def test_a_case_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "case.yaml"
    file.write_text(CASE)
    case = load_case(file, design_of(TWO))
    assert (case.a, case.metadata) == ((0x38, 0x40, 0, 0), (3, 0, 0, 1))
    assert multiplied(TWO, case).b[:2] == (0x48, 0x38)
    (outcome,) = amaranth_play(TWO, pipeline(TWO), recorded(TWO, [case]))
    assert (outcome.count, outcome.results) == (0, 1)
    for words, (right, wrong) in WRONG.items():
        assert right in CASE
        file.write_text(CASE.replace(right, wrong))
        with pytest.raises(hwsim.SpecError, match=words):
            load_case(file, design_of(TWO))


ORDER = {"modulo": 4, "groups": [[0, 1], [2, 3]]}


def test_every_preset_is_in_the_rtl() -> None:
    assert all(supports(load_sparse(name)) for name in sparse_presets())
    for keys, words in (
        ({"lanes": 1, "k": 2}, "sparsity of 2 kept together in groups of 1 is in the model, but not in hardware yet"),
        ({"lanes": 2, "k": 4, "start": "zero", "order": ORDER}, "sparsity with instruction.order"),
    ):
        dense = load_unit("blackwell-mma-e4m3-f32" if "order" in keys else "hopper-wgmma-e4m3-f32")
        unit = load_sparse(
            {"unit": "parted", "dense": dense.replace({"instruction": keys}), "sparsity": {"keep": 2, "of": 4}}
        )
        for by in ("rtl", "clock"):
            assert words in hwsim.supports(unit, by).reason  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.simulator
@pytest.mark.parametrize("name", ["two-of-four", "pairs"])
def test_a_whole_run_is_equal_and_counts_every_selection(
    verilator: None, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shrink(monkeypatch)
    report = run(CosimOptions(designs=(design_of(UNITS[name]),), seed=3, cases=24, folder=tmp_path / "run"))
    assert report.passed
    assert {row.driver for row in report.rows} == {"verilator", "icarus", "verilator, bulk"}
    (group,) = [group for group in report.coverage if group.name == "G13"]
    rule, lanes = UNITS[name].sparsity, UNITS[name].dense.instruction.lanes
    assert len(group.of("hit")) == len(group.bins) == lanes // rule.kept * rule.of**rule.keep


@pytest.mark.slow
@pytest.mark.simulator
@pytest.mark.parametrize("name", list(SPARSE))
def test_captured_products_through_the_rtl(
    verilator: None, name: str, silicon: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HWSIM_SILICON", str(silicon))
    unit = load_sparse(name)
    known = sparse_captured(unit)
    assert len(known) == {"e4m3": 4, "int8": 6}[SPARSE[name][0]] * 576
    (suite,) = list(SparsePlanner(design_of(unit), 1).captured(1 << 20))
    assert len(suite.cases) + sum(count for _, count in suite.left_out) == len(known)
    (outcome,) = bulk_outcomes(design_of(unit), [design_of(unit).play(suite, stream())])
    assert (outcome.count, outcome.results) == (0, len(suite.cases)) and outcome.results > 500


def test_products_whose_k_is_no_whole_beat_are_filled_up() -> None:
    unit = of_four("six", "hopper-wgmma-e4m3-f32", 6, keep=2, of=4)
    (suite,) = SparsePlanner(design_of(unit), 1).gemm((2, 2, 64))
    assert {(len(case.a), len(case.b), len(case.metadata)) for case in suite.cases} == {(66, 132, 66)}
    assert suite.expected == expected_codes(unit.dense, [multiplied(unit, case) for case in suite.cases])


def test_a_mismatch_is_explained_by_what_the_dense_unit_multiplies() -> None:
    case = drawn(TWO, 8)[7]
    assert design_of(TWO).case_of(case) == (TWO.dense, TWO.dense.name, multiplied(TWO, case))
