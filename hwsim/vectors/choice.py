"""Few of many cases: those that hit most of what all of them hit."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heapreplace

from hwsim.cases.bins.counter import Counter
from hwsim.cases.bins.plan import plan
from hwsim.cases.bins.sampled import sampled_case
from hwsim.cases.case import Case
from hwsim.spec import Unit


def fewest(unit: Unit, cases: Sequence[Case], most: int) -> list[Case]:
    """At most so many of the cases, in an order in which each hits as much as it can of what is not hit yet.

    Bins come first, then the parts of those that have several.
    """
    if not cases:
        return []
    counter = Counter(plan(unit))
    hits = [counter.hits(sampled_case(case, counter.explain(case))) for case in cases]
    chosen = _greedy([frozenset(bins) for bins, _ in hits], most)
    parts = [frozenset(parts) for _, parts in hits]
    done = frozenset().union(*(parts[at] for at in chosen))
    taken = set(chosen)
    rest = [frozenset() if at in taken else held - done for at, held in enumerate(parts)]
    return [cases[at] for at in (*chosen, *_greedy(rest, most - len(chosen)))]


def _greedy(sets: Sequence[frozenset[int]], most: int) -> list[int]:
    """Sets, each of which adds most to those before it, until nothing is left to add; the first of equal ones."""
    left = set().union(*sets)
    heap = [(-len(held), at) for at, held in enumerate(sets)]
    heapify(heap)
    chosen: list[int] = []
    while left and len(chosen) < most:
        size, at = heap[0]
        gain = len(sets[at] & left)
        if gain == -size:
            chosen.append(at)
            left -= sets[at]
            gain = 0
        heapreplace(heap, (-gain, at))
    return chosen
