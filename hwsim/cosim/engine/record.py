"""What an engine is played, and what its model promises of every cycle and every word."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from hwsim.cases.case import block_lengths
from hwsim.compute.gemm import gemm
from hwsim.cosim.engine.master import Manager, Write
from hwsim.cosim.engine.packing import (
    Codes,
    Frames,
    addend_frames,
    operand_frames,
    padded_products,
    tile_words,
    tiles_of,
)
from hwsim.model.engine import EngineCycles, MacroTile
from hwsim.model.registers import RegisterCycles
from hwsim.rtl.engine.top import engine_style
from hwsim.spec import Unit, modes_of
from hwsim.spec.engine import Engine
from hwsim.spec.registers import AXI_LITE, CONTROL, PREFIX, RESET, registers
from hwsim.tb.engine import EngineScript


@dataclass(frozen=True)
class MacroOperands:
    """The operands of a macro tile: a (macro rows, K), b (macro columns, K), c (rows, columns) or None; codes of
    scales (rows, blocks along K) and (columns, blocks); the number of the mode.
    """

    a: Codes
    b: Codes
    c: Codes | None = None
    scale_a: Codes | None = None
    scale_b: Codes | None = None
    mode: int = 0


@dataclass(frozen=True)
class Segment:
    """What is played between two resets.

    tiles: macro tiles, one after another. lasts: for a stream, other ends of frames than the tiles': of all its words.
    cycles: after so many a reset comes; until all results have left, where it is 0. soft: it is a soft one, which is
    written then.
    results: of each tile the words of its contexts, where they are computed already.
    """

    tiles: Sequence[MacroOperands]
    lasts: dict[str, list[bool]] | None = None
    cycles: int = 0
    results: Sequence[list[list[int]]] | None = None
    soft: bool = False


Pattern = Iterator[bool]


class _Streams:
    """The words of a segment, and what its sums return."""

    def __init__(self, engine: Engine, segment: Segment):
        self.engine, self.segment, tiles = engine, segment, segment.tiles
        frames: dict[str, list[Frames]] = {name: [] for name in engine.step_streams}
        for tile in tiles:
            made = operand_frames(engine, "a", tile.a, tile.scale_a)
            for name, each in (made | operand_frames(engine, "b", tile.b, tile.scale_b)).items():
                frames[name].append(each)
        if "c" in engine.sizes():
            height, width = engine.macro
            zero = np.zeros((height, width), np.uint64)
            frames["c"] = [addend_frames(engine, zero if tile.c is None else tile.c) for tile in tiles]
        self.words = {name: [word for frame in each for word in frame.flat] for name, each in frames.items()}
        self.lasts = {name: [last for frame in each for last in frame.lasts] for name, each in frames.items()}
        self.lasts |= segment.lasts or {}
        # Of each word the number of its macro tile, for engines whose mode is written before.
        self.tile_of = {name: [number for number, frame in enumerate(each) for _ in frame.flat]
                        for name, each in frames.items()}  # fmt: skip

    @cached_property
    def joined(self) -> dict[str, NDArray[np.uint64]]:
        """Operands of all tiles along K, each filled up to whole groups or instructions; a scale for each product."""
        every: dict[str, list[NDArray[np.uint64]]] = {}
        for tile in self.segment.tiles:
            for side in ("a", "b"):
                codes = getattr(tile, side).astype(np.uint64)
                length = padded_products(self.engine, codes.shape[1])
                every.setdefault(side, []).append(np.pad(codes, ((0, 0), (0, length - codes.shape[1]))))
                if self.engine.unit.scale is not None:
                    block, scales = block_lengths(self.engine.unit)["ab".index(side)], getattr(tile, f"scale_{side}")
                    if scales is None:  # a mode without scales, whose sums take none
                        scales = np.zeros((len(codes), -(-length // block)), np.uint64)
                    every.setdefault(f"scale_{side}", []).append(np.repeat(scales, block, axis=1)[:, :length])
        return {name: np.concatenate(parts, axis=1) for name, parts in every.items()}

    def results(self, tile: MacroTile) -> list[list[int]]:
        """The words of every context's tile: what `hwsim.gemm` returns of the products of the steps that were summed.

        Products are given in the order of the unit's groups, so that a sum may begin and end at any step.
        """
        engine = self.engine
        unit = modes_of(engine.unit)[tile.mode]
        lanes = unit.instruction.lanes
        given: dict[str, NDArray[np.uint32] | None] = {}
        columns = {
            name: np.array([index for step in steps for index in range(step * lanes, (step + 1) * lanes)])
            for name, steps in zip(engine.step_streams, zip(*tile.steps, strict=True), strict=True)
        }
        for side in "ab":
            given[side] = self.joined[side][:, columns[side]].astype(np.uint32)
            if unit.scale is not None:
                of_scales = columns.get(f"scale_{side}", columns[side])[:: block_lengths(unit)["ab".index(side)]]
                given[f"scale_{side}"] = self.joined[f"scale_{side}"][:, of_scales].astype(np.uint32)
        unit = with_scales_of_rows(unit)
        addends = None if tile.addends is None else self.segment.tiles[tile.addends].c
        codes = gemm(
            unit, given["a"], given["b"], None if addends is None else addends.astype(np.uint32),
            given.get("scale_a"), given.get("scale_b"), transposed=True,
        )  # fmt: skip
        bits = engine.unit.output.container_bits
        codes = codes.view(f"u{codes.dtype.itemsize}").astype(np.uint64) & np.uint64((1 << bits) - 1)
        return tile_words(bits, engine.ports.d, tiles_of(engine, codes)[0, 0])


def with_scales_of_rows(unit: Unit) -> Unit:
    """A unit whose every row of A and column of B has scales of its own, which may be alike."""
    if unit.scale is None:
        return unit
    of_a, of_b = block_lengths(unit)
    return unit.replace({"scale.a.block": [1, of_a], "scale.b.block": [of_b, 1]})


class _Control:
    """The registers of an engine, what plays on them, and the columns of their ports; none where there are none."""

    def __init__(self, model: EngineCycles, manager: Manager):
        self.model, self.manager = model, manager
        self.registers = RegisterCycles(model) if model.engine.control is not None else None
        names = AXI_LITE if self.registers is not None else {}
        self.columns: dict[str, list[int]] = {name: [] for name in names}
        self.inputs, self.outputs, self.coming = dict[str, int](), dict[str, int](), -1

    def reset(self) -> None:
        """Do what a cycle with `rst` high does."""
        self.model.reset()
        self.manager.reset()
        self.coming = -1
        if self.registers is not None:
            self.registers.reset()

    @property
    def mode(self) -> int:
        """The mode in the register."""
        return 0 if self.registers is None else self.registers.mode

    @property
    def soft(self) -> bool:
        """True in the cycle of a soft reset."""
        return self.registers is not None and self.registers.soft

    def begin(self, in_reset: bool, wanted: int, resets: bool) -> None:
        """Begin a cycle. wanted: the mode of the macro tile that begins next. resets: a soft reset is to be written."""
        if self.registers is None:
            return
        if self.coming in (self.registers.mode, -1) and not in_reset:
            self.coming = -1
            if self.registers.mode != wanted:
                self.coming = wanted
                self.manager.soon(Write(registers(self.model.engine)["mode"].offset, wanted))
        if resets:
            self.manager.soon(Write(CONTROL, 1 << RESET))
        self.inputs = dict.fromkeys((name for name, (into, _) in AXI_LITE.items() if into), 0)
        if not in_reset:
            self.inputs = self.manager.drive()
        self.outputs = self.registers.outputs
        hidden = in_reset and not self.model.engine.resets_at_once
        for name, column in self.columns.items():
            column.append(self.inputs[name] if name in self.inputs else -1 if hidden else self.outputs[name])

    def holds(self, tiles: Sequence[MacroOperands], number: int) -> bool:
        """True while a word must wait: its macro tile has not begun, and its mode is not in the register."""
        if self.registers is None or number < self.model.tiles:
            return False
        return self.coming != -1 or tiles[number].mode != self.registers.mode

    def tick(self, offered: dict[str, bool], take: bool, mode: int) -> None:
        """One rising edge."""
        if self.registers is None:
            self.model.tick(offered, take, mode)
            return
        self.manager.tick(self.outputs)
        self.registers.tick(self.inputs, offered, take)


def record(
    engine: Engine,
    name: str,
    segments: Sequence[Segment],
    offers: dict[str, Pattern] | None = None,
    takes: Pattern | None = None,
    manager: Manager | None = None,
) -> EngineScript:
    """Play segments on the model. offers, takes: in which cycles a source begins to offer, and results may leave.
    manager: what plays on registers, beside what the segments need.
    """
    model, streams, style = EngineCycles(engine), list(engine.sizes()), engine_style(engine)
    offers = {stream: iter(repeat(True)) for stream in streams} | (offers or {})
    takes = takes or iter(repeat(True))
    words: dict[str, list[int]] = {stream: [] for stream in streams}
    lasts: dict[str, list[bool]] = {stream: [] for stream in streams}
    columns: dict[str, list[int]] = {key: [] for key in ("take", "mode", "reset", "valid", "error")}
    offered: dict[str, list[int]] = {stream: [] for stream in streams}
    ready: dict[str, list[bool]] = {stream: [] for stream in streams}
    results: list[tuple[int, bool]] = []
    control, soft = _Control(model, manager or Manager()), False
    for segment in segments:
        given = _Streams(engine, segment)
        bases = {stream: len(words[stream]) for stream in streams}
        for stream in streams:
            words[stream] += given.words[stream]
            lasts[stream] += given.lasts[stream]
        if not soft:
            control.reset()
        at, standing = dict.fromkeys(streams, 0), dict.fromkeys(streams, False)
        computed: dict[int, list[list[int]]] = {}
        places: dict[tuple[int, int, int], int] = {}
        played, idle = 0 if soft else -2, 0
        while True:
            in_reset = played < 0
            wanted = segment.tiles[min(model.tiles, len(segment.tiles) - 1)].mode
            control.begin(in_reset, wanted, segment.soft and played == segment.cycles)
            for stream in streams:
                more = at[stream] < len(given.words[stream]) and not in_reset
                more = more and not control.holds(segment.tiles, given.tile_of[stream][at[stream]])
                standing[stream] = more and (standing[stream] or next(offers[stream]))
                offered[stream].append(bases[stream] + at[stream] if standing[stream] else -1)
                ready[stream].append(model.banks[stream].ready)
            take = next(takes)
            mode = wanted if engine.control is None else control.mode
            word, place = model.word, -1
            if word is not None:
                key = word.tile.number, word.context, word.word
                if key not in places:
                    if word.tile.number not in computed:
                        known = segment.results
                        computed[word.tile.number] = (
                            known[word.tile.number] if known is not None else given.results(word.tile)
                        )
                    places[key] = len(results)
                    results.append((computed[word.tile.number][word.context][word.word], word.last))
                place = places[key]
            for column, value in (("take", take), ("mode", mode), ("reset", in_reset), ("valid", place),
                                  ("error", model.error)):  # fmt: skip
                columns[column].append(int(value))
            played += 1
            if in_reset:
                continue
            taken = {stream for stream in streams if standing[stream] and ready[stream][-1]}
            soft = control.soft
            lasts_offered = {stream: given.lasts[stream][at[stream]] for stream in streams if standing[stream]}
            control.tick(lasts_offered, take, mode)
            for stream in taken:
                at[stream] += 1
                standing[stream] = False
            quiet = not taken and word is None and not any(model.flying) and not model.queue
            idle = idle + 1 if quiet and all(at[s] == len(given.words[s]) for s in streams) else 0
            if soft or (idle > 4 if not segment.cycles else played == segment.cycles and not segment.soft):
                break
    return EngineScript(
        name, words, {key: np.array(value, np.int32) for key, value in offered.items()},
        {key: np.array(value, bool) for key, value in lasts.items()}, np.array(columns["take"], bool),
        np.array(columns["mode"], np.int32), np.array(columns["reset"], bool),
        {key: np.array(value, bool) for key, value in ready.items()}, results, np.array(columns["valid"], np.int32),
        np.array(columns["error"], np.int32), *_columns(control.columns), style.reset_name,
        style.reset_low, engine.resets_at_once,
    )  # fmt: skip


def _columns(columns: dict[str, list[int]]) -> tuple[dict[str, NDArray[np.int64]], dict[str, NDArray[np.int64]]]:
    """What registers' ports are driven with, and what they are promised to show."""
    arrays = {name: np.array(column, np.int64) for name, column in columns.items()}
    inputs, outputs = ({f"{PREFIX}{name}": array for name, array in arrays.items() if AXI_LITE[name][0] == into}
                       for into in (True, False))  # fmt: skip
    return inputs, outputs
