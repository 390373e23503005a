"""Netlists without aliases, structs, repeated or idle operations: what is left is what a designer would write."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile

from hwsim.rtl.hierarchy.netlist import (
    Assignment,
    Bit,
    Bits,
    Choice,
    Hierarchy,
    Instance,
    NextValue,
    Operation,
    RtlModule,
    Statement,
    WireBit,
    part_of,
    renamed,
    substitute,
    whole_wire,
)

ZERO, ONE = {"0"}, {"1"}


def folded(module: RtlModule) -> dict[WireBit, Bit]:
    """Simplify a module's operations. Returns the bits that now stand for others: none once nothing is left to do."""
    aliases: dict[WireBit, Bit] = {}
    first: dict[tuple[Operation, int], str] = {}
    for wire, operation in list(module.operations.items()):
        width = module.widths[wire]
        value = _value(operation, width)
        if isinstance(value, Operation):
            module.operations[wire] = operation = value
            value = None
        if value is None and (operation, width) in first:
            value = module.whole(first[operation, width])
        if value is None:
            first[operation, width] = wire
            continue
        aliases |= {WireBit(wire, index): bit for index, bit in enumerate(value)}
        del module.operations[wire]
        _rename(module, wire, value)
    return aliases


def idle_registers(module: RtlModule) -> dict[WireBit, Bit]:
    """Take out registers that are always 0, as they begin, and return their bits, which stand for 0."""
    idle = [
        wire for wire, register in module.registers.items() if all(_is_zero(statement) for statement in register.next)
    ]
    for wire in idle:
        del module.registers[wire]
    return {bit: "0" for wire in idle for bit in module.whole(wire) if isinstance(bit, WireBit)}


def _is_zero(statement: Statement) -> bool:
    """True if a statement assigns nothing but 0."""
    if isinstance(statement, Assignment):
        return set(statement.value) <= ZERO
    return all(_is_zero(inner) for _, inside in statement.cases for inner in inside)


def _rename(module: RtlModule, wire: str, value: Bits) -> None:
    if wire[0] != "$":
        module.hints.setdefault(wire, value)


def _value(operation: Operation, width: int) -> Bits | Operation | None:
    """The result of an operation, or a simpler one; None for one that must stay."""
    kind, operands = operation.kind, operation.operands
    match kind:
        case "$and" | "$or":
            return _bitwise(kind, *operands)
        case "$xor":
            return next((bits for bits, rest in _both(operands) if set(rest) <= ZERO), None)
        case "$not":
            return tuple("10"[int(str(bit))] for bit in operands[0]) if _constant(operands[0]) else None
        case "$add":
            return next((bits for bits, rest in _both(operands) if set(rest) <= ZERO), None)
        case "$sub":
            return operands[0] if set(operands[1]) <= ZERO else None
        case "$mux":
            selector, otherwise, then = operands
            if then == otherwise or selector == ("0",):
                return otherwise
            if (then, otherwise) == (("1",), ("0",)):
                return selector
            return then if selector == ("1",) else None
        case "$shl" | "$shr" if _constant(operands[1]):
            places = int("".join(map(str, reversed(operands[1]))) or "0", 2)
            zeros = ("0",) * min(places, width)
            moved = (*zeros, *operands[0]) if kind == "$shl" else operands[0][places:]
            return (*moved, *("0",) * width)[:width]
        case "$sshr":
            return operands[0][:width] if set(operands[1]) <= ZERO else None
        case "$reduce_or" | "$reduce_and" | "$reduce_xor":
            return _reduction(kind, operands[0], width)
        case "$eq" | "$ne":
            return _equality(kind, *operands)
        case "$lt" | "$ge" if not operation.signed and set(operands[1]) <= ZERO:
            return ("0" if kind == "$lt" else "1",)
        case "$gt" | "$le" if not operation.signed and set(operands[0]) <= ZERO:
            return ("0" if kind == "$gt" else "1",)
        case _:
            return None


def _constant(bits: Bits) -> bool:
    return all(isinstance(bit, str) and bit in "01" for bit in bits)


def _both(operands: tuple[Bits, ...]) -> Iterator[tuple[Bits, Bits]]:
    yield operands[0], operands[1]
    yield operands[1], operands[0]


def _bitwise(kind: str, left: Bits, right: Bits) -> Bits | None:
    wins, stays = (ZERO, ONE) if kind == "$and" else (ONE, ZERO)
    if left == right:
        return left
    for operand, other in ((left, right), (right, left)):
        if set(other) == wins:
            return other
        if set(other) == stays:
            return operand
    return None


def _reduction(kind: str, bits: Bits, width: int) -> Bits | Operation | None:
    idle, wins = ("1", "0") if kind == "$reduce_and" else ("0", "1")
    above = ("0",) * (width - 1)
    if kind != "$reduce_xor" and wins in bits:
        return (wins, *above)
    remaining = tuple(bit for bit in bits if bit != idle)
    if len(remaining) < 2:
        return (remaining[0] if remaining else idle, *above)
    return Operation(kind, (remaining,)) if len(remaining) < len(bits) else None


def _equality(kind: str, left: Bits, right: Bits) -> Bits | Operation | None:
    same = "1" if kind == "$eq" else "0"
    pairs = [(left_bit, right_bit) for left_bit, right_bit in zip(left, right, strict=True) if left_bit != right_bit]
    if any(isinstance(left_bit, str) and isinstance(right_bit, str) for left_bit, right_bit in pairs):
        return ("0" if same == "1" else "1",)
    if not pairs:
        return (same,)
    if len(pairs) == 1 and pairs[0][1] in ("0", "1"):
        left_bit, right_bit = pairs[0]
        return (left_bit,) if (right_bit == "1") == (kind == "$eq") else Operation("$not", ((left_bit,),))
    if len(pairs) < len(left):
        return Operation(kind, (tuple(left_bit for left_bit, _ in pairs), tuple(opposite for _, opposite in pairs)))
    return None


@dataclass
class Part:
    """A part of a wire that was split into the fields of a struct."""

    name: str
    low: int
    width: int


def split_structs(
    module: RtlModule, ports: Mapping[str, list[Part]] | None, inner: Mapping[str, Mapping[str, list[Part]]]
) -> dict[str, list[Part]]:
    """Wires that are structs become a wire for each field. given: for the top, those of its ports."""
    parts = _structs(module)
    if ports is not None:
        parts = {wire: fields for wire, fields in parts.items() if wire not in module.directions} | dict(ports)
    by: dict[WireBit, WireBit] = {}
    for wire in parts.keys() & module.operations.keys():  # it is named as what it drives
        module.widths[f"${wire}"] = module.widths[wire]
        module.operations[f"${wire}"] = module.operations.pop(wire)
        module.connections.append((module.whole(wire), module.whole(f"${wire}")))
    for wire, fields in parts.items():
        for field in fields:
            module.widths[field.name] = field.width
            if wire in module.directions:
                module.directions[field.name] = module.directions[wire]
            by |= {WireBit(wire, field.low + index): WireBit(field.name, index) for index in range(field.width)}
    substitute(module, by)
    module.processes = [new for old in module.processes for new in _split_statements(*old, parts)]
    module.registers = {
        name: NextValue(register.clock, statements)
        for wire, register in module.registers.items()
        for name, statements in _split_statements(wire, register.next, parts)
    }
    for wire in parts:
        del module.widths[wire]
        module.directions.pop(wire, None)
    for instance in module.instances.values():
        for port, fields in inner[instance.module].items():
            if port not in instance.ports:  # split, but no port
                continue
            bits = instance.ports.pop(port)
            instance.ports |= {field.name: bits[field.low : field.low + field.width] for field in fields}
    return parts


def _split_statements(
    wire: str, statements: tuple[Statement, ...], parts: Mapping[str, list[Part]]
) -> Iterator[tuple[str, tuple[Statement, ...]]]:
    if wire not in parts:
        yield wire, statements
        return
    for part in parts[wire]:
        yield part.name, part_of(statements, part.low, part.width)


def _structs(module: RtlModule) -> dict[str, list[Part]]:
    """Wires whose bits are all in fields that have names, and those fields."""
    views: dict[str, dict[str, tuple[int, int]]] = {}
    for left, right in module.connections:
        name = left[0].wire if left and isinstance(left[0], WireBit) else ""
        base = right[0].wire if right and isinstance(right[0], WireBit) else ""
        if not base or name[:1] in "$" or left != module.whole(name) or base in module.operations:
            continue
        places = [bit.at for bit in right if isinstance(bit, WireBit) and bit.wire == base]
        if len(places) == len(right) and places == list(range(places[0], places[0] + len(right))):
            views.setdefault(base, {})[name] = (places[0], len(right))
    structs = {}
    for wire, names in views.items():
        ends = {"input": "i__", "output": "o__"}.get(module.directions.get(wire, ""), ".")
        of_port = {name: place for name, place in names.items() if name.startswith(ends) and "." not in name}
        named = {name: place for name, place in names.items() if re.split(r"[.\[]", name)[0] == wire and name != wire}
        if fields := _tiled(module, wire, of_port) or _tiled(module, wire, named):
            structs[wire] = fields
    return structs


def _tiled(module: RtlModule, wire: str, views: Mapping[str, tuple[int, int]]) -> list[Part]:
    """The innermost of the views of a wire, if every bit is in one of them; none where that is the wire itself."""
    names: dict[tuple[int, int], str] = {}
    for name, place in sorted(views.items()):
        names.setdefault(place, name)
    inner = [
        (low, width)
        for low, width in names
        if not any((low, width) != other and low <= other[0] and sum(other) <= low + width for other in names)
    ]
    end = 0
    for low, width in sorted(inner):
        if low != end:
            return []
        end += width
    if end != module.widths[wire] or (len(inner) == 1 and "$" not in wire):
        return []
    fields = [Part(_free(module, names[low, width]), low, width) for low, width in sorted(inner)]
    return fields if not any(field.name == wire for field in fields) else []


def _free(module: RtlModule, name: str) -> str:
    """The flat name of a field, which no other wire has."""
    wanted, number = flat_name(name), 1
    free = wanted
    while free != name and free in module.widths:
        free, number = f"{wanted}${number}", number + 1
    return free


def flat_name(name: str) -> str:
    """A name in which fields and elements are set off as Amaranth does it in ports: `a.sig[3]` is `a__sig__3`."""
    return re.sub(r"[.\[]", "__", name).replace("]", "")


BEGINS = {"input": "i__", "output": "o__"}
NAMED = {"input": ("i__",), "output": ("o__", "next__")}


def name_ports(design: Hierarchy) -> None:
    """Rename the ports of every module but the top, and join those that are parts of one signal."""
    for module in design.modules.values():
        for called, instance in module.instances.items():
            inner = design.modules[instance.module]
            _join(inner, called, instance, module)
            for port in [port for port in inner.directions if not port.startswith(NAMED[inner.directions[port]])]:
                name = _better(inner, port)
                if name is not None and name not in inner.widths:
                    renamed(inner, {port: name})
                    instance.ports = {name if key == port else key: bits for key, bits in instance.ports.items()}
                    instance.outputs = {name if key == port else key: wire for key, wire in instance.outputs.items()}


def _values(module: RtlModule, port: str) -> Bits:
    return module.outputs.get(port, module.whole(port))


def _better(module: RtlModule, port: str) -> str | None:
    """A name that a port has, too."""
    begins, bits = BEGINS[module.directions[port]], _values(module, port)
    names = sorted(module.hints, key=lambda name: ("$" in name, name))
    for name in names:
        if name.startswith(begins) and module.hints[name] == bits:
            return name
    if "$" not in port:
        return None
    for name in names:
        if name.startswith(begins) and len(bits) > 1 and module.hints[name][: len(bits)] == bits:
            return name
    return next((name for name in names if "$" not in name and module.hints[name] == bits), None)


def _join(module: RtlModule, called: str, instance: Instance, outer: RtlModule) -> None:
    """Join outputs that are parts of one signal into one output."""
    numbered = {port: _values(module, port) for port in module.outputs if re.search(r"\$", port)}
    for name, bits in list(module.hints.items()):
        if not name.startswith("o__") or name in module.widths:
            continue
        parts, low = [], 0
        while low < len(bits):
            part = next((p for p, value in numbered.items() if bits[low : low + len(value)] == value), None)
            if part is None:
                break
            parts.append(part)
            low += len(numbered[part])
        if low != len(bits) or len(parts) < 2 or len(set(parts)) != len(parts):
            continue
        module.widths[name], module.directions[name], module.outputs[name] = len(bits), "output", bits
        joined = instance.outputs[name] = f"${called}${name}"
        outer.widths[joined] = len(bits)
        old = [bit for part in parts for bit in outer.whole(instance.outputs[part])]
        substitute(outer, dict(zip(old, outer.whole(joined), strict=True)))
        for part in parts:
            del module.directions[part], module.outputs[part], instance.outputs[part], numbered[part]


# Bits of their operands do not matter to lower bits of what they give.
NARROWABLE = {"$add", "$sub", "$mul", "$neg", "$and", "$or", "$xor", "$xnor", "$not", "$mux", "$shl"}


def reduced(netlists: Iterable[RtlModule], top: str, ports: Mapping[str, list[Part]]) -> Hierarchy:
    """A design reduced: every module, those inside it first. ports: what becomes of those of the top."""
    by_name = {module.name: module for module in netlists}
    design = Hierarchy({}, top)
    splits: dict[str, dict[str, list[Part]]] = {}

    def visit(name: str) -> None:
        if name in design.modules:
            return
        module = by_name[name]
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
    """Reduce every module, and then what is constant, or read by nobody, across their borders.

    Returns whether something was reduced.
    """
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
        by |= {WireBit(port, index): bit for index, bit in enumerate(bits) if isinstance(bit, str)}
    read = bits_read(inner, design)
    by = {bit: constant for bit, constant in by.items() if bit in read}
    substitute(inner, by)
    return bool(by)


def _idle_outputs(module: RtlModule, design: Hierarchy) -> dict[WireBit, Bit]:
    """Remove outputs of instances that are constants or inputs. Returns their bits, which stand for those.

    One that is a part of what its instance is given stays: its name says more than the part.
    """
    aliases: dict[WireBit, Bit] = {}
    for instance in module.instances.values():
        inner = design.modules[instance.module]
        inputs = {WireBit(port, place): bit for port, bits in instance.ports.items() for place, bit in enumerate(bits)}
        for port, driver in list(inner.outputs.items()):
            sources = [bit if isinstance(bit, str) else inputs.get(bit) for bit in driver]
            known = tuple(bit for bit in sources if bit is not None)
            if len(known) < len(sources) or not (_is_constant(known) or whole_wire(inner, driver)):
                continue
            aliases |= {WireBit(instance.outputs[port], index): bit for index, bit in enumerate(known)}
            del inner.outputs[port], inner.directions[port], instance.outputs[port]
    return aliases


def _is_constant(bits: Bits) -> bool:
    return all(isinstance(bit, str) for bit in bits)


# Aliases.


class Aliases:
    """Bits that stand for other bits."""

    def __init__(self) -> None:
        self.of: dict[WireBit, Bit] = {}

    def join(self, left: Bits, right: Bits) -> None:
        """Let bits stand for others."""
        for left_bit, right_bit in zip(left, right, strict=True):
            if isinstance(left_bit, WireBit) and left_bit != right_bit:
                self.of[left_bit] = right_bit

    def found(self, bit: Bit) -> Bit:
        """The final driver of a bit."""
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
    """Write the next values of registers where they are read from."""
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
        if table := _table(module.widths[wire], statements):
            module.operations[wire] = table
            continue
        start: list[Bit] = list(module.whole(wire))
        module.connections.append((module.whole(wire), tuple(_evaluated(module, statements, start))))
    module.processes = []


LEAST_ROWS = 8  # by patterns, that are written as a table and not one in another


def _table(width: int, statements: Sequence[Statement]) -> Operation | None:
    """The operation of a process that chooses among many rows by a selector. None of another process."""
    *before, choice = statements
    if not isinstance(choice, Choice) or choice.cases[-1][0]:
        return None
    if sum(len(patterns) for patterns, _ in choice.cases) < LEAST_ROWS:
        return None
    rows: list[Bits] = []
    for _, inside in choice.cases:
        row: Bits = ("0",) * width
        for each in (*before, *inside):
            if not isinstance(each, Assignment):
                return None
            row = (*row[: each.low], *each.value, *row[each.low + len(each.value) :])
        rows.append(row)
    return Operation("$table", (choice.selector, *rows), labels=tuple(patterns for patterns, _ in choice.cases))


def _without_hold(statements: tuple[Statement, ...], itself: Bits) -> tuple[Statement, ...]:
    return tuple(
        statement for statement in statements if not (isinstance(statement, Assignment) and statement.value == itself)
    )


def _evaluated(module: RtlModule, statements: Sequence[Statement], current: list[Bit]) -> list[Bit]:
    """The value of a target after a process's statements."""
    for statement in statements:
        if isinstance(statement, Assignment):
            current = [*current[: statement.low], *statement.value, *current[statement.low + len(statement.value) :]]
            continue
        value = current
        for patterns, inside in reversed(statement.cases):
            then = _evaluated(module, inside, current)
            value = _chosen(module, _matches(module, statement.selector, patterns), then, value)
        current = value
    return current


def _new(module: RtlModule, width: int, operation: Operation) -> Bits:
    wire = f"$made{len(module.operations)}"
    module.widths[wire] = width
    module.operations[wire] = operation
    return module.whole(wire)


def _matches(module: RtlModule, selector: Bits, patterns: Sequence[str]) -> Bit:
    """A bit that is 1 where a selector has one of some patterns; an empty row is the default."""
    if not patterns:
        return "1"
    any_match: Bit = "0"
    for pattern in patterns:
        cared = [(bit, digit) for bit, digit in zip(selector, reversed(pattern), strict=True) if digit != "-"]
        left, right = tuple(bit for bit, _ in cared), tuple(digit for _, digit in cared)
        match = left[0] if right == ("1",) else _new(module, 1, Operation("$eq", (left, right)))[0]
        any_match = match if any_match == "0" else _new(module, 1, Operation("$or", ((any_match,), (match,))))[0]
    return any_match


def _chosen(module: RtlModule, when: Bit, then: Sequence[Bit], otherwise: Sequence[Bit]) -> list[Bit]:
    """Bits that are one or the other, by one operation for those that differ."""
    if when == "1":
        return list(then)
    differ = [
        index for index, (then_bit, else_bit) in enumerate(zip(then, otherwise, strict=True)) if then_bit != else_bit
    ]
    if not differ:
        return list(otherwise)
    low, high = differ[0], differ[-1] + 1
    mux = Operation("$mux", ((when,), tuple(otherwise[low:high]), tuple(then[low:high])))
    return [*otherwise[:low], *_new(module, high - low, mux), *otherwise[high:]]


# What nobody reads.


def _drop_unused(module: RtlModule, design: Hierarchy) -> None:
    """Drop operations, registers and ports that nothing reads.

    Operations whose high bits nothing reads are narrowed.
    """
    while True:
        read = bits_read(module, design)
        most: dict[str, int] = {}
        for bit in read:
            most[bit.wire] = max(most.get(bit.wire, 0), bit.at + 1)
        before = (len(module.operations), len(module.registers), sum(module.widths.values()))
        module.operations = {wire: driver for wire, driver in module.operations.items() if wire in most}
        module.registers = {wire: driver for wire, driver in module.registers.items() if wire in most}
        for wire, driver in module.operations.items():
            if driver.kind in NARROWABLE and most[wire] < module.widths[wire]:
                module.operations[wire] = _narrowed(driver, most[wire])
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
    hints = {name: tuple(takewhile(partial(_exists, module), bits)) for name, bits in module.hints.items()}
    module.hints = {name: bits for name, bits in hints.items() if len(bits) == len(module.hints[name]) or len(bits) > 1}


def _exists(module: RtlModule, bit: Bit) -> bool:
    return isinstance(bit, str) or bit.at < module.widths.get(bit.wire, 0)


def _narrowed(operation: Operation, width: int) -> Operation:
    operands = operation.operands
    wide = operands[1:] if operation.kind == "$mux" else operands[:1] if operation.kind == "$shl" else operands
    fixed = {"$mux": operands[:1], "$shl": operands[1:]}.get(operation.kind, ())
    cut = tuple(operand[:width] for operand in wide)
    return Operation(operation.kind, (*cut, *fixed) if operation.kind == "$shl" else (*fixed, *cut), operation.signed)


def operands_of(statements: Sequence[Statement]) -> Iterator[Bits]:
    """Yield everything that statements read."""
    for statement in statements:
        if isinstance(statement, Assignment):
            yield statement.value
        else:
            yield statement.selector
            for _, inside in statement.cases:
                yield from operands_of(inside)


def values_read(module: RtlModule, design: Hierarchy) -> Iterator[Bits]:
    """Yield every value that something in a module reads, once for each reader."""
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
