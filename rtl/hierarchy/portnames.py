"""Ports with the names of the signals that they are, where Amaranth had only numbers for them."""

from __future__ import annotations

import re

from .design import Hierarchy, renamed, substitute
from .netlist import Bits, Instance, RtlModule

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
    """Outputs that are parts of one signal become one output."""
    numbered = {port: _values(module, port) for port in module.outputs if re.search(r"\$", port)}
    for name, bits in list(module.hints.items()):
        if not name.startswith("o__") or name in module.widths:
            continue
        parts, at = [], 0
        while at < len(bits):
            part = next((p for p, each in numbered.items() if bits[at : at + len(each)] == each), None)
            if part is None:
                break
            parts.append(part)
            at += len(numbered[part])
        if at != len(bits) or len(parts) < 2 or len(set(parts)) != len(parts):
            continue
        module.widths[name], module.directions[name], module.outputs[name] = len(bits), "output", bits
        joined = instance.outputs[name] = f"${called}${name}"
        outer.widths[joined] = len(bits)
        old = [bit for part in parts for bit in outer.whole(instance.outputs[part])]
        substitute(outer, dict(zip(old, outer.whole(joined), strict=True)))
        for part in parts:
            del module.directions[part], module.outputs[part], instance.outputs[part], numbered[part]
