"""Amaranth's RTLIL as netlists that a writer can work on: bits, operations, registers, instances of each module."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

from amaranth.back import rtlil
from amaranth.hdl import _nir
from amaranth.lib.wiring import Component

# Each output of these depends on some of the inputs.
COMBINATIONAL = (_nir.Operator, _nir.Part, _nir.Matches, _nir.PriorityMatch, _nir.AssignmentList)
# A net is a cell and a bit of it, in so many bits.
WIDTH_BITS = 16
BITWISE = ("~", "&", "|", "^", "m")


class _Undecided(Exception):
    """A netlist with what is not told apart here."""


def rtlil_of(component: Component, name: str) -> str:
    """A component in RTLIL; its top is called `name`. Raises amaranth.hdl.CombinationalCycle where it has a loop."""
    return rtlil.convert(component, name=name, emit_src=False)


def has_order(netlist: _nir.Netlist, *, by_bit: bool) -> bool:
    """True if a netlist's cells can be put in an order in which each depends on those before it; then it has no loop.

    by_bit: each bit of the cells that work bit by bit is one of its own.
    False says nothing: a loop of cells need not be one of their bits.
    """
    try:
        TopologicalSorter(dict(_dependences(netlist, by_bit))).prepare()
    except (CycleError, _Undecided):
        return False
    return True


def _dependences(netlist: _nir.Netlist, by_bit: bool) -> Iterator[tuple[int, set[int]]]:
    """Nodes to put in order, each with those on which it depends within a cycle of the clock.

    A bit is its net's number, and a cell that of its first.
    """
    drivers = dict(_drivers(netlist))
    apart = [by_bit and _works_bit_by_bit(cell) for cell in netlist.cells]

    def sources(nets: Iterable[_nir.Net]) -> set[int]:
        owners = {drivers.get(net, net) for net in nets}
        return {net if apart[net >> WIDTH_BITS] else net >> WIDTH_BITS << WIDTH_BITS for net in owners}

    for index, cell in enumerate(netlist.cells):
        if apart[index]:
            for net in cell.output_nets(index):
                yield int(net), sources(net for net, _ in cell.comb_edges_to(net.bit))
        elif isinstance(cell, COMBINATIONAL):
            yield index << WIDTH_BITS, sources(cell.input_nets())
        elif isinstance(cell, _nir.FlipFlop):
            yield index << WIDTH_BITS, sources({cell.clk, cell.arst})
        elif not isinstance(cell, _nir.Top):
            raise _Undecided


def _works_bit_by_bit(cell: _nir.Cell) -> bool:
    return isinstance(cell, _nir.AssignmentList) or (isinstance(cell, _nir.Operator) and cell.operator in BITWISE)


def _drivers(netlist: _nir.Netlist) -> Iterator[tuple[int, int]]:
    """The cell's bit that drives each bit of a signal, whose own number is below zero."""
    connections = netlist.connections
    for signal, net in connections.items():
        steps = 0
        while net < 0:
            net, steps = connections[net], steps + 1
            if steps > len(connections):
                raise _Undecided  # signals that drive each other
        yield signal, net


# It goes from bit to bit: of a shifter, each of a thousand depends on a thousand.
amaranths_search = _nir.Netlist.check_comb_cycles


def search_loops(netlist: _nir.Netlist) -> None:
    """Raise CombinationalCycle as Amaranth does.

    Amaranth's own search runs only for netlists without any evident order.
    """
    if not any(has_order(netlist, by_bit=by_bit) for by_bit in (False, True)):
        amaranths_search(netlist)


_nir.Netlist.check_comb_cycles = search_loops


ARITHMETIC = {"$add", "$sub", "$mul", "$and", "$or", "$xor", "$xnor", "$not", "$neg"}
COMPARISONS = {"$eq", "$ne", "$lt", "$le", "$gt", "$ge"}
SHIFTS = {"$shl", "$shr", "$sshl", "$sshr"}


class WireBit(NamedTuple):
    """A bit of a wire."""

    wire: str
    at: int


Bit = WireBit | str  # or a constant: "0", "1" or "x"
Bits = tuple[Bit, ...]  # the least significant bit first


@dataclass(frozen=True)
class Operation:
    """The driver of a wire: an operation of RTLIL, its operands already as wide as it computes.

    signed: whether a comparison or a shift takes its first operands for two's complement.
    labels: of a table, whose operands are a selector and its rows: the patterns of each row, none of the last.
    """

    kind: str
    operands: tuple[Bits, ...]
    signed: bool = False
    labels: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Choice:
    """Other assignments, in the cases whose patterns the selector has.

    A pattern has the most significant bit first, and `-` for either value.
    """

    selector: Bits
    cases: tuple[tuple[tuple[str, ...], tuple[Statement, ...]], ...]


@dataclass(frozen=True)
class Assignment:
    """The assignment of other bits, from a bit of the target on."""

    low: int
    value: Bits


Statement = Assignment | Choice


@dataclass(frozen=True)
class NextValue:
    """A register's next value at the rising edge; where nothing is assigned, it stays."""

    clock: Bit
    next: tuple[Statement, ...]


@dataclass
class Instance:
    """A module inside another: the bits that its inputs are given, and the wires that its outputs drive."""

    module: str
    ports: dict[str, Bits]
    outputs: dict[str, str] = field(default_factory=dict)


@dataclass
class RtlModule:
    """A module.

    outputs: what drives them. hints: names of values that no wire of theirs has. order: of its ports, by their names.
    """

    name: str
    widths: dict[str, int] = field(default_factory=dict)
    directions: dict[str, str] = field(default_factory=dict)
    operations: dict[str, Operation] = field(default_factory=dict)
    registers: dict[str, NextValue] = field(default_factory=dict)
    processes: list[tuple[str, tuple[Statement, ...]]] = field(default_factory=list)
    instances: dict[str, Instance] = field(default_factory=dict)
    connections: list[tuple[Bits, Bits]] = field(default_factory=list)
    outputs: dict[str, Bits] = field(default_factory=dict)
    hints: dict[str, Bits] = field(default_factory=dict)
    order: dict[str, int] = field(default_factory=dict)

    def whole(self, wire: str) -> tuple[WireBit, ...]:
        """All bits of a wire."""
        return _bits_of(wire, self.widths[wire])


@lru_cache(maxsize=1 << 16)
def _bits_of(wire: str, width: int) -> tuple[WireBit, ...]:
    return tuple(WireBit(wire, index) for index in range(width))


def read_netlists(rtlil: str) -> list[RtlModule]:
    """The modules of a design. Raises ValueError for a line that is not understood."""
    lines = iter(rtlil.splitlines())
    return [_module(line.split()[1][1:], lines) for line in lines if line.startswith("module ")]


def _module(name: str, lines: Iterator[str]) -> RtlModule:
    module = RtlModule(name)
    for line in lines:
        words = line.split()
        if words[:2] == ["attribute", "\\init"] and "1" in words[2].partition("'")[2]:
            raise ValueError(f"a register must begin with 0, not {words[2]}")
        if not words or words[0] in {"attribute", "parameter"}:
            continue
        match words[0]:
            case "end":
                return module
            case "wire":
                _wire(module, words)
            case "cell":
                _cell(module, words[1], words[2], lines)
            case "process":
                _process(module, lines)
            case "connect":
                left, right = _sides(module, words[1:])
                module.connections.append((left, right))
            case _:
                raise ValueError(f"a line of a module must be a wire, a cell, a process or a connection, not {line!r}")
    raise ValueError(f"module {name} must end")


def _plain(name: str) -> str:
    return name[1:] if name[0] == "\\" else name


def _wire(module: RtlModule, words: Sequence[str]) -> None:
    name = _plain(words[-1])
    module.widths[name] = int(words[words.index("width") + 1])
    for direction in ("input", "output"):
        if direction in words[1:-1] and module.widths[name]:  # a port of no bits is none
            module.directions[name] = direction


def _sides(module: RtlModule, words: Sequence[str]) -> tuple[Bits, Bits]:
    """Two signals, one after another."""
    left, rest = _signal(module, list(words))
    right, rest = _signal(module, rest)
    if rest:
        raise ValueError(f"two signals must be all that is connected, not {' '.join(words)}")
    return left, right


def _signal(module: RtlModule, words: list[str]) -> tuple[Bits, list[str]]:
    """The signal that some words begin with, and the other words."""
    first, rest = words[0], words[1:]
    if first == "{}":  # what a switch of one case, for anything, chooses by
        return (), rest
    if first == "{":
        parts: list[Bits] = []
        while rest[0] != "}":
            part, rest = _signal(module, rest)
            parts.append(part)
        return tuple(bit for part in reversed(parts) for bit in part), rest[1:]
    if first[0] in "\\$":
        bits = module.whole(_plain(first))
        if rest and rest[0].startswith("["):
            high, _, low = rest[0].strip("[]").partition(":")
            return bits[int(low or high) : int(high) + 1], rest[1:]
        return bits, rest
    width, _, digits = first.partition("'")
    if len(digits) != int(width):
        raise ValueError(f"a constant must have as many bits as it says, not {first}")
    return tuple(reversed(digits)), rest


def _cell(module: RtlModule, kind: str, name: str, lines: Iterator[str]) -> None:
    parameters: dict[str, int] = {}
    ports: dict[str, Bits] = {}
    for line in lines:
        words = line.split()
        if words == ["end"]:
            break
        if words[0] == "parameter":
            parameters[words[1][1:]] = int(words[2]) if words[2].isdigit() else int(words[2].partition("'")[2], 2)
        else:
            ports[words[1][1:]] = _signal(module, words[2:])[0]
    if kind[0] == "\\":
        module.instances[_plain(name)] = Instance(kind[1:], ports)
    elif kind == "$dff":
        register = NextValue(ports["CLK"][0], (Assignment(0, ports["D"]),))
        module.registers[_whole_wire(module, ports["Q"])] = register
    elif ports["Y"]:  # a signal of no bits is nothing
        target = _whole_wire(module, ports.pop("Y"))
        module.operations[target] = _operation(kind, module.widths[target], parameters, ports)


def _whole_wire(module: RtlModule, bits: Bits) -> str:
    first = bits[0]
    if isinstance(first, str) or bits != module.whole(first.wire):
        raise ValueError(f"what is driven must be a wire, not {bits}")
    return first.wire


def _operation(kind: str, width: int, parameters: dict[str, int], ports: dict[str, Bits]) -> Operation:
    signed = bool(parameters.get("A_SIGNED", 0))
    operands = [ports[name] for name in "SAB" if name in ports]
    # Amaranth trims operands to the bits that they need; lint tools warn where Verilog is left to extend them.
    most = max(map(len, operands)) if kind in COMPARISONS else width
    if kind in ARITHMETIC or kind in COMPARISONS:
        signs = [parameters.get(f"{name}_SIGNED", 0) for name in "AB" if name in ports]
        operands = [_extended(operand, most, sign) for operand, sign in zip(operands, signs, strict=True)]
    if kind in ARITHMETIC:
        return Operation(kind, tuple(operand[:width] for operand in operands))
    if kind in COMPARISONS:
        return Operation(kind, tuple(operands), signed and kind not in {"$eq", "$ne"})
    if kind in SHIFTS:
        operands[0] = _extended(operands[0], width, signed)
        kind = {"$sshl": "$shl", "$sshr": "$sshr" if signed else "$shr"}.get(kind, kind)
        return Operation(kind, tuple(operands), kind == "$sshr")
    if kind in {"$mux", "$reduce_or", "$reduce_and", "$reduce_xor", "$reduce_bool"}:
        return Operation(kind.replace("bool", "or"), tuple(operands))
    raise ValueError(f"the operation {kind} is not known here")


def _extended(bits: Bits, width: int, signed: int) -> Bits:
    return (*bits, *[bits[-1] if signed and bits else "0"] * (width - len(bits)))


def _process(module: RtlModule, lines: Iterator[str]) -> None:
    """A process: every wire of its assignments, and the statements that are about it."""
    body = list(_statements(module, lines))
    for wire in dict.fromkeys(_targets(body)):
        module.processes.append((wire, _about(wire, body)))


def _statements(module: RtlModule, lines: Iterator[str]) -> Iterator[tuple[str, Bits, object]]:
    """Assignments and choices up to the `end` of a process, a case or a switch."""
    for line in lines:
        words = line.split()
        if not words or words[0] == "attribute":
            continue
        if words[0] == "end":
            return
        if words[0] == "assign":
            left, right = _sides(module, words[1:])
            yield "assign", left, right
        elif words[0] == "switch":
            yield "switch", _signal(module, words[1:])[0], _cases(module, lines)
        else:
            raise ValueError(f"a process must assign or choose, not {line!r}")


def _cases(module: RtlModule, lines: Iterator[str]) -> list[tuple[tuple[str, ...], list[tuple[str, Bits, object]]]]:
    cases: list[tuple[tuple[str, ...], list[tuple[str, Bits, object]]]] = []
    for line in lines:
        words = line.split()
        if not words or words[0] == "attribute":
            continue
        if words[0] == "end":
            return cases
        if words[0] == "case":
            patterns = " ".join(words[1:]).replace(",", " ").split()
            cases.append((tuple(pattern.partition("'")[2] for pattern in patterns), []))
        elif words[0] == "assign":
            left, right = _sides(module, words[1:])
            cases[-1][1].append(("assign", left, right))
        elif words[0] == "switch":
            cases[-1][1].append(("switch", _signal(module, words[1:])[0], _cases(module, lines)))
        else:
            raise ValueError(f"a case must assign or choose, not {line!r}")
    raise ValueError("a switch must end")


def _targets(body: Sequence[tuple[str, Bits, object]]) -> Iterator[str]:
    for word, left, right in body:
        if word == "assign":
            yield from (bit.wire for bit in left[:1] if not isinstance(bit, str))
        else:
            assert isinstance(right, list)
            for _, inside in right:
                yield from _targets(inside)


def _about(wire: str, body: Sequence[tuple[str, Bits, object]]) -> tuple[Statement, ...]:
    statements: list[Statement] = []
    for word, left, right in body:
        if word == "assign":
            first = left[0] if left else "0"
            if not isinstance(first, str) and first.wire == wire:
                assert isinstance(right, tuple)
                statements.append(Assignment(first.at, right))
            continue
        assert isinstance(right, list)
        cases = tuple((patterns, _about(wire, inside)) for patterns, inside in right)
        if any(inside for _, inside in cases):
            statements.append(Choice(left, cases))
    return tuple(statements)


def part_of(statements: Sequence[Statement], low: int, width: int) -> tuple[Statement, ...]:
    """The statements about some bits of a target, as if those were all of it."""
    selected: list[Statement] = []
    for statement in statements:
        if isinstance(statement, Choice):
            cases = tuple((patterns, part_of(inside, low, width)) for patterns, inside in statement.cases)
            if any(inside for _, inside in cases):
                selected.append(replace(statement, cases=cases))
            continue
        start, stop = max(statement.low, low), min(statement.low + len(statement.value), low + width)
        if start < stop:
            selected.append(Assignment(start - low, statement.value[start - statement.low : stop - statement.low]))
    return tuple(selected)


@dataclass
class Hierarchy:
    """The modules of a design, from the innermost to the top, by name; each has one instance."""

    modules: dict[str, RtlModule]
    top: str


def substitute(module: RtlModule, by: Mapping[WireBit, Bit]) -> None:
    """Read other bits instead of some, everywhere."""
    if not by:
        return

    def bits(old: Bits) -> Bits:
        return tuple(by.get(bit, bit) if isinstance(bit, WireBit) else bit for bit in old)

    def statements(old: Sequence[Statement]) -> tuple[Statement, ...]:
        return tuple(
            Assignment(each.low, bits(each.value))
            if isinstance(each, Assignment)
            else Choice(bits(each.selector), tuple((word, statements(inside)) for word, inside in each.cases))
            for each in old
        )

    module.operations = {
        wire: replace(each, operands=tuple(map(bits, each.operands))) for wire, each in module.operations.items()
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
    """The wire that consists of exactly these bits; None where there is none."""
    first = bits[0] if bits else "0"
    return first.wire if isinstance(first, WireBit) and bits == module.whole(first.wire) else None


def low_part(module: RtlModule, bits: Bits) -> str | None:
    """The wire whose low bits these bits are, or that is the low part of them; None where there is none."""
    first = bits[0] if bits else "0"
    if not isinstance(first, WireBit) or len(bits) < 2:
        return None
    every = module.whole(first.wire)
    least = min(len(every), len(bits))
    return first.wire if bits[:least] == every[:least] and least > 1 else None


def renamed(module: RtlModule, names: Mapping[str, str]) -> None:
    """Give wires other names."""
    by = {WireBit(old, index): WireBit(new, index) for old, new in names.items() for index in range(module.widths[old])}
    for every in ("widths", "operations", "registers", "directions", "outputs"):
        setattr(module, every, {names.get(key, key): value for key, value in getattr(module, every).items()})
    for instance in module.instances.values():
        instance.outputs = {port: names.get(wire, wire) for port, wire in instance.outputs.items()}
    substitute(module, by)
