"""The bulk driver: a Verilated unit in this process, driven with NumPy arrays, and what it answers against a trace."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hwsim.cosim.ports import PortMap
from hwsim.errors import InputError
from hwsim.tb.job import (
    RESET,
    SEEN_MISUSE,
    SEEN_READY,
    SEEN_VALID,
    VALID,
    PortMismatch,
    Script,
    SuiteOutcome,
    Trace,
)


@dataclass(frozen=True)
class PortAnswers:
    """What a unit answers. flags: uint8[cycles], bits SEEN_*. results: uint32[results, words], as handed over."""

    flags: np.ndarray
    results: np.ndarray


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

    def run(self, drive: np.ndarray, offered: np.ndarray, words: np.ndarray) -> PortAnswers:
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
            _at(drive),
            _at(offered),
            _at(words),
            ctypes.c_int64(words.shape[1]),
            _at(seen),
            _at(results),
            ctypes.c_int64(results.shape[1]),
        )
        return PortAnswers(seen, results[:count])


def _at(array: np.ndarray) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)


KINDS = ((SEEN_READY, "ready"), (SEEN_VALID, "valid"), (SEEN_MISUSE, "misuse"))


def compare(script: Script, trace: Trace, answers: PortAnswers, ports: PortMap) -> SuiteOutcome:
    """Every cycle's flags and every result against a trace, as the testbench holds them cycle by cycle.

    Results count as compared up to the first cycle in which something happened that the trace does not have.
    """
    outcome = SuiteOutcome(script.name, cycles=trace.cycles)
    promised = np.where(trace.drive & VALID, SEEN_READY | SEEN_VALID | SEEN_MISUSE, SEEN_VALID | SEEN_MISUSE)
    promised[trace.drive & RESET != 0] = 0
    wrong = (answers.flags ^ trace.expect) & promised
    cycles, leaving = np.flatnonzero(wrong), trace.results
    due = np.cumsum(leaving) - leaving
    for cycle in cycles.tolist():
        for bit, kind in KINDS:
            if wrong[cycle] & bit:
                got, expected = int(answers.flags[cycle] & bit > 0), int(trace.expect[cycle] & bit > 0)
                outcome.note(PortMismatch(kind, cycle, int(due[cycle]), got, expected))
    in_step = int(due[cycles[0]]) if len(cycles) else len(script.results)
    outcome.results = min(in_step, len(answers.results))
    want, got_results = script.results[: outcome.results, :2], ports.results(answers.results[: outcome.results])
    when = np.flatnonzero(leaving)
    for index in np.flatnonzero((want != got_results).any(axis=1)).tolist():
        (context, code), (got_context, got) = want[index].tolist(), got_results[index].tolist()
        outcome.note(PortMismatch("result", int(when[index]), index, got, code, got_context, context))
    outcome.mismatches.sort(key=lambda mismatch: mismatch.cycle)
    return outcome
