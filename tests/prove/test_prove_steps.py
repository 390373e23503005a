"""Steps are proved, in plain windows and in others; broken steps, and what proofs of them rest on, are not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from amaranth.hdl import Const
from built_presets import others_slow
from odd_units import unit
from prove.integer_mutants import MUTANTS as INTEGER_MUTANTS
from prove.step_mutants import HOPPER, NEIGHBOURS, Patch, elaborated, never_up, on
from unit_keys import odd_unit, window

from hwsim.base.errors import InputError
from hwsim.prove import circuits as btor
from hwsim.prove import windows as window_claims
from hwsim.prove.aligned import AlignedClaims
from hwsim.prove.claims import StructuralClaim, holds
from hwsim.prove.methods import method_claims
from hwsim.prove.terms import Kind, Term, either, op, true
from hwsim.rtl import aligned as align
from hwsim.rtl import normalize, terms
from hwsim.spec import load_unit


def words(name: str, cuts: tuple[str, ...] = ()) -> dict[str, str]:
    """What becomes of each claim."""
    return {claim.name: claim.decide(60).word for claim in AlignedClaims(load_unit(name), cuts).claims()}


@pytest.mark.slow  # with usual cuts and few those of others are proved in whole units: tests/prove/test_prove_units.py
@pytest.mark.parametrize(
    ("name", "cuts"),
    [
        (HOPPER, ("maximum.2", "maximum.4", "sum.1", "sum.3", "magnitude")),
        ("rvbna-e4m3-f32-n4", ("maximum.2", "sum.2")),
    ],
)
def test_every_step_is_the_models(name: str, cuts: tuple[str, ...]) -> None:
    found = words(name, cuts)
    assert set(found.values()) == {"proved"}, found
    assert len(found) > 15


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_only_right_sums_of_neighbours_are_proved(neighbours: str, monkeypatch: Patch) -> None:
    monkeypatch.setattr(align, "some_terms", NEIGHBOURS[neighbours])
    claims = AlignedClaims(load_unit(HOPPER), ("sum.3",)).claims()
    word = next(claim for claim in claims if claim.name == "sum").decide(60).word
    assert (word == "proved") == (neighbours == "right")


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


@pytest.mark.slow
@pytest.mark.parametrize("general", [False, True])
def test_lost_bits_that_the_rounding_knows_are_proved(general: bool) -> None:
    found = known_lost(general)
    assert set(found.values()) == {"proved"}, found


@pytest.mark.slow
@pytest.mark.parametrize("general", [False, True])
def test_lost_bits_that_are_told_wrong_are_refuted(general: bool, monkeypatch: Patch) -> None:
    monkeypatch.setattr(align, "any_lost", lambda m, name, window, shift, drop: window[0])
    assert known_lost(general, "lane: aligned")["lane: aligned"] == "refuted"


@pytest.mark.slow
def test_a_rounding_that_knows_nothing_of_lost_bits_is_refuted(monkeypatch: Patch) -> None:
    monkeypatch.setattr(normalize.Normalize, "more", property(lambda step: Const(0)))
    assert known_lost(False, "result")["result"] == "refuted"


# Signs of zero, an exact sum; other windows are proved in whole units: tests/prove/test_prove_units.py.
SMALL = ["ieee-zero", "exact-zero"]


@pytest.mark.parametrize("name", others_slow(SMALL, []))
def test_every_step_of_other_windows_is_the_models(name: str) -> None:
    found = {claim.name: claim.decide(120).word for claim in method_claims(unit(name), ()).claims()}
    assert set(found.values()) == {"proved"}, found
    assert len(found) >= 15


@pytest.mark.parametrize("mutant", others_slow(INTEGER_MUTANTS, ["a sum that starts again"]))
def test_a_mistake_is_not_proved(mutant: str, monkeypatch: Patch) -> None:
    name, broken, mutate = INTEGER_MUTANTS[mutant]
    mutate(monkeypatch)
    claim = next(claim for claim in method_claims(unit(name), ()).claims() if claim.name == broken)
    assert claim.decide(60).word == ("undecided" if isinstance(claim, StructuralClaim) else "refuted")


UNIT = "rvbna-e4m3-f32-n4"
MULTIPLIES = "ampere-mma-f16-f16"  # significands of E4M3 are multiplied by rows of adders
OPERATIONS: dict[str, Any] = btor.OPERATIONS  # type: ignore[assignment]
real_bound = AlignedClaims._total_bound


def among_alone(self: Any, found: Any, rivals: Any) -> Term:
    """A max_exp that is some exponent, and not the largest."""
    return either(*(holds(found == exp) for _, _, exp in rivals))


def flag_of_one_lane(self: Any, m: Any) -> None:
    m.d.comb += self.o.special.nan.eq(self.i.a[0].nan | self.i.b[0].nan)


# A mistake, and a claim that it breaks.
COMPOSITIONS: dict[str, tuple[str, Callable[[Patch], None]]] = {
    "a max_exp that need not be the largest": ("composition: alignment", on(AlignedClaims, "_is_maximum", among_alone)),
    "a bound of the total that is too small": (
        "composition: result", on(AlignedClaims, "_total_bound", lambda self, top: real_bound(self, top) - 1),
    ),
    "products beyond what the sum takes": (
        "composition: sum", on(AlignedClaims, "_product_bound", lambda self, top: 1 << 40),
    ),
    "terms that may be anything": ("lane: aligned", on(AlignedClaims, "_is_term", lambda *_: true())),
    "flags of one lane": ("lanes: flags", elaborated(terms.Multiply, flag_of_one_lane)),
}  # fmt: skip


def swapped(kind: Any) -> Callable[..., Term]:
    return lambda first, second: op(kind, second, first)


# An operation of BTOR2, and what it is mistaken for.
READERS: dict[str, tuple[str, Callable[..., Term]]] = {
    "a sum as a union": ("add", OPERATIONS["or"]),
    "a difference as a sum": ("sub", OPERATIONS["add"]),
    "a difference the other way round": ("sub", swapped(Kind.BV_SUB)),
    "a product as a sum": ("mul", OPERATIONS["add"]),
    "a shift the other way": ("srl", OPERATIONS["sll"]),
    "a join the other way round": ("concat", swapped(Kind.BV_CONCAT)),
    "a comparison with equality": ("ugt", OPERATIONS["ugte"]),
    "all bits as any bit": ("redand", OPERATIONS["redor"]),
    "a union as an intersection": ("or", OPERATIONS["and"]),
    "equal as different": ("eq", OPERATIONS["neq"]),
    "different as equal": ("neq", OPERATIONS["eq"]),
}


def open_claims(composition: bool = False, unit: str = UNIT) -> Iterator[str]:
    claims = AlignedClaims(load_unit(unit))
    for claim in claims._composition() if composition else claims.claims():
        if claim.decide(60).word != "proved":
            yield claim.name


@pytest.mark.parametrize("mistake", others_slow(COMPOSITIONS, []))
def test_a_wrong_composition_is_not_proved(mistake: str, monkeypatch: Patch) -> None:
    broken, mutate = COMPOSITIONS[mistake]
    mutate(monkeypatch)
    assert broken in open_claims(broken.startswith("composition"))


@pytest.mark.parametrize("mistake", others_slow(READERS, ["a join the other way round"]))
def test_a_wrong_reader_proves_nothing(mistake: str, monkeypatch: Patch) -> None:
    operation, other = READERS[mistake]
    monkeypatch.setitem(OPERATIONS, operation, other)
    try:
        found = next(open_claims(unit=MULTIPLIES if operation == "mul" else UNIT), None)
    except InputError as error:  # its widths are others
        found = str(error)
    assert found is not None
