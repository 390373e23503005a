"""Netlists without aliases, structs, repeated or idle operations: what is left is what a designer would write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import takewhile

from .design import Hierarchy, substitute, whole_wire
from .folding import folded, idle_registers
from .netlist import (
    Assignment,
    Bit,
    Bits,
    Instance,
    NextValue,
    Operation,
    RtlModule,
    Statement,
    WireBit,
)
from .portnames import name_ports
from .structs import Part, split_structs

# Bits of their operands do not matter to lower bits of what they give.
NARROWABLE = {"$add", "$sub", "$mul", "$neg", "$and", "$or", "$xor", "$xnor", "$not", "$mux", "$shl"}


def reduced(netlists: Iterable[RtlModule], top: str, ports: Mapping[str, list[Part]]) -> Hierarchy:
    """A design reduced: every module, those inside it first. ports: what becomes of those of the top."""
    given = {module.name: module for module in netlists}
    design = Hierarchy({}, top)
    splits: dict[str, dict[str, list[Part]]] = {}

    def visit(name: str) -> None:
        if name in design.modules:
            return
        module = given[name]
        for instance in module.instances.values():
            visit(instance.module)
        _take_up_registers(module)
        splits[name] = split_structs(module, ports if name == top else None, splits)
        for called, instance in module.instances.items():
            _take_outputs(module, called, instance, design)
        _take_up(module)
        design.modules[name] = module

    visit(top)
    while _across(design):
        pass
    name_ports(design)
    return design


def _take_outputs(module: RtlModule, called: str, instance: Instance, design: Hierarchy) -> None:
    """A wire for each output of an instance."""
    for port, way in design.modules[instance.module].directions.items():
        if way == "output":
            bits = instance.ports.pop(port)
            wire = instance.outputs[port] = f"${called}${port}"
            module.widths[wire] = len(bits)
            module.connections.append((bits, module.whole(wire)))


# Between modules.


def _across(design: Hierarchy) -> bool:
    """Reduce every module; then what is constant, or read by nobody, across their borders. Whether something was."""
    for module in design.modules.values():
        _tidy(module, design)
    changed = False
    for module in reversed(design.modules.values()):
        read = bits_read(module, design)
        for instance in module.instances.values():
            inner = design.modules[instance.module]
            changed |= _constant_inputs(instance, inner, design)
            for port in list(inner.outputs):
                if not read.intersection(module.whole(instance.outputs[port])):
                    del inner.outputs[port], inner.directions[port], instance.outputs[port]
                    changed = True
    return changed


def _constant_inputs(instance: Instance, inner: RtlModule, design: Hierarchy) -> bool:
    by: dict[WireBit, Bit] = {}
    for port, bits in instance.ports.items():
        by |= {WireBit(port, at): bit for at, bit in enumerate(bits) if isinstance(bit, str)}
    read = bits_read(inner, design)
    by = {bit: constant for bit, constant in by.items() if bit in read}
    substitute(inner, by)
    return bool(by)


def _idle_outputs(module: RtlModule, design: Hierarchy) -> dict[WireBit, Bit]:
    """What instances give that is a constant, or a wire that they are given: such outputs go.

    One that is a part of what its instance is given stays: its name says more than the part.
    """
    found: dict[WireBit, Bit] = {}
    for instance in module.instances.values():
        inner = design.modules[instance.module]
        given = {WireBit(port, at): bit for port, bits in instance.ports.items() for at, bit in enumerate(bits)}
        for port, driver in list(inner.outputs.items()):
            sources = [bit if isinstance(bit, str) else given.get(bit) for bit in driver]
            known = tuple(bit for bit in sources if bit is not None)
            if len(known) < len(sources) or not (_is_constant(known) or whole_wire(inner, driver)):
                continue
            found |= {WireBit(instance.outputs[port], at): bit for at, bit in enumerate(known)}
            del inner.outputs[port], inner.directions[port], instance.outputs[port]
    return found


def _is_constant(bits: Bits) -> bool:
    return all(isinstance(bit, str) for bit in bits)


# Aliases.


class Aliases:
    """Which bit stands for which."""

    def __init__(self) -> None:
        self.of: dict[WireBit, Bit] = {}

    def join(self, left: Bits, right: Bits) -> None:
        """Let bits stand for others."""
        for one, other in zip(left, right, strict=True):
            if isinstance(one, WireBit) and one != other:
                self.of[one] = other

    def found(self, bit: Bit) -> Bit:
        """What drives a bit in the end."""
        while isinstance(bit, WireBit) and bit in self.of:
            bit = self.of[bit]
        return bit

    def all(self) -> dict[WireBit, Bit]:
        """Every bit that stands for another, and for which."""
        return {bit: self.found(bit) for bit in self.of}


def _take_up(module: RtlModule) -> None:
    """Processes and connections become operations and what bits stand for."""
    _take_up_processes(module)
    module.outputs = {port: module.whole(port) for port, way in module.directions.items() if way == "output"}
    driven = {*module.operations, *module.registers, *module.directions}
    module.hints = {wire: module.whole(wire) for wire in module.widths if wire[0] != "$" and wire not in driven}
    aliases = Aliases()
    for left, right in module.connections:
        aliases.join(left, right)
    module.connections = []
    substitute(module, aliases.all())


def _tidy(module: RtlModule, design: Hierarchy) -> None:
    """Fold a module's operations, and drop what is not read."""
    aliases = Aliases()
    aliases.of |= _idle_outputs(module, design)
    substitute(module, aliases.all())
    while again := idle_registers(module) | folded(module):
        aliases = Aliases()
        aliases.of |= again
        substitute(module, aliases.all())
    _drop_unused(module, design)


def _take_up_registers(module: RtlModule) -> None:
    """What registers take is written where they are."""
    processes = dict(module.processes)
    for wire, register in module.registers.items():
        only = register.next[0]
        assert isinstance(only, Assignment)
        first = only.value[0]
        source = first.wire if isinstance(first, WireBit) else ""
        if source in processes and only.value == module.whole(source):
            module.registers[wire] = NextValue(register.clock, _without_hold(processes.pop(source), module.whole(wire)))
    module.processes = list(processes.items())


def _take_up_processes(module: RtlModule) -> None:
    """Processes become operations."""
    for wire, statements in module.processes:
        start: list[Bit] = list(module.whole(wire))
        module.connections.append((module.whole(wire), tuple(_evaluated(module, statements, start))))
    module.processes = []


def _without_hold(statements: tuple[Statement, ...], itself: Bits) -> tuple[Statement, ...]:
    return tuple(each for each in statements if not (isinstance(each, Assignment) and each.value == itself))


def _evaluated(module: RtlModule, statements: Sequence[Statement], current: list[Bit]) -> list[Bit]:
    """What the statements of a process make of a value."""
    for each in statements:
        if isinstance(each, Assignment):
            current = [*current[: each.low], *each.value, *current[each.low + len(each.value) :]]
            continue
        value = current
        for patterns, inside in reversed(each.cases):
            then = _evaluated(module, inside, current)
            value = _chosen(module, _matches(module, each.selector, patterns), then, value)
        current = value
    return current


def _new(module: RtlModule, width: int, operation: Operation) -> Bits:
    wire = f"$made{len(module.operations)}"
    module.widths[wire] = width
    module.operations[wire] = operation
    return module.whole(wire)


def _matches(module: RtlModule, selector: Bits, patterns: Sequence[str]) -> Bit:
    """Whether a selector has one of some patterns; an empty row is the default."""
    if not patterns:
        return "1"
    found: Bit = "0"
    for pattern in patterns:
        cared = [(bit, digit) for bit, digit in zip(selector, reversed(pattern), strict=True) if digit != "-"]
        left, right = tuple(bit for bit, _ in cared), tuple(digit for _, digit in cared)
        one = left[0] if right == ("1",) else _new(module, 1, Operation("$eq", (left, right)))[0]
        found = one if found == "0" else _new(module, 1, Operation("$or", ((found,), (one,))))[0]
    return found


def _chosen(module: RtlModule, when: Bit, then: Sequence[Bit], otherwise: Sequence[Bit]) -> list[Bit]:
    """Bits that are one or the other, by one operation for those that differ."""
    if when == "1":
        return list(then)
    differ = [at for at, (one, other) in enumerate(zip(then, otherwise, strict=True)) if one != other]
    if not differ:
        return list(otherwise)
    low, high = differ[0], differ[-1] + 1
    mux = Operation("$mux", ((when,), tuple(otherwise[low:high]), tuple(then[low:high])))
    return [*otherwise[:low], *_new(module, high - low, mux), *otherwise[high:]]


# What nobody reads.


def _drop_unused(module: RtlModule, design: Hierarchy) -> None:
    """Operations, registers and ports that nothing reads go; operations whose high bits nothing reads are narrowed."""
    while True:
        read = bits_read(module, design)
        most: dict[str, int] = {}
        for bit in read:
            most[bit.wire] = max(most.get(bit.wire, 0), bit.at + 1)
        before = (len(module.operations), len(module.registers), sum(module.widths.values()))
        module.operations = {wire: each for wire, each in module.operations.items() if wire in most}
        module.registers = {wire: each for wire, each in module.registers.items() if wire in most}
        for wire, each in module.operations.items():
            if each.kind in NARROWABLE and most[wire] < module.widths[wire]:
                module.operations[wire] = _narrowed(each, most[wire])
                module.widths[wire] = most[wire]
        if before == (len(module.operations), len(module.registers), sum(module.widths.values())):
            break
    read = bits_read(module, design)
    wires = {bit.wire for bit in read}
    module.directions = {
        p: way for p, way in module.directions.items() if way == "output" or p in wires or module.name == design.top
    }
    for instance in module.instances.values():
        ports = design.modules[instance.module].directions
        instance.ports = {port: bits for port, bits in instance.ports.items() if port in ports}
    used = {*most, *module.directions}
    for instance in module.instances.values():
        used |= set(instance.outputs.values())
    module.widths = {wire: width for wire, width in module.widths.items() if wire in used}
    left = {name: tuple(takewhile(partial(_exists, module), bits)) for name, bits in module.hints.items()}
    module.hints = {name: bits for name, bits in left.items() if len(bits) == len(module.hints[name]) or len(bits) > 1}


def _exists(module: RtlModule, bit: Bit) -> bool:
    return isinstance(bit, str) or bit.at < module.widths.get(bit.wire, 0)


def _narrowed(operation: Operation, width: int) -> Operation:
    operands = operation.operands
    wide = operands[1:] if operation.kind == "$mux" else operands[:1] if operation.kind == "$shl" else operands
    fixed = {"$mux": operands[:1], "$shl": operands[1:]}.get(operation.kind, ())
    cut = tuple(each[:width] for each in wide)
    return Operation(operation.kind, (*cut, *fixed) if operation.kind == "$shl" else (*fixed, *cut), operation.signed)


def operands_of(statements: Sequence[Statement]) -> Iterator[Bits]:
    """Everything that statements read."""
    for each in statements:
        if isinstance(each, Assignment):
            yield each.value
        else:
            yield each.selector
            for _, inside in each.cases:
                yield from operands_of(inside)


def values_read(module: RtlModule, design: Hierarchy) -> Iterator[Bits]:
    """Every value that something in a module reads, once for each reader."""
    for operation in module.operations.values():
        yield from operation.operands
    for register in module.registers.values():
        yield (register.clock,)
        yield from operands_of(register.next)
    for instance in module.instances.values():
        directions = design.modules[instance.module].directions
        yield from (bits for port, bits in instance.ports.items() if port in directions)
    yield from module.outputs.values()


def bits_read(module: RtlModule, design: Hierarchy) -> set[WireBit]:
    """The bits of wires that something in a module reads."""
    return {bit for bits in values_read(module, design) for bit in bits if isinstance(bit, WireBit)}
