"""A unit around an arbitrary datapath: auxiliary registers that follow its beats, and invariants of its control."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from amaranth.lib.data import StructLayout

from hwsim.base.errors import InputError
from hwsim.prove.additions import entering
from hwsim.prove.circuits import Elaborated, Machine
from hwsim.prove.terms import (
    Kind,
    Term,
    as_bit,
    below,
    both,
    choose,
    constant,
    either,
    implies,
    is_one,
    negated,
    op,
    part,
    same,
    true,
    value,
    width,
)
from hwsim.rtl import beat_layout, datapath, promotion, result_port_layout
from hwsim.rtl.accumulate import Accumulation
from hwsim.rtl.dot_unit import flight_layout
from hwsim.spec import Pipeline, Specified, modes_of


@dataclass(frozen=True)
class Slot:
    """One freely chosen place of the pipeline, with what entered it in one cycle: a beat or nothing.

    stage: 0 before it enters; then behind how many registers it is; `left` once it has left. fields: what entered:
    `beat`, whether anything did, and what belongs to it. pick: any bit in each cycle, by which the choice is free.
    picked: whether it enters in this cycle. entering: the fields of what enters in this cycle.
    """

    stage: Term
    left: int
    pick: Term
    picked: Term
    fields: Mapping[str, Term]
    entering: Mapping[str, Term]

    @classmethod
    def of(cls, name: str, latency: int, when: Term, entering: Mapping[str, Term]) -> Slot:
        """Return a slot that enters in any one of the cycles in which `when` holds."""
        left = latency + 1
        stage = constant(f"{name}.stage", left.bit_length())
        pick = constant(f"{name}.pick", 1)
        fields = {field: constant(f"{name}.{field}", width(term)) for field, term in entering.items()}
        picked = both(is_one(pick), when, same(stage, value(0, width(stage))))
        return cls(stage, left, pick, picked, fields, entering)

    @property
    def entered(self) -> Term:
        """The condition that it has entered."""
        return self.beyond(0)

    def at(self, stage: int) -> Term:
        """Return the condition that it is at a stage; at 0 while it enters."""
        return same(self.stage, value(stage, width(self.stage))) if stage else self.picked

    def beyond(self, stage: int) -> Term:
        """Return the condition that it is further than a stage."""
        return below(value(stage, width(self.stage)), self.stage)

    def field(self, name: str, stage: int) -> Term:
        """Return one of its fields at a stage."""
        return self.fields[name] if stage else self.entering[name]

    def has(self, name: str, stage: int = 1) -> Term:
        """Return the condition that a field of one bit is set at a stage."""
        return is_one(self.field(name, stage))

    def following(self, advance: Term) -> list[tuple[Term, Term, Term]]:
        """Return its registers, each with its value now, in the next cycle, and after a reset."""
        zero, one = value(0, width(self.stage)), value(1, width(self.stage))
        moves = both(advance, self.entered, below(self.stage, value(self.left, width(self.stage))))
        stage = choose(self.picked, one, choose(moves, op(Kind.BV_ADD, self.stage, one), self.stage))
        registers = [(self.stage, stage, zero)]
        for name, term in self.fields.items():
            registers.append((term, choose(self.picked, self.entering[name], term), term))
        return registers


def kept(register: Term, starts: Term, while_not: Term) -> tuple[Term, Term, Term]:
    """Return a bit, set while nothing of a kind has come since something did, in the form of `Slot.following`."""
    return register, choose(starts, value(1, 1), as_bit(both(is_one(register), negated(while_not)))), value(0, 1)


def caught(register: Term, when: Term, what: Term) -> tuple[Term, Term, Term]:
    """Return a register of the value that a signal had when `when` held, in the form of `Slot.following`."""
    return register, choose(when, what, register), register


def field_of(term: Term, layout: StructLayout, name: str) -> Term:
    """Return a field of a packed struct."""
    field = layout[name]
    return part(term, field.offset, field.width)


def field_names(layout: StructLayout) -> list[str]:
    """Return the names of a struct's fields, nested ones as ports name them, in the order in which they are packed."""
    names = []
    for name, shape in layout.members.items():
        names += [f"{name}__{inner}" for inner in field_names(shape)] if isinstance(shape, StructLayout) else [name]
    return names


class Control:
    """A unit around an arbitrary datapath, with the auxiliary registers that follow two of its slots.

    elaborated: the unit's RTL, where it is at hand.
    """

    def __init__(self, unit: Specified, pipeline: Pipeline, elaborated: Elaborated | None = None):
        self.unit, self.pipeline, self.latency = unit, pipeline, pipeline.latency
        rtl = Elaborated(unit, pipeline) if elaborated is None else elaborated
        self.after, self.circuit, self.cut_out = rtl.after, rtl.around, rtl.cut_out
        path = datapath(unit, pipeline.cuts)
        self.carried_fields = field_names(path.carried)
        self.made_at, self.entry = path.latency_of_next, path.latency
        if self.after is not None:
            self.written_at = path.latency + promotion(unit, pipeline.cuts).latency_of_next
        self._read_ports()
        self._ghosts()

    @property
    def lawful(self) -> Term:
        """The rule of callers, in this cycle: a beat that is not first continues an open sum of its context."""
        return implies(self.comes, either(is_one(self.first), is_one(self.open)))

    # What the circuit has.

    def _read_ports(self) -> None:
        inputs, outputs, unit = self.circuit.inputs, self.circuit.outputs, self.unit
        beat = beat_layout(unit, self.pipeline)
        payload = inputs["i__payload"]
        self.reset = is_one(inputs["rst"])
        self.first, self.last, self.context = (field_of(payload, beat, name) for name in ("first", "last", "context"))
        modes = len(modes_of(unit))
        self.mode_exists = true()
        if modes & modes - 1:
            mode = field_of(payload, beat, "mode")
            self.mode_exists = below(mode, value(modes, width(mode)))
        self.ready, self.valid = is_one(outputs["i__ready"]), is_one(outputs["o__valid"])
        self.accept = both(is_one(inputs["i__valid"]), self.ready)
        self.taken = is_one(inputs["o__ready"])
        self.advance = either(negated(self.valid), self.taken)
        self.misuse = is_one(outputs["misuse"])
        result = result_port_layout(unit, self.pipeline)
        self.result, self.result_context = (
            field_of(outputs["o__payload"], result, name) for name in ("result", "context")
        )
        self.chosen = constant("chosen", width(self.context))
        self.exists = below(*(self._wide(term) for term in (self.chosen, self.pipeline.contexts)))
        self.comes = both(self.accept, same(self.context, self.chosen))
        if self.after is not None:
            addend = unit.operands.addend
            self.c = entering(self.after, None if addend is None else field_of(payload, beat, "c"))
            self.brought = {
                name: part(field_of(payload, beat, name), 0, fmt.container_bits)
                for name, fmt in self.after.scales.items()
            }

    def _wide(self, term: Term | int) -> Term:
        bits = self.pipeline.context_bits + 1
        return value(term, bits) if isinstance(term, int) else op(Kind.BV_ZERO_EXTEND, term, indices=[1])

    def stands(self, stage: int) -> Term:
        """Return the condition that the hardware has a beat behind so many registers."""
        return is_one(self.register(f"valid{stage}"))

    def flying(self, stage: int, name: str) -> Term:
        """Return a field of what goes along with the beat behind so many registers."""
        return field_of(self.register(f"flight{stage}"), flight_layout(self.unit, self.pipeline), name)

    def here(self, stage: int) -> Term:
        """Return the condition that the hardware has a beat of the chosen context behind so many registers."""
        return both(self.stands(stage), same(self.flying(stage, "context"), self.chosen))

    def register(self, name: str) -> Term:
        """Return a register of the unit. Raises InputError where it has none of the name."""
        if name not in self.circuit.states:
            raise InputError(f"{self.unit.name}: the unit must have a register {name}")
        return self.circuit.states[name].now

    def of_chosen(self, name: str) -> Term:
        """Return a register of the chosen context."""
        chosen = self.register(f"{name}{self.pipeline.contexts - 1}")
        for context in range(self.pipeline.contexts - 1):
            chosen = choose(
                same(self.chosen, value(context, width(self.chosen))), self.register(f"{name}{context}"), chosen
            )
        return chosen

    def next_of(self, part_name: str, field: str) -> Term:
        """Return a part's field before its last register; where it has no register there, the field that it gives."""
        inputs = self.circuit.inputs
        ports = self.cut_out[part_name].outputs
        for port in (f"next__{field}", f"o__{field}"):
            if port in ports and ports[port].is_value():  # what is always the same is no port of it
                return ports[port]
            if f"{part_name}.{port}" in inputs:
                return inputs[f"{part_name}.{port}"]
        # What only passes through the last step is named after where it comes from, and numbered where that is twice.
        passes = re.compile(rf"{part_name}\.i__(\w+__)?{field}(\$\d+)?")
        passed = [name for name in inputs if passes.fullmatch(name)]
        if len(passed) != 1:
            raise InputError(f"{self.unit.name}: its {part_name} must have a port {field} of what goes on")
        return inputs[passed[0]]

    def drives(self, part_name: str, port: str, wanted: Term) -> Term:
        """Return the condition that the unit drives a port of one bit with a wanted value.

        A port that it leaves constant is none of its outputs.
        """
        name = f"{part_name}.{port}"
        if name in self.circuit.outputs:
            return op(Kind.EQUAL, is_one(self.circuit.outputs[name]), wanted)
        inside = self.cut_out[part_name]
        unused = port not in inside.inputs or (port == "enable" and not inside.states)
        return true() if unused else negated(true())

    @property
    def is_opened(self) -> Term:
        """The condition that the hardware holds the chosen context to be open."""
        opened = self.register("opened")
        by = [both(same(self.chosen, value(context, width(self.chosen))), is_one(part(opened, context, 1)))
              for context in range(self.pipeline.contexts)]  # fmt: skip
        return either(*by)

    # What is added to.

    def as_held(self, code: Term, starts: Term) -> Term:
        """Return a code as a context holds it for the adder. starts: whether the code is of the format of addends."""
        assert self.after is not None
        return code if self.after.start is None else packed([code, starts])

    @property
    def held(self) -> Term:
        """The value that the chosen context holds for the adder."""
        register = self.of_chosen("register")
        return self.as_held(register, value(0, 1) if self.after_own else self.of_chosen("starts"))

    @property
    def after_own(self) -> bool:
        """True if all that a context holds is of one format."""
        return self.after is None or self.after.start is None

    @property
    def taken_in(self) -> Term:
        """The value that the adder takes in of what a context holds."""
        assert self.after is not None
        outputs, name = self.circuit.outputs, self.after.part
        return self.as_held(outputs[f"{name}.i__register"], outputs.get(f"{name}.i__starts", value(0, 1)))

    def opens(self, slot: Slot, stage: int) -> Term:
        """Return the value that a beat which opens a sum leaves for the adder at a stage: its addend."""
        return self.as_held(self.c if self.unit.operands.addend is None else slot.field("c", stage), value(1, 1))

    # What is followed.

    def _ghosts(self) -> None:
        """Make the auxiliary registers, with their values in the next cycle and after a reset."""
        self.open, self.age = constant("open", 1), constant("age", self.latency.bit_length())
        ghosts: list[tuple[Term, Term, Term]] = [
            (self.open, choose(self.comes, op(Kind.BV_NOT, self.last), self.open), value(0, 1)),
            (self.age, self._older(), value(0, width(self.age))),
        ]
        fields = {"beat": as_bit(self.accept), "first": self.first, "last": self.last, "context": self.context}
        if self.after is not None:
            ghosts += self._counted(fields, self.after)
        self.a = Slot.of("a", self.latency, self.advance, fields)
        self.b = Slot.of("b", self.latency, both(self.advance, self.a.entered), fields)
        ghosts += [*self.a.following(self.advance), *self.b.following(self.advance)]
        ghosts += self._followed_values()
        after = choose_all(self.reset, ghosts)
        states = self.circuit.states
        now = {name: state.now for name, state in states.items()} | {term.symbol(): term for term in after}
        following = {name: state.next for name, state in states.items()} | {t.symbol(): n for t, n in after.items()}
        picks = {slot.pick.symbol(): slot.pick for slot in (self.a, self.b)}
        self.machine = Machine(now, following, {**self.circuit.inputs, **picks})

    def _older(self) -> Term:
        """The next `age`: how often the pipeline has moved since a reset, up to its length."""
        grows = both(self.advance, below(self.age, value(self.latency, width(self.age))))
        return choose(grows, op(Kind.BV_ADD, self.age, value(1, width(self.age))), self.age)

    def _counted(self, fields: dict[str, Term], after: Accumulation) -> Iterator[tuple[Term, Term, Term]]:
        """Count the groups of the chosen context in its partial sum, and tell whether the entering one promotes it."""
        beats = after.groups
        bits = beats.bit_length()
        self.count, self.beats = constant("count", bits), beats
        self.index = choose(is_one(self.first), value(0, bits), self.count)
        ends = same(self.index, value(beats - 1, bits))
        self.promotes = either(is_one(self.last), ends)
        fields |= {"promotes": as_bit(self.promotes)}
        if self.unit.operands.addend is not None:
            fields["c"] = self.c
        self.scales = {name: constant(f"{name}.kept", width(term)) for name, term in self.brought.items()}
        begins = same(self.index, value(0, bits))
        for name, kept_scale in self.scales.items():
            fields[name] = choose(begins, self.brought[name], kept_scale)
            yield caught(kept_scale, both(self.comes, begins), self.brought[name])
        incremented = op(Kind.BV_ADD, self.index, value(1, bits))
        counted = choose(self.comes, choose(self.promotes, value(0, bits), incremented), self.count)
        yield self.count, counted, self.count

    def _followed_values(self) -> Iterator[tuple[Term, Term, Term]]:
        """Follow what the first slot's beat hands on, and whether it is still the one to hand it on."""
        outputs, a = self.circuit.outputs, self.a
        fields = self.carried_fields
        self.handed_on = packed([self.next_of("datapath", field) for field in fields])
        self.handed_over = packed([outputs[f"datapath.i__carried__{field}"] for field in fields])
        self.made, self.newest = constant("made", width(self.handed_on)), constant("newest", 1)
        yield kept(self.newest, both(a.picked, self.comes), self.comes)
        yield caught(self.made, both(self.advance, a.at(self.made_at)), self.handed_on)
        if self.after is None:
            return
        writes = both(self.comes, either(is_one(self.first), self.promotes))
        self.writer, self.reads = constant("writer", 1), constant("reads", 1)
        total = widened(self.next_of(self.after.part, "code"), self.after.code_bits)
        self.written = constant("written", width(self.held))
        yield kept(self.writer, both(a.picked, writes), writes)
        stage = self.written_at
        what = choose(a.has("promotes", stage), self.as_held(total, value(0, 1)), self.opens(a, stage))
        yield caught(self.written, both(self.advance, a.at(stage)), what)
        self.is_read = both(self.comes, negated(is_one(self.first)), is_one(self.writer))
        yield caught(self.reads, self.b.picked, as_bit(self.is_read))


def choose_all(reset: Term, registers: list[tuple[Term, Term, Term]]) -> Mapping[Term, Term]:
    """Return the values of registers in the next cycle: after a reset, and otherwise."""
    return {now: choose(reset, initial, then) for now, then, initial in registers}


def widened(term: Term, bits: int) -> Term:
    """Return a term with zeros above."""
    missing = bits - width(term)
    return op(Kind.BV_ZERO_EXTEND, term, indices=[missing]) if missing else term


def packed(terms: list[Term]) -> Term:
    """Return fields as one bit vector, the first in the low bits."""
    return op(Kind.BV_CONCAT, *reversed(terms)) if len(terms) > 1 else terms[0]


@dataclass(frozen=True)
class Property:
    """A condition that holds in every cycle in which `when` does.

    lawful: whether it holds only of callers that keep the rule of contexts.
    """

    name: str
    words: str
    then: Term
    when: Term
    lawful: bool = False

    @property
    def whole(self) -> Term:
        """The property as one term."""
        return implies(self.when, self.then)


def invariants(control: Control) -> list[Property]:
    """Return the invariants of control. They are functions of registers alone; `when` is always true of them."""
    properties = [*_slots(control), *_contexts(control)]
    if control.after is not None:
        properties += [*_promotes(control), *_register(control)]
    return properties


def always(name: str, words: str, then: Term, lawful: bool = False) -> Property:
    """Return a property of every cycle."""
    return Property(name, words, then, true(), lawful)


def stages(control: Control, holds: Callable[[int], Term], most: int | None = None) -> Term:
    """Return the condition that something holds at every stage behind a register."""
    return both(*(holds(stage) for stage in range(1, (control.latency if most is None else most) + 1)))


def _slots(control: Control) -> Iterator[Property]:
    for which, ordinal, slot in (("a", "followed", control.a), ("b", "second followed", control.b)):
        yield always(
            f"{which}.stage",
            f"the {ordinal} slot is at a stage, or has left",
            negated(slot.beyond(slot.left)),
        )
        yield always(
            f"{which}.valid",
            f"a stage is valid just where the {ordinal} slot there holds a beat",
            stages(control, lambda t, s=slot: implies(s.at(t), same_truth(control.stands(t), s.has("beat")))),  # type: ignore[misc]
        )
        for name in ("first", "last", "context"):
            yield always(
                f"{which}.{name}",
                f"the beat of the {ordinal} slot keeps its `{name}`",
                stages(control, keeps(control, slot, name)),
            )
    a, b = control.a, control.b
    gone = both(a.beyond(control.latency), b.beyond(control.latency))
    yield always(
        "order",
        "of two slots the one that entered first is ahead",
        implies(b.entered, either(below(b.stage, a.stage), gone)),
    )
    yield always(
        "age",
        "a stage that nothing has reached since the reset holds no beat",
        both(
            negated(below(value(control.latency, width(control.age)), control.age)),
            stages(control, lambda t: implies(younger(control, t), negated(control.stands(t)))),
        ),
    )


def younger(control: Control, stage: int) -> Term:
    """Return the condition that nothing that entered after the reset can be at a stage yet."""
    return below(control.age, value(stage, width(control.age)))


def same_truth(first: Term, second: Term) -> Term:
    """Return the condition that two conditions are both true or both false."""
    return op(Kind.EQUAL, first, second)


def keeps(control: Control, slot: Slot, name: str, when: Term | None = None) -> Callable[[int], Term]:
    """Return, by stage, the condition that the hardware's field is the slot's own, where the slot has a beat there."""
    applies = both(slot.has("beat"), true() if when is None else when)
    return lambda stage: implies(both(slot.at(stage), applies), same(control.flying(stage, name), slot.fields[name]))


def is_of_chosen(control: Control, slot: Slot) -> Term:
    """Return the condition that a slot holds a beat of the chosen context."""
    return both(slot.has("beat"), same(slot.fields["context"], control.chosen))


def _contexts(control: Control) -> Iterator[Property]:
    a, newest = control.a, is_one(control.newest)
    yield always(
        "opened",
        "a context is open just after a beat of it that was not its sum's last",
        same_truth(control.is_opened, is_one(control.open)),
    )
    yield always(
        "newest",
        "behind the context's newest beat there is no other one of it",
        implies(
            newest,
            both(
                a.entered,
                is_of_chosen(control, a),
                stages(control, lambda t: implies(a.beyond(t), negated(control.here(t)))),
            ),
        ),
    )
    yield always(
        "carried",
        "a context keeps what its newest beat hands on, from the cycle in which that is known",
        implies(both(newest, a.beyond(control.made_at)), same(control.of_chosen("carried"), control.made)),
    )


def _promotes(control: Control) -> Iterator[Property]:
    for which, ordinal, slot in (("a", "followed", control.a), ("b", "second followed", control.b)):
        if control.unit.operands.addend is not None:
            yield always(
                f"{which}.c",
                f"the beat of the {ordinal} slot keeps its addend",
                stages(control, keeps(control, slot, "c")),
            )
        yield always(
            f"{which}.promotes",
            f"the beat of the {ordinal} slot is promoted just where its sum's groups since the last promotion make up "
            "the interval, or the sum ends",
            stages(control, keeps(control, slot, "promotes", is_of_chosen(control, slot))),
            lawful=True,
        )
        for name in control.scales:
            yield always(
                f"{which}.{name}",
                f"the beat of the {ordinal} slot goes with `{name}` of its partial sum's first group",
                stages(control, keeps(control, slot, name, is_of_chosen(control, slot))),
                lawful=True,
            )
    for name, scale in control.scales.items():
        begun = both(is_one(control.open), negated(same(control.count, value(0, width(control.count)))))
        yield always(
            name,
            f"an open context keeps `{name}` of the first group of its partial sum",
            implies(begun, same(control.of_chosen(name), scale)),
            lawful=True,
        )
    if control.beats == 1:
        yield always(
            "count",
            "where every group is promoted an open context counts none",
            implies(is_one(control.open), same(control.count, value(0, width(control.count)))),
            lawful=True,
        )
        return
    hardware = control.of_chosen("count")
    missing = width(control.count) - width(hardware)
    counted = op(Kind.BV_ZERO_EXTEND, hardware, indices=[missing]) if missing else hardware
    yield always(
        "count",
        "an open context counts the groups since its sum began or was promoted",
        implies(
            is_one(control.open),
            both(same(counted, control.count), below(control.count, value(control.beats, width(control.count)))),
        ),
        lawful=True,
    )


def writes(control: Control, stage: int) -> Term:
    """Return the condition that a beat of the chosen context is at a stage and writes the register that is added to."""
    marks = [is_one(control.flying(stage, name)) for name in ("first", "promotes")]
    return both(control.here(stage), either(*marks))


def _register(control: Control) -> Iterator[Property]:
    a, b, writer, written_at = control.a, control.b, is_one(control.writer), control.written_at
    yield always(
        "writer",
        "behind the context's newest beat that writes its register there is no other one that does",
        implies(
            writer,
            both(
                a.entered,
                is_of_chosen(control, a),
                either(a.has("first"), a.has("promotes")),
                stages(control, lambda t: implies(a.beyond(t), negated(writes(control, t)))),
            ),
        ),
        lawful=True,
    )
    yield always(
        "writer.closed",
        "a context whose newest beat to write was its sum's last is not open",
        implies(both(writer, a.has("last")), negated(is_one(control.open))),
        lawful=True,
    )
    yield always(
        "register",
        "a context's register holds what its newest beat that writes it has written",
        implies(both(writer, a.beyond(written_at)), same(control.held, control.written)),
        lawful=True,
    )
    reading = both(b.entered, is_one(control.reads), negated(b.beyond(control.entry)))
    none_between = stages(
        control, lambda t: either(negated(below_stage(b, t)), negated(writes(control, t))), written_at
    )
    yield always(
        "register.read",
        "the register keeps the value until the beat that continues from it has read it",
        implies(
            reading,
            both(
                is_of_chosen(control, b),
                negated(b.has("first")),
                a.beyond(written_at),
                same(control.held, control.written),
                none_between,
            ),
        ),
        lawful=True,
    )


def below_stage(slot: Slot, stage: int) -> Term:
    """Return the condition that a slot is before a stage."""
    return below(slot.stage, value(stage, width(slot.stage)))
