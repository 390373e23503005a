"""Known differences of a user's design: which wrong results are waived, why, since when, and until when.

A waiver is a reading of the specification, or a mistake, by the name that reports give it: it waives the results that
the reading returns. Or it is a predicate of a result: it waives those that it is true of. Only results are waived; a
handshake that is not kept never is."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from difflib import get_close_matches
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, Strict, model_validator

from hwsim.base.errors import InputError
from hwsim.base.text import counted
from hwsim.cases.case import Case
from hwsim.cosim.design import Played
from hwsim.explain import WaivedDifference
from hwsim.explain.known import Semantic, candidates
from hwsim.explain.mismatches import ulps
from hwsim.formats import Class, Format, unpack
from hwsim.formats.codes import is_padded
from hwsim.formats.yamlfile import FilePart
from hwsim.spec import Unit, unpromised
from hwsim.tb.job import LOST, BeatOrder, PortMismatch


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Text = Annotated[str, Field(min_length=1)]
Classes = Annotated[tuple[Class, ...], BeforeValidator(_listed), Field(min_length=1)]
Ulps = Annotated[int, Strict()]


class WaivedWhen(FilePart):
    """A predicate of a waived result; with several keys all must be true.

    expected, got: one of these classes, the model's result and the design's. a, b, c: an element of these classes is
    among the operand's. ulp: the least and the greatest distance from the model's result, in ulp of its format.
    """

    expected: Classes | None = None
    got: Classes | None = None
    a: Classes | None = None
    b: Classes | None = None
    c: Classes | None = None
    ulp: tuple[Ulps, Ulps] | None = None

    @model_validator(mode="after")
    def _says_something(self) -> WaivedWhen:
        if not self.model_fields_set:
            keys = ", ".join(type(self).model_fields)
            raise InputError(f"must have one of {keys}: that all results differ is no known difference")
        if self.ulp is not None and self.ulp[0] > self.ulp[1]:
            raise InputError(f"ulp must be [least, greatest], not {list(self.ulp)}")
        return self

    def waives(self, unit: Unit, case: Case, expected: int, got: int) -> bool:
        """True if a wrong result is of this kind."""
        output, operands = unit.output, unit.operands
        classes: list[tuple[Classes | None, Format, Sequence[int]]] = [
            (self.expected, output, (expected,)),
            (self.got, output, (got,)),
            (self.a, operands.a, case.a),
            (self.b, operands.b, case.b),
        ]
        if operands.addend is not None:
            classes.append((self.c, operands.addend, (case.c,)))
        elif self.c is not None:
            return False
        if not all(wanted is None or _has(fmt, codes, wanted) for wanted, fmt, codes in classes):
            return False
        return self.ulp is None or _within(ulps(output, got, expected), self.ulp)

    @property
    def words(self) -> str:
        """The predicate in a line."""
        data = self.model_dump(mode="json", exclude_none=True)
        return ", ".join(
            f"{key} {(' to ' if key == 'ulp' else ' or ').join(map(str, values))}" for key, values in data.items()
        )


def _has(fmt: Format, codes: Sequence[int], wanted: Sequence[Class]) -> bool:
    return any(is_padded(fmt, code) and unpack(fmt, code).cls in wanted for code in codes)


def _within(distance: int | None, bounds: tuple[int, int]) -> bool:
    return distance is not None and bounds[0] <= distance <= bounds[1]


class Waiver(FilePart):
    """A known difference.

    reading: its name in reports, such as `lost bits floored`; or when: a predicate. reason: why it is accepted. date:
    since when; until: the last day on which it holds.
    """

    reading: Text | None = None
    when: WaivedWhen | None = None
    reason: Text
    date: datetime.date
    until: datetime.date | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Waiver:
        if (self.reading is None) == (self.when is None):
            raise InputError("must have one of reading and when")
        if self.until is not None and self.until < self.date:
            raise InputError(f"until must not be before date ({self.date}), not {self.until}")
        return self

    @property
    def name(self) -> str:
        """The reading's name, or the predicate in words."""
        return self.when.words if self.when is not None else self.reading or ""

    def holds(self, today: datetime.date) -> bool:
        """True if the waiver still holds."""
        return self.until is None or today <= self.until


@dataclass(frozen=True)
class WaivableResult:
    """A result that is not the expected one. at: its index in the suite. owner: its case's number."""

    at: int
    owner: int
    case: Case
    expected: int
    got: int


class AppliedWaivers:
    """The waivers of a design, applied to its results, and how many results each of them waived.

    today: the day by which they hold or not. Raises InputError for a reading that the unit does not have.
    """

    def __init__(self, unit: Unit, waivers: Sequence[Waiver], today: date):
        self.unit, self.today = unit, today
        self.counts: dict[int, int] = dict.fromkeys(range(len(waivers)), 0)
        self.waivers = tuple(waivers)
        known = {semantic.name: semantic for semantic in candidates(unit)} if waivers else {}
        self._readings: list[Semantic | None] = [_named(unit, known, waiver) for waiver in waivers]

    def judged(self, played: Played) -> tuple[Played, int]:
        """The suite as if its waived results had not come, and the number of these."""
        wrong = list(wrong_results(self.unit, played))
        waived = self.explained(wrong)
        if not waived:
            return played, 0
        for number in waived.values():
            self.counts[number] += 1
        codes = played.codes.copy()
        codes[[result.owner for result in wrong if result.at in waived]] = LOST
        told = [
            mismatch
            for mismatch in played.outcome.mismatches
            if mismatch.kind != "result" or mismatch.index not in waived
        ]
        count = played.outcome.count - len(waived)
        if count and not told:
            told = [_untold(result) for result in wrong if result.at not in waived][:1]
        outcome = replace(played.outcome, count=count, mismatches=told)
        return replace(played, outcome=outcome, codes=codes), len(waived)

    def explained(self, wrong: Sequence[WaivableResult]) -> dict[int, int]:
        """The wrong results that are waived, by their `at`, each with the first waiver that explains it."""
        done = dict[int, int]()
        for number, waiver in enumerate(self.waivers):
            left = [result for result in wrong if result.at not in done]
            if not left or not waiver.holds(self.today):
                continue
            done |= dict.fromkeys((result.at for result in self._explained(number, left)), number)
        return done

    def _explained(self, number: int, wrong: Sequence[WaivableResult]) -> Iterator[WaivableResult]:
        reading, when = self._readings[number], self.waivers[number].when
        if reading is not None:
            codes = reading.many([result.case for result in wrong])
            yield from (result for result, code in zip(wrong, codes, strict=True) if code == result.got)
        elif when is not None:
            yield from (result for result in wrong if when.waives(self.unit, result.case, result.expected, result.got))

    @property
    def differences(self) -> tuple[WaivedDifference, ...]:
        """Every waiver, with the results that it waived."""
        return tuple(
            WaivedDifference(
                name=waiver.name,
                reason=waiver.reason,
                date=waiver.date.isoformat(),
                until=waiver.until.isoformat() if waiver.until else "",
                results=self.counts[number],
            )
            for number, waiver in enumerate(self.waivers)
        )

    def notes(self) -> Iterator[str]:
        """Yield notes for a reader on waivers that waived nothing, or that no longer hold."""
        for number, waiver in enumerate(self.waivers):
            if not waiver.holds(self.today):
                yield f"waiver {waiver.name}: held until {waiver.until}; its results are mismatches again"
            elif not self.counts[number]:
                yield f"waiver {waiver.name}: waives nothing any more; take it out ({waiver.reason})"


def _named(unit: Unit, known: dict[str, Semantic], waiver: Waiver) -> Semantic | None:
    """The reading that a waiver names. Raises InputError where the unit has none of that name."""
    if waiver.reading is None:
        return None
    if waiver.reading not in known:
        near = get_close_matches(waiver.reading, known, 3, 0.5)
        meant = f", did you mean {' or '.join(near)}?" if near else ""
        raise InputError(
            f"{unit.name} has {counted(len(known), 'name')} for what results may be, not {waiver.reading}{meant}"
        )
    return known[waiver.reading]


def wrong_results(unit: Unit, played: Played) -> Iterator[WaivableResult]:
    """Yield the results of a suite that came and are not as expected, but for what the unit does not promise."""
    play, good = played.play, unpromised(unit)
    if not isinstance(play.script.promise, BeatOrder):
        return
    for index, (owner, (_, expected)) in enumerate(zip(play.owners, play.script.results.tolist(), strict=True)):
        got = played.codes[owner]
        if got >= 0 and not good.same(expected, got):
            yield WaivableResult(index, owner, played.suite.cases[owner], expected, int(got))


def _untold(result: WaivableResult) -> PortMismatch:
    """The mismatch of a wrong result that is not among the first of a suite."""
    return PortMismatch("result", -1, result.at, result.got, result.expected)
