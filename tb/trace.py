"""What a device answers cycle by cycle: to a trace, which promises all of it, or as a recording."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from hwsim.base.arrays import code_array
from hwsim.tb.cycles import BenchPlay
from hwsim.tb.job import (
    CONTEXT,
    HOLD,
    INDEX,
    MISSING,
    READY,
    RESET,
    SEEN,
    SEEN_LOST,
    SEEN_MISUSE,
    SEEN_READY,
    SEEN_UNKNOWN,
    SEEN_VALID,
    UNKNOWN,
    VALID,
    PortMismatch,
    Recording,
    Script,
    SuiteOutcome,
    Trace,
)

# A device that has lost step answers nothing but mismatches: stop there, and say where it began.
MOST_TIMING_MISMATCHES = 16
UNCLEAR = SEEN_LOST | SEEN_UNKNOWN
KINDS = {SEEN_READY: "ready", SEEN_VALID: "valid", SEEN_MISUSE: "misuse"}


@dataclass(frozen=True)
class TraceAnswers:
    """The answers of a device, up to some cycle.

    flags: uint8[cycles], bits SEEN_*. when: int64[looks], the cycles in which a result was valid as promised; context,
    code: integers[looks], that result in each of them, which mean nothing where a bit was unknown.
    """

    flags: np.ndarray
    when: np.ndarray
    context: np.ndarray
    code: np.ndarray


def promised(trace: Trace) -> np.ndarray:
    """The mask of bits SEEN_* that must be as the trace has them, for each cycle: uint8[cycles]."""
    always = SEEN_VALID | SEEN_MISUSE | UNCLEAR
    bits = np.where(trace.drive & VALID, always | SEEN_READY, always)
    return np.where(trace.drive & RESET, 0, bits).astype(np.uint8)


def play_trace(dut: Any, script: Script, trace: Trace) -> BenchPlay[TraceAnswers]:
    """Play a suite, from reset to the last result, or until the device has lost step."""
    seen_port, result, first = dut.seen, dut.result, script.first
    words = trace.drive.astype(np.int64) | np.maximum(trace.offered, 0).astype(np.int64) + first << INDEX
    columns = words.tolist(), trace.expect.tolist(), promised(trace).tolist()
    every, when, codes, left = list[int](), list[int](), list[int](), MOST_TIMING_MISMATCHES
    for word, expect, bits in zip(*columns, strict=True):
        yield word
        seen = int(seen_port.value)
        # The result is looked at in every cycle that it waits: it must not change.
        if seen & expect & SEEN_VALID:
            when.append(len(every))
            codes.append(0 if seen & SEEN_UNKNOWN else int(result.value))
        every.append(seen)
        if (seen ^ expect) & bits:
            left -= 1
            if not left:
                break
    seen_words, cycles = np.array(every, np.int64), np.array(when, np.int64)
    flags = (seen_words & (1 << CONTEXT) - 1).astype(np.uint8)
    return TraceAnswers(flags, cycles, (seen_words[cycles] >> CONTEXT).astype(np.uint64), code_array(codes))


def compare(script: Script, trace: Trace, answers: TraceAnswers, outcome: SuiteOutcome) -> None:
    """Note where a device's answers differ from a trace and its results, in the order of cycles."""
    cycles = outcome.cycles = len(answers.flags)
    leaves = trace.drive[answers.when] & (READY | HOLD) == READY
    outcome.results = int(leaves.sum())
    index, left = np.cumsum(leaves) - leaves, answers.when[leaves]
    wrong = (answers.flags ^ trace.expect[:cycles]) & promised(trace)[:cycles]

    def flags() -> Iterator[PortMismatch]:
        for cycle in np.flatnonzero(wrong).tolist():
            due, bits, expect = int(np.searchsorted(left, cycle)), int(wrong[cycle]), int(trace.expect[cycle])
            for bit, kind in KINDS.items():
                if bits & bit:
                    yield PortMismatch(kind, cycle, due, int(expect & bit == 0), int(expect & bit > 0))
            if bits & UNCLEAR:
                yield PortMismatch("unknown", cycle, due, UNKNOWN, MISSING)

    def results() -> Iterator[PortMismatch]:
        owners, codes = script.results[index].T
        known = answers.flags[answers.when] & SEEN_UNKNOWN == 0
        for look in np.flatnonzero(known & ((answers.context != owners) | (answers.code != codes))).tolist():
            got = int(answers.code[look]), int(codes[look]), int(answers.context[look]), int(owners[look])
            yield PortMismatch("result", int(answers.when[look]), int(index[look]), *got)

    for mismatch in sorted(chain(flags(), results()), key=lambda mismatch: mismatch.cycle):
        outcome.note(mismatch)


def play_recording(dut: Any, script: Script, recording: Recording, outcome: SuiteOutcome) -> BenchPlay[None]:
    """Play the beats. The outcome has the code at the output in every cycle, or UNKNOWN, or in a reset MISSING."""
    codes, traffic, position, remaining = outcome.codes, bytearray(), 0, recording.patience
    for _ in range(recording.reset_cycles):
        codes.append(MISSING)
        traffic.append(RESET)
        yield RESET
    while remaining:
        offered = VALID * (position < recording.beats)
        yield offered | READY | min(position, recording.beats - 1) + script.first << INDEX
        seen = int(dut.seen.value)
        codes.append(UNKNOWN if seen & SEEN_UNKNOWN else int(dut.result.value))
        traffic.append(offered | READY | (seen & SEEN_READY) << SEEN)
        taken = bool(offered and seen & SEEN_READY)
        position += taken
        remaining = recording.patience if taken else remaining - 1
    outcome.cycles, outcome.traffic = len(codes), bytes(traffic)
