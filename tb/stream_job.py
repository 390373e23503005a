"""Jobs for devices that keep their own time: what to offer, when, and which results are due. One folder each."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Segment:
    """Beats up to `end`, after which all results are awaited; or, with `reset`, so many cycles, and then a reset."""

    end: int
    reset: int | None = None


@dataclass(frozen=True)
class StreamScript:
    """One suite, beat by beat.

    payloads: what the beats hold. last: uint8[beats], whether a beat closes a sum. offer, take: uint8[cycles],
    whether the input may offer and the output takes in a cycle; again from the start where they end.
    results: int64[results, 3], of every beat that closes a sum its context, its code, and whether any NaN will do.
    nan_above: a code is NaN whose bits under nan_mask are more than that. latency: cycles from a beat to its result,
    counted while the output takes; -1 where nothing is promised. reset_cycles: how long a reset stays.
    patience: cycles without anything that happens, after which the device hangs. settle: cycles after a segment's last
    result in which nothing may follow. isolated: a device that loses step is reset and goes on with the next segment,
    the results that it owes being LOST.
    """

    name: str
    payloads: list[int]
    last: np.ndarray
    offer: np.ndarray
    take: np.ndarray
    results: np.ndarray
    segments: tuple[Segment, ...]
    nan_mask: int = 0
    nan_above: int = 0
    latency: int = -1
    reset_cycles: int = 2
    patience: int = 1000
    settle: int = 16
    isolated: bool = False
    first: int = 0


ARRAYS = ("last", "offer", "take", "results")
NUMBERS = ("nan_mask", "nan_above", "latency", "reset_cycles", "patience", "settle", "isolated")


def write_stream_job(folder: Path, scripts: list[StreamScript], width: int) -> list[str]:
    """Write a job for a bench whose payloads are `width` bits wide; the simulator's arguments."""
    folder.mkdir(parents=True, exist_ok=True)
    digits, first, listed = -(-width // 4), 0, []
    with (folder / "payloads.hex").open("w") as payloads:
        for index, script in enumerate(scripts):
            payloads.writelines(f"{payload:0{digits}x}\n" for payload in script.payloads)
            np.savez(folder / f"suite{index}.npz", **{name: getattr(script, name) for name in ARRAYS})
            segments = [[segment.end, segment.reset] for segment in script.segments]
            numbers = {name: getattr(script, name) for name in NUMBERS}
            listed.append({"name": script.name, "first": first, "segments": segments, **numbers})
            first += len(script.payloads)
    (folder / "job.json").write_text(json.dumps({"suites": listed}))
    return [f"+last={max(first - 1, 0)}"]


def read_stream_scripts(folder: Path) -> list[StreamScript]:
    """The suites of a job, without their payloads, which the bench has."""
    scripts = []
    for index, suite in enumerate(json.loads((folder / "job.json").read_text())["suites"]):
        with np.load(folder / f"suite{index}.npz") as saved:
            arrays = {name: saved[name] for name in ARRAYS}
        segments = tuple(Segment(*segment) for segment in suite.pop("segments"))
        scripts.append(StreamScript(payloads=[], segments=segments, **suite, **arrays))
    return scripts


# Codes of results with an unknown bit, of those that were not asked for or never came, and of those of a device that
# lost step before they could come.
UNKNOWN, MISSING, LOST = -1, -2, -3


# What happened in a cycle is a byte: 1 a beat was offered, 2 a result would be taken, 4 reset; and from bit SEEN on
# 1 the input was ready, 2 a result stood at the output.
SEEN = 4


def write_answers(folder: Path, index: int, codes: list[int], traffic: bytes) -> None:
    """Keep every result of a suite, in the order of the beats that closed the sums, and what the ports did."""
    np.savez(folder / f"answers{index}.npz", codes=np.array(codes, np.int64), traffic=np.frombuffer(traffic, np.uint8))


def read_answers(folder: Path, index: int) -> tuple[np.ndarray, np.ndarray]:
    """Every result of a suite, int64[results]: codes, UNKNOWN or MISSING; and its traffic, uint8[cycles].

    Both are empty if the suite never ended.
    """
    path = folder / f"answers{index}.npz"
    if not path.exists():
        return np.zeros(0, np.int64), np.zeros(0, np.uint8)
    with np.load(path) as saved:
        return saved["codes"], saved["traffic"]
