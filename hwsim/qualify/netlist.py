"""Circuits as Yosys' cells, and the same circuits with many mutants in them, each behind an input bit of its own.

Yosys' `mutate -ctrl` would put them in one after the other, in time that grows with their square.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, assert_never

from hwsim.files import write_texts
from hwsim.leftovers import scratch_folder
from hwsim.qualify.mutants import Mutant, listed
from hwsim.rtl.synthesis.tools import YOSYS, run_tool

SELECT = "mutants"  # the input that says which mutants are there
FLATTEN = "flatten -separator .\nopt_clean -purge\n"
LIST = "write_json {name}.json\nmutate -list 100000000 -seed {seed} -o {name}.mutants\n"
AIGER = """design -reset
read_json {name}.mutated.json
techmap
opt_clean
aigmap
opt_clean
write_aiger -ascii -symbols {name}.aag
"""
VERILOG = "design -reset\nread_json {name}.mutated.json\nwrite_verilog -noattr {name}.v\n"
BTOR = "design -reset\nread_json {name}.mutated.json\nwrite_btor {name}.btor\n"

Bit = Any  # the number of a net, or a constant: "0", "1", "x"


@dataclass(frozen=True)
class NetPort:
    """A port of a netlist, its bits from the lowest on."""

    name: str
    direction: str
    bits: tuple[Bit, ...]


@dataclass(frozen=True)
class Netlist:
    """A flat module as Yosys writes it as JSON, and every mutant of it."""

    name: str
    module: Mapping[str, Any]
    mutants: tuple[Mutant, ...]

    @property
    def ports(self) -> list[NetPort]:
        """In the module's order."""
        return [NetPort(name, port["direction"], tuple(port["bits"])) for name, port in self.module["ports"].items()]

    @property
    def cells(self) -> Mapping[str, Any]:
        """By their names."""
        cells: Mapping[str, Any] = self.module["cells"]
        return cells


def netlists(read: Mapping[str, str], files: Mapping[str, str], seed: int, seconds: float = 600) -> list[Netlist]:
    """Circuits as cells. read: for each the commands that read it, up to `proc`. files: what they read, by name.

    seed: of the bits that control `cnot0` and `cnot1`. Raises ToolMissing, and FlowFailed with what Yosys said.
    """
    with scratch_folder() as folder:
        write_texts(folder, files)
        script = [
            f"design -reset\n{commands}{FLATTEN}{LIST.format(name=f'n{at}', seed=seed)}"
            for at, commands in enumerate(read.values())
        ]
        _yosys(folder, "".join(script), seconds)
        return [_netlist(folder, f"n{at}", name) for at, name in enumerate(read)]


def _netlist(folder: Path, file: str, name: str) -> Netlist:
    modules = json.loads((folder / f"{file}.json").read_text(encoding="utf-8"))["modules"]
    (module,) = modules.values()
    lines = (folder / f"{file}.mutants").read_text(encoding="utf-8").splitlines()
    return Netlist(name, module, tuple(listed(name, lines)))


def mutated(netlist: Netlist, mutants: Sequence[Mutant]) -> dict[str, Any]:
    """The module with mutants in it, number n of which is there where bit n of the input `mutants` is set."""
    module = deepcopy(dict(netlist.module))
    for one in (*module["ports"].values(), *module["netnames"].values()):
        one.pop("offset", None)  # bits are numbered from the lowest one on
        one.pop("upto", None)
    wiring = _Wiring(module, len(mutants))
    at_port: dict[tuple[str, str, int], list[int]] = defaultdict(list)
    for number, mutant in enumerate(mutants):
        at_port[mutant.cell.removeprefix("\\"), mutant.port.removeprefix("\\"), mutant.bit].append(number)
    for cell, port, bit in at_port:
        wiring.cut(cell, port, bit)
    for (cell, port, bit), numbers in at_port.items():
        wiring.put(cell, port, bit, [(number, mutants[number]) for number in numbers])
    return module


class _Wiring:
    """Gates that are put between a cell's port and its net."""

    def __init__(self, module: dict[str, Any], mutants: int):
        self.cells = module["cells"]
        self.plain = {name: deepcopy(cell["connections"]) for name, cell in self.cells.items()}
        nets = [bit for cell in self.plain.values() for bits in cell.values() for bit in bits if isinstance(bit, int)]
        nets += [bit for port in module["ports"].values() for bit in port["bits"] if isinstance(bit, int)]
        nets += [bit for wire in module["netnames"].values() for bit in wire["bits"] if isinstance(bit, int)]
        self.following = max(nets, default=1) + 1
        self.select = [self.net() for _ in range(mutants)]
        if mutants:
            module["ports"][SELECT] = {"direction": "input", "bits": self.select}
            module["netnames"][SELECT] = {"hide_name": 0, "bits": self.select, "attributes": {}}

    def net(self) -> int:
        """A new net."""
        self.following += 1
        return self.following - 1

    def gate(self, kind: str, a: Bit, b: Bit, y: Bit | None = None) -> Bit:
        """The output of a new gate of two inputs."""
        y = self.net() if y is None else y
        self.cells[f"$mutant${len(self.cells)}"] = {
            "hide_name": 1, "type": f"$_{kind}_", "parameters": {}, "attributes": {},
            "port_directions": {"A": "input", "B": "input", "Y": "output"},
            "connections": {"A": [a], "B": [b], "Y": [y]},
        }  # fmt: skip
        return y

    def cut(self, cell: str, port: str, bit: int) -> None:
        """Take a net off the output that drives it, which gets one of its own."""
        found = self.cells[cell]
        if found["port_directions"][port] == "output":
            found["connections"][port][bit] = self.net()

    def put(self, cell: str, port: str, bit: int, mutants: Sequence[tuple[int, Mutant]]) -> None:
        """All mutants of one bit of a port, one behind the other; no two of them are there at once."""
        found = self.cells[cell]
        is_output = found["port_directions"][port] == "output"
        # What controls a mutant is as it is without any: else two bits that control one another would make a loop.
        controls = list(found["connections"][port]) if is_output else self.plain[cell][port]
        value = controls[bit]
        for at, (number, mutant) in enumerate(mutants):
            last = self.plain[cell][port][bit] if is_output and at == len(mutants) - 1 else None
            chosen = self.select[number]
            match mutant.mode:
                case "inv":
                    value = self.gate("XOR", value, chosen, last)
                case "const0":
                    value = self.gate("ANDNOT", value, chosen, last)
                case "const1":
                    value = self.gate("OR", value, chosen, last)
                case "cnot0":
                    value = self.gate("XOR", value, self.gate("ANDNOT", chosen, controls[mutant.control]), last)
                case "cnot1":
                    value = self.gate("XOR", value, self.gate("AND", chosen, controls[mutant.control]), last)
                case _:
                    assert_never(mutant.mode)
        if not is_output:
            found["connections"][port][bit] = value


def written(
    parts: Sequence[tuple[Netlist, Sequence[Mutant]]], suffix: str, script: str, top: str = "top", seconds: float = 600
) -> list[str]:
    """Netlists with mutants in them, as Yosys writes them. suffix: of the files that the script makes. top: a name."""
    with scratch_folder() as folder:
        for at, (netlist, mutants) in enumerate(parts):
            whole = {"creator": "hwsim", "modules": {top: mutated(netlist, mutants)}}
            (folder / f"n{at}.mutated.json").write_text(json.dumps(whole), encoding="utf-8")
        _yosys(folder, "".join(script.format(name=f"n{at}") for at in range(len(parts))), seconds)
        return [(folder / f"n{at}.{suffix}").read_text(encoding="utf-8") for at in range(len(parts))]


def _yosys(folder: Path, script: str, seconds: float) -> None:
    (folder / "script").write_text(script, encoding="utf-8")
    run_tool(YOSYS, ["-q", "-s", "script"], folder, seconds)
