"""The name of what a design does instead: the semantics that explain its results."""

from __future__ import annotations

from collections.abc import Sequence

from hwsim.cases.case import Case
from hwsim.readings import Consistent, consistent
from hwsim.spec import Unit

MOST_CASES = 2000
MOST_NAMES = 3


def explanations(unit: Unit, wrong: Sequence[tuple[Case, int]], right: Sequence[tuple[Case, int]]) -> list[Consistent]:
    """Semantics by how many of the results they explain, the best first; empty where no result was wrong.

    wrong, right: what was asked, and what the design returned. Of many some of every part.
    """
    if not wrong:
        return []
    asked = [*_some(wrong), *_some(right)]
    return consistent(unit, [case for case, _ in asked], [code for _, code in asked])[:MOST_NAMES]


def _some(asked: Sequence[tuple[Case, int]]) -> Sequence[tuple[Case, int]]:
    return asked[:: max(1, -(-len(asked) // MOST_CASES))]


def naming(found: Sequence[Consistent]) -> list[str]:
    """The explanations for a reader."""
    if not found:
        return []
    whole = all(one.everything for one in found)
    head = "every result is explained by:" if whole else "nothing known explains every result; the nearest:"
    return [head, *(f"  {one}: {one.description}" for one in found)]
