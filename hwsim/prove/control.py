"""Control, for any data: what a unit does with beats and contexts, whatever its datapath computes.

The datapath is cut out of the elaborated unit: what it gives is any value in each cycle. What stands in the pipeline is
followed (`followed`); `invariants` hold after a reset from any state, and in the cycle after one in which they hold;
the promises of `hwsim docs pipeline` (`promises`) follow from them. That a result leaves, and that no beat waits for
ever, is shown of so many cycles as there are registers, from any state.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hwsim.prove.btor import Circuit
from hwsim.prove.claims import Claim
from hwsim.prove.followed import Control
from hwsim.prove.invariants import Property, invariants
from hwsim.prove.logic import (
    Term,
    ask,
    both,
    constant,
    either,
    implies,
    is_one,
    negated,
    same,
    substituted,
    value,
    width,
)
from hwsim.prove.machine import Cycle, Machine, cycles
from hwsim.prove.promises import promises

WIDEST = 64  # bits of a constant that is shown


def control_claims(control: Control) -> list[Claim]:
    """The claims of a unit's control."""
    return [*_induction(control), *_reset(control), *_in_time(control), *_stands_still(control)]


def _over(control: Control) -> str:
    contexts = control.pipeline.contexts
    return f"any state, data and handshake; {control.latency} registers, {contexts} context{'s'[: contexts > 1]}"


def _shown(control: Control) -> tuple[Term, ...]:
    machine = control.machine
    every = [*machine.now.values(), *machine.inputs.values(), control.chosen]
    return tuple(term for term in every if width(term) <= WIDEST)


def _induction(control: Control) -> Iterator[Claim]:
    """The invariants, by induction, and the promises that follow from them."""
    machine, kept = control.machine, invariants(control)
    over, show = _over(control), _shown(control)
    running = (control.exists, negated(control.reset))
    plain = tuple(each.then for each in kept if not each.lawful)
    every = (*(each.then for each in kept), control.lawful)
    for each in kept:
        after = machine.after(each.then)
        yield Claim(
            f"reset: {each.name}", f"after a reset: {each.words}", over, (control.exists, control.reset), after, show
        )
        known = every if each.lawful else plain
        yield Claim(f"step: {each.name}", f"from cycle to cycle: {each.words}", over, (*running, *known), after, show)
    for each in promises(control):
        known = every if each.lawful else plain
        yield Claim(f"control: {each.name}", each.words, over, (*running, *known, each.when), each.then, show)


def _reset(control: Control) -> Iterator[Claim]:
    machine = control.machine
    empty = [negated(control.stands(stage)) for stage in range(1, control.latency + 1)]
    opened = control.register("opened")
    empty += [same(opened, value(0, width(opened))), negated(control.misuse), negated(control.valid)]
    words = "a cycle with `rst` empties every stage, closes every context and clears `misuse`"
    yield Claim(
        "reset: everything", words, _over(control), (control.reset,), machine.after(both(*empty)), _shown(control)
    )


def hardware(control: Control) -> Machine:
    """The unit without ghosts."""
    return Machine.of(control.circuit)


def _in_time(control: Control) -> Iterator[Claim]:
    """From any state, while the output is taken."""
    machine, latency, over = hardware(control), control.latency, f"{_over(control)}; the output is taken"
    payload = control.circuit.inputs["i__payload"]
    taken = {"rst": value(0, 1), "o__ready": value(1, 1)}
    run = cycles(machine, latency + 1, lambda _: taken)
    enters = (run[0].of(control.accept),)
    leaves = same_bit(run[-1].of(control.valid), run[0].of(is_one(control.last)))
    context = same(run[-1].of(control.result_context), run[0].of(control.context))
    words = f"a beat that is taken has its result, with its context, {latency} cycles later if it is its sum's last"
    yield Claim("control: leaves", words, over, enters, both(leaves, implies(run[-1].of(control.valid), context)))
    held = {"i__valid": value(1, 1), "i__payload": constant("held", width(payload))}
    waits = cycles(machine, latency, lambda _: taken | held)
    words = f"a beat that stays offered is taken within {latency} cycles"
    yield Claim("control: waits", words, over, (), either(*(cycle.of(control.accept) for cycle in waits)))


def same_bit(first: Term, second: Term) -> Term:
    """Whether both hold or neither does."""
    return both(implies(first, second), implies(second, first))


def _stands_still(control: Control) -> Iterator[Claim]:
    """What control takes for granted of what was cut out of it."""
    for name, circuit in control.cut_out.items():
        machine = Machine.of(circuit)
        enable = {circuit.inputs["enable"]: value(0, 1)} if "enable" in circuit.inputs else {}
        stay = [same(substituted(machine.next[state], enable), machine.now[state]) for state in machine.now]
        over = "any state and any data"
        words = f"a {name} that is not enabled keeps all its registers"
        yield Claim(f"control: {name} stands still", words, over, (), both(*stay))
        if machine.now and _ends_in_register(control, name):
            words = f"what a {name} gives depends on its registers alone"
            yield Claim(f"control: {name} is registered", words, over, (), both(*_without_inputs(circuit)))


def _ends_in_register(control: Control, name: str) -> bool:
    return name != "datapath" or control.after is None


def _without_inputs(circuit: Circuit) -> Iterator[Term]:
    others = {term: constant(f"{term.symbol()}'", width(term)) for term in circuit.inputs.values()}
    for name, term in circuit.outputs.items():
        if name.startswith("o__"):
            yield same(term, substituted(term, others))


@dataclass(frozen=True)
class BrokenPromise:
    """A promise that is broken so many cycles after a reset, with the inputs that break it, by cycle."""

    name: str
    cycle: int
    inputs: tuple[dict[str, int], ...]


def broken_promise(control: Control, most: int, seconds: float = 60.0, only: str | None = None) -> BrokenPromise | None:
    """The promise that breaks soonest after a reset, if one does within so many cycles: a real run.

    only: the promise that is looked at; all of them without it.
    """
    run = cycles(control.machine, most + 1, lambda at: {"rst": value(int(at == 0), 1)})
    for at in range(1, most + 1):
        lawful = [cycle.of(control.lawful) for cycle in run[1 : at + 1]]
        for each in (each for each in promises(control) if only in (None, each.name)):
            if found := _broken(control, each, run[: at + 1], lawful, seconds):
                return found
    return None


def _broken(
    control: Control, each: Property, run: list[Cycle], lawful: list[Term], seconds: float
) -> BrokenPromise | None:
    assumptions = [control.exists, *(lawful if each.lawful else [])]
    show = [[cycle.by[term] for term in control.machine.inputs.values()] for cycle in run[1:]]
    constants = [term for cycle in show for term in cycle if not term.is_value()]
    answer = ask(run[-1].of(each.whole), assumptions, seconds, constants)
    if answer.word != "refuted" or answer.model is None:
        return None
    model = answer.model
    names = list(control.machine.inputs)
    given = tuple(
        {name: model[term.symbol()] for name, term in zip(names, cycle, strict=True) if not term.is_value()}
        for cycle in show
    )
    return BrokenPromise(each.name, len(run) - 1, given)
