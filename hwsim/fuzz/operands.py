"""Operands by kind, arranged so that the slow model runs over a part of them and the rest only repeats its cycles.

A tile is a few cases; every tile has cases of the same lengths, in the same order, with operands of its own. When beats
are accepted and results leave hangs on lengths alone, so that a recorded first tile says it of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm

from hwsim.cases.case import Batch, Case, block_lengths
from hwsim.cases.drawing import DIRECTED, KINDS, Stream, key_of
from hwsim.cases.random_cases import draw, most_beats
from hwsim.spec import Unit

ALL_KINDS = (*KINDS, *DIRECTED)
TILE = len(ALL_KINDS)  # cases of a tile; of one tile each is of another kind
LONG = 0.35  # the share of cases that have more beats than they must


@dataclass(frozen=True)
class TiledCases:
    """Cases of one unit. slots: a batch for each place of a tile, with a case for each tile."""

    slots: Sequence[Batch]

    @property
    def tiles(self) -> int:
        """How many there are."""
        return len(self.slots[0])

    def tile(self, number: int) -> list[Case]:
        """The cases of one."""
        return [batch.case(number) for batch in self.slots]


def least_terms(unit: Unit) -> int:
    """The fewest products that a case has: whole groups, or instructions, and whole blocks of scales."""
    return unit.instruction.fill if unit.scale is None else lcm(unit.instruction.fill, *block_lengths(unit))


def tiled_cases(unit: Unit, count: int, seed: int) -> TiledCases:
    """At least so many cases, of all kinds, and of one beat or several. They depend on unit, seed and place alone."""
    stream, lanes = Stream(seed, unit.name, "fuzz lengths"), unit.instruction.lanes
    whole = least_terms(unit)
    longest = max(1, most_beats(unit) * lanes // whole)
    tiles, slots = -(-count // TILE), []
    for slot in range(TILE):
        terms = whole * (stream.randint(1, longest) if stream.random() < LONG else 1)
        kinds = [*ALL_KINDS[slot:], *ALL_KINDS[:slot]]
        label, key = f"fuzz/{slot}", key_of(seed, unit.name, "fuzz", slot)
        slots.append(draw(unit, key, 0, tiles, terms, kinds, label))
    return TiledCases(slots)
