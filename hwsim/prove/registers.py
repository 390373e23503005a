"""Registers of a file as the elaborated unit has them: elements of its arrays apart, and the fields of a beat joined.

Verilog of several modules has one array for all contexts, and a register for each field of what flies beside the
datapath, without the fields that nothing reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from amaranth.lib.data import StructLayout

from hwsim.errors import InputError
from hwsim.prove.btor import Circuit, Register
from hwsim.prove.followed import packed
from hwsim.prove.logic import Term, constant, part, substituted, width


def as_elaborated(file: Circuit, unit: Circuit, flight: StructLayout) -> Circuit:
    """A file's circuit with registers named and cut as the unit's, as far as it has their bits.

    flight: the fields of the registers `flight1`, `flight2` ... A field that the file lacks does what the unit's does:
    nothing in the file reads it.
    """
    arrays: dict[str, dict[int, Register]] = {}
    fields: dict[str, Register] = {}
    for name, register in unit.states.items():
        stem = re.fullmatch(r"(\D+)(\d+)", name)
        if name in file.states or stem is None or register.next is None:
            continue
        if stem[1] in file.states:
            arrays.setdefault(stem[1], {})[int(stem[2])] = register
        elif stem[1] == "flight":
            fields[name] = register
    states, by = dict(file.states), dict[Term, Term]()
    for name, elements in arrays.items():
        _take_apart(name, elements, states, by)
    wholes = {name: constant(f"file.{name}", flight.size) for name in fields}
    for name, whole in wholes.items():
        by |= _fields_of(name, whole, flight, file)
    for name in sorted(unit.states.keys() & file.states.keys()):
        bits, own = width(file.states[name].now), width(unit.states[name].now)
        if bits != own:
            raise InputError(f"a file must have registers as the unit has them: {name} has {bits} bits, not {own}")
    same = {unit.states[name].now: whole for name, whole in wholes.items()}
    same |= {unit.states[name].now: file.states[name].now for name in unit.states.keys() & file.states.keys()}
    same |= {unit.inputs[name]: term for name, term in file.inputs.items() if name in unit.inputs}
    for name, register in fields.items():
        assert register.next is not None
        missing = substituted(register.next, same)
        states[name] = Register(same[register.now], _joined_next(name, flight, file, missing))
        for field in flight.members:
            states.pop(f"{name}_{field}", None)
    return _over(file, states, by)


def _take_apart(name: str, elements: Mapping[int, Register], states: dict[str, Register], by: dict[Term, Term]) -> None:
    """A register for each element of an array, if the array has the bits of all."""
    whole = states[name]
    sizes = {width(register.now) for register in elements.values()}
    bits = sizes.pop()
    every = set(elements) == set(range(len(elements)))
    if sizes or not every or whole.next is None or width(whole.now) != bits * len(elements):
        return
    del states[name]
    for at in elements:
        states[f"{name}{at}"] = Register(constant(f"file.{name}{at}", bits), part(whole.next, at * bits, bits))
    by[whole.now] = packed([states[f"{name}{at}"].now for at in range(len(elements))])


def _fields_of(name: str, whole: Term, flight: StructLayout, file: Circuit) -> dict[Term, Term]:
    """Every field of a register as a part of it."""
    found = {field: file.states.get(f"{name}_{field}") for field in flight.members}
    return {
        register.now: part(whole, flight[field].offset, flight[field].width)
        for field, register in found.items()
        if register is not None
    }


def _joined_next(name: str, flight: StructLayout, file: Circuit, missing: Term) -> Term:
    nexts = []
    for field, where in flight:
        found = file.states.get(f"{name}_{field}")
        next_ = None if found is None else found.next
        nexts.append(part(missing, where.offset, where.width) if next_ is None else next_)
    return packed(nexts)


def _over(file: Circuit, states: Mapping[str, Register], by: Mapping[Term, Term]) -> Circuit:
    """A circuit over other registers."""

    def over(term: Term | None) -> Term | None:
        return None if term is None else substituted(term, by)

    registers = {name: replace(register, next=over(register.next)) for name, register in states.items()}
    outputs = {name: substituted(term, by) for name, term in file.outputs.items()}
    wires = {name: substituted(term, by) for name, term in file.wires.items()}
    return Circuit(file.inputs, outputs, registers, wires)
