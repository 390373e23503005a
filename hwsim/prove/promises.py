"""What `hwsim docs pipeline` promises of control, as properties of a cycle and of the one after it."""

from __future__ import annotations

from collections.abc import Iterator

from hwsim.prove.followed import Control
from hwsim.prove.invariants import Property, always, is_of_chosen, same_truth, younger
from hwsim.prove.logic import (
    Kind,
    Term,
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
    """What a caller may rely on. rst is low in the cycle, but for `reset`."""
    found = [*_handshake(control), *_results(control), *_misuse(control), *_operands(control)]
    if control.after is not None:
        found += _register(control)
    return found


def _handshake(control: Control) -> Iterator[Property]:
    offered = control.circuit.inputs["i__valid"]
    by_valid = [substituted(control.ready, {offered: value(bit, 1)}) for bit in (0, 1)]
    waits = either(*(_waited_for(control, stage) for stage in range(1, control.latency)), same_truth_false())
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


def same_truth_false() -> Term:
    """What never holds."""
    return same(value(0, 1), value(1, 1))


def _waited_for(control: Control, stage: int) -> Term:
    """Whether the beat at a stage is one that a beat of the offered context waits for."""
    of_offered = same(control.flying(stage, "context"), control.context)
    return both(control.stands(stage), negated(is_one(control.flying(stage, "last"))), of_offered)


def _results(control: Control) -> Iterator[Property]:
    a, b, at = control.a, control.b, control.latency
    yield Property(
        "result",
        "a slot gives a result just where it holds its sum's last beat: nothing is lost or added",
        same_truth(control.valid, both(a.has("beat"), a.has("last"))),
        a.at(at),
    )
    yield Property(
        "result.context",
        "a result goes with the context of its beat",
        same(control.result_context, a.fields["context"]),
        both(a.at(at), control.valid),
    )
    yield Property(
        "result.order",
        "of two slots the one that entered first has left when the other is at the output: nothing comes twice",
        a.beyond(at),
        b.at(at),
    )
    yield Property(
        "result.none",
        "nothing is at the output that did not enter after the reset",
        negated(control.valid),
        younger(control, at),
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
    """A result that is not taken. What the datapath gives is any value that stays, as control_claims proves of it."""
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
        *(same(control.context, value(at, width(control.context))) for at in range(control.pipeline.contexts)),
        same_truth_false(),
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
    a, b, at, after = control.a, control.b, control.entry, control.after
    assert after is not None
    taken_in = control.taken_in
    yield Property(
        "register.opens",
        "what is added to a sum's first beat begins with the addend that the beat brought",
        same(taken_in, control.opens(a, at)),
        both(a.at(at), a.has("beat", at), a.has("first", at)),
    )
    for name in control.scales:
        yield Property(
            name,
            f"a partial sum is multiplied by `{name}` of its first group",
            same(control.circuit.outputs[f"{after.part}.i__{name}"], a.field(name, at)),
            both(a.at(at), is_of_chosen(control, a)) if at else control.comes,
            lawful=True,
        )
    reads = both(b.at(at), is_one(control.reads)) if at else control.is_read
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
