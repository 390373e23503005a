"""Jobs: what a simulation plays, and what came of it. One folder each.

A job has suites. Each is a script: what stands at the input, which results are due, and what is promised of when they
come. A trace promises every cycle; an order promises which result comes after which, and perhaps how many cycles after
its beat; a recording promises nothing; a code table promises what combinational blocks return.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hwsim.base.arrays import code_array, from_words, to_words

FOLDER = "HWSIM_JOB"
PROGRESS = "progress"  # the file that says how far a simulation is
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
# Which codes beside the expected one will do for a result: none, any NaN, zero of either sign.
NO_OTHER, ANY_NAN, ANY_ZERO = range(3)

FLAG, COPY = "flag", "copy"
EXTRA = "extra_"  # before the names of what is kept of signals beside the results

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


AWAITED, FILLED = -1, -2  # ends of a segment of a BeatOrder


@dataclass(frozen=True)
class BeatOrder:
    """A promise of order, and perhaps of latency.

    last: uint8[beats], whether a beat closes a sum. offer, take: uint8[cycles], whether the input may offer and the
    output takes in a cycle; again from the start where they end. segments: int64[segments, 2], the beat before which
    one ends, and so many cycles until a reset; AWAITED where all its results are awaited instead; FILLED where none is
    taken, and the reset comes once no more beats are.
    nan_above: a code is NaN whose bits under nan_mask are more than that. minus_zero: the other code of zero.
    latency: cycles from a beat to its result,
    counted while the output takes; -1 where nothing is promised. reset_cycles: how long a reset stays.
    patience: cycles without anything that happens, after which the device hangs. settle: cycles after a segment's last
    result in which nothing may follow. isolated: a device that loses step is reset and goes on with the next segment,
    the results that it owes being LOST.
    """

    last: np.ndarray
    offer: np.ndarray
    take: np.ndarray
    segments: np.ndarray
    nan_mask: int = 0
    nan_above: int = 0
    minus_zero: int = 0
    latency: int = -1
    reset_cycles: int = 2
    patience: int = 1000
    settle: int = 16
    isolated: bool = False
    tagged: bool = False


@dataclass(frozen=True)
class Recording:
    """No promise: what stands at the output is recorded in every cycle, while every beat is taken as soon as it may be.

    beats: how many. reset_cycles: how long a reset stays before. patience: cycles after the last beat that is taken.
    """

    beats: int
    reset_cycles: int
    patience: int


@dataclass(frozen=True)
class ExtraOutputs:
    """Promised signals beside the results, packed in the bench's port `beside`, the first one lowest.

    names: str[signals]. kinds: str[signals]: `flag`, or `copy` of the result, in which any NaN will do where it does in
    the result. bits: int64[signals]. expected, mask: uint64[results, signals], or objects where the result is longer;
    what a signal says counts where its mask has ones.
    """

    names: np.ndarray
    kinds: np.ndarray
    bits: np.ndarray
    expected: np.ndarray
    mask: np.ndarray


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
PROMISES: dict[str, type[Promise]] = {kind.__name__: kind for kind in (Trace, BeatOrder, Recording, CodeTable)}


@dataclass(frozen=True)
class Script:
    """One suite.

    payloads: what stands at the input, beat by beat. results: what `result_rows` makes, in order: context, code, and
    which other codes will do: NO_OTHER, ANY_NAN or ANY_ZERO. extra: what stands beside them; None for a device that
    has nothing there. first: where the suite's payloads begin in the bench's memory.
    """

    name: str
    promise: Promise
    payloads: Sequence[int] = ()
    results: np.ndarray = field(default_factory=lambda: np.zeros((0, 3), np.uint64))
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
    """Something that was not as promised.

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
    """

    name: str
    cycles: int = 0
    results: int = 0
    seconds: float = 0.0
    count: int = 0
    mismatches: list[PortMismatch] = field(default_factory=list)

    def note(self, mismatch: PortMismatch) -> None:
        """Count a mismatch."""
        self.count += 1
        if len(self.mismatches) < MOST_MISMATCHES or all(mismatch.kind != other.kind for other in self.mismatches):
            self.mismatches.append(mismatch)


def result_rows(
    contexts: Sequence[int] | np.ndarray, codes: Sequence[int] | np.ndarray, others: Sequence[int] | None = None
) -> np.ndarray:
    """Rows of a context, a code, and which other codes will do: uint64[results, 3]; objects where a code is longer.

    others: NO_OTHER for all unless given.
    """
    code = code_array([int(code) for code in codes])
    owner = np.array(contexts, np.uint64), np.array(others or [NO_OTHER] * len(codes), np.uint64)
    context, other = (column.astype(code.dtype) for column in owner)
    return np.stack([context, code, other], axis=1)


def write_job(folder: Path, scripts: Sequence[Script], width: int) -> list[str]:
    """Write a job for a bench whose payloads are `width` bits wide; the simulator's arguments."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "job.json").write_text(json.dumps({"suites": [script.name for script in scripts]}))
    digits, first = -(-width // 4), 0
    with (folder / "payloads.hex").open("w") as payloads:
        for index, script in enumerate(scripts):
            payloads.writelines(f"{payload:0{digits}x}\n" for payload in script.payloads)
            kind = type(script.promise).__name__
            code = to_words(script.results[:, 1])
            owner = script.results[:, ::2].astype(np.uint64)
            arrays = {"owner": owner, "code": code, "first": first, **vars(script.promise)}
            if script.extra is not None:
                arrays |= _extra_arrays(script.extra)
            np.savez(folder / f"suite{index}.npz", kind=kind, **arrays)
            first += len(script.payloads)
    return [f"+last={max(first - 1, 0)}"]


def _extra_arrays(extra: ExtraOutputs) -> dict[str, np.ndarray]:
    """The arrays of a file, by their names there."""
    arrays = vars(extra) | {"expected": to_words(extra.expected), "mask": to_words(extra.mask)}
    return {f"{EXTRA}{key}": array for key, array in arrays.items()}


def _read_extra(data: dict[str, Any]) -> ExtraOutputs | None:
    """The arrays of `_extra_arrays`, taken out of a file's data; None if it has none."""
    arrays = {key.removeprefix(EXTRA): data.pop(key) for key in list(data) if key.startswith(EXTRA)}
    if not arrays:
        return None
    return ExtraOutputs(**arrays | {key: from_words(arrays[key]) for key in ("expected", "mask")})


def suite_names(folder: Path) -> list[str]:
    """The names of a job's suites."""
    return list(json.loads((folder / "job.json").read_text())["suites"])


def read_script(folder: Path, index: int, name: str) -> Script:
    """One suite of a job, without its payloads, which the bench has."""
    with np.load(folder / f"suite{index}.npz") as saved:
        data = {key: saved[key] if saved[key].ndim else saved[key].item() for key in saved.files}
    kind, first, owner = data.pop("kind"), data.pop("first"), data.pop("owner")
    code = from_words(data.pop("code"))
    results = np.stack([column.astype(code.dtype) for column in (owner[:, 0], code, owner[:, 1])], axis=1)
    extra = _read_extra(data)
    return Script(name, PROMISES[kind](**data), results=results, extra=extra, first=first)


def read_progress(folder: Path) -> tuple[str, int] | None:
    """The suite that a simulation was in, and the cycles of it that had ended; None if it never came so far."""
    try:
        cycle, _, name = (folder / PROGRESS).read_text(encoding="utf-8").strip().partition(" ")
    except FileNotFoundError:
        return None
    return (name, int(cycle)) if cycle.isdecimal() else None


def write_outcome(folder: Path, index: int, outcome: SuiteOutcome) -> None:
    """Say what came of a suite."""
    (folder / f"outcome{index}.json").write_text(json.dumps(asdict(outcome)))


def read_outcome(folder: Path, index: int) -> SuiteOutcome | None:
    """The outcome of a suite; None if it never ended."""
    path = folder / f"outcome{index}.json"
    if not path.exists():
        return None
    data = json.loads(path.read_text())
    data["mismatches"] = [PortMismatch(**mismatch) for mismatch in data["mismatches"]]
    return SuiteOutcome(**data)


def write_answers(folder: Path, index: int, codes: list[int], traffic: bytes) -> None:
    """Keep every result of a suite, in the order of the beats that closed the sums, and what the ports did.

    Of a recording, what stood at the output in every cycle.
    """
    np.savez(
        folder / f"answers{index}.npz",
        codes=to_words(code_array([max(code, 0) for code in codes])),
        instead=np.array([min(code, 0) for code in codes], np.int8),
        traffic=np.frombuffer(traffic, np.uint8),
    )


def read_answers(folder: Path, index: int) -> tuple[np.ndarray, np.ndarray]:
    """Every result of a suite, integers[results]: codes, UNKNOWN, MISSING or LOST; and its traffic, uint8[cycles].

    Both are empty if the suite never ended, or promised every cycle.
    """
    path = folder / f"answers{index}.npz"
    if not path.exists():
        return np.zeros(0, object), np.zeros(0, np.uint8)
    with np.load(path) as saved:
        codes, instead = from_words(saved["codes"]).astype(object), saved["instead"]
        return np.where(instead < 0, instead.astype(object), codes), saved["traffic"]
