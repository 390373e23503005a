"""Steps of a datapath, and the chain that puts registers between them."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.data import Layout, StructLayout, View
from amaranth.lib.wiring import In, Out


class Step(wiring.Component):
    """One combinational step, `i` to `o`.

    A subclass drives the fields of `o` that it makes; those that stand in `i` too pass through.

    name: the step's name among `hwsim.spec.steps`, which is also the checkpoint's.
    """

    def __init__(self, name: str, i: StructLayout, o: StructLayout):
        self.name = name
        super().__init__({"i": In(i), "o": Out(o)})

    def compute(self, m: Module) -> None:
        """Drive what this step makes."""
        raise TypeError("a step says what it computes")

    def elaborate(self, platform: object) -> Module:
        """The step's logic."""
        m = Module()
        inputs, outputs = self.i.shape().members, self.o.shape().members
        for field, shape in outputs.items():
            if inputs.get(field) == shape:
                m.d.comb += self.o[field].eq(self.i[field])
        self.compute(m)
        return m


class Chain(wiring.Component):
    """Steps one after another, with a register after each step that `cuts` names.

    Registers take their next value in cycles in which `enable` is high.
    next: what the last step makes, before its register if it has one.
    """

    def __init__(self, steps: Sequence[Step], cuts: Sequence[str]):
        self.steps = list(steps)
        self.cuts = [step.name for step in steps if step.name in cuts]
        last = steps[-1].o.shape()
        super().__init__({"enable": In(1), "i": In(steps[0].i.shape()), "o": Out(last), "next": Out(last)})

    @property
    def latency(self) -> int:
        """Registers between `i` and `o`."""
        return len(self.cuts)

    @property
    def latency_of_next(self) -> int:
        """Registers between `i` and `next`."""
        return self.latency - (self.steps[-1].name in self.cuts)

    def elaborate(self, platform: object) -> Module:
        """The steps, connected."""
        m = Module()
        value: View[Layout] = self.i
        for step in self.steps:
            name = step.name.replace(".", "_")
            m.submodules[name] = step
            m.d.comb += step.i.eq(value)
            value = step.o
            if step.name in self.cuts:
                register = Signal(step.o.shape(), name=f"{name}_q", reset_less=True)
                with m.If(self.enable):
                    m.d.sync += register.eq(value)
                value = register
        m.d.comb += [self.o.eq(value), self.next.eq(self.steps[-1].o)]
        return m
