"""The logic of an adapter: Verilog that makes a stream of beats and a stream of results of a protocol."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import assert_never

from hwsim.cosim.beatphases import Phases, Stalls, phases, stalls, when
from hwsim.cosim.controls import ALWAYS, Controls, Driven, all_of, inverted
from hwsim.cosim.dutfile import ControlPlace, Dut
from hwsim.cosim.ports import PortField
from hwsim.cosim.protocols import CombinationalProtocol, ControlPort, LatencyProtocol, NamedControl, StreamProtocol
from hwsim.cosim.wiring import Wiring


@dataclass(frozen=True)
class ProtocolLogic:
    """How a design is driven, and when its beats are taken and its results come.

    driven: control inputs. fields: for a bit of a beat what drives it in the place of the payload. lines: Verilog.
    ready: of the stream of beats; valid: of the stream of results; context: that of a result, unless ports have it.
    """

    ready: str
    valid: str
    context: str
    driven: tuple[Driven, ...] = ()
    fields: dict[str, str] = field(default_factory=dict)
    lines: tuple[str, ...] = ()


def protocol_logic(dut: Dut, controls: Controls, fields: Wiring) -> ProtocolLogic:
    """What a design's protocol asks of the adapter. Raises SpecError for a port that is not there."""
    maker = _Maker(dut, controls, {field.name: field for field in fields.input})
    match dut.file.protocol:
        case StreamProtocol() as protocol:
            return maker.stream(protocol)
        case LatencyProtocol() as protocol:
            return maker.latency(protocol)
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

    def stream(self, protocol: StreamProtocol) -> ProtocolLogic:
        stalled = stalls(self.controls, protocol.clock_enables, waits=protocol.output_ready is not None)
        around = self._phases(all_of(self._seen(protocol.taking), stalled.step), stalled)
        return ProtocolLogic(
            around.ready,
            self._seen(protocol.giving),
            f"{self._context_bits}'d0",
            (
                *stalled.driven,
                *self._driven("input_valid", protocol.input_valid, around.beat),
                *self._driven("output_ready", protocol.output_ready, "o__ready"),
            ),
            self._pulses(around),
            (*stalled.lines, *around.lines),
        )

    def latency(self, protocol: LatencyProtocol) -> ProtocolLogic:
        stalled = stalls(self.controls, protocol.clock_enables, waits=False)
        around = self._phases(stalled.step, stalled)
        return ProtocolLogic(
            around.ready,
            "awaited" if protocol.giving is None else self._seen(protocol.giving),
            "awaited_context",
            (*stalled.driven, *self._driven("input_valid", protocol.input_valid, around.beat)),
            self._pulses(around),
            (*stalled.lines, *around.lines, *_delay(protocol.cycles, self._context_bits, around.taken, stalled.step)),
        )

    @property
    def _context_bits(self) -> int:
        return self.inputs["context"].bits

    def _phases(self, ready: str, stalled: Stalls) -> Phases:
        first, last = self.dut.file.ports.first, self.dut.file.ports.last
        return phases(-first.at if first else 0, last.at if last else 0, ready, stalled.step)

    def _pulses(self, around: Phases) -> dict[str, str]:
        """What drives `first` and `last`, where it is not their bit of the payload."""
        first, last, made = self.dut.file.ports.first, self.dut.file.ports.last, dict[str, str]()
        if first is not None and not first.plain:
            made["first"] = _active(first, around.first_pulse if first.at else "i__payload_first")
        if last is not None and not last.plain:
            made["last"] = _active(last, around.last_pulse if last.at else "i__payload_last")
        return made

    def _seen(self, control: NamedControl | None) -> str:
        """An output that says something; that it is always so where there is none."""
        return ALWAYS if control is None else self.controls.seen(control)

    def _driven(self, key: str, port: ControlPort | None, high: str) -> tuple[Driven, ...]:
        return () if port is None else (self.controls.driven(NamedControl(key, port), high),)


def _active(place: ControlPlace, high: str) -> str:
    """What drives a control that says `high`."""
    return high if place.active == "high" else inverted(high)


def _delay(cycles: int, bits: int, taken: str, step: str) -> Iterator[str]:
    """Whether a result is due, and of which context: the input of `cycles` cycles ago."""
    yield f"wire due = {all_of(taken, 'i__payload_last')};"
    if not cycles:
        yield "wire awaited = due;"
        yield f"wire [{bits - 1}:0] awaited_context = i__payload_context;"
        return
    yield f"reg [{cycles - 1}:0] waits;"
    yield f"reg [{bits - 1}:0] contexts [0:{cycles - 1}];"
    yield "integer stage;"
    yield "always @(posedge clk)"
    yield f"  if (rst) waits <= {cycles}'d0;"
    yield f"  else {when(step)}begin"
    yield f"    waits <= {{waits, due}} & {{{cycles}{{1'b1}}}};"
    yield "    contexts[0] <= i__payload_context;"
    yield f"    for (stage = 1; stage < {cycles}; stage = stage + 1) contexts[stage] <= contexts[stage - 1];"
    yield "  end"
    yield f"wire awaited = waits[{cycles - 1}];"
    yield f"wire [{bits - 1}:0] awaited_context = contexts[{cycles - 1}];"
