"""Compiled: 64 cases at once through a circuit without a mutant, and what each mutant changes of that.

A mutant's change is followed from node to node as far as it goes: most go nowhere, or not far.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.compiled import compiled, inlined

ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
ZERO, ONE = np.uint64(0), np.uint64(1)
# A number with one bit set, times this one, has that bit's place in its top six bits: de Bruijn's.
SEQUENCE = np.uint64(0x03F79D71B4CB0A89)
TOP = np.uint64(58)


def _places() -> NDArray[np.int64]:
    places = np.zeros(64, np.int64)
    for bit in range(64):
        places[(int(SEQUENCE) << bit & int(ALL)) >> int(TOP)] = bit
    return places


PLACES = _places()


@inlined
def lowest(word: Any) -> Any:
    """The place of the lowest bit that is set; one is."""
    return PLACES[(word & (~word + ONE)) * SEQUENCE >> TOP]


@inlined
def of_literal(values: Any, literal: Any) -> Any:
    """What a literal is in 64 cases."""
    word = values[literal >> 1]
    return ~word if literal & 1 else word


@compiled
def evaluate(left: Any, right: Any, first: int, values: Any) -> None:
    """All ANDs of a circuit. values: uint64[nodes], those below `first` given."""
    for at in range(len(left)):
        values[first + at] = of_literal(values, left[at]) & of_literal(values, right[at])


@compiled
def roots(left: Any, right: Any, first: int, selects: Any) -> Any:
    """For each node, a literal that it equals as long as no mutant is there: of an earlier node, or of its own.

    Most nodes are there for mutants alone, and equal what is before them: int32[nodes].
    """
    found = np.arange(0, 2 * (first + len(left)), 2).astype(np.int32)
    for node in selects:
        found[node] = 0
    for at in range(len(left)):
        one = found[left[at] >> 1] ^ (left[at] & 1)
        other = found[right[at] >> 1] ^ (right[at] & 1)
        if one == 0 or other == 0 or one == other ^ 1:
            found[first + at] = 0
        elif one == 1 or one == other:
            found[first + at] = other
        elif other == 1:
            found[first + at] = one
    return found


@compiled
def mark_read(starts: Any, readers: Any, seen: Any) -> None:
    """Mark what marked nodes depend on. starts, readers: as those of `strike`. seen: bool[nodes]."""
    for node in range(len(seen) - 1, -1, -1):
        for at in range(starts[node], starts[node + 1]):
            if seen[readers[at]]:
                seen[node] = True
                break


@inlined
def struck(values: Any, root: Any, changed: Any, stamp: Any, mark: Any, literal: Any) -> Any:
    """What a literal is in 64 cases with a mutant: what was found, or else what its root is."""
    node = literal >> 1
    if stamp[node] == mark:
        word = changed[node]
    else:
        at = root[node] >> 1
        word = changed[at] if stamp[at] == mark else values[at]
        word = ~word if root[node] & 1 else word
    return ~word if literal & 1 else word


@inlined
def tell(node: Any, starts: Any, readers: Any, pending: Any, places: Any) -> Any:
    """Note the nodes that read one, and the places from which and up to which there are any."""
    for at in range(starts[node], starts[node + 1]):
        reader = readers[at]
        pending[reader >> 6] |= ONE << np.uint64(reader & 63)
        places[0] = min(places[0], reader >> 6)
        places[1] = max(places[1], reader >> 6)


@compiled
def strike(
    left: Any, right: Any, first: int, root: Any, starts: Any, readers: Any, values: Any,
    selects: Any, alive: Any, loads: Any, stores: Any, state_in: Any, state_out: Any, state: Any,
    results: Any, nan: int, valid: Any, is_last: bool, killed: Any,
) -> None:  # fmt: skip
    """One beat of 64 cases through the circuit with each mutant.

    left, right, first: as those of `Joined`. root: as `roots` finds it. starts, readers: the nodes that read node n are
    those from starts[n] to starts[n + 1]; of a node that is its own root they are those that do so through nodes that
    equal it. values: of all nodes without a mutant. selects: each mutant's input node. alive: the mutants that
    are played. loads, stores: bool[states], whether a state's input is what the beat before left, and whether this beat
    leaves it anew. state_in: input nodes. state_out: literals. state: uint64[mutants, states].
    results: literals that are compared in the last beat. nan: a literal that says whether a result is NaN, where one
    NaN is as good as another; else -1. valid: the cases that there are. killed: uint64[mutants], the cases that tell.
    """
    changed = np.empty(len(values), np.uint64)
    stamp = np.zeros(len(values), np.int32)
    pending = np.zeros((len(values) >> 6) + 1, np.uint64)
    places = np.zeros(2, np.int64)
    mark = 0
    for mutant in alive:
        mark += 1
        places[0], places[1] = len(pending), -1
        node = selects[mutant]
        changed[node], stamp[node] = ALL, mark
        tell(node, starts, readers, pending, places)
        for at in range(len(state_in)):
            node = state_in[at]
            if loads[at] and state[mutant, at] != values[node]:
                changed[node], stamp[node] = state[mutant, at], mark
                tell(node, starts, readers, pending, places)
        place = places[0]
        # Each node comes after all that it reads; what reads it may be noted in the very word that is looked at.
        while place <= places[1]:
            word = pending[place]
            if word == ZERO:
                place += 1
                continue
            pending[place] = word & (word - ONE)
            node = (place << 6) + lowest(word)
            one = struck(values, root, changed, stamp, mark, left[node - first])
            one &= struck(values, root, changed, stamp, mark, right[node - first])
            # What a node would be without more ado: as before, or as its root is now.
            if one != struck(values, root, changed, stamp, mark, 2 * node):
                changed[node], stamp[node] = one, mark
                tell(node, starts, readers, pending, places)
        for at in range(len(state_in)):
            if stores[at]:
                state[mutant, at] = struck(values, root, changed, stamp, mark, state_out[at])
        if is_last:
            differ = ZERO
            for literal in results:
                differ |= struck(values, root, changed, stamp, mark, literal) ^ of_literal(values, literal)
            if nan >= 0:
                differ &= ~(struck(values, root, changed, stamp, mark, nan) & of_literal(values, nan))
            killed[mutant] = differ & valid
