"""A tile's results to a stream: some tiles wait in a queue, whose first leaves word by word."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwsim.rtl.arithmetic import select
from hwsim.spec.engine import Engine


class Drain(wiring.Component):
    """A queue of tiles of results, whose first leaves word by word; a frame ends with the last context's tile.

    ready depends on registers alone.
    """

    def __init__(self, engine: Engine):
        self.engine, shape = engine, engine.results
        super().__init__(
            {
                "valid": In(1), "ready": Out(1), "results": In(shape.size),
                "of_context": In(unsigned(engine.pipeline.context_bits)),
                "tdata": Out(shape.width), "tvalid": Out(1), "tready": In(1), "tlast": Out(1),
            }
        )  # fmt: skip

    def elaborate(self, platform: object) -> Module:
        m, shape, depth = Module(), self.engine.results, self.engine.drain
        tiles = [Signal(shape.size, name=f"tile{place}", reset_less=True) for place in range(depth)]
        bits = len(self.of_context)
        contexts = [Signal(bits, name=f"context{place}", reset_less=True) for place in range(depth)]
        put, take = (Signal(range(max(2, depth)), name=name) for name in ("put", "take"))
        count = Signal(range(depth + 1), name="count")
        at = Signal(range(max(2, shape.words)), name="at")
        enters = Signal(name="enters")
        leaves = Signal(name="leaves")
        m.d.comb += [
            self.ready.eq(count != depth), enters.eq(self.valid & self.ready),
            self.tvalid.eq(count != 0), leaves.eq(self.tvalid & self.tready & (at == shape.words - 1)),
        ]  # fmt: skip
        with m.If(enters):
            m.d.sync += put.eq(Mux(put == depth - 1, 0, put + 1))
            with m.Switch(put):
                for place, (tile, context) in enumerate(zip(tiles, contexts, strict=True)):
                    with m.Case(place):
                        m.d.sync += [tile.eq(self.results), context.eq(self.of_context)]
        with m.If(leaves):
            m.d.sync += take.eq(Mux(take == depth - 1, 0, take + 1))
        with m.If(self.tvalid & self.tready):
            m.d.sync += at.eq(Mux(at == shape.words - 1, 0, at + 1))
        m.d.sync += count.eq(count + enters - leaves)
        first = Signal(shape.words * shape.width, name="first")
        context = Signal(len(self.of_context), name="context")
        m.d.comb += [first.eq(select(tiles, take)), context.eq(select(contexts, take))]
        words = [first[word * shape.width : (word + 1) * shape.width] for word in range(shape.words)]
        m.d.comb += [
            self.tdata.eq(select(words, at)),
            self.tlast.eq((at == shape.words - 1) & (context == self.engine.contexts - 1)),
        ]
        return m
