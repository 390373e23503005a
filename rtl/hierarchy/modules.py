"""A component as SystemVerilog of several modules: one for each step, and one for all lanes that are alike."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from typing import NamedTuple

from amaranth.hdl import Fragment
from amaranth.lib.stream import Signature
from amaranth.lib.wiring import Component

from hwsim.rtl.hierarchy.expressions import PLAIN, Style, apply_style
from hwsim.rtl.hierarchy.names import Place, fields_of, member_name, package_name, settle_nets
from hwsim.rtl.hierarchy.netlist import Hierarchy, read_netlists, rtlil_of
from hwsim.rtl.hierarchy.reduced import Part, reduced
from hwsim.rtl.step import purpose_of

from .writing import Written, write_module


class Modules(NamedTuple):
    """Modules as text, the top first; how many nets they declare, and those that have no name in the source."""

    text: str
    names: tuple[str, ...]
    nets: int
    made_up: tuple[str, ...]


def modules(component: Component, top: str, style: Style = PLAIN) -> Modules:
    """A component and all that is inside it."""
    fragment = Fragment.get(component, None)
    components = _components(fragment, "top")
    ports = stream_ports(component)
    # Ports are those of the component's signature, which a fragment no longer has.
    design = reduced(read_netlists(rtlil_of(_Elaborated(component, fragment), "top")), "top", ports)
    apply_style(design, style)
    places = {part.name: _place(part.name, style) for parts in ports.values() for part in parts}
    written: dict[str, Written] = {}
    texts, unique = dict[str, str](), dict[str, Written]()
    taken: set[str] = set()
    for path, module in design.modules.items():
        settle_nets(module, path == "top")
        module.order = _port_order(components.get(path))
        module_text = write_module(design, module, written, style, places if path == "top" else {})
        comment = _comment(components.get(path))
        written[path] = module_text
        texts[path] = comment + module_text.body
        first = unique.setdefault(texts[path], module_text)
        if first is not module_text:  # the same text, whose ports may have other wires
            module_text.name = first.name
        else:
            module_text.name = _name(path, top, taken)
            taken.add(module_text.name)
            imports = f"\n  import {package_name(top)}::*;\n" if path == "top" and style.package else " "
            module_text.body = f"{comment}module {module_text.name}{imports}{module_text.body}"
    ordered = [unique[text] for text in dict.fromkeys(texts[path] for path in _from_top(design, "top"))]
    text = "\n\n".join(entry.body for entry in ordered) + "\n"
    made_up = tuple(f"{entry.name}.{net}" for entry in ordered for net in entry.made_up)
    return Modules(text, tuple(entry.name for entry in ordered), sum(entry.nets for entry in ordered), made_up)


def _from_top(design: Hierarchy, path: str) -> Iterator[str]:
    """The modules from the top on, each before those inside it."""
    yield path
    for instance in design.modules[path].instances.values():
        yield from _from_top(design, instance.module)


def stream_ports(component: Component) -> dict[str, list[Part]]:
    """Ports for the streams `i` and `o` of a component: one for each field, named in words."""
    ports: dict[str, list[Part]] = {}
    streams = {"i": "in", "o": "out"}
    for stream, member in component.signature.members.items():
        if stream not in streams or not member.is_signature or not isinstance(member.signature, Signature):
            continue
        name = streams[stream]
        ports |= {f"{stream}__{each}": [Part(f"{name}_{each}", 0, 1)] for each in ("valid", "ready")}
        ports[f"{stream}__payload"] = [
            Part(
                f"{name}_{each.name}" + f"__{element}" * (each.elements > 0), each.low + element * each.bits, each.bits
            )
            for each in fields_of(member.signature.members["payload"].shape)
            for element in range(each.elements or 1)
        ]
    return ports


def _place(port: str, style: Style) -> Place:
    """The expression for a port: its name, an element of an array, or a field of the struct that has it."""
    name, _, number = port.partition("__")
    stream, _, field = name.partition("_")
    if style.package and field not in ("valid", "ready"):
        name = f"{stream}_payload.{member_name(field)}"
    return Place(name, int(number) if number else None)


class _Elaborated(Component):
    """A component that has been elaborated."""

    def __init__(self, component: Component, fragment: Fragment):
        self.component, self.fragment = component, fragment
        super().__init__(component.signature)
        for name in component.signature.members:
            setattr(self, name, getattr(component, name))

    def elaborate(self, platform: object) -> Fragment:
        return self.fragment


def _components(fragment: Fragment, path: str) -> dict[str, Component]:
    """The components that modules are of."""
    components: dict[str, Component] = {}
    for origin in reversed(fragment.origins or ()):
        if isinstance(origin, Component):
            components[path] = origin
    for inner, name, *_ in fragment.subfragments:
        components |= _components(inner, f"{path}.{name}")
    return components


def _port_order(component: Component | None) -> dict[str, int]:
    """The places of a component's signals in its signature, by their flat names."""
    if component is None:
        return {}
    paths = (path for path, _, _ in component.signature.flatten(component))
    return {"__".join(map(str, path)): place for place, path in enumerate(paths)}


def _comment(component: Component | None) -> str:
    words = purpose_of(component) if component is not None else ""
    return "".join(f"// {line}\n" for line in textwrap.wrap(words, 107, break_long_words=False))


def _name(path: str, top: str, taken: set[str]) -> str:
    tokens = [re.sub(r"\$?(?<=\D)\d+$", "", token).rstrip("_$") for token in path.split(".")[1:]]
    if len(tokens) > 1 and tokens[0] == "datapath":
        tokens = tokens[1:]
    name = wanted = "_".join([top, *tokens])
    number = 2
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    return name
