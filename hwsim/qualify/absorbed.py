"""Mutants that change nothing of their own cell, whatever else there is: no vector and no solver need be asked."""

from __future__ import annotations

from hwsim.qualify.mutants import Mutant
from hwsim.qualify.netlist import Netlist

# An or of all bits of A is what it is where one of them is set, and an and where one is cleared.
ANY, ALL = ("$reduce_or", "$reduce_bool", "$logic_not"), ("$reduce_and",)


def absorbed(netlist: Netlist, mutant: Mutant) -> bool:
    """Whether a mutant holds a bit at what it is, or inverts one of many only where another decides alone."""
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
