"""Random cases without end: case i depends on the unit, the seed and i alone, a million and more a second."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np

from hwsim.cases.batch import Batch
from hwsim.cases.case import Case, block_lengths
from hwsim.cases.drawing import key_of
from hwsim.formats import container_dtype
from hwsim.formats.codes import Codes
from hwsim.spec import Unit, implemented

KINDS = ("any", "near", "spread", "cancel", "sparse", "straddle", "addend", "special")
# Cases of one length: few at first, so that a short list has all lengths, and then many, which kernels like.
FEW, MANY, FEW_UNTIL = 8, 1024, 1024


class Names(Sequence[str]):
    """`random/00000042-spread` and so on, made when they are asked for."""

    def __init__(self, first: int, count: int):
        self._range = range(first, first + count)

    def __len__(self) -> int:
        return len(self._range)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Names: ...
    def __getitem__(self, index: int | slice) -> str | Names:
        found = self._range[index]
        return Names(found.start, len(found)) if isinstance(found, range) else case_name(found)


def case_name(number: int) -> str:
    """The id of a random case."""
    return f"random/{number:08}-{KINDS[number % len(KINDS)]}"


def random_cases(unit: Unit, count: int, seed: int) -> list[Case]:
    """`count` random cases; the first n of a longer list are those of a list of n.

    Case i is of kind i % 8: any numbers, near one another, spread over the window, cancelling, few, straddling the
    window's end, beside a large addend, or with zeros, NaNs and infinities. Most have one beat; the others up to
    `most_beats`.
    Raises NotImplementedYet for a unit that the model does not have.
    """
    implemented(unit).demand()
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
    from hwsim.cases.random_loops import draw  # Numba takes a while, and some draw nothing

    operands, terms = unit.operands, run_beats(unit, first) * unit.instruction.lanes
    key = key_of(seed, unit.name, "random")
    drawn = draw(unit, key, first, count, terms)
    a, b = drawn.a.astype(container_dtype(operands.a)), drawn.b.astype(container_dtype(operands.b))
    c = np.zeros(count, np.uint8) if operands.addend is None else drawn.c.astype(container_dtype(operands.addend))
    return Batch(Names(first, count), a, b, c, *_scales(unit, key, first, terms, drawn.head))


def _scales(unit: Unit, key: int, first: int, terms: int, head: Codes) -> tuple[Codes | None, Codes | None]:
    """Codes (cases, blocks) of both sides."""
    from hwsim.cases.random_loops import scale_codes

    if unit.scale is None:
        return None, None
    formats, lengths = (unit.scale.a.format, unit.scale.b.format), block_lengths(unit)
    a, b = (scale_codes(formats[side], key, first, side, head[:, side], -(-terms // lengths[side])) for side in (0, 1))
    return a, b
