"""Mutants of a user's design that its vectors do not kill: which of them change nothing, whatever comes.

A mutant changes nothing where every output, and what every register takes next, is the same with it in any state and
with any inputs. Where an output of a design without registers differs, there are inputs that show it.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hwsim.qualify.mutants import Mutant
from hwsim.qualify.netlist import SELECT, Netlist, written
from hwsim.rtl.synthesis.tools import FlowFailed

if TYPE_CHECKING:
    from hwsim.prove.btor import Circuit

EACH, ALTOGETHER = 2.0, 30.0  # seconds of the processor for one question, and for all
BTOR = "design -reset\nread_json {name}.mutated.json\nasync2sync\ndffunmap\nopt_clean\nwrite_btor {name}.btor\n"
CLOCKS = ("CLK", "C")  # ports of registers; BTOR2 has one clock, and so nothing that changes it


@dataclass(frozen=True)
class ChangeOfMutant:
    """What is known of a mutant. equal: whether it changes nothing; None where that is not known.

    inputs: those that show a change, by port; none unless they are known.
    """

    equal: bool | None
    inputs: tuple[tuple[str, int], ...] = ()


UNKNOWN = ChangeOfMutant(None)


def differences(netlist: Netlist, mutants: Sequence[Mutant], tell: Callable[[int], None]) -> list[ChangeOfMutant]:
    """What each of some mutants changes. tell: called with how many are done.

    None is known where bitwuzla is not installed, and of a design that BTOR2 does not have, as one with latches.
    """
    clocked = clocking(netlist)
    asked = [mutant for mutant in mutants if not _of_clock(mutant, clocked)]
    if not asked or importlib.util.find_spec("bitwuzla") is None:
        return [UNKNOWN] * len(mutants)
    from hwsim.prove.btor import read_btor

    try:
        (text,) = written([(netlist, asked)], "btor", BTOR)
        found = dict(zip(asked, _decided(read_btor(text, "mutated."), len(asked), tell), strict=True))
    except (FlowFailed, ValueError):
        return [UNKNOWN] * len(mutants)
    return [found.get(mutant, UNKNOWN) for mutant in mutants]


def _decided(circuit: Circuit, count: int, tell: Callable[[int], None]) -> list[ChangeOfMutant]:
    from hwsim.prove.logic import all_substituted, ask, both, same, simplified, value

    registers = [state.next for state in circuit.states.values() if state.next is not None]
    terms, select = [*circuit.outputs.values(), *registers], circuit.inputs[SELECT]
    shown = {name: term for name, term in circuit.inputs.items() if name != SELECT}
    plain = [simplified(term) for term in all_substituted(terms, {select: value(0, count)})]
    found, begun = list[ChangeOfMutant](), time.thread_time()
    for number in range(count):
        left = ALTOGETHER - (time.thread_time() - begun)
        if left <= 0:
            found.append(UNKNOWN)
            continue
        changed = all_substituted(terms, {select: value(1 << number, count)})
        claim = both(*(same(one, simplified(other)) for one, other in zip(plain, changed, strict=True)))
        answer = ask(claim, (), min(EACH, left), shown.values())
        if answer.word == "proved":
            found.append(ChangeOfMutant(True))
        elif answer.word == "refuted" and not circuit.states and answer.model is not None:
            values = {term.symbol(): name for name, term in shown.items()}
            found.append(ChangeOfMutant(False, tuple((values[symbol], code) for symbol, code in answer.model.items())))
        else:
            found.append(UNKNOWN)
        tell(number + 1)
    return found


def clocking(netlist: Netlist) -> set[str]:
    """The cells on which a clock depends."""
    drivers = {
        bit: name
        for name, cell in netlist.cells.items()
        for port, bits in cell["connections"].items() if cell["port_directions"][port] == "output"
        for bit in bits
    }  # fmt: skip
    left = [bit for cell in netlist.cells.values() for port in CLOCKS for bit in _clock(cell, port)]
    found = set[str]()
    while left:
        name = drivers.get(left.pop())
        if name is not None and name not in found:
            found.add(name)
            cell = netlist.cells[name]
            left += [bit for port, bits in cell["connections"].items()
                     if cell["port_directions"][port] == "input" for bit in bits]  # fmt: skip
    return found


def _clock(cell: dict[str, object], port: str) -> list[object]:
    """The clock of a register."""
    connections, parameters = cell["connections"], cell["parameters"]
    assert isinstance(connections, dict) and isinstance(parameters, dict)
    return list(connections.get(port, ())) if "CLK_POLARITY" in parameters else []


def _of_clock(mutant: Mutant, clocked: set[str]) -> bool:
    return mutant.port.removeprefix("\\") in CLOCKS or mutant.cell.removeprefix("\\") in clocked
