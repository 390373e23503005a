"""The cycle-level model of an engine's registers: each transfer of AXI4-Lite, and what each register holds when."""

from __future__ import annotations

from collections.abc import Mapping

from hwsim.model.engine import EngineCycles
from hwsim.spec.modes import modes_of
from hwsim.spec.registers import CLEAR, OKAY, RESET, SLVERR, counters, registers

UNPROMISED = -1  # of what goes with a response that is not valid


class RegisterCycles:
    """An engine's registers, cycle by cycle: look at `outputs`, then `tick`, which ticks the engine, too.

    mode: that of macro tiles that begin. soft: True in the cycle of a soft reset.
    """

    def __init__(self, engine: EngineCycles):
        self.engine, self.table = engine, {each.offset: each for each in registers(engine.engine).values()}
        self.modes = len(modes_of(engine.engine.unit))
        self.reset()

    def reset(self) -> None:
        """Do what a cycle with `rst` high does; the engine itself is another's."""
        self.address: int | None = None
        self.data: tuple[int, int] | None = None  # and which bytes
        self.written: int | None = None  # the response of a write
        self.read: tuple[int, int] | None = None  # the response of a read, and its data
        self.soft, self.mode, self.upper = False, 0, 0
        self.counts = dict.fromkeys(counters(self.engine.engine), 0)

    @property
    def outputs(self) -> dict[str, int]:
        """The outputs of AXI4-Lite in this cycle."""
        response, data = self.read or (UNPROMISED, UNPROMISED)
        return {
            "awready": int(self.address is None), "wready": int(self.data is None),
            "bvalid": int(self.written is not None), "bresp": UNPROMISED if self.written is None else self.written,
            "arready": int(self.read is None), "rvalid": int(self.read is not None), "rresp": response, "rdata": data,
        }  # fmt: skip

    def tick(self, inputs: Mapping[str, int], offered: Mapping[str, bool], take: bool) -> None:
        """One rising edge. inputs: of AXI4-Lite; offered, take: as of the engine."""
        engine, mode, soft = self.engine, self.mode, self.soft
        answer = self._answer(inputs["araddr"]) if inputs["arvalid"] and self.read is None else None
        can_answer = self.written is None or inputs["bready"]
        cleared, zero = 0, False
        self.soft = False
        if self.written is not None and inputs["bready"]:
            self.written = None
        if self.address is not None and self.data is not None and can_answer:
            cleared, zero = self._write(self.address, *self.data)
            self.address = self.data = None
        else:
            if inputs["awvalid"] and self.address is None:
                self.address = inputs["awaddr"]
            if inputs["wvalid"] and self.data is None:
                self.data = inputs["wdata"], inputs["wstrb"]
        if answer is not None:
            self.read = answer
        elif inputs["rready"]:
            self.read = None
        if not soft:
            engine.tick(offered, take, mode, cleared)
            for name in engine.events:
                self.counts[name] += 1
        if soft or (self.soft and engine.engine.resets_at_once):
            engine.reset()
        if zero:
            self.counts = dict.fromkeys(self.counts, 0)

    def _answer(self, address: int) -> tuple[int, int]:
        """The response of a read, and its data: of the registers as they are before the edge."""
        found = self.table.get(address & ~3)
        if found is None:
            return SLVERR, 0
        if found.value is not None:
            return OKAY, found.value
        if found.counts is not None:
            count = self.counts[found.name]
            self.upper = count >> 32
            return OKAY, count & 0xFFFFFFFF
        if found.of:
            return OKAY, self.upper
        return OKAY, {"control": 0, "status": int(self.engine.busy), "error": self.engine.error,
                      "mode": self.mode}[found.name]  # fmt: skip

    def _write(self, address: int, data: int, strobe: int) -> tuple[int, bool]:
        """Do a write. Returns the bits of `error` that it clears, and whether counters become 0."""
        found, mask = self.table.get(address & ~3), sum(0xFF << 8 * byte for byte in range(4) if strobe >> byte & 1)
        self.written = OKAY
        match found.name if found is not None else "":
            case "control":
                self.soft = bool(data & mask & 1 << RESET)
                return 0, bool(data & mask & 1 << CLEAR)
            case "error":
                return data & mask & 3, False
            case "mode":
                new = data & mask | self.mode & ~mask
                if new < self.modes:
                    self.mode = new
                    return 0, False
        self.written = SLVERR
        return 0, False
