"""Random cases without end: case i depends on the unit, the seed and i alone, a million and more a second."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, overload

import numpy as np

from hwsim.cases.batch import Batch
from hwsim.cases.case import Case
from hwsim.cases.drawing import Ints, key_of
from hwsim.cases.kinds import DIRECTED, KINDS
from hwsim.cases.long_codes import drawn_codes
from hwsim.cases.support import draws
from hwsim.formats import container_dtype
from hwsim.spec import Unit

if TYPE_CHECKING:
    from hwsim.cases.random_loops import DrawnCases

# Cases of one length: few at first, so that a short list has all lengths, and then many, which kernels like.
FEW, MANY, FEW_UNTIL = 8, 1024, 1024


class Names(Sequence[str]):
    """`random/00000042-spread` and so on, made when they are asked for."""

    def __init__(self, numbers: range, kinds: Sequence[str], label: str):
        self._numbers, self._kinds, self._label = numbers, kinds, label

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Names: ...
    def __getitem__(self, index: int | slice) -> str | Names:
        found = self._numbers[index]
        if isinstance(found, range):
            return Names(found, self._kinds, self._label)
        return f"{self._label}/{found:08}-{self._kinds[found % len(self._kinds)]}"


def random_cases(unit: Unit, count: int, seed: int) -> list[Case]:
    """`count` random cases; the first n of a longer list are those of a list of n.

    Case i is of kind i % 8 of `KINDS`. Most have one beat; the others up to `most_beats`.
    Raises NotImplementedYet for a unit that the model does not have.
    """
    draws(unit).demand()
    return [case for first, size in runs(count) for case in random_batch(unit, seed, first, size).cases()]


def runs(count: int) -> Iterator[tuple[int, int]]:
    """The first `count` cases as runs of one length: the number of the first case, and how many there are."""
    first = 0
    while first < count:
        size = min(FEW if first < FEW_UNTIL else MANY, count - first)
        yield first, size
        first += size


def most_beats(unit: Unit) -> int:
    """The longest sum, in beats, that random cases have: with promotion two intervals and a beat, else four beats."""
    instruction = unit.instruction
    most = 2 * unit.promotion_beats + 1 if unit.promotion_beats else 4
    most = most if instruction.chain else min(most, instruction.groups)
    return -(-most // _whole(unit)) * _whole(unit)


def _whole(unit: Unit) -> int:
    """The beats of which a sum has a multiple."""
    return unit.instruction.fill // unit.instruction.lanes


def run_beats(unit: Unit, first: int) -> int:
    """Beats of each case of the run that begins with this case: as few as can be, mostly, and every other number in
    turn, the longest and the shortest first.
    """
    whole, longest = _whole(unit), most_beats(unit) // _whole(unit)
    number, every = (first // FEW, 2) if first < FEW_UNTIL else (first // MANY, 4)
    if number % every != every - 1 or longest == 1:
        return whole
    turn, back = divmod(number // every % longest, 2)
    return whole * (2 + turn if back else longest - turn)


def random_batch(unit: Unit, seed: int, first: int, count: int) -> Batch:
    """The cases of a run, or its first ones. first: as from `runs`."""
    terms = run_beats(unit, first) * unit.instruction.lanes
    return draw(unit, key_of(seed, unit.name, "random"), first, count, terms)


def draw(
    unit: Unit, key: int, first: int, count: int, terms: int, kinds: Sequence[str] = KINDS, label: str = "random"
) -> Batch:
    """Cases `first` to `first` + `count` - 1 of so many terms; case i is of kind i % len(kinds).

    key: of the seed and the unit; a case depends on it, on the unit, its number, its length and its kind alone.
    kinds: of `KINDS` and `hwsim.cases.kinds.DIRECTED`. label: how the ids begin: `random/00000042-spread` and so on.
    """
    from hwsim.cases.random_loops import no_cases  # Numba takes a while, and some draw nothing

    whole = no_cases(unit, count, terms)
    for at, drawn in _drawn(unit, key, np.arange(first, first + count), terms, kinds):
        for codes, new in zip(whole, drawn, strict=True):
            codes[at] = new
    operands, scale = unit.operands, unit.scale
    return Batch(
        Names(range(first, first + count), kinds, label),
        whole.a.astype(container_dtype(operands.a)),
        whole.b.astype(container_dtype(operands.b)),
        np.zeros(count, np.uint8) if operands.addend is None else drawn_codes(operands.addend, whole.c),
        None if scale is None else whole.scale_a.astype(container_dtype(scale.a.format)),
        None if scale is None else whole.scale_b.astype(container_dtype(scale.b.format)),
    )


def _drawn(unit: Unit, key: int, numbers: Ints, terms: int, kinds: Sequence[str]) -> Iterator[tuple[Ints, DrawnCases]]:
    """The places of some of the cases, and what is drawn there."""
    from hwsim.cases.random_loops import draw_general

    general = np.array([KINDS.index(kind) if kind in KINDS else -1 for kind in kinds])[numbers % len(kinds)]
    if (general >= 0).any():
        at = np.flatnonzero(general >= 0)
        yield at, draw_general(unit, key, numbers[at], general[at], terms)
    for number, kind in enumerate(kinds):
        if kind not in KINDS:
            from hwsim.cases.directed_loops import draw_directed

            at = np.flatnonzero(numbers % len(kinds) == number)
            yield at, draw_directed(unit, key, numbers[at], DIRECTED[kind], terms)
