"""The unit: beats in, results out, sums interleaved in contexts."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, ShapeLike, Signal, Value, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.data import ArrayLayout, Layout, StructLayout, View
from amaranth.lib.wiring import In, Out

from hwsim.formats import FloatFormat
from hwsim.spec import Pipeline, Unit

from .datapath import datapath, promotion
from .numbers import Numbers
from .step import Chain, fields


def beat_layout(unit: Unit, pipeline: Pipeline) -> StructLayout:
    """What enters in one cycle; the first field in the low bits, lane 0 first."""
    n = Numbers(unit)
    fields: dict[str, object] = {
        "a": ArrayLayout(unsigned(n.a.container_bits), n.lanes),
        "b": ArrayLayout(unsigned(n.b.container_bits), n.lanes),
    }
    if n.scales:
        blocks = n.scale_blocks
        fields["scale_a"] = ArrayLayout(unsigned(n.scales[0].bits), blocks[0])
        fields["scale_b"] = ArrayLayout(unsigned(n.scales[1].bits), blocks[1])
    if n.addend is not None:
        fields["c"] = unsigned(n.addend.container_bits)
    return StructLayout({**fields, "first": 1, "last": 1, "context": unsigned(pipeline.context_bits)})


def result_port_layout(unit: Unit, pipeline: Pipeline) -> StructLayout:
    """What leaves: the result's code in its container, and the context that it belongs to."""
    return StructLayout({"result": unsigned(unit.output.container_bits), "context": unsigned(pipeline.context_bits)})


def select(values: Sequence[Value], index: Value) -> Value:
    """values[index]; the last where the index is beyond."""
    chosen = values[-1]
    for at in reversed(range(len(values) - 1)):
        chosen = Mux(index == Const(at, len(index)), values[at], chosen)
    return chosen


class DotUnit(wiring.Component):
    """A dot-product unit with a stream of beats in and a stream of results out.

    A beat with `first` opens a sum in its context and brings the addend `c`; one with `last` closes it, and its
    result leaves `pipeline.latency` cycles later if nothing holds the output. Any other beat waits, `i.ready` low,
    until the one before it in its context is written back. The whole pipeline stands still while a result waits.

    misuse: set, until reset, once a beat was accepted that continues no open sum or names no context.
    """

    def __init__(self, unit: Unit, pipeline: Pipeline):
        self.unit, self.pipeline, self.numbers = unit, pipeline, Numbers(unit)
        super().__init__(
            {
                "i": In(stream.Signature(beat_layout(unit, pipeline))),
                "o": Out(stream.Signature(result_port_layout(unit, pipeline))),
                "misuse": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """The unit's logic."""
        m = Module()
        advance, accept = Signal(), Signal()
        m.d.comb += [advance.eq(~self.o.valid | self.o.ready), accept.eq(self.i.valid & self.i.ready)]
        stages = self._flight(m, advance, accept)
        self._ready(m, advance, stages)
        self._misuse(m, accept)
        chained = self._position(m, accept, stages[0])
        m.submodules.datapath = path = datapath(self.unit, self.pipeline.cuts)
        self._operands(m, path, advance, chained)
        self._write_back(m, path, advance, stages)
        if self.unit.promotion:
            self._promotion(m, path, advance, stages)
        else:
            self._output(m, path, self.numbers.result, self.numbers.nan)
        return m

    @property
    def _flight_layout(self) -> StructLayout:
        fields: dict[str, object] = {"first": 1, "last": 1, "context": unsigned(self.pipeline.context_bits)}
        if self.unit.promotion:
            fields |= {"promotes": 1, "c": unsigned(self._register_format.bits)}
        return StructLayout(fields)

    def _flight(self, m: Module, advance: Value, accept: Value) -> list[View[Layout]]:
        """What flies beside the datapath: stage 0 is the beat at the input, stage n is behind n registers."""
        self.valid = [accept]
        stages = [Signal(self._flight_layout, name="entering")]
        payload = self.i.payload
        m.d.comb += [stages[0][field].eq(payload[field]) for field in ("first", "last", "context")]
        for stage in range(1, self.pipeline.latency + 1):
            valid = Signal(name=f"valid{stage}")
            register = Signal(self._flight_layout, name=f"flight{stage}", reset_less=True)
            with m.If(advance):
                m.d.sync += [valid.eq(self.valid[-1]), register.eq(stages[-1])]
            self.valid.append(valid)
            stages.append(register)
        m.d.comb += [self.o.valid.eq(self.valid[-1] & stages[-1].last), self.o.payload.context.eq(stages[-1].context)]
        return stages

    def _ready(self, m: Module, advance: Value, stages: list[View[Layout]]) -> None:
        """A beat that continues a sum waits while one of its context is on its way to be written back."""
        payload = self.i.payload
        flying = [
            valid & ~stage.last & (stage.context == payload.context)
            for valid, stage in zip(self.valid[1:-1], stages[1:-1], strict=True)
        ]
        waits = Signal()
        m.d.comb += [waits.eq(Cat(*flying).any()), self.i.ready.eq(advance & (payload.first | ~waits))]

    def _misuse(self, m: Module, accept: Value) -> None:
        payload = self.i.payload
        opened = Signal(self.pipeline.contexts)
        every = self.pipeline.contexts == 1 << len(payload.context)
        known = Const(1) if every else payload.context < self.pipeline.contexts
        is_open = select(list(opened), payload.context)
        with m.If(accept & (~known | ~(payload.first | is_open))):
            m.d.sync += self.misuse.eq(1)
        for at in range(self.pipeline.contexts):
            with m.If(accept & (payload.context == Const(at, len(payload.context)))):
                m.d.sync += opened[at].eq(~payload.last)

    def _position(self, m: Module, accept: Value, entering: View[Layout]) -> Value:
        """Whether the beat continues a partial sum; and drive whether its own partial sum is promoted."""
        payload, beats = self.i.payload, self.unit.promotion_beats
        if beats is None:
            return ~payload.first
        counts = self._per_context("count", range(beats))
        index, promotes = Signal(range(beats)), Signal()
        m.d.comb += [
            index.eq(Mux(payload.first, 0, select(counts, payload.context))),
            promotes.eq(payload.last | (index == beats - 1)),
            entering.promotes.eq(promotes),
        ]
        if self.numbers.addend is not None:
            m.d.comb += entering.c.eq(payload.c[self._register_format.padding :])
        self._store(m, counts, accept, payload.context, Mux(promotes, 0, index + 1))
        return index != 0

    def _operands(self, m: Module, path: Chain, advance: Value, chained: Value) -> None:
        payload = self.i.payload
        self.partials = self._per_context("partial", unsigned(self.numbers.result.bits))
        m.d.comb += [path.enable.eq(advance), path.i.chain.eq(chained)]
        # Gated, so that a register that was never written cannot be seen, not even as an X.
        m.d.comb += path.i.partial.eq(Mux(chained, select(self.partials, payload.context), 0))
        for field, signal in fields(path.i).items():
            if field == "c":
                m.d.comb += signal.eq(payload.c)
            elif field not in {"partial", "chain"}:
                m.d.comb += [element.eq(payload[field][index]) for index, element in enumerate(signal)]

    def _write_back(self, m: Module, path: Chain, advance: Value, stages: list[View[Layout]]) -> None:
        """A group's result becomes its context's partial sum as soon as it is known."""
        stage = path.latency_of_next
        self._store(m, self.partials, advance & self.valid[stage], stages[stage].context, path.next.code)

    def _per_context(self, name: str, shape: ShapeLike) -> list[Signal]:
        return [Signal(shape, name=f"{name}{at}", reset_less=True) for at in range(self.pipeline.contexts)]

    def _store(self, m: Module, into: list[Signal], when: Value, context: Value, value: Value) -> None:
        for at, register in enumerate(into):
            with m.If(when & (context == Const(at, len(context)))):
                m.d.sync += register.eq(value)

    def _output(self, m: Module, path: Chain, fmt: FloatFormat, nan: int) -> None:
        padded = Cat(Const(0, fmt.padding), path.o.code)
        m.d.comb += self.o.payload.result.eq(Mux(path.o.nan, nan, padded))

    @property
    def _register_format(self) -> FloatFormat:
        assert self.unit.promotion is not None and isinstance(self.unit.promotion.format, FloatFormat)
        return self.unit.promotion.format

    def _promotion(self, m: Module, path: Chain, advance: Value, stages: list[View[Layout]]) -> None:
        """The register of each context: `c` at first, then what it and the promoted partial sums come to."""
        fmt = self._register_format
        m.submodules.promotion = adder = promotion(self.unit, self.pipeline.cuts)
        registers = self._per_context("register", unsigned(fmt.bits))
        entering, leaving = stages[path.latency], stages[path.latency + adder.latency_of_next]
        m.d.comb += [
            adder.enable.eq(advance),
            adder.i.register.eq(Mux(entering.first, entering.c, select(registers, entering.context))),
            adder.i.partial.eq(path.o.code),
        ]
        written = self.valid[path.latency + adder.latency_of_next] & (leaving.first | leaving.promotes)
        sum_or_c = Mux(leaving.promotes, adder.next.code, leaving.c)
        self._store(m, registers, advance & written, leaving.context, sum_or_c)
        self._output(m, adder, fmt, fmt.canonical_nan or 0)
