"""G12: what happens at a unit's ports. Traces of simulations are counted, not what the model computes."""

from __future__ import annotations

from hwsim.cases.bins.declare import CoverageBin, Declared
from hwsim.spec import Pipeline, Unit
from hwsim.words import counted

BACK_TO_BACK, ONE_IDLE = "beats back to back", "one cycle without a beat"
FULL_STANDSTILL, LONELY_RESULT = "back-pressure with every stage full", "a result that waits while nothing follows"
RESET_WAITING, READY_ALONE = "reset while a result waits", "ready without valid"
WAITS, GIVEN_UP, MISUSE = "a beat that waits for its context", "a sum given up for a new one", "misuse"


def bubble(stage: int) -> str:
    """The bin of a gap in one stage, from 1 on."""
    return f"a bubble at stage {stage}, beats in the other stages"


def reset_with(beats: int) -> str:
    """The bin of a reset that loses so many beats."""
    return f"reset with {counted(beats, 'beat')} in flight"


def contexts_open(count: int) -> str:
    """The bin of so many sums open at once."""
    return counted(count, "context", "open")


def declare_interface(unit: Unit, pipeline: Pipeline, out: Declared) -> None:
    """Gaps, back-pressure, resets, contexts."""
    stages = range(1, pipeline.latency + 1)
    names = [BACK_TO_BACK, ONE_IDLE, *map(bubble, stages), FULL_STANDSTILL, LONELY_RESULT, *map(reset_with, stages)]
    names += [RESET_WAITING, *map(contexts_open, range(1, pipeline.contexts + 1))]
    for name in (*names, READY_ALONE, WAITS, GIVEN_UP, MISUSE):
        out.bin("G12", name, _never_waits(unit, pipeline) if name == WAITS else None, how="trace")


def _never_waits(unit: Unit, pipeline: Pipeline) -> str | None:
    instruction = unit.instruction
    if not instruction.chain and instruction.k == instruction.lanes:
        return "every sum is one beat, which continues none"
    return "of one stage, each sum is at the output before its next beat comes" if pipeline.latency == 1 else None


def interface_bins(unit: Unit, pipeline: Pipeline) -> tuple[CoverageBin, ...]:
    """The bins of one implementation of a unit; a unit's plan has those of its usual one."""
    out = Declared()
    declare_interface(unit, pipeline, out)
    return tuple(out.bins)
