"""The logic of an adapter: Verilog that makes a stream of beats and a stream of results of a protocol."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import assert_never

from hwsim.cosim.adapters.beatphases import Phases, Stalls, delayed, phases, stalls
from hwsim.cosim.adapters.controls import ALWAYS, NEVER, Controls, Driven, all_of, inverted
from hwsim.cosim.adapters.schedule import Serialized
from hwsim.cosim.adapters.serial import schedule_logic
from hwsim.cosim.adapters.wiring import Wiring
from hwsim.cosim.bench import PortField
from hwsim.cosim.dut.dutfile import Dut
from hwsim.cosim.dut.places import ControlPlace
from hwsim.cosim.dut.protocolkind import ControlPort, NamedControl
from hwsim.cosim.dut.protocols import (
    AccumulateProtocol,
    CombinationalProtocol,
    LateControl,
    LatencyProtocol,
    StreamProtocol,
    TaggedProtocol,
)
from hwsim.cosim.dut.serialprotocol import SerialProtocol


@dataclass(frozen=True)
class ProtocolLogic:
    """How a design is driven, and when its beats are taken and its results come.

    driven: control inputs. fields: for a bit of a beat what drives it in the place of the payload. lines: Verilog.
    ready: of the stream of beats; valid: of the stream of results; context: that of a result, unless ports have it.
    result: a register that holds it, where no port does.
    """

    ready: str
    valid: str
    context: str
    result: str = ""
    driven: tuple[Driven, ...] = ()
    fields: dict[str, str] = field(default_factory=dict)
    lines: tuple[str, ...] = ()


def protocol_logic(dut: Dut, controls: Controls, fields: Wiring) -> ProtocolLogic:
    """What a design's protocol asks of the adapter. Raises SpecError for a port that is not there."""
    maker = _Maker(dut, controls, {field.name: field for field in fields.input})
    match dut.file.protocol:
        case StreamProtocol() | TaggedProtocol() as protocol:
            return maker.stream(protocol)
        case LatencyProtocol() as protocol:
            return maker.latency(protocol)
        case AccumulateProtocol() as protocol:
            return maker.accumulate(protocol)
        case SerialProtocol() as protocol:
            return maker.serial(protocol, Serialized(dut, controls.module, fields, protocol))
        case CombinationalProtocol():
            return ProtocolLogic(ALWAYS, "i__valid", "i__payload_context")
        case _:
            assert_never(dut.file.protocol)


@dataclass(frozen=True)
class _Maker:
    """Makes the logic of one design. inputs: the fields of a beat."""

    dut: Dut
    controls: Controls
    inputs: dict[str, PortField]

    def stream(self, protocol: StreamProtocol | TaggedProtocol) -> ProtocolLogic:
        stalled = stalls(self.controls, protocol.clock_enables, waits=protocol.output_ready is not None)
        late = protocol.ready_latency
        ready = "may_come" if late else self._seen(protocol.taking)
        before = delayed("may_come", self._seen(protocol.taking), 1, late, stalled.step) if late else ()
        around = self._phases(all_of(ready, stalled.step), stalled)
        return ProtocolLogic(
            around.ready,
            self._seen(protocol.giving),
            f"{self._context_bits}'d0",
            driven=(
                *stalled.driven,
                *self._driven("input_valid", protocol.input_valid, all_of(around.beat, ready if late else ALWAYS)),
                *self._driven("output_ready", protocol.output_ready, "o__ready"),
            ),
            fields=self._pulses(around),
            lines=(*stalled.lines, *before, *around.lines),
        )

    def latency(self, protocol: LatencyProtocol) -> ProtocolLogic:
        stalled = stalls(self.controls, protocol.clock_enables, waits=False)
        around = self._phases(stalled.step, stalled)
        place = self.dut.file.ports.first
        begins = all_of(around.taken, "i__payload_first")
        later = delayed("first_late", begins, 1, place.at, stalled.step) if place and place.at > 0 else ()
        return ProtocolLogic(
            around.ready,
            "awaited" if protocol.giving is None else self._seen(protocol.giving),
            self._awaited_context,
            driven=(*stalled.driven, *self._driven("input_valid", protocol.input_valid, around.beat)),
            fields=self._pulses(around),
            lines=(*stalled.lines, *around.lines, *later, *self._delay(protocol.cycles, around, stalled)),
        )

    def accumulate(self, protocol: AccumulateProtocol) -> ProtocolLogic:
        stalled = stalls(self.controls, protocol.clock_enables, waits=False)
        slots = [key for key in ("clear", "load") if (port := getattr(protocol, key)) and port.when != "first"]
        around = phases(len(slots), protocol.cycles if slots else 0, stalled.step, stalled.step)
        pulses = {key: f"{around.opening} & lead == {len(slots).bit_length()}'d{at}" for at, key in enumerate(slots)}
        lines = [*stalled.lines, *around.lines, *self._delay(protocol.cycles, around, stalled)]
        if protocol.clear is not None and protocol.clear.when == "between":
            lines += _open(around, stalled)
            pulses["clear"] = f"~open & {around.idle} & (~i__valid | {pulses['clear']})"
        first = all_of(around.beat, "i__payload_first")
        clear, clearing = late("clear", protocol.clear, pulses.get("clear", first), stalled.step)
        enable, enabling = late("enable", protocol.enable, around.beat, stalled.step)
        return ProtocolLogic(
            around.ready,
            "awaited" if protocol.giving is None else self._seen(protocol.giving),
            self._awaited_context,
            driven=(
                *stalled.driven,
                *self._driven("clear", protocol.clear, clear),
                *self._driven("load", protocol.load, pulses.get("load", first)),
                *self._driven("enable", protocol.enable, enable),
            ),
            lines=(*lines, *clearing, *enabling),
        )

    def serial(self, protocol: SerialProtocol, serialized: Serialized) -> ProtocolLogic:
        stalled = stalls(self.controls, protocol.clock_enables, waits=False)
        free, done = self._seen(protocol.taking), self._seen(protocol.giving) if protocol.done else NEVER
        timed = schedule_logic(protocol, stalled.step, free, done)
        return ProtocolLogic(
            timed.ready,
            timed.valid,
            f"{self._context_bits}'d0",
            "made",
            (*stalled.driven, *self._driven("start", protocol.start, timed.begins), *serialized.driven),
            lines=(*stalled.lines, *timed.lines, *serialized.sends(), *serialized.reads(timed, stalled.step)),
        )

    @property
    def _awaited_context(self) -> str:
        return "awaited_context" if self.dut.file.contexts > 1 else f"{self._context_bits}'d0"

    def _delay(self, cycles: int, around: Phases, stalled: Stalls) -> Iterator[str]:
        yield f"wire due = {all_of(around.taken, 'i__payload_last')};"
        yield from delayed("awaited", "due", 1, cycles, stalled.step)
        if self.dut.file.contexts > 1:
            yield from delayed("awaited_context", "i__payload_context", self._context_bits, cycles, stalled.step)

    @property
    def _context_bits(self) -> int:
        return self.inputs["context"].bits

    def _phases(self, ready: str, stalled: Stalls) -> Phases:
        first, last = self.dut.file.ports.first, self.dut.file.ports.last
        return phases(max(0, -first.at) if first else 0, last.at if last else 0, ready, stalled.step)

    def _pulses(self, around: Phases) -> dict[str, str]:
        """What drives `first` and `last`, where it is not their bit of the payload."""
        first, last, made = self.dut.file.ports.first, self.dut.file.ports.last, dict[str, str]()
        if first is not None and not first.plain:
            high = "first_late" if first.at > 0 else around.first_pulse if first.at else "i__payload_first"
            made["first"] = _active(first, high)
        if last is not None and not last.plain:
            made["last"] = _active(last, around.last_pulse if last.at else "i__payload_last")
        return made

    def _seen(self, control: NamedControl | None) -> str:
        """An output that says something; that it is always so where there is none."""
        return ALWAYS if control is None else self.controls.seen(control)

    def _driven(self, key: str, port: ControlPort | None, high: str) -> tuple[Driven, ...]:
        return () if port is None else (self.controls.driven(NamedControl(key, port), high),)


def late(key: str, port: LateControl | None, high: str, step: str) -> tuple[str, tuple[str, ...]]:
    """What drives a control of a later stage, and the Verilog that keeps it until then."""
    if port is None or not port.at:
        return high, ()
    return f"{key}_late", tuple(delayed(f"{key}_late", high, 1, port.at, step))


def _active(place: ControlPlace, high: str) -> str:
    """What drives a control that says `high`."""
    return high if place.active == "high" else inverted(high)


def _open(around: Phases, stalled: Stalls) -> Iterator[str]:
    """Whether a sum has begun and its last beat is to come."""
    yield "reg open;"
    yield "always @(posedge clk)"
    yield "  if (rst) open <= 1'b0;"
    yield f"  else if ({all_of(around.taken, stalled.step)}) open <= ~i__payload_last;"
