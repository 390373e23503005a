"""Suites played on a simulator or by the bulk driver: what comes of them, logs and waveforms."""

from __future__ import annotations

import ctypes
import os
import re
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import cocotb_tools.config
import find_libpython
import numpy as np

from hwsim.base import processes
from hwsim.base.arrays import objects
from hwsim.base.errors import InputError
from hwsim.base.files import replaced
from hwsim.base.text import counted
from hwsim.cosim.bench import PortMap, fitting, words_of
from hwsim.cosim.build import HdlSources, icarus_build, verilator_build
from hwsim.cosim.design import Design, Play, Played
from hwsim.tb.entry import ENTRIES
from hwsim.tb.job import (
    FOLDER,
    HOLD,
    MISSING,
    PROGRESS,
    READY,
    RESET,
    SEEN_VALID,
    BeatOrder,
    CodeTable,
    Recording,
    Script,
    SuiteOutcome,
    Trace,
    read_outcome,
    read_progress,
    write_job,
)
from hwsim.tb.trace import TraceAnswers, compare, promised

TESTBENCH, ENTRY = "hwsim.tb.player", "hwsim.tb.entry:start"


def environment(top: str, job: Path, seed: int, testbench: str = TESTBENCH) -> dict[str, str]:
    """The variables that cocotb needs in a simulator's environment."""
    library = find_libpython.find_libpython()
    if library is None:
        raise RuntimeError("cocotb needs Python's shared library, which this Python was built without")
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "PYGPI_PYTHON_BIN": sys.executable,
        "GPI_USERS": f"{library};{cocotb_tools.config.pygpi_entry_point()}",
        "COCOTB_TOPLEVEL": top,
        "COCOTB_TEST_MODULES": testbench,
        "COCOTB_RESULTS_FILE": str(job / "results.xml"),
        "COCOTB_RANDOM_SEED": str(seed),
        "COCOTB_LOG_LEVEL": "WARNING",
        ENTRIES: ENTRY,
        "COCOTB_REWRITE_ASSERTION_FILES": "",
        "TOPLEVEL_LANG": "verilog",
        FOLDER: str(job),
    }


def command(simulator: str, hdl: HdlSources, *, trace: bool) -> list[str]:
    """Build for a simulator, and return the command that simulates. Raises ToolMissing or BuildFailed."""
    if simulator == "verilator":
        program = verilator_build(hdl, trace=trace)
        return [str(program), *(["--trace", "--trace-file", "dump.vcd"] if trace else [])]
    compiled = icarus_build(hdl, trace=trace)
    return ["vvp", "-m", cocotb_tools.config.lib_entry("vpi", "icarus"), str(compiled), *([] if trace else ["-none"])]


class SimulatorStuck(Exception):
    """A simulator was ended because no cycle ended for so long. The message says what to do."""


def simulate(
    simulator: str,
    program: list[str],
    top: str,
    job: Path,
    seed: int,
    stuck_after: float,
    testbench: str = TESTBENCH,
) -> int:
    """Run a testbench, a module's name, on a job that was written. Return the simulator's exit status.

    Leaves results.xml (JUnit), simulation.log and, where it was built with a trace, dump.vcd in the job's folder.
    Raises SimulatorStuck where no cycle ended for `stuck_after` seconds, after the simulator was ended.
    """
    variables = environment(top, job, seed, testbench)
    if simulator == "verilator":
        variables["COCOTB_TRUST_INERTIAL_WRITES"] = "1"
    progress = job / PROGRESS
    try:
        return processes.run(
            program, job / "simulation.log", variables, cwd=job, progress=progress, silence=stuck_after
        )
    except processes.Silent:
        raise SimulatorStuck(_stuck(simulator, read_progress(job), stuck_after)) from None
    finally:
        progress.unlink(missing_ok=True)


def _stuck(simulator: str, reached: tuple[str, int] | None, seconds: float) -> str:
    name, cycles = reached or ("", 0)
    where = f"in suite {name}, " if name else ""
    none = f"after {counted(cycles, 'cycle')}, no" if cycles else "not one"
    ended = f"{where}{none} cycle ended for {seconds:g} s"
    delays = ", and delays count for nothing on Verilator" if simulator == "verilator" else ""
    return (
        f"{simulator} was ended: {ended}. A loop without a delay never lets one end (initial forever, while, a signal "
        f"that inverts itself{delays}): give it a clock edge, or an end. A design that is only slow needs more time: "
        f"--stuck-after {2 * seconds:g}, or stuck_after: {2 * seconds:g} in the design's file"
    )


class BulkUnit:
    """A Verilated unit; its state stays from one `run` to the next."""

    def __init__(self, library: Path, ports: PortMap):
        self.ports = ports
        self._library = ctypes.CDLL(str(library))
        self._library.hwsim_open.restype = ctypes.c_void_p
        self._library.hwsim_run.restype = ctypes.c_int64
        self._bench = ctypes.c_void_p(self._library.hwsim_open())

    def __enter__(self) -> BulkUnit:
        return self

    def __exit__(self, *_: object) -> None:
        self._library.hwsim_close(self._bench)

    def run(self, drive: np.ndarray, offered: np.ndarray, words: np.ndarray) -> TraceAnswers:
        """Play some cycles.

        drive: uint8[cycles], bits VALID, READY, RESET. offered: int32[cycles], the row of `words` that stands at
        the input; -1 keeps what is there. words: uint32[beats, words], payloads, the low word first.
        """
        if words.shape[1:] != (self.ports.input.words,):
            raise InputError(f"words must have {self.ports.input.words} columns, not shape {words.shape}")
        if len(offered) != len(drive):
            raise InputError(f"offered must have {len(drive)} cycles, as drive has, not {len(offered)}")
        if len(offered) and int(offered.max()) >= len(words):
            raise InputError(f"offered must name rows of words ({len(words)}), not {int(offered.max())}")
        drive = np.ascontiguousarray(drive, np.uint8)
        offered = np.ascontiguousarray(offered, np.int32)
        words = np.ascontiguousarray(words, np.uint32)
        seen = np.zeros(len(drive), np.uint8)
        results = np.zeros((len(drive), self.ports.output.words), np.uint32)
        count = self._library.hwsim_run(
            self._bench,
            ctypes.c_int64(len(drive)),
            address(drive),
            address(offered),
            address(words),
            ctypes.c_int64(words.shape[1]),
            address(seen),
            address(results),
            ctypes.c_int64(results.shape[1]),
        )
        return answers(drive, seen, results[:count], self.ports)


def answers(drive: np.ndarray, flags: np.ndarray, results: np.ndarray, ports: PortMap) -> TraceAnswers:
    """The answers of a device. drive, flags: uint8[cycles]. results: uint32[results, words], as it returned them."""
    when = np.flatnonzero((flags & SEEN_VALID != 0) & (drive & (READY | RESET | HOLD) == READY))
    return TraceAnswers(flags, when, *ports.results(results))


def address(array: np.ndarray) -> ctypes.c_void_p:
    """Where an array lies, for a function in C."""
    return array.ctypes.data_as(ctypes.c_void_p)


def compared(script: Script, trace: Trace, answers: TraceAnswers) -> SuiteOutcome:
    """Compare every cycle's flags and every result with a trace, as the testbench does.

    Results count as compared up to the first cycle in which something happened that the trace does not have.
    """
    wrong = np.flatnonzero((answers.flags ^ trace.expect) & promised(trace))
    in_step = answers.when < (wrong[0] if len(wrong) else trace.cycles)
    looks = (column[in_step] for column in (answers.when, answers.context, answers.code))
    outcome = SuiteOutcome(script.name)
    compare(script, trace, TraceAnswers(answers.flags, *looks), outcome)
    return outcome


def _log(folder: Path) -> list[str]:
    log = folder / "simulation.log"
    return log.read_text(errors="replace").splitlines() if log.exists() else []


def log_end(folder: Path) -> list[str]:
    """The end of a simulation's log."""
    return _log(folder)[-8:]


def errors_in(folder: Path) -> list[str]:
    """The errors in a simulator's log, and what may be done."""
    errors = [f"  {line}" for line in _log(folder) if line.startswith(("%Error", "ERROR"))]
    unsettled = any("did not converge" in line for line in errors)
    return [
        *errors[:6],
        *(["signals of the design never settle: a loop of them needs a register"] if unsettled else []),
    ]


def assertions_in(folder: Path) -> list[str]:
    """The assertions that failed in a simulation, a line each."""
    return [f"  {line}" for line in _log(folder) if "Assertion failed" in line]


WAVEFORM, SAVED = "dump.vcd", "dump.gtkw"
PORTS, CONTROL, BENCH = "ports", "control", "testbench"
PORT = re.compile(r"(clk(_en)?|rst(_n)?|([io]_|in|out)_\w+|misuse)$")
BIT, WORD = "@28", "@22"  # how GTKWave shows a signal: binary, hexadecimal
OPEN, CLOSED = ("@800200", "@1000200"), ("@c00200", "@1401200")  # a group's first and last line


@dataclass(frozen=True)
class WaveSignal:
    """A signal of a waveform: its scopes, its name, and its range where it has one."""

    scopes: tuple[str, ...]
    name: str
    bits: str = ""

    @property
    def path(self) -> str:
        """The signal's path in GTKWave."""
        return ".".join([*self.scopes, self.name]) + self.bits


def signals_of(vcd: Path) -> Iterator[WaveSignal]:
    """Yield the signals that a VCD declares, in its order."""
    scopes: list[str] = []
    with vcd.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            words = line.split()
            match words[:1]:
                case ["$scope"]:
                    scopes.append(words[2])
                case ["$upscope"]:
                    scopes.pop()
                case ["$var"]:
                    # $var wire 8 ! name [7:0] $end; the range may stand at the name, and a bit has none.
                    name, _, bits = "".join(words[4:-1]).partition("[")
                    yield WaveSignal(tuple(scopes), name, f"[{bits}" if bits else "")
                case ["$enddefinitions"]:
                    return


def grouped(signals: Sequence[WaveSignal], stages: Sequence[str]) -> dict[str, list[WaveSignal]]:
    """Signals by group: ports, a group for each stage, control, and the testbench; those with `$` are left out.

    stages: in order; a design of which none are known has a group for each of its scopes.
    """
    groups: dict[str, list[WaveSignal]] = {PORTS: [], **{stage: [] for stage in stages}}
    depth = min((len(signal.scopes) for signal in signals), default=1)
    inner = {signal.scopes[: depth + 1] for signal in signals if len(signal.scopes) > depth}
    prefixes = sorted(((stage.replace(".", "_"), stage) for stage in stages), key=lambda item: -len(item[0]))
    for signal in signals:
        if "$" in signal.name:
            continue
        if signal.scopes[: depth + 1] not in inner:
            group = BENCH
        elif len(signal.scopes) == depth + 1 and PORT.match(signal.name):
            group = PORTS
        else:
            group = _stage(signal, depth, prefixes) or (CONTROL if stages else ".".join(signal.scopes[depth:]))
        groups.setdefault(group, []).append(signal)
    last = {BENCH: groups.pop(BENCH, [])}
    return {group: members for group, members in (groups | last).items() if members}


def _stage(signal: WaveSignal, depth: int, prefixes: Sequence[tuple[str, str]]) -> str:
    """The stage whose name a signal's, or its instance's, begins with; the longest such name."""
    path = "_".join([*(scope.removeprefix("u_") for scope in signal.scopes[depth + 1 :]), signal.name])
    path = re.sub(r"^\\?(datapath|promotion|late)_", "", path)
    return next((stage for prefix, stage in prefixes if path == prefix or path.startswith(f"{prefix}_")), "")


def save_file(vcd: str, groups: dict[str, list[WaveSignal]]) -> str:
    """The text of a save file. vcd: the waveform's name, in the same folder. Only the group of the ports is open."""
    lines = [f'[dumpfile] "{vcd}"', f'[savefile] "{SAVED}"', "[timestart] 0"]
    for group, members in groups.items():
        first, last = OPEN if group == PORTS else CLOSED
        lines += [first, f"-{group}"]
        kind = ""
        for signal in members:
            wanted = WORD if signal.bits else BIT
            lines += [wanted] * (wanted != kind) + [signal.path]
            kind = wanted
        lines += [last, f"-{group}"]
    return "\n".join(lines) + "\n"


def write_save_file(vcd: Path, stages: Sequence[str]) -> Path:
    """Write the save file of a waveform beside it. Return its path."""
    saved = vcd.with_name(SAVED)
    with replaced(saved) as file:
        file.write(save_file(vcd.name, grouped(list(signals_of(vcd)), stages)).encode())
    return saved


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
    waiting = deque(fitting(plays, lambda play: len(play.script.payloads), len(plays), design.room))
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
    """The number of a simulation's suites that are over, at least one: not those after one that an assertion ended."""
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
    answers, traffic = objects(outcome.codes), np.frombuffer(outcome.traffic, np.uint8)
    if isinstance(play.script.promise, Recording):
        return Played(play, simulator, outcome, job, answers, traffic)
    codes = _no_codes(play)
    codes[list(play.owners[: len(answers)])] = answers
    return Played(play, simulator, outcome, job, codes, traffic)


def _no_codes(play: Play) -> np.ndarray:
    ordered = isinstance(play.script.promise, BeatOrder)
    return np.full(len(play.suite.cases) if ordered else 0, MISSING, object)


def play_in_bulk(library: Path, ports: PortMap, plays: Sequence[Play], folder: Path) -> list[Played]:
    """Play suites that promise every cycle in the bulk driver. folder: the suites' folder in the results."""
    return [Played(play, BULK, _bulk(library, ports, play), folder) for play in plays]


def _bulk(library: Path, ports: PortMap, play: Play) -> SuiteOutcome:
    trace, words = play.script.promise, words_of(play.script.payloads, ports.input.words)
    if not isinstance(trace, Trace):
        raise TypeError(f"the bulk driver plays traces, not a {type(trace).__name__}")
    with BulkUnit(library, ports) as device:
        started = time.perf_counter()
        answered = device.run(trace.drive, trace.offered, words)
        seconds = time.perf_counter() - started
    outcome = compared(play.script, trace, answered)
    outcome.seconds = seconds
    return outcome
