"""Sums in other windows, and exact sums, are proved; a mistake in a step of theirs, or in the model, is not."""

from __future__ import annotations

import pytest
from built_presets import others_slow
from odd_units import unit
from prove.integer_mutants import MUTANTS
from prove.step_mutants import Patch

from hwsim.prove.claims import StructuralClaim
from hwsim.prove.methods import method_claims

# One of each kind of datapath, of few bits: zeros that count, signs of zero, halves, a late window, an exact
# sum; a sum that loses places.
SMALL = [
    "ieee-zero",
    "zeros-count",
    "cut-counted",
    "even-odd-bare",
    "late-window",
    "late-window-total",
    "exact-zero",
    "integers-saturate",
]
ALWAYS = ["ieee-zero"]


@pytest.mark.parametrize("name", others_slow(SMALL, ALWAYS))
def test_every_step_is_the_models(name: str) -> None:
    found = {claim.name: claim.decide(120).word for claim in method_claims(unit(name), ()).claims()}
    assert set(found.values()) == {"proved"}, found
    assert len(found) >= 15


@pytest.mark.parametrize("mutant", others_slow(MUTANTS, ["zeros that do not count", "a sum that starts again"]))
def test_a_mistake_is_not_proved(mutant: str, monkeypatch: Patch) -> None:
    name, broken, mutate = MUTANTS[mutant]
    mutate(monkeypatch)
    claim = next(claim for claim in method_claims(unit(name), ()).claims() if claim.name == broken)
    assert claim.decide(60).word == ("undecided" if isinstance(claim, StructuralClaim) else "refuted")
