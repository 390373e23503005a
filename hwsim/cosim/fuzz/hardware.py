"""Random operands through RTL and C: a recorded tile says when everything happens, kernels say what comes out."""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import lcm
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.base import processes
from hwsim.base.arrays import objects
from hwsim.base.errors import ToolMissing
from hwsim.base.processes import scratch_folder
from hwsim.cases.case import Batch, Case, addend_mask, block_lengths
from hwsim.cases.drawing import DIRECTED, KINDS, Stream, key_of
from hwsim.cases.random_cases import draw, most_beats
from hwsim.compute.c import HEADER, UnitInC, render
from hwsim.cosim.bench import PortMap, words_of
from hwsim.cosim.design import BUSY, Play, Suite, Tagged, interleave
from hwsim.cosim.fuzz.draw import DrawnUnit
from hwsim.cosim.play import BulkUnit, command, compared, play_simulated
from hwsim.cosim.trace import record
from hwsim.cosim.unitdesign import UnitDesign
from hwsim.spec import Unit
from hwsim.tb.fields import Layout
from hwsim.tb.job import Script, SuiteOutcome, Trace, result_rows

ALL_KINDS = (*KINDS, *DIRECTED)
TILE = len(ALL_KINDS)  # cases of a tile; of one tile each is of another kind
LONG = 0.35  # the share of cases that have more beats than they must


@dataclass(frozen=True)
class TiledCases:
    """Cases of one unit. slots: a batch for each place of a tile, with a case for each tile."""

    slots: Sequence[Batch]

    @property
    def tiles(self) -> int:
        return len(self.slots[0])

    def tile(self, number: int) -> list[Case]:
        return [batch.case(number) for batch in self.slots]


def least_terms(unit: Unit) -> int:
    """The fewest products that a case has: whole groups, or instructions, and whole blocks of scales."""
    return unit.instruction.fill if unit.scale is None else lcm(unit.instruction.fill, *block_lengths(unit))


def tiled_cases(unit: Unit, count: int, seed: int) -> TiledCases:
    """Draw at least so many cases, of all kinds, of one beat or several. They depend on unit, seed and place alone."""
    stream, lanes = Stream(seed, unit.name, "fuzz lengths"), unit.instruction.lanes
    whole = least_terms(unit)
    longest = max(1, most_beats(unit) * lanes // whole)
    tiles, slots = -(-count // TILE), []
    for slot in range(TILE):
        terms = whole * (stream.randint(1, longest) if stream.random() < LONG else 1)
        kinds = [*ALL_KINDS[slot:], *ALL_KINDS[:slot]]
        label, key = f"fuzz/{slot}", key_of(seed, unit.name, "fuzz", slot)
        slots.append(draw(unit, key, 0, tiles, terms, kinds, label))
    return TiledCases(slots)


Elements = NDArray[Any]  # of one field of a beat: (tiles, elements), uint64, or objects of codes that are longer


def payload_words(unit: Unit, ports: PortMap, order: Sequence[Tagged], cases: TiledCases) -> NDArray[np.uint32]:
    """The payloads of all tiles, a row for each beat of each tile, in order: uint32[tiles * beats, words].

    order: the beats of one tile, whose places and contexts are those of every tile's.
    """
    layout = Layout(ports.input.fields)
    words = np.empty((cases.tiles, len(order), ports.input.words), np.uint32)
    for row, item in enumerate(order):
        placed = layout.words(dict(_elements(unit, cases.slots[item.case], item))).view(np.uint32)
        words[:, row] = placed[:, : ports.input.words]
    return words.reshape(-1, ports.input.words)


def _elements(unit: Unit, batch: Batch, item: Tagged) -> Iterator[tuple[str, Elements]]:
    """Yield the fields of a beat, by name, as `hwsim.cases.case.beats` makes them for one case."""
    here = list(unit.instruction.indices(item.index))
    yield "a", _unsigned(batch.a[:, here])
    yield "b", _unsigned(batch.b[:, here])
    c = _unsigned(batch.c[:, None])
    yield "c", c if item.beat.first else ~c & addend_mask(unit)
    if unit.scale is not None and batch.scale_a is not None and batch.scale_b is not None:
        sides = (("a", batch.scale_a), ("b", batch.scale_b))
        for (side, codes), length in zip(sides, block_lengths(unit), strict=True):
            shared = unit.lanes_of_scale("b" if side == "b" else "a")
            yield f"scale_{side}", _unsigned(codes[:, [index // length for index in here[::shared]]])
    for name in ("first", "last", "context", "mode"):
        yield name, np.full((len(batch), 1), int(getattr(item.beat, name)), np.uint64)


def _unsigned(codes: NDArray[Any]) -> Elements:
    return codes if codes.dtype == object else codes.astype(np.uint64)


Codes = NDArray[np.object_]  # of any length; below 0 what is no code


@dataclass(frozen=True)
class RecordedTile:
    """The first tile, recorded with the cycle-level model: its trace, and the order of its beats."""

    drawn: DrawnUnit
    design: UnitDesign
    cases: Sequence[Case]

    def _stream(self, what: str) -> Stream:
        return Stream(self.drawn.seed, self.drawn.unit.name, "fuzz", what)

    @cached_property
    def order(self) -> tuple[Tagged, ...]:
        """All beats in the order in which they are offered."""
        contexts = self.drawn.pipeline.contexts
        return tuple(interleave(self.drawn.unit, self.cases, contexts, self._stream("order")))

    @cached_property
    def play(self) -> Play:
        """The recorded play: the inputs of every cycle, and the answers of the cycle-level model."""
        suite, drawn = Suite("fuzz", tuple(self.cases), traffic=BUSY), self.drawn
        stream = self._stream("traffic")
        return record(suite, drawn.unit, drawn.pipeline, self.design.ports, self.order, stream)

    @property
    def codes(self) -> Codes:
        """The cycle-level model's result of every case: (cases,)."""
        codes = np.full(len(self.cases), -1, object)
        codes[list(self.play.owners)] = self.play.script.results[:, 1]
        return codes


def tiled_script(recorded: RecordedTile, tiles: int, expected: Sequence[Codes]) -> Script:
    """The recorded cycles, repeated for each tile, without payloads. expected: for each case, each tile's code."""
    trace = recorded.play.script.promise
    if not isinstance(trace, Trace):
        raise TypeError("a tile must be recorded as a trace")
    rows, owners = len(recorded.order), recorded.play.owners
    contexts = np.broadcast_to(recorded.play.script.results[:, 0], (tiles, len(owners)))
    codes = np.stack([expected[owner] for owner in owners], axis=1)
    results = result_rows(contexts.ravel(), codes.ravel())
    firsts = rows * np.arange(tiles, dtype=np.int32)[:, None]
    offered = np.where(trace.offered >= 0, trace.offered + firsts, -1).astype(np.int32).ravel()
    drive, seen = np.tile(trace.drive, tiles), np.tile(trace.expect, tiles)
    return Script("fuzz", Trace(drive, offered, seen), [], results)


def played_in_bulk(
    recorded: RecordedTile, cases: TiledCases, expected: Sequence[Codes], folder: Path | None = None
) -> SuiteOutcome:
    """Play all tiles in Verilator. folder: where it is built, and not kept; in the cache unless given.

    Raises ToolMissing, BuildFailed, and what generating the RTL raises.
    """
    design = recorded.design
    library = design.library(folder)
    script = tiled_script(recorded, cases.tiles, expected)
    assert isinstance(script.promise, Trace)
    words = payload_words(recorded.drawn.unit, design.ports, recorded.order, cases)
    with BulkUnit(library, design.ports) as device:
        answers = device.run(script.promise.drive, script.promise.offered, words)
    return compared(script, script.promise, answers)


def played_on_icarus(recorded: RecordedTile, folder: Path, seed: int) -> SuiteOutcome:
    """Play the recorded tile on Icarus. folder: for its job."""
    design = recorded.design
    program = command("icarus", design.sources("icarus"), trace=False)
    (played,) = play_simulated("icarus", program, design, [recorded.play], folder, seed, design.stuck_after)
    return played.outcome


def alone_in_bulk(drawn: DrawnUnit, design: UnitDesign, cases: Sequence[Case]) -> Codes:
    """The RTL's result of each case, each alone after a reset; -2 for one that did not come in its time."""
    codes = []
    library = design.library()
    for case in cases:
        tile = RecordedTile(drawn, design, [case])
        script = tile.play.script
        assert isinstance(script.promise, Trace)
        with BulkUnit(library, design.ports) as device:
            words = words_of(script.payloads, design.ports.input.words)
            answers = device.run(script.promise.drive, script.promise.offered, words)
        codes.append(int(answers.code[0]) if len(answers.code) else -2)
    return objects(codes)


# -O0 compiles in a third of the time of -O1, and a thousand cases run in milliseconds.
FLAGS = ("-std=c99", "-O0", "-Wall", "-Wextra", "-pedantic", "-Werror", "-shared", "-fPIC")


class WrongC(RuntimeError):
    """A compiler refused an exported header; the message holds the compiler's output."""


def dots_signature(plan: UnitInC) -> str:
    """The C signature of `dots`: codes of a and b (n, k), c (n,), scales (n, k / block), and results (n,)."""
    types = {side: plan.code_types.get(side, "uint8_t") for side in ("a", "b", "scale_a", "scale_b")}
    a, b, scale_a, scale_b = (f"const {kind} *{side}" for side, kind in types.items())
    return f"void dots({a}, {b}, const uint32_t *c, {scale_a}, {scale_b}, uint64_t n, uint64_t k, uint32_t *out)"


def dots_source(plan: UnitInC) -> str:
    u, name = plan.u, plan.prefix
    c = ", c[i]" if u.operands.addend else ""
    scales = ", scale_a + i * (k / {}), scale_b + i * (k / {})".format(*plan.scale_blocks) if u.scale else ""
    return f"""#include "{name}.h"
{dots_signature(plan)};
{dots_signature(plan)}
{{
    for (uint64_t i = 0; i < n; ++i)
        out[i] = {name}_dot(a + i * k, b + i * k{c}{scales}, k);
    (void)c;
    (void)scale_a;
    (void)scale_b;
}}
"""


def c_compiler() -> str:
    """The C compiler. Raises ToolMissing where there is none."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise ToolMissing("a C compiler is missing; install gcc")
    return compiler


class UnitInMachineCode:
    """One unit's exported header, compiled. Raises NotImplementedYet, ToolMissing and WrongC."""

    def __init__(self, unit: Unit):
        self.plan = UnitInC(unit, "0")
        with scratch_folder() as folder:
            (folder / f"{self.plan.prefix}.h").write_text(render(HEADER, self.plan), encoding="utf-8")
            source, library, log = folder / "dots.c", folder / "dots.so", folder / "log"
            source.write_text(dots_source(self.plan), encoding="utf-8")
            if processes.run([c_compiler(), *FLAGS, str(source), "-o", str(library)], log, dict(os.environ)):
                raise WrongC(log.read_text(errors="replace")[:2000])
            self._library = ctypes.CDLL(str(library))

    def codes(self, batch: Batch) -> NDArray[np.uint32]:
        """The result of every case: (n,)."""
        sides = {"a": batch.a, "b": batch.b, "scale_a": batch.scale_a, "scale_b": batch.scale_b}
        rows = {
            side: np.ascontiguousarray([] if codes is None else codes, self._kind(side))
            for side, codes in sides.items()
        }
        c, out = np.ascontiguousarray(batch.c, np.uint32), np.zeros(len(batch), np.uint32)
        a, b, scale_a, scale_b = (_at(row) for row in rows.values())
        n, k = (ctypes.c_uint64(size) for size in batch.a.shape)
        self._library.dots(a, b, _at(c), scale_a, scale_b, n, k, _at(out))
        return out

    def _kind(self, side: str) -> np.dtype[np.unsignedinteger]:
        return np.dtype(self.plan.code_types.get(side, "uint8_t").removesuffix("_t"))


def _at(array: NDArray[np.unsignedinteger]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
