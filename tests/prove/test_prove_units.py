"""Whole proofs, of units and of units of several modes: equal for every input, under any traffic."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from built_presets import buildable, one_of_each, one_of_each_family, others_slow
from cosim.modal_mutants import MUTANTS
from cosim.mutants import Mutant
from documents import ROOT
from odd_modes import E8M0, ODD_MODES, modal, pair
from odd_units import NAMED, unit
from representatives import with_every_format, with_every_rule, with_every_shape
from unit_keys import odd_unit, scaled, subgroups, windowed

from hwsim.explain.proof import ProofReport
from hwsim.model.terms import align
from hwsim.prove import methods as modal_claims
from hwsim.prove.accumulation import PromotionClaims
from hwsim.prove.aligned import AlignedClaims
from hwsim.prove.claims import AnyClaim
from hwsim.prove.methods import method_claims, provable
from hwsim.prove.readback import readback_claims
from hwsim.prove.run import ProofOptions, UnitClaims, claims_of, prove
from hwsim.prove.shown import closure
from hwsim.rtl import supports
from hwsim.spec import ModalUnit, Unit, load_specified, load_unit, pipeline, presets, steps
from hwsim.spec.support import NotImplementedYet

EACH = one_of_each([name for name in presets() if buildable(name) and provable(load_unit(name))])
FAMILIES = one_of_each_family(EACH)
ODD_UNITS = [name for name in NAMED if supports(unit(name)) and provable(unit(name))]


def test_no_preset_in_the_rtl_is_refused() -> None:
    assert [name for name in presets() if buildable(name) and not provable(load_unit(name))] == []


# What is left undecided of an odd unit: scales that are too long for a product of three numbers.
UNDECIDED = {"subgroups-signed": "subgroup: scaled"}


def demand_proof(one: Unit, cuts: tuple[str, ...] | None = None, contexts: int | None = None) -> None:
    report = prove(one, pipeline(one, cuts, contexts), ProofOptions(seconds=600))
    assert report.proved, [f"{row.name}: {row.word}" for row in report.open]
    assert report.verdict.startswith("equal for every input, under any traffic: the model's open, step and close")
    assert report.verdict.endswith("compared, not proved")
    assert len(report.rows) >= 70


@pytest.mark.quick(cases=1)
@pytest.mark.parametrize("name", others_slow(["tiny", "tiny-pair"], ["tiny-pair"]))
def test_a_small_unit_is_proved(name: str) -> None:
    # No operand of tiny-pair sets flags of special terms, and its file has bits that nothing drives.
    demand_proof(unit(name))


# Of binary64, which takes minutes, an odd unit is.
FEW = with_every_format(name for name in EACH if "-f64-" not in name)


@pytest.mark.parametrize("name", others_slow(EACH, [], FEW))
def test_a_preset_is_proved(name: str) -> None:  # one always is, where the documents' commands are run
    demand_proof(load_unit(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bits-0", "narrow-tf32"])
def test_bounds_of_a_window_that_cuts_products_are_of_sums_that_there_are(name: str) -> None:
    """A total that no terms add up to would be rounded otherwise."""
    answers = {
        claim.name: claim.decide(60).word for claim in UnitClaims(unit(name), pipeline(unit(name))).datapath.claims()
    }
    assert set(answers.values()) == {"proved"}, answers
    assert {"lane: aligned", "addend: aligned", "result", "composition: result"} <= answers.keys()


@pytest.mark.parametrize(
    ("name", "never"),
    [("tiny-pair", ["nan", "positive", "negative"]), pytest.param("tiny", [], marks=pytest.mark.slow)],
)
def test_only_flags_that_no_operand_sets_are_left_out(name: str, never: list[str]) -> None:
    claims = method_claims(unit(name), ())
    assert isinstance(claims, AlignedClaims) and claims._never == never


# Of a sum promoted to f32: a claim of formats alone, which every unit with such a register has.
SHARED = "promotion: jammed"


@pytest.mark.slow
@pytest.mark.parametrize("name", others_slow(["deepseek-v3-e4m3-f32", "f16-in-f32"], ["f16-in-f32"]))
def test_a_promoting_unit_is_proved(name: str) -> None:  # f16-in-f32's adder moves exponents
    one, found = unit(name), dict[str, str]()
    for claim in claims_of(one, pipeline(one)):
        if claim.name != SHARED:
            found[claim.name] = claim.decide(120).word
    assert found.pop("whole dot products") == "compared"
    assert set(found.values()) == {"proved"}, found
    assert len(found) >= 112


@pytest.mark.slow
def test_sums_of_products_with_the_same_scales_are_shown_whatever_their_order_is() -> None:
    one = unit("exact-scaled")
    claims = {claim.name: claim for claim in UnitClaims(one, pipeline(one)).datapath.claims()}
    names = ["segment 0: sum", "segment 1: sum", "sum"]
    assert [claims[name].decide(60).word for name in names] == ["proved"] * 3


@pytest.mark.slow
def test_a_jammed_sum_rounds_as_the_exact_one() -> None:
    one = load_unit("deepseek-v3-e4m3-f32")
    assert one.promotion is not None
    claims = {claim.name: claim for claim in PromotionClaims(one, one.promotion).claims()}
    assert claims[SHARED].decide(600).word == "proved"


@pytest.mark.parametrize("name", others_slow(ODD_UNITS, [], with_every_rule(ODD_UNITS, EACH)))
def test_an_odd_unit_is_proved(name: str) -> None:
    one = unit(name)
    if name in UNDECIDED:
        seconds = {UNDECIDED[name]: 5}
        words = {claim.name: claim.decide(seconds.get(claim.name, 100)).word for claim in claims_of(one, pipeline(one))}
        assert {claim for claim, word in words.items() if word == "undecided"} <= {UNDECIDED[name]}
        assert "refuted" not in words.values()
    else:
        demand_proof(one)


@pytest.mark.parametrize("key", ["lanes", "window"])
def test_what_no_claim_covers_is_refused_by_name(key: str) -> None:
    rules = {"lanes": subgroups(1, 7), "window": subgroups(2, 7, addend="late")}
    more = windowed(8, 8, "truncate") if key == "window" else {}
    one = odd_unit("own", "e2m1", "e4m3", rules[key], "f16", **scaled("subgroup", ("e4m3", 2), ("e4m3", 2)), **more)
    with pytest.raises(NotImplementedYet, match=r"no proof covers it yet"):
        UnitClaims(one, pipeline(one))


@pytest.mark.parametrize(
    ("name", "lack"),
    [
        ("pairs", "sum.subgroup.method: aligned"),
        ("exact-blocks", "sum.subgroup of sum.method: exact"),
        ("tree-blocks", "sum.subgroup of sum.method: pairwise"),
    ],
)
def test_other_sums_of_parts_are_refused_by_name(name: str, lack: str) -> None:
    assert provable(unit(name)).lacks == (lack,)
    with pytest.raises(NotImplementedYet, match=f"unit {name}: {lack} is in the RTL, but no proof covers it yet"):
        UnitClaims(unit(name), pipeline(unit(name)))


@pytest.mark.parametrize("name", others_slow(FAMILIES, [], with_every_shape(FAMILIES)))
def test_other_pipelines_are_proved(name: str) -> None:
    one = load_unit(name)
    demand_proof(one, (), 1)
    demand_proof(one, tuple(steps(one)[1::3]), 3)


@pytest.mark.slow
def test_an_addend_far_below_a_floor_is_aligned() -> None:
    """The floor is above every product, and the distance to an addend has more bits than max_exp, which has no sign."""
    own = {"name": "own-e2m19", "kind": "float", "exponent_bits": 2, "fraction_bits": 19, "bias": 0}
    keys = {
        "unit": "far-below",
        "operands": {"a": own, "b": own},
        "instruction": {"k": 1, "lanes": 1},
        "sum": {"method": "aligned", "fraction_bits": 11, "max_exp_floor": 11},
        "result": {"format": "e5m2", "rounding": "rz"},
    }
    wanted = {"addend: aligned", "no product: partial sum"}
    claims = [claim for claim in method_claims(load_unit(keys), ()).claims() if claim.name in wanted]
    assert {claim.name: claim.decide(60).word for claim in claims} == dict.fromkeys(wanted, "proved")


MODES = (ROOT / "docs" / "modes.md").read_text(encoding="utf-8")
PRESETS = ["fp8-any", "hfp8-hybrid", "mxf8f6f4-any", "mx-any"]
PROVED = [name for name, unit in ODD_MODES.items() if provable(unit)]
# Small formats, three modes, and a number for one more.
SMALL = modal(
    "modes-small", "mxfp8-e4m3-f32",
    {"wide": pair("e2m3", "e3m2"), "bare": pair("e2m1", "e2m1", scales=False), "other": pair("e3m2", "e2m1")},
    scale=E8M0, sum={"fraction_bits": 8},
)  # fmt: skip

TINY = modal(
    "modes-tiny", "mxfp8-e4m3-f32", {"wide": pair("e2m1", "e3m2"), "bare": pair("e2m1", "e2m1", scales=False)}, lanes=2,
    scale=E8M0, sum={"fraction_bits": 4},
)  # fmt: skip


def proof_of_modes(unit: ModalUnit) -> ProofReport:
    report = prove(unit, pipeline(unit), ProofOptions(seconds=300))
    assert report.proved, [f"{row.name}: {row.word}" for row in report.open]
    assert report.verdict.startswith("equal for every input, under any traffic: the model's open, step and close")
    assert report.verdict.endswith("compared, not proved")
    return report


@pytest.mark.slow
def test_operands_of_every_mode_are_proved() -> None:
    """What differs from mode to mode; what follows decoding is one circuit, as in a unit of one mode."""
    claims = [
        one for one in UnitClaims(TINY, pipeline(TINY)).datapath.claims() if one.name.startswith((*TINY.modes, "modes"))
    ]
    found = {claim.name: claim.decide(60).word for claim in claims}
    assert set(found.values()) == {"proved"}, found
    assert {f"{mode}: {about}" for mode in TINY.modes for about in ("factor: a", "factor: b", "scales")} <= set(found)


@pytest.mark.slow
@pytest.mark.parametrize("unit", [TINY, SMALL], ids=lambda unit: unit.name)
def test_every_mode_is_proved(unit: ModalUnit) -> None:
    names = {row.name for row in proof_of_modes(unit).rows}
    for mode in unit.modes:
        assert {f"{mode}: {about}" for about in ("factor: a", "factor: b", "scales", "lanes: products")} <= names
    assert {"wide: result", "modes: one datapath", "modes: 0 zeros below", "control: misuse", "file: result"} <= names
    assert "bare: result" not in names  # what follows decoding is one circuit


@pytest.mark.slow
def test_what_a_later_mode_calls_differently_is_not_closed() -> None:
    """What follows decoding is claimed of the first mode: the model must call the same in every other."""
    datapath = UnitClaims(TINY, pipeline(TINY)).datapath
    assert isinstance(datapath, modal_claims.ModalClaims)
    for mode in datapath.modes.values():
        mode.calls.shown |= {call for call in mode.calls.every if mode is datapath.modes["wide"] or call != "align"}
    assert closure(datapath, None).holds
    calls = datapath.modes["bare"].calls
    align = calls.every["align"]
    calls.every = {**calls.every, "align": replace(align, arguments=(*align.arguments[:-1], "rne"))}
    assert "bare: align" in closure(datapath, None).words


@pytest.mark.parametrize("name", others_slow(PROVED, []))
def test_an_odd_unit_of_several_modes_is_proved(name: str) -> None:
    proof_of_modes(ODD_MODES[name])


@pytest.mark.parametrize("name", others_slow(PRESETS, [], ["hfp8-hybrid"]))
def test_a_preset_of_several_modes_is_proved_as_its_page_says(name: str) -> None:
    unit = load_specified(name)
    assert isinstance(unit, ModalUnit)
    assert f" {name}: {proof_of_modes(unit).counts}\n" in MODES


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
