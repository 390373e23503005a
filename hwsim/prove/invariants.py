"""What a unit's control keeps: it holds after a reset, and in the cycle after one in which it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hwsim.prove.followed import Control
from hwsim.prove.logic import (
    Kind,
    Term,
    below,
    both,
    either,
    implies,
    is_one,
    negated,
    op,
    same,
    true,
    value,
    width,
)
from hwsim.prove.slots import Slot


@dataclass(frozen=True)
class Property:
    """What holds in every cycle in which `when` does; if `lawful`, of callers that keep the rule of contexts."""

    name: str
    words: str
    then: Term
    when: Term
    lawful: bool = False

    @property
    def whole(self) -> Term:
        """As one term."""
        return implies(self.when, self.then)


def invariants(control: Control) -> list[Property]:
    """What control keeps. They are functions of registers alone; `when` is always true of them."""
    found = [*_slots(control), *_contexts(control)]
    if control.after is not None:
        found += [*_promotes(control), *_register(control)]
    return found


def always(name: str, words: str, then: Term, lawful: bool = False) -> Property:
    """A property of every cycle."""
    return Property(name, words, then, true(), lawful)


def stages(control: Control, holds: Callable[[int], Term], most: int | None = None) -> Term:
    """Whether something holds at every stage behind a register."""
    return both(*(holds(at) for at in range(1, (control.latency if most is None else most) + 1)))


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
    """Whether nothing that entered after the reset can be at a stage yet."""
    return below(control.age, value(stage, width(control.age)))


def same_truth(first: Term, second: Term) -> Term:
    """Whether two conditions are both true or both false."""
    return op(Kind.EQUAL, first, second)


def keeps(control: Control, slot: Slot, name: str, when: Term | None = None) -> Callable[[int], Term]:
    """Whether the hardware's field at a stage is the slot's own, where the slot is there and holds a beat."""
    own = both(slot.has("beat"), true() if when is None else when)
    return lambda stage: implies(both(slot.at(stage), own), same(control.flying(stage, name), slot.fields[name]))


def is_of_chosen(control: Control, slot: Slot) -> Term:
    """Whether a slot holds a beat of the chosen context."""
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
    more = width(control.count) - width(hardware)
    counted = op(Kind.BV_ZERO_EXTEND, hardware, indices=[more]) if more else hardware
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
    """Whether the hardware has a beat of the chosen context at a stage that writes the register that is added to."""
    marks = [is_one(control.flying(stage, name)) for name in ("first", "promotes")]
    return both(control.here(stage), either(*marks))


def _register(control: Control) -> Iterator[Property]:
    a, b, writer, at = control.a, control.b, is_one(control.writer), control.written_at
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
        implies(both(writer, a.beyond(at)), same(control.held, control.written)),
        lawful=True,
    )
    reading = both(b.entered, is_one(control.reads), negated(b.beyond(control.entry)))
    none_between = stages(control, lambda t: either(negated(below_stage(b, t)), negated(writes(control, t))), at)
    yield always(
        "register.read",
        "the register keeps the value until the beat that continues from it has read it",
        implies(
            reading,
            both(
                is_of_chosen(control, b),
                negated(b.has("first")),
                a.beyond(at),
                same(control.held, control.written),
                none_between,
            ),
        ),
        lawful=True,
    )


def below_stage(slot: Slot, stage: int) -> Term:
    """Whether a slot is before a stage."""
    return below(slot.stage, value(stage, width(slot.stage)))
