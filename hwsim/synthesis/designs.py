"""What is synthesised of a unit: its datapath, cut by registers."""

from __future__ import annotations

from hwsim.rtl import convert, datapath
from hwsim.spec import Unit, refuse_unimplemented_in_hardware, steps

TOP = "datapath"
# Registers after these steps, where a unit has them; None: after every step.
STAGES = {
    "4": ("multiply", "align", "sum", "round"),
    "10": ("multiply", "maximum.2", "maximum.4", "maximum", "distance", "align", "sum.3", "sum", "magnitude", "round"),
    "all": None,
}


def stage_cuts(unit: Unit, stages: str) -> tuple[str, ...]:
    """One of STAGES, as far as a unit's datapath has these steps. Raises ValueError for another name."""
    if stages not in STAGES:
        raise ValueError(f"stages must be one of {', '.join(STAGES)}, not {stages!r}")
    named = STAGES[stages]
    inside = (step for step in steps(unit) if not step.startswith("promote"))
    return tuple(step for step in inside if named is None or step in named)


def datapath_verilog(unit: Unit, cuts: tuple[str, ...]) -> str:
    """A unit's fused sum as one Verilog module, `datapath`, with a register after each step of `cuts`.

    From the codes of operands, scales and addend to the code of the group's result: NaN, infinities and rounding, but
    no handshake, no contexts, no register of a chain and no promotion. The unit's name does not count.
    Raises NotImplementedYet for a unit that the RTL does not have.
    """
    refuse_unimplemented_in_hardware(unit)
    return convert(datapath(unit, cuts), TOP)
