"""Jobs: what a simulation is told to play, and what it says of it. One folder each."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

FOLDER = "HWSIM_JOB"
MOST_MISMATCHES = 64


@dataclass(frozen=True)
class Script:
    """One suite, cycle by cycle.

    drive: uint8[cycles]; bit 0 the input is valid, bit 1 the output is ready, bit 2 reset.
    offered: int32[cycles], which payload stands at the input; -1 for any.
    expect: uint8[cycles]; bit 0 the input is ready (promised while it is valid), bit 1 the output is valid,
    bit 2 misuse. payloads: what the input may hold. results: context and code of what leaves, in order.
    first: where the suite's payloads begin in the bench's memory.
    """

    name: str
    drive: np.ndarray
    offered: np.ndarray
    expect: np.ndarray
    payloads: list[int]
    results: list[tuple[int, int]]
    first: int = 0

    def words(self) -> np.ndarray:
        """What the bench's `drive` is in every cycle: int64[cycles]."""
        return self.drive.astype(np.int64) | (np.maximum(self.offered, 0).astype(np.int64) + self.first) << 3


@dataclass
class Mismatch:
    """Something that was not as the model says.

    kind: `ready`, `valid`, `misuse` (another bit than the model's), `result` (another value), `unknown` (an X or Z).
    cycle: where. index: the number of the result that was due. got, expected: codes, or bits; and contexts.
    """

    kind: str
    cycle: int
    index: int
    got: int
    expected: int
    got_context: int = 0
    expected_context: int = 0


@dataclass
class Outcome:
    """What came of a suite. results: those that were compared. count: all mismatches; the first ones are listed."""

    name: str
    cycles: int = 0
    results: int = 0
    seconds: float = 0.0
    count: int = 0
    mismatches: list[Mismatch] = field(default_factory=list)

    def note(self, mismatch: Mismatch) -> None:
        """Count a mismatch."""
        self.count += 1
        if len(self.mismatches) < MOST_MISMATCHES:
            self.mismatches.append(mismatch)


def write_job(folder: Path, scripts: list[Script], width: int) -> list[str]:
    """Write a job for a bench whose payloads are `width` bits wide; the simulator's arguments."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "job.json").write_text(json.dumps({"suites": [script.name for script in scripts]}))
    digits, first = -(-width // 4), 0
    with (folder / "payloads.hex").open("w") as payloads:
        for index, script in enumerate(scripts):
            payloads.writelines(f"{payload:0{digits}x}\n" for payload in script.payloads)
            np.savez(
                folder / f"suite{index}.npz",
                drive=script.drive,
                offered=script.offered,
                expect=script.expect,
                results=np.array(script.results, np.int64).reshape(-1, 2),
                first=first,
            )
            first += len(script.payloads)
    return [f"+last={max(first - 1, 0)}"]


def suite_names(folder: Path) -> list[str]:
    """The names of a job's suites."""
    return list(json.loads((folder / "job.json").read_text())["suites"])


def read_script(folder: Path, index: int, name: str) -> Script:
    """One suite of a job, without its payloads, which the bench has."""
    with np.load(folder / f"suite{index}.npz") as saved:
        return Script(
            name=name,
            drive=saved["drive"],
            offered=saved["offered"],
            expect=saved["expect"],
            payloads=[],
            results=[tuple(row) for row in saved["results"].tolist()],
            first=int(saved["first"]),
        )


def write_outcome(folder: Path, index: int, outcome: Outcome) -> None:
    """Say what came of a suite."""
    (folder / f"outcome{index}.json").write_text(json.dumps(asdict(outcome)))


def read_outcome(folder: Path, index: int) -> Outcome | None:
    """What came of a suite; None if it never ended."""
    path = folder / f"outcome{index}.json"
    if not path.exists():
        return None
    data = json.loads(path.read_text())
    data["mismatches"] = [Mismatch(**mismatch) for mismatch in data["mismatches"]]
    return Outcome(**data)
