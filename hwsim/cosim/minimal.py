"""The simplest failing case of a user's design: found, explained, named and kept as files."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hwsim.cases.case import Case
from hwsim.cases.drawing import Stream
from hwsim.cosim.bench import DEPTH
from hwsim.cosim.casefile import write_case
from hwsim.cosim.design import Played, Suite
from hwsim.cosim.dutdesign import DutDesign
from hwsim.cosim.play import play_simulated
from hwsim.cosim.shrink import Shrinker, Shrunk
from hwsim.cosim.simulate import SimulatorStuck, command
from hwsim.cosim.story import MINIMAL, minimal_mismatch
from hwsim.cosim.suites import PAIRS, expected_codes
from hwsim.cosim.waived import AppliedWaivers, WrongResult
from hwsim.cosim.waves import SAVED, WAVEFORM
from hwsim.readings import Consistent, consistent
from hwsim.report import KnownCause, Mismatch
from hwsim.report.text import minimal_lines
from hwsim.tb.job import COPY, FLAG
from hwsim.words import counted

MOST_NAMED = 2000  # right results, and wrong ones, that a reading must explain
MOST_NAMES = 3
NO_MINIMAL = (
    "no minimal case: none of {count} fails alone, after a reset and without back-pressure; see "
    "registers, contexts and handshake"
)


@dataclass(frozen=True)
class Minimized:
    """What came of looking for the simplest failing case.

    mismatch: it, as a report has it; None where no failing case fails alone, as a note says, or where none was looked
    for. causes: what would explain the results.
    """

    mismatch: Mismatch | None = None
    causes: tuple[KnownCause, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Minimizer:
    """Finds the simplest failing case on one simulator.

    folder: where results are made; final: where they will be. traced: the simulator that records its waveform.
    stuck_after: seconds without the end of a cycle after which a simulator is ended. waivers: of known differences,
    which no simplest case must be of.
    """

    design: DutDesign
    simulator: str
    traced: str
    seed: int
    folder: Path
    final: Path
    stuck_after: float
    waivers: AppliedWaivers

    def minimize(self, played: Sequence[Played]) -> Minimized:
        """The simplest failing case, and what would explain the results."""
        failing = [case for one in played for case in _failing(one)]
        if not failing:
            return Minimized()
        try:
            return self._minimized(failing, played)
        except SimulatorStuck as error:
            return Minimized(notes=(f"no minimal case: {error}",))

    def _minimized(self, failing: Sequence[Case], played: Sequence[Played]) -> Minimized:
        shrunk = Shrinker(self.design, self._answers).shrink(failing)
        if shrunk is None:
            return Minimized(notes=(NO_MINIMAL.format(count=counted(len(failing), "failing case")),))
        causes = tuple(
            KnownCause(name=one.name, description=one.description, right=one.right, of=one.of)
            for one in self._named(played)
        )
        files, again = self._kept(shrunk)
        mismatch = minimal_mismatch(self.design, self.simulator, shrunk, files, again)
        text = "\n".join(minimal_lines(mismatch, causes))
        (self.folder / MINIMAL / "story.txt").write_text(f"{text}\n", encoding="utf-8")
        return Minimized(mismatch, causes)

    def _play(self, simulator: str, suite: Suite, job: Path, *, trace: bool) -> Played:
        # Without assertions: one that fails would end the simulation of all candidates.
        design = replace(self.design, assertions=False)
        program = command(simulator, design.sources(simulator), trace=trace)
        play = design.play(suite, Stream(self.seed, "minimal"), lambda: None)
        (played,) = play_simulated(simulator, program, design, [play], job, self.seed, self.stuck_after)
        if played.stuck:
            raise SimulatorStuck(played.stuck)
        return played

    def _answers(self, cases: Sequence[Case]) -> np.ndarray:
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
        return np.concatenate(codes)

    def _forgiven(self, cases: Sequence[Case], codes: np.ndarray) -> np.ndarray:
        """The results, with what is expected in the place of those that are waived."""
        if not self.waivers.waivers:
            return codes
        expected = expected_codes(self.design.unit, cases)
        rows = enumerate(zip(cases, expected, codes.tolist(), strict=True))
        wrong = [WrongResult(at, at, case, want, got) for at, (case, want, got) in rows if want != got >= 0]
        waived = list(self.waivers.explained(wrong))
        codes = codes.copy()
        codes[waived] = [expected[at] for at in waived]
        return codes

    def _named(self, played: Sequence[Played]) -> list[Consistent]:
        """The readings by how many of the results they explain, the best first; of many results some of every part."""
        wrong: list[tuple[Case, int]] = []
        right: list[tuple[Case, int]] = []
        for one in played:
            if one.suite.resets or one.suite.name.startswith(PAIRS):
                continue
            expected = one.suite.expected or expected_codes(self.design.unit, one.suite.cases)
            for case, code, want in zip(one.suite.cases, one.codes.tolist(), expected, strict=True):
                if code >= 0:
                    (right if code == want else wrong).append((case, code))
        if not wrong:
            return []
        asked = [item for part in (wrong, right) for item in part[:: max(1, -(-len(part) // MOST_NAMED))]]
        return consistent(self.design.unit, [case for case, _ in asked], [code for _, code in asked])[:MOST_NAMES]

    def _kept(self, shrunk: Shrunk) -> tuple[dict[str, str], str]:
        """The case as files, with a waveform: what they are and where, and the command that plays it again."""
        folder, final = self.folder / MINIMAL, self.final / MINIMAL
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
    """The cases that something was wrong with."""
    for mismatch in played.outcome.mismatches:
        case = played.play.case(mismatch.index)
        # Candidates are judged by their results, not by what stands beside these.
        if case is not None and mismatch.kind not in (FLAG, COPY):
            yield case
