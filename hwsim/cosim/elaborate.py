"""A user's sources, elaborated: the top module's ports and parameters, their shapes, and each bit of a port."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, assert_never

from pyslang.ast import (
    Compilation,
    GenerateBlockArraySymbol,
    GenerateBlockSymbol,
    InstanceArraySymbol,
    InstanceBodySymbol,
    InstanceSymbol,
    InterfacePortSymbol,
    TypeParameterSymbol,
    VariableSymbol,
    VisitAction,
)

from hwsim.base.errors import InputError
from hwsim.base.processes import Spent, bounded
from hwsim.cosim.sources import AROUND, Compiled, DesignSources, compiled

STEP = re.compile(r"\.(?P<field>[A-Za-z_][\w$]*)|\[(?P<left>\d+)(?::(?P<right>\d+))?\]")
MOST_BITS = 1 << 16  # of a port


@dataclass(frozen=True)
class Range:
    left: int
    right: int

    @property
    def count(self) -> int:
        """The number of indices."""
        return abs(self.left - self.right) + 1

    @property
    def indices(self) -> tuple[int, ...]:
        """All indices, from left to right."""
        step = 1 if self.right >= self.left else -1
        return tuple(range(self.left, self.right + step, step))

    def place(self, index: int) -> int:
        """The place of an index, counted from the right. Raises InputError for an index that is not in the range."""
        if not min(self.left, self.right) <= index <= max(self.left, self.right):
            raise InputError(f"{self.left} to {self.right}, not {index}")
        return abs(index - self.right)

    def __str__(self) -> str:
        return f"[{self.left}:{self.right}]"


@dataclass(frozen=True)
class Packed:
    """A packed array. range: indices of its elements, the one in the high bits first. element: None for single bits."""

    range: Range
    element: Shape | None = None

    @property
    def width(self) -> int:
        return self.range.count * (1 if self.element is None else self.element.width)


@dataclass(frozen=True)
class Member:
    """A field of a struct or of a union. low: its least significant bit, counted from that of the struct."""

    name: str
    low: int
    shape: Shape


@dataclass(frozen=True)
class Struct:
    """A packed struct, or a packed union, whose members all stand in the low bits."""

    width: int
    members: tuple[Member, ...]


Shape = Packed | Struct
BIT = Packed(Range(0, 0))


@dataclass(frozen=True)
class PortPart:
    """Bits `low` to `low + width - 1` of a port or of one of its words. shape: of what is in them; None for several."""

    low: int
    width: int
    shape: Shape | None


def selected(shape: Shape, path: str) -> PortPart:
    """The part that `.field`, `[3]` and `[7:4]`, in a row, select. Raises InputError, which says what is there."""
    part = PortPart(0, shape.width, shape)
    for step in STEP.finditer(path):
        if part.shape is None:
            raise InputError(f"{step[0]} selects from several elements")
        part = _field(part, part.shape, step[0][1:]) if step["field"] else _indexed(part, part.shape, step)
    return part


def _field(part: PortPart, shape: Shape, name: str) -> PortPart:
    match shape:
        case Struct(members=members):
            for member in members:
                if member.name == name:
                    return PortPart(part.low + member.low, member.shape.width, member.shape)
            raise InputError(f"has fields {', '.join(member.name for member in members)}, not {name}")
        case Packed():
            raise InputError(f"has no fields, and not {name}")
        case _:
            assert_never(shape)


def _indexed(part: PortPart, shape: Shape, step: re.Match[str]) -> PortPart:
    """An element of an array, or several that stand side by side."""
    left, right = int(step["left"]), int(step["right"] or step["left"])
    match shape:
        case Struct(members=members):
            raise InputError(f"has fields {', '.join(member.name for member in members)}, not {step[0]}")
        case Packed(range=span, element=element):
            single, name = (BIT, "bits") if element is None else (element, "elements")
        case _:
            assert_never(shape)
    try:
        high, low = span.place(left), span.place(right)
    except InputError as error:
        raise InputError(f"has {name} {error}") from None
    if high < low:
        raise InputError(f"is declared {span}; {step[0]} must run that way")
    count = high - low + 1
    return PortPart(part.low + low * single.width, count * single.width, single if step["right"] is None else None)


def words(ranges: Sequence[Range]) -> list[tuple[int, ...]]:
    """The indices of every word of an unpacked array, in the order of its declaration; one empty tuple for no array."""
    indices: list[tuple[int, ...]] = [()]
    for span in ranges:
        indices = [(*before, index) for before in indices for index in span.indices]
    return indices


MOST_NAMES = 12  # that an error lists
SECONDS, MEMORY = 60, 4 << 30  # that slang has for the sources of a design


@dataclass(frozen=True)
class Port:
    """A port of the top module.

    direction: `in`, `out` or `inout`. shape: of the port, or of a word of it. arrays: the ranges of an array of words,
    the outermost first; empty for an ordinary port. signed, two_state: of a word of an array, as declared.
    """

    name: str
    direction: str
    shape: Shape
    arrays: tuple[Range, ...] = ()
    signed: bool = False
    two_state: bool = False

    @property
    def width(self) -> int:
        """The width of the port, or of one of its words, in bits."""
        return self.shape.width

    @property
    def words(self) -> list[tuple[int, ...]]:
        """The indices of every word, as declared; one empty tuple for an ordinary port."""
        return words(self.arrays)


@dataclass(frozen=True)
class ArrayPort:
    """An array of words as a port, with the properties by which simulators differ.

    name: of the port; with its module's before it, `inner.w`, of one inside. at_variable: whether it is an output that
    stands at a variable and not at a net.
    """

    name: str
    words: int
    two_state: bool
    at_variable: bool = False


@dataclass(frozen=True)
class Module:
    """The top module, elaborated.

    ordered: sources in an order that simulators take, with those that libraries have. files: every file that was read,
    included ones too. inner_arrays: arrays as ports of modules inside.
    """

    name: str
    ports: tuple[Port, ...]
    parameters: tuple[tuple[str, str], ...]
    ordered: tuple[Path, ...]
    files: tuple[Path, ...]
    inner_arrays: tuple[ArrayPort, ...] = ()

    @property
    def arrays(self) -> tuple[ArrayPort, ...]:
        """The arrays that are ports, those of modules inside too."""
        outer = (ArrayPort(port.name, len(port.words), port.two_state) for port in self.ports if port.arrays)
        return (*outer, *self.inner_arrays)

    @property
    def by_name(self) -> dict[str, Port]:
        """The ports by name."""
        return {port.name: port for port in self.ports}


def read_module(
    sources: DesignSources, top: str | None = None, parameters: Mapping[str, int | str] | None = None
) -> Module:
    """Elaborate a user's sources.

    top: the module's name, or None for the only one that no other instantiates.
    Raises InputError for a file that cannot be read, for what slang calls an error, naming file and line, for a top
    module that is not there or that is not the only candidate, for a port that is not made of bits, and for sources
    that slang does not come to an end with: macros that double, an included device.
    """
    try:
        return bounded(partial(_read_module, sources, top, parameters or {}), SECONDS, MEMORY)
    except Spent as error:
        raise InputError(
            f"{sources.files[0]}: slang takes {error}, to read the sources: do macros grow without bound, or is an "
            "included file a device or a pipe?"
        ) from None


def _read_module(sources: DesignSources, top: str | None, given: Mapping[str, int | str]) -> Module:
    design = compiled(sources, top, given)
    body = _top(sources, design.compilation)
    known = {str(parameter.name) for parameter in body.parameters if not parameter.isLocalParam}
    for name in given:
        if name not in known:
            listed = ", ".join(sorted(known)) or "none"
            raise InputError(f"{sources.files[0]}: {top} has parameters {listed}, not {name}")
    return _module(body, design)


def _top(sources: DesignSources, compilation: Compilation) -> Any:
    tops = list(compilation.getRoot().topInstances)
    if len(tops) != 1:
        names = ", ".join(sorted(instance.name for instance in tops)[:MOST_NAMES]) or "none"
        raise InputError(f"{sources.files[0]}: the sources must have one top module, not {names}; name it")
    body = tops[0].body
    return next(iter(body)).body if tops[0].name == AROUND else body


def _module(body: Any, made: Compiled) -> Module:
    for port in body.portList:
        if isinstance(port, InterfacePortSymbol):
            raise InputError(_of_interface(str(body.definition.name), port))
    return Module(
        name=str(body.definition.name),
        ports=tuple(_port(port) for port in body.portList),
        parameters=tuple(
            (str(parameter.name), _value(parameter)) for parameter in body.parameters if not parameter.isLocalParam
        ),
        ordered=made.ordered,
        files=made.read,
        inner_arrays=tuple(_inner_arrays(body)),
    )


def _value(parameter: Any) -> str:
    if isinstance(parameter, TypeParameterSymbol):
        return str(parameter.targetType.type)
    return str(parameter.value)


def _of_interface(top: str, port: Any) -> str:
    """The message that a port is an interface, with the ports that a wrapper of the design would have instead."""
    instance, modport = port.connection
    signals = []
    for member in modport or ():
        direction = DIRECTIONS.get(member.direction.name, "inout")
        signals.append(f"{direction}put {member.type} {member.name}")
    if modport is None and instance is not None:
        seen = [member for member in instance.body if hasattr(member, "type") and hasattr(member, "lifetime")]
        signals = [f"{member.type} {member.name}" for member in seen]
    kind = "any interface" if port.interfaceDef is None else str(port.interfaceDef.name)
    named = f": {', '.join(signals[:MOST_NAMES])}" if signals else ""
    return f"{top}: port {port.name} must be bits, not {kind}: write a module around {top} with its signals{named}"


def _inner_arrays(body: Any) -> Iterator[ArrayPort]:
    """Yield the arrays that are ports of modules below the top one, each once."""
    arrays = dict[ArrayPort, None]()

    def visit(symbol: Any) -> VisitAction:
        if isinstance(symbol, InstanceSymbol):
            for connection in symbol.portConnections:
                port = connection.port
                if not isinstance(port, InterfacePortSymbol) and port.type.canonicalType.isUnpackedArray:
                    inner = _port(port)
                    name = f"{symbol.definition.name}.{inner.name}"
                    arrays[ArrayPort(name, len(inner.words), inner.two_state, _drives_variable(connection))] = None
        return VisitAction.Advance if isinstance(symbol, HIERARCHY) else VisitAction.Skip

    body.visit(visit)
    yield from arrays


def _drives_variable(connection: Any) -> bool:
    """True if a port is an output that drives a variable: in slang it is an assignment to that."""
    target = getattr(getattr(connection.expression, "left", None), "symbol", None)
    return isinstance(target, VariableSymbol)


# What instances may stand in.
HIERARCHY = (InstanceSymbol, InstanceBodySymbol, InstanceArraySymbol, GenerateBlockSymbol, GenerateBlockArraySymbol)
DIRECTIONS = {"In": "in", "Out": "out"}


def _port(port: Any) -> Port:
    kind = port.type.canonicalType
    arrays = list[Range]()
    while kind.isUnpackedArray and kind.hasFixedRange:
        arrays.append(Range(kind.range.left, kind.range.right))
        kind = kind.arrayElementType.canonicalType
    if not kind.isIntegral:
        raise InputError(f"port {port.name} must be bits, or an array of them, not {port.type}")
    return Port(
        str(port.name),
        DIRECTIONS.get(port.direction.name, "inout"),
        _shape(kind),
        tuple(arrays),
        signed=bool(kind.isSigned),
        two_state=not kind.isFourState,
    )


def _shape(kind: Any) -> Shape:
    kind = kind.canonicalType
    if kind.isStruct or kind.isPackedUnion:
        members = tuple(
            Member(str(member.name), int(member.bitOffset), _shape(member.type))
            for member in kind
            if hasattr(member, "bitOffset")
        )
        return Struct(kind.bitWidth, members)
    if kind.isPackedArray and kind.arrayElementType.canonicalType.bitWidth * kind.range.width == kind.bitWidth:
        span, element = Range(kind.range.left, kind.range.right), kind.arrayElementType.canonicalType
        return Packed(span, None if element.isScalar else _shape(element))
    return Packed(Range(kind.bitWidth - 1, 0))


NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")

# A bit of a port: the port, the indices of the word of it where it is an array of words, and the place in that.
PortBit = tuple[str, tuple[int, ...], int]
PLAIN: tuple[int, ...] = ()  # the word of a port that is no array


def named_bits(module: Module, text: str, direction: Literal["in", "out"]) -> tuple[PortBit, ...]:
    """The bits that a name stands for, the least significant first; of an array the first word as declared first.

    Raises InputError, a rule without its key, for a name that means none of the module's, and for another direction.
    """
    name = NAME.match(text)
    port = module.by_name.get(name[0]) if name else None
    if port is None:
        raise InputError(f"must name a port of {module.name} ({', '.join(module.by_name)}), not {text}")
    if port.direction != direction:
        raise InputError(f"must be an {direction}put of {module.name}, not {text} ({port.direction})")
    word, path = _word(port, text[len(port.name) :], text)
    try:
        part = selected(port.shape, path)
    except InputError as error:
        raise InputError(f"{text}: {port.name} {error}") from None
    chosen = [indices for indices in port.words if indices[: len(word)] == word]
    return tuple((port.name, indices, part.low + bit) for indices in chosen for bit in range(part.width))


def _word(port: Port, path: str, text: str) -> tuple[tuple[int, ...], str]:
    """Split a path into the indices of a word and the rest. Raises InputError for indices that are not there."""
    word = list[int]()
    for span in port.arrays:
        step = STEP.match(path)
        if step is None:
            break
        if step["left"] is None or step["right"] is not None:
            raise InputError(f"must name one word of the array {port.name}, or all of it, not {text}")
        try:
            span.place(int(step["left"]))
        except InputError as error:
            raise InputError(f"{text}: {port.name} has words {error}") from None
        word.append(int(step["left"]))
        path = path[step.end() :]
    return tuple(word), path
