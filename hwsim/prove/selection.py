"""A sparse unit's file: it does, register by register, what its dense unit's does with the factors that are selected.

What is selected is the model's: its `selected` is run on opaque codes, for all metadata of every group.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

from hwsim.base.errors import InputError
from hwsim.base.text import counted
from hwsim.model.definition import selected
from hwsim.prove.abstract import packed
from hwsim.prove.circuits import Circuit, Register, verilog_circuit, without_undriven
from hwsim.prove.claims import Claim
from hwsim.prove.shown import Noted
from hwsim.prove.terms import (
    Term,
    all_substituted,
    below,
    both,
    choose,
    either,
    implies,
    is_one,
    negated,
    part,
    same,
    value,
    width,
)
from hwsim.rtl import verilog
from hwsim.spec import Pipeline, SparseUnit
from hwsim.spec.sparse import Sparsity

SELECT = "select: "  # what the names of these claims begin with
UNNAMED = re.compile(r"state\d+")  # as circuits call registers of no name, which are numbered as they come


def chosen(rule: Sparsity, b: Sequence[Term], metadata: Sequence[Term], lane: int) -> Term:
    """The factor that a lane gets: by the index of its run among those of its group, the last beyond them."""
    group, index = lane // rule.kept, metadata[lane // rule.run]
    places = [(group * rule.of + number) * rule.run + lane % rule.run for number in range(rule.of)]
    code = b[places[-1]]
    for number in reversed(range(rule.of - 1)):
        code = choose(same(index, value(number, width(index))), b[places[number]], code)
    return code


@dataclass(frozen=True)
class Selecting:
    """A sparse unit's file beside its dense unit's, both without options.

    text: the sparse unit's, where it is not the one that `hwsim.rtl.verilog` writes.
    """

    unit: SparseUnit
    pipeline: Pipeline
    text: str = ""

    @cached_property
    def dense(self) -> Circuit:
        """The dense unit's file."""
        return without_undriven(verilog_circuit(verilog(self.unit.dense, self.pipeline), "dense."))

    @cached_property
    def file(self) -> Circuit:
        """The sparse unit's file."""
        return without_undriven(verilog_circuit(self.text or verilog(self.unit, self.pipeline), "sparse."))

    @property
    def _lanes(self) -> int:
        return self.unit.dense.instruction.lanes

    def _elements(self, port: str, bits: int) -> list[Term]:
        term = self.file.inputs[port]
        return [part(term, low, bits) for low in range(0, width(term), bits)]

    @property
    def b(self) -> list[Term]:
        """All factors of b of a beat."""
        return self._elements("in_b", self.unit.dense.operands.b.container_bits)

    @property
    def metadata(self) -> list[Term]:
        """The indices of a beat."""
        return self._elements("in_metadata", self.unit.sparsity.index_bits)

    def chosen(self, lane: int) -> Term:
        """The factor of b that a lane gets."""
        return chosen(self.unit.sparsity, self.b, self.metadata, lane)

    def _inputs(self) -> dict[Term, Term]:
        """The dense file's inputs, as the sparse one has them behind its selector."""
        by = dict[Term, Term]()
        for name, term in self.dense.inputs.items():
            other = packed([*map(self.chosen, range(self._lanes))]) if name == "in_b" else self.file.inputs.get(name)
            if other is None or width(other) != width(term):
                raise InputError(f"{self.unit.name}: the file must have an input {name} of {width(term)} bits")
            by[term] = other
        return by

    @cached_property
    def _densely(self) -> Mapping[Term, Term]:
        """Registers and inputs of the dense file as those of the sparse one."""
        return self._inputs() | {register.now: self.registers[name].now for name, register in self.dense.states.items()}

    @cached_property
    def registers(self) -> Mapping[str, Register]:
        """The file's register for each of the dense one: of its name, or what a signal of one name shows in both.

        Raises InputError where there is none.
        """
        shown = {state.now.symbol(): state for state in self.file.states.values()}
        tables = ((self.dense.wires, self.file.wires), (self.dense.outputs, self.file.outputs))
        found = dict[str, Register]()
        for name, register in self.dense.states.items():
            every = [others[alias] for table, others in tables for alias, term in table.items()
                     if term == register.now and alias in others]  # fmt: skip
            if name in self.file.states and not UNNAMED.fullmatch(name):
                every.insert(0, self.file.states[name].now)
            state = shown.get(every[0].symbol()) if every else None
            if state is None or width(state.now) != width(register.now):
                raise InputError(f"{self.unit.name}: the file must have a register {name} as its dense unit's has")
            found[name] = state
        return found

    @property
    def beyond(self) -> Term:
        """The condition that an index of a beat that is accepted is of no factor."""
        rule, accepted = self.unit.sparsity, (self.file.inputs["in_valid"], self.file.outputs["in_ready"])
        if rule.of == 1 << rule.index_bits:
            return negated(same(value(0, 1), value(0, 1)))
        some = either(*(negated(below(index, value(rule.of, rule.index_bits))) for index in self.metadata))
        return both(*map(is_one, accepted), some)

    def claims(self) -> Iterator[Claim | Noted]:
        """Yield all claims. Raises InputError for a file without the dense one's ports and registers."""
        yield self._ports()
        yield from self._by_model()
        written = [(name, register.next) for name, register in self.dense.states.items() if register.next is not None]
        wanted = dict(zip((name for name, _ in written),
                          all_substituted([after for _, after in written], self._densely), strict=True))  # fmt: skip
        misuse = next(name for name, state in self.dense.states.items() if state.now == self.dense.outputs["misuse"])
        strange = both(negated(is_one(self.file.inputs["rst"])), self.beyond)
        wanted[misuse] = choose(strange, value(1, 1), wanted[misuse])
        over = f"any state, inputs and reset, {counted(len(wanted), 'register')}"
        yield Claim(
            f"{SELECT}registers", "each register does what the dense unit's does with what is selected", over, (),
            both(*(same(self._next(name), after) for name, after in wanted.items())),
        )  # fmt: skip
        known = {state.now.symbol() for state in self.registers.values()}
        left = [state for state in self.file.states.values() if state.now.symbol() not in known]
        yield Noted(f"{SELECT}others", "there are no other registers", counted(len(left), "register"), not left)
        names = list(self.dense.outputs)
        made = zip(names, all_substituted([self.dense.outputs[name] for name in names], self._densely), strict=True)
        yield Claim(
            f"{SELECT}outputs", "outputs are the dense unit's", f"any state, {counted(len(names), 'output')}", (),
            both(*(same(self.file.outputs[name], term) for name, term in made)),
        )  # fmt: skip

    def _next(self, name: str) -> Term:
        after = self.registers[name].next
        if after is None:
            raise InputError(f"{self.unit.name}: something must write the register {name}")
        return after

    def _ports(self) -> Noted:
        rule, operands, lanes = self.unit.sparsity, self.unit.dense.operands, self._lanes
        wanted = {
            "in_a": lanes * operands.a.container_bits,
            "in_b": rule.whole_of(lanes) * operands.b.container_bits,
            "in_metadata": lanes // rule.run * rule.index_bits,
            **({"in_c": operands.addend.container_bits} if operands.addend is not None else {}),
        }
        sizes = {name: width(self.file.inputs[name]) for name in wanted if name in self.file.inputs}
        words = "operands and metadata have the elements and the bits of the specification"
        return Noted(f"{SELECT}ports", words, counted(len(wanted), "port"), sizes == wanted)

    def _by_model(self) -> Iterator[Claim]:
        """Yield for each group the claim that its lanes get what the model selects, for all metadata of the group."""
        rule, lanes = self.unit.sparsity, self._lanes
        every = list(product(range(1 << rule.index_bits), repeat=rule.keep))
        for group in range(lanes // rule.kept):
            here = range(group * rule.kept, (group + 1) * rule.kept)
            indices = self.metadata[group * rule.keep : (group + 1) * rule.keep]
            cases = []
            for pattern in every:
                whole = [0] * (lanes // rule.run)
                whole[group * rule.keep : (group + 1) * rule.keep] = pattern
                of_model: list[Any] = selected(rule, self.b, whole)  # codes are moved alone
                pairs = zip(indices, pattern, strict=True)
                given = both(*(same(term, value(number, width(term))) for term, number in pairs))
                cases.append(implies(given, both(*(same(self.chosen(lane), of_model[lane]) for lane in here))))
            yield Claim(
                f"{SELECT}group {group}", "its lanes get the factors that the model's `selected` returns",
                f"any codes, all {counted(len(every), 'choice')} of indices", (), both(*cases),
            )  # fmt: skip


def selection_claims(unit: SparseUnit, pipeline: Pipeline) -> Iterator[Claim | Noted]:
    """Yield the claims about a sparse unit's file, by its dense unit's."""
    yield from Selecting(unit, pipeline).claims()
