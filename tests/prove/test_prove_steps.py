"""Steps are proved, and broken steps are not."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

import pytest
from built_presets import others_soaked
from prove.step_mutants import DEEPSEEK, F16, HOPPER, MUTANTS, MX, Patch

from hwsim.prove.aligned import AlignedClaims
from hwsim.prove.claims import AnyClaim
from hwsim.prove.promotion import PromotionClaims
from hwsim.spec import load_unit


def words(name: str, cuts: tuple[str, ...] = ()) -> dict[str, str]:
    """What becomes of each claim."""
    return {claim.name: claim.decide(60).word for claim in AlignedClaims(load_unit(name), cuts).claims()}


@pytest.mark.quick(cases=1)
@pytest.mark.parametrize(
    ("name", "cuts"),
    [
        (HOPPER, ()),
        pytest.param(HOPPER, ("maximum.2", "maximum.4", "sum.1", "sum.3", "magnitude"), marks=pytest.mark.soak),
        pytest.param(MX, ("maximum.3", "sum.2"), marks=pytest.mark.soak),
        pytest.param(F16, (), marks=pytest.mark.soak),
        pytest.param(DEEPSEEK, (), marks=pytest.mark.soak),
        ("rvbna-e4m3-f32-n8", ("maximum.2", "sum.2")),
    ],
)
def test_every_step_is_the_models(name: str, cuts: tuple[str, ...]) -> None:
    found = words(name, cuts)
    assert set(found.values()) == {"proved"}, found
    assert len(found) > 15


def test_the_adder_of_a_promotion_is_the_models() -> None:
    found = {claim.name: claim.decide(120).word for claim in takewhile(lambda one: "4 to" not in one.name, adder())}
    assert set(found.values()) == {"proved"}, found
    assert len(found) == 13


@pytest.mark.soak
def test_a_jammed_sum_rounds_as_the_exact_one() -> None:
    found = {claim.name: claim.decide(600).word for claim in adder() if "jam" in claim.name}
    assert set(found.values()) == {"proved"}, found
    assert list(found)[-2:] == ["promotion: jam at distance 4 to 28", "promotion: jam at distance 29 to 253"]


def adder() -> Iterator[AnyClaim]:
    unit = load_unit(DEEPSEEK)
    assert unit.promotion is not None
    return PromotionClaims(unit, unit.promotion).claims()


@pytest.mark.parametrize("mutant", others_soaked(MUTANTS, list(MUTANTS)[::3]))
def test_a_broken_step_is_not_proved(mutant: str, monkeypatch: Patch) -> None:
    name, broken, mutate = MUTANTS[mutant]
    mutate(monkeypatch)
    claim = next(claim for claim in AlignedClaims(load_unit(name)).claims() if claim.name == broken)
    assert claim.decide(60).word != "proved"
