"""One element of a tile: a unit's datapath behind shared decoders, and what its sums keep from beat to beat."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwsim.rtl.accumulate import Accumulation, accumulation
from hwsim.rtl.dot_unit import InFlight, accumulate, carry, flight_layout, result_code
from hwsim.rtl.engine.side import delayed, part, side_elements
from hwsim.rtl.methods import datapath, promotion
from hwsim.rtl.numbers import ProductRanges
from hwsim.rtl.step import Datapath, fields
from hwsim.spec import Pipeline, Specified


def latencies(unit: Specified, pipeline: Pipeline) -> dict[str, int]:
    """Registers before what a beat hands to the next of its sum, before the addition after the datapath, and before
    what that keeps.
    """
    path = datapath(unit, pipeline.cuts, apart=True)
    after = accumulation(unit)
    if after is None:
        return {"carried": path.latency_of_next}
    adder = promotion(unit, pipeline.cuts)
    return {"carried": path.latency_of_next, "adds": path.latency, "kept": path.latency + adder.latency_of_next}


def control_bits(unit: Specified, pipeline: Pipeline) -> dict[str, int]:
    """What a tile's control tells all its elements alike, of the beats in several stages: ports and their bits.

    enable: stages move on. continues: the entering beat continues what its context carries. carries: what a beat hands
    on is to be kept. adds_*: of the beat whose sum is added. keeps_*: of what is kept then.
    """
    bits, context = {"enable": 1, "continues": 1, "carries": 1}, pipeline.context_bits
    contexts = {"enters_context": context, "carries_context": context}
    if accumulation(unit) is None:
        return bits | contexts
    bits |= {"adds_first": 1, "keeps": 1, "keeps_first": 1, "keeps_promotes": 1}
    return bits | contexts | {"adds_context": context, "keeps_context": context}


class TileElement(wiring.Component):
    """One element of a tile: the datapath, and what its sums keep. Which beat stands where, the tile's control says."""

    def __init__(self, unit: Specified, pipeline: Pipeline):
        self.unit, self.pipeline, self.n = unit, pipeline, ProductRanges(unit, apart=True)
        addend = unit.operands.addend
        ports: dict[str, Any] = {name: In(bits) for name, bits in control_bits(unit, pipeline).items()}
        for at in range(2):
            ports |= {name: In(bits * count) for name, (bits, count) in side_elements(unit, at).items()}
        if self.n.scales:
            ports["scale_nan"] = In(1)
        if addend is not None:
            ports["c"] = In(addend.container_bits)
        super().__init__(ports | {"result": Out(unit.output.container_bits)})

    @property
    def purpose(self) -> str:
        return "One element: the datapath, and what its sums keep. Which beat stands where, the tile's control says."

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.datapath = path = datapath(self.unit, self.pipeline.cuts, apart=True)
        m.d.comb += [path.enable.eq(self.enable), path.i.chain.eq(self.continues)]
        m.d.comb += [getattr(path.i, name).eq(getattr(self, name)) for name in ("c", "scale_nan")
                     if name in path.i.signature.members]  # fmt: skip
        self._join(m, path)
        carry(m, self.pipeline, path, (self.continues, self.enters_context), (self.carries, self.carries_context))
        after, last = accumulation(self.unit), path
        if after is not None:
            last = promotion(self.unit, self.pipeline.cuts)
            self._add(m, after, path, last)
        m.d.comb += self.result.eq(result_code(self.unit, last))
        return m

    def _join(self, m: Module, path: Datapath) -> None:
        """Drive the factors and scales that join the datapath after its decode step."""
        n, beside = self.n, path.beside
        for field, to in fields(beside).items():
            if field == "scale_exp":
                a, b = (len(to) // blocks for blocks in n.scale_blocks)
                of_a, of_b = n.scale_blocks
                for lane, exp in enumerate(to):
                    m.d.comb += exp.eq(part(self.scale_a, lane // a, of_a) + part(self.scale_b, lane // b, of_b))
                continue
            for index, number in enumerate(to):
                for name in number.signature.members:
                    m.d.comb += getattr(number, name).eq(part(getattr(self, f"{field}_{name}"), index, len(to)))

    def _add(self, m: Module, after: Accumulation, path: Datapath, adder: Datapath) -> None:
        """The addition after the datapath: of the beats there the control knows the flags, and this element c."""
        layout = flight_layout(self.unit, self.pipeline)
        adds, kept = Signal(layout, name="adds"), Signal(layout, name="kept")
        m.d.comb += [
            *(adds[name].eq(getattr(self, f"adds_{name}")) for name in ("first", "context")),
            *(kept[name].eq(getattr(self, f"keeps_{name}")) for name in ("first", "promotes", "context")),
            *(adds[name].eq(getattr(self, name)) for name in after.scales),
        ]
        if self.unit.operands.addend is not None:
            c = delayed(m, "c", after.entering(m, self.c), path.latency + adder.latency_of_next, self.enable)
            m.d.comb += [adds.c.eq(c[path.latency]), kept.c.eq(c[-1])]
        accumulate(m, after, self.pipeline, path, adder, self.enable, adds, InFlight(self.keeps, kept))
