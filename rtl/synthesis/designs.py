"""What is synthesised of a unit: its datapath, cut by registers, and the adder of its promotion."""

from __future__ import annotations

from typing import NamedTuple

from hwsim.rtl import convert, datapath, promotion
from hwsim.spec import Unit, steps

TOP = "datapath"
ADDER = "promotion"
# Registers after these steps, where a unit has them; None: after every step.
STAGES = {
    "4": ("multiply", "align", "sum", "round"),
    "10": ("multiply", "maximum.2", "maximum.4", "maximum", "distance", "align", "sum.3", "sum", "magnitude", "round"),
    "all": None,
}
# The same of the adder, whose stages come after those.
ADDER_STAGES = {
    "4": ("promote.align", "promote.magnitude", "promote"),
    "10": ("promote.align", "promote.magnitude", "promote"),
    "all": None,
}


class FlatModule(NamedTuple):
    """A module to synthesise by itself, and what its name is in its Verilog."""

    top: str
    text: str


def stage_cuts(unit: Unit, stages: str) -> tuple[str, ...]:
    """One of STAGES, as far as a unit's datapath has these steps. Raises ValueError for another name."""
    if stages not in STAGES:
        raise ValueError(f"stages must be one of {', '.join(STAGES)}, not {stages!r}")
    return _chosen([step for step in steps(unit) if not _promotes(step)], STAGES[stages])


def _promotes(step: str) -> bool:
    return step.startswith("promote")


def _chosen(inside: list[str], named: tuple[str, ...] | None) -> tuple[str, ...]:
    return tuple(step for step in inside if named is None or step in named)


def datapath_verilog(unit: Unit, cuts: tuple[str, ...]) -> str:
    """A unit's fused sum as one Verilog module, `datapath`, with a register after each step of `cuts`.

    From the codes of operands, scales and addend to the code of the group's result: NaN, infinities and rounding, but
    no handshake, no contexts, no register of a chain and no promotion. The unit's name does not count.
    Raises NotImplementedYet for a unit that the RTL does not have.
    """
    return convert(datapath(unit, cuts), TOP)


def unit_parts(unit: Unit, stages: str) -> tuple[FlatModule, ...]:
    """A unit's datapath and, where it promotes, the adder of its promotion register: one of STAGES of both.

    Neither the register itself is there nor what counts to its interval. Raises as `datapath_verilog` does.
    """
    parts = [FlatModule(TOP, datapath_verilog(unit, stage_cuts(unit, stages)))]
    if unit.promotion is not None:
        cuts = _chosen([step for step in steps(unit) if _promotes(step)], ADDER_STAGES[stages])
        parts.append(FlatModule(ADDER, convert(promotion(unit, cuts), ADDER)))
    return tuple(parts)
