"""A buffer for one payload, which makes the `ready` of a stream a register."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, ShapeLike, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out


class SkidBuffer(wiring.Component):
    """Keeps a payload that was accepted in a cycle in which the next stage was not ready.

    `entering.ready` is low while one is kept, and depends on nothing else: no path leads from `leaving.ready` to it.
    What is offered while the buffer is empty goes through in the same cycle.
    """

    def __init__(self, payload: ShapeLike):
        super().__init__({"entering": In(stream.Signature(payload)), "leaving": Out(stream.Signature(payload))})

    def elaborate(self, platform: object) -> Module:
        """The buffer."""
        m = Module()
        full = Signal(name="full")
        kept = Signal.like(self.entering.payload.as_value(), name="kept", reset_less=True)
        m.d.comb += [
            self.entering.ready.eq(~full),
            self.leaving.valid.eq(full | self.entering.valid),
            self.leaving.payload.as_value().eq(Mux(full, kept, self.entering.payload.as_value())),
        ]
        m.d.sync += full.eq(self.leaving.valid & ~self.leaving.ready)
        with m.If(~full):
            m.d.sync += kept.eq(self.entering.payload.as_value())
        return m
