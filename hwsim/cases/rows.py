"""Cases laid out lane by lane, for any unit: beats of pairs of codes, whatever the method makes of them."""

from __future__ import annotations

from collections.abc import Sequence

from hwsim.cases.case import Case, block_lengths
from hwsim.formats.blocks import one_code
from hwsim.spec import Unit

Pair = tuple[int, int]
Scales = tuple[int, int]


class Rows:
    """Collects cases of one unit.

    lanes: of a beat. most: beats of the longest sum that the unit takes, None where there is no end.
    """

    def __init__(self, unit: Unit):
        self.unit = unit
        self.lanes = unit.instruction.lanes
        self.most = None if unit.instruction.chain else unit.instruction.groups
        self.cases: dict[str, Case] = {}

    def add(
        self, name: str, beats: Sequence[Sequence[Pair]], c: int = 0, lane: int = 0, scales: Scales | None = None
    ) -> bool:
        """A case of these beats, from `lane` on; the lanes that are left hold zeros. False where it is too long.

        c: the addend's code; left out of a unit without one. scales: the code of every block of a and of b, or 1.
        """
        instruction = self.unit.instruction
        terms = -(-max(1, len(beats)) * self.lanes // instruction.fill) * instruction.fill
        if self.most is not None and terms > self.most * self.lanes:
            return False
        a, b = [0] * terms, [0] * terms
        for index, pairs in enumerate(beats):
            here = instruction.indices(index)
            for at, (x, y) in enumerate(pairs):
                place = here[(lane + at) % self.lanes]
                a[place], b[place] = x, y
        addend = c if self.unit.operands.addend is not None else 0
        self.cases.setdefault(name, Case(name, tuple(a), tuple(b), addend, *self._scales(terms, scales)))
        return True

    def _scales(self, terms: int, scales: Scales | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
        scale = self.unit.scale
        if scale is None:
            return (), ()
        codes = (one_code(scale.a.format), one_code(scale.b.format)) if scales is None else scales
        a, b = ((code,) * -(-terms // length) for code, length in zip(codes, block_lengths(self.unit), strict=True))
        return a, b
