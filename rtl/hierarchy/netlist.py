"""Amaranth's RTLIL as netlists that a writer can work on: bits, operations, registers and instances of each module."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

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
    """What drives a wire: an operation of RTLIL, its operands already as wide as it computes.

    signed: whether a comparison or a shift takes its first operands for two's complement.
    """

    kind: str
    operands: tuple[Bits, ...]
    signed: bool = False


@dataclass(frozen=True)
class Choice:
    """In the cases whose patterns (most significant bit first, `-` for either) the selector has, other assignments."""

    selector: Bits
    cases: tuple[tuple[tuple[str, ...], tuple[Statement, ...]], ...]


@dataclass(frozen=True)
class Assignment:
    """From a bit of the target on, other bits."""

    low: int
    value: Bits


Statement = Assignment | Choice


@dataclass(frozen=True)
class NextValue:
    """What a register takes at the rising edge; where nothing is assigned, it stays."""

    clock: Bit
    next: tuple[Statement, ...]


@dataclass
class Instance:
    """A module inside another: what its inputs are given, and the wires that its outputs drive."""

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
    return tuple(WireBit(wire, at) for at in range(width))


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
        if direction in words[1:-1]:
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
        operands = [_extended(each, most, sign) for each, sign in zip(operands, signs, strict=True)]
    if kind in ARITHMETIC:
        return Operation(kind, tuple(each[:width] for each in operands))
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
    """What is assigned, and what is chosen, up to the `end` of a process, a case or a switch."""
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
            cases.append((tuple(each.partition("'")[2] for each in patterns), []))
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
    made: list[Statement] = []
    for word, left, right in body:
        if word == "assign":
            first = left[0] if left else "0"
            if not isinstance(first, str) and first.wire == wire:
                assert isinstance(right, tuple)
                made.append(Assignment(first.at, right))
            continue
        assert isinstance(right, list)
        cases = tuple((patterns, _about(wire, inside)) for patterns, inside in right)
        if any(inside for _, inside in cases):
            made.append(Choice(left, cases))
    return tuple(made)


def part_of(statements: Sequence[Statement], low: int, width: int) -> tuple[Statement, ...]:
    """The statements about some bits of a target, as if those were all of it."""
    made: list[Statement] = []
    for each in statements:
        if isinstance(each, Choice):
            cases = tuple((patterns, part_of(inside, low, width)) for patterns, inside in each.cases)
            if any(inside for _, inside in cases):
                made.append(replace(each, cases=cases))
            continue
        start, stop = max(each.low, low), min(each.low + len(each.value), low + width)
        if start < stop:
            made.append(Assignment(start - low, each.value[start - each.low : stop - each.low]))
    return tuple(made)
