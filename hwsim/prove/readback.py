"""The Verilog file itself: read back by Yosys, it does what the elaborated unit and the steps of its datapath do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from amaranth.lib.data import StructLayout

from hwsim.base.errors import InputError
from hwsim.prove.abstract import field_names, packed, widened
from hwsim.prove.additions import entering
from hwsim.prove.circuits import (
    NAMELESS,
    Circuit,
    Cycle,
    Elaborated,
    Machine,
    Register,
    connected,
    cycles,
    fixed,
    verilog_circuit,
    without_undriven,
)
from hwsim.prove.claims import Claim
from hwsim.prove.control import padded
from hwsim.prove.sweeping import Alike, SameProducts
from hwsim.prove.terms import (
    Kind,
    Term,
    both,
    choose,
    constant,
    constants_of,
    either,
    implies,
    is_one,
    negated,
    op,
    part,
    same,
    substituted,
    true,
    value,
    width,
)
from hwsim.rtl import beat_layout, datapath, fields_of, promotion, result_port_layout
from hwsim.rtl.accumulate import Accumulation
from hwsim.rtl.dot_unit import flight_layout
from hwsim.rtl.step import Datapath
from hwsim.spec import Pipeline, Specified


def as_elaborated(file: Circuit, unit: Circuit, flight: StructLayout) -> Circuit:
    """Return a file's circuit with registers named and cut as the unit's, as far as it has their bits.

    flight: the fields of the registers `flight1`, `flight2` ... A field that the file lacks does what the unit's does:
    nothing in the file reads it.
    """
    arrays: dict[str, dict[int, Register]] = {}
    fields: dict[str, Register] = {}
    for name, register in unit.states.items():
        stem = re.fullmatch(r"(\D+)(\d+)", name)
        if name in file.states or stem is None or register.next is None:
            continue
        if stem[1] in file.states:
            arrays.setdefault(stem[1], {})[int(stem[2])] = register
        elif stem[1] == "flight":
            fields[name] = register
    states, by = dict(file.states), dict[Term, Term]()
    for name, elements in arrays.items():
        _take_apart(name, elements, states, by)
    wholes = {name: constant(f"file.{name}", flight.size) for name in fields}
    for name, whole in wholes.items():
        by |= _fields_of(name, whole, flight, file)
    # Registers without a name have numbers, which may be the same in both by chance.
    named = {name: register for name, register in unit.states.items() if not NAMELESS.fullmatch(name)}
    for name in sorted(named.keys() & file.states.keys()):
        bits, expected = width(file.states[name].now), width(unit.states[name].now)
        if bits != expected:
            raise InputError(f"a file must have registers as the unit has them: {name} has {bits} bits, not {expected}")
    same = {unit.states[name].now: whole for name, whole in wholes.items()}
    same |= {named[name].now: states[name].now for name in named.keys() & states.keys()}
    same |= {unit.inputs[name]: term for name, term in file.inputs.items() if name in unit.inputs}
    for name, register in fields.items():
        assert register.next is not None
        missing = substituted(register.next, same)
        states[name] = Register(same[register.now], _joined_next(name, flight, file, missing))
        for field in flight.members:
            states.pop(f"{name}_{field}", None)
    return over(file, states, by)


def _take_apart(name: str, elements: Mapping[int, Register], states: dict[str, Register], by: dict[Term, Term]) -> None:
    """Replace an array by a register for each element, if it has the bits of all."""
    whole = states[name]
    sizes = {width(register.now) for register in elements.values()}
    bits = sizes.pop()
    every = set(elements) == set(range(len(elements)))
    if sizes or not every or whole.next is None or width(whole.now) != bits * len(elements):
        return
    del states[name]
    for index in elements:
        states[f"{name}{index}"] = Register(constant(f"file.{name}{index}", bits), part(whole.next, index * bits, bits))
    by[whole.now] = packed([states[f"{name}{index}"].now for index in range(len(elements))])


def _fields_of(name: str, whole: Term, flight: StructLayout, file: Circuit) -> dict[Term, Term]:
    """Every field of a register as a part of it."""
    registers = {field: file.states.get(f"{name}_{field}") for field in flight.members}
    return {
        register.now: part(whole, flight[field].offset, flight[field].width)
        for field, register in registers.items()
        if register is not None
    }


def _joined_next(name: str, flight: StructLayout, file: Circuit, missing: Term) -> Term:
    nexts = []
    for field, where in flight:
        register = file.states.get(f"{name}_{field}")
        next_ = None if register is None else register.next
        nexts.append(part(missing, where.offset, where.width) if next_ is None else next_)
    return packed(nexts)


def over(file: Circuit, states: Mapping[str, Register], by: Mapping[Term, Term]) -> Circuit:
    """Return a circuit over other registers."""

    def read(term: Term | None) -> Term | None:
        return None if term is None else substituted(term, by)

    registers = {name: replace(register, next=read(register.next)) for name, register in states.items()}
    outputs = {name: substituted(term, by) for name, term in file.outputs.items()}
    wires = {name: substituted(term, by) for name, term in file.wires.items()}
    return Circuit(file.inputs, outputs, registers, wires)


def readback_claims(
    unit: Specified, pipeline: Pipeline, text: str | None = None, elaborated: Elaborated | None = None
) -> list[Claim]:
    """Return the claims of a unit's Verilog.

    text: the file's, where it is not the one that `hwsim.rtl.verilog` writes. elaborated: the unit's RTL, where it is
    at hand.

    Raises NotImplementedYet for a unit that the RTL cannot build, InputError for a file without the unit's ports or
    registers of control, and ToolMissing and FlowFailed where it cannot be read.
    """
    rtl = Elaborated(unit, pipeline) if elaborated is None else elaborated
    file = ReadBack(rtl, rtl.file if text is None else text)
    return file.claims()


PORTS = {"in": "i", "out": "o"}  # the streams' names in a file and in the elaborated unit


def with_payloads(circuit: Circuit, i: StructLayout, o: StructLayout) -> Circuit:
    """Return a file's circuit with the elaborated unit's ports: fields joined to payloads, `in_valid` as `i__valid`.

    i, o: the fields, each of which is a port of the file. Raises InputError where it is not, or has other bits.
    """

    def renamed(ports: Mapping[str, Term]) -> dict[str, Term]:
        names = {name: name.partition("_") for name in ports}
        return {
            f"{PORTS[stream]}__{rest}" if stream in PORTS else name: ports[name]
            for name, (stream, _, rest) in names.items()
        }

    inputs, outputs = renamed(circuit.inputs), renamed(circuit.outputs)
    payload, by, results = constant("file.payload", i.size), dict[Term, Term](), list[Term]()
    for stream, ports, layout in (("in", inputs, i), ("out", outputs, o)):
        for field in fields_of(layout):
            term, bits = ports.pop(f"{PORTS[stream]}__{field.name}", None), field.bits * (field.elements or 1)
            if term is None or width(term) != bits:
                raise InputError(f"the file must have a port {stream}_{field.name} of {bits} bits")
            if ports is inputs:
                by[term] = part(payload, field.low, bits)
            else:
                results.append(term)
    whole = replace(circuit, inputs=inputs | {"i__payload": payload}, outputs=outputs | {"o__payload": packed(results)})
    return over(whole, whole.states, by)


def field_places(i: StructLayout, o: StructLayout) -> dict[str, list[tuple[int, int]]]:
    """Return the places of fields in payloads, by stream and name (`i.a`): low bit and bits, for each element."""
    return {
        f"{stream}.{field.name}": [(field.low + index * field.bits, field.bits) for index in range(field.elements or 1)]
        for stream, layout in (("i", i), ("o", o))
        for field in fields_of(layout)
    }


@dataclass(frozen=True)
class Chain:
    """The steps of a datapath, connected to one circuit, and the places of its registers."""

    circuit: Circuit
    latency: int
    latency_of_next: int


class ReadBack:
    """A file read back, the steps that it is compared with, and one beat that enters in cycle 0.

    text: the file's, or its circuit, where that is at hand.
    """

    def __init__(self, rtl: Elaborated, text: str | Circuit):
        unit, pipeline = self.unit, self.pipeline = rtl.unit, rtl.pipeline
        self.latency = pipeline.latency
        self.over = f"any state and any data; {pipeline.latency} registers, {pipeline.contexts} contexts"
        i, o = beat_layout(unit, pipeline), result_port_layout(unit, pipeline)
        read = verilog_circuit(text, "file.") if isinstance(text, str) else text
        file = with_payloads(without_undriven(read), i, o)
        path = datapath(unit, pipeline.cuts)
        self.after = rtl.after
        self.carried_fields = field_names(path.carried)
        self.chains = {"datapath": _chain(path, rtl.datapath)}
        if self.after is not None:
            self.chains[self.after.part] = _chain(promotion(unit, pipeline.cuts), rtl.adder)
        self.fields = field_places(i, o)
        self.elaborated = rtl.around
        self.circuit = file
        self._demand_ports()
        self.circuit = as_elaborated(file, self.elaborated, flight_layout(unit, pipeline))
        self.machine = Machine.of(self.circuit)
        self._enter()

    def claims(self) -> list[Claim]:
        """Return all claims of the file."""
        return [*self.control(), *self.stands_still(), *self.followed()]

    def _demand_ports(self) -> None:
        ports = {name: width(term) for name, term in self.circuit.inputs.items()}
        ports |= {name: width(term) for name, term in self.circuit.outputs.items()}
        sizes = {
            "i__payload": beat_layout(self.unit, self.pipeline).size,
            "o__payload": result_port_layout(self.unit, self.pipeline).size,
        }
        wanted = {"clk", "rst", "i__valid", "i__ready", "o__valid", "o__ready", "misuse"}
        if ports != sizes | dict.fromkeys(wanted, 1):
            raise InputError(f"{self.unit.name}: its file must have the ports of the unit, not {', '.join(ports)}")

    @property
    def carries(self) -> bool:
        """True if there are registers for what goes from group to group.

        A sum that no beat continues needs none, and none where what a group starts from makes no difference to it.
        """
        if "carried0" in self.circuit.states or (self.after is not None and self.after.groups == 1):
            return "carried0" in self.circuit.states
        chain = self.chains["datapath"].circuit
        return any(f".i__carried__{name}" in term.symbol() for term in constants_of(chain.outputs.values())
                   for name in self.carried_fields)  # fmt: skip

    # Control.

    def control(self) -> Iterator[Claim]:
        """Yield the claims that registers and outputs of control do what those of the elaborated unit do."""
        file, unit = self.circuit, self.elaborated
        names = [
            name
            for name in unit.states
            if re.match(r"(valid|flight|count|carried|register|starts|scale_[ab])\d|opened", name)
        ]
        if not self.carries:
            names = [name for name in names if not name.startswith("carried")]
        if self.after is not None and self.after.groups == 1:  # every group brings the scales of its own promotion
            names = [name for name in names if not name.startswith("scale_")]
        if absent := [name for name in names if name not in file.states]:
            raise InputError(f"{self.unit.name}: its file must have registers {', '.join(absent)}")
        by = {unit.states[name].now: file.states[name].now for name in names}
        by |= {unit.inputs[name]: term for name, term in file.inputs.items() if name in unit.inputs}
        by[unit.outputs["misuse"]] = file.outputs["misuse"]
        then = {name: substituted(unit.states[name].next, by) for name in names}
        for kind in ("valid", "flight", "count", "opened", "starts", "scale_a", "scale_b"):
            pairs = [same(self.machine.next[name], then[name]) for name in names if name.startswith(kind)]
            if pairs:
                words = f"the file's registers `{kind}` do in every cycle what the unit's do"
                yield Claim(f"file: {kind}", words, self.over, (), both(*pairs))
        yield Claim("file: misuse", "`misuse` of the file does what the unit's does", self.over, (), same(
            *(substituted(_next_of(circuit, "misuse"), by) for circuit in (file, unit))
        ))  # fmt: skip
        for name in ("i__ready", "o__valid"):
            words = f"`{name}` of the file is the unit's"
            yield Claim(f"file: {name}", words, self.over, (), same(
                file.outputs[name], substituted(unit.outputs[name], by)
            ))  # fmt: skip
        kept = [name for name in names if re.match(r"carried|register", name)]
        claims = [self._kept(name, then[name]) for name in kept]
        words = "a context's registers change only where the unit's do: where a beat of it hands something on"
        yield Claim("file: kept", words, self.over, (), both(*claims))

    def _kept(self, name: str, then: Term) -> Term:
        """The condition that a register does what the unit's does, wherever the datapath's outputs do not matter."""
        gives = [term for name, term in self.elaborated.inputs.items() if "." in name]
        two = [substituted(then, {term: value(bit, width(term)) for term in gives}) for bit in (0, -1)]
        stays = same(*two) if two[0] != two[1] else true()
        return implies(stays, same(self.machine.next[name], two[0]))

    def stands_still(self) -> Iterator[Claim]:
        """Yield the claims of a cycle in which the pipeline does not move."""
        machine, inputs, outputs = self.machine, self.circuit.inputs, self.circuit.outputs
        stays = both(*(same(machine.next[name], machine.now[name]) for name in machine.now))
        stalled = (is_one(outputs["o__valid"]), negated(is_one(inputs["o__ready"])), negated(is_one(inputs["rst"])))
        words = "a cycle in which a result is not taken changes no register, and takes no beat"
        taken = both(is_one(inputs["i__valid"]), is_one(outputs["i__ready"]))
        yield Claim("file: stands still", words, self.over, stalled, both(stays, negated(taken)))
        idle = (negated(is_one(outputs["o__valid"])),)
        ways = [[substituted(term, {inputs["o__ready"]: value(bit, 1)}) for term in machine.next.values()]
                for bit in (0, 1)]  # fmt: skip
        words = "without a result at the output `o.ready` makes no difference"
        yield Claim("file: idle", words, self.over, idle, both(*map(same, *ways)))

    # A beat, from the input to the output.

    def _field(self, term: Term, port: str, name: str, at: int = 0) -> Term:
        return part(term, *self.fields[f"{port}.{name}"][at])

    def _enter(self) -> None:
        """Make the beat that enters in cycle 0, and what the specification makes of it there."""
        self.beat = beat = self._beat()
        self.first, self.last = (is_one(self._field(beat, "i", name)) for name in ("first", "last"))
        self.context = self._field(beat, "i", "context")
        self.exists = either(*(self._is_context(at) for at in range(self.pipeline.contexts)))
        self.continues = negated(self.first)
        if self.after is not None:
            c = None if self.unit.operands.addend is None else self._field(beat, "i", "c")
            self._opens = entering(self.after, c)
        if self.after is not None:
            self._count(self.after.groups)
        taken = {"rst": value(0, 1), "o__ready": value(1, 1)}
        enters = taken | {"i__valid": value(1, 1), "i__payload": beat}
        entry = self.chains["datapath"].latency
        self.run = cycles(
            self.machine,
            self.latency + 2,
            lambda at: taken if at else enters,
            lambda at: self._registers_of_contexts() if at == entry else {},
        )
        self.entered = (self.exists, self.run[0].of(is_one(self.circuit.outputs["i__ready"])))

    def _beat(self) -> Term:
        """Any payload, whose context is a constant of its own: what depends on data is compared context by context."""
        payload = constant("file.beat", width(self.circuit.inputs["i__payload"]))
        field = self._field(payload, "i", "context")
        low, bits = self.fields["i.context"][0]
        self.number = constant("file.context", width(field))
        above = width(payload) - low - bits
        high = [part(payload, low + bits, above)] if above else []
        return packed([*([part(payload, 0, low)] if low else []), self.number, *high])

    def _by_context(self, claim: Term) -> Term:
        """A claim, for each context by itself: solvers compare what is chosen with what is chosen badly."""
        numbers = [value(at, width(self.number)) for at in range(self.pipeline.contexts)]
        pairs = [(same(self.number, number), substituted(claim, {self.number: number})) for number in numbers]
        return both(*(implies(chosen, of_chosen) for chosen, of_chosen in pairs))

    def _registers_of_contexts(self) -> Mapping[str, Term]:
        """Promotion registers that hold anything, because any beats have written them by then."""
        names = [name for name in self.machine.now if re.fullmatch(r"(register|starts)\d+", name)]
        return {name: constant(f"any.{name}", width(self.machine.now[name])) for name in names}

    def _is_context(self, at: int) -> Term:
        return same(self.context, value(at, width(self.context)))

    def _of_context(self, name: str, registers: Mapping[str, Term]) -> Term:
        """A register of the beat's context."""
        chosen = registers[f"{name}{self.pipeline.contexts - 1}"]
        for context in range(self.pipeline.contexts - 1):
            chosen = choose(self._is_context(context), registers[f"{name}{context}"], chosen)
        return chosen

    def _count(self, beats: int) -> None:
        if beats == 1:
            self.continues, self.promotes = negated(true()), true()
            return
        count = self._of_context("count", self.machine.now)
        index = choose(self.first, value(0, width(count)), count)
        self.continues = negated(same(index, value(0, width(index))))
        self.promotes = either(self.last, same(index, value(beats - 1, width(index))))

    def _group(self) -> Circuit:
        """The circuit of the datapath's steps, of this beat."""
        chain = self.chains["datapath"].circuit
        size = sum(width(chain.inputs[f"i__carried__{name}"]) for name in self.carried_fields)
        carried = self._of_context("carried", self.machine.now) if self.carries else value(0, size)
        inputs: dict[str, Term] = {}
        low = 0
        for name in self.carried_fields:
            port = f"i__carried__{name}"
            bits = width(chain.inputs[port])
            inputs[port] = choose(self.continues, part(carried, low, bits), value(0, bits))
            low += bits
        for port in chain.inputs:
            if port == "i__chain":
                inputs[port] = choose(self.continues, value(1, 1), value(0, 1))
            elif match := re.fullmatch(r"i__(a|b|scale_a|scale_b|c|mode)(?:__(\d+))?", port):
                inputs[port] = self._field(self.beat, "i", match[1], int(match[2] or 0))
        if unknown := sorted(chain.inputs.keys() - inputs.keys()):
            raise InputError(f"{self.unit.name}: what its first step takes must be known: {', '.join(unknown)} is not")
        return fixed(chain, inputs)

    def followed(self) -> Iterator[Claim]:
        """Yield the claims of what comes of the beat."""
        group, chain = self._group(), self.chains["datapath"]
        handed_on = packed([group.outputs[f"o__{name}"] for name in self.carried_fields])
        after = self.run[chain.latency_of_next + 1].registers
        if self.carries:
            words = "a beat's context keeps what the steps hand on, from the cycle after that in which it is known"
            written = same(self._of_context("carried", after), handed_on)
            yield Alike("file: carried", words, self._over_traffic, self.entered, self._by_context(written))
        if self.after is None:
            outputs, fmt = group.outputs, self.unit.result.format
        else:
            yield from self._promoted(group, self.after)
            outputs, fmt = self._adder(group, self.after).outputs, self.after.format
        result = padded(outputs["o__code"], outputs["o__nan"], fmt.padding, self.unit.nan)
        yield from self._leaves(self.run[self.latency], result)

    @property
    def _over_traffic(self) -> str:
        return f"{self.over}; any traffic behind the beat, in cycles in which the pipeline moves"

    def _leaves(self, cycle: Cycle, result: Term) -> Iterator[Claim]:
        outputs = self.circuit.outputs
        valid = cycle.of(is_one(outputs["o__valid"]))
        payload = cycle.of(outputs["o__payload"])
        when = f"{self.latency} cycles after a beat"
        yield Claim("file: closing", f"{when} there is a result just if it is its sum's last", self._over_traffic,
                    self.entered, op(Kind.EQUAL, valid, self.last))  # fmt: skip
        closing = (*self.entered, self.last)
        yield self._of_result(
            "file: result", f"{when} that is its sum's last its result is what the steps, one after another, make of "
            "its fields", self._over_traffic, closing,
            self._by_context(same(self._field(payload, "o", "result"), result)),
        )  # fmt: skip
        yield Claim("file: context", f"{when} that is its sum's last its context is at the output", self._over_traffic,
                    closing, same(self._field(payload, "o", "context"), self.context))  # fmt: skip

    @property
    def _of_result(self) -> type[SameProducts | Alike]:
        """The kind of claim about results that solvers can prove.

        Scales are long: that two products of them are equal no solver sees, and that their factors are, it does.
        """
        return SameProducts if self.after is not None and self.after.scales else Alike

    def _adder(self, group: Circuit, after: Accumulation) -> Circuit:
        registers = self.run[self.chains["datapath"].latency].registers
        register = choose(self.first, self._opens, self._of_context("register", registers))
        inputs = {"i__register": register, "i__partial": group.outputs["o__code"]}
        for name in after.scales:
            scale = self._field(self.beat, "i", name)
            if after.groups > 1:
                scale = choose(self.continues, self._of_context(name, self.machine.now), scale)
            inputs[f"i__{name}"] = scale
        if after.start is not None:
            inputs["i__starts"] = choose(self.first, value(1, 1), self._of_context("starts", registers))
        return fixed(self.chains[after.part].circuit, inputs)

    def _promoted(self, group: Circuit, accumulated: Accumulation) -> Iterator[Claim]:
        cycle = self.chains["datapath"].latency + self.chains[accumulated.part].latency_of_next
        after = self._of_context("register", self.run[cycle + 1].registers)
        code = widened(self._adder(group, accumulated).outputs["o__code"], accumulated.code_bits)
        written = choose(self.promotes, code, self._opens)
        words = "a beat that is promoted writes its context's register; one that opens a sum, the addend"
        writes = either(self.first, self.promotes)
        yield self._of_result(
            "file: register",
            words,
            self._over_traffic,
            self.entered,
            self._by_context(implies(writes, same(after, written))),
        )


def _next_of(circuit: Circuit, output: str) -> Term:
    """The next value of the register that an output shows. Raises InputError for an output that shows none."""
    for state in circuit.states.values():
        if state.now == circuit.outputs[output] and state.next is not None:
            return state.next
    raise InputError(f"{output} must be a register")


def _chain(path: Datapath, steps: Mapping[str, Circuit]) -> Chain:
    return Chain(connected([steps[step.name] for step in path.steps]), path.latency, path.latency_of_next)
