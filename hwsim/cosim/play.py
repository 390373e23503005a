"""Playing suites into a design: on a simulator under cocotb, or all at once in the bulk driver."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hwsim.cosim.bench import ROOM, fitting
from hwsim.cosim.bulk import BulkUnit, compare
from hwsim.cosim.design import Design, Play, Played
from hwsim.cosim.logs import assertions_in
from hwsim.cosim.ports import PortMap, words_of
from hwsim.cosim.simulate import SimulatorStuck, simulate
from hwsim.cosim.waves import WAVEFORM, write_save_file
from hwsim.tb.job import (
    MISSING,
    BeatOrder,
    CodeTable,
    Recording,
    SuiteOutcome,
    Trace,
    read_answers,
    read_outcome,
    write_job,
)

BULK = "verilator, bulk"


def play_simulated(
    simulator: str,
    program: list[str],
    design: Design,
    plays: Sequence[Play],
    folder: Path,
    seed: int,
    stuck_after: float,
) -> list[Played]:
    """Play suites under cocotb, in as many simulations as the bench's memory asks for.

    program: what simulates the design. folder: of the first simulation; the others' stand beside it. stuck_after:
    seconds without the end of a cycle after which a simulator is ended; suites that it did not finish, and those that
    it had not begun, are `stuck`. What a failed assertion leaves unplayed is played in another simulation.
    """
    played, stuck = list[Played](), ""
    top, width = design.sources(simulator).top, design.width
    waiting = deque(fitting(plays, lambda play: len(play.script.payloads), len(plays), ROOM))
    number = 0
    while waiting:
        part = waiting.popleft()
        job = folder.with_name(f"{folder.name}-{number}") if number else folder
        number += 1
        arguments = write_job(job, [play.script for play in part], width)
        try:
            if not stuck:
                simulate(simulator, [*program, *arguments], top, job, seed, stuck_after)
        except SimulatorStuck as error:
            stuck = str(error)
        (job / "payloads.hex").unlink()
        if (job / WAVEFORM).exists():
            write_save_file(job / WAVEFORM, design.steps)
        done = [_played(play, simulator, job, index, stuck) for index, play in enumerate(part)]
        ended = _over(job, part)
        played += done[:ended]
        if part[ended:]:
            waiting.appendleft(part[ended:])
    return played


def _over(job: Path, part: Sequence[Play]) -> int:
    """How many of a simulation's suites are over, at least one: not those after the one that an assertion ended."""
    outcomes = [read_outcome(job, index) for index in range(len(part))]
    if None not in outcomes or not assertions_in(job):
        return len(part)
    begun = outcomes.index(None)
    last = outcomes[begun - 1] if begun else None
    ended = last is not None and last.results < part[begun - 1].script.planned
    return begun if ended else begun + 1


def _played(play: Play, simulator: str, job: Path, index: int, stuck: str) -> Played:
    outcome = read_outcome(job, index)
    if outcome is None:
        return Played(play, simulator, SuiteOutcome(play.suite.name), job, _no_codes(play), stuck=stuck)
    if isinstance(play.script.promise, Trace | CodeTable):
        return Played(play, simulator, outcome, job)
    answers, traffic = read_answers(job, index)
    if isinstance(play.script.promise, Recording):
        return Played(play, simulator, outcome, job, answers, traffic)
    codes = _no_codes(play)
    codes[list(play.owners[: len(answers)])] = answers
    return Played(play, simulator, outcome, job, codes, traffic)


def _no_codes(play: Play) -> np.ndarray:
    """The results of a suite before any came."""
    ordered = isinstance(play.script.promise, BeatOrder)
    return np.full(len(play.suite.cases) if ordered else 0, MISSING, object)


def play_in_bulk(library: Path, ports: PortMap, plays: Sequence[Play], folder: Path) -> list[Played]:
    """Play suites that promise every cycle in the bulk driver. folder: where it would leave something."""
    return [Played(play, BULK, _bulk(library, ports, play), folder) for play in plays]


def _bulk(library: Path, ports: PortMap, play: Play) -> SuiteOutcome:
    trace, words = play.script.promise, words_of(play.script.payloads, ports.input.words)
    if not isinstance(trace, Trace):
        raise TypeError(f"the bulk driver plays traces, not a {type(trace).__name__}")
    with BulkUnit(library, ports) as device:
        started = time.perf_counter()
        answers = device.run(trace.drive, trace.offered, words)
        seconds = time.perf_counter() - started
    outcome = compare(play.script, trace, answers, ports)
    outcome.seconds = seconds
    return outcome
