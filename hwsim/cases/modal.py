"""Cases of units of several modes: those of one mode, and sums whose mode changes from group to group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hwsim.cases.case import Case, block_lengths
from hwsim.cases.drawing import Stream
from hwsim.formats import Format
from hwsim.spec import ModalUnit, Unit

# What the name of a case says after that of the case of one mode: `random/00000007-near, mode e4m3`.
MODE = ", mode "
MIXED = ", modes mixed "
MOST_NAMES = 6  # of modes that the name of a case lists


def in_mode(unit: ModalUnit, number: int, case: Case) -> Case:
    """A case of one mode's unit as one of the unit of all modes. number: the mode's."""
    modes = (number,) * (len(case.a) // unit.instruction.lanes)
    name = f"{case.id}{MODE}{list(unit.modes)[number]}"
    scale_a, scale_b = (case.scale_a, case.scale_b) if case.scale_a else unused_scales(unit, case)
    return replace(case, id=name, scale_a=scale_a, scale_b=scale_b, modes=modes)


def unused_scales(unit: ModalUnit, case: Case) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Scales of a and b for a case of a mode that has none, which must not count: all ones, which is NaN in E8M0."""
    scale = unit.scale
    if scale is None:
        return (), ()
    length_a, length_b = block_lengths(unit)
    return _ones(scale.a.format, case, length_a), _ones(scale.b.format, case, length_b)


def _ones(fmt: Format, case: Case, length: int) -> tuple[int, ...]:
    return ((1 << fmt.container_bits) - 1,) * -(-len(case.a) // length)


def one_mode(case: Case) -> int | None:
    """The mode of every group of a case; None where they differ."""
    return case.modes[0] if len(set(case.modes)) == 1 else None


def plain(unit: ModalUnit, case: Case) -> tuple[Unit, Case]:
    """The unit of a case's first mode, and the case as one of that unit: what `in_mode` was given, of a case of it."""
    mode = unit.units[case.modes[0]]
    alone = replace(case, id=case.id.partition(MODE)[0], modes=())
    return mode, alone if mode.scale is not None else replace(alone, scale_a=(), scale_b=())


def by_turns(unit: ModalUnit, modes: Sequence[Sequence[Case]]) -> list[Case]:
    """The cases of all modes, one of each in turn, for as long as there are any. modes: each one's cases."""
    longest = max(map(len, modes))
    return [
        in_mode(unit, number, cases[at])
        for at in range(longest)
        for number, cases in enumerate(modes)
        if at < len(cases)
    ]


def mixed(unit: ModalUnit, modes: Sequence[Sequence[Case]], count: int, stream: Stream) -> list[Case]:
    """Sums each of whose groups has a mode of its own, drawn at random.

    modes: as many cases of each mode, of which those of one place are equally long; each group is of the case at that
    place of its mode, as are the addend and the scales of the block that begins with it. Sums of one group are left
    out where there are others.
    """
    lanes = unit.instruction.lanes
    longer = [row for row in zip(*modes, strict=True) if len(row[0].a) > lanes]
    rows = longer or list(zip(*modes, strict=True))
    return [_mixed(unit, rows[at % len(rows)], at, stream) for at in range(count)]


def _mixed(unit: ModalUnit, row: Sequence[Case], at: int, stream: Stream) -> Case:
    instruction, first = unit.instruction, row[0]
    if any(len(case.a) != len(first.a) for case in row):
        raise ValueError("cases that are mixed must be equally long")
    groups = len(first.a) // instruction.lanes
    chosen = tuple(stream.randrange(len(row)) for _ in range(groups))
    a, b = list(first.a), list(first.b)
    for group, number in enumerate(chosen):
        for i in instruction.indices(group):
            a[i], b[i] = row[number].a[i], row[number].b[i]
    sides = zip(*((case.scale_a, case.scale_b) for case in row), strict=True)
    scale_a, scale_b = (_mixed_scales(unit, side, codes, row[0], chosen) for side, codes in enumerate(sides))
    names = [list(unit.modes)[number] for number in chosen[:MOST_NAMES]]
    said = ", then ".join(names) + (" ..." if groups > MOST_NAMES else "")
    return Case(f"{first.id}{MIXED}{at}: {said}", tuple(a), tuple(b), row[chosen[0]].c, scale_a, scale_b, chosen)


def _mixed_scales(
    unit: ModalUnit, side: int, given: Sequence[tuple[int, ...]], case: Case, chosen: Sequence[int]
) -> tuple[int, ...]:
    """The scales of every block of one side, of the mode of its first group that has any.

    given: those of each mode; chosen: the mode of each group. case: any of the cases.
    """
    unused = unused_scales(unit, case)[side]
    if not unused:
        return ()
    length, codes = block_lengths(unit)[side], list(unused)
    for group, number in reversed(list(enumerate(chosen))):
        for block in {i // length for i in unit.instruction.indices(group)} if given[number] else ():
            codes[block] = given[number][block]
    return tuple(codes)
