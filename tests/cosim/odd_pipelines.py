"""Pipelines that cut a unit in odd places."""

from __future__ import annotations

from hwsim.spec import Pipeline, Unit, pipeline, steps


def odd_pipelines(unit: Unit) -> dict[str, Pipeline]:
    """The usual pipeline, one that cuts inside the trees, and a single register."""
    inside = ("maximum.1", "sum.1") if unit.instruction.lanes > 2 else ("maximum", "sum")
    cuts = tuple(cut for cut in (*inside, "normalize") if cut in steps(unit)) or steps(unit)[1:2]
    return {
        "usual": pipeline(unit),
        "trees, 3 contexts": pipeline(unit, cuts=cuts, contexts=3),
        "one register": pipeline(unit, cuts=(), contexts=1),
    }
