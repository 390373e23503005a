"""What is synthesised of a unit: its datapath, cut by registers, and the adder of what follows a group's sum."""

from __future__ import annotations

from typing import NamedTuple

from hwsim.rtl import convert, datapath, promotion
from hwsim.spec import Specified, steps

TOP = "datapath"
ADDER = "promotion"
# Registers after these steps, where a unit has them; None: after every step.
STAGES = {
    "4": ("multiply", "align", "sum", "round"),
    "10": ("multiply", "maximum.2", "maximum.4", "maximum", "distance", "align", "sum.3", "sum", "magnitude", "round"),
    "all": None,
}
# The same inside every rounded addition of a chain or a tree.
ADDITION_STAGES = {"4": ("sum",), "10": ("align", "sum", "normalize"), "all": None}
# The same of the adder of a promotion or a late addend, whose stages come after those.
ADDER_STAGES = {"4": ("align", "magnitude"), "10": ("align", "magnitude"), "all": None}


class FlatModule(NamedTuple):
    """A module to synthesise by itself, and what its name is in its Verilog."""

    top: str
    text: str


def stage_cuts(unit: Specified, stages: str) -> tuple[str, ...]:
    """One of STAGES, as far as a unit's datapath has these steps. Raises ValueError for another name."""
    if stages not in STAGES:
        raise ValueError(f"stages must be one of {', '.join(STAGES)}, not {stages!r}")
    named, inside = STAGES[stages], ADDITION_STAGES[stages]
    group, _ = _parts(unit)
    if named is None or inside is None:
        return group
    return tuple(step for step in group if step in named or (step.startswith("add.") and step.endswith(inside)))


def _parts(unit: Specified) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The steps of a group's sum, and those of what is added after it."""
    every = steps(unit)
    end = every.index("round") + 1
    return every[:end], every[end:]


def _adder_cuts(after: tuple[str, ...], stages: str) -> tuple[str, ...]:
    """The cuts of an adder: of its steps, the last one always."""
    named = ADDER_STAGES[stages]
    return tuple(step for step in after if named is None or step.endswith(named) or step == after[-1])


def datapath_verilog(unit: Specified, cuts: tuple[str, ...]) -> str:
    """A unit's fused sum as one Verilog module, `datapath`, with a register after each step of `cuts`.

    From the codes of operands, scales and addend to the code of the group's result: NaN, infinities and rounding, but
    no handshake, no contexts, no register of a chain and no promotion. The unit's name does not count.
    Raises NotImplementedYet for a unit that the RTL does not have.
    """
    return convert(datapath(unit, cuts), TOP)


def unit_parts(unit: Specified, stages: str) -> tuple[FlatModule, ...]:
    """A unit's datapath and, where it has one, the adder of its promotion or late addend: one of STAGES of both.

    Neither the register itself is there nor what counts to its interval. Raises as `datapath_verilog` does.
    """
    parts = [FlatModule(TOP, datapath_verilog(unit, stage_cuts(unit, stages)))]
    _, after = _parts(unit)
    if after:
        parts.append(FlatModule(ADDER, convert(promotion(unit, _adder_cuts(after, stages)), ADDER)))
    return tuple(parts)
