"""What in its file would make a design right, tried on it: another cycle, or the reset the other way round."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from hwsim.cases.drawing import Stream
from hwsim.cosim.design import Play, Played, Suite, SuiteKind
from hwsim.cosim.dut.serialprotocol import SerialProtocol
from hwsim.cosim.dutdesign import DutDesign, dut_design
from hwsim.cosim.measure import drawn_cases, measured_shift
from hwsim.cosim.play import command, play_simulated
from hwsim.words import counted

SUSPICIOUS = 0.5  # of the results of random cases that are wrong, where a cycle or the reset may be at fault
UNTIMELY = {"latency", "hang", "refused", "unasked", "unknown"}  # kinds of mismatches


@dataclass(frozen=True)
class Amends:
    """Tries changes of a design's file on a simulator.

    folder: where simulations leave what they need. stuck_after: as of `Design`.
    """

    design: DutDesign
    simulator: str
    seed: int
    folder: Path
    stuck_after: float

    def said(self, played: Sequence[Played]) -> str:
        """What would make every result right, in words; empty where nothing would, or most are right as it is."""
        if self._share_wrong(played) < SUSPICIOUS:
            return ""
        if (shift := measured_shift(self.design, self.seed, self._ask)) is not None:
            return self._shifted(shift) if shift else self._in_time()
        reset = self.design.dut.file.reset
        if reset is None:
            return ""
        other: Literal["high", "low"] = "low" if reset.active == "high" else "high"
        if not self._right_with_reset(other):
            return ""
        return f"{self.design.name}: every result is right with reset.active: {other}, not {reset.active}"

    def _share_wrong(self, played: Sequence[Played]) -> float:
        """Which part of the results of random cases is wrong; all where any came at another time, or never."""
        if {mismatch.kind for one in played for mismatch in one.outcome.mismatches} & UNTIMELY:
            return 1.0
        drawn = [one for one in played if one.suite.name.startswith(SuiteKind.RANDOM.suite)]
        return sum(one.outcome.count for one in drawn) / max(1, sum(one.outcome.results for one in drawn))

    def _in_time(self) -> str:
        """That only what says when a result comes is wrong; empty where nothing says so."""
        giving = self.design.dut.file.protocol.giving
        right = f"{self.design.name}: results are right in the promised cycle, but {giving} says another"
        return right if giving else ""

    def _shifted(self, shift: int) -> str:
        """That results are right in another cycle."""
        protocol, name = self.design.dut.file.protocol, self.design.name
        when = f"{counted(abs(shift), 'cycle')} {'later' if shift > 0 else 'earlier'} than promised"
        if isinstance(protocol, SerialProtocol):
            first, last = protocol.read[0] + shift, protocol.read[-1] + shift
            write = f"let protocol.results be of cycles {first} to {last}"
        else:
            write = f"write protocol.cycles: {(protocol.promised or 0) + shift}"
        return f"{name}: results are right, {when}: where that is meant, {write}"

    def _right_with_reset(self, active: Literal["high", "low"]) -> bool:
        """Whether results are right where the reset is the other way round."""
        dut, reset = self.design.dut, self.design.dut.file.reset
        assert reset is not None
        file = dut.file.model_copy(update={"reset": reset.model_copy(update={"active": active})})
        design = dut_design(replace(dut, file=file))
        suite = Suite("reset", drawn_cases(design, self.seed))
        played = self._ask(design, design.play(suite, Stream(self.seed, "reset"), lambda: None))
        outcome = played.outcome
        return not played.stuck and outcome.count == 0 and outcome.results == played.play.script.planned > 0

    def _ask(self, design: DutDesign, play: Play) -> Played:
        """Play beats into a design."""
        design = replace(design, assertions=False)
        program = command(self.simulator, design.sources(self.simulator), trace=False)
        job = self.folder / ".amending"
        try:
            (played,) = play_simulated(self.simulator, program, design, [play], job, self.seed, self.stuck_after)
        finally:
            shutil.rmtree(job, ignore_errors=True)
        return played
