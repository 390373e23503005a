"""Machines: registers as functions of themselves and of inputs, followed from cycle to cycle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hwsim.errors import InputError
from hwsim.prove.btor import Circuit
from hwsim.prove.logic import Term, all_substituted, constant, substituted, width


@dataclass(frozen=True)
class Machine:
    """Registers now and in the next cycle, and inputs. Next values are functions of both."""

    now: Mapping[str, Term]
    next: Mapping[str, Term]
    inputs: Mapping[str, Term]

    @classmethod
    def of(cls, circuit: Circuit) -> Machine:
        """A circuit's registers. Raises InputError for one that nothing writes: it would be an input."""
        written = {name: state.next for name, state in circuit.states.items() if state.next is not None}
        if free := sorted(circuit.states.keys() - written.keys()):
            raise InputError(f"registers must be written by something, which {', '.join(free)} are not")
        return cls({name: circuit.states[name].now for name in written}, written, circuit.inputs)

    def after(self, term: Term) -> Term:
        """What a function of registers alone is in the next cycle."""
        return substituted(term, {self.now[name]: self.next[name] for name in self.now})


@dataclass(frozen=True)
class Cycle:
    """One cycle: what stands in registers and at inputs."""

    registers: Mapping[str, Term]
    by: Mapping[Term, Term]

    def of(self, term: Term) -> Term:
        """A function of registers and inputs, in this cycle."""
        return substituted(term, self.by)


def nothing(_: int) -> Mapping[str, Term]:
    """No inputs are given."""
    return {}


def cycles(
    machine: Machine,
    count: int,
    given: Callable[[int], Mapping[str, Term]] = nothing,
    replaced: Callable[[int], Mapping[str, Term]] = nothing,
) -> list[Cycle]:
    """So many cycles, the first from any state.

    given: inputs in a cycle, by name; others are any. replaced: registers that hold something else in a cycle.
    """
    registers, found = dict(machine.now), []
    for at in range(count):
        registers |= replaced(at)
        inputs = {name: constant(f"{term.symbol()}@{at}", width(term)) for name, term in machine.inputs.items()}
        inputs |= given(at)
        by = {machine.now[name]: term for name, term in registers.items()}
        by |= {machine.inputs[name]: term for name, term in inputs.items()}
        found.append(Cycle(registers, by))
        registers = dict(zip(machine.next, all_substituted(machine.next.values(), by), strict=True))
    return found
