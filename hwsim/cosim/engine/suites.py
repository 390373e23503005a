"""What an engine is played: operands, and the traffic on its ports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import cycle, groupby, repeat

import numpy as np
from numpy.typing import NDArray

from hwsim.cases.bins.covering import directed
from hwsim.cases.case import Case, block_lengths
from hwsim.cases.drawing import Stream
from hwsim.cases.random_cases import random_cases
from hwsim.cosim.engine.master import Manager, Write, every_read, every_write, random_reads, random_writes
from hwsim.cosim.engine.packing import padded_products
from hwsim.cosim.engine.record import MacroOperands, Segment, record
from hwsim.formats.blocks import one_code
from hwsim.spec import modes_of
from hwsim.spec.engine import Engine
from hwsim.spec.registers import registers
from hwsim.tb.engine import EngineScript

CHANCES = 0.1, 0.5, 0.9  # of a word in a cycle
BURST = 23  # cycles in which a port goes, and in which it stands still
RESETS = 200  # cycles after which a reset comes, each in turn
MANAGED = {  # chances of channels of AXI4-Lite
    "registers-full": {}, "registers-late-data": {"w": 0.2}, "registers-late-addresses": {"aw": 0.2, "ar": 0.2},
    "registers-held-responses": {"b": 0.1, "r": 0.1},
}  # fmt: skip
CHANNELS = "aw", "w", "b", "ar", "r"
MANAGED_CYCLES, EVERY_CYCLES = 600, 1100  # the latter: two a read, of each address
LONG = 4  # instructions, or groups, of a sum of usual length


def whole_length(engine: Engine) -> int:
    """Products of the shortest sum: of whole groups or instructions, and of whole blocks of scales."""
    unit = engine.unit
    lengths = [engine.unit.instruction.fill] if unit.scale is None else [unit.instruction.fill, *block_lengths(unit)]
    return int(np.lcm.reduce(lengths))


def laid_out(engine: Engine, cases: Sequence[Case], turn: int, mode: int) -> MacroOperands:
    """Cases of one length in a macro tile: each in a row and a column of its own, so that every other result is one of
    two cases' operands. turn: by how much columns are moved, so that a case can come to every element.
    """
    unit, (height, width) = modes_of(engine.unit)[mode], engine.macro
    length = max(len(case.a) for case in cases)
    padded = -(-padded_products(engine, length) // whole_length(engine)) * whole_length(engine)
    a, b = np.zeros((height, padded), np.uint64), np.zeros((width, padded), np.uint64)
    c = None
    if "c" in engine.sizes():
        c = np.zeros((height, width), np.uint64)
    scales: dict[str, NDArray[np.uint64]] = {}
    if unit.scale is not None:
        for side, count, block in zip("ab", (height, width), block_lengths(unit), strict=True):
            one = one_code(getattr(unit.scale, side).format)
            scales[f"scale_{side}"] = np.full((count, padded // block), one, np.uint64)
    for row in range(max(height, width)):
        case = cases[row % len(cases)]
        i, j = row % height, (row + turn) % width
        if row < height:
            a[i, : len(case.a)] = case.a
        if row < width:
            b[j, : len(case.b)] = case.b
        if c is not None:
            c[i, j] = case.c
        for side, at, given, count in (("a", i, case.scale_a, height), ("b", j, case.scale_b, width)):
            if given and row < count:
                scales[f"scale_{side}"][at, : len(given)] = given
    return MacroOperands(a, b, c, scales.get("scale_a"), scales.get("scale_b"), mode)


def tiles_of_cases(engine: Engine, cases: Sequence[Case], mode: int, turn: int = 0) -> Iterator[MacroOperands]:
    """Macro tiles that hold cases, as many as have a row and a column of their own."""
    least = min(engine.macro)
    for _, group in groupby(sorted(cases, key=lambda case: len(case.a)), key=lambda case: len(case.a)):
        alike = list(group)
        for first in range(0, len(alike), least):
            turn += 1
            yield laid_out(engine, alike[first : first + least], turn, mode)


def drawn(engine: Engine, name: str, count: int, seed: int) -> list[MacroOperands]:
    """So many macro tiles of random cases of several lengths and kinds; modes take turns."""
    every = []
    for mode in range(len(modes_of(engine.unit))):
        unit = modes_of(engine.unit)[mode]
        cases = random_cases(unit, count * min(engine.macro), seed)
        every.append(list(tiles_of_cases(engine, cases, mode)))
    turns = [tile for row in zip(*every, strict=False) for tile in row]
    stream = Stream(seed, engine.name, "engine", name)
    return [turns[stream.randrange(len(turns))] for _ in range(count)]


def _sometimes(chance: float, stream: Stream) -> Iterator[bool]:
    while True:
        yield stream.random() < chance


def _bursts(first: int) -> Iterator[bool]:
    return cycle([*[True] * BURST, *[False] * BURST][first:] + [True] * first)


class _Traffic:
    """When an engine's ports go, drawn by the names of suites and ports."""

    def __init__(self, engine: Engine, seed: int):
        self.engine, self.seed, self.ports = engine, seed, [*engine.sizes(), "d"]

    def stream(self, *names: str | int) -> Stream:
        return Stream(self.seed, self.engine.name, "engine", *names)

    def often(self, name: str, chance: float) -> dict[str, Iterator[bool]]:
        return {port: _sometimes(chance, self.stream(name, port)) for port in self.ports}

    def managed(self, name: str, chances: Mapping[str, float]) -> Manager:
        """A manager of random accesses to registers. chances: of channels."""
        drawn = (random_writes(self.engine, self.stream(name, "writes")),
                 random_reads(self.engine, self.stream(name, "reads")))  # fmt: skip
        patterns = {port: _sometimes(chance, self.stream(name, port)) for port, chance in chances.items()}
        return Manager(*drawn, patterns)

    def played(
        self, name: str, segments: Sequence[Segment], patterns: dict[str, Iterator[bool]],
        manager: Manager | None = None,
    ) -> EngineScript:  # fmt: skip
        takes = patterns.pop("d", None)
        if self.engine.control is not None and manager is None:
            manager = self.managed(name, dict.fromkeys(CHANNELS, 0.5))
        return record(self.engine, name, segments, patterns, takes, manager)


def scripts(engine: Engine, seed: int, *, small: bool = False) -> Iterator[EngineScript]:
    """Every suite of an engine, one after another. small: few macro tiles, a reset after every tenth cycle."""
    traffic = _Traffic(engine, seed)
    played, stream, ports, tiles = traffic.played, traffic.stream, traffic.ports, _tiles(small)
    usual = drawn(engine, "usual", tiles, seed)
    some = [Segment(usual[: max(2, tiles // 3)])]
    yield played("full", [Segment(usual)], {})
    for port in ports:
        for chance in CHANCES[: 1 if small else None]:
            yield played(f"{port}-{chance:.0%}", some, {port: _sometimes(chance, stream(port, str(chance)))})
    yield played("gaps", [Segment(usual)], traffic.often("gaps", 0.6))
    yield played("bursts", [Segment(usual)], {port: _bursts(7 * at % BURST) for at, port in enumerate(ports)})
    yield played("lengths-of-k", [Segment(_lengths(engine, seed))], {"d": _sometimes(0.8, stream("lengths"))})
    yield played("directed", [Segment(_directed(engine, seed, 4 if small else 64))], {})
    resets = [Segment(usual[:4], cycles=cycles) for cycles in _resets(small)]
    yield played("resets", [*resets, Segment(usual[:2])], traffic.often("resets", 0.8))
    for name, segments in (("frames-of-other-lengths", _unequal(engine, drawn(engine, "unequal", 12, seed))),
                           ("frames-that-end-early", _early(engine, usual))):  # fmt: skip
        if some_segments := list(segments):
            yield played(name, some_segments, {"b": _sometimes(0.7, stream(name))})
    if engine.control is not None:
        yield from register_scripts(engine, seed, small=small)


def register_scripts(engine: Engine, seed: int, *, small: bool = False) -> Iterator[EngineScript]:
    """The suites of an engine's registers, which products go on beside."""
    traffic, usual = _Traffic(engine, seed), drawn(engine, "usual", _tiles(small), seed)
    for name, chances in MANAGED.items():
        segments = [Segment(usual, cycles=MANAGED_CYCLES)]
        yield traffic.played(name, segments, traffic.often(name, 0.8), traffic.managed(name, chances))
    manager = Manager(every_write(), every_read())
    yield traffic.played("registers-every", [Segment(usual[:4], cycles=EVERY_CYCLES)], {}, manager)
    softly = [Segment(usual[:4], cycles=cycles, soft=True) for cycles in _resets(small)]
    manager = Manager(reads=random_reads(engine, traffic.stream("soft-resets")))
    patterns = traffic.often("soft-resets", 0.8)
    yield traffic.played("soft-resets", [*softly, Segment(usual[:2])], patterns, manager)
    table = registers(engine)
    seldom = {port: _sometimes(0.1, traffic.stream("busy", port)) for port in traffic.ports[:-1]}
    busy = [Segment(usual[:2], cycles=60)] * 8  # each begins with an empty engine
    yield traffic.played("busy", busy, seldom, Manager(reads=repeat(table["status"].offset)))
    longest = max(usual, key=lambda tile: tile.a.shape[1])
    if errors := [replace(each, cycles=60) for each in _early(engine, [longest], always=True)]:
        at = table["error"].offset
        manager = Manager((Write(at, bits) for bits in cycle((3, 2, 1))), repeat(at))
        yield traffic.played("errors", errors * 4, traffic.often("errors", 0.7), manager)


def _tiles(small: bool) -> int:
    return 3 if small else 12


def _resets(small: bool) -> range:
    """After how many cycles a reset comes."""
    return range(1, RESETS + 1, 10 if small else 1)


def _lengths(engine: Engine, seed: int) -> list[MacroOperands]:
    """The shortest sums after longer ones, where the unit has any."""
    every = []
    for mode in range(len(modes_of(engine.unit))):
        cases = sorted(random_cases(modes_of(engine.unit)[mode], 64, seed + 1), key=lambda case: len(case.a))
        for short, long in zip(cases[:3], cases[:-4:-1], strict=True):
            every += [*tiles_of_cases(engine, [long], mode), *tiles_of_cases(engine, [short], mode)]
    return every


def _directed(engine: Engine, seed: int, most: int) -> list[MacroOperands]:
    """The units' directed cases, each at another element than in the tile before."""
    every = []
    for mode in range(len(modes_of(engine.unit))):
        cases = directed(modes_of(engine.unit)[mode], seed)
        stride = max(1, len(cases) // (most * min(engine.macro)))
        every += list(tiles_of_cases(engine, cases[::stride], mode))
    return every


def _unscaled(engine: Engine) -> bool:
    """True if a sum that ends elsewhere is one that the unit can return: scales of blocks longer than a step, and
    instructions of several groups, it cannot be cut in.
    """
    return whole_length(engine) == engine.unit.instruction.lanes


def _unequal(engine: Engine, tiles: Sequence[MacroOperands]) -> Iterator[Segment]:
    """Frames of one stream after another that end a step too early: the sum ends, and the rest is another."""
    long = [tile for tile in tiles if tile.a.shape[1] >= 2 * engine.unit.instruction.lanes][:2]
    if not (_unscaled(engine) and long and "c" not in engine.sizes()):
        return
    for side in engine.step_streams:
        words = engine.sizes()[side].words
        for tile in long:
            steps = tile.a.shape[1] // engine.unit.instruction.lanes
            lasts = [place == words - 1 or place == steps * words - 1 for place in range(steps * words)]
            yield Segment([tile], {side: lasts})


def _early(engine: Engine, tiles: Sequence[MacroOperands], always: bool = False) -> Iterator[Segment]:
    """A frame that ends in the middle of a step, which `error` says, and nothing else. always: of every step."""
    for side in engine.step_streams:
        words = engine.sizes()[side].words
        if words > 1:
            tile = tiles[0]
            steps = tile.a.shape[1] // engine.unit.instruction.lanes
            early = range(0, steps * words, words) if always else (0,)
            lasts = [place in early or place == steps * words - 1 for place in range(steps * words)]
            yield Segment([tile], {side: lasts})
