"""Wires that are structs, as a wire for each field."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .design import substitute
from .netlist import NextValue, RtlModule, Statement, WireBit, part_of


@dataclass
class Part:
    """A part of a wire that was split into the fields of a struct."""

    name: str
    low: int
    width: int


def split_structs(
    module: RtlModule, given: Mapping[str, list[Part]] | None, inner: Mapping[str, Mapping[str, list[Part]]]
) -> dict[str, list[Part]]:
    """Wires that are structs become a wire for each field. given: for the top, those of its ports."""
    parts = _structs(module)
    if given is not None:
        parts = {wire: fields for wire, fields in parts.items() if wire not in module.directions} | dict(given)
    by: dict[WireBit, WireBit] = {}
    for wire in parts.keys() & module.operations.keys():  # it is named as what it drives
        module.widths[f"${wire}"] = module.widths[wire]
        module.operations[f"${wire}"] = module.operations.pop(wire)
        module.connections.append((module.whole(wire), module.whole(f"${wire}")))
    for wire, fields in parts.items():
        for each in fields:
            module.widths[each.name] = each.width
            if wire in module.directions:
                module.directions[each.name] = module.directions[wire]
            by |= {WireBit(wire, each.low + at): WireBit(each.name, at) for at in range(each.width)}
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
            instance.ports |= {each.name: bits[each.low : each.low + each.width] for each in fields}
    return parts


def _split_statements(
    wire: str, statements: tuple[Statement, ...], parts: Mapping[str, list[Part]]
) -> Iterator[tuple[str, tuple[Statement, ...]]]:
    if wire not in parts:
        yield wire, statements
        return
    for each in parts[wire]:
        yield each.name, part_of(statements, each.low, each.width)


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
    found = {}
    for wire, names in views.items():
        ends = {"input": "i__", "output": "o__"}.get(module.directions.get(wire, ""), ".")
        of_port = {name: place for name, place in names.items() if name.startswith(ends) and "." not in name}
        own = {name: place for name, place in names.items() if re.split(r"[.\[]", name)[0] == wire and name != wire}
        if fields := _tiled(module, wire, of_port) or _tiled(module, wire, own):
            found[wire] = fields
    return found


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
    return fields if not any(each.name == wire for each in fields) else []


def _free(module: RtlModule, name: str) -> str:
    """The flat name of a field, which no other wire has."""
    wanted, number = flat_name(name), 1
    found = wanted
    while found != name and found in module.widths:
        found, number = f"{wanted}${number}", number + 1
    return found


def flat_name(name: str) -> str:
    """A name in which fields and elements are set off as Amaranth does it in ports: `a.sig[3]` is `a__sig__3`."""
    return re.sub(r"[.\[]", "__", name).replace("]", "")
