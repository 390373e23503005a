"""An engine's registers over AXI4-Lite."""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwsim.rtl.numbers import ProductRanges
from hwsim.spec.engine import Engine
from hwsim.spec.modes import modes_of
from hwsim.spec.registers import AXI_LITE, CLEAR, OKAY, RESET, SLVERR, EngineRegister, counters, registers


class Registers(wiring.Component):
    """Registers over AXI4-Lite. A write is done once its address and its data are here and a response can be given.

    All outputs of AXI4-Lite depend on registers alone. soft_reset: high for a cycle. clear: bits of `error`
    that are to become 0.
    """

    def __init__(self, engine: Engine):
        self.engine, self.table, self.counted = engine, registers(engine), counters(engine)
        self.mode_bits = ProductRanges(engine.unit).mode_bits
        watched = dict.fromkeys(name for event in self.counted.values() for name in (*event.high, *event.low))
        ports: dict[str, Any] = {name: (In if into else Out)(bits) for name, (into, bits) in AXI_LITE.items()}
        ports |= {name: In(1) for name in watched} | {
            "busy": In(1),
            "error": In(2),
            "soft_reset": Out(1),
            "clear": Out(2),
        }
        super().__init__(ports | ({"mode": Out(self.mode_bits)} if self.mode_bits else {}))

    @property
    def purpose(self) -> str:
        return (
            "Registers over AXI4-Lite. A write is done once its address, its data and room for its response are here."
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        does, where, what, bytes_of = self._writes(m)
        reads = Signal(name="reads")
        m.d.comb += [self.arready.eq(~self.rvalid), reads.eq(self.arvalid & self.arready)]
        with m.If(self.rready):
            m.d.sync += self.rvalid.eq(0)
        control = Signal(2, name="commands")
        response = Signal(2, name="response")
        m.d.comb += response.eq(SLVERR)
        with m.Switch(where):
            for each in self.table.values():
                if each.access != "R":
                    with m.Case(each.offset >> 2):
                        m.d.comb += response.eq(OKAY)
                        self._write(m, each, does, what, bytes_of, control, response)
        with m.If(does):
            m.d.sync += self.bresp.eq(response)
        m.d.sync += self.soft_reset.eq(control[RESET])
        self._reads(m, reads, self._counters(m, control[CLEAR]))
        return m

    def _writes(self, m: Module) -> tuple[Signal, Signal, Signal, Signal]:
        """Whether a write is done in this cycle; which word, its data, which of its bytes."""
        address = Signal(len(self.awaddr) - 2, name="address", reset_less=True)
        data = Signal(32, name="data", reset_less=True)
        strobe = Signal(4, name="strobe", reset_less=True)
        has_address, has_data, does = Signal(name="has_address"), Signal(name="has_data"), Signal(name="does")
        m.d.comb += [
            self.awready.eq(~has_address), self.wready.eq(~has_data),
            does.eq(has_address & has_data & (~self.bvalid | self.bready)),
        ]  # fmt: skip
        with m.If(self.bready):
            m.d.sync += self.bvalid.eq(0)
        with m.If(does):
            m.d.sync += [self.bvalid.eq(1), has_address.eq(0), has_data.eq(0)]
        with m.If(self.awvalid & self.awready):
            m.d.sync += [has_address.eq(1), address.eq(self.awaddr[2:])]
        with m.If(self.wvalid & self.wready):
            m.d.sync += [has_data.eq(1), data.eq(self.wdata), strobe.eq(self.wstrb)]
        return does, address, data, strobe

    def _write(
        self,
        m: Module,
        each: EngineRegister,
        does: Signal,
        what: Signal,
        bytes_of: Signal,
        control: Signal,
        response: Signal,
    ) -> None:
        """Do a write to a register that can be written."""
        match each.name:
            case "control" | "error":
                with m.If(does & bytes_of[0]):
                    m.d.comb += (control if each.name == "control" else self.clear).eq(what[:2])
            case "mode":
                written, modes = Signal(32, name="written"), len(modes_of(self.engine.unit))
                old = [self.mode, *(Const(0, 8) for _ in range(3))]
                m.d.comb += written.eq(Cat(_byte(bytes_of[at], what[8 * at : 8 * at + 8], old[at]) for at in range(4)))
                with m.If(written >= modes):
                    m.d.comb += response.eq(SLVERR)
                with m.Elif(does):
                    m.d.sync += self.mode.eq(written)

    def _counters(self, m: Module, clear: Value) -> dict[str, Signal]:
        """The counters by their names."""
        made = {}
        for name, event in self.counted.items():
            made[name] = counter = Signal(64, name=f"count_{name}")
            goes = [getattr(self, each) for each in event.high] + [~getattr(self, each) for each in event.low]
            counts = Signal(name=f"counts_{name}")
            m.d.comb += counts.eq(reduce(and_, goes, ~self.soft_reset))
            with m.If(counts):
                m.d.sync += counter.eq(counter + 1)
            with m.If(clear):
                m.d.sync += counter.eq(0)
        return made

    def _reads(self, m: Module, reads: Signal, made: dict[str, Signal]) -> None:
        """Answer a read in the next cycle; the lower half of a counter keeps the upper."""
        upper = Signal(32, name="upper")
        values: dict[str, Value] = {"control": Const(0, 32), "status": self.busy, "error": self.error}
        if self.mode_bits:
            values["mode"] = self.mode
        with m.If(reads):
            m.d.sync += [self.rvalid.eq(1), self.rdata.eq(0), self.rresp.eq(SLVERR)]
            with m.Switch(self.araddr[2:]):
                for each in self.table.values():
                    with m.Case(each.offset >> 2):
                        m.d.sync += self.rresp.eq(OKAY)
                        if each.value is not None:
                            m.d.sync += self.rdata.eq(each.value)
                        elif each.counts is not None:
                            counter = made[each.name]
                            m.d.sync += [self.rdata.eq(counter[:32]), upper.eq(counter[32:])]
                        else:
                            m.d.sync += self.rdata.eq(upper if each.of else values[each.name])


def _byte(written: Value, new: Value, old: Value) -> Value:
    """A byte of a register after a write."""
    return (Cat(new) & written.replicate(8)) | (Cat(old, Const(0, 8))[:8] & ~written.replicate(8))
