"""Units of several modes: of each its decoding is proved, and of all what follows; mistakes in a mode are refuted."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from cosim.modal_mutants import MUTANTS
from cosim.mutants import Mutant
from odd_modes import E8M0, ODD_MODES, modal, pair

from hwsim.model.terms import align
from hwsim.prove import methods as modal_claims
from hwsim.prove.claims import AnyClaim
from hwsim.prove.methods import provable
from hwsim.prove.readback import readback_claims
from hwsim.prove.run import ProofOptions, UnitClaims, prove
from hwsim.spec import ModalUnit, load_specified, pipeline
from hwsim.spec.support import NotImplementedYet

PRESETS = ["fp8-any", "hfp8-hybrid", "mxf8f6f4-any", "mx-any"]
PROVED = [name for name, unit in ODD_MODES.items() if provable(unit)]
# Small formats, three modes, and a number for one more.
SMALL = modal(
    "modes-small", "mxfp8-e4m3-f32",
    {"wide": pair("e2m3", "e3m2"), "bare": pair("e2m1", "e2m1", scales=False), "other": pair("e3m2", "e2m1")},
    scale=E8M0, sum={"fraction_bits": 8},
)  # fmt: skip


def demand_proof(unit: ModalUnit) -> set[str]:
    """The names of its claims."""
    report = prove(unit, pipeline(unit), ProofOptions(seconds=300))
    assert report.proved, [f"{row.name}: {row.word}" for row in report.open]
    assert report.verdict.startswith("equal for every input, under any traffic: each step")
    assert report.verdict.endswith("compared, not proved")
    return {row.name for row in report.rows}


def test_every_mode_is_proved() -> None:
    names = demand_proof(SMALL)
    for mode in SMALL.modes:
        assert {f"{mode}: {about}" for about in ("factor: a", "factor: b", "scales", "lanes: products")} <= names
    assert {"wide: result", "modes: one datapath", "modes: 0 zeros below", "control: misuse", "file: result"} <= names
    assert "bare: result" not in names  # what follows decoding is one circuit


@pytest.mark.slow
@pytest.mark.parametrize("name", PROVED)
def test_an_odd_unit_of_several_modes_is_proved(name: str) -> None:
    demand_proof(ODD_MODES[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_of_several_modes_is_proved(name: str) -> None:
    unit = load_specified(name)
    assert isinstance(unit, ModalUnit)
    demand_proof(unit)


# What each mistake breaks.
BROKEN = {
    "the mode is ignored": "bare: factor: a",
    "a lane is decoded by another mode": "wide: lanes: products",
    "the mode is taken at first only": "file: carried",
    "scales count in every mode": "bare: scales",
    "bits above a narrow code count": "bare: factor: b",
    "exponents stay where they are": "bare: factor: b",
    "any mode will do": "control: misuse",
}


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_fault_in_a_mode_is_not_proved(mutant: Mutant) -> None:
    with mutant.applied():
        name, built = BROKEN[mutant.name], pipeline(SMALL)
        claims: Iterable[AnyClaim] = UnitClaims(SMALL, built).datapath.claims()
        if name.startswith("control: "):
            claims = UnitClaims(SMALL, built).control
        elif name.startswith("file: "):
            claims = readback_claims(SMALL, built)
        claim = next(one for one in claims if one.name == name)
        assert claim.decide(60).word != "proved"


@pytest.mark.slow
def test_zeros_below_that_change_a_product_are_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modal_claims, "align", lambda term, *rest: align(term._replace(fraction_bits=0), *rest))
    claims = {claim.name: claim for claim in UnitClaims(SMALL, pipeline(SMALL)).datapath.claims()}
    answer = claims["modes: 2 zeros below"].decide(60)
    assert answer.word == "refuted" and answer.model is not None
    assert answer.model.keys() == {"modes.sig", "modes.sign", "modes.exp", "modes.top"}


@pytest.mark.slow
def test_a_wrong_factor_is_shown_in_words() -> None:
    mutant = next(mutant for mutant in MUTANTS if mutant.name == "exponents stay where they are")
    with mutant.applied():
        report = prove(SMALL, pipeline(SMALL), ProofOptions(only="factor: a"))
    assert report.example is None
    assert any(": factor: a: shown by a[0] 0x" in note and ", got 0x" in note for note in report.notes), report.notes


@pytest.mark.parametrize("name", [name for name in ODD_MODES if name not in PROVED])
def test_what_has_no_claims_is_refused_by_name(name: str) -> None:
    with pytest.raises(
        NotImplementedYet, match=r"modes (of|with) .* no proof covers it yet|no proof covers it yet.*modes"
    ):
        UnitClaims(ODD_MODES[name], pipeline(ODD_MODES[name]))
