"""The modules of a design, and what is done to their bits everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .netlist import Assignment, Bit, Bits, Choice, NextValue, Operation, RtlModule, Statement, WireBit


@dataclass
class Hierarchy:
    """The modules of a design, from the innermost to the top, by name; each has one instance."""

    modules: dict[str, RtlModule]
    top: str


def substitute(module: RtlModule, by: Mapping[WireBit, Bit]) -> None:
    """Read other bits instead of some, everywhere."""
    if not by:
        return

    def bits(given: Bits) -> Bits:
        return tuple(by.get(bit, bit) if isinstance(bit, WireBit) else bit for bit in given)

    def statements(given: Sequence[Statement]) -> tuple[Statement, ...]:
        return tuple(
            Assignment(each.low, bits(each.value))
            if isinstance(each, Assignment)
            else Choice(bits(each.selector), tuple((word, statements(inside)) for word, inside in each.cases))
            for each in given
        )

    module.operations = {
        wire: Operation(each.kind, tuple(map(bits, each.operands)), each.signed)
        for wire, each in module.operations.items()
    }
    module.registers = {
        wire: NextValue(bits((each.clock,))[0], statements(each.next)) for wire, each in module.registers.items()
    }
    module.processes = [(wire, statements(each)) for wire, each in module.processes]
    for instance in module.instances.values():
        instance.ports = {port: bits(each) for port, each in instance.ports.items()}
    module.connections = [(bits(left), bits(right)) for left, right in module.connections]
    module.outputs = {port: bits(each) for port, each in module.outputs.items()}
    module.hints = {name: bits(each) for name, each in module.hints.items()}


def whole_wire(module: RtlModule, bits: Bits) -> str | None:
    """The wire that some bits are all of."""
    first = bits[0] if bits else "0"
    return first.wire if isinstance(first, WireBit) and bits == module.whole(first.wire) else None


def low_part(module: RtlModule, bits: Bits) -> str | None:
    """The wire whose low bits some bits are, or that is the low part of them."""
    first = bits[0] if bits else "0"
    if not isinstance(first, WireBit) or len(bits) < 2:
        return None
    every = module.whole(first.wire)
    least = min(len(every), len(bits))
    return first.wire if bits[:least] == every[:least] and least > 1 else None


def renamed(module: RtlModule, names: Mapping[str, str]) -> None:
    """Call wires something else."""
    by = {WireBit(old, at): WireBit(new, at) for old, new in names.items() for at in range(module.widths[old])}
    for field in ("widths", "operations", "registers", "directions", "outputs"):
        setattr(module, field, {names.get(key, key): value for key, value in getattr(module, field).items()})
    for instance in module.instances.values():
        instance.outputs = {port: names.get(wire, wire) for port, wire in instance.outputs.items()}
    substitute(module, by)
