"""The code that a unit keeps of an addend which is added after a group's sum: as a circuit, and its claim."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwsim.prove.circuits import circuits
from hwsim.prove.logic import Term, substituted, value
from hwsim.rtl.accumulate import Accumulation


class EnteringCode(wiring.Component):
    """An addend's code in its container, as a unit keeps it."""

    def __init__(self, what: Accumulation):
        self.what = what
        addend = what.unit.operands.addend or what.format
        super().__init__({"c": In(addend.container_bits), "o": Out(what.code_bits)})

    def elaborate(self, platform: object) -> Module:
        """The logic beside the datapath."""
        m = Module()
        m.d.comb += self.o.eq(self.what.entering(m, self.c))
        return m


def entering(what: Accumulation, c: Term | None) -> Term:
    """What is kept of an addend `c`; of None, where a unit has no addend, zero."""
    if c is None:
        return value(0, what.code_bits)
    circuit = circuits({"entering": EnteringCode(what)})["entering"]
    return substituted(circuit.outputs["o"], {circuit.inputs["c"]: c})
