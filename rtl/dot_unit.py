"""The unit: beats in, results out, sums interleaved in contexts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, ShapeLike, Signal, Value, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.data import Layout, StructLayout, View
from amaranth.lib.wiring import In, Out

from hwsim.rtl.accumulate import Accumulation, accumulation
from hwsim.rtl.arithmetic import select
from hwsim.rtl.methods import datapath, promotion, supports
from hwsim.rtl.numbers import ProductRanges, factors_layout
from hwsim.rtl.selector import FactorSelect, selection_layout
from hwsim.rtl.step import Datapath, assign
from hwsim.spec import AnyUnit, Pipeline, SparseUnit, Specified, dense_of, modes_of


class SkidBuffer(wiring.Component):
    """Keeps a payload that was accepted in a cycle in which the next stage was not ready.

    `entering.ready` is low while one is kept, and depends on nothing else: no path leads from `leaving.ready` to it.
    What is offered while the buffer is empty goes through in the same cycle.
    """

    def __init__(self, payload: ShapeLike):
        super().__init__({"entering": In(stream.Signature(payload)), "leaving": Out(stream.Signature(payload))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        full = Signal(name="full")
        kept = Signal.like(self.entering.payload.as_value(), name="kept", reset_less=True)
        m.d.comb += [
            self.entering.ready.eq(~full),
            self.leaving.valid.eq(full | self.entering.valid),
            self.leaving.payload.as_value().eq(Mux(full, kept, self.entering.payload.as_value())),
        ]
        m.d.sync += full.eq(self.leaving.valid & ~self.leaving.ready)
        with m.If(~full):
            m.d.sync += kept.eq(self.entering.payload.as_value())
        return m


def beat_layout(unit: AnyUnit, pipeline: Pipeline) -> StructLayout:
    """Payload of a beat, which enters in one cycle; the first field in the low bits, lane 0 first.

    Raises NotImplementedYet for a unit that the RTL cannot build.
    """
    supports(unit).demand()
    dense = dense_of(unit)
    factors = dict(factors_layout(ProductRanges(dense)).members)
    factors |= selection_layout(unit).members if isinstance(unit, SparseUnit) else {}
    addend = dense.operands.addend
    fields = {} if addend is None else {"c": unsigned(addend.container_bits)}
    beat = {"first": 1, "last": 1, "context": unsigned(pipeline.context_bits)}
    return StructLayout({**factors, **fields, **beat})


def result_port_layout(unit: AnyUnit, pipeline: Pipeline) -> StructLayout:
    """Payload of a result: its code in its container, and the context that it belongs to."""
    bits = dense_of(unit).output.container_bits
    return StructLayout({"result": unsigned(bits), "context": unsigned(pipeline.context_bits)})


def flight_layout(unit: Specified, pipeline: Pipeline) -> StructLayout:
    """Fields that go along with a beat beside the datapath."""
    fields: dict[str, object] = {"first": 1, "last": 1, "context": unsigned(pipeline.context_bits)}
    after = accumulation(unit)
    if after is not None:
        fields |= {"promotes": 1}
        if unit.operands.addend is not None:
            fields |= {"c": unsigned(after.code_bits)}
        scales = {name: unsigned(fmt.container_bits) for name, fmt in after.scales.items()}
        if scales:
            # Apart, each is a port by its own name; side by side they would be one, without a name.
            fields = {"scale_a": scales["scale_a"], **fields, "scale_b": scales["scale_b"]}
    return StructLayout(fields)


class ContextRegisters:
    """A value for each context, which it keeps from beat to beat; whoever reads it knows what it is."""

    def __init__(self, name: str, shape: ShapeLike, contexts: int):
        self.name = name
        self.registers = [Signal(shape, name=f"{name}{context}", reset_less=True) for context in range(contexts)]

    def of(self, context: Value) -> Value:
        """The value of a context."""
        return select(self.registers, context)

    def store(self, m: Module, when: Value, context: Value, value: Value) -> None:
        """Keep a value for a context in cycles in which `when` is high."""
        stores, following = Signal(name=f"store_{self.name}"), Signal(value.shape(), name=f"next_{self.name}")
        m.d.comb += [stores.eq(when), following.eq(value)]
        with m.If(stores), m.Switch(context):
            for number, register in enumerate(self.registers):
                with m.Case(number):
                    m.d.sync += register.eq(following)


def scale_of_partial(
    m: Module, kept: ContextRegisters, scale: Value, context: Value, opens: Value, valid: Value
) -> Value:
    """The scale of a partial sum, which is that of its first group, and is kept from there on."""
    kept.store(m, valid & opens, context, scale)
    return Mux(opens, scale, kept.of(context))


class InFlight(NamedTuple):
    """A beat behind some registers: whether there is one, and what goes along with it (`first`, `last`, `context`)."""

    valid: Value
    beat: View[Layout]


def carry(
    m: Module, pipeline: Pipeline, path: Datapath, taken: tuple[Value, Value], written: tuple[Value, Value]
) -> None:
    """Keep for each context what one of its groups hands to the next, as soon as it is known.

    taken: whether the beat that enters continues a sum, and its context. written: when something is kept, and of which.
    """
    carried = ContextRegisters("carried", unsigned(path.carried.size), pipeline.contexts)
    continues, context = taken
    # Gated, so that a register that was never written cannot be seen, not even as an X.
    m.d.comb += assign(path.i.carried, View(path.carried, Mux(continues, carried.of(context), 0)))
    carried.store(m, *written, path.carried_on)


def accumulate(
    m: Module,
    after: Accumulation,
    pipeline: Pipeline,
    path: Datapath,
    adder: Datapath,
    advance: Value,
    entering: View[Layout],
    kept: InFlight,
) -> None:
    """Registers of each context: `c` at first, then the sum of it and the partial sums that are added to it.

    entering: the beat whose partial sum leaves the datapath. kept: the one whose sum is known.
    """
    m.submodules[after.part] = adder
    registers = ContextRegisters("register", unsigned(after.code_bits), pipeline.contexts)
    valid, leaving = kept
    context, adds = entering.context, after.unit.operands.addend is not None
    current = Signal(unsigned(after.code_bits), name="current_register")
    m.d.comb += [
        current.eq(Mux(entering.first, entering.c if adds else 0, registers.of(context))),
        adder.enable.eq(advance),
        adder.i.register.eq(current),
        adder.i.partial.eq(path.o.code),
        *(getattr(adder.i, name).eq(entering[name]) for name in after.scales),
    ]
    written = valid & (leaving.first | leaving.promotes)
    sum_or_c = Mux(leaving.promotes, adder.next.code, leaving.c if adds else 0)
    registers.store(m, advance & written, leaving.context, sum_or_c)
    if after.start is not None:
        starts = ContextRegisters("starts", 1, pipeline.contexts)
        m.d.comb += adder.i.starts.eq(entering.first | starts.of(context))
        starts.store(m, advance & written, leaving.context, ~leaving.promotes)


def result_code(unit: Specified, last: Datapath) -> Value:
    """A result's code in its container, of what the last part of a unit makes."""
    return Mux(last.o.nan, unit.nan, Cat(Const(0, unit.output.padding), last.o.code))


class DotUnit(wiring.Component):
    """A dot-product unit with a stream of beats in and a stream of results out.

    A beat with `first` opens a sum in its context and brings the addend `c`; one with `last` closes it, and its
    result leaves `pipeline.latency` cycles later if nothing holds the output. Any other beat waits, `i.ready` low,
    until the one before it in its context is written back. The whole pipeline stands still while a result waits.
    Of a sparse unit a selector stands in front of the lanes, and the rest is the dense unit.

    misuse: set, until reset, once a beat was accepted that continues no open sum, or names no context, no mode, or no
    factor of b.
    """

    def __init__(self, unit: AnyUnit, pipeline: Pipeline):
        self.unit, self.pipeline = dense_of(unit), pipeline
        self.sparse = unit if isinstance(unit, SparseUnit) else None
        super().__init__(
            {
                "i": In(stream.Signature(beat_layout(unit, pipeline))),
                "o": Out(stream.Signature(result_port_layout(unit, pipeline))),
                "misuse": Out(1),
            }
        )
        # What enters the pipeline: from the input, or from the buffer behind it.
        self.beats: Any = self.i

    @property
    def purpose(self) -> str:
        lanes, contexts, latency = self.unit.instruction.lanes, self.pipeline.contexts, self.pipeline.latency
        products = f"{lanes} product{'s' * (lanes > 1)}"
        name = self.unit.name
        if self.sparse is not None:
            name, whole = self.sparse.name, self.sparse.sparsity.whole_of(lanes)
            products = f"{lanes} factors of a, for which metadata select of {whole} of b,"
        sums = f"{contexts} sum{'s' * (contexts > 1)}"
        cycles = f"{latency} cycle{'s' * (latency > 1)}"
        return (
            f"{name}: a beat of {products} enters in a cycle, up to {sums} can be open, and a result leaves "
            f"{cycles} after its last beat, or later where out_ready was low."
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self.pipeline.register_ready:
            m.submodules.entry = entry = SkidBuffer(self.i.payload.shape())
            wiring.connect(m, wiring.flipped(self.i), entry.entering)
            self.beats = entry.leaving
        advance, accept = Signal(name="advance"), Signal(name="accept")
        m.d.comb += [advance.eq(~self.o.valid | self.o.ready), accept.eq(self.beats.valid & self.beats.ready)]
        flight = self._flight(m, advance, accept)
        self._ready(m, advance, flight)
        self._misuse(m, accept)
        continues = self._position(m, flight[0])
        m.submodules.datapath = path = datapath(self.unit, self.pipeline.cuts)
        self._operands(m, path, advance, continues)
        valid, beat = flight[path.latency_of_next]
        written = Signal(name="written")
        m.d.comb += written.eq(advance & valid)
        carry(m, self.pipeline, path, (continues, self.beats.payload.context), (written, beat.context))
        after = accumulation(self.unit)
        last = path
        if after is not None:
            last = promotion(self.unit, self.pipeline.cuts)
            stages = flight[path.latency].beat, flight[path.latency + last.latency_of_next]
            accumulate(m, after, self.pipeline, path, last, advance, *stages)
        m.d.comb += self.o.payload.result.eq(result_code(self.unit, last))
        return m

    def _flight(self, m: Module, advance: Value, accept: Value) -> list[InFlight]:
        """Stages of the fields beside the datapath: stage 0 is the beat at the input, stage n is behind n registers."""
        layout = self.flight_layout()
        stages = [InFlight(accept, Signal(layout, name="entering"))]
        payload = self.beats.payload
        m.d.comb += [stages[0].beat[field].eq(payload[field]) for field in ("first", "last", "context")]
        for stage in range(1, self.pipeline.latency + 1):
            valid = Signal(name=f"valid{stage}")
            register = Signal(layout, name=f"flight{stage}", reset_less=True)
            with m.If(advance):
                m.d.sync += [valid.eq(stages[-1].valid), register.eq(stages[-1].beat)]
            stages.append(InFlight(valid, register))
        valid, beat = stages[-1]
        m.d.comb += [self.o.valid.eq(valid & beat.last), self.o.payload.context.eq(beat.context)]
        return stages

    def _ready(self, m: Module, advance: Value, flight: Sequence[InFlight]) -> None:
        """A beat that continues a sum waits while one of its context is on its way to be written back."""
        payload = self.beats.payload
        flying = [valid & ~beat.last & (beat.context == payload.context) for valid, beat in flight[1:-1]]
        waits = Signal()
        m.d.comb += [waits.eq(Cat(*flying).any()), self.beats.ready.eq(advance & (payload.first | ~waits))]

    def _misuse(self, m: Module, accept: Value) -> None:
        payload = self.beats.payload
        opened = Signal(self.pipeline.contexts)
        every = self.pipeline.contexts == 1 << len(payload.context)
        exists = Const(1) if every else payload.context < self.pipeline.contexts
        modes = modes_of(self.unit)
        if len(modes) & len(modes) - 1:
            exists &= payload.mode < len(modes)
        of = self.sparse.sparsity.of if self.sparse is not None else 1
        if of & of - 1:
            exists &= Cat(index < of for index in payload["metadata"]).all()
        is_open = select(list(opened), payload.context)
        with m.If(accept & (~exists | ~(payload.first | is_open))):
            m.d.sync += self.misuse.eq(1)
        with m.If(accept), m.Switch(payload.context):
            for context in range(self.pipeline.contexts):
                with m.Case(context):
                    m.d.sync += opened[context].eq(~payload.last)

    def _position(self, m: Module, entering: InFlight) -> Value:
        """True if the beat continues what its context carries; and drive whether its own result is promoted."""
        payload, after = self.beats.payload, accumulation(self.unit)
        if after is None:
            return ~payload.first
        beats = after.groups
        counts = self._per_context("count", range(beats))
        index, promotes = Signal(range(beats), name="index"), Signal(name="promotes")
        m.d.comb += [
            index.eq(Mux(payload.first, 0, counts.of(payload.context))),
            promotes.eq(payload.last | (index == beats - 1)),
            entering.beat.promotes.eq(promotes),
        ]
        self._beside(m, after, entering, index == 0)
        counts.store(m, entering.valid, payload.context, Mux(promotes, 0, index + 1))
        return index != 0

    def _beside(self, m: Module, after: Accumulation, entering: InFlight, opens: Value) -> None:
        """Drive what goes along with a beat for the addition after the datapath. opens: it is a partial sum's first."""
        payload = self.beats.payload
        if self.unit.operands.addend is not None:
            m.d.comb += entering.beat.c.eq(after.entering(m, payload.c))
        for name, fmt in after.scales.items():
            kept = self._per_context(name, fmt.container_bits)
            scale = scale_of_partial(m, kept, payload[name][0], payload.context, opens, entering.valid)
            m.d.comb += entering.beat[name].eq(scale)

    def flight_layout(self) -> StructLayout:
        """Fields that go along with a beat beside the datapath."""
        return flight_layout(self.unit, self.pipeline)

    def _operands(self, m: Module, path: Datapath, advance: Value, continues: Value) -> None:
        m.d.comb += [path.enable.eq(advance), path.i.chain.eq(continues)]
        payload = self.beats.payload
        selected = None if self.sparse is None else self._selected(m, self.sparse)
        for field in path.i.signature.members:
            if field in {"c", "mode"}:
                m.d.comb += getattr(path.i, field).eq(payload[field])
            elif field not in {"carried", "chain"}:
                signals = getattr(path.i, field)
                values = payload[field] if selected is None or field != "b" else selected
                m.d.comb += [element.eq(values[index]) for index, element in enumerate(signals)]

    def _selected(self, m: Module, unit: SparseUnit) -> Sequence[Signal]:
        """The factors of b that the metadata of a beat select, one for each lane."""
        m.submodules.select = one = FactorSelect(unit)
        for field, signals in (("b", one.i.b), ("metadata", one.i.metadata)):
            m.d.comb += [signal.eq(self.beats.payload[field][number]) for number, signal in enumerate(signals)]
        return list(one.o.b)

    def _per_context(self, name: str, shape: ShapeLike) -> ContextRegisters:
        return ContextRegisters(name, shape, self.pipeline.contexts)
