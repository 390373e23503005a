"""What a design of several modules takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hwsim.rtl.synthesis.designs import FlatModule
from hwsim.rtl.synthesis.flows import ecp5, generic


@dataclass(frozen=True)
class Area:
    """Gates, flip-flops and, where it was asked for, an ECP5's cells and clock rate.

    gates, flipflops, comb: of all modules. depth: of the deepest. megahertz: of the slowest.
    """

    gates: int
    flipflops: int
    depth: int
    comb: int | None = None
    megahertz: float | None = None


def area(parts: Sequence[FlatModule], fmax: bool, seconds: float = 900) -> Area:
    """What some modules take, each by itself. fmax: on an ECP5 too, which takes ten times as long.

    seconds: for each tool. Raises ToolMissing or FlowFailed.
    """
    mapped = [generic(part.text, part.top, seconds) for part in parts]
    gates, flipflops = sum(each.gates for each in mapped), sum(each.flipflops for each in mapped)
    depth = max(each.depth for each in mapped)
    if not fmax:
        return Area(gates, flipflops, depth)
    placed = [ecp5(part.text, part.top, seconds) for part in parts]
    slowest = min(each.megahertz for each in placed)
    return Area(gates, flipflops, depth, sum(each.comb for each in placed), slowest)
