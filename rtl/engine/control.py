"""A tile's control, which is the unit's own, once for all elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.data import StructLayout
from amaranth.lib.wiring import In, Out

from hwsim.rtl.accumulate import Accumulation, accumulation
from hwsim.rtl.dot_unit import DotUnit, InFlight, flight_layout
from hwsim.rtl.engine.element import control_bits, latencies
from hwsim.rtl.engine.side import of_partial
from hwsim.rtl.numbers import ProductRanges
from hwsim.spec import Pipeline, Specified


class TileControl(DotUnit):
    """The control of a tile: beats in, results out, as of one unit; and what it tells all elements of each stage.

    i: whether a beat enters, of which context, first or last of its sum, and its mode. o: whether a result leaves.
    """

    def __init__(self, unit: Specified, pipeline: Pipeline, tells: bool = False):
        """tells: whether there is a beat in flight, too."""
        self.unit, self.pipeline, self.sparse, self.tells = unit, pipeline, None, tells
        context = unsigned(pipeline.context_bits)
        mode = ProductRanges(unit).mode_bits
        beat: dict[str, Any] = {"first": 1, "last": 1, "context": context} | ({"mode": mode} if mode else {})
        wiring.Component.__init__(
            self,
            {
                "i": In(stream.Signature(StructLayout(beat))),
                "o": Out(stream.Signature(StructLayout({"context": context}))),
                "misuse": Out(1),
                **{name: Out(bits) for name, bits in control_bits(unit, pipeline).items()},
                **({"enters": Out(1), "opens": Out(1)} if of_partial(unit) else {}),
                **({"flying": Out(1)} if tells else {}),
            },
        )
        self.beats: Any = self.i

    @property
    def purpose(self) -> str:
        return "The control of a tile, which is that of one unit: which beat stands in which stage of all elements."

    def elaborate(self, platform: object) -> Module:
        m, stages = Module(), latencies(self.unit, self.pipeline)
        advance, accept = Signal(name="advance"), Signal(name="accept")
        m.d.comb += [advance.eq(~self.o.valid | self.o.ready), accept.eq(self.i.valid & self.i.ready)]
        flight = self._flight(m, advance, accept)
        self._ready(m, advance, flight)
        self._misuse(m, accept)
        if of_partial(self.unit):
            m.d.comb += self.enters.eq(accept)
        if self.tells:
            m.d.comb += self.flying.eq(Cat(valid for valid, _ in flight[1:]).any())
        continues = self._position(m, flight[0])
        carries, beat = flight[stages["carried"]]
        m.d.comb += [
            self.enable.eq(advance), self.continues.eq(continues), self.enters_context.eq(self.i.payload.context),
            self.carries.eq(advance & carries), self.carries_context.eq(beat.context),
        ]  # fmt: skip
        if accumulation(self.unit) is not None:
            self._tell(m, flight, stages)
        return m

    def _tell(self, m: Module, flight: Sequence[InFlight], stages: dict[str, int]) -> None:
        """Drive what the addition after the datapath is told."""
        adds, (keeps, kept) = flight[stages["adds"]].beat, flight[stages["kept"]]
        m.d.comb += [
            self.adds_first.eq(adds.first), self.adds_context.eq(adds.context), self.keeps.eq(keeps),
            self.keeps_first.eq(kept.first), self.keeps_promotes.eq(kept.promotes),
            self.keeps_context.eq(kept.context),
        ]  # fmt: skip

    def flight_layout(self) -> StructLayout:
        """Fields that go along with a beat: what is beside them in a unit, rows, columns and elements have."""
        whole = flight_layout(self.unit, self.pipeline).members
        return StructLayout({name: whole[name] for name in ("first", "last", "context", "promotes") if name in whole})

    def _beside(self, m: Module, after: Accumulation, entering: InFlight, opens: Value) -> None:
        if of_partial(self.unit):
            m.d.comb += self.opens.eq(opens)
