"""Ghosts: registers that no hardware has, which follow what a proof looks at from cycle to cycle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hwsim.prove.logic import Kind, Term, as_bit, below, both, choose, constant, is_one, negated, op, same, value, width


@dataclass(frozen=True)
class Slot:
    """One freely chosen place of the pipeline: what entered in one cycle, a beat or nothing, and where it is now.

    stage: 0 before it enters; then behind how many registers it is; `left` once it has left.
    fields: what entered: `beat`, whether anything did, and what belongs to it. pick: any bit in
    each cycle, by which the choice is free. picked: whether it enters in this cycle.
    """

    stage: Term
    left: int
    pick: Term
    picked: Term
    fields: Mapping[str, Term]
    entering: Mapping[str, Term]

    @classmethod
    def of(cls, name: str, latency: int, when: Term, entering: Mapping[str, Term]) -> Slot:
        """A slot that enters in any one of the cycles in which `when` holds."""
        left = latency + 1
        stage = constant(f"{name}.stage", left.bit_length())
        pick = constant(f"{name}.pick", 1)
        fields = {field: constant(f"{name}.{field}", width(term)) for field, term in entering.items()}
        picked = both(is_one(pick), when, same(stage, value(0, width(stage))))
        return cls(stage, left, pick, picked, fields, entering)

    @property
    def entered(self) -> Term:
        """Whether it has entered."""
        return self.beyond(0)

    def at(self, stage: int) -> Term:
        """Whether it is at a stage; at 0 while it enters."""
        return same(self.stage, value(stage, width(self.stage))) if stage else self.picked

    def beyond(self, stage: int) -> Term:
        """Whether it is further than a stage."""
        return below(value(stage, width(self.stage)), self.stage)

    def field(self, name: str, stage: int) -> Term:
        """One of its fields, at a stage."""
        return self.fields[name] if stage else self.entering[name]

    def has(self, name: str, stage: int = 1) -> Term:
        """Whether a field of one bit is set, at a stage."""
        return is_one(self.field(name, stage))

    def following(self, advance: Term) -> list[tuple[Term, Term, Term]]:
        """Its registers: now, then, and after a reset."""
        zero, one = value(0, width(self.stage)), value(1, width(self.stage))
        moves = both(advance, self.entered, below(self.stage, value(self.left, width(self.stage))))
        stage = choose(self.picked, one, choose(moves, op(Kind.BV_ADD, self.stage, one), self.stage))
        registers = [(self.stage, stage, zero)]
        for name, term in self.fields.items():
            registers.append((term, choose(self.picked, self.entering[name], term), term))
        return registers


def kept(register: Term, starts: Term, while_not: Term) -> tuple[Term, Term, Term]:
    """A bit: whether nothing of a kind has come since something did. Its registers are as those of `Slot.following`."""
    return register, choose(starts, value(1, 1), as_bit(both(is_one(register), negated(while_not)))), value(0, 1)


def caught(register: Term, when: Term, what: Term) -> tuple[Term, Term, Term]:
    """What stood somewhere in a cycle. Its registers are as those of `Slot.following`."""
    return register, choose(when, what, register), register
