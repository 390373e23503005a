"""A component as SystemVerilog of several modules: one for each step, and one for all lanes that are alike."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from amaranth.back import rtlil
from amaranth.hdl import Fragment
from amaranth.lib.wiring import Component

from .design import Hierarchy
from .names import settle_nets
from .netlist import read_netlists
from .reduced import reduced
from .writing import Written, write_module


class Modules(NamedTuple):
    """Modules as text, the top first; how many nets they declare, and how many of those have no name in the source."""

    text: str
    names: tuple[str, ...]
    nets: int
    made_up: int


def modules(component: Component, top: str) -> Modules:
    """A component and all that is inside it."""
    fragment = Fragment.get(component, None)
    words = _words(fragment, "top")
    # Ports are those of the component's signature, which a fragment no longer has.
    design = reduced(read_netlists(rtlil.convert(_Elaborated(component, fragment), name="top", emit_src=False)), "top")
    written: dict[str, Written] = {}
    unique: dict[str, Written] = {}
    taken: set[str] = set()
    for path, module in design.modules.items():
        settle_nets(module)
        found = write_module(design, module, written)
        if found.body not in unique:
            unique[found.body] = found
            found.name = _name(path, top, taken)
            taken.add(found.name)
            found.body = _comment(words.get(path, "")) + f"module {found.name} {found.body}"
            written[path] = found
        else:
            written[path] = unique[found.body]
    ordered = list({id(written[path]): written[path] for path in _from_top(design, "top")}.values())
    text = "\n\n".join(each.body for each in ordered) + "\n"
    made_up = sum(each.made_up for each in ordered)
    return Modules(text, tuple(each.name for each in ordered), sum(each.nets for each in ordered), made_up)


def _from_top(design: Hierarchy, path: str) -> Iterator[str]:
    """The modules from the top on, each before those inside it."""
    yield path
    for instance in design.modules[path].instances.values():
        yield from _from_top(design, instance.module)


class _Elaborated(Component):
    """A component that has been elaborated."""

    def __init__(self, component: Component, fragment: Fragment):
        self.component, self.fragment = component, fragment
        super().__init__(component.signature)
        for name in component.signature.members:
            setattr(self, name, getattr(component, name))

    def elaborate(self, platform: object) -> Fragment:
        return self.fragment


def _words(fragment: Fragment, path: str) -> dict[str, str]:
    """What the docstrings of components say that they are, by their modules."""
    found: dict[str, str] = {}
    for origin in reversed(fragment.origins or ()):
        if isinstance(origin, Component) and type(origin).__doc__:
            found[path] = str(type(origin).__doc__)
    for inner, name, *_ in fragment.subfragments:
        found |= _words(inner, f"{path}.{name}")
    return found


def _comment(words: str) -> str:
    first = re.split(r"\n\s*\n", words.strip())[0]
    return "".join(f"// {line.strip()}\n" for line in first.splitlines())


def _name(path: str, top: str, taken: set[str]) -> str:
    tokens = [re.sub(r"(?<=\D)\d+$", "", token) for token in path.split(".")[1:]]
    if len(tokens) > 1 and tokens[0] == "datapath":
        tokens = tokens[1:]
    name = wanted = "_".join([top, *tokens])
    number = 2
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    return name
