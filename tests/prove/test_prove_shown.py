"""What is compared and not proved, refuted claims as cases, and what reports of proofs say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from built_presets import others_slow
from odd_units import unit
from prove.step_mutants import DEEPSEEK, on
from prove.step_mutants import MUTANTS as STEP_MUTANTS

from hwsim.cli import main
from hwsim.cosim.casefile import load_case
from hwsim.cosim.diagnose import first_difference
from hwsim.cosim.unitdesign import unit_design
from hwsim.prove.aligned import AlignedClaims
from hwsim.prove.claims import Claim
from hwsim.prove.example import DatapathExamples
from hwsim.prove.run import ProofOptions, UnitClaims, claims_of, prove
from hwsim.rtl import accumulate as promote
from hwsim.rtl import aligned as align
from hwsim.spec import as_yaml, load_unit, pipeline

real_maximum = align.bitwise_maximum
SMALL = "rvbna-e4m3-f32-n4"
# What no result shows: the sum takes the sign of a truncated term for its carry, so that floor is truncation again.
# And what takes one code of one lane beside a negative addend, of a claim that no values refute: it is not found.
HIDDEN = "floor for truncate", "an addend that a factor changes"


@pytest.mark.parametrize("mutant", others_slow(STEP_MUTANTS, []))
def test_a_refuted_claim_becomes_a_case_of_few_lanes(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, broken, mutate = STEP_MUTANTS[mutant]
    mutate(monkeypatch)
    unit = load_unit(name)
    claims = AlignedClaims(unit)
    claim = next(claim for claim in claims.claims() if claim.name == broken)
    assert claim.decide(60).word != "proved"
    found = DatapathExamples(claims).of(claim)
    if mutant in HIDDEN:
        assert found is None
        return
    assert found is not None
    assert found.expected != found.got
    assert first_difference(unit, found.case) is not None
    assert sum(code != 0 for code in found.case.a) <= 3


@pytest.mark.slow
def test_a_refuted_claim_of_a_promotion_becomes_a_case(monkeypatch: pytest.MonkeyPatch) -> None:
    on(promote, "clamp", lambda distance, bits: distance[:bits])(monkeypatch)
    unit = load_unit(DEEPSEEK)
    claims = UnitClaims(unit, pipeline(unit))
    assert claims.after is not None
    claim = next(claim for claim in claims.after.claims() if claim.name == "promotion: register aligned")
    assert claim.decide(60).word == "refuted"
    found = DatapathExamples(claims.datapath, claims.after).of(claim)
    assert found is not None
    difference = first_difference(unit, found.case)
    assert difference is not None
    assert difference.stage == "promote"


@pytest.mark.slow
def test_a_case_is_written_drawn_and_read_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    unit, path = load_unit(SMALL), tmp_path / "case.yaml"
    built = pipeline(unit)
    with monkeypatch.context() as patch:
        on(align, "bitwise_maximum", lambda m, values, end: real_maximum(m, values[1:], end))(patch)
        report = prove(unit, built, ProofOptions(only="maximum", case=path))
    assert report.verdict.endswith("1 refuted")
    assert report.example is not None
    assert report.example.stage.startswith("maximum")
    assert report.example.explanation is not None
    assert f"--case {path}" in report.example.again
    case = load_case(path, unit_design(unit, built))
    assert first_difference(unit, case) is None  # the RTL is right again


def test_a_proof_is_written_as_a_page_and_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, table = tmp_path / "proof.html", tmp_path / "proof.json"
    (tmp_path / "tiny.yaml").write_text(as_yaml(unit("tiny")))
    options = ["--only", "special", "--second-opinion", "--html", str(page), "--json", str(table)]
    assert main(["prove", str(tmp_path / "tiny.yaml"), *options]) == 1  # claims that were not run are not proved
    said, data = capsys.readouterr().out, json.loads(table.read_text())
    assert data["schema"] == "hwsim-proof/1"
    words = {row["name"]: (row["word"], row["second"]) for row in data["rows"]}
    assert words["special"] == ("proved", "proved")
    assert words["sum"] == ("not run", None)
    assert "not run              sum" in said
    assert all(f">{name}<" in page.read_text() for name in words)
    assert "<script src" not in page.read_text()


def test_solvers_that_disagree_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    small = unit("tiny")
    monkeypatch.setattr("hwsim.prove.run.second_opinion", lambda *_: "refuted")
    asked = next(claim for claim in claims_of(small, pipeline(small)) if isinstance(claim, Claim))
    row = ProofOptions(second=True).decide(asked)
    assert row.word == "proved"
    assert row.disputed
    assert not row.holds
