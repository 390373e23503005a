"""A unit's RTL under many cases: one recorded tile says when everything happens, kernels say what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hwsim.cases.case import Case
from hwsim.cases.drawing import Stream
from hwsim.codewords import objects
from hwsim.cosim.bench import words_of
from hwsim.cosim.design import BUSY, Play, Suite, Tagged, interleave
from hwsim.cosim.play import BulkUnit, command, compare, play_simulated
from hwsim.cosim.trace import record
from hwsim.cosim.unitdesign import UnitDesign
from hwsim.fuzz.draw import DrawnUnit
from hwsim.fuzz.operands import TiledCases
from hwsim.fuzz.payloads import payload_words
from hwsim.tb.job import Script, SuiteOutcome, Trace, result_rows

Codes = NDArray[np.object_]  # of any length; below 0 what is no code


@dataclass(frozen=True)
class RecordedTile:
    """The first tile as the cycle-level model plays it: its trace, and the order of its beats."""

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
        """What stands at the ports in every cycle, and what the cycle-level model answers."""
        suite, drawn = Suite("fuzz", tuple(self.cases), traffic=BUSY), self.drawn
        stream = self._stream("traffic")
        return record(suite, drawn.unit, drawn.pipeline, self.design.ports, self.order, stream)

    @property
    def codes(self) -> Codes:
        """The cycle-level model's result of every case: (cases,)."""
        found = np.full(len(self.cases), -1, object)
        found[list(self.play.owners)] = self.play.script.results[:, 1]
        return found


def tiled_script(recorded: RecordedTile, tiles: int, expected: Sequence[Codes]) -> Script:
    """The recorded cycles once for each tile, without payloads. expected: of each case of a tile, each tile's code."""
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
    """All tiles in Verilator. folder: where it is built, and not kept; in the cache unless given.

    Raises ToolMissing, BuildFailed, and what generating the RTL raises.
    """
    design = recorded.design
    library = design.library(folder)
    script = tiled_script(recorded, cases.tiles, expected)
    assert isinstance(script.promise, Trace)
    words = payload_words(recorded.drawn.unit, design.ports, recorded.order, cases)
    with BulkUnit(library, design.ports) as device:
        answers = device.run(script.promise.drive, script.promise.offered, words)
    return compare(script, script.promise, answers, design.ports)


def played_on_icarus(recorded: RecordedTile, folder: Path, seed: int) -> SuiteOutcome:
    """The recorded tile on Icarus. folder: for its job."""
    design = recorded.design
    program = command("icarus", design.sources("icarus"), trace=False)
    (played,) = play_simulated("icarus", program, design, [recorded.play], folder, seed, design.stuck_after)
    return played.outcome


def alone_in_bulk(drawn: DrawnUnit, design: UnitDesign, cases: Sequence[Case]) -> Codes:
    """The RTL's result of each case, each alone after a reset; -2 for one that did not come in its time."""
    found = []
    library = design.library()
    for case in cases:
        tile = RecordedTile(drawn, design, [case])
        script = tile.play.script
        assert isinstance(script.promise, Trace)
        with BulkUnit(library, design.ports) as device:
            words = words_of(script.payloads, design.ports.input.words)
            answers = device.run(script.promise.drive, script.promise.offered, words)
        got = design.ports.results(answers.results)
        found.append(int(got[0, 1]) if len(got) else -2)
    return objects(found)
