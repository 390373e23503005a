"""Holding what the bulk driver saw against a trace, as the testbench does cycle by cycle."""

from __future__ import annotations

import numpy as np

from hwsim.cosim.bulk import PortAnswers
from hwsim.cosim.ports import PortMap
from hwsim.cosim.trace import READY, RESET, SEEN_MISUSE, SEEN_READY, SEEN_VALID, VALID, Trace, words_of
from hwsim.tb.job import Mismatch, Outcome

KINDS = ((SEEN_READY, "ready"), (SEEN_VALID, "valid"), (SEEN_MISUSE, "misuse"))


def compare(trace: Trace, seen: PortAnswers, ports: PortMap) -> Outcome:
    """Every cycle's flags and every result.

    Results count as compared up to the first cycle in which something happened that the trace does not have.
    """
    outcome = Outcome(trace.suite, cycles=trace.cycles)
    promised = np.where(trace.drive & VALID, SEEN_READY | SEEN_VALID | SEEN_MISUSE, SEEN_VALID | SEEN_MISUSE)
    promised[trace.drive & RESET != 0] = 0
    wrong = (seen.flags ^ trace.expect) & promised
    cycles = np.flatnonzero(wrong)
    handed = trace.expect & SEEN_VALID != 0
    handed &= trace.drive & (READY | RESET) == READY
    due = np.cumsum(handed) - handed
    for cycle in cycles.tolist():
        for bit, kind in KINDS:
            if wrong[cycle] & bit:
                got, expected = int(seen.flags[cycle] & bit > 0), int(trace.expect[cycle] & bit > 0)
                outcome.note(Mismatch(kind, cycle, int(due[cycle]), got, expected))
    in_step = int(due[cycles[0]]) if len(cycles) else len(trace.results)
    outcome.results = min(in_step, len(seen.results))
    expected_words = words_of([payload for _, payload in trace.results[: outcome.results]], ports.output.words)
    for index in np.flatnonzero((expected_words != seen.results[: outcome.results]).any(axis=1)).tolist():
        want = ports.unpack(trace.results[index][1])
        got_result = ports.unpack(int.from_bytes(seen.results[index].tobytes(), "little"))
        outcome.note(
            Mismatch(
                "result",
                int(trace.result_cycles[index]),
                index,
                got_result.code,
                want.code,
                got_result.context,
                want.context,
            )
        )
    outcome.mismatches.sort(key=lambda mismatch: mismatch.cycle)
    return outcome
