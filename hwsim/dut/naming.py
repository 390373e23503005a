"""The name of what a design does instead: the semantics that explain its results."""

from __future__ import annotations

from collections.abc import Sequence

from hwsim.semantics import Consistent, consistent
from hwsim.spec import Unit
from hwsim.vectors.case import Case

MOST_CASES = 4000
MOST_NAMES = 3


def explanations(unit: Unit, cases: Sequence[Case], codes: Sequence[int]) -> list[Consistent]:
    """Semantics by how many of the results they explain, the best first; empty where nothing was asked.

    cases, codes: what was asked, and what the design returned. Of more than MOST_CASES some of every part.
    """
    step = -(-len(cases) // MOST_CASES) if cases else 1
    chosen = range(0, len(cases), step)
    return consistent(unit, [cases[i] for i in chosen], [codes[i] for i in chosen])[:MOST_NAMES] if cases else []


def naming(found: Sequence[Consistent]) -> list[str]:
    """The explanations for a reader."""
    if not found:
        return []
    whole = all(one.everything for one in found)
    head = "every result is explained by:" if whole else "nothing known explains every result; the nearest:"
    return [head, *(f"  {one}: {one.description}" for one in found)]
