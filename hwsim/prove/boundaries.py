"""The boundaries of a user's design: its signals as the fields of our own steps, and its logic between them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property

from hwsim.cosim.dutdesign import DutDesign
from hwsim.cosim.dutfile import NOTHING, SignalPlace, TermSignals
from hwsim.formats.yamlfile import SpecError
from hwsim.prove.btor import Circuit
from hwsim.prove.cutting import Cut, sliced
from hwsim.prove.folded import Folded
from hwsim.prove.logic import Kind, Term, constant, op, value, width
from hwsim.prove.reach import constants_of
from hwsim.prove.relations import SPECIAL
from hwsim.prove.unrolled import UNNAMED, BeatResult
from hwsim.rtl.numbers import WindowRanges

INSTANCE = "dut."  # of the design in its adapter
SLICE = re.compile(r"^(?P<name>.+)\[(?P<high>\d+)(?::(?P<low>\d+))?\]$")
NEAREST, BESIDES = 3, 4  # names that an error gives


@dataclass(frozen=True)
class FieldSignal:
    """One element of a field.

    name: `terms__0__sig`. key: in the file. bits: of the design's signal as it is in the beat's cycle; None of a
    constant, which `plus` is. signed: whether they are two's complement, and wide: whether the field has a bit more.
    given: bits that the signal has, where the highest of them are left out: they repeat the sign.
    """

    name: str
    key: str
    bits: Term | None
    plus: int
    signed: bool
    wide: bool
    given: int = 0

    @property
    def width(self) -> int:
        """Bits of the field."""
        return (max(1, self.plus.bit_length()) if self.bits is None else width(self.bits)) + self.wide

    def field(self, bits: Term | None) -> Term:
        """The field, of the design's bits."""
        if bits is None:
            return value(self.plus, self.width)
        if self.wide:
            bits = op(Kind.BV_SIGN_EXTEND if self.signed else Kind.BV_ZERO_EXTEND, bits, indices=[1])
        return op(Kind.BV_ADD, bits, value(self.plus, self.width)) if self.plus else bits

    def design(self, port: Term) -> Term:
        """The design's bits, of the field: what `field` makes of them is the field again."""
        if self.plus:
            port = op(Kind.BV_SUB, port, value(self.plus, self.width))
        return sliced(port, 0, self.width - self.wide)


class Boundaries:
    """The steps of a design as circuits, from one boundary to the next.

    Raises SpecError, naming the key, for a signal that is not there or does not fit, and for a boundary through which
    not all goes.
    """

    def __init__(self, design: DutDesign, followed: BeatResult, ranges: WindowRanges):
        self.design, self.followed, self.n = design, followed, ranges
        assert design.dut.file.steps is not None
        self.file = design.dut.file.steps
        self.folded = Folded()
        self.multiply = [*self._terms(), *self._addend(), *self._special()]
        max_exp = self._field("max_exp", "maximum.max_exp", self.file.maximum.max_exp, signed=self.n.max_exp[0] < 0)
        special = [one for one in self.multiply if one.name.startswith("special")]
        self.maximum = [*self.multiply, max_exp]
        self.align = [*self._aligned(), max_exp, *special]
        total = self._field("total", "sum.total", self.file.sum.total, signed=True)
        self.sum = [total, max_exp, *special]

    # Fields.

    def _terms(self) -> list[FieldSignal]:
        lanes, places = self.n.lanes, self.file.multiply.terms
        return self._of_terms("multiply.terms", [f"terms__{lane}" for lane in range(lanes)], places, False)

    def _addend(self) -> list[FieldSignal]:
        places = self.file.multiply.addend
        if places is None:
            if self.design.addend:
                raise self._wrong("multiply.addend", "is missing: ports.c is an addend")
            places = TermSignals(sign=NOTHING, exp=NOTHING, sig=NOTHING)
        return self._of_terms("multiply.addend", ["addend"], places, self.n.addend_exp[0] < 0)

    def _of_terms(self, key: str, names: Sequence[str], places: TermSignals, signed: bool) -> list[FieldSignal]:
        found = []
        for part, of_signed in (("sign", False), ("exp", signed), ("sig", False)):
            fields = [f"{name}__{part}" for name in names]
            found += self._fields(fields, f"{key}.{part}", getattr(places, part), of_signed, part == "sign")
        return found

    def _special(self) -> list[FieldSignal]:
        places = self.file.multiply.special
        return [
            self._field(f"special__{flag}", f"multiply.special.{flag}", getattr(places, flag), flag=True)
            for flag in SPECIAL
        ]

    def _aligned(self) -> list[FieldSignal]:
        places = self.file.align.aligned
        with_addend = self.n.lanes + (self.file.multiply.addend is not None)
        found = []
        for part, place in (("ones", places.ones), ("carry", places.carry or NOTHING)):
            names = [f"aligned__{lane}__{part}" for lane in range(self.n.lanes + 1)]
            of_design = names[:with_addend]
            found += self._fields(of_design, f"align.aligned.{part}", place, part == "ones", part == "carry")
            found += [FieldSignal(name, "", None, 0, False, part == "ones") for name in names[with_addend:]]
        return found

    def _field(self, name: str, key: str, place: SignalPlace, signed: bool = False, flag: bool = False) -> FieldSignal:
        return self._fields([name], key, place, signed, flag)[0]

    def _fields(
        self, names: Sequence[str], key: str, place: SignalPlace, signed: bool, flag: bool
    ) -> list[FieldSignal]:
        """A field's elements. signed: whether ours are two's complement. flag: whether they are of one bit."""
        if place.constant is not None:
            if flag and place.constant > 1:
                raise self._wrong(key, f"must be of one bit, not {place.constant}")
            return [FieldSignal(name, key, None, place.constant, False, not flag) for name in names]
        of_design = (signed and not place.plus) if place.signed is None else place.signed
        wide = bool(place.plus) or (signed and not of_design)
        if flag and wide:
            raise self._wrong(key, "must be of one bit, without signed and plus")
        found = []
        for name, bits in zip(names, self._elements(key, place, len(names)), strict=True):
            if flag and width(bits) != 1:
                raise self._wrong(key, f"must be of one bit, not {width(bits)}")
            kept = Cut().without_signs(bits) if of_design else bits
            found.append(FieldSignal(name, key, kept, place.plus, of_design, wide, width(bits)))
        return found

    def _elements(self, key: str, place: SignalPlace, count: int) -> list[Term]:
        """The bits of each element."""
        if place.signal is not None:
            whole = self._signal(key, place.signal, place.cycle)
            if width(whole) % count:
                rule = f"must hold {count} elements of as many bits each, not {width(whole)} bits ({place.signal})"
                raise self._wrong(key, rule)
            bits = width(whole) // count
            found = [sliced(whole, at * bits, bits) for at in range(count)]
        else:
            names = place.signals or tuple((place.each or "").replace("{}", str(at)) for at in range(count))
            if len(names) != count:
                raise self._wrong(key, f"must name {count} signals, one for each element, not {len(names)}")
            found = [self._signal(key, name, place.cycle) for name in names]
        return found if place.lane0 == "low" else found[::-1]

    # Signals.

    @cached_property
    def wires(self) -> Mapping[str, Term]:
        """All signals of the design that have names, from its top on."""
        circuit = self.followed.circuit
        states = {name: state.now for name, state in circuit.states.items()}
        found = {**circuit.wires, **states}
        return {name.removeprefix(INSTANCE): term for name, term in found.items() if name.startswith(INSTANCE)}

    def _signal(self, key: str, name: str, cycle: int | None) -> Term:
        """A signal's bits in the cycle in which they are the beat's."""
        if name in self.wires:
            return self._in_cycle(key, name, name, cycle)
        found = SLICE.match(name)
        if found is None or found["name"] not in self.wires:
            raise self._unknown(key, name)
        high, low = int(found["high"]), int(found["low"] or found["high"])
        whole = self._in_cycle(key, name, found["name"], cycle)
        if not low <= high < width(whole):
            raise self._wrong(key, f"must be within {found['name']}[{width(whole) - 1}:0], not {name}")
        return sliced(whole, low, high - low + 1)

    def _unknown(self, key: str, name: str) -> SpecError:
        known = sorted(self.wires)
        last = name.rpartition(".")[2]
        near = [one for one in known if one.rpartition(".")[2] == last]  # in another module
        near += [one for one in get_close_matches(name, known, NEAREST, 0.5) if one not in near]
        said = f"; there {'is' if len(near) == 1 else 'are'} {', '.join(near[:NEAREST])}" if near else ""
        return self._wrong(key, f"must name a signal of {self.design.name}, not {name}{said}")

    def _in_cycle(self, key: str, called: str, name: str, cycle: int | None) -> Term:
        run = self.followed.run
        if cycle is not None and cycle >= len(run):
            raise self._wrong(key, f"must have a cycle from 0 to {len(run) - 1}, not {cycle} ({called})")
        first: list[str] = []
        constant_one = None
        for at in range(len(run)) if cycle is None else [cycle]:
            term = self.folded.of(run[at].of(self.wires[name]))
            others = self._others(term)
            if not others and (constants_of([term]) or cycle is not None):
                return term
            constant_one = term if not others and constant_one is None else constant_one
            first = first or others
        if constant_one is not None:
            return constant_one
        when = f"in cycle {cycle}" if cycle is not None else f"in none of cycles 0 to {len(run) - 1}"
        raise self._wrong(key, f"{when} is {called} the beat's alone: it depends on {', '.join(first[:BESIDES])}, too")

    def _others(self, term: Term) -> list[str]:
        """What a term depends on beside the beat, and beside bits that the design leaves undefined."""
        names = sorted({one.symbol() for one in constants_of([term])})
        prefixes = ("beat.", UNNAMED)
        return [name.removeprefix("dut.").removeprefix(INSTANCE) for name in names if not name.startswith(prefixes)]

    def _wrong(self, key: str, rule: str) -> SpecError:
        return self.design.dut.wrong(f"steps.{key}", rule)

    # The logic from one boundary to the next.

    @cached_property
    def products(self) -> Circuit:
        """From the beat to the terms."""
        inputs = {
            f"i__{name}" if name == "c" else f"i__{name}__{at}": term
            for name, terms in self.followed.beat.items()
            for at, term in enumerate(terms)
        }
        inputs["i__chain"] = constant("nothing.chain", 1)
        inputs["i__carried__code"] = constant("nothing.code", self.n.result.bits)
        if "i__c" not in inputs and self.n.window_addend is not None:
            inputs["i__c"] = constant("nothing.c", self.n.window_addend.container_bits)
        return Circuit(inputs, {f"o__{one.name}": one.field(one.bits) for one in self.multiply})

    def step(self, name: str, before: Sequence[FieldSignal], after: Sequence[FieldSignal]) -> Circuit:
        """A step whose fields these are. What it makes nothing of leaves as it came."""
        inputs, cut = self._cut(name, before)
        outputs = {}
        passed = {one.name for one in before}
        for one in after:
            if one.name in passed:
                outputs[f"o__{one.name}"] = inputs[f"i__{one.name}"]
                continue
            bits = None if one.bits is None else self._through(cut, one.bits, one.key)
            outputs[f"o__{one.name}"] = one.field(bits)
        return Circuit(inputs, outputs)

    def _cut(self, name: str, before: Sequence[FieldSignal]) -> tuple[dict[str, Term], Cut]:
        inputs = {f"i__{one.name}": constant(f"{name}.i__{one.name}", one.width) for one in before}
        cut = Cut()
        for one in reversed(before):  # what was made last counts first
            if one.bits is not None:
                cut.at(one.bits, one.design(inputs[f"i__{one.name}"]))
        return inputs, cut

    def _through(self, cut: Cut, term: Term, key: str) -> Term:
        """A term as a function of a boundary. Raises SpecError where not all of it goes through."""
        found = cut.of(term)
        left = sorted({one.symbol() for one in constants_of([found]) if one.symbol().startswith("beat.")})
        if left:
            by = {self.folded.of(cycle.of(wire)).id(): (signal, wire) for cycle in reversed(self.followed.run)
                  for signal, wire in self.wires.items() if signal not in self._ports}  # fmt: skip
            terms = [self.folded.of(cycle.of(wire)) for cycle in self.followed.run for wire in self.wires.values()]
            names = dict.fromkeys(by[one.id()][0] for one in cut.uncut(term, terms) if one.id() in by)
            beside = [*names][:BESIDES] or [one.removeprefix("beat.") for one in left[:BESIDES]]
            besides = f"also depends on {', '.join(beside)}"
            if key == "sum":
                raise self._wrong(key, f"must be all that the result follows from, which {besides}")
            raise self._wrong(key, f"must follow from what the step before it is said to make, and {besides}")
        return found

    @cached_property
    def _ports(self) -> set[str]:
        return {port.name for port in self.design.module.ports}

    @cached_property
    def container(self) -> Term:
        """The result's container."""
        field = next(field for field in self.design.ports.output.fields if field.name == "result")
        payload = self.followed.run[-1].of(self.followed.circuit.outputs["o__payload"])
        return self.folded.of(sliced(payload, field.offset, field.bits))

    def result(self) -> Circuit:
        """From the total to the result's container, `o__result`."""
        inputs, cut = self._cut("round", self.sum)
        return Circuit(inputs, {"o__result": self._through(cut, self.container, "sum")})

    def signals(self) -> Iterator[FieldSignal]:
        """All fields, each once."""
        yield from {one.name: one for one in (*self.multiply, *self.maximum, *self.align, *self.sum)}.values()
