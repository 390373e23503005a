"""Another way of writing a unit's file: with its options it does, register by register, what the plain file does.

A buffer at the input (`--register-ready`) is claimed to be a place for one beat: what enters the unit is what came in,
in the order in which it did.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from hwsim.base.errors import InputError
from hwsim.prove.circuits import NAMELESS, Circuit, Register, verilog_circuit, without_undriven
from hwsim.prove.claims import Claim
from hwsim.prove.terms import (
    Kind,
    Term,
    all_substituted,
    as_bit,
    both,
    choose,
    either,
    implies,
    is_one,
    negated,
    op,
    part,
    same,
    simplified,
    substituted,
    true,
    value,
    width,
)
from hwsim.rtl import beat_layout, fields_of, result_port_layout, verilog
from hwsim.rtl.hierarchy import CLOCK_ENABLE, PLAIN, Style
from hwsim.spec import AnyUnit, Pipeline

FULL, KEPT = "u_entry.full", "u_entry.kept"


class StyledRegister(NamedTuple):
    """A register: the value that it holds, the next one, and the one that it shows, where a reset acts at once."""

    now: Term
    next: Term
    shown: Term


class Restyled:
    """A circuit, and another of the same registers and ports whose reset is of some style."""

    def __init__(self, name: str, plain: Circuit, other: Circuit, style: Style, place: str = "options"):
        """name: of the design. plain: has `rst`, which acts at the clock's edge. place: before the claims' names."""
        self.name, self.plain, self.other, self.style, self.place = name, plain, other, style, place

    @property
    def resets(self) -> Term:
        """The condition that the reset is active. Raises InputError for a file without it."""
        if self.style.reset_name not in self.other.inputs:
            raise InputError(f"{self.name}: the file must have a port {self.style.reset_name}")
        level = is_one(self.other.inputs[self.style.reset_name])
        return negated(level) if self.style.reset_low else level

    @property
    def _not_reset(self) -> dict[Term, Term]:
        return {self.other.inputs[self.style.reset_name]: value(self.style.reset_low, 1)}

    @property
    def _in_reset(self) -> dict[Term, Term]:
        return {self.other.inputs[self.style.reset_name]: value(not self.style.reset_low, 1)}

    @property
    def enabled(self) -> Term:
        """The condition that the clock's edge counts."""
        return is_one(self.other.inputs[CLOCK_ENABLE]) if self.style.clock_enable else true()

    @property
    def outputs(self) -> Mapping[str, Term]:
        """The other file's outputs."""
        return self.other.outputs

    @cached_property
    def _states(self) -> dict[str, Register]:
        return {state.now.symbol(): state for state in self.other.states.values() if state.next is not None}

    @cached_property
    def registers(self) -> dict[Term, StyledRegister]:
        """The other file's register for each one of the plain file. Raises InputError where there is none."""
        return {state.now: self._held(name, state.now) for name, state in self.plain.states.items()}

    def _held(self, name: str, now: Term) -> StyledRegister:
        tables = [(self.plain.wires, self.other.wires), (self.plain.outputs, self.outputs)]
        named = not NAMELESS.fullmatch(name)  # a number that Yosys gave is another one's there
        names = [(name, self.other.wires)]
        names += [(alias, others) for plain, others in tables for alias, term in plain.items() if term == now]
        shown = [self.other.states[name].now] if named and name in self.other.states else []
        shown += [others[alias] for alias, others in names if alias in others]
        return self._shown(name, shown[0] if shown else None, width(now))

    def _shown(self, name: str, shown: Term | None, bits: int) -> StyledRegister:
        """The register that a signal shows while there is no reset."""
        held = None if shown is None else simplified(substituted(shown, self._not_reset))
        state = None if held is None else self._states.get(str(held.symbol()))
        if shown is None or state is None or state.next is None or width(state.now) != bits:
            raise InputError(f"{self.name}: the file must have a register {name} of {bits} bits")
        return StyledRegister(state.now, state.next, shown)

    @cached_property
    def inputs(self) -> dict[Term, Term]:
        """The plain file's inputs, as the other has them. Raises InputError where it has other ports."""
        names = {name for name in self.plain.inputs if name != "rst"}
        if names != self.other.inputs.keys() - {self.style.reset_name}:
            raise InputError(f"{self.name}: the file must have the plain one's ports")
        return {self.plain.inputs[name]: self.other.inputs[name] for name in names}

    def _plainly(self, terms: Sequence[Term], reset: int) -> list[Term]:
        """Terms of the plain file, as functions of what the other's registers show, and of its inputs.

        reset: the plain file's.
        """
        by = {now: held.shown for now, held in self.registers.items()} | self.inputs
        return list(all_substituted(terms, by | {self.plain.inputs["rst"]: value(reset, 1)}))

    @property
    def _more(self) -> Iterable[StyledRegister]:
        """Registers that the plain file has not."""
        return ()

    # Claims.

    def claims(self) -> Iterator[Claim]:
        """Yield all claims. Raises InputError for a file without the plain one's ports and registers."""
        over, names = f"any state, any inputs, {len(self.registers)} registers", list(self.plain.states)
        nexts = [state.next for state in self.plain.states.values()]
        written = [(name, following) for name, following in zip(names, nexts, strict=True) if following is not None]
        held = [self.registers[self.plain.states[name].now] for name, _ in written]
        runs = (negated(self.resets), self.enabled)
        plainly = self._plainly([following for _, following in written], 0)
        yield Claim(
            f"{self.place}: registers", "without a reset each register does what the plain file's does", over, runs,
            both(*(same(reg.next, wanted) for reg, wanted in zip(held, plainly, strict=True))),
        )  # fmt: skip
        yield Claim(
            f"{self.place}: outputs", "outputs are the plain file's", over, (negated(self.resets),),
            both(*self._outputs(self.plain.outputs)),
        )  # fmt: skip
        at_reset = self._plainly([following for _, following in written], 1)
        wanted, shows = [], []
        for reg, usual, after in zip(held, plainly, at_reset, strict=True):
            sets = simplified(after).is_value()
            wanted.append(same(reg.next, after if sets else choose(self.enabled, usual, reg.now)))
            shows.append(same(reg.shown, after if sets and self.style.reset == "async" else reg.now))
        for reg in self._more:
            after = simplified(substituted(reg.next, self._in_reset))
            shows.append(same(reg.shown, after if after.is_value() and self.style.reset == "async" else reg.now))
        yield Claim(
            f"{self.place}: reset", "a reset leaves what it leaves in the plain file; what none sets goes on", over,
            (self.resets,), both(*wanted),
        )  # fmt: skip
        at_once = "what a reset sets it sets at once" if self.style.reset == "async" else "a reset waits for the edge"
        yield Claim(f"{self.place}: when", at_once, over, (self.resets,), both(*shows))
        if self.style.clock_enable:
            yield Claim(
                f"{self.place}: {CLOCK_ENABLE}", "while it is low nothing changes but by a reset", over,
                (negated(self.resets), negated(self.enabled)),
                both(*(same(reg.next, reg.now) for reg in (*held, *self._more))),
            )  # fmt: skip

    def _outputs(self, names: Iterable[str]) -> Iterator[Term]:
        """Yield the conditions that outputs are the plain file's. Raises InputError for a file without one."""
        every = list(names)
        for name, wanted in zip(every, self._plainly([self.plain.outputs[name] for name in every], 0), strict=True):
            if name not in self.outputs:
                raise InputError(f"{self.name}: the file must have a port {name}")
            yield same(self.outputs[name], wanted)


class Styled(Restyled):
    """The file that is written with some options, beside the plain one of the same unit."""

    def __init__(self, unit: AnyUnit, pipeline: Pipeline, style: Style):
        self.unit, self.pipeline = unit, pipeline
        plain = verilog(unit, pipeline.model_copy(update={"register_ready": False}))
        text = verilog(unit, pipeline, style)
        text = scoped(text) if style.package else text
        plain_circuit = without_undriven(verilog_circuit(plain, "plain."))
        super().__init__(unit.name, plain_circuit, without_undriven(verilog_circuit(text, "style.")), style)

    @cached_property
    def outputs(self) -> Mapping[str, Term]:
        """The other file's outputs, a struct's fields by themselves."""
        payload = self.other.outputs.get("out_payload")
        if payload is None:
            return self.other.outputs
        layout = result_port_layout(self.unit, self.pipeline)
        fields = {f"out_{field.name}": part(payload, field.low, field.bits) for field in fields_of(layout)}
        return {**self.other.outputs, **fields}

    @cached_property
    def inputs(self) -> dict[Term, Term]:
        """The plain file's inputs, as the other has them: behind its buffer, if it has one."""
        payload = self.other.inputs.get("in_payload")
        layout = beat_layout(self.unit, self.pipeline)
        by = dict[Term, Term]()
        whole = {name: term for name, term in self.other.inputs.items() if name.startswith("in_")}
        for field in fields_of(layout):
            term = self.plain.inputs.get(f"in_{field.name}")
            if term is not None:
                bits = field.bits * (field.elements or 1)
                direct = whole[f"in_{field.name}"] if payload is None else part(payload, field.low, bits)
                by[term] = choose(self._full, part(self._kept, field.low, bits), direct) if self._buffered else direct
        valid = self.other.inputs["in_valid"]
        by[self.plain.inputs["in_valid"]] = as_bit(either(self._full, is_one(valid))) if self._buffered else valid
        by[self.plain.inputs["out_ready"]] = self.other.inputs["out_ready"]
        return by

    @property
    def _buffered(self) -> bool:
        return self.pipeline.register_ready

    @property
    def _full(self) -> Term:
        return is_one(self._buffer[FULL].shown)

    @property
    def _kept(self) -> Term:
        return self._buffer[KEPT].now

    @cached_property
    def _buffer(self) -> dict[str, StyledRegister]:
        sizes = {FULL: 1, KEPT: beat_layout(self.unit, self.pipeline).size}
        shown = {name: self.other.states[name].now if name in self.other.states else self.other.wires.get(name)
                 for name in sizes}  # fmt: skip
        return {name: self._shown(name, shown[name], bits) for name, bits in sizes.items()}

    @property
    def _more(self) -> Iterable[StyledRegister]:
        return self._buffer.values() if self._buffered else ()

    def claims(self) -> Iterator[Claim]:
        """Yield all claims. Raises InputError for a file without the plain one's ports and registers."""
        yield from super().claims()
        if self._buffered:
            yield from self._buffers(f"any state, any inputs, {len(self.registers)} registers")

    def _outputs(self, names: Iterable[str]) -> Iterator[Term]:
        return super()._outputs(name for name in names if not (self._buffered and name == "in_ready"))

    def _buffers(self, over: str) -> Iterator[Claim]:
        """Yield the claims about the buffer, a place for one beat.

        It is ready while it is empty, filled by what comes and does not enter, and emptied by what enters.
        """
        (ready,) = self._plainly([self.plain.outputs["in_ready"]], 0)
        (full, then_full, _), (kept, then_kept, _) = self._buffer[FULL], self._buffer[KEPT]
        offered = either(is_one(full), is_one(self.other.inputs["in_valid"]))
        payload = self.other.inputs.get("in_payload")
        fields = list(fields_of(beat_layout(self.unit, self.pipeline)))
        came = [
            self.other.inputs[f"in_{field.name}"] if payload is None
            else part(payload, field.low, field.bits * (field.elements or 1))
            for field in fields
        ]  # fmt: skip
        places = [(field.low, width(term)) for field, term in zip(fields, came, strict=True)]
        stored = both(*(
            same(part(then_kept, *place), choose(is_one(full), part(kept, *place), term))
            for place, term in zip(places, came, strict=True)
        ))  # fmt: skip
        runs = (negated(self.resets), self.enabled)
        yield Claim(
            "options: buffer", "it is ready while it holds nothing, and holds what came and did not enter the unit",
            over, runs,
            both(
                same(self.other.outputs["in_ready"], op(Kind.BV_NOT, full)),
                op(Kind.EQUAL, is_one(then_full), both(offered, negated(is_one(ready)))),
                implies(is_one(then_full), stored),
            ),
        )  # fmt: skip
        yield Claim("options: buffer reset", "a reset empties it", over, (self.resets,), negated(is_one(then_full)))


def scoped(text: str) -> str:
    """A file whose ports name the package of their types, in the place of an import, which Yosys does not read."""
    text, count = re.subn(r"\n  import (\w+)::\*;\n(\([^;]*\);)", _with_types, text)
    if count != 1:
        raise InputError("the file must import its package once, in its first module")
    return text


def _with_types(found: re.Match[str]) -> str:
    return " " + re.sub(r"\b(beat_t|result_t)\b", rf"{found[1]}::\1", found[2])


def style_claims(unit: AnyUnit, pipeline: Pipeline, style: Style) -> Iterator[Claim]:
    """Yield the claims about the file that is written with options; none where there are no options."""
    if pipeline.register_ready or style != PLAIN:
        yield from Styled(unit, pipeline, style).claims()
