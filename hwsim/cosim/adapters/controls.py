"""Ports of one bit that control a user's design, or that it controls, as expressions of the adapter's Verilog."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from hwsim.cosim.adapters.wiring import Direction, bit_of, port_bit
from hwsim.cosim.dut.dutfile import Dut
from hwsim.cosim.dut.protocolkind import ControlPort, NamedControl
from hwsim.cosim.sources.elaborate import Module
from hwsim.cosim.sources.portbits import NAME, PortBit

INDEXED = re.compile(r"(\w+)\[\d+\]")
PLAIN_NAME = re.compile(r"\w+(\[\d+\])?")
CONSTANTS = ("1'd0", "1'd1")  # bits that are put together to numbers
ALWAYS, NEVER = "1'b1", "1'b0"
DIRECTIONS = {"in": "input", "out": "output"}


@dataclass(frozen=True)
class Driven:
    """A bit of an input, and the expression that drives it. key: that of the file."""

    key: str
    bit: PortBit
    source: str


@dataclass(frozen=True)
class Controls:
    """The control ports that a file names, looked up in the design."""

    dut: Dut
    module: Module

    def driven(self, control: NamedControl, high: str) -> Driven:
        """An input of the protocol that is active where `high` is.

        Raises SpecError where there is no such input of one bit.
        """
        return self.driven_as(f"protocol.{control.key}", control.port, high)

    def driven_as(self, key: str, port: ControlPort, high: str) -> Driven:
        """An input that is active where `high` is. key: that of the file. Raises SpecError as `driven`."""
        return Driven(key, self._bit(key, port, "in"), high if port.active == "high" else inverted(high))

    def seen(self, control: NamedControl) -> str:
        """An output, as an expression that is high where it is active. Raises SpecError as `driven`."""
        wire = port_bit(self._bit(f"protocol.{control.key}", control.port, "out"), self.module)
        return wire if control.port.active == "high" else inverted(wire)

    def _bit(self, key: str, control: ControlPort, direction: Direction) -> PortBit:
        named, module = NAME.match(control.port), self.module
        port = module.by_name.get(named[0]) if named else None
        if port is None or port.direction != direction or port.arrays:
            ports = ", ".join(one.name for one in module.ports if one.direction == direction)
            rule = f"must name an {DIRECTIONS[direction]} of {module.name} ({ports}), not {control.port}"
            raise self.dut.wrong(key, rule)
        if port.width != 1 and control.port == port.name:
            rule = f"must name an {DIRECTIONS[direction]} of one bit, not {port.name} ({port.width} bits)"
            raise self.dut.wrong(key, rule)
        return bit_of(self.dut, module, key, control.port, direction)


def inverted(expression: str) -> str:
    """An expression of one bit that is high where the other is low."""
    if expression in (ALWAYS, NEVER):
        return ALWAYS if expression == NEVER else NEVER
    if expression.startswith("~") and _is_plain(expression[1:]):
        return expression[1:]
    return f"~{expression}" if _is_plain(expression) else f"~({expression})"


def _is_plain(expression: str) -> bool:
    """Whether an expression is a name, or a bit of one."""
    return PLAIN_NAME.fullmatch(expression) is not None


def all_of(*expressions: str) -> str:
    """An expression that is high where all of these are, each of one bit."""
    kept = [one for one in dict.fromkeys(expressions) if one != ALWAYS]
    if NEVER in kept:
        return NEVER
    return " & ".join(one if "|" not in one and "?" not in one else f"({one})" for one in kept) or ALWAYS


def joined(bits: Iterable[str]) -> str:
    """Bits, the least significant first, as one expression; those of a vector that follow one another as a slice,
    and constants as a number."""
    parts = []
    for _, run in groupby(enumerate(bits), key=lambda item: _follows(*item)):
        sources = [source for _, source in run]
        vector = INDEXED.fullmatch(sources[0])
        if vector and sources[1:]:
            parts.append(f"{vector[1]}[{_index(sources[-1])}:{_index(sources[0])}]")
        elif sources[0] in CONSTANTS:
            value = sum(CONSTANTS.index(source) << place for place, source in enumerate(sources))
            parts.append(f"{len(sources)}'d{value}")
        else:
            parts += sources
    return parts[0] if len(parts) == 1 else "{" + ", ".join(reversed(parts)) + "}"


def _index(source: str) -> int:
    return int(source[source.index("[") + 1 : -1])


def _follows(position: int, source: str) -> object:
    """Equal for bits of a vector that follow one another, and for constant ones."""
    if source in CONSTANTS:
        return CONSTANTS
    vector = INDEXED.fullmatch(source)
    return (vector[1], _index(source) - position) if vector else (position, source)
