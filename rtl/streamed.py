"""A datapath between two streams: one payload in and one out each cycle, with nothing but registers between."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.data import ArrayLayout, StructLayout
from amaranth.lib.wiring import In, Out

from hwsim.rtl.step import Datapath


class StreamedDatapath(wiring.Component):
    """What enters leaves `latency` cycles later, in order; the whole pipeline stands still while a result waits.

    name: what its Verilog is called. words: what that begins with, as comments. path: the datapath, with a register
    after its last step. i, o: the payloads.
    """

    def __init__(self, name: str, words: Sequence[str], path: Datapath, i: StructLayout, o: StructLayout):
        self.name, self.words, self.path = name, words, path
        super().__init__({"i": In(stream.Signature(i)), "o": Out(stream.Signature(o))})

    @property
    def latency(self) -> int:
        """Cycles from accepting a payload to its result."""
        return self.path.latency

    def enter(self, m: Module) -> None:
        """Drive the datapath's inputs from the fields of `i.payload` of the same names."""
        payload = self.i.payload
        for field, shape in payload.shape().members.items():
            target = getattr(self.path.i, field)
            if isinstance(shape, ArrayLayout):
                m.d.comb += [one.eq(payload[field][at]) for at, one in enumerate(target)]
            else:
                m.d.comb += target.eq(payload[field])

    @abstractmethod
    def leave(self, m: Module) -> None:
        """Drive `o.payload` from the datapath's outputs."""

    def elaborate(self, platform: Any) -> Module:
        """The datapath, and what is valid in it."""
        m = Module()
        m.submodules.datapath = self.path
        advance = Signal()
        valid: Value = self.i.valid
        for stage in range(1, self.latency + 1):
            register = Signal(name=f"valid{stage}")
            with m.If(advance):
                m.d.sync += register.eq(valid)
            valid = register
        m.d.comb += [
            advance.eq(~self.o.valid | self.o.ready),
            self.i.ready.eq(advance),
            self.o.valid.eq(valid),
            self.path.enable.eq(advance),
        ]
        self.enter(m)
        self.leave(m)
        return m
