"""Another way of writing a unit's file: with its options it does, register by register, what the plain file does.

A buffer at the input (`--register-ready`) is claimed to be a place for one beat: what enters the unit is what came in,
in the order in which it did.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from hwsim.base.errors import InputError
from hwsim.prove.circuits import Circuit, Register, verilog_circuit, without_undriven
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


@dataclass(frozen=True)
class Styled:
    """The file that is written with some options, beside the plain one of the same unit."""

    unit: AnyUnit
    pipeline: Pipeline
    style: Style

    @cached_property
    def plain(self) -> Circuit:
        """The file without options."""
        text = verilog(self.unit, self.pipeline.model_copy(update={"register_ready": False}))
        return without_undriven(verilog_circuit(text, "plain."))

    @cached_property
    def other(self) -> Circuit:
        """The file with options."""
        text = verilog(self.unit, self.pipeline, self.style)
        if self.style.package:
            text = scoped(text)
        return without_undriven(verilog_circuit(text, "style."))

    @property
    def resets(self) -> Term:
        """The condition that the reset is active."""
        level = is_one(self.other.inputs[self.style.reset_name])
        return negated(level) if self.style.reset_low else level

    @property
    def _not_reset(self) -> dict[Term, Term]:
        return {self.other.inputs[self.style.reset_name]: value(self.style.reset_low, 1)}

    @property
    def enabled(self) -> Term:
        """The condition that the clock's edge counts."""
        return is_one(self.other.inputs[CLOCK_ENABLE]) if self.style.clock_enable else true()

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
    def _states(self) -> dict[str, Register]:
        return {state.now.symbol(): state for state in self.other.states.values() if state.next is not None}

    @cached_property
    def registers(self) -> dict[Term, StyledRegister]:
        """The other file's register for each one of the plain file. Raises InputError where there is none."""
        return {state.now: self._held(name, state.now) for name, state in self.plain.states.items()}

    def _held(self, name: str, now: Term) -> StyledRegister:
        tables = [(self.plain.wires, self.other.wires), (self.plain.outputs, self.outputs)]
        names = [(name, self.other.wires)]
        names += [(alias, others) for plain, others in tables for alias, term in plain.items() if term == now]
        shown = [self.other.states[name].now] if name in self.other.states else []
        shown += [others[alias] for alias, others in names if alias in others]
        return self._shown(name, shown[0] if shown else None, width(now))

    def _shown(self, name: str, shown: Term | None, bits: int) -> StyledRegister:
        """The register that a signal shows while there is no reset."""
        held = None if shown is None else simplified(substituted(shown, self._not_reset))
        state = None if held is None else self._states.get(str(held.symbol()))
        if shown is None or state is None or state.next is None or width(state.now) != bits:
            raise InputError(f"{self.unit.name}: the file must have a register {name} of {bits} bits")
        return StyledRegister(state.now, state.next, shown)

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

    def _plainly(self, terms: Sequence[Term], reset: int) -> list[Term]:
        """Terms of the plain file, as functions of what the other's registers show, and of its inputs.

        reset: the plain file's.
        """
        by = {now: held.shown for now, held in self.registers.items()} | self.inputs
        return list(all_substituted(terms, by | {self.plain.inputs["rst"]: value(reset, 1)}))

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
            "options: registers", "without a reset each register does what the plain file's does", over, runs,
            both(*(same(reg.next, wanted) for reg, wanted in zip(held, plainly, strict=True))),
        )  # fmt: skip
        yield Claim(
            "options: outputs", "outputs are the plain file's", over, (negated(self.resets),), both(*self._outputs())
        )
        at_reset = self._plainly([following for _, following in written], 1)
        wanted = []
        for reg, usual, after in zip(held, plainly, at_reset, strict=True):
            kept = after if simplified(after).is_value() else choose(self.enabled, usual, reg.now)
            wanted.append(same(reg.next, kept))
        yield Claim(
            "options: reset", "a reset leaves what it leaves in the plain file; what none sets goes on", over,
            (self.resets,), both(*wanted),
        )  # fmt: skip
        every = [*held, *(self._buffer.values() if self._buffered else ())]
        if self.style.clock_enable:
            yield Claim(
                f"options: {CLOCK_ENABLE}", "while it is low nothing changes but by a reset", over,
                (negated(self.resets), negated(self.enabled)), both(*(same(reg.next, reg.now) for reg in every)),
            )  # fmt: skip
        if self._buffered:
            yield from self._buffers(over)

    def _outputs(self) -> Iterator[Term]:
        names = [name for name in self.plain.outputs if not (self._buffered and name == "in_ready")]
        plainly = dict(zip(names, self._plainly([self.plain.outputs[name] for name in names], 0), strict=True))
        return (same(self.outputs[name], wanted) for name, wanted in plainly.items())

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
