"""Steps are proved, and broken steps are not."""

from __future__ import annotations

import pytest
from amaranth.hdl import Const
from built_presets import others_slow
from prove.step_mutants import DEEPSEEK, F16, HOPPER, MUTANTS, MX, Patch, never_up
from unit_keys import odd_unit, window

from hwsim.prove import aligned as window_claims
from hwsim.prove.aligned import AlignedClaims
from hwsim.prove.methods import method_claims
from hwsim.rtl import align, normalize, windows
from hwsim.spec import load_unit


def words(name: str, cuts: tuple[str, ...] = ()) -> dict[str, str]:
    """What becomes of each claim."""
    return {claim.name: claim.decide(60).word for claim in AlignedClaims(load_unit(name), cuts).claims()}


@pytest.mark.quick(cases=1)
@pytest.mark.parametrize(
    ("name", "cuts"),
    [
        pytest.param(HOPPER, (), marks=pytest.mark.slow),
        pytest.param(HOPPER, ("maximum.2", "maximum.4", "sum.1", "sum.3", "magnitude"), marks=pytest.mark.slow),
        pytest.param(MX, ("maximum.3", "sum.2"), marks=pytest.mark.slow),
        pytest.param(F16, (), marks=pytest.mark.slow),
        pytest.param(DEEPSEEK, (), marks=pytest.mark.slow),
        ("rvbna-e4m3-f32-n8", ("maximum.2", "sum.2")),
    ],
)
def test_every_step_is_the_models(name: str, cuts: tuple[str, ...]) -> None:
    found = words(name, cuts)
    assert set(found.values()) == {"proved"}, found
    assert len(found) > 15


@pytest.mark.parametrize("mutant", others_slow(MUTANTS, list(MUTANTS)[::3]))
def test_a_broken_step_is_not_proved(mutant: str, monkeypatch: Patch) -> None:
    name, broken, mutate = MUTANTS[mutant]
    mutate(monkeypatch)
    claim = next(claim for claim in AlignedClaims(load_unit(name)).claims() if claim.name == broken)
    assert claim.decide(60).word != "proved"


@pytest.mark.slow
@pytest.mark.parametrize("broken", [False, True])
def test_sums_in_a_wide_window_are_rounded_place_by_place(broken: bool, monkeypatch: Patch) -> None:
    monkeypatch.setattr(window_claims, "AT_ONCE", 4)
    if broken:
        monkeypatch.setattr(normalize, "last_place", never_up)
    one = odd_unit("own", "e2m1", "e5m2", window(8), "e5m2", 2)
    found = {claim.name: claim.decide(60).word for claim in AlignedClaims(one).claims() if "result" in claim.name}
    result = "refuted" if broken else "proved"
    assert found == {"result": result, "result: cases": "proved", "composition: result": "proved"}


def known_lost(general: bool, only: str = "") -> dict[str, str]:
    """What becomes of claims about a window whose lost bits the rounding knows. general: of one that is not plain."""
    rule = window(4, "sticky", **({"zero": "ieee"} if general else {}))
    one = odd_unit("own", "e2m1", "e5m2", rule, "e5m2", 2)
    claims = method_claims(one, ()).claims()
    return {claim.name: claim.decide(60).word for claim in claims if only in ("", claim.name)}


@pytest.mark.parametrize("general", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_lost_bits_that_the_rounding_knows_are_proved(general: bool) -> None:
    found = known_lost(general)
    assert set(found.values()) == {"proved"}, found


@pytest.mark.slow
@pytest.mark.parametrize(("general", "broken"), [(False, "lane: aligned"), (True, "term: aligned")])
def test_lost_bits_that_are_told_wrong_are_refuted(general: bool, broken: str, monkeypatch: Patch) -> None:
    module = windows if general else align
    monkeypatch.setattr(module, "any_lost", lambda m, name, window, shift, drop: window[0])
    assert known_lost(general, broken)[broken] == "refuted"


def test_a_rounding_that_knows_nothing_of_lost_bits_is_refuted(monkeypatch: Patch) -> None:
    monkeypatch.setattr(normalize.Normalize, "more", property(lambda step: Const(0)))
    assert known_lost(False, "result")["result"] == "refuted"
