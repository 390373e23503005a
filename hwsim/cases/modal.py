"""Cases of units of several modes: those of one mode, and sums whose mode changes from group to group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from hwsim.cases.case import Case, block_lengths
from hwsim.cases.drawing import Stream
from hwsim.spec import ModalUnit, Unit

# What the name of a case says after that of the case of one mode: `random/00000007-near, mode e4m3`.
MODE = ", mode "
MIXED = ", modes mixed "
MOST_NAMES = 6  # of modes that the name of a case lists


def in_mode(unit: ModalUnit, number: int, case: Case) -> Case:
    """A case of one mode's unit as one of the unit of all modes. number: the mode's."""
    groups = len(case.a) // unit.instruction.lanes
    scales = {} if case.scale_a or unit.scale is None else unused_scales(unit, case)
    return replace(case, id=f"{case.id}{MODE}{list(unit.modes)[number]}", modes=(number,) * groups, **scales)


def unused_scales(unit: ModalUnit, case: Case) -> dict[str, tuple[int, ...]]:
    """Scales for a case of a mode that has none, which must not count: all ones, which is NaN in E8M0."""
    scale = unit.scale
    if scale is None:
        return {}
    formats, lengths = (scale.a.format, scale.b.format), block_lengths(unit)
    codes = (
        ((1 << fmt.container_bits) - 1,) * -(-len(case.a) // length)
        for fmt, length in zip(formats, lengths, strict=True)
    )
    return dict(zip(("scale_a", "scale_b"), codes, strict=True))


def one_mode(case: Case) -> int | None:
    """The mode of every group of a case; None where they differ."""
    return case.modes[0] if len(set(case.modes)) == 1 else None


def plain(unit: ModalUnit, case: Case) -> tuple[Unit, Case]:
    """The unit of a case's first mode, and the case as one of that unit: what `in_mode` was given, of a case of it."""
    mode = unit.units[case.modes[0]]
    scales = {} if mode.scale is not None else {"scale_a": (), "scale_b": ()}
    return mode, replace(case, id=case.id.partition(MODE)[0], modes=(), **scales)


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
    scales = dict(_mixed_scales(unit, row, chosen))
    names = [list(unit.modes)[number] for number in chosen[:MOST_NAMES]]
    said = ", then ".join(names) + (" ..." if groups > MOST_NAMES else "")
    return Case(f"{first.id}{MIXED}{at}: {said}", tuple(a), tuple(b), row[chosen[0]].c, **scales, modes=chosen)


def _mixed_scales(unit: ModalUnit, row: Sequence[Case], chosen: Sequence[int]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The scales of every block, of the mode of its first group that has any."""
    if unit.scale is None:
        return
    lanes, terms = unit.instruction.lanes, len(row[0].a)
    unused = unused_scales(unit, row[0])
    for key, length in zip(("scale_a", "scale_b"), block_lengths(unit), strict=True):
        codes = []
        for block in range(-(-terms // length)):
            inside = range(block * length // lanes, max(block * length // lanes + 1, -(-(block + 1) * length // lanes)))
            having = [chosen[group] for group in inside if group < len(chosen) and getattr(row[chosen[group]], key)]
            codes.append(getattr(row[having[0]], key)[block] if having else unused[key][block])
        yield key, tuple(codes)
