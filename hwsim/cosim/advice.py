"""What a user's design was waited for, and what to do about it."""

from __future__ import annotations

from hwsim.cosim.dut.protocolkind import NamedControl
from hwsim.cosim.dutdesign import DutDesign
from hwsim.report import CodeReading
from hwsim.tb.job import BeatOrder, PortMismatch
from hwsim.words import counted


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
