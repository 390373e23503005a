"""Matrices as the words of an engine's streams, and words as matrices of results: the packing is specification.

A step of A brings, for each of its slices and each row of the tile, the codes of a group of products, lane 0 in the low
bits, and above them the codes of its scales; where scales have a stream of their own, they stand there so. Rows stand
side by side, slices after each other, and a step is filled up with zeros to whole words. B's columns stand so too.
C has the tiles of all contexts after each other, their elements row by row, and is filled up so; each tile of D by
itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.base.errors import InputError
from hwsim.cases.case import block_lengths
from hwsim.formats.blocks import one_code
from hwsim.spec import modes_of
from hwsim.spec.engine import Engine, Side

Codes = NDArray[np.integer]


class Frames(NamedTuple):
    """The frames of a stream: of each its words, the low bits first."""

    words: list[list[int]]

    @property
    def lasts(self) -> list[bool]:
        """Of every word, whether it ends its frame."""
        return [place == len(frame) - 1 for frame in self.words for place in range(len(frame))]

    @property
    def flat(self) -> list[int]:
        """All words."""
        return [word for frame in self.words for word in frame]


def bits_of(codes: Codes, bits: int) -> NDArray[np.uint8]:
    """Codes (..., n) as bits (..., n * bits), the low one first."""
    places = np.arange(bits, dtype=np.uint64)
    spread = (codes.astype(np.uint64)[..., None] >> places) & np.uint64(1)
    return spread.astype(np.uint8).reshape(*codes.shape[:-1], -1)


def words_of_bits(rows: NDArray[np.uint8], width: int) -> list[list[int]]:
    """Rows of bits (n, bits), each filled up to whole words of `width` bits."""
    padded = np.pad(rows, ((0, 0), (0, -rows.shape[1] % width)))
    data = np.packbits(padded.reshape(-1, width), axis=1, bitorder="little")
    words = [int.from_bytes(word.tobytes(), "little") for word in data]
    each = padded.shape[1] // width
    return [words[first : first + each] for first in range(0, len(words), each)]


def codes_of_bits(bits: NDArray[np.uint8], width: int) -> NDArray[np.uint64]:
    """Bits (..., n * width) as codes (..., n), of at most 64 bits."""
    split = bits.reshape(*bits.shape[:-1], -1, width).astype(np.uint64)
    codes: NDArray[np.uint64] = (split << np.arange(width, dtype=np.uint64)).sum(-1, dtype=np.uint64)
    return codes


def padded_products(engine: Engine, k: int) -> int:
    """The products of a sum of k: whole groups, or instructions, of the unit."""
    fill = engine.unit.instruction.fill
    return max(fill, -(-k // fill) * fill)


def operand_frames(engine: Engine, side: Side, codes: Codes, scales: Codes | None = None) -> dict[str, Frames]:
    """The frames of A (M, K), or of B (N, K), one for each macro row or column; what is missing is filled with zeros.
    By the names of streams: scales may have one of their own.

    scales: (M or N, blocks along K), where the unit has some; blocks of one row alone. None in a mode without scales.
    Raises InputError for scales that are not so.
    """
    unit, sizes = engine.unit, engine.sizes()
    rows, k = codes.shape
    height, length = _height(engine, side, rows), padded_products(engine, k)
    whole = np.zeros((height, length), np.uint64)
    whole[:rows, :k] = codes
    order = np.array([unit.instruction.indices(step) for step in range(length // unit.instruction.lanes)])
    slices: dict[str, NDArray[np.uint8]] = {
        side: bits_of(whole[:, order], engine.code_bits(side))
    }  # (rows, steps, bits)
    if unit.scale is not None:
        fmt, block = unit.scale.of(side).format, block_lengths(unit)["ab".index(side)]
        every = np.full((height, -(-length // block)), one_code(fmt), np.uint64)
        if scales is not None:
            if scales.shape != (rows, -(-k // block)):
                raise InputError(
                    f"scale_{side} must be {(rows, -(-k // block))}, one for each {block} products of a row"
                )
            every[:rows, : scales.shape[1]] = scales
        elif all(mode.scale is not None for mode in modes_of(unit)):
            raise InputError(f"scale_{side} must be given: {unit.name} has no mode without scales")
        taken = order[:, :: unit.lanes_of_scale(side)] // block
        slices[f"scale_{side}"] = bits_of(every[:, taken], fmt.container_bits)
        if f"scale_{side}" not in sizes:
            slices = {side: np.concatenate([*slices.values()], axis=-1)}
    return {name: _frames(engine, side, bits, sizes[name].width) for name, bits in slices.items()}


def _height(engine: Engine, side: Side, rows: int) -> int:
    """Rows of whole macro tiles."""
    macro = engine.macro["ab".index(side)]
    return -(-rows // macro) * macro


def _frames(engine: Engine, side: Side, slices: NDArray[np.uint8], width: int) -> Frames:
    """The frames of slices (rows, steps, bits), in words of so many bits."""
    size, slots = (engine.rows, engine.reuse[0]) if side == "a" else (engine.columns, engine.reuse[1])
    steps = slices.shape[1]
    tiles = slices.reshape(-1, slots, size, steps, slices.shape[-1]).transpose(0, 3, 1, 2, 4)
    frames = []
    for tile in tiles:
        words = words_of_bits(tile.reshape(steps, -1), width)
        frames.append([word for step in words for word in step])
    return Frames(frames)


def tiles_of(engine: Engine, matrix: Codes) -> NDArray[np.uint64]:
    """A matrix (M, N) as tiles: macro rows, macro columns, contexts, elements row by row; filled with zeros."""
    (height, width), (r, c) = engine.macro, engine.reuse
    m, n = matrix.shape
    whole = np.zeros((-(-m // height) * height, -(-n // width) * width), np.uint64)
    whole[:m, :n] = matrix
    split = whole.reshape(whole.shape[0] // height, r, engine.rows, whole.shape[1] // width, c, engine.columns)
    return split.transpose(0, 3, 1, 4, 2, 5).reshape(split.shape[0], split.shape[3], r * c, -1)


def tile_words(bits: int, width: int, tiles: NDArray[np.uint64]) -> list[list[int]]:
    """The words of tiles (n, elements) of codes of so many bits."""
    return words_of_bits(bits_of(tiles, bits), width)


def addend_frames(engine: Engine, addends: Codes) -> Frames:
    """The frames of C (M, N): one for each macro tile, macro columns in turn first."""
    addend, port = engine.unit.operands.addend, engine.ports.c
    if addend is None or port is None:
        raise InputError(f"{engine.name} must have a stream of addends")
    tiles = tiles_of(engine, addends)
    return Frames(tile_words(addend.container_bits, port, tiles.reshape(-1, tiles.shape[2] * tiles.shape[3])))


def matrix_of(engine: Engine, frames: Sequence[Sequence[int]], shape: tuple[int, int]) -> NDArray[np.uint64]:
    """Results (M, N), as codes, of the frames of D: one for each macro tile, macro columns in turn first."""
    (height, width), (r, c), bits = engine.macro, engine.reuse, engine.unit.output.container_bits
    rows, columns, d = -(-shape[0] // height), -(-shape[1] // width), engine.results
    elements = engine.rows * engine.columns
    data = b"".join(word.to_bytes(d.width // 8, "little") for frame in frames for word in frame)
    stream = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little").reshape(rows, columns, r * c, -1)
    tiles = codes_of_bits(stream[..., : elements * bits], bits).reshape(
        rows, columns, r, c, engine.rows, engine.columns
    )
    return tiles.transpose(0, 2, 4, 1, 3, 5).reshape(rows * height, columns * width)[: shape[0], : shape[1]]
