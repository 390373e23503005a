"""An aligned sum in hardware: its steps, what goes from group to group, and what of it is missing."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import unsigned
from amaranth.lib.data import StructLayout

from hwsim.spec import Specified, steps
from hwsim.spec.implementation import one_plain_window

from .align import Align, Distance, Maximum, Near, TreeMaximum
from .decode import Decode
from .latewindow import general_datapath
from .multiply import Multiply
from .normalize import Magnitude, Round
from .normalizing import normalizing
from .numbers import WindowRanges
from .step import Datapath, DatapathStep
from .sum import HalfAdders, Sum
from .targets import ResultTarget


def carried_layout(n: WindowRanges) -> StructLayout:
    """What goes from group to group: the partial sum, as the code that the group's result has."""
    return StructLayout({"code": unsigned(n.result.bits)})


def aligned_datapath(unit: Specified, cuts: Sequence[str]) -> Datapath:
    """A group's sum: `operands_layout` in, `result_layout` out."""
    if not one_plain_window(unit):
        return general_datapath(unit, cuts)
    n = WindowRanges(unit)
    carried, target = carried_layout(n), ResultTarget.of(n)
    path = [
        Decode(n, carried),
        Multiply(n),
        *_maximum(n, cuts),
        *([Near(n)] if "distance.0" in cuts else []),
        Distance(n, "distance.0" in cuts),
        Align(n),
        *_sum(n, cuts),
        Magnitude(target),
        *normalizing(target, cuts).values(),
        Round(target),
    ]
    return Datapath(path, cuts, carried)


def _levels(unit: Specified, cuts: Sequence[str], name: str) -> list[tuple[str, int]]:
    """The parts of a tree: the last step of each, and how many levels it has."""
    inside = [step for step in steps(unit) if step == name or (step.startswith(f"{name}.") and step != "sum.0")]
    parts, levels = [], 0
    for step in inside:
        levels += 1
        if step in cuts or step == name:
            parts.append((step, levels))
            levels = 0
    return parts


def _maximum(n: WindowRanges, cuts: Sequence[str]) -> list[DatapathStep]:
    parts: list[DatapathStep] = []
    candidates = n.lanes
    for name, levels in _levels(n.unit, cuts, "maximum")[:-1]:
        part = TreeMaximum(n, name, candidates, levels)
        candidates = part.after
        parts.append(part)
    return [*parts, Maximum(n, candidates if parts else 0)]


def _sum(n: WindowRanges, cuts: Sequence[str]) -> list[DatapathStep]:
    sums, inside, halves = n.lanes + 1, 1, "sum.0" in cuts and n.lanes > 1
    parts: list[DatapathStep] = [HalfAdders(n)] if halves else []
    if halves:
        sums, inside = -(-sums // 3), 3
    for name, levels in _levels(n.unit, cuts, "sum"):
        part = Sum(n, name, sums, 1 << levels, inside, halves=halves and len(parts) == 1)
        sums, inside = part.after, part.terms
        parts.append(part)
    return parts
