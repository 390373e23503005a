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
    made = [generic(part.text, part.top, seconds) for part in parts]
    gates, flipflops = sum(one.gates for one in made), sum(one.flipflops for one in made)
    depth = max(one.depth for one in made)
    if not fmax:
        return Area(gates, flipflops, depth)
    placed = [ecp5(part.text, part.top, seconds) for part in parts]
    slowest = min(one.megahertz for one in placed)
    return Area(gates, flipflops, depth, sum(one.comb for one in placed), slowest)
