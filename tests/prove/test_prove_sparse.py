"""Proofs of sparse units: their files do what their dense units' do with what the model selects, for every metadata."""

from __future__ import annotations

from collections.abc import Sequence
from unittest import mock

import pytest
from built_presets import others_slow
from cosim.mutants import Mutant, of_lanes
from cosim.sparse_mutants import MUTANTS, OF_PAIRS, OF_THREE

from hwsim.prove import selection
from hwsim.prove.run import ProofOptions, prove
from hwsim.prove.selection import Selecting
from hwsim.rtl import verilog
from hwsim.spec import SparseUnit, load_sparse, pipeline


def sparse(name: str, dense: str, lanes: int, **sparsity: int) -> SparseUnit:
    unit = of_lanes(dense, lanes)
    return load_sparse({"unit": name, "dense": unit, "sparsity": sparsity})


UNITS = {
    "two-of-four": sparse("two-of-four", "blackwell-tcgen05-e2m1-f32", 4, keep=2, of=4),
    "pairs": sparse("pairs", "ampere-mma-int4-i32", 8, keep=2, of=4, run=2),
    "one-of-three": sparse("one-of-three", "int8-i32", 2, keep=1, of=3),
    "promoted": sparse("promoted", "deepseek-v3-e4m3-f32", 4, keep=2, of=4),
    "hopper": load_sparse("hopper-wgmma-sp-e4m3-f32"),
}


def words(unit: SparseUnit, text: str = "") -> dict[str, str]:
    return {claim.name: claim.decide(100).word for claim in Selecting(unit, pipeline(unit), text).claims()}


@pytest.mark.parametrize("name", others_slow(UNITS, ["one-of-three"]))
def test_a_sparse_file_is_its_dense_one_behind_a_selection(name: str) -> None:
    found = words(UNITS[name])
    assert set(found.values()) == {"proved"}, found
    rule, lanes = UNITS[name].sparsity, UNITS[name].dense.instruction.lanes
    assert {f"select: group {group}" for group in range(lanes // rule.kept)} <= found.keys()
    assert {"select: ports", "select: registers", "select: others", "select: outputs"} <= found.keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["two-of-four", "pairs"])
def test_a_sparse_unit_is_proved(name: str) -> None:
    unit = UNITS[name]
    report = prove(unit, pipeline(unit), ProofOptions(seconds=300))
    assert report.proved, [f"{row.name}: {row.word}" for row in report.open]
    assert "with the factors that the model selects" in report.verdict


MANY = [*MUTANTS[:-1], OF_PAIRS, OF_THREE]  # the last is of several beats


# With equal or falling indices too: a claim is of all metadata.
@pytest.mark.parametrize("mutant", others_slow(MANY, [MUTANTS[1]]), ids=lambda one: one.name)
def test_a_fault_in_the_selector_is_refuted(mutant: Mutant) -> None:
    unit = UNITS[{OF_PAIRS.name: "pairs", OF_THREE.name: "one-of-three"}.get(mutant.name, "two-of-four")]
    with mutant.applied():
        text = verilog(unit, pipeline(unit))
    assert words(unit, text)["select: registers"] == "refuted"


def neighbours(rule: object, b: Sequence[object], indices: Sequence[int]) -> list[object]:
    return [b[number // 2 * 4 + (index ^ 1)] for number, index in enumerate(indices)]


@pytest.mark.slow
def test_a_fault_in_the_model_is_refuted() -> None:
    with mock.patch.object(selection, "selected", neighbours):
        found = words(UNITS["two-of-four"])
    assert {name for name, word in found.items() if word == "refuted"} == {"select: group 0", "select: group 1"}


@pytest.mark.slow
def test_a_refuted_claim_has_a_case_that_shows_it() -> None:
    unit = UNITS["two-of-four"]
    with MUTANTS[3].applied():
        report = prove(unit, pipeline(unit), ProofOptions(seconds=60, only="select:"))
    assert not report.proved
    assert any("select, beat 0, lane" in note for note in report.notes), report.notes
