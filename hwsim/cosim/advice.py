"""What a user's design was waited for, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hwsim.cosim.design import Played
from hwsim.cosim.dutdesign import DutDesign
from hwsim.cosim.protocolkind import NamedControl
from hwsim.report import CodeReading
from hwsim.tb.job import MISSING, BeatOrder, PortMismatch
from hwsim.words import counted

FURTHEST = 64  # cycles by which a latency may be wrong, and its right value is found
FEW = 8  # results that may be those of other cases by chance


def waited(order: BeatOrder, mismatch: PortMismatch) -> tuple[CodeReading, CodeReading] | None:
    """What was expected and what came, in words, of what is counted in cycles; None of other kinds of mismatches."""
    within = f"within {counted(order.patience, 'cycle')}"
    match mismatch.kind:
        case "hang":
            expected, got = f"a result {within}", f"none, where {counted(mismatch.got, 'result')} were due"
        case "refused":
            expected, got = f"a beat taken {within}", "none"
        case "latency":
            after = f"after {counted(mismatch.got, 'cycle')}" if mismatch.got >= 0 else f"not {within}"
            expected, got = f"a result after {counted(mismatch.expected, 'cycle')}", after
        case "tag":
            under_way = counted(mismatch.expected, "dot product")
            expected, got = f"a tag of {under_way} under way", f"tag {mismatch.got}, which is of none"
        case _:
            return None
    return CodeReading(code=expected, value=""), CodeReading(code=got, value="")


def remedy(design: DutDesign, mismatch: PortMismatch) -> str:
    """What to look at, by the names of the design's own ports; empty where nothing is known."""
    protocol, reset = design.dut.file.protocol, design.dut.file.reset
    is_reset = f"whether {reset.port} is active {reset.active} (reset.active)" if reset else "whether it needs a reset"
    match mismatch.kind:
        case "hang":
            closed = ", and whether it takes ports.last for the end of a sum" if design.chains else ""
            return f"{_never(protocol.giving)}: look {is_reset}{closed}"
        case "refused":
            return f"{_never(protocol.taking)}: look {is_reset}"
        case "latency" if mismatch.got >= 0:
            return f"where {counted(mismatch.got, 'cycle')} are right, write protocol.cycles: {mismatch.got}"
        case "latency":
            return f"{_never(protocol.giving)}: look {is_reset}"
        case _:
            return ""


def _never(control: NamedControl | None) -> str:
    """That a port never did what was waited for."""
    return f"{control} never {'fell' if control and control.port.active == 'low' else 'rose'}"


def shifted_latency(design: DutDesign, played: Sequence[Played]) -> int | None:
    """The latency that a design seems to have, where its results are those of beats before or after; None if not.

    Only of a design that gives a result in every cycle and says of none whether it is one.
    """
    protocol = design.dut.file.protocol
    if protocol.promised is None or protocol.giving is not None:
        return None
    for one in played:
        order = one.play.script.promise
        if not isinstance(order, BeatOrder) or not (order.last.all() and order.offer.all() and order.take.all()):
            continue
        got, want = one.codes[list(one.play.owners)], one.play.script.results[:, 1]
        for shift in (sign * size for size in range(1, FURTHEST + 1) for sign in (1, -1)):
            if _fits(got, want, shift):
                return protocol.promised + shift
    return None


def _fits(got: np.ndarray, want: np.ndarray, shift: int) -> bool:
    """Whether wrong results are those of the beats `shift` before them."""
    late, due = (got[shift:], want[: len(want) - shift]) if shift > 0 else (got[:shift], want[-shift:])
    here = want[shift:] if shift > 0 else want[:shift]
    wrong = (late != here) & (late > MISSING)
    return bool(np.count_nonzero(wrong) >= FEW and (late[wrong] == due[wrong]).all())
