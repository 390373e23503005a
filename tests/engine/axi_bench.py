"""A bench of cocotbext-axi around an engine with registers, and nothing of hwsim's: frames, addresses, what is due."""

from __future__ import annotations

import os
import pickle
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles
from cocotbext.axi import (
    AxiLiteBus,
    AxiLiteMaster,
    AxiResp,
    AxiStreamBus,
    AxiStreamFrame,
    AxiStreamSink,
    AxiStreamSource,
)

JOB = pickle.loads((Path(os.environ["HWSIM_JOB"]) / "axi").read_bytes())


def pauses(chance: float, seed: int) -> Iterator[bool]:
    drawn = random.Random(seed)
    while True:
        yield drawn.random() < chance


class Bench:
    """Sources, a sink and a manager, with pauses on all of their channels."""

    def __init__(self, dut: Any, chance: float):
        port, low = JOB["reset"]
        reset = getattr(dut, port)

        def stream(name: str) -> Any:
            return AxiStreamBus.from_prefix(dut, name), dut.clk, reset, not low

        self.sources = {name: AxiStreamSource(*stream(name), byte_lanes=JOB["bytes"][name]) for name in "ab"}
        self.sink = AxiStreamSink(*stream("d"), byte_lanes=JOB["bytes"]["d"])
        self.master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, reset, not low)
        write, read = self.master.write_if, self.master.read_if
        channels = (write.aw_channel, write.w_channel, write.b_channel, read.ar_channel, read.r_channel)
        for at, each in enumerate((*self.sources.values(), self.sink, *channels)):
            each.set_pause_generator(pauses(chance, at))

    async def read(self, name: str) -> int:
        """A register, or both halves of a counter."""
        lower = await self._word(JOB["at"][name])
        return lower | await self._word(JOB["at"][f"{name}_upper"]) << 32 if f"{name}_upper" in JOB["at"] else lower

    async def _word(self, address: int) -> int:
        answer = await self.master.read(address, 4)
        assert answer.resp == AxiResp.OKAY
        return int.from_bytes(answer.data, "little")

    async def write(self, name: str, value: int) -> None:
        assert (await self.master.write(JOB["at"][name], value.to_bytes(4, "little"))).resp == AxiResp.OKAY

    async def product(self) -> None:
        """Send all frames, and compare what comes back."""
        for name, source in self.sources.items():
            for frame in JOB["frames"][name]:
                await source.send(AxiStreamFrame(frame))
        for frame in JOB["results"]:
            assert bytes((await self.sink.recv()).tdata) == frame


async def started(dut: Any, chance: float) -> Bench:
    Clock(dut.clk, 2, "ns").start(start_high=False)
    port, low = JOB["reset"]
    reset = getattr(dut, port)
    reset.value = not low
    bench = Bench(dut, chance)
    await ClockCycles(dut.clk, 3)
    reset.value = low
    return bench


@cocotb.test()
async def identity(dut: Any) -> None:
    bench = await started(dut, 0.3)
    assert await bench.read("id") == int.from_bytes(b"HWSM") and not await bench.read("status")
    digest = "".join([f"{await bench.read(f'hash_{word}'):08x}" for word in range(8)])
    assert digest == JOB["digest"]
    for address, access in JOB["refused"]:
        answer = await (bench.master.read(address, 4) if access == "read" else bench.master.write(address, b"\1\0\0\0"))
        assert answer.resp == AxiResp.SLVERR


@cocotb.test()
async def counters(dut: Any) -> None:
    bench = await started(dut, 0.4)
    await bench.write("control", 2)
    reading = cocotb.start_soon(watched(bench))
    await bench.product()
    reading.cancel()
    assert await bench.read("status") == 0
    for name, count in JOB["counts"].items():
        assert await bench.read(name) == count, name


async def watched(bench: Bench) -> None:
    """Counters never fall while they are read."""
    before = 0
    while True:
        now = await bench.read("beats")
        assert now >= before
        before = now


@cocotb.test()
async def soft_reset(dut: Any) -> None:
    bench = await started(dut, 0.3)
    for _ in range(3):
        # A's frame has two steps, B's has one: an error, and a step of A that waits for B's for ever.
        for name, words in JOB["unequal"].items():
            await bench.sources[name].send(AxiStreamFrame(words))
        for source in bench.sources.values():
            await source.wait()
        while not await bench.read("error"):
            pass
        assert await bench.read("error") == 1 and int(dut.error.value) == 1
        await bench.write("error", 2)
        assert await bench.read("error") == 1
        await bench.write("error", 1)
        assert await bench.read("error") == 0 and await bench.read("status") == 1
        await bench.sink.recv()
        await bench.write("control", 1)
        assert await bench.read("status") == 0
        await bench.product()
        assert await bench.read("error") == 0
