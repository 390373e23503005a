"""The datapath: operands in, a group's result out, cut by registers where the pipeline says."""

from __future__ import annotations

from hwsim.spec import Unit, steps

from .align import Align, Distance, Maximum, TreeMaximum
from .decode import Decode
from .multiply import Multiply
from .normalize import Magnitude, Normalize, Round, Target
from .numbers import Numbers
from .promote import Adder, promotion_steps
from .step import Chain, Step
from .sum import Sum


def _levels(unit: Unit, cuts: tuple[str, ...], name: str) -> list[tuple[str, int]]:
    """The parts of a tree: the last step of each, and how many levels it has."""
    inside = [step for step in steps(unit) if step == name or step.startswith(f"{name}.")]
    parts, levels = [], 0
    for step in inside:
        levels += 1
        if step in cuts or step == name:
            parts.append((step, levels))
            levels = 0
    return parts


def _maximum(n: Numbers, cuts: tuple[str, ...]) -> list[Step]:
    parts: list[Step] = []
    candidates = n.lanes
    for name, levels in _levels(n.unit, cuts, "maximum")[:-1]:
        part = TreeMaximum(n, name, candidates, levels)
        candidates = part.after
        parts.append(part)
    return [*parts, Maximum(n, candidates if parts else 0)]


def _sum(n: Numbers, cuts: tuple[str, ...]) -> list[Step]:
    parts: list[Step] = []
    sums, inside = n.lanes + 1, 1
    for name, levels in _levels(n.unit, cuts, "sum"):
        part = Sum(n, name, sums, 1 << levels, inside)
        sums, inside = part.after, part.terms
        parts.append(part)
    return parts


def datapath(unit: Unit, cuts: tuple[str, ...]) -> Chain:
    """One fused sum: `operands_layout` in, `result_layout` out. cuts: as in `hwsim.spec.Pipeline`."""
    n = Numbers(unit)
    target = Target.of(n)
    return Chain(
        [
            Decode(n),
            Multiply(n),
            *_maximum(n, cuts),
            Distance(n),
            Align(n),
            *_sum(n, cuts),
            Magnitude(target),
            Normalize(target),
            Round(target),
        ],
        cuts,
    )


def promotion(unit: Unit, cuts: tuple[str, ...]) -> Chain:
    """The adder of the promotion register: `register` and `partial` in, `result_layout` out."""
    return Chain(promotion_steps(Adder(unit)), cuts)
