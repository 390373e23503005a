"""Mutants of a netlist: small changes of one bit of one port of one cell, and many of them in one circuit."""

from __future__ import annotations

import json
import re
import shlex
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, assert_never, get_args

from hwsim.base.files import write_texts
from hwsim.base.processes import scratch_folder
from hwsim.rtl.synthesis.flows import YOSYS, run_tool

Mode = Literal["inv", "const0", "const1", "cnot0", "cnot1"]
MODES: tuple[Mode, ...] = get_args(Mode)

FOLDERS = re.compile(r"(?:source\d+)?/(?:[^/$ ]+/)*")  # of paths in the names that Yosys gives


@dataclass(frozen=True)
class Mutant:
    """One change of a circuit.

    step: the circuit's name. bit: of the port. mode: `inv` inverts it, `const0` and `const1` hold it, `cnot0` and
    `cnot1` invert it where the port's bit `control` is 0 or 1. source: `file:line` of what the cell was made from, or
    nothing.
    """

    step: str
    cell: str
    port: str
    bit: int
    mode: Mode
    control: int = -1
    source: str = ""

    @property
    def name(self) -> str:
        """The mutant's step, cell, port with bit, and mode."""
        by = f"[{self.control}]" if self.control >= 0 else ""
        return f"{self.step} {FOLDERS.sub('', self.cell)}.{self.port}[{self.bit}] {self.mode}{by}"

    @property
    def place(self) -> str:
        """The name of the file and the line that the cell was made from."""
        return FOLDERS.sub("", self.source)

    @property
    def command(self) -> str:
        """The command that makes it in Yosys."""
        control = f" -ctrlbit {self.control}" if self.control >= 0 else ""
        place = f"-cell {self.cell} -port {self.port} -portbit {self.bit}"
        return f"mutate -mode {self.mode} -module top {place}{control}"


def listed(step: str, lines: Iterable[str]) -> Iterator[Mutant]:
    """Yield the mutants that `mutate -list` has written, one a line."""
    for line in lines:
        words = line.split() if '"' not in line else shlex.split(line, posix=False)
        by = {word[1:]: words[place + 1] for place, word in enumerate(words) if word.startswith("-")}
        mode = by["mode"]
        if mode not in MODES:
            continue  # `none`: no change
        yield Mutant(
            step, by["cell"], by["port"], int(by["portbit"]), mode, int(by.get("ctrlbit", -1)), by.get("src", "")
        )


SELECT = "mutants"  # the input that says which mutants are there
# Amaranth writes a gate once for each bit that it goes to, where the Verilog has one.
FLATTEN = "flatten -separator .\nopt_merge\nopt_clean -purge\n"
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
        """The ports, in the module's order."""
        return [NetPort(name, port["direction"], tuple(port["bits"])) for name, port in self.module["ports"].items()]

    @property
    def cells(self) -> Mapping[str, Any]:
        """The cells, by their names."""
        cells: Mapping[str, Any] = self.module["cells"]
        return cells


def netlists(read: Mapping[str, str], files: Mapping[str, str], seed: int, seconds: float = 600) -> list[Netlist]:
    """Circuits as cells. read: for each the commands that read it, up to `proc`. files: what they read, by name.

    seed: of the bits that control `cnot0` and `cnot1`. Raises ToolMissing, and FlowFailed with what Yosys said.
    """
    with scratch_folder() as folder:
        write_texts(folder, files)
        script = [
            f"design -reset\n{commands}{FLATTEN}{LIST.format(name=f'n{index}', seed=seed)}"
            for index, commands in enumerate(read.values())
        ]
        _yosys(folder, "".join(script), seconds)
        return [_netlist(folder, f"n{index}", name) for index, name in enumerate(read)]


def _netlist(folder: Path, file: str, name: str) -> Netlist:
    modules = json.loads((folder / f"{file}.json").read_text(encoding="utf-8"))["modules"]
    (module,) = modules.values()
    lines = (folder / f"{file}.mutants").read_text(encoding="utf-8").splitlines()
    return Netlist(name, module, tuple(listed(name, lines)))


def mutated(netlist: Netlist, mutants: Sequence[Mutant]) -> dict[str, Any]:
    """The module with mutants in it, number n of which is there where bit n of the input `mutants` is set."""
    module = deepcopy(dict(netlist.module))
    for entry in (*module["ports"].values(), *module["netnames"].values()):
        entry.pop("offset", None)  # bits are numbered from the lowest one on
        entry.pop("upto", None)
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
        target = self.cells[cell]
        if target["port_directions"][port] == "output":
            target["connections"][port][bit] = self.net()

    def put(self, cell: str, port: str, bit: int, mutants: Sequence[tuple[int, Mutant]]) -> None:
        """Put in all mutants of one bit of a port, one behind the other; no two of them are there at once."""
        target = self.cells[cell]
        is_output = target["port_directions"][port] == "output"
        # What controls a mutant is as it is without any: else two bits that control one another would make a loop.
        controls = list(target["connections"][port]) if is_output else self.plain[cell][port]
        value = controls[bit]
        for place, (number, mutant) in enumerate(mutants):
            last = self.plain[cell][port][bit] if is_output and place == len(mutants) - 1 else None
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
            target["connections"][port][bit] = value


def written(
    parts: Sequence[tuple[Netlist, Sequence[Mutant]]], suffix: str, script: str, top: str = "top", seconds: float = 600
) -> list[str]:
    """Netlists with mutants in them, as Yosys writes them. suffix: of the files that the script makes. top: a name."""
    with scratch_folder() as folder:
        for index, (netlist, mutants) in enumerate(parts):
            whole = {"creator": "hwsim", "modules": {top: mutated(netlist, mutants)}}
            (folder / f"n{index}.mutated.json").write_text(json.dumps(whole), encoding="utf-8")
        _yosys(folder, "".join(script.format(name=f"n{index}") for index in range(len(parts))), seconds)
        return [(folder / f"n{index}.{suffix}").read_text(encoding="utf-8") for index in range(len(parts))]


def _yosys(folder: Path, script: str, seconds: float) -> None:
    (folder / "script").write_text(script, encoding="utf-8")
    run_tool(YOSYS, ["-q", "-s", "script"], folder, seconds)


# An or of all bits of A is what it is where one of them is set, and an and where one is cleared.
ANY, ALL = ("$reduce_or", "$reduce_bool", "$logic_not"), ("$reduce_and",)


def absorbed(netlist: Netlist, mutant: Mutant) -> bool:
    """True if a mutant holds a bit at what it is, or inverts one of many only where another decides alone."""
    cell, port = netlist.cells[mutant.cell.removeprefix("\\")], mutant.port.removeprefix("\\")
    bits = cell["connections"][port]
    match mutant.mode:
        case "const0":
            return bool(bits[mutant.bit] == "0")
        case "const1":
            return bool(bits[mutant.bit] == "1")
        case "cnot0":
            return bits[mutant.control] == "1" or (cell["type"] in ALL and port == "A")
        case "cnot1":
            return bits[mutant.control] == "0" or (cell["type"] in ANY and port == "A")
        case "inv":
            return False


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
        for earlier in those:
            after[earlier].add(name)
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
    """The union of what a cell and all that it depends on have, for each cell of a circuit without loops."""
    gathered: dict[str, frozenset[int | None]] = {}
    for start in names:
        stack = [start]
        while stack:
            name = stack[-1]
            missing = [neighbour for neighbour in neighbours(name) if neighbour not in gathered]
            if missing:
                stack += missing
            else:
                stack.pop()
                gathered[name] = frozenset(own[name]).union(*(gathered[neighbour] for neighbour in neighbours(name)))
    return gathered
