"""What plays on an engine's registers: a manager of AXI4-Lite each of whose channels goes by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import repeat
from typing import NamedTuple

from hwsim.cases.drawing import Stream
from hwsim.spec.engine import Engine
from hwsim.spec.modes import modes_of
from hwsim.spec.registers import ADDRESS_BITS, CLEAR, RESET, registers

OFTEN = 0.8  # of accesses that are to a register
SELDOM = 0.1  # of writes to `control` that set counters to 0
ONES = {"awaddr": (1 << ADDRESS_BITS) - 1, "wdata": 0xFFFFFFFF, "wstrb": 0xF, "araddr": (1 << ADDRESS_BITS) - 1}


class Write(NamedTuple):
    """A write. strobe: which of its bytes."""

    address: int
    data: int
    strobe: int = 0xF


class Manager:
    """Drives AXI4-Lite, every channel in its own cycles: look at `drive`, then tell it by `tick` what was ready.

    writes, reads: what is done in turn. chances: of `aw`, `w`, `ar` in which cycles something may begin to be offered;
    of `b`, `r` in which a response is taken; in all unless given.
    """

    def __init__(
        self, writes: Iterable[Write] = (), reads: Iterable[int] = (),
        chances: Mapping[str, Iterator[bool]] | None = None,
    ):  # fmt: skip
        self.writes, self.reads = iter(writes), iter(reads)
        self.chances = {name: iter(repeat(True)) for name in ("aw", "w", "b", "ar", "r")} | dict(chances or {})
        self.reset()

    def reset(self) -> None:
        """Give up what was begun."""
        self.begun: list[Write] = []
        self.at = {"aw": 0, "w": 0}
        self.valid = {"aw": False, "w": False}
        self.reading: int | None = None

    def soon(self, write: Write) -> None:
        """Do a write after those that were begun."""
        self.begun.append(write)

    def drive(self) -> dict[str, int]:
        """The inputs of AXI4-Lite in this cycle; what is not valid is all ones."""
        inputs = ONES.copy()
        for channel in ("aw", "w"):
            self.valid[channel] = self.valid[channel] or (next(self.chances[channel]) and self._has(channel))
        if self.reading is None and next(self.chances["ar"]):
            self.reading = next(self.reads, None)
        if self.valid["aw"]:
            inputs["awaddr"] = self.begun[self.at["aw"]].address
        if self.valid["w"]:
            write = self.begun[self.at["w"]]
            inputs |= {"wdata": write.data, "wstrb": write.strobe}
        if self.reading is not None:
            inputs["araddr"] = self.reading
        inputs |= {f"{channel}valid": int(valid) for channel, valid in self.valid.items()}
        inputs |= {"arvalid": int(self.reading is not None)}
        return inputs | {f"{channel}ready": int(next(self.chances[channel])) for channel in "br"}

    def _has(self, channel: str) -> bool:
        """Whether there is a write that a channel can begin."""
        if self.at[channel] == len(self.begun):
            self.begun += [write for write in [next(self.writes, None)] if write is not None]
        return self.at[channel] < len(self.begun)

    def tick(self, outputs: Mapping[str, int]) -> None:
        """One rising edge. outputs: of AXI4-Lite in the cycle before."""
        for channel in ("aw", "w"):
            if self.valid[channel] and outputs[f"{channel}ready"]:
                self.valid[channel] = False
                self.at[channel] += 1
        if self.reading is not None and outputs["arready"]:
            self.reading = None


def random_writes(engine: Engine, stream: Stream) -> Iterator[Write]:
    """Writes to any address, of any bytes, which reset nothing softly and change no mode."""
    table = registers(engine)
    can = [each for each in table.values() if each.access != "R"]
    while True:
        address, data, strobe = stream.randrange(1 << ADDRESS_BITS), stream.word(), stream.randrange(16)
        if stream.random() < OFTEN:
            address = stream.choice(can).offset + stream.randrange(4)
        if address & ~3 == table["control"].offset:
            data &= ~(1 << RESET) if stream.random() < SELDOM else ~(1 << RESET | 1 << CLEAR)
        if "mode" in table and address & ~3 == table["mode"].offset:
            data = stream.choice((len(modes_of(engine.unit)), data | 0xFF))  # no mode has such a number
        yield Write(address, data, strobe)


def random_reads(engine: Engine, stream: Stream) -> Iterator[int]:
    """Reads of any address."""
    table = [each.offset for each in registers(engine).values()]
    while True:
        yield stream.choice(table) if stream.random() < OFTEN else stream.randrange(1 << ADDRESS_BITS)


def every_write() -> Iterator[Write]:
    """A write to each word, of all bits but that of a soft reset."""
    return (Write(address, 0xFFFFFFFF & ~(1 << RESET)) for address in range(0, 1 << ADDRESS_BITS, 4))


def every_read() -> Iterator[int]:
    """Reads of all addresses, those within words too."""
    return (address + byte for byte in range(4) for address in range(0, 1 << ADDRESS_BITS, 4))
