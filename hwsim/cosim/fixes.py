"""What in its DUT file would make a design right, tried on it: another cycle, or the reset the other way round."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from hwsim.base.text import counted
from hwsim.cases.case import Case
from hwsim.cases.drawing import Stream
from hwsim.cases.random_cases import random_cases
from hwsim.cosim.adapter import adapter
from hwsim.cosim.design import Play, Played, Suite, SuiteKind, interleave
from hwsim.cosim.dutdesign import DutDesign, dut_design
from hwsim.cosim.play import command, play_simulated
from hwsim.cosim.protocollogic import Serialized
from hwsim.cosim.protocols import SerialProtocol
from hwsim.cosim.suites import Filter, expected_codes
from hwsim.spec import Unpromised
from hwsim.tb.job import READY, SEEN, SEEN_READY, UNKNOWN, VALID, Recording, Script

FURTHEST = 64  # cycles by which a promise may be wrong, and the right one is found
CASES = 40
DIFFERENT = 8  # results, at least: fewer may be right by chance

Ask = Callable[[DutDesign, Play], Played]


@dataclass(frozen=True)
class ResultWord:
    """Some bits of a result, and the cycle in which they are at the output.

    cycle: counted from the one in which a closing beat is taken. bits: from places in a recorded code to the result's.
    """

    cycle: int
    bits: tuple[tuple[int, int], ...]

    def of(self, recorded: int) -> int:
        """The bits of the result in a recorded code."""
        return sum((recorded >> source & 1) << target for source, target in self.bits)


def measured_shift(design: DutDesign, seed: int, ask: Ask) -> int | None:
    """The cycles from the promised one to that in which every result is right; negative before it; None without one.

    ask: plays beats into a design. None for a protocol that promises no cycle.
    """
    protocol = design.dut.file.protocol.patient(FURTHEST)
    if protocol is None:
        return None
    patient = replace(design.dut, file=design.dut.file.model_copy(update={"protocol": protocol}))
    probe = replace(design, dut=patient, adapter=adapter(patient, design.module, design.wiring, recorded=True))
    play = _recording(probe, seed)
    codes = play.suite.expected or ()
    if len(set(codes)) < DIFFERENT:
        return None
    played = ask(probe, play)
    # The result's cycles are those of the file, not of one whose dot products are longer.
    longer = protocol.beat_cycles - design.dut.file.protocol.beat_cycles
    begins = [cycle - longer for cycle in _taken(play, played)]
    if len(begins) < len(play.owners):
        return None
    expected = [codes[owner] for owner in play.owners]
    record = _Record(tuple(_words(design)), played.codes.tolist(), begins, expected, design.unpromised)
    return next(filter(record.fits, sorted(range(-FURTHEST, FURTHEST + 1), key=abs)), None)


def _words(design: DutDesign) -> Iterator[ResultWord]:
    """Yield the words of a result: their bits and their cycles."""
    protocol = design.dut.file.protocol
    if not isinstance(protocol, SerialProtocol):
        bits = design.unit.output.container_bits
        yield ResultWord(protocol.promised or 0, tuple((place, place) for place in range(bits)))
        return
    first = 0
    for port in Serialized(design.dut, design.module, design.wiring, protocol).results:
        for cycle, word in port.words.items():
            targets = [int(bit[bit.index("[") + 1 : -1]) for bit in word]
            bits_of = tuple((first + place, target) for place, target in enumerate(targets))
            yield ResultWord(cycle - (protocol.cycles - 1), bits_of)
        first += len(port.bits)


def drawn_cases(design: DutDesign, seed: int) -> tuple[Case, ...]:
    return tuple(
        case for _, case in Filter(design).take(design.held.drawn(random_cases(design.drawn_for, CASES, seed)))
    )


def _recording(design: DutDesign, seed: int) -> Play:
    """A play of random cases, their beats as close as the design takes them."""
    cases = drawn_cases(design, seed)
    tagged = list(interleave(design.driven_unit, design.driven(cases), 1, None))
    owners = tuple(item.case for item in tagged if item.beat.last)
    protocol = design.dut.file.protocol
    patience = 2 * FURTHEST + (protocol.promised or 0) + protocol.beat_cycles
    recording = Recording(len(tagged), design.reset_cycles, patience)
    script = Script("recording", recording, [design.ports.pack(item.beat) for item in tagged])
    suite = Suite("recording", cases, expected_codes(design.unit, cases))
    return Play(suite, script, tuple(item.beat for item in tagged), owners)


def _taken(play: Play, played: Played) -> list[int]:
    traffic = played.traffic
    accepted = np.flatnonzero(
        (traffic & (VALID | READY) == VALID | READY) & (traffic >> SEEN & SEEN_READY != 0)
    ).tolist()
    return [cycle for beat, cycle in zip(play.beats, accepted, strict=False) if beat.last]


@dataclass(frozen=True)
class _Record:
    """The codes recorded at a result's ports, and the results that were due.

    begins: cycles in which closing beats were taken. good: which codes are as good as one another.
    """

    words: tuple[ResultWord, ...]
    codes: Sequence[int]
    begins: Sequence[int]
    expected: Sequence[int]
    good: Unpromised

    def fits(self, shift: int) -> bool:
        """True if every result is right so many cycles after the promised one."""
        return all(
            self._right(self._code(begin + shift), code) for begin, code in zip(self.begins, self.expected, strict=True)
        )

    def _code(self, begin: int) -> int:
        """The result of a beat taken in that cycle; UNKNOWN where a bit of it is unknown, or it was not recorded."""
        places = [begin + word.cycle for word in self.words]
        if min(places) < 0 or max(places) >= len(self.codes):
            return UNKNOWN
        recorded = [self.codes[place] for place in places]
        return UNKNOWN if min(recorded) < 0 else sum(map(ResultWord.of, self.words, recorded))

    def _right(self, got: int, code: int) -> bool:
        return got >= 0 and self.good.same(code, got)


SUSPICIOUS = 0.5  # of the results of random cases that are wrong, where a cycle or the reset may be at fault
UNTIMELY = {"latency", "hang", "refused", "unasked", "unknown"}  # kinds of mismatches


@dataclass(frozen=True)
class FixSearch:
    """Tries changes of a design's file on a simulator.

    folder: where simulations leave what they need. stuck_after: as of `Design`.
    """

    design: DutDesign
    simulator: str
    seed: int
    folder: Path
    stuck_after: float

    def suggest_fix(self, played: Sequence[Played]) -> str:
        """A change that would make every result right, in words; empty where none would, or most are right already."""
        if self._share_wrong(played) < SUSPICIOUS:
            return ""
        if (shift := measured_shift(self.design, self.seed, self._ask)) is not None:
            return self._shifted(shift) if shift else self._in_time()
        reset = self.design.dut.file.reset
        if reset is None:
            return ""
        opposite: Literal["high", "low"] = "low" if reset.active == "high" else "high"
        if not self._right_with_reset(opposite):
            return ""
        return f"{self.design.name}: every result is right with reset.active: {opposite}, not {reset.active}"

    def _share_wrong(self, played: Sequence[Played]) -> float:
        """The share of wrong results among those of random cases; 1 where any came at another time, or never."""
        if {mismatch.kind for result in played for mismatch in result.outcome.mismatches} & UNTIMELY:
            return 1.0
        drawn = [result for result in played if result.suite.name.startswith(SuiteKind.RANDOM.suite)]
        return sum(result.outcome.count for result in drawn) / max(1, sum(result.outcome.results for result in drawn))

    def _in_time(self) -> str:
        """Words for a fault of the output that says when a result comes; empty where no output says so."""
        giving = self.design.dut.file.protocol.giving
        right = f"{self.design.name}: results are right in the promised cycle, but {giving} says another"
        return right if giving else ""

    def _shifted(self, shift: int) -> str:
        protocol, name = self.design.dut.file.protocol, self.design.name
        when = f"{counted(abs(shift), 'cycle')} {'later' if shift > 0 else 'earlier'} than promised"
        if isinstance(protocol, SerialProtocol):
            first, last = protocol.read[0] + shift, protocol.read[-1] + shift
            write = f"let protocol.results be of cycles {first} to {last}"
        else:
            write = f"write protocol.cycles: {(protocol.promised or 0) + shift}"
        return f"{name}: results are right, {when}: where that is meant, {write}"

    def _right_with_reset(self, active: Literal["high", "low"]) -> bool:
        """True if results are right where the reset is the other way round."""
        dut, reset = self.design.dut, self.design.dut.file.reset
        assert reset is not None
        file = dut.file.model_copy(update={"reset": reset.model_copy(update={"active": active})})
        design = dut_design(replace(dut, file=file))
        suite = Suite("reset", drawn_cases(design, self.seed))
        played = self._ask(design, design.play(suite, Stream(self.seed, "reset")))
        outcome = played.outcome
        return not played.stuck and outcome.count == 0 and outcome.results == played.play.script.planned > 0

    def _ask(self, design: DutDesign, play: Play) -> Played:
        design = replace(design, assertions=False)
        program = command(self.simulator, design.sources(self.simulator), trace=False)
        job = self.folder / ".amending"
        try:
            (played,) = play_simulated(self.simulator, program, design, [play], job, self.seed, self.stuck_after)
        finally:
            shutil.rmtree(job, ignore_errors=True)
        return played
