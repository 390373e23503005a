"""The known semantics of a unit: readings of its specification, and mistakes that designs make.

Each has a name for reports, such as `lost bits floored`, and returns results for cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import product
from typing import Any

from hwsim.base.text import counted
from hwsim.cases.case import Case
from hwsim.explain.candidate import (
    ADDEND_DROPPED,
    ADDEND_RETURNED,
    Candidate,
    Changes,
    among,
    bit_faults,
    changed,
    lane_dropped,
    results,
)
from hwsim.explain.mistakes import NO_FLAW, Flaw, Mistake, catalogue
from hwsim.explain.mistakes.operands import NOT_CLEARED
from hwsim.explain.mistakes.sums import FIRST_WORDS
from hwsim.explain.questions import QUESTIONS, unasked
from hwsim.explain.readings import (
    READINGS,
    Reading,
    described,
    normal_forms,
    own_reading,
    read_unit,
    short_name,
    supports,
)
from hwsim.formats import FloatFormat
from hwsim.model.definition import definition_of
from hwsim.spec import AlignedSum, Unit
from hwsim.spec.keys import LOST, Lost, lost_words
from hwsim.spec.rules import is_nan_code
from hwsim.spec.sums import SumCut


@dataclass(frozen=True)
class Semantic:
    """A known semantics of a device. name, description: in words. changes: how many changes of the unit it is.

    on: the same for another unit; None where that unit cannot have it. specified: whether it is a unit that a file can
    specify, to which another change may be made. edited: whether it is a unit's results with operands or results that
    are others, of which two are not looked for in one design.
    """

    name: str
    description: str
    candidate: Candidate
    on: Callable[[Unit], Candidate | None]
    specified: bool = False
    changes: int = 1
    edited: bool = False

    def many(self, cases: Sequence[Case]) -> list[int]:
        """The result codes of cases."""
        return results(self.candidate, cases)

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
    definition_of(unit)
    name = "as specified"
    specified = Semantic(name, "the unit's own specification", Candidate(name, unit), partial(Candidate, name), True, 0)
    every = [specified, *_readings(unit), *_changes(unit), *_promotions(unit), *_operands(unit), *_bits(unit)]
    names: dict[str, Semantic] = {}
    for semantic in every:
        names.setdefault(semantic.name, semantic)
    return tuple(names.values())


def _readings(unit: Unit) -> Iterator[Semantic]:
    """The readings other than the unit's own; of readings that are proved equal, the one with the fewest changes."""
    if not supports(unit):
        return
    forms, specified = normal_forms(unit), own_reading(unit)
    listed = {forms[specified].reading} if specified is not None else set()
    for reading in sorted(READINGS, key=lambda reading: short_name(unit, reading).count(", ")):
        if forms[reading].reading in listed:
            continue
        listed.add(forms[reading].reading)
        name = short_name(unit, reading)
        on = partial(_read, name, reading)
        yield Semantic(name, described(unit, reading), on(unit), on, changes=name.count(", ") + 1)


def _read(name: str, reading: Reading, unit: Unit) -> Candidate:
    return Candidate(name, read_unit(unit, reading))


def _changes(unit: Unit) -> Iterator[Semantic]:
    listed = [Candidate("", unit)]
    for question in QUESTIONS:
        for answer, changes in question.answers(unit).items():
            semantic = _changed(unit, question.words.format(answer), changes)
            if semantic is not None and (nameless := replace(semantic.candidate, name="")) not in listed:
                listed.append(nameless)
                yield semantic
    others = {**unasked(unit), **(dict(_cuts(unit.sum)) if isinstance(unit.sum, AlignedSum) else {})}
    yield from filter(None, (_changed(unit, name, changes) for name, changes in others.items()))


def _cuts(rule: AlignedSum) -> Iterator[tuple[str, Changes]]:
    """Yield the cuts of a window's sum: how many of its lowest places are lost before it is rounded, and how."""
    specified = SumCut(bits=1) if rule.cut is None else rule.cut
    yield "all places of the sum are rounded", {"sum": {"cut": None}}
    rules: tuple[Lost, ...] = ("truncate", "floor")
    near = product((specified.bits, specified.bits + 1, specified.bits - 1), LOST) if rule.cut is not None else ()
    for bits, lost in dict.fromkeys([*near, *product((1, 2, 3, 4), rules)]):
        if bits > 0:
            cut = {"cut": {"bits": bits, "lost": lost}}
            yield f"the {counted(bits, 'lowest place')} of the sum lost, {lost_words(lost).after}", {"sum": cut}


def _changed(unit: Unit, name: str, changes: Changes) -> Semantic | None:
    """A change of a unit; None where that changes nothing, or the unit cannot have it."""
    on = partial(_candidate, unit, name, changes)
    candidate = on(unit)
    if candidate is None:
        return None
    keys = ", ".join(_settings(changes))
    edited = candidate.flaw != NO_FLAW
    return Semantic(name, f"the specification with {keys}", candidate, on, specified=not edited, edited=edited)


def _settings(changes: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Changes as a file's keys and values: `sum.lost: floor`."""
    for key, value in changes.items():
        if isinstance(value, Mapping):
            yield from _settings(value, f"{path}{key}.")
        else:
            yield f"{path}{key}: {'none' if value is None else value}"


def _candidate(unit: Unit, name: str, changes: Changes, base: Unit) -> Candidate | None:
    """The base with a change; None where that changes nothing, or the base cannot have it."""
    try:
        candidates = [candidate for candidate in among({name: changes}, unit, base) if candidate.name == name]
        if not candidates or candidates[0] == Candidate(name, base):
            return None
        definition_of(candidates[0].unit)
    except ValueError:
        return None
    return candidates[0]


def _promotions(unit: Unit) -> Iterator[Semantic]:
    """Semantics without promotion, with another interval, or with another order of its multiplications."""
    promotion, lanes = unit.promotion, unit.instruction.lanes
    if promotion is None:
        return
    changes: dict[str, Changes] = {"promotion left out": {"promotion": None}}
    for interval in (promotion.interval // 2, promotion.interval * 2, promotion.interval + lanes, lanes):
        if interval and interval % lanes == 0 and interval != promotion.interval:
            changes[f"promotion every {interval} products"] = {"promotion": {"interval": interval}}
    if unit.scaled_promotion is not None:
        changes |= {name: {"promotion": {"first": first}} for first, name in FIRST_WORDS.items()}
    yield from filter(None, (_changed(unit, name, change) for name, change in changes.items()))


def _operands(unit: Unit) -> Iterator[Semantic]:
    """Semantics that leave out the addend, or the product of a lane."""
    if unit.operands.addend is not None:
        yield _edited(unit, "addend dropped", "the addend counts as +0", ADDEND_DROPPED)
    for lane in range(unit.instruction.lanes if unit.instruction.lanes > 1 else 0):
        text = f"the product of lane {lane} of each group is left out"
        yield _edited(unit, f"lane {lane} dropped", text, lane_dropped(lane))


def _bits(unit: Unit) -> Iterator[Semantic]:
    """Semantics that set, clear or invert a bit of every result."""
    fmt = unit.output
    for bit in range(fmt.padding if isinstance(fmt, FloatFormat) else 0, fmt.container_bits):
        for value, flaw in bit_faults(bit).items():
            text = f"bit {bit} of every result is {value}"
            yield _edited(unit, f"result bit {bit} {value}", text, flaw)


def _edited(unit: Unit, name: str, description: str, flaw: Flaw) -> Semantic:
    on = partial(Candidate, name, flaw=flaw)
    return Semantic(name, description, on(unit), on, edited=True)


@lru_cache(maxsize=8)
def candidates(unit: Unit) -> tuple[Semantic, ...]:
    """All that a result may be explained by, the likeliest first: single changes before several, then mistakes."""
    known = list(semantics(unit)[1:])
    mistakes = [_semantic(unit, mistake) for mistake in catalogue(unit)]
    plain = [semantic for semantic in known if semantic.changes == 1 and not semantic.name.startswith("result bit")]
    bits = [semantic for semantic in known if semantic.changes == 1 and semantic.name.startswith("result bit")]
    several = sorted((semantic for semantic in known if semantic.changes > 1), key=lambda semantic: semantic.changes)
    names: dict[str, Semantic] = {}
    for semantic in (*plain, *mistakes, *bits, *several):
        names.setdefault(semantic.name, semantic)
    return tuple(names.values())


def _semantic(unit: Unit, mistake: Mistake) -> Semantic:
    on = partial(_flawed, mistake)
    return Semantic(mistake.name, mistake.description, on(unit), on)


def _flawed(mistake: Mistake, unit: Unit) -> Candidate:
    if mistake.flaw is NOT_CLEARED and unit.operands.addend is None:
        # What a sum goes on from enters as an addend does, also where the unit takes none.
        unit = changed(unit, {"operands": {"addend": unit.model_dump(mode="json")["result"]["format"]}})
    return Candidate(mistake.name, unit, flaw=mistake.flaw)


ALWAYS = "result always "  # how the name of a constant begins
NEARLY_ALL = 0.9  # of the results, that are one and the same code where a design returns nothing else


def evident(unit: Unit, expected: Sequence[int], got: Sequence[int]) -> Iterator[Semantic]:
    """Yield explanations that the results themselves suggest, to be judged as any other name is.

    expected, got: the codes of each result.
    """
    wrong = [(want, came) for want, came in zip(expected, got, strict=True) if want != came]
    if not wrong:
        return
    code, count = Counter(got).most_common(1)[0]
    if count >= NEARLY_ALL * len(got) and len(set(expected)) > 1:
        text = f"every result is {code:#x}, whatever the operands are"
        yield _edited(unit, f"{ALWAYS}{code:#x}", text, Flaw(code=lambda *_: code))
    addend = unit.operands.addend
    if addend is not None and addend.container_bits == unit.output.container_bits:
        text = "every result is the addend's code, whatever the factors are"
        yield _edited(unit, "result equal to the addend", text, ADDEND_RETURNED)
    yield from _other_nan(unit, wrong)


def _other_nan(unit: Unit, wrong: Sequence[tuple[int, int]]) -> Iterator[Semantic]:
    """Yield the code that comes where the specification has another NaN; a file can name it where it is meant."""
    fmt = unit.output
    if not isinstance(fmt, FloatFormat) or unit.result.format != fmt:
        return
    codes = Counter(got for want, got in wrong if is_nan_code(fmt, want) and got >= 0 and is_nan_code(fmt, got))
    for code, _ in codes.most_common(1):
        name = f"NaN is {code:#x}"
        text = f"where that is meant, write result.nan: {code:#x}"
        on = partial(_with_nan, name, code)
        try:
            yield Semantic(name, text, on(unit), on, specified=True)
        except ValueError:  # a code that the unit's file cannot name
            return


def _with_nan(name: str, code: int, unit: Unit) -> Candidate:
    setting = "canonical" if code == getattr(unit.output, "canonical_nan", None) else code
    return Candidate(name, changed(unit, {"result": {"nan": setting}}))
