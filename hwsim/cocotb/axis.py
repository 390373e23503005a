"""AXI4-Stream by cocotbext-axi: a source and a sink with what `hwsim.cocotb`'s have.

A frame is a dot product: its beats one after the other, as many transfers as its bytes take, `tlast` in the last. It
needs cocotbext-axi, the extra `axi`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import cocotb
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

from hwsim.base.errors import InputError
from hwsim.spec.catalog import UnitLike, load_unit
from hwsim.tb.fields import Field, side_by_side
from hwsim.tb.pins import Transfer, ValidReadyMonitor, Value
from hwsim.tb.streams import Word

FRAMES_AHEAD = 2  # that wait in a source: no transfer waits for the test, and the test is not far ahead
OF_THE_FRAME = ("first", "last")  # fields that the ends of a frame say


def beat_fields(unit: UnitLike, products: int | None = None, order: Sequence[str] = ()) -> tuple[Field, ...]:
    """The fields of a beat, side by side, the first in the low bits: a, b, and c, scale_a and scale_b where there are.

    products: those of a beat; a group of the unit's unless given. order: of the fields, by their names.
    Raises InputError for names that are not those of the unit.
    """
    loaded = load_unit(unit)
    count, operands = products or loaded.instruction.lanes, loaded.operands
    sizes = {"a": (operands.a.container_bits, count), "b": (operands.b.container_bits, count)}
    if operands.addend is not None:
        sizes["c"] = (operands.addend.container_bits, 1)
    if loaded.scale is not None:
        for side, of_side in (("a", loaded.scale.a), ("b", loaded.scale.b)):
            shared = loaded.lanes_of_scale("b" if side == "b" else "a")
            sizes[f"scale_{side}"] = (of_side.format.container_bits, -(-count // shared))
    if order and sorted(order) != sorted(sizes):
        raise InputError(f"order must have {', '.join(sizes)}, not {', '.join(order)}")
    return side_by_side((name, *sizes[name]) for name in order or sizes)


class AxisSource:
    """Sends dot products as frames on AXI4-Stream.

    entity, name: a cocotb handle, and how the bus's ports begin: `s_axis` for s_axis_tdata. fields: of a beat, as
    `beat_fields` makes them; a beat is filled up to whole bytes. offer: whether a transfer may be offered, cycle by
    cycle, without an end. axi: the source of cocotbext-axi.
    """

    def __init__(
        self,
        entity: Any,
        name: str,
        clock: Any,
        reset: Any = None,
        *,
        fields: Sequence[Field],
        active_low: bool = False,
        offer: Iterable[bool] | None = None,
    ):
        self.fields = tuple(fields)
        self.bytes = -(-max(field.offset + field.bits * field.count for field in self.fields) // 8)
        bus = AxiStreamBus.from_prefix(entity, name)
        self.axi = AxiStreamSource(bus, clock, reset, reset_active_level=not active_low)
        self.axi.log.setLevel("WARNING")
        self.axi.queue_occupancy_limit_frames = FRAMES_AHEAD
        if offer is not None:
            self.axi.set_pause_generator(_paused(offer))

    async def send(self, **fields: Sequence[Value]) -> None:
        """Send a dot product. Returns once it is queued for the bus, with few before it.

        fields: by name a value for each beat. Raises InputError for other names than the bus has.
        """
        missing = {field.name for field in self.fields} ^ (fields.keys() - set(OF_THE_FRAME))
        if missing:
            names = ", ".join(field.name for field in self.fields)
            raise InputError(f"a frame has the fields {names}, and not just one of the two has {', '.join(missing)}")
        frame = bytearray()
        for number in range(len(next(iter(fields.values())))):
            frame += self.packed({name: values[number] for name, values in fields.items()})
        await self.axi.send(AxiStreamFrame(tdata=bytes(frame)))

    def packed(self, beat: dict[str, Value]) -> bytes:
        """Pack a beat into bytes, the low bits first."""
        word = 0
        for field in self.fields:
            value = beat[field.name]
            word |= field.place((value,) if isinstance(value, int) else value)
        return word.to_bytes(self.bytes, "little")


class AxisSink(ValidReadyMonitor):
    """Takes frames from AXI4-Stream, a result each, and watches that tvalid, tdata and tlast stay until they are taken.

    bits: of a result, the low ones of its frame; bits above them, as of a bus that is wider, are not looked at. The
    other arguments are as of `AxisSource`, `take` as `offer`. axi: the sink of cocotbext-axi.
    """

    def __init__(
        self,
        entity: Any,
        name: str,
        clock: Any,
        reset: Any = None,
        *,
        bits: int,
        active_low: bool = False,
        take: Iterable[bool] | None = None,
    ):
        self.bits = bits
        bus = AxiStreamBus.from_prefix(entity, name)
        self.axi = AxiStreamSink(bus, clock, reset, reset_active_level=not active_low)
        self.axi.log.setLevel("WARNING")
        if take is not None:
            self.axi.set_pause_generator(_paused(take))
        names = {"valid": f"{name}_tvalid", "ready": f"{name}_tready", "result": f"{name}_tdata"}
        last = {"last": f"{name}_tlast"} if hasattr(bus, "tlast") else {}
        super().__init__(
            entity, name, clock, fields=("result", *last), signals=names | last, reset=reset, active_low=active_low
        )
        self._receiving = cocotb.start_soon(self._frames())

    def stop(self) -> None:
        """Stop watching."""
        super().stop()
        self._receiving.cancel()

    def taken(self, word: Word) -> None:
        """Count a transfer; results are those of frames, which cocotbext-axi puts together."""
        self.received += 1

    async def _frames(self) -> None:
        while True:
            frame = await self.axi.recv()
            code = int.from_bytes(bytes(frame.tdata), "little") & (1 << self.bits) - 1
            self.put(Transfer(self.cycle, {"result": code}))


def _paused(goes: Iterable[bool]) -> Iterator[bool]:
    return (not go for go in goes)
