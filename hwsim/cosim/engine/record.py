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
from hwsim.spec import Unit, modes_of
from hwsim.spec.engine import Engine
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
    cycles: after so many a reset comes; until all results have left, where it is 0.
    results: of each tile the words of its contexts, where they are computed already.
    """

    tiles: Sequence[MacroOperands]
    lasts: dict[str, list[bool]] | None = None
    cycles: int = 0
    results: Sequence[list[list[int]]] | None = None


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


def record(
    engine: Engine,
    name: str,
    segments: Sequence[Segment],
    offers: dict[str, Pattern] | None = None,
    takes: Pattern | None = None,
) -> EngineScript:
    """Play segments on the model. offers, takes: in which cycles a source begins to offer, and results may leave."""
    model, streams = EngineCycles(engine), list(engine.sizes())
    offers = {stream: iter(repeat(True)) for stream in streams} | (offers or {})
    takes = takes or iter(repeat(True))
    words: dict[str, list[int]] = {stream: [] for stream in streams}
    lasts: dict[str, list[bool]] = {stream: [] for stream in streams}
    columns: dict[str, list[int]] = {key: [] for key in ("take", "mode", "reset", "valid", "error")}
    offered: dict[str, list[int]] = {stream: [] for stream in streams}
    ready: dict[str, list[bool]] = {stream: [] for stream in streams}
    results: list[tuple[int, bool]] = []
    for segment in segments:
        given = _Streams(engine, segment)
        bases = {stream: len(words[stream]) for stream in streams}
        for stream in streams:
            words[stream] += given.words[stream]
            lasts[stream] += given.lasts[stream]
        model.reset()
        at, standing = dict.fromkeys(streams, 0), dict.fromkeys(streams, False)
        computed: dict[int, list[list[int]]] = {}
        places: dict[tuple[int, int, int], int] = {}
        played, idle = -2, 0
        while True:
            in_reset = played < 0
            for stream in streams:
                more = at[stream] < len(given.words[stream]) and not in_reset
                standing[stream] = more and (standing[stream] or next(offers[stream]))
                offered[stream].append(bases[stream] + at[stream] if standing[stream] else -1)
                ready[stream].append(model.banks[stream].ready)
            take = next(takes)
            mode = segment.tiles[min(model.tiles, len(segment.tiles) - 1)].mode
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
            model.tick({stream: given.lasts[stream][at[stream]] for stream in streams if standing[stream]}, take, mode)
            for stream in taken:
                at[stream] += 1
                standing[stream] = False
            quiet = not taken and word is None and not any(model.flying) and not model.queue
            idle = idle + 1 if quiet and all(at[s] == len(given.words[s]) for s in streams) else 0
            if played == segment.cycles if segment.cycles else idle > 4:
                break
    return EngineScript(
        name, words, {key: np.array(value, np.int32) for key, value in offered.items()},
        {key: np.array(value, bool) for key, value in lasts.items()}, np.array(columns["take"], bool),
        np.array(columns["mode"], np.int32), np.array(columns["reset"], bool),
        {key: np.array(value, bool) for key, value in ready.items()}, results, np.array(columns["valid"], np.int32),
        np.array(columns["error"], np.int32),
    )  # fmt: skip
