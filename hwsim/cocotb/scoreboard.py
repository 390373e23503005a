"""The model beside a design: what it must return, and what explains what it returned instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import cocotb
from cocotb.triggers import RisingEdge

from hwsim.base.text import counted
from hwsim.cases.bins.plan import Hit, case_meaning
from hwsim.cases.case import Case, dot
from hwsim.cocotb.coverage import Coverage
from hwsim.cocotb.expected import same_codes
from hwsim.cocotb.stimuli import Stimulus
from hwsim.cocotb.told import WITH_CODES, told_mismatch
from hwsim.explain.diagnosis import Diagnosis, WrongKind, counted_operands, diagnose, judged_by
from hwsim.explain.facts import Observation
from hwsim.explain.mismatches import explain_command, fault_kinds
from hwsim.explain.parting import first_parting
from hwsim.explain.record import FaultKind, Mismatch
from hwsim.explain.reports import all_fault_lines, mismatch_lines
from hwsim.model.definition import definition_of
from hwsim.spec import Unit, unpromised
from hwsim.spec.catalog import UnitLike, load_unit
from hwsim.tb.board import ResultBoard, Row
from hwsim.tb.job import PortMismatch, SuiteOutcome
from hwsim.tb.pins import Transfer, ValidReadySink


@dataclass(frozen=True)
class Verdict:
    """The findings of a scoreboard. planned, compared: results. count: mismatches. mismatches: the first ones.

    kinds: of wrong results, with what explains each. lines: all of it for a terminal; none where everything is right.
    """

    planned: int
    compared: int
    count: int
    mismatches: tuple[Mismatch, ...]
    kinds: tuple[FaultKind, ...]
    lines: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """True if every planned result was compared, and everything was as promised."""
        return self.planned > 0 and self.compared == self.planned and not self.count


class Mismatched(AssertionError):
    """A design is not as promised; the text says what differs and why. verdict: the same as data."""

    def __init__(self, verdict: Verdict):
        super().__init__("\n".join(verdict.lines))
        self.verdict = verdict


class Scoreboard:
    """Compares a design's results, in the order of its dot products, with the model's, bit for bit.

    unit: what the design must return: a unit, or what `hwsim.load_unit` takes. coverage: counts what each dot product
    did whose result came. called: what a command line calls the unit; the unit's name, or the path that was given.
    name: what messages call the test. result: the field of a transfer that is the result.
    Bits that the unit does not promise (`result.nan: any`) are not compared.
    Raises NotImplementedYet for a unit that the model does not have.
    """

    def __init__(
        self,
        unit: UnitLike,
        coverage: Coverage | None = None,
        *,
        called: str = "",
        name: str = "results",
        result: str = "result",
    ):
        self.unit: Unit = load_unit(unit)
        self.called = called or (self.unit.name if isinstance(unit, Unit) else str(unit))
        self.coverage, self.name, self.result = coverage, name, result
        self.definition, self.left_out = definition_of(self.unit), unpromised(self.unit)
        self.outcome = SuiteOutcome(name)
        self.cases: list[Case] = []
        self.codes: list[int] = []
        self._rows: list[Row] = []
        self._hits: list[Hit] = []
        self._board = ResultBoard(self._rows, same_codes(self.left_out), self.outcome)

    @property
    def due(self) -> int:
        """The number of results that are expected and have not come."""
        return len(self.cases) - len(self.codes)

    def expect(self, sent: Stimulus | Case) -> int:
        """Expect the result of a dot product that was sent, or is about to be. Return the expected code."""
        case = sent.case if isinstance(sent, Stimulus) else sent
        explanation = dot(self.definition, case)
        code = explanation.code
        self.cases.append(case)
        if self.coverage is not None:
            self._hits.append(self.coverage.counter.hit(case, explanation))
        self._rows.append([0, code])
        return code

    def see(self, transfer: Transfer) -> None:
        """Compare a result with the one that is due; one that is not due is a mismatch."""
        index = len(self.codes)
        if index >= len(self.cases):
            self.outcome.note(PortMismatch("unasked", transfer.cycle, len(self.cases) - 1, 1, 0))
            return
        code = transfer.fields[self.result]
        self._board.compare(transfer.cycle, index, 0, code)
        self.codes.append(code)
        self.outcome.results += 1
        if self.coverage is not None:
            self.coverage.counter.count(self._hits[index])

    async def drain(self, sink: ValidReadySink, patience: int = 1000, settle: int = 16) -> Verdict:
        """Wait for all expected results, and compare them. Raises Mismatched unless everything is as promised.

        patience: cycles without a result after which no more is waited for. settle: cycles after the last result in
        which nothing may follow.
        """
        edge, silent = RisingEdge(sink.clock), 0
        self._take(sink)
        while self.due and silent < patience:
            before = self.due
            await edge
            self._take(sink)
            silent = silent + 1 if self.due == before else 0
        if self.due:
            self.outcome.note(PortMismatch("hang", sink.cycle, len(self.codes), self.due, 0))
        for _ in range(settle):
            await edge
        self._take(sink)
        return self.check(sink.outcome, patience=patience)

    def _take(self, sink: ValidReadySink) -> None:
        """Compare the transfers that a sink holds; a test's own monitor may have taken them, and called `see`."""
        while sink.queue:
            self.see(sink.queue.popleft())

    def check(self, *ports: SuiteOutcome, patience: int = 1000) -> Verdict:
        """Return the verdict. Raises Mismatched, which says what differs and why, unless everything is as promised.

        ports: what sinks noted of the handshake, which counts too. patience: cycles that were waited.
        """
        verdict = self.verdict(*ports, patience=patience)
        if not verdict.passed:
            raise Mismatched(verdict)
        return verdict

    def verdict(self, *ports: SuiteOutcome, patience: int = 1000) -> Verdict:
        """The findings, with their explanations; as `check`, without raising."""
        noted = sorted(
            (one for outcome in (self.outcome, *ports) for one in outcome.mismatches), key=lambda one: one.cycle
        )
        count = self.outcome.count + sum(outcome.count for outcome in ports)
        seen = self._observed()
        diagnosis = diagnose(self.unit, seen) if any(one.kind in WITH_CODES for one in noted) else Diagnosis((), 0, 0)
        kinds = fault_kinds(diagnosis)
        told: list[tuple[Mismatch, FaultKind | None]] = [
            (self._told(one, None, patience), None) for one in _first_of_each(noted)
        ]
        simplest = self._simplest(noted, diagnosis, seen)
        told += [(self._told(*one, patience), fault) for one, fault in zip(simplest, kinds, strict=True)]
        mismatches = tuple(mismatch for mismatch, _ in told)
        result = Verdict(len(self.cases), len(self.codes), count, mismatches, kinds, ())
        return result if result.passed else replace(result, lines=tuple(self._lines(result, told)))

    def _observed(self) -> list[Observation]:
        """Wrong and right results, as many of each as a diagnosis needs; with each the one before it."""
        parts: tuple[list[Observation], list[Observation]] = [], []
        before = None
        for case, row, code in zip(self.cases, self._rows, self.codes, strict=False):
            if code >= 0:
                parts[self.left_out.same(row[1], code)].append(Observation(case, code, before))
            before = code if code >= 0 else None
        return judged_by(*parts)

    def _simplest(
        self, noted: Sequence[PortMismatch], diagnosis: Diagnosis, seen: Sequence[Observation]
    ) -> Iterator[tuple[PortMismatch, WrongKind]]:
        places = {pair: index for index, pair in reversed(list(enumerate(zip(self.cases, self.codes, strict=False))))}
        cycles = {one.index: one.cycle for one in reversed(noted)}
        for kind in diagnosis.kinds:
            wrong = min((seen[member] for member in kind.members), key=lambda one: counted_operands(one.case))
            index = places[wrong.case, wrong.code]
            yield PortMismatch("result", cycles.get(index, -1), index, wrong.code, self._rows[index][1]), kind

    def _told(self, mismatch: PortMismatch, kind: WrongKind | None, patience: int) -> Mismatch:
        case = self.cases[mismatch.index] if 0 <= mismatch.index < len(self.cases) else None
        semantic = None if kind is None else kind.semantic
        parts = first_parting(self.unit, semantic.candidate, case) if semantic and case else ""
        return told_mismatch(
            self.unit,
            case,
            mismatch,
            patience,
            len(self.cases),
            unit_name=self.unit.name,
            suite=self.name,
            driver=str(getattr(cocotb, "SIM_NAME", "simulator")),
            stage=f"{parts}, if the first explanation is right" if parts else "",
            explain=explain_command(self.unit, self.called, case) if kind and case else "",
        )

    def _lines(self, found: Verdict, told: Sequence[tuple[Mismatch, FaultKind | None]]) -> Iterator[str]:
        if not self.cases:
            yield f"{self.unit.name}: no result was expected, so that nothing was compared"
            return
        compared = f"{found.compared:,} of {counted(found.planned, 'result')} compared"
        yield f"{self.unit.name}: {counted(found.count, 'mismatch')}, {compared}"
        for mismatch, kind in told:
            yield f"MISMATCH {mismatch.unit} · {mismatch.driver} · {mismatch.suite} · case {mismatch.case}"
            if meaning := case_meaning(mismatch.case):
                yield f"  this case: {meaning}"
            yield from mismatch_lines(mismatch)
            yield f"  {mismatch.where}"
            if kind is not None:
                yield from (f"  {line}" for line in all_fault_lines([kind]))
            if mismatch.explain:
                yield f"  every stage: {mismatch.explain}"


def _first_of_each(noted: Sequence[PortMismatch]) -> list[PortMismatch]:
    """The first mismatch of each kind, except wrong results: where these are told, a handshake may be the cause."""
    first: dict[str, PortMismatch] = {}
    for mismatch in noted:
        if mismatch.kind not in WITH_CODES:
            first.setdefault(mismatch.kind, mismatch)
    return list(first.values())
