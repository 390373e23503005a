"""A module of a netlist as SystemVerilog."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from hwsim.rtl.hierarchy.expressions import (
    CLOCK_ENABLE,
    EACH,
    Expressions,
    Run,
    Style,
    blocks,
    pieces,
    runs,
    stages,
    unmarked,
)
from hwsim.rtl.hierarchy.names import WORDS, Naming, Place, naming
from hwsim.rtl.hierarchy.netlist import Bits, Hierarchy, Operation, RtlModule, WireBit
from hwsim.rtl.hierarchy.reduced import bits_read, operands_of, values_read

WIDTH = 110
FIRST = [
    "clk",
    "rst",
    "rst_n",
    CLOCK_ENABLE,
    "enable",
    "in_valid",
    "in_ready",
]
LAST = ["out_valid", "out_ready", "out_", "misuse"]  # with what begins with these in their places
TYPES = {"in_payload": "beat_t", "out_payload": "result_t"}  # of a package
CHEAP = {"$not", "$reduce_or", "$eq"}


class WrittenPort(NamedTuple):
    """A port as it is declared: the wires of the netlist that it is made of, in order."""

    name: str
    direction: str
    width: int
    wires: tuple[str, ...]
    is_array: bool


@dataclass
class Written:
    """A module as it was written: its text from its ports on, without its name; and what is needed to use it."""

    body: str
    ports: list[WrittenPort]
    nets: int
    made_up: tuple[str, ...]
    name: str = ""


def write_module(
    design: Hierarchy, module: RtlModule, inside: Mapping[str, Written], style: Style, ports: Mapping[str, Place]
) -> Written:
    """A module whose nets are settled.

    inside: the modules that it has instances of, with their names. ports: how those of the top are written.
    """
    return _Writer(design, module, inside, style, ports).written()


class _Writer:
    def __init__(
        self,
        design: Hierarchy,
        module: RtlModule,
        inside: Mapping[str, Written],
        style: Style,
        ports: Mapping[str, Place],
    ):
        self.design, self.module, self.inside, self.style = design, module, inside, style
        self.is_top = module.name == design.top
        self.values = list(values_read(module, design))
        self.readers = self._readers()
        inlined = self._inlined()
        made_up = self._made_up(inlined)
        shown = [wire for wire in self._declared() if wire not in inlined]
        self.naming: Naming = naming(module, shown, self.is_top, made_up, ports)
        self.shown = shown
        self.text = Expressions(module, self.naming, inlined)
        self.text.spread |= self._spread()

    def _declared(self) -> list[str]:
        module = self.module
        wires = dict.fromkeys([*module.directions, *module.registers, *module.operations])
        for instance in module.instances.values():
            wires |= dict.fromkeys(instance.outputs.values())
        return list(wires)

    # What is written where it is read.

    def _readers(self) -> dict[str, str]:
        """For every wire, the first reader that has a name."""
        readers: dict[str, str] = {}

        def note(bits: Bits, reader: str) -> None:
            for bit in bits:
                if isinstance(bit, WireBit):
                    readers.setdefault(bit.wire, reader)

        for port, bits in self.module.outputs.items():
            note(bits, port)
        for wire, register in self.module.registers.items():
            for bits in operands_of(register.next):
                note(bits, wire)
        for called, instance in self.module.instances.items():
            for port, bits in instance.ports.items():
                note(bits, f"{called}__{port.removeprefix('i__')}")
        for wire, operation in self.module.operations.items():
            for bits in operation.operands:
                note(bits, wire)
        return readers

    def _inlined(self) -> dict[str, Operation]:
        module = self.module
        uses: dict[str, list[Run]] = {}
        for bits in self.values:
            for run, _ in groupby(runs(bits)):
                if run.wire in module.operations:
                    uses.setdefault(run.wire, []).append(run)
        inlined: dict[str, Operation] = {}
        for wire, operation in module.operations.items():
            if wire[0] != "$" or operation.kind == "$table" or any(run.low for run in uses[wire]):
                continue
            plain = all(len(runs(operand)) == 1 and runs(operand)[0].wire[:1] != "$" for operand in operation.operands)
            whole = all(run.width == module.widths[wire] for run in uses[wire])
            if len(uses[wire]) == 1 or (operation.kind in CHEAP and plain and whole):
                inlined[wire] = operation
        return inlined

    def _made_up(self, inlined: Mapping[str, Operation]) -> dict[str, str]:
        names: dict[str, str] = {}
        for wire in self._declared():
            if wire[0] == "$" and wire not in inlined:
                reader, kind = wire, self.module.operations[wire].kind
                while reader[0] == "$":
                    reader = self.readers[reader]
                names[wire] = f"{reader}__{WORDS[kind]}"
        return names

    def _spread(self) -> set[str]:
        """Arrays of which each element has a driver of its own: an operation, or an output of one of some instances."""
        module, apart = self.module, {*self.module.operations, *self.module.outputs}
        for instance in module.instances.values():
            arrays = {wire for port in self.inside[instance.module].ports if port.is_array for wire in port.wires}
            apart |= {wire for port, wire in instance.outputs.items() if port not in arrays}
        return {name for name, wires in self.naming.arrays.items() if apart.issuperset(wires) and "." not in name}

    # The module.

    def written(self) -> Written:
        ports = self._ports()
        nets = len({self.naming.places[wire].name for wire in self.shown})
        self.text.joined |= {port.name for port in ports if port.direction == "output"}
        unused, registers, statements = list(self._unused()), list(self._registers()), list(self._statements())
        declarations = list(self._declarations(ports))
        lines = ["(", *self._port_lines(ports), ");", *_indented(iter([*declarations, *[""] * bool(declarations)]))]
        lines += _indented(iter([*self._body(statements), *self._joins(), *registers, *unused]))
        lines.append("endmodule")
        text = re.sub(f"(\\w+){EACH}", self._element_name, unmarked("\n".join(lines)))
        body = "\n".join(part for line in text.splitlines() for part in _wrapped(line))
        made_up = tuple(dict.fromkeys(self.naming.places[wire].name for wire in self.naming.made_up))
        return Written(body, ports, nets, made_up)

    def _ports(self) -> list[WrittenPort]:
        ports: dict[str, WrittenPort] = {}
        for wire, direction in self.module.directions.items():
            name = self.naming.places[wire].name
            members = self.naming.arrays.get(name)
            wires = tuple(members) if members else (wire,)
            ports[name] = WrittenPort(name, direction, self.module.widths[wire], wires, bool(members))
        order = self.module.order

        def place(port: WrittenPort) -> tuple[int, bool, int]:
            place = FIRST.index(port.name) if port.name in FIRST else len(FIRST)
            if self.is_top:
                place += next((1 + place for place, begins in enumerate(LAST) if port.name.startswith(begins)), 0)
            return place, port.direction == "output", order.get(port.wires[0].partition("$")[0], len(order))

        return sorted(ports.values(), key=place)

    def _port_lines(self, ports: Sequence[WrittenPort]) -> Iterator[str]:
        rows = list(dict.fromkeys(map(_declared_port, ports)))
        most = max((len(kind) for _, kind, _ in rows), default=0)
        for row, (direction, kind, name) in enumerate(rows):
            yield f"  {direction:6} {kind:{most}} {name}{',' if row + 1 < len(rows) else ''}"

    def _declarations(self, ports: Sequence[WrittenPort]) -> Iterator[str]:
        declared, taken = {port.name for port in ports}, set[str]()
        for wire in self.shown:
            name = self.naming.places[wire].name
            if name in taken:
                continue
            taken.add(name)
            count, width = len(self.naming.arrays.get(name, ())), self.module.widths[wire]
            if name in self.text.spread:
                yield f"logic {_range(0, width)} {name}{EACH} [0:{count - 1}];".replace("  ", " ")
            if name not in declared and (name not in self.text.spread or name in self.text.joined):
                yield f"logic {_range(count, width)} {name};".replace("  ", " ")

    def _element_name(self, match: re.Match[str]) -> str:
        return match[1] + "_each" * (match[1] in self.text.joined)

    def _joins(self) -> Iterator[str]:
        """Arrays that are read whole, of their elements."""
        for name in sorted(self.text.spread & self.text.joined):
            elements = (f"{name}{EACH}[{index}]" for index in reversed(range(len(self.naming.arrays[name]))))
            yield f"assign {name} = {{{', '.join(elements)}}};"

    def _body(self, statements: Iterable[tuple[tuple[str, list[int]] | None, list[str]]]) -> Iterator[str]:
        lines: list[str] = []
        loops: list[str] = []
        labels: set[str] = set()
        size = 0
        for kind, texts in statements:
            for first, text, count in pieces(texts):
                if kind and count == 1:
                    text = text.replace(f" u_{kind[0]} (", f" u_{kind[0]}{kind[1][first]} (")
                if count > 1 and (count == size or not loops):
                    loops, size = [*loops, text], count
                    continue
                lines += _loop(loops, size, labels)
                loops, size = ([text], count) if count > 1 else ([], 0)
                if count == 1:
                    lines += text.splitlines()
        lines += _loop(loops, size, labels)
        yield from lines

    def _registers(self) -> Iterator[str]:
        for names in stages(self.module, self.style.reset_bits):
            for lines in blocks(self.module, names, self.text, self.style):
                yield ""
                yield from map(unmarked, lines)

    def _statements(self) -> Iterator[tuple[tuple[str, list[int]] | None, list[str]]]:
        """Assignments and instances, each array of them together, what is read before what reads it."""
        groups: dict[str, list[str]] = {}
        reads: dict[str, set[str]] = {}
        makes: dict[str, str] = {}
        kinds: dict[str, tuple[str, list[int]]] = {}

        def add(group: str, text: str, read: Sequence[Bits], results: Sequence[str]) -> None:
            groups.setdefault(group, []).append(text)
            reads.setdefault(group, set()).update(self._sources(read))
            makes.update(dict.fromkeys(results, group))

        for wire in self._in_order():
            place = self.naming.places[wire]
            operation = self.module.operations[wire]
            if operation.kind == "$table":
                add(place.name, self.text.table(self.text.net(wire), operation), operation.operands, [wire])
                continue
            text = self.text.operation(operation).words
            add(place.name, f"assign {self.text.net(wire)} = {text};", operation.operands, [wire])
        for port, bits in self.module.outputs.items():
            add(
                self.naming.places[port].name,
                f"assign {self.text.net(port)} = {self.text.value(bits).words};",
                [bits],
                [],
            )
        for called, instance in sorted(self.module.instances.items(), key=self._instance_order):
            place, inner = self.naming.instances[called], self.inside[instance.module]
            name = place.name if place.number is None else f"u_{place.name}"
            nets = instance.ports | {port: self.module.whole(wire) for port, wire in instance.outputs.items()}
            joined = {port.name: tuple(bit for wire in port.wires for bit in nets[wire]) for port in inner.ports}
            text = ",\n".join(f"  .{port}({self.text.value(bits).words})" for port, bits in joined.items())
            group = f"instance {place.name} {inner.name}"
            if place.number is not None:
                kinds.setdefault(group, (place.name, []))[1].append(place.number)
            add(
                group,
                f"{inner.name} {name} (\n{text}\n);",
                list(instance.ports.values()),
                list(instance.outputs.values()),
            )
        done: set[str] = set()
        order: list[str] = []

        def visit(group: str) -> None:
            stack = [(group, iter(sorted({makes[w] for w in reads[group] if w in makes})))]
            done.add(group)
            while stack:
                here, rest = stack[-1]
                for successor in rest:
                    if successor not in done:
                        done.add(successor)
                        stack.append((successor, iter(sorted({makes[w] for w in reads[successor] if w in makes}))))
                        break
                else:
                    order.append(here)
                    stack.pop()

        for group in groups:
            if group not in done:
                visit(group)
        for group in order:
            yield kinds.get(group), groups[group]

    def _in_order(self) -> list[str]:
        wires = [wire for wire in self.module.operations if wire in self.naming.places]
        ranks = {wire: rank for rank, wire in enumerate(wires)}
        return sorted(wires, key=lambda wire: (self.naming.places[wire].number or 0, ranks[wire]))

    def _instance_order(self, item: tuple[str, object]) -> tuple[int]:
        return (self.naming.instances[item[0]].number or 0,)

    def _sources(self, values: Sequence[Bits]) -> Iterator[str]:
        """The declared wires that some values are computed from."""
        for bits in values:
            for run in runs(bits):
                if run.wire in self.text.inlined:
                    yield from self._sources(self.text.inlined[run.wire].operands)
                elif run.wire:
                    yield run.wire

    def _unused(self) -> Iterator[str]:
        read = bits_read(self.module, self.design)
        unread: dict[str, list[str]] = {}
        for wire in self.shown:
            if self.module.directions.get(wire) == "output" or wire == CLOCK_ENABLE:
                continue
            bits = tuple(bit for bit in self.module.whole(wire) if bit not in read)
            for run in runs(bits):
                name = self.naming.places[wire].name
                unread.setdefault(name, []).append(self.text.net(run.wire, run.low, run.width))
        if unread:
            self.text.joined |= {name for name, texts in unread.items() if len(texts) > 1}
            words = [texts[0] if len(texts) == 1 else name for name, texts in unread.items()]
            yield ""
            yield "// Bits that nothing reads."
            yield f"wire unused = &{{1'b0, {', '.join(words)}}};"


def _declared_port(port: WrittenPort) -> tuple[str, str, str]:
    """A port's direction, type and name; a field of a struct is part of the struct's port."""
    name, _, field = port.name.partition(".")
    if field:
        return port.direction, TYPES[name], name
    return port.direction, f"logic {_range(len(port.wires) if port.is_array else 0, port.width)}".rstrip(), name


def _range(elements: int, width: int) -> str:
    array = f"[{elements - 1}:0]" if elements else ""
    return array + (f"[{width - 1}:0]" if width > 1 else "")


def _loop(texts: Sequence[str], count: int, labels: set[str]) -> Iterator[str]:
    if texts:
        names = [
            line.split()[1].removeprefix("u_")
            for text in texts
            for line in text.splitlines()[:1]
            if "assign " not in line
        ]
        names += [text.split()[1].partition("[")[0] for text in texts if text.startswith("assign ")]
        label, number = names[0], 2
        while label in labels:
            label, number = f"{names[0]}_{number}", number + 1
        labels.add(label)
        yield f"for (genvar i = 0; i < {count}; i++) begin : g_{label}"
        yield from _indented(line for text in texts for line in text.splitlines())
        yield "end"


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" if line else "" for line in lines)


def _wrapped(line: str) -> list[str]:
    if len(line) <= WIDTH:
        return [line.rstrip()]
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(
        line.strip(), WIDTH, initial_indent=indent, subsequent_indent=indent + "    ",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
