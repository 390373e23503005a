"""The known semantics of a unit: readings of its specification, and mistakes that designs make.

Each has a name for reports, such as `lost bits floored`, and returns results for cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from hwsim.cases.case import Case
from hwsim.formats import FloatFormat
from hwsim.model.arrays import definition_of
from hwsim.readings.answering import Answering, by_candidate, by_reading
from hwsim.readings.changes import Candidate, Changes, among
from hwsim.readings.proofs import normal_forms
from hwsim.readings.questions import QUESTIONS
from hwsim.readings.readings import READINGS, Reading, describe, own_reading, short_name
from hwsim.spec import AlignedSum, Unit


@dataclass(frozen=True)
class Semantic:
    """Something that a device may compute. name, description: in words. changes: how many changes of the unit it is.

    many: the result codes of cases. combine: the same for another unit with this change; None where that unit cannot
    have it. candidate: the changed unit, where a specification can express it.
    """

    name: str
    description: str
    many: Callable[[Sequence[Case]], list[int]]
    combine: Callable[[Unit], Answering | None]
    candidate: Candidate | None = None
    changes: int = 1

    def answer(self, case: Case) -> int:
        """The result code of a case."""
        return self.many([case])[0]


def semantics(unit: Unit) -> tuple[Semantic, ...]:
    """The unit as specified first, then the 40 readings (method `aligned`), then other known semantics.

    Of readings and changes that give the same unit, only the first is listed.
    Raises NotImplementedYet for a unit that the model does not have.
    """
    return _semantics(unit)


@lru_cache(maxsize=16)
def _semantics(unit: Unit) -> tuple[Semantic, ...]:
    every = [_as_specified(unit), *_readings(unit), *_changes(unit), *_promotions(unit), *_operands(unit), *_bits(unit)]
    names: dict[str, Semantic] = {}
    for semantic in every:
        names.setdefault(semantic.name, semantic)
    return tuple(names.values())


def _as_specified(unit: Unit) -> Semantic:
    definition_of(unit)
    plain = Candidate("as specified", {}, unit)
    return Semantic("as specified", "the unit's own specification", by_candidate(plain), _plain, plain, 0)


def _plain(unit: Unit) -> Answering:
    return by_candidate(Candidate("", {}, unit))


def _readings(unit: Unit) -> Iterator[Semantic]:
    """The readings other than the unit's own; of readings that are proved equal, the one with the fewest changes."""
    if not isinstance(unit.sum, AlignedSum):
        return
    forms, own = normal_forms(unit), own_reading(unit)
    listed = {forms[own].reading} if own is not None else set()
    for reading in sorted(READINGS, key=lambda reading: short_name(unit, reading).count(", ")):
        if forms[reading].reading in listed:
            continue
        listed.add(forms[reading].reading)
        name = short_name(unit, reading)

        def combine(other: Unit, reading: Reading = reading) -> Answering | None:
            return by_reading(other, reading) if isinstance(other.sum, AlignedSum) else None

        yield Semantic(name, describe(reading), by_reading(unit, reading), combine, None, name.count(", ") + 1)


def _changes(unit: Unit) -> Iterator[Semantic]:
    """Changes of one rule of the specification."""
    listed: list[tuple[Unit, FloatFormat | None]] = [(unit, None)]
    for question in QUESTIONS:
        for name, changes in question.answers(unit).items():
            candidate = _candidate(unit, unit, name, changes)
            if candidate is not None and (candidate.unit, candidate.addend) not in listed:
                listed.append((candidate.unit, candidate.addend))
                yield _changed(unit, question.words.format(name), changes, candidate)


def _changed(unit: Unit, name: str, changes: Changes, candidate: Candidate) -> Semantic:
    def combine(other: Unit) -> Answering | None:
        both = _candidate(unit, other, name, changes)
        return by_candidate(both) if both is not None else None

    keys = "; ".join(f"{key}: {value}" for key, value in changes.items())
    return Semantic(name, f"the specification with {keys}", by_candidate(candidate), combine, candidate)


def _candidate(unit: Unit, base: Unit, name: str, changes: Changes) -> Candidate | None:
    """The base with a change; None where that changes nothing, or the base cannot have it."""
    try:
        candidates = [candidate for candidate in among({name: changes}, unit, base) if candidate.name == name]
        if not candidates or (candidates[0].unit == base and candidates[0].addend is None):
            return None
        definition_of(candidates[0].unit)
    except ValueError:
        return None
    return candidates[0]


def _promotions(unit: Unit) -> Iterator[Semantic]:
    """Semantics without promotion, or with another interval."""
    promotion, lanes = unit.promotion, unit.instruction.lanes
    if promotion is None:
        return
    changes: dict[str, Changes] = {"promotion left out": {"promotion": None}}
    for interval in (promotion.interval // 2, promotion.interval * 2, promotion.interval + lanes, lanes):
        if interval and interval % lanes == 0 and interval != promotion.interval:
            changes[f"promotion every {interval} products"] = {"promotion": {"interval": interval}}
    for name, change in changes.items():
        candidate = _candidate(unit, unit, name, change)
        if candidate is not None:
            yield _changed(unit, name, change, candidate)


def _operands(unit: Unit) -> Iterator[Semantic]:
    """Semantics that leave out the addend, or the product of a lane."""
    if unit.operands.addend is not None:
        yield _before(unit, "addend dropped", "the addend counts as +0", lambda case: replace(case, c=0))
    for lane in range(unit.instruction.lanes if unit.instruction.lanes > 1 else 0):
        text = f"the product of lane {lane} of each group is left out"
        yield _before(unit, f"lane {lane} dropped", text, _without(unit, lane))


def _without(unit: Unit, lane: int) -> Callable[[Case], Case]:
    def edit(case: Case) -> Case:
        instruction = unit.instruction
        gone = {instruction.indices(group)[lane] for group in range(len(case.a) // instruction.lanes)}
        a, b = (tuple(0 if i in gone else code for i, code in enumerate(side)) for side in (case.a, case.b))
        return replace(case, a=a, b=b)

    return edit


def _before(unit: Unit, name: str, description: str, edit: Callable[[Case], Case]) -> Semantic:
    def combine(other: Unit) -> Answering:
        plain = _plain(other)
        return lambda cases: plain([edit(case) for case in cases])

    return Semantic(name, description, combine(unit), combine)


def _bits(unit: Unit) -> Iterator[Semantic]:
    """Semantics that set, clear or invert a bit of every result."""
    fmt = unit.output
    low = fmt.padding if isinstance(fmt, FloatFormat) else 0
    for bit in range(low, fmt.container_bits):
        mask = 1 << bit
        for word, edit in (
            ("always 0", lambda code, mask=mask: code & ~mask),
            ("always 1", lambda code, mask=mask: code | mask),
            ("inverted", lambda code, mask=mask: code ^ mask),
        ):
            yield _after(unit, f"result bit {bit} {word}", f"bit {bit} of every result is {word}", edit)


def _after(unit: Unit, name: str, description: str, edit: Callable[[int], int]) -> Semantic:
    def combine(other: Unit) -> Answering:
        plain = _plain(other)
        return lambda cases: [edit(code) for code in plain(cases)]

    return Semantic(name, description, combine(unit), combine)
