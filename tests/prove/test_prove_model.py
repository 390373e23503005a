"""The model's own run as the specification: small units of every method, and mistakes that leave none proved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from built_presets import buildable, others_slow
from odd_units import NAMED, unit
from prove.model_mutants import MUTANTS, UNITS
from prove.step_mutants import Patch, on

from hwsim.cli import main
from hwsim.explain.proof import ClaimRow
from hwsim.model.definition import Definition
from hwsim.model.methods import FirstAddend
from hwsim.prove import composition, following, lemmas, wiring
from hwsim.prove.composition import StepCall, Token, Unmet
from hwsim.prove.methods import provable
from hwsim.prove.rounded import levels_of
from hwsim.prove.run import ProofOptions, UnitClaims
from hwsim.prove.wiring import composed
from hwsim.rtl import supports
from hwsim.spec import Unit, load_unit, pipeline, presets

PLAYED = "whole dot products"


def small(name: str, folder: Path) -> Unit:
    """One of the small units."""
    path = folder / "unit.yaml"
    path.write_text(f"unit: {name.replace(' ', '-')}\n{UNITS[name]}\n")
    return load_unit(path)


def rows(one: Unit) -> Iterator[ClaimRow]:
    """What comes of the claims of a unit's steps."""
    for claim in UnitClaims(one, pipeline(one)).steps():
        yield ProofOptions().decide(claim)


@pytest.mark.parametrize("name", others_slow(UNITS, ["window"]))
def test_a_right_unit_is_proved(name: str, tmp_path: Path) -> None:
    found = {row.name: row.word for row in rows(small(name, tmp_path))}
    assert set(found.values()) == {"proved"}, found
    assert {"ports", "composition: model", "composition: calls"} <= found.keys()


FIRST = ["the addend counts twice"]


@pytest.mark.parametrize("mutant", others_slow(MUTANTS, [name for name in MUTANTS if name.partition(": ")[2] in FIRST]))
def test_no_unit_is_proved_with_a_mistake(mutant: str, monkeypatch: Patch, tmp_path: Path) -> None:
    """Refuted, or not proved: what no claim is about, or what no claim can be written of."""
    name, mutate = MUTANTS[mutant]
    mutate(monkeypatch)
    try:
        assert any(row.word != "proved" for row in rows(small(name, tmp_path)))
    except (Unmet, ValueError, TypeError, AttributeError):  # functions that were changed ask what nothing answers
        return


@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.slow)])
def test_every_unit_is_composed(every: int) -> None:
    """Of all that is provable: the model's steps are run on tokens, which takes no circuit."""
    units = [partial(load_unit, name) for name in presets() if buildable(name)] + [
        partial(unit, name) for name in NAMED
    ]
    for one in (made() for made in units[::every]):
        if supports(one) and provable(one):
            assert composed(one, levels_of(one)).paths >= 2, one.name
            following.followed(one)


# Mistakes in what runs the model: none lets a wrong model through, and most lose what is right.


def _answers(what: Any) -> Callable[..., Any]:
    return lambda self, *_: what


ENGINE: dict[str, Callable[[Patch], None]] = {
    "a token equals anything": on(Token, "__eq__", _answers(True)),
    "a token is true": on(Token, "__bool__", _answers(True)),
    "no method is cut": lambda patch: patch.setattr(composition, "CLASSES", {}),
    "no largest exponent": on(wiring, "windowed", lambda terms, groups: lambda name, of: None),
    "no front": on(wiring, "front", lambda name, of: None),
    "results that are nothing": on(wiring, "rounds", lambda name, of: StepCall(("nothing",), "round")),
}


@pytest.mark.parametrize("mistake", others_slow(ENGINE, []))
def test_a_mistake_in_the_run_proves_nothing_wrong(mistake: str, monkeypatch: Patch, tmp_path: Path) -> None:
    ENGINE[mistake](monkeypatch)
    monkeypatch.setattr(Definition, "open", lambda self, c: FirstAddend(0))  # the addend does not come in
    assert any(row.word != "proved" for row in rows(small("wide", tmp_path)))


def test_a_token_answers_nothing() -> None:
    token = Token("x")
    for asked in (
        lambda: token == 1, lambda: token.sig, lambda: bool(token), lambda: token + 1, lambda: -token,
        lambda: token < 2, lambda: int(token), lambda: composition.integer("x") * 2,
        lambda: composition.integer("x") > 0,
    ):  # fmt: skip
        with pytest.raises(Unmet, match="asked outside of any function"):
            asked()


def test_a_call_in_two_ways_is_none() -> None:
    recorder = composition.Recorder(lambda name, of: StepCall(("made",), "align"))
    recorder("align", (Token("a"), composition.integer("top"), 3, "truncate"))
    with pytest.raises(Unmet, match="called in two ways"):
        recorder("align", (Token("b"), composition.integer("top"), 4, "truncate"))
    with pytest.raises(Unmet, match="called in two ways"):
        recorder("align", (Token("b"), composition.integer("top") + 1, 3, "truncate"))


def test_what_is_not_given_of_a_term_is_not_asked() -> None:
    term = lemmas.any_term(exp=3)
    assert term.exp == 3
    for asked in (lambda: term.sig, lambda: term.sign, lambda: term.cls, lambda: tuple(term), lambda: term[2]):
        with pytest.raises(Unmet):
            asked()


@pytest.mark.slow
def test_a_case_that_the_model_returns_otherwise_is_shown(
    monkeypatch: Patch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, folder = "model: every group starts from zero", tmp_path / "proof"
    small(MUTANTS[name].unit, tmp_path)
    MUTANTS[name].mutate(monkeypatch)
    assert main(["prove", str(tmp_path / "unit.yaml"), "-o", str(folder)]) == 1
    said = capsys.readouterr().out
    assert "not composed: a group leaves" in said
    assert f"{PLAYED}: a case that shows it: expected " in said
    assert {file.name for file in folder.iterdir()} >= {"proof.html", "proof.json", "case.yaml"}
