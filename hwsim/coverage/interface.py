"""G12: what happens at a unit's ports. Traces of simulations are counted, not what the model computes."""

from __future__ import annotations

from hwsim.coverage.declare import Declared
from hwsim.spec import Pipeline


def declare(pipeline: Pipeline, out: Declared) -> None:
    """Gaps, back-pressure, resets, contexts."""
    latency = pipeline.latency
    names = ["beats back to back", "one cycle without a beat"]
    names += [f"a bubble at stage {stage}, beats in the other stages" for stage in range(1, latency + 1)]
    names += ["back-pressure with every stage full", "a result that waits while nothing follows"]
    names += [f"reset with {beats} beats in flight" for beats in range(1, latency + 1)]
    names += ["reset while a result waits"]
    names += [f"{count} contexts open" for count in range(1, pipeline.contexts + 1)]
    names += ["ready without valid", "a beat that waits for its context", "a sum given up for a new one", "misuse"]
    for name in names:
        out.bin("G12", name, how="trace")
