"""Random cases without end, every pair of codes, and cases of units of several modes."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import islice, product, repeat
from math import prod
from typing import TYPE_CHECKING, overload

import numpy as np

from hwsim.cases.case import Batch, Case, batches, block_lengths, draws, expected
from hwsim.cases.drawing import DIRECTED, KINDS, Stream, drawn_codes, key_of
from hwsim.formats import Class, Format, container_dtype, unpack
from hwsim.formats.blocks import one_code
from hwsim.formats.codes import all_codes
from hwsim.formats.rounding import Ints
from hwsim.model.definition import Definition, definition_of
from hwsim.model.rounding import exact_sum
from hwsim.spec import ModalUnit, Unit

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
        numbers = self._numbers[index]
        if isinstance(numbers, range):
            return Names(numbers, self._kinds, self._label)
        return f"{self._label}/{numbers:08}-{self._kinds[numbers % len(self._kinds)]}"


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
    """The number of beats that every sum has a multiple of."""
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
    kinds: of `KINDS` and `hwsim.cases.drawing.DIRECTED`. label: how the ids begin: `random/00000042-spread` and so on.
    """
    from hwsim.cases.random_loops import no_cases  # Numba takes a while, and some draw nothing

    whole = no_cases(unit, count, terms)
    for places, drawn in _drawn(unit, key, np.arange(first, first + count), terms, kinds):
        for codes, new in zip(whole, drawn, strict=True):
            codes[places] = new
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
        places = np.flatnonzero(general >= 0)
        yield places, draw_general(unit, key, numbers[places], general[places], terms)
    for number, kind in enumerate(kinds):
        if kind not in KINDS:
            from hwsim.cases.directed_loops import draw_directed

            places = np.flatnonzero(numbers % len(kinds) == number)
            yield places, draw_directed(unit, key, numbers[places], DIRECTED[kind], terms)


MOST_BITS = 8
Pair = tuple[int, int]


def pair_cases(unit: Unit, step: int = 1, held: Container[str] = ()) -> Iterator[Case]:
    """A case for every pair of codes of the factors, in a lane that moves on; the other lanes hold zeros.

    step: 2 leaves out every other one, and so on. held: `a` or `b` where that is the same in every case, whatever it
    is here: every code of up to 16 bits of the other stands beside it.
    Formats of more than 8 bits have too many pairs: of those every 2^(bits - 8)-th code.
    """
    lanes = unit.instruction.fill
    count = max(lanes, *block_lengths(unit)) if unit.scale is not None else lanes
    bits = MOST_BITS if "a" not in held and "b" not in held else 2 * MOST_BITS
    sides = (("a", unit.operands.a), ("b", unit.operands.b))
    a, b = ([0] if name in held else _codes(fmt, bits) for name, fmt in sides)
    for number, (x, y) in islice(enumerate(product(a, b)), 0, None, step):
        yield _case(unit, f"{x:#x}x{y:#x}", count, {number % lanes: (x, y)})


def _codes(fmt: Format, most: int = MOST_BITS) -> list[int]:
    step = 1 << max(0, fmt.bits - most)
    return list(all_codes(fmt)[::step])


def product_cases(unit: Unit, together: int = 4) -> list[Case]:
    """Every pair of codes, up to `together` to a case: products of one exponent, whose sum loses nothing.

    So a wrong bit of any product is a wrong result. NaN, infinity and what a sum of several would hide stand alone.
    Formats of more than 8 bits have too many pairs: of those every 2^(bits - 8)-th code.
    """
    definition, lanes = definition_of(unit), unit.instruction.lanes
    a, b = (_codes(fmt) for fmt in (unit.operands.a, unit.operands.b))
    alone: list[tuple[Pair, ...]] = []
    alike: dict[tuple[int, bool], list[Pair]] = {}
    for pair in product(a, b):
        term = definition.product(*pair)
        if term.cls in (Class.NAN, Class.INFINITY):
            alone.append((pair,))
        else:
            alike.setdefault((term.exp if term.sig else 0, bool(term.sig)), []).append(pair)
    size = min(together, lanes)
    some = [
        tuple(pairs[start : start + size]) for _, pairs in sorted(alike.items()) for start in range(0, len(pairs), size)
    ]
    sums: list[tuple[Pair, ...]] = []
    # A case of one product cannot be divided: its result need not be asked for.
    keeping = _keep(unit, definition, some) if size > 1 else repeat(True, len(some))
    for pairs, keeps in zip(some, keeping, strict=True):
        sums += [pairs] if keeps else [(pair,) for pair in pairs]
    return [_product_case(unit, number, pairs) for number, pairs in enumerate([*sums, *alone])]


def _keep(unit: Unit, definition: Definition, sums: Sequence[tuple[Pair, ...]]) -> Iterator[bool]:
    """One flag a sum of products: True if the unit returns it exactly."""
    # What the scales multiply every product by: 1, or what is next to it.
    neutral = prod(_value(fmt, one_code(fmt)) or 1 for fmt in _scale_formats(unit))
    cases = [_product_case(unit, 0, pairs) for pairs in sums]
    codes = [code for batch in batches(unit, cases) for code in expected(unit, batch).tolist()]
    for pairs, code in zip(sums, codes, strict=True):
        total, unit_exp = exact_sum([definition.product(*pair) for pair in pairs])
        yield _value(unit.output, code) == total * Fraction(2) ** unit_exp * neutral


def _value(fmt: Format, code: int) -> Fraction | None:
    """The number that a code stands for; None for NaN and infinity."""
    fields = unpack(fmt, code)
    if fields.cls in (Class.NAN, Class.INFINITY):
        return None
    return Fraction(-fields.sig if fields.sign else fields.sig) * Fraction(2) ** (fields.exp - fmt.fraction_bits)


def _product_case(unit: Unit, number: int, pairs: Sequence[Pair]) -> Case:
    """The pairs in neighbouring lanes, which move on from case to case."""
    instruction = unit.instruction
    # Lanes of one group: of an instruction whose groups interleave, those of the first.
    lanes = instruction.indices(number % (instruction.fill // instruction.lanes))
    placed = {lanes[(number + offset) % len(lanes)]: pair for offset, pair in enumerate(pairs)}
    return _case(unit, f"product/{number:05}", instruction.fill, placed)


def _case(unit: Unit, name: str, count: int, placed: Mapping[int, Pair]) -> Case:
    """Pairs at places among so many terms, all others of which are zeros, under scales of 1."""
    sides = zip(_scale_formats(unit), block_lengths(unit), strict=True) if unit.scale is not None else ()
    scales = ((one_code(fmt),) * -(-count // length) for fmt, length in sides)
    a, b = zip(*(placed.get(place, (0, 0)) for place in range(count)), strict=True)
    return Case(name, a, b, 0, *scales)


def _scale_formats(unit: Unit) -> list[Format]:
    """The formats of both sides' scales; none of an unscaled unit."""
    return [unit.scale.a.format, unit.scale.b.format] if unit.scale is not None else []


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
        in_mode(unit, number, cases[turn])
        for turn in range(longest)
        for number, cases in enumerate(modes)
        if turn < len(cases)
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
    return [_mixed(unit, rows[number % len(rows)], number, stream) for number in range(count)]


def _mixed(unit: ModalUnit, row: Sequence[Case], index: int, stream: Stream) -> Case:
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
    wording = ", then ".join(names) + (" ..." if groups > MOST_NAMES else "")
    return Case(f"{first.id}{MIXED}{index}: {wording}", tuple(a), tuple(b), row[chosen[0]].c, scale_a, scale_b, chosen)


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
