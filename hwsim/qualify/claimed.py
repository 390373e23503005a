"""What the claims of `hwsim prove` say of a mutant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from hwsim.prove.aligned import AlignedClaims
from hwsim.prove.claims import AnyClaim, OfSolver
from hwsim.prove.logic import Term, Word, ask, substituted, value, width
from hwsim.prove.maxima import constants
from hwsim.prove.promotion import PromotionClaims
from hwsim.prove.relations import StepCircuits
from hwsim.qualify.mutants import Mutant
from hwsim.qualify.steps import MutatedSteps, part_of

# That a sum is a sum is decided of linear forms, which mutants do not have.
BY_FORM = {"sum": "sum", "promote.sum": "promotion: sum"}


@dataclass(frozen=True)
class Refuted:
    """A claim that does not hold with a mutant, and values of constants that refute it."""

    claim: str
    words: str
    model: Mapping[str, int]


class MutatedClaims:
    """The claims about a unit's steps, of circuits whose mutants are chosen later."""

    def __init__(self, steps: MutatedSteps):
        self.steps = steps

    def _claims(self) -> Iterator[AnyClaim]:
        unit, all_steps = self.steps.unit, self.steps.unchosen
        datapath = {name: step for name, step in all_steps.items() if not name.startswith("promote")}
        yield from AlignedClaims(unit, (), StepCircuits.joined(datapath)).claims()
        if unit.promotion is not None:
            adder = {name: step for name, step in all_steps.items() if name.startswith("promote")}
            yield from PromotionClaims(unit, unit.promotion, (), adder).claims()

    @cached_property
    def _of_step(self) -> dict[str, list[OfSolver]]:
        """Claims by the steps whose mutants change them, the quickest first."""
        selects = {term.id(): name for name, term in self.steps.selects.items()}
        found: dict[str, list[OfSolver]] = {name: [] for name in self.steps.selects}
        for claim in self._claims():
            if isinstance(claim, OfSolver):
                whole = [claim.claim, *claim.assumptions]
                for name in {selects[one.id()] for term in whole for one in constants(term) if one.id() in selects}:
                    found[name].append(claim)
        return {name: sorted(claims, key=lambda claim: len(claim.show)) for name, claims in found.items()}

    def decide(self, mutant: Mutant, seconds: float) -> tuple[Word, Refuted | None]:
        """Whether all claims that a mutant changes hold with it; the first that does not."""
        words: set[Word] = set()
        by = self._chosen(mutant)
        for claim in self._of_step[mutant.step]:
            known = [substituted(term, by) for term in claim.assumptions]
            found = ask(substituted(claim.claim, by), known, seconds, claim.show)
            if found.word == "refuted":
                return "refuted", Refuted(claim.name, claim.words, found.model or {})
            words.add(found.word)
        if part_of(mutant.step) in BY_FORM or not words or "undecided" in words:
            return "undecided", None
        return "proved", None

    def _chosen(self, mutant: Mutant) -> dict[Term, Term]:
        by = {}
        for name, term in self.steps.selects.items():
            place = self.steps.mutants[name].index(mutant) if name == mutant.step else None
            by[term] = value(0 if place is None else 1 << place, width(term))
        return by
