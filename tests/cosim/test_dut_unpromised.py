"""Signs of zero that a specification does not promise: a design that has other ones passes, and it is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cosim.dut_files import SEED, own_file
from cosim.small_runs import small_suites
from unit_keys import odd_unit, window

from hwsim.cases.case import Case
from hwsim.cosim.dutdesign import dut_design
from hwsim.cosim.dutfile import load_dut
from hwsim.cosim.run import CosimOptions, run
from hwsim.cosim.shrink import Shrinker
from hwsim.explain import RunReport
from hwsim.prove.dut import DutProofOptions, prove_dut
from hwsim.spec import Unit

NOT_COMPARED = "the signs of results that are zero (result.zero_sign: any)"


def unit_of(name: str, zero: str, zero_sign: str = "promised") -> Unit:
    return odd_unit(name, "e2m1", "f16", window(4, zero=zero), "f16", 1, zero_sign=zero_sign)


def played(folder: Path, claimed: Unit) -> RunReport:
    """A run of a design whose sums of zero have IEEE 754's signs."""
    design = dut_design(load_dut(own_file(folder, unit_of("ours", "ieee"), claimed)))
    return run(CosimOptions((design,), ("icarus",), SEED, 20, coverage=False, folder=folder / "run", minimize=False))


@pytest.mark.simulator
def test_other_signs_of_zero_pass_where_none_is_promised(
    icarus: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_suites(monkeypatch)
    report = played(tmp_path, unit_of("ours", "positive", "any"))
    assert report.passed
    assert [note for note in report.notes if "not compared" in note] == [f"not compared: {NOT_COMPARED}"]


@pytest.mark.simulator
def test_other_signs_of_zero_are_mismatches_where_they_are_promised(
    icarus: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_suites(monkeypatch)
    report = played(tmp_path, unit_of("ours", "positive"))
    assert not report.passed
    wrong = sum(row.mismatches for row in report.rows)
    assert 0 < wrong < sum(row.compared for row in report.rows) / 2


@pytest.mark.slow
def test_a_proof_leaves_the_signs_out_and_says_so(tmp_path: Path) -> None:
    path = own_file(tmp_path, unit_of("ours", "ieee"), unit_of("ours", "positive", "any"))
    report = prove_dut(dut_design(load_dut(path)), DutProofOptions(products=1, case=tmp_path / "case.yaml"))
    words = {row.name: row.word for row in report.rows}
    assert [words[name] for name in ("a beat alone", "other beats", "1 product")] == ["proved"] * 3
    assert set(words.values()) == {"proved", "not proved"}  # a sum of several beats and its kind are not shown
    assert f"not compared: {NOT_COMPARED}" in report.notes


def test_a_sign_of_zero_is_no_reason_for_a_simpler_case(tmp_path: Path) -> None:
    design = dut_design(load_dut(own_file(tmp_path, unit_of("ours", "positive", "any"))))
    shrinker = Shrinker(design, lambda cases: np.array([0x8000] * len(cases)))
    assert shrinker.shrink([Case("zero", (0,), (0,))]) is None
    assert shrinker.shrink([Case("one", (2,), (2,))]) is not None
