"""Which cells are of lanes other than the first: all lanes are proved to be one term, so that one stands for all."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable

from hwsim.qualify.mutants import Mutant
from hwsim.qualify.netlist import Netlist

# What a step takes and gives for each lane, or for each block of lanes.
OF_LANES = re.compile(r"[io]__(?:a|b|terms|shifts|aligned|scale_exp|scale_a|scale_b)__(\d+)(?:__|$)")


def of_one_lane(netlist: Netlist, lanes: int) -> list[Mutant]:
    """The mutants of lane 0 and of what lanes share.

    A cell is another lane's where of all lanes it depends on that one alone, or reaches that one's outputs alone.
    """
    others = _of_other_lanes(netlist, lanes)
    return [mutant for mutant in netlist.mutants if mutant.cell.removeprefix("\\") not in others]


def _of_other_lanes(netlist: Netlist, lanes: int) -> set[str]:
    def lane(port: str) -> int | None:
        found = OF_LANES.match(port)
        # The addend is aligned beside the lanes, the last of all.
        return int(found[1]) if found and int(found[1]) < lanes else None

    driver: dict[object, str] = {}
    takes: dict[str, list[object]] = {}
    for name, cell in netlist.cells.items():
        takes[name] = []
        for port, bits in cell["connections"].items():
            if cell["port_directions"][port] == "output":
                driver |= dict.fromkeys(bits, name)
            else:
                takes[name] += bits
    before = {name: {driver[bit] for bit in bits if bit in driver} for name, bits in takes.items()}
    after: dict[str, set[str]] = defaultdict(set)
    for name, those in before.items():
        for one in those:
            after[one].add(name)
    brings = {bit: lane(port.name) for port in netlist.ports if port.direction == "input" for bit in port.bits}
    from_ports = {name: {brings[bit] for bit in bits if bit in brings} - {None} for name, bits in takes.items()}
    to_ports: dict[str, set[int | None]] = {name: set() for name in takes}
    for port in netlist.ports:
        if port.direction == "output":
            for bit in port.bits:
                if bit in driver:
                    to_ports[driver[bit]].add(lane(port.name))
    depends = _gathered(takes, before.__getitem__, from_ports)
    reaches = _gathered(takes, after.__getitem__, to_ports)
    return {name for name in takes if any(_is_other(found[name]) for found in (depends, reaches))}


def _is_other(found: frozenset[int | None]) -> bool:
    return len(found) == 1 and not found & {0, None}


def _gathered(
    names: Iterable[str], neighbours: Callable[[str], set[str]], own: dict[str, set[int | None]]
) -> dict[str, frozenset[int | None]]:
    """What a cell and all that it depends on have, for each cell of a circuit without loops."""
    found: dict[str, frozenset[int | None]] = {}
    for start in names:
        stack = [start]
        while stack:
            name = stack[-1]
            missing = [one for one in neighbours(name) if one not in found]
            if missing:
                stack += missing
            else:
                stack.pop()
                found[name] = frozenset(own[name]).union(*(found[one] for one in neighbours(name)))
    return found
