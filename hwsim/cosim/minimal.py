"""The simplest failing cases of a user's design, one of each kind: found, explained, named and kept as files."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np

from hwsim.base.text import counted
from hwsim.cases.case import Case
from hwsim.cases.drawing import Stream
from hwsim.cosim.bench import DEPTH
from hwsim.cosim.casefile import write_case
from hwsim.cosim.design import Played, Suite, SuiteKind
from hwsim.cosim.dutdesign import DutDesign
from hwsim.cosim.play import SAVED, WAVEFORM, SimulatorStuck, command, play_simulated
from hwsim.cosim.shrink import Ask, Like, Shrinker, Shrunk, Simplifier
from hwsim.cosim.suites import expected_codes
from hwsim.cosim.waivers import AppliedWaivers, WaivableResult
from hwsim.explain import CodeReading, FaultKind, File, Mismatch
from hwsim.explain.diagnosis import Diagnosis, WrongKind, diagnose, judged_by
from hwsim.explain.explained import Explained
from hwsim.explain.facts import Classes, Observation, class_of, varied
from hwsim.explain.known import Semantic
from hwsim.explain.mismatches import explain_command, explained_case, fault_kinds, wrong_result
from hwsim.explain.reports import kind_lines
from hwsim.formats import Class, Format, unpack
from hwsim.spec import Unit, unpromised
from hwsim.tb.job import COPY, FLAG, UNKNOWN

FEW, LOOKED_AT, NEAR = 40, 8, 80  # wrong results that are few; how many of them get cases near them, and how many


def observed(design: DutDesign, played: Sequence[Played]) -> list[Observation]:
    """A design's results in suites without resets, wrong and right ones, as many of each as a diagnosis needs.

    Evenly chosen; of each is known which result left before it.
    """
    wrong: list[Observation] = []
    right: list[Observation] = []
    good = unpromised(design.unit)
    for result in played:
        if result.suite.resets or result.suite.isolated or not len(result.codes):
            continue
        cases, expected, before = result.suite.cases, result.suite.expected or (), None
        codes = result.codes.tolist()
        for index in result.play.owners:
            if codes[index] >= 0:
                seen = Observation(
                    cases[index], codes[index], before, result.suite.name.startswith(SuiteKind.GAPS.suite)
                )
                (right if good.same(expected[index], codes[index]) else wrong).append(seen)
            before = codes[index] if codes[index] >= 0 else None
    return judged_by(wrong, right)


def looked_closer(design: DutDesign, seen: Sequence[Observation], ask: Ask) -> list[Observation]:
    """More results of a design that is seldom wrong: of cases near wrong ones, each alone after a reset.

    Few wrong results are explained by a wrong name easily; right ones beside them contradict it. ask: what the design
    returns for some cases. Empty where many are wrong, and where the wrong ones are right alone.
    """
    wrong = wrong_cases(design.unit, seen)
    if not 0 < len(wrong) < FEW:
        return []
    simplifier = Simplifier(design)
    chosen = wrong[:: -(-len(wrong) // LOOKED_AT)]
    near = list(dict.fromkeys(case for failing in chosen for case in _near(simplifier, failing)))
    if ask(chosen).tolist() == list(expected_codes(design.unit, chosen)):
        return []
    return alone(design, near, ask(near).tolist())


def wrong_cases(unit: Unit, seen: Sequence[Observation]) -> list[Case]:
    """The cases whose results are wrong."""
    expected, good = expected_codes(unit, [result.case for result in seen]), unpromised(unit)
    return [result.case for result, want in zip(seen, expected, strict=True) if not good.same(want, result.code)]


def alone(design: DutDesign, cases: Sequence[Case], codes: Sequence[int]) -> list[Observation]:
    """A design's results of cases that were played alone, each after a reset, which leaves no earlier result but 0."""
    before = None if design.dut.file.reset is None else 0
    return [Observation(case, code, before, False) for case, code in zip(cases, codes, strict=True) if code >= 0]


def _near(simplifier: Simplifier, case: Case) -> Iterator[Case]:
    """Yield cases that are one step simpler than this one, evenly chosen."""
    every = [simplifier.edited(case, edits) for edits in simplifier.edits(case)]
    yield from every[:: max(1, -(-len(every) // NEAR))]


def alike(unit: Unit, kinds: Sequence[WrongKind], index: int) -> Like:
    """The test for failing cases of a kind: those that its name explains, or those of its classes that no name does."""
    semantic = kinds[index].semantic
    others = tuple(kind.semantic for kind in kinds if kind.semantic is not None)
    if semantic is not None:
        return partial(_explained, semantic)
    return partial(_unexplained, unit.output, kinds[index].classes, others)


def _explained(semantic: Semantic, failing: Sequence[Shrunk]) -> list[bool]:
    codes = semantic.many([shrunk.case for shrunk in failing]) if failing else []
    return [code == shrunk.got for code, shrunk in zip(codes, failing, strict=True)]


def _unexplained(
    fmt: Format, classes: Classes | None, others: Sequence[Semantic], failing: Sequence[Shrunk]
) -> list[bool]:
    explained = [_explained(semantic, failing) for semantic in others]
    return [
        (classes is None or (class_of(fmt, shrunk.expected), class_of(fmt, shrunk.got)) in classes)
        and not any(row[index] for row in explained)
        for index, shrunk in enumerate(failing)
    ]


SUITE = "minimal case"


def minimal_folder(index: int) -> str:
    """The folder of a minimal case's files. index: of its kind, from 0."""
    return "minimal" if index == 0 else f"minimal-{index + 1}"


def minimal_mismatch(design: DutDesign, simulator: str, shrunk: Shrunk, files: dict[str, str], again: str) -> Mismatch:
    """The mismatch of a minimal case. files: what was kept of it, and where."""
    unit, case, got = design.unit, shrunk.case, shrunk.got
    tried = f"the simplest of {counted(shrunk.tried, 'case')} tried in {counted(shrunk.rounds, 'simulation')}"
    mismatch = wrong_result(
        unit,
        case,
        shrunk.expected,
        got if got >= 0 else CodeReading(code=no_code(got), value=""),
        suite=SUITE,
        driver=simulator,
        meaning=interpretation(explained_case(unit, case), got),
        where=tried,
        files=tuple(File(what=what, path=path) for what, path in files.items()),
        again=again,
        explain=explain_command(unit, design.called, design.driven([case])[0]),
    )
    return mismatch.changed(unit=design.name)


def explain_mismatch(unit: Unit, played: Played, mismatch: Mismatch) -> Mismatch:
    """A mismatch of a suite of one case, with the sum that its result stands for."""
    (case,), (code,) = played.suite.cases, played.codes.tolist()
    if mismatch.what != "result" or mismatch.key != (mismatch.unit, played.driver, played.suite.name):
        return mismatch
    return mismatch.changed(meaning=interpretation(explained_case(unit, case), code))


def no_code(got: int) -> str:
    return "an unknown (X or Z) bit" if got == UNKNOWN else "no result that the handshake allows"


def value(fmt: Format, code: int) -> Fraction | None:
    """The exact value of a code; None where it is no number."""
    if code < 0 or code & ((1 << fmt.padding) - 1):
        return None
    fields = unpack(fmt, code)
    if fields.cls in (Class.NAN, Class.INFINITY):
        return None
    return Fraction(-fields.sig if fields.sign else fields.sig) * Fraction(2) ** (fields.exp - fmt.fraction_bits)


def interpretation(explained: Explained, got: int) -> str:
    """The sum that a design's result stands for, in units of the last window's last place; empty without one."""
    group, unit = explained.groups[-1], explained.unit
    explain_mismatch = value(unit.output, got)
    if explain_mismatch is None or group.max_exp is None or group.special is not None or unit.sum.method != "aligned":
        return ""
    if explained.promotions or explained.additions:
        return ""
    exponent = group.max_exp - group.fraction_bits
    total = explain_mismatch / Fraction(2) ** exponent
    digits, apart = (str(x) if x.denominator == 1 else f"{float(x):.6g}" for x in (total, total - group.total))
    sign = "" if total < group.total else "+"
    there = f"a sum of {digits} * 2^{exponent}, where the model has {group.total}"
    return f"{there}: {sign}{apart} in the window's last place"


MOST_TRIED = 400  # wrong results of shrinking that names are judged by too, and as many right ones
NO_MINIMAL = (
    "no minimal case: none of {count} fails alone, after a reset and without back-pressure; see "
    "registers, contexts and handshake"
)


@dataclass(frozen=True)
class Minimized:
    """The result of a search for the simplest failing cases.

    kinds: those of wrong results, as a report has them, with the simplest case of each that fails alone; a note
    says where none does.
    """

    kinds: tuple[FaultKind, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Minimizer:
    """Finds the simplest failing cases on one simulator.

    folder: where results are made; final: where they will be. traced: the simulator that records its waveform.
    stuck_after: seconds without the end of a cycle after which a simulator is ended. waivers: of known differences,
    which no simplest case must be of. say: called with what is being done. asked: the design's results of cases that
    were played alone.
    """

    design: DutDesign
    simulator: str
    traced: str
    seed: int
    folder: Path
    final: Path
    stuck_after: float
    waivers: AppliedWaivers
    say: Callable[[str], None] = lambda what: None
    asked: dict[Case, int] = field(default_factory=dict)

    def minimize(self, played: Sequence[Played]) -> Minimized:
        """The kinds of wrong results, an explanation of each, and the simplest failing case of each."""
        failing = [case for result in played for case in _failing(result)]
        if not failing:
            return Minimized()
        seen = observed(self.design, played)
        try:
            diagnosis, seen = self._diagnosed(seen)
            if not diagnosis.kinds:
                return self._unnamed(failing)
            return self._of_kinds(diagnosis, self._simplest(diagnosis, seen), failing)
        except SimulatorStuck as error:
            return Minimized(fault_kinds(diagnose(self.design.unit, seen)), (f"no minimal case: {error}",))

    def named(self, played: Sequence[Played]) -> Diagnosis:
        """The diagnosis of the wrong results, without a case of each kind."""
        return self._diagnosed(observed(self.design, played))[0]

    def _diagnosed(self, seen: Sequence[Observation]) -> tuple[Diagnosis, list[Observation]]:
        """The diagnosis of the wrong results, and the results that it covers, which may be more than were seen.

        Where something has no name, it is said of the simplest cases too: several mistakes seldom meet there, and what
        results have in common is to be true of them.
        """
        seen = self.looked_at(seen)
        diagnosis = diagnose(self.design.unit, seen, self.say)
        if diagnosis.unnamed:
            self._simplest(diagnosis, seen)
            seen = [*seen, *self._tried()]
            diagnosis = diagnose(self.design.unit, seen, self.say)
        return diagnosis, seen

    def looked_at(self, seen: Sequence[Observation]) -> list[Observation]:
        """The results, and more of them: near wrong ones, and of cases that differ in one operand or lane alone."""
        unit = self.design.unit
        seen = [*seen, *looked_closer(self.design, seen, self.answers)]
        wrong = wrong_cases(unit, seen)
        cases = varied(unit, wrong) if len(wrong) >= FEW else []
        if not cases:
            return seen
        self.say("asking whether results depend on each operand and lane")
        return [*seen, *alone(self.design, cases, self.answers(cases).tolist())]

    def _tried(self) -> list[Observation]:
        """The design's results of the cases that shrinking tried, at most MOST_TRIED wrong and as many right ones."""
        seen = alone(self.design, list(self.asked), list(self.asked.values()))
        wrong = set(wrong_cases(self.design.unit, seen))
        parts = [[result for result in seen if (result.case in wrong) is which] for which in (True, False)]
        return [observation for part in parts for observation in part[:: max(1, -(-len(part) // MOST_TRIED))]]

    def _unnamed(self, failing: Sequence[Case]) -> Minimized:
        """The simplest failing case where no result is a wrong code: results are unknown, or do not come."""
        self.say("minimal case")
        shrinker = Shrinker(self.design, self.answers, round_done=partial(self._round_done, "minimal case"))
        shrunk = shrinker.shrink(failing)
        if shrunk is None:
            return Minimized(notes=(NO_MINIMAL.format(count=counted(len(failing), "failing case")),))
        count = len(dict.fromkeys(failing))
        fact = f"there is {no_code(shrunk.got)}" if shrunk.got < 0 else ""
        mismatch = self._kept_mismatch(shrunk, 0)
        return Minimized(
            self._told((FaultKind(wrong=count, of=count, facts=(fact,) if fact else (), minimal=mismatch),))
        )

    def _round_done(self, which: str, rounds: int) -> None:
        self.say(f"{which}: round {rounds}")

    def _simplest(self, diagnosis: Diagnosis, seen: Sequence[Observation]) -> list[Shrunk | None]:
        """The simplest failing case of each kind; None for a kind of which none fails alone."""
        simplest, unit = list[Shrunk | None](), self.design.unit
        for index, kind in enumerate(diagnosis.kinds):
            which = f"minimal case of kind {index + 1} of {len(diagnosis.kinds)}"
            self.say(which)
            shrinker = Shrinker(
                self.design, self.answers, alike(unit, diagnosis.kinds, index), partial(self._round_done, which)
            )
            simplest.append(shrinker.shrink([seen[member].case for member in kind.members]))
        return simplest

    def _of_kinds(self, diagnosis: Diagnosis, simplest: Sequence[Shrunk | None], failing: Sequence[Case]) -> Minimized:
        """The kinds with the simplest failing case of each, kept as files."""
        minimal = [None if case is None else self._kept_mismatch(case, index) for index, case in enumerate(simplest)]
        kinds = self._told(fault_kinds(diagnosis, minimal))
        none = NO_MINIMAL.format(count=counted(len(failing), "failing case"))
        return Minimized(kinds, () if any(minimal) else (none,))

    def _kept_mismatch(self, shrunk: Shrunk, index: int) -> Mismatch:
        """Keep a simplest case as files, and return it as a report has it. index: of its kind."""
        files, again = self._kept(shrunk, index)
        return minimal_mismatch(self.design, self.simulator, shrunk, files, again)

    def _told(self, kinds: tuple[FaultKind, ...]) -> tuple[FaultKind, ...]:
        """Write the story of each kind beside its case, and return the kinds."""
        for index, kind in enumerate(kinds):
            if kind.minimal is not None:
                text = "\n".join(kind_lines(kind, index + 1, len(kinds)))
                (self.folder / minimal_folder(index) / "story.txt").write_text(f"{text}\n", encoding="utf-8")
        return kinds

    def _play(self, simulator: str, suite: Suite, job: Path, *, trace: bool) -> Played:
        # Without assertions: one that fails would end the simulation of all candidates.
        design = replace(self.design, assertions=False)
        program = command(simulator, design.sources(simulator), trace=trace)
        play = design.play(suite, Stream(self.seed, "minimal"))
        (played,) = play_simulated(simulator, program, design, [play], job, self.seed, self.stuck_after)
        if played.stuck:
            raise SimulatorStuck(played.stuck)
        return played

    def answers(self, cases: Sequence[Case]) -> np.ndarray:
        """The design's results of some cases, each alone after a reset: integers[cases].

        A design without a reset is left to become empty in between.
        """
        most = DEPTH // max(len(case.a) // self.design.products for case in cases)
        codes = []
        for first in range(0, len(cases), most):
            some = tuple(cases[first : first + most])
            # Codes that are expected of them are compared later.
            suite = Suite("answers", some, (0,) * len(some), isolated=True)
            job = self.folder / ".shrinking"
            try:
                codes.append(self._forgiven(some, self._play(self.simulator, suite, job, trace=False).codes))
            finally:
                shutil.rmtree(job, ignore_errors=True)
        got = np.concatenate(codes)
        self.asked.update(zip(cases, got.tolist(), strict=True))
        return got

    def _forgiven(self, cases: Sequence[Case], codes: np.ndarray) -> np.ndarray:
        """The results, with the expected ones in the place of those that are waived."""
        if not self.waivers.waivers:
            return codes
        expected = expected_codes(self.design.unit, cases)
        rows = enumerate(zip(cases, expected, codes.tolist(), strict=True))
        good = unpromised(self.design.unit)
        wrong = [
            WaivableResult(index, index, case, want, got)
            for index, (case, want, got) in rows
            if got >= 0 and not good.same(want, got)
        ]
        waived = list(self.waivers.explained(wrong))
        codes = codes.copy()
        codes[waived] = [expected[index] for index in waived]
        return codes

    def _kept(self, shrunk: Shrunk, index: int) -> tuple[dict[str, str], str]:
        """Keep a case as files, with a waveform. Return what they are and where, and the command to play it again."""
        folder, final = self.folder / minimal_folder(index), self.final / minimal_folder(index)
        path = write_case(folder, self.design, shrunk.case, shrunk.got if shrunk.got >= 0 else None)
        job = self.folder / ".tracing"
        try:
            self._play(self.traced, Suite("case", (shrunk.case,), (shrunk.expected,)), job, trace=True)
            for name in (WAVEFORM, SAVED):
                shutil.move(job / name, folder / name)
        finally:
            shutil.rmtree(job, ignore_errors=True)
        words = ["hwsim", "cosim", *self.design.words, "--sim", self.simulator]
        files = {
            "operands": "operands.hex",
            "expected": "expected.hex",
            "waveform": WAVEFORM,
            "waveform by stage": SAVED,
        }
        again = shlex.join([*words, "--case", str(final / path.name), "-o", f"{self.final}-case"])
        return {what: str(final / name) for what, name in files.items()}, again


def _failing(played: Played) -> Iterator[Case]:
    for mismatch in played.outcome.mismatches:
        case = played.play.case(mismatch.index)
        # Candidates are judged by their results, not by what stands beside these.
        if case is not None and mismatch.kind not in (FLAG, COPY):
            yield case
