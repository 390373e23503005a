"""Control, for any data: what is promised of beats and contexts, whatever a datapath computes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hwsim.prove.abstract import Control, Property, always, invariants, is_of_chosen, same_truth, younger
from hwsim.prove.circuits import Circuit, Cycle, Machine, cycles
from hwsim.prove.claims import Claim
from hwsim.prove.terms import (
    Kind,
    Term,
    ask,
    both,
    choose,
    constant,
    either,
    implies,
    is_one,
    negated,
    op,
    same,
    substituted,
    value,
    width,
)
from hwsim.spec import modes_of


def promises(control: Control) -> list[Property]:
    """The properties that a caller may rely on. rst is low in the cycle, but for `reset`."""
    properties = [*_handshake(control), *_results(control), *_misuse(control), *_operands(control)]
    if control.after is not None:
        properties += _register(control)
    return properties


def _handshake(control: Control) -> Iterator[Property]:
    offered = control.circuit.inputs["i__valid"]
    by_valid = [substituted(control.ready, {offered: value(bit, 1)}) for bit in (0, 1)]
    waits = either(*(_waited_for(control, stage) for stage in range(1, control.latency)), never())
    yield always(
        "ready",
        "a beat is taken unless the pipeline stands still, or it is not `first` and one of its context, not its sum's "
        "last, has not entered the last register",
        same_truth(control.ready, both(control.advance, either(is_one(control.first), negated(waits)))),
    )
    yield always("ready.valid", "`i.ready` does not depend on `i.valid`", same_truth(*by_valid))
    yield Property("moves", "while the output is taken every slot moves on", control.advance, control.taken)
    for name in control.cut_out:
        words = f"the registers of the {name} move just when those beside them do"
        yield always(f"{name}.enable", words, control.drives(name, "enable", control.advance))


def never() -> Term:
    """A condition that never holds, as a question of bits."""
    return same(value(0, 1), value(1, 1))


def _waited_for(control: Control, stage: int) -> Term:
    """The condition that a beat of the offered context waits for the beat at a stage."""
    of_offered = same(control.flying(stage, "context"), control.context)
    return both(control.stands(stage), negated(is_one(control.flying(stage, "last"))), of_offered)


def _results(control: Control) -> Iterator[Property]:
    a, b, latency = control.a, control.b, control.latency
    yield Property(
        "result",
        "a slot gives a result just where it holds its sum's last beat: nothing is lost or added",
        same_truth(control.valid, both(a.has("beat"), a.has("last"))),
        a.at(latency),
    )
    yield Property(
        "result.context",
        "a result goes with the context of its beat",
        same(control.result_context, a.fields["context"]),
        both(a.at(latency), control.valid),
    )
    yield Property(
        "result.order",
        "of two slots the one that entered first has left when the other is at the output: nothing comes twice",
        a.beyond(latency),
        b.at(latency),
    )
    yield Property(
        "result.none",
        "nothing is at the output that did not enter after the reset",
        negated(control.valid),
        younger(control, latency),
    )
    yield Property(
        "result.code",
        "a result is the datapath's code above zeros for padding, or the specified NaN",
        same(control.result, result_of(control)),
        control.valid,
    )
    yield _held(control)


def result_of(control: Control) -> Term:
    """The result that the datapath's outputs make."""
    unit, inputs = control.unit, control.circuit.inputs
    after = control.after
    last, fmt = ("datapath", unit.result.format) if after is None else (after.part, after.format)
    return padded(inputs[f"{last}.o__code"], inputs[f"{last}.o__nan"], fmt.padding, unit.nan)


def padded(code: Term, nan: Term, padding: int, code_of_nan: int) -> Term:
    """A result in its container."""
    container = op(Kind.BV_CONCAT, code, value(0, padding)) if padding else code
    return choose(is_one(nan), value(code_of_nan, width(container)), container)


def _held(control: Control) -> Property:
    """The promise about a result that is not taken.

    What the datapath gives is any value that stays, as control_claims proves of it.
    """
    circuit = control.circuit
    later = {
        term: term if ".o__" in name else constant(f"{term.symbol()}'", width(term))
        for name, term in circuit.inputs.items()
    }
    by = later | {control.machine.now[name]: control.machine.next[name] for name in circuit.states}
    payload = circuit.outputs["o__payload"]
    # In one substitution: the next values are functions of this cycle's inputs.
    stays = both(
        is_one(substituted(circuit.outputs["o__valid"], by)),
        same(substituted(payload, by), payload),
    )
    return Property(
        "result.held",
        "a result that is not taken stays, with its context",
        stays,
        both(control.valid, negated(control.taken)),
    )


def _misuse(control: Control) -> Iterator[Property]:
    after = control.machine.after(control.misuse)
    broken = both(negated(is_one(control.first)), negated(is_one(control.open)))
    mode = ", or has a mode that there is not," if len(modes_of(control.unit)) > 1 else ","
    yield Property(
        "misuse",
        f"`misuse` rises with a beat that continues no open sum{mode} and stays",
        same_truth(after, either(control.misuse, broken, negated(control.mode_exists))),
        control.comes,
    )
    yield Property("misuse.idle", "without a beat `misuse` does not change", same_truth(after, control.misuse),
                   negated(control.accept))  # fmt: skip
    known = either(
        *(same(control.context, value(number, width(control.context))) for number in range(control.pipeline.contexts)),
        never(),
    )
    if control.pipeline.contexts == 1 << control.pipeline.context_bits:
        return  # every number is a context's
    yield Property(
        "misuse.context",
        "`misuse` rises with a beat of a context that there is not",
        after,
        both(control.accept, negated(known)),
    )


def _operands(control: Control) -> Iterator[Property]:
    a = control.a
    continues: Term = negated(is_one(control.first))
    lawful = control.after is not None
    if lawful:
        continues = both(continues, negated(same(control.count, value(0, width(control.count)))))
    yield Property(
        "chain",
        "a beat starts from what its context carries unless it opens a sum, or the partial sum was just promoted",
        control.drives("datapath", "i__chain", continues),
        control.comes,
        lawful,
    )
    nothing = same(control.handed_over, value(0, width(control.handed_over)))
    yield Property("carried.none", "a beat that starts afresh takes nothing over", implies(negated(continues), nothing),
                   control.comes, lawful)  # fmt: skip
    yield Property(
        "carried.over",
        "a beat that continues takes over what the beat before it in its context handed on, which is known by then",
        both(a.beyond(control.made_at), implies(continues, same(control.handed_over, control.made))),
        both(control.comes, negated(is_one(control.first)), is_one(control.newest), negated(a.has("last"))),
        lawful,
    )


def _register(control: Control) -> Iterator[Property]:
    a, b, entry, after = control.a, control.b, control.entry, control.after
    assert after is not None
    taken_in = control.taken_in
    yield Property(
        "register.opens",
        "what is added to a sum's first beat begins with the addend that the beat brought",
        same(taken_in, control.opens(a, entry)),
        both(a.at(entry), a.has("beat", entry), a.has("first", entry)),
    )
    for name in control.scales:
        yield Property(
            name,
            f"a partial sum is multiplied by `{name}` of its first group",
            same(control.circuit.outputs[f"{after.part}.i__{name}"], a.field(name, entry)),
            both(a.at(entry), is_of_chosen(control, a)) if entry else control.comes,
            lawful=True,
        )
    reads = both(b.at(entry), is_one(control.reads)) if entry else control.is_read
    yield Property(
        "register.continues",
        "that of any other beat begins with what the newest beat before it that writes has written",
        both(a.beyond(control.written_at), same(taken_in, control.written)),
        reads,
        lawful=True,
    )
    yield always(
        "partial",
        "what is promoted is what the datapath gives",
        same(control.circuit.outputs[f"{after.part}.i__partial"], control.circuit.inputs["datapath.o__code"]),
    )


WIDEST = 64  # bits of a constant that is shown


def control_claims(control: Control) -> list[Claim]:
    """The claims about a unit's control."""
    return [*_induction(control), *_reset(control), *_in_time(control), *_stands_still(control)]


def _over(control: Control) -> str:
    contexts = control.pipeline.contexts
    return f"any state, data and handshake; {control.latency} registers, {contexts} context{'s'[: contexts > 1]}"


def _shown(control: Control) -> tuple[Term, ...]:
    machine = control.machine
    every = [*machine.now.values(), *machine.inputs.values(), control.chosen]
    return tuple(term for term in every if width(term) <= WIDEST)


def _induction(control: Control) -> Iterator[Claim]:
    """Yield the claims of the invariants, by induction, and of the promises that follow from them."""
    machine, kept = control.machine, invariants(control)
    over, show = _over(control), _shown(control)
    running = (control.exists, negated(control.reset))
    plain = tuple(prop.then for prop in kept if not prop.lawful)
    every = (*(prop.then for prop in kept), control.lawful)
    for prop in kept:
        after = machine.after(prop.then)
        yield Claim(
            f"reset: {prop.name}", f"after a reset: {prop.words}", over, (control.exists, control.reset), after, show
        )
        known = every if prop.lawful else plain
        yield Claim(f"step: {prop.name}", f"from cycle to cycle: {prop.words}", over, (*running, *known), after, show)
    for prop in promises(control):
        known = every if prop.lawful else plain
        yield Claim(f"control: {prop.name}", prop.words, over, (*running, *known, prop.when), prop.then, show)


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
    """Yield the claims about when beats are taken and leave, from any state, while the output is taken."""
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
    """The condition that both hold or neither does."""
    return both(implies(first, second), implies(second, first))


def _stands_still(control: Control) -> Iterator[Claim]:
    """Yield the claims about the circuits that are cut out, which the claims about control take for granted."""
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
    """A promise that is broken `cycle` cycles after a reset, with the inputs that break it, by cycle."""

    name: str
    cycle: int
    inputs: tuple[dict[str, int], ...]


def broken_promise(control: Control, most: int, seconds: float = 60.0, only: str | None = None) -> BrokenPromise | None:
    """The promise that breaks soonest after a reset, if one does within `most` cycles: a real run.

    only: the promise that is looked at; all of them without it.
    """
    run = cycles(control.machine, most + 1, lambda number: {"rst": value(int(number == 0), 1)})
    for number in range(1, most + 1):
        lawful = [cycle.of(control.lawful) for cycle in run[1 : number + 1]]
        for promise in (promise for promise in promises(control) if only in (None, promise.name)):
            if broken := _broken(control, promise, run[: number + 1], lawful, seconds):
                return broken
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
    inputs = tuple(
        {name: model[term.symbol()] for name, term in zip(names, cycle, strict=True) if not term.is_value()}
        for cycle in show
    )
    return BrokenPromise(each.name, len(run) - 1, inputs)
