"""What proofs rest on, made wrong: relations between steps, the model's group, the reader of circuits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from built_presets import others_slow
from prove.step_mutants import Patch, elaborated, on

from hwsim.base.errors import InputError
from hwsim.model import methods as model
from hwsim.prove import circuits as btor
from hwsim.prove.aligned import AlignedClaims
from hwsim.prove.claims import holds
from hwsim.prove.terms import Kind, Term, either, op, true
from hwsim.rtl import multiply
from hwsim.spec import load_unit

UNIT = "rvbna-e4m3-f32-n4"
MULTIPLIES = "ampere-mma-f16-f16"  # significands of E4M3 are multiplied by rows of adders
OPERATIONS: dict[str, Any] = btor.OPERATIONS  # type: ignore[assignment]
real_window, real_bound = model.window, AlignedClaims._total_bound


def among_alone(self: Any, found: Any, exps: Any, exp: Any, sig: Any) -> Term:
    """A max_exp that is some exponent, and not the largest."""
    return either(*(holds(found == one) for one in (*exps, exp)))


def not_all(terms: Any, *rules: Any) -> Any:
    return real_window(terms[:-1], *rules)


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
    "a model that leaves a term out": ("composition: model", on(model, "window", not_all)),
    "flags of one lane": ("lanes: flags", elaborated(multiply.Multiply, flag_of_one_lane)),
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
    "any bit as all bits": ("redor", OPERATIONS["redand"]),
    "a union as an intersection": ("or", OPERATIONS["and"]),
    "equal as different": ("eq", OPERATIONS["neq"]),
}


def open_claims(composition: bool = False, unit: str = UNIT) -> Iterator[str]:
    claims = AlignedClaims(load_unit(unit))
    for claim in claims._composition() if composition else claims.claims():
        if claim.decide(60).word != "proved":
            yield claim.name


@pytest.mark.parametrize("mistake", others_slow(COMPOSITIONS, [*COMPOSITIONS][::2]))
def test_a_wrong_composition_is_not_proved(mistake: str, monkeypatch: Patch) -> None:
    broken, mutate = COMPOSITIONS[mistake]
    mutate(monkeypatch)
    assert broken in open_claims(broken.startswith("composition"))


@pytest.mark.parametrize("mistake", others_slow(READERS, [*READERS][::3]))
def test_a_wrong_reader_proves_nothing(mistake: str, monkeypatch: Patch) -> None:
    operation, other = READERS[mistake]
    monkeypatch.setitem(OPERATIONS, operation, other)
    try:
        found = next(open_claims(unit=MULTIPLIES if operation == "mul" else UNIT), None)
    except InputError as error:  # its widths are others
        found = str(error)
    assert found is not None
