"""An engine's RTL driven from C++: scripts as the testbench plays them, and whole products of matrices."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.base.errors import InputError
from hwsim.cases.case import block_lengths
from hwsim.compute.gemm import gemm
from hwsim.cosim.bench import words_of
from hwsim.cosim.build import driven_build
from hwsim.cosim.engine.packing import Codes, matrix_of, padded_products, tile_words, tiles_of
from hwsim.cosim.engine.record import MacroOperands, Segment, record, with_scales_of_rows
from hwsim.cosim.engine.run import sources
from hwsim.cosim.play import address
from hwsim.formats import container_dtype
from hwsim.formats.blocks import scale_shape
from hwsim.rtl.engine.top import engine_style
from hwsim.spec import modes_of
from hwsim.spec.engine import Engine, Side
from hwsim.tb.engine import EngineScript
from hwsim.tb.job import PortMismatch, SuiteOutcome

DRIVER = Path(__file__).with_name("bulk.cpp")
STREAMS = "a", "b", "c", "scale_a", "scale_b"
TAKE, RESET = 10, 11  # places of what is driven beside streams
VALID = len(STREAMS)  # the place of d_tvalid in what is seen; d_tlast and error above
PART = 1 << 14  # cycles that are played at once


class EnginePlayed(NamedTuple):
    """What became of a script, and the words that left the RTL."""

    outcome: SuiteOutcome
    left: list[int]


class EngineBulk:
    """A Verilated engine; its state stays from one script to the next."""

    def __init__(self, engine: Engine, verilog: str | None = None):
        """verilog: of another design of the same ports. Raises ToolMissing or BuildFailed."""
        self.engine, hdl = engine, sources(engine, verilog)
        control = engine.control is not None
        has = {"C": "c" in engine.sizes(), "MODE": engine.has_modes and not control, "CONTROL": control,
               "SCALES": "scale_a" in engine.sizes(), "RESET_LOW": engine_style(engine).reset_low}  # fmt: skip
        defines = [f"HWSIM_{name}" for name, there in has.items() if there]
        self._library = ctypes.CDLL(str(driven_build(hdl.top, hdl.verilog, DRIVER, hdl.once, defines)))
        self._library.hwsim_open.restype = ctypes.c_void_p
        self._library.hwsim_run.restype = ctypes.c_int64
        self._bench = ctypes.c_void_p(self._library.hwsim_open())

    def __enter__(self) -> EngineBulk:
        return self

    def __exit__(self, *_: object) -> None:
        self._library.hwsim_close(self._bench)

    def play(self, script: EngineScript, at: Callable[[int], None] = lambda _: None) -> EnginePlayed:
        """Play a script, and compare every port in every cycle outside of resets. at: is told of cycles that went."""
        left: list[int] = []
        outcome, started = SuiteOutcome(script.name), time.perf_counter()
        words = {name: words_of(script.streams[name], -(-self.engine.sizes()[name].width // 32))
                 for name in script.streams}  # fmt: skip
        expected = words_of([word for word, _ in script.results], -(-self.engine.results.width // 32))
        for first in range(0, script.cycles, PART):
            part = slice(first, min(first + PART, script.cycles))
            seen, results, shown = self._run(script, words, part)
            for mismatch in _wrong(script, part, seen, results, expected, shown):
                outcome.note(mismatch)
            leaves = (script.take & ~script.reset)[part][(seen >> VALID & 1).astype(bool)]
            left += [int.from_bytes(row.tobytes(), "little") for row in results[leaves]]
            at(part.stop)
        outcome.cycles = int((~script.reset).sum())
        outcome.results = int(((script.valid >= 0) & script.take & ~script.reset).sum())
        outcome.seconds = time.perf_counter() - started
        return EnginePlayed(outcome, left)

    def _run(
        self, script: EngineScript, words: dict[str, NDArray[np.uint32]], part: slice
    ) -> tuple[NDArray[np.uint16], NDArray[np.uint32], dict[str, NDArray[np.uint32]]]:
        """What is seen in each cycle, the rows of the results that were valid, and what registers' ports show."""
        cycles = part.stop - part.start
        drive = script.take[part].astype(np.uint16) << TAKE | script.reset[part].astype(np.uint16) << RESET
        offered = {name: np.ascontiguousarray(script.offered[name][part]) for name in words}
        for place, name in enumerate(STREAMS):
            if name in words:
                valid = offered[name] >= 0
                last = valid & script.lasts[name][offered[name]] if len(words[name]) else valid
                drive |= (valid << place | last << place + len(STREAMS)).astype(np.uint16)
        row = -(-self.engine.results.width // 32)
        seen, results = np.zeros(cycles, np.uint16), np.zeros((cycles, row), np.uint32)
        mode = np.ascontiguousarray(script.mode[part], np.uint8)
        rows = np.array([words[name].shape[1] if name in words else 0 for name in STREAMS], np.int64)
        control = [np.ascontiguousarray(column[part], np.uint32) for column in script.driven.values()]
        shown = {name: np.zeros(cycles, np.uint32) for name in script.promised}
        count = self._library.hwsim_run(
            self._bench, ctypes.c_int64(cycles), address(drive), address(mode),
            (ctypes.c_void_p * 5)(*(address(offered[name]) if name in words else None for name in STREAMS)),
            (ctypes.c_void_p * 5)(*(address(words[name]) if name in words else None for name in STREAMS)),
            address(rows), address(seen), address(results), ctypes.c_int64(row),
            (ctypes.c_void_p * 9)(*map(address, control)), (ctypes.c_void_p * 8)(*map(address, shown.values())),
        )  # fmt: skip
        return seen, results[:count], shown


def _wrong(
    script: EngineScript, part: slice, seen: NDArray[np.uint16], results: NDArray[np.uint32],
    expected: NDArray[np.uint32], registers: dict[str, NDArray[np.uint32]],
) -> Iterator[PortMismatch]:  # fmt: skip
    """The ports that are not as the script has them, in the order of cycles."""
    promised, word = script.compared[part], script.valid[part]
    lasts = np.array([last for _, last in script.results] or [False])
    valid = word >= 0
    looked_at: list[tuple[str, NDArray[Any], NDArray[Any], NDArray[Any]]] = [
        (f"{name}_tready", seen >> place & 1, script.ready[name][part], promised)
        for place, name in enumerate(STREAMS)
        if name in script.ready
    ]
    looked_at += [("error", seen >> VALID + 2, script.error[part], promised),
                  ("d_tvalid", seen >> VALID & 1, valid, promised),
                  ("d_tlast", seen >> VALID + 1 & 1, lasts[word], promised & valid)]  # fmt: skip
    for name, column in registers.items():
        due = script.promised[name][part]
        looked_at.append((name, column, due, due >= 0))
    found = [
        PortMismatch(port, part.start + int(cycle), int(word[cycle]), int(shown[cycle]), int(model[cycle]))
        for port, shown, model, where in looked_at
        for cycle in np.flatnonzero((shown != model) & where)
    ]
    cycles = np.flatnonzero(seen >> VALID & 1)
    both = (promised & valid)[cycles]
    rows, cycles = results[both], cycles[both]
    wanted_rows = expected[word[cycles]]
    for place in np.flatnonzero((rows != wanted_rows).any(axis=1)):
        got, wanted = (int.from_bytes(row[place].tobytes(), "little") for row in (rows, wanted_rows))
        found.append(PortMismatch("d_tdata", part.start + int(cycles[place]), int(word[cycles[place]]), got, wanted))
    yield from sorted(found, key=lambda one: one.cycle)


class EngineProduct(NamedTuple):
    """A product of matrices through an engine's RTL.

    codes: (M, N), as the RTL returned them; None where it did not return as many words. outcome: the comparison of all
    ports in all cycles with the model, and of all words with `hwsim.gemm`. products: that elements multiplied, those of
    what fills up macro tiles and groups among them.
    """

    codes: NDArray[np.uint64] | None
    outcome: SuiteOutcome
    products: int


def product(
    engine: Engine, a: Codes, b: Codes, c: Codes | None = None, scale_a: Codes | None = None,
    scale_b: Codes | None = None, mode: int = 0, bench: EngineBulk | None = None, verilog: str | None = None,
    at: Callable[[int, int], None] = lambda _done, _of: None,
) -> EngineProduct:  # fmt: skip
    """A (M, K) @ B (K, N) + C through an engine's RTL, macro tile by macro tile: codes, and scales as `hwsim.gemm` has
    them.

    bench: the engine's, built before. verilog: of another design of the same ports. at: is told of cycles that went,
    and of all.
    Raises InputError for arrays that do not fit; ToolMissing or BuildFailed.
    """
    tiles, expected = _macro_tiles(engine, a, b, c, scale_a, scale_b, mode)
    script = record(engine, "product", [Segment(tiles, results=_results(engine, expected))])
    with nullcontext(bench) if bench is not None else EngineBulk(engine, verilog) as played_on:
        outcome, left = played_on.play(script, lambda done: at(done, script.cycles))
    k = padded_products(engine, a.shape[1])
    codes = matrix_of(engine, [left], (len(a), b.shape[1])) if len(left) == len(script.results) else None
    return EngineProduct(codes, outcome, len(tiles) * engine.macro[0] * engine.macro[1] * k)


def _results(engine: Engine, product: NDArray[np.generic]) -> list[list[list[int]]]:
    """Of each macro tile of a product the words of its contexts."""
    fmt, width = engine.unit.output, engine.ports.d
    every = tiles_of(engine, product.view(container_dtype(fmt)))
    return [tile_words(fmt.container_bits, width, tiles) for row in every for tiles in row]


def _macro_tiles(
    engine: Engine, a: Codes, b: Codes, c: Codes | None, scale_a: Codes | None, scale_b: Codes | None, mode: int
) -> tuple[list[MacroOperands], NDArray[np.generic]]:
    """The macro tiles of a product, macro columns in turn first, and what `hwsim.gemm` returns of all of them.

    Rows and columns that are missing are filled with zeros, whose sums count too: a NaN makes them NaN.
    """
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        raise InputError(f"a and b must be matrices (M, K) and (K, N), not {a.shape} and {b.shape}")
    shape, unit = (len(a), b.shape[1]), modes_of(engine.unit)[mode]
    if c is not None and c.shape != shape:
        raise InputError(f"c must be {shape}, not {c.shape}")
    height, width = engine.macro
    rows = {"a": _filled(a, height), "b": _filled(b.T, width)}
    sides: tuple[tuple[Side, Codes | None, int], ...] = ("a", scale_a, height), ("b", scale_b, width)
    for at, (side, scales, size) in enumerate(sides):
        if (scales is None) != (unit.scale is None):
            raise InputError(f"scale_{side} must {'not ' if unit.scale is None else ''}be given")
        if scales is not None and unit.scale is not None:
            along = scales.T if at else scales
            block = unit.scale.of(side).block[at]
            expected = scale_shape(shape[at], a.shape[1], (block, block_lengths(unit)[at]))
            if along.shape != expected:
                raise InputError(f"scale_{side} must be {expected[::-1] if at else expected}, not {scales.shape}")
            rows[f"scale_{side}"] = _filled(np.repeat(along, block, axis=0)[: shape[at]], size)
    if c is not None:
        rows["c"] = _filled(_filled(c, height).T, width).T
    unit = with_scales_of_rows(unit)
    whole = gemm(unit, rows["a"], rows["b"], rows.get("c"), rows.get("scale_a"), rows.get("scale_b"), transposed=True)
    tiles = []
    for i in range(0, len(rows["a"]), height):
        for j in range(0, len(rows["b"]), width):
            across, down = slice(i, i + height), slice(j, j + width)
            parts: dict[str, Any] = {"a": across, "b": down, "c": (across, down), "scale_a": across, "scale_b": down}
            tiles.append(MacroOperands(**{name: array[parts[name]] for name, array in rows.items()}, mode=mode))
    return tiles, whole


def _filled(rows: Codes, size: int) -> Codes:
    """Rows, and zeros up to a multiple of `size` rows."""
    return np.pad(rows, ((0, -len(rows) % size), (0, 0)))
