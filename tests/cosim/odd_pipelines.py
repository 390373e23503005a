"""Pipelines that cut a unit in odd places."""

from __future__ import annotations

from hwsim.spec import Pipeline, Unit, pipeline


def odd_pipelines(unit: Unit) -> dict[str, Pipeline]:
    """The usual pipeline, one that cuts inside the trees, and a single register."""
    trees = ("maximum.1", "sum.1") if unit.instruction.lanes > 2 else ("maximum", "sum")
    return {
        "usual": pipeline(unit),
        "trees, 3 contexts": pipeline(unit, cuts=(*trees, "normalize"), contexts=3),
        "one register": pipeline(unit, cuts=(), contexts=1),
    }
