"""Jobs: what a simulation plays, and what came of it. One folder each.

A job has suites. Each is a script: what stands at the input, which results are due, and what is promised of when they
come. A trace promises every cycle; an order promises which result comes after which, and perhaps how many cycles after
its beat; a recording promises nothing; a code table promises what combinational blocks return.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from hwsim.base.arrays import code_array

FOLDER = "HWSIM_JOB"
# The suites, and how far a simulation is. What is read is what this run wrote.
JOB, PROGRESS = "job", "progress"
MOST_MISMATCHES = 64

# Bits of the bench's `drive`: the input is valid, the output is ready, reset, the clock is not enabled. The payload's
# index stands above.
VALID, READY, RESET, HOLD = 1, 2, 4, 8
INDEX = 4
# Bits of its `seen`: the input is ready, the output is valid, misuse; an unknown bit in those, or in a valid result.
# The result's context stands above.
SEEN_READY, SEEN_VALID, SEEN_MISUSE, SEEN_LOST, SEEN_UNKNOWN = 1, 2, 4, 8, 16
CONTEXT = 5

# In the place of codes: of results with an unknown bit, of those that were not asked for or never came, and of those
# of a device that lost step before they could come.
UNKNOWN, MISSING, LOST = -1, -2, -3

FLAG, COPY = "flag", "copy"

# What happened in a cycle is a byte: the bits of `drive`, and from this bit on those of `seen`.
SEEN = 4


@dataclass(frozen=True)
class Trace:
    """A promise of every cycle.

    drive: uint8[cycles], bits VALID, READY, RESET, HOLD. offered: int32[cycles], which payload stands at the input; -1
    for any. expect: uint8[cycles], bits SEEN_READY (promised while the input is valid), SEEN_VALID and SEEN_MISUSE;
    nothing is promised during reset.
    """

    drive: np.ndarray
    offered: np.ndarray
    expect: np.ndarray

    @property
    def cycles(self) -> int:
        """Clock cycles, reset included."""
        return len(self.drive)

    @property
    def results(self) -> np.ndarray:
        """The cycles in which a result leaves: bool[cycles]."""
        leaves: np.ndarray = (self.expect & SEEN_VALID != 0) & (self.drive & (READY | RESET | HOLD) == READY)
        return leaves


@dataclass(frozen=True)
class SameCodes:
    """The codes that count as equal: those of NaN, and zeros of either sign, as far as the unit promises no more.

    nan_above: a code is NaN whose bits under nan_mask are more than that. minus_zero: the other code of zero.
    """

    nan_mask: int = 0
    nan_above: int = 0
    minus_zero: int = 0

    def will_do(self, expected: int, code: int) -> bool:
        if code == expected or {code, expected} <= {0, self.minus_zero}:
            return True
        return code >= 0 and min(code & self.nan_mask, expected & self.nan_mask) > self.nan_above


AWAITED, FILLED = -1, -2  # ends of a segment of a BeatOrder


@dataclass(frozen=True)
class BeatOrder:
    """A promise of order, and perhaps of latency.

    last: uint8[beats], whether a beat closes a sum. offer, take: uint8[cycles], whether the input may offer and the
    output takes in a cycle; again from the start where they end. segments: int64[segments, 2], the beat before which
    one ends, and so many cycles until a reset; AWAITED where all its results are awaited instead; FILLED where none is
    taken, and the reset comes once no more beats are. same: which codes will do for one another. latency: cycles from a
    beat to its result, counted while the output takes; -1 where nothing is promised. reset_cycles: how long a reset
    stays. patience: cycles without anything that happens, after which the device hangs. settle: cycles after a
    segment's last result in which nothing may follow. isolated: a device that loses step is reset and goes on with the
    next segment, the results that it owes being LOST.
    """

    last: np.ndarray
    offer: np.ndarray
    take: np.ndarray
    segments: np.ndarray
    same: SameCodes = SameCodes()
    latency: int = -1
    reset_cycles: int = 2
    patience: int = 1000
    settle: int = 16
    isolated: bool = False
    tagged: bool = False


@dataclass(frozen=True)
class Recording:
    """No promise: the output is recorded in every cycle, while every beat is taken as soon as it may be.

    beats: how many. reset_cycles: how long a reset stays before. patience: cycles after the last beat that is taken.
    """

    beats: int
    reset_cycles: int
    patience: int


@dataclass(frozen=True)
class ExtraOutputs:
    """Promised signals beside the results, packed in the bench's port `extra`, the first one lowest.

    signals: kind, name and bits of each; of kind `flag`, or `copy` of the result, in which any NaN will do where it
    does in the result. promised: for each result what each of them says; None where that does not count.
    """

    signals: Sequence[tuple[str, str, int]]
    promised: Sequence[Sequence[int | None]]


@dataclass(frozen=True)
class CodeTable:
    """A promise of what combinational blocks return: rows of codes and, for each port, what it must say.

    ports: str[ports]. a, b: int64[rows]. expected, mask: int64[ports, rows]; an answer counts where its mask has ones.
    """

    ports: np.ndarray
    a: np.ndarray
    b: np.ndarray
    expected: np.ndarray
    mask: np.ndarray


Promise = Trace | BeatOrder | Recording | CodeTable


@dataclass(frozen=True)
class Script:
    """One suite.

    payloads: what stands at the input, beat by beat. results: context and code of each, in order. extra: what stands
    beside them; None for a device that has nothing there. first: where the suite's payloads begin in the bench.
    """

    name: str
    promise: Promise
    payloads: Sequence[int] = ()
    results: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.uint64))
    extra: ExtraOutputs | None = None
    first: int = 0

    @property
    def planned(self) -> int:
        """Results that must be compared: all but those of segments that a reset ends."""
        match self.promise:
            case Trace():
                return len(self.results)
            case BeatOrder(last=last, segments=segments):
                starts = np.concatenate([[0], segments[:-1, 0]])[: len(segments)]
                parts = zip(starts.tolist(), segments.tolist(), strict=True)
                return sum(int(last[start:end].sum()) for start, (end, reset) in parts if reset == AWAITED)
            case Recording():
                return 0
            case CodeTable(mask=mask):
                return int(np.count_nonzero(mask))


@dataclass
class PortMismatch:
    """A difference between a promise and what the device did.

    kind: `ready`, `valid`, `misuse` (another bit), `result` (another value), `unknown` (an X or Z), `refused` (a beat
    that was never taken), `hang` (results that never came), `dropped`, `changed`, `unasked`, `latency`, `tag` (a result
    of a context of which none is due), `flag` and `copy` (what stands beside a result); of a code table, the port.
    cycle: where. index: the number of the result that was due. got, expected: codes, or bits; and contexts. name: of a
    flag, or where the copy is.
    """

    kind: str
    cycle: int
    index: int
    got: int
    expected: int
    got_context: int = 0
    expected_context: int = 0
    name: str = ""


@dataclass
class SuiteOutcome:
    """The outcome of a suite.

    results: those that were compared. count: all mismatches; the first ones are listed, and the first of each kind.
    codes: where no cycle was promised, the results in the order of the beats that closed the sums, UNKNOWN, MISSING or
    LOST in their places; of a recording, what stood at the output in every cycle. traffic: a byte for each cycle.
    """

    name: str
    cycles: int = 0
    results: int = 0
    seconds: float = 0.0
    count: int = 0
    mismatches: list[PortMismatch] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)
    traffic: bytes = b""

    def note(self, mismatch: PortMismatch) -> None:
        """Count a mismatch."""
        self.count += 1
        if len(self.mismatches) < MOST_MISMATCHES or all(mismatch.kind != other.kind for other in self.mismatches):
            self.mismatches.append(mismatch)


def result_rows(contexts: Sequence[int] | np.ndarray, codes: Sequence[int] | np.ndarray) -> np.ndarray:
    """Rows of a context and a code: uint64[results, 2]; objects where a code is longer."""
    code = code_array([int(code) for code in codes])
    return np.stack([np.array(contexts, np.uint64).astype(code.dtype), code], axis=1)


def write_job(folder: Path, scripts: Sequence[Script], width: int) -> list[str]:
    """Write a job for a bench whose payloads are `width` bits wide. Return the simulator's arguments."""
    folder.mkdir(parents=True, exist_ok=True)
    digits, first, placed = -(-width // 4), 0, list[Script]()
    with (folder / "payloads.hex").open("w") as payloads:
        for script in scripts:
            payloads.writelines(f"{payload:0{digits}x}\n" for payload in script.payloads)
            placed.append(replace(script, payloads=(), first=first))
            first += len(script.payloads)
    (folder / JOB).write_bytes(pickle.dumps(placed))
    return [f"+last={max(first - 1, 0)}"]


def read_job(folder: Path) -> list[Script]:
    """The suites of a job, without their payloads, which the bench has."""
    scripts: list[Script] = pickle.loads((folder / JOB).read_bytes())
    return scripts


def read_progress(folder: Path) -> tuple[str, int] | None:
    """The suite that a simulation was in, and how many of its cycles had ended; None if no suite had begun."""
    try:
        cycle, _, name = (folder / PROGRESS).read_text(encoding="utf-8").strip().partition(" ")
    except FileNotFoundError:
        return None
    return (name, int(cycle)) if cycle.isdecimal() else None


def write_outcome(folder: Path, index: int, outcome: SuiteOutcome) -> None:
    """Write the outcome of a suite."""
    (folder / f"outcome{index}").write_bytes(pickle.dumps(outcome))


def read_outcome(folder: Path, index: int) -> SuiteOutcome | None:
    """The outcome of a suite; None if it never ended."""
    path = folder / f"outcome{index}"
    if not path.exists():
        return None
    outcome: SuiteOutcome = pickle.loads(path.read_bytes())
    return outcome
