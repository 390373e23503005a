"""How modules are written, whatever they compute: reset, clock enable, types of ports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .design import Hierarchy, renamed
from .netlist import Bits, RtlModule, WireBit

ResetKind = Literal["sync", "async"]
CLOCK_ENABLE = "clk_en"


@dataclass(frozen=True, kw_only=True)
class Style:
    """How registers and ports are written.

    reset: whether it acts at a rising edge of the clock, or at once. reset_low: whether it is active low, as `rst_n`.
    clock_enable: whether registers keep their values in cycles in which `clk_en` is low; reset acts in these too.
    package: whether payloads are structs of a package.
    """

    reset: ResetKind = "sync"
    reset_low: bool = False
    clock_enable: bool = False
    package: bool = False

    @property
    def reset_name(self) -> str:
        """The port of the reset."""
        return "rst_n" if self.reset_low else "rst"

    @property
    def reset_bits(self) -> Bits:
        """What selects the statements of a reset, in a netlist."""
        return (WireBit(self.reset_name, 0),)

    @property
    def reset_condition(self) -> str:
        """When a register is reset."""
        return "!rst_n" if self.reset_low else "rst"

    def events(self, clock: str, is_reset: bool) -> str:
        """What a block of registers waits for. is_reset: whether its registers have a reset."""
        edge = "negedge" if self.reset_low else "posedge"
        at_once = f" or {edge} {self.reset_name}" if is_reset and self.reset == "async" else ""
        return f"posedge {clock}{at_once}"


PLAIN = Style()


def apply_style(design: Hierarchy, style: Style) -> None:
    """Give the modules of a design the ports that a style asks for."""
    if style.reset_low:
        for module in design.modules.values():
            if "rst" in module.widths:
                renamed(module, {"rst": style.reset_name})
            for instance in module.instances.values():
                if "rst" in instance.ports:
                    instance.ports[style.reset_name] = instance.ports.pop("rst")
    if style.clock_enable:
        clocked: set[str] = set()
        for name, module in design.modules.items():  # those inside come first
            inside = [each for each in module.instances.values() if each.module in clocked]
            if module.registers or inside or name == design.top:
                _add_input(module, CLOCK_ENABLE)
                clocked.add(name)
            for instance in inside:
                instance.ports[CLOCK_ENABLE] = module.whole(CLOCK_ENABLE)


def _add_input(module: RtlModule, name: str) -> None:
    module.widths[name], module.directions[name] = 1, "input"
