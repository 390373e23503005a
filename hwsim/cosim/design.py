"""A design, the suites that it is put through, and what comes of them.

Our own RTL is a design that promises what it does in every cycle; a user's promises an order of results, and perhaps
their latency; the bench of codec tables promises what combinational blocks return. All are built, played, judged and
reported alike.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import ClassVar

import numpy as np

from hwsim.cases.bins.declare import CoverageBin
from hwsim.cases.case import Case
from hwsim.cases.drawing import Stream
from hwsim.cosim.build import HdlSources
from hwsim.cosim.heldoperands import NONE_HELD, HeldOperands
from hwsim.cosim.ports import PortMap
from hwsim.cosim.suitekinds import SuiteKind
from hwsim.cosim.traffic import FULL, Traffic
from hwsim.model.clock import Beat
from hwsim.spec import Unit
from hwsim.tb.job import (
    MISSING,
    RESET,
    SEEN,
    SEEN_READY,
    VALID,
    BeatOrder,
    CodeTable,
    Recording,
    Script,
    SuiteOutcome,
    Trace,
)

Tick = Callable[[], None]
Compared = tuple[str, Sequence[Case]]  # a suite's name, and the cases of it that were compared
Cycle = tuple[int, Beat | None, int]  # bits of `drive`, the beat at the input, bits of `seen`
PORTS = (1 << SEEN) - 1
STUCK_AFTER = 120.0  # seconds
AMARANTH = threading.Lock()  # which elaborates and simulates in one thread at a time


@dataclass(frozen=True)
class Suite:
    """Cases, and how busy the ports are while they are played.

    expected: a code for each case; None for what the design itself promises of them. resets: whether resets come in
    flight. isolated: whether each case is played alone, after a reset. left_out: cases of the suite that the design
    does not take, by reason.
    """

    name: str
    cases: tuple[Case, ...] = ()
    expected: tuple[int, ...] | None = None
    traffic: Traffic = FULL
    shuffled: bool = False
    resets: bool = False
    isolated: bool = False
    left_out: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Play:
    """A suite as the testbench plays it.

    beats: those of all cases, in the order in which they are offered. owners: the case of each result, in order.
    """

    suite: Suite
    script: Script
    beats: tuple[Beat, ...] = ()
    owners: tuple[int, ...] = ()

    def case(self, result: int) -> Case | None:
        """The case whose result that is; None where no result was due."""
        return self.suite.cases[self.owners[result]] if 0 <= result < len(self.owners) else None


@dataclass(frozen=True)
class Played:
    """What came of a suite on a driver.

    folder: where its log and its waveform are. codes: integers[cases], the result of each, UNKNOWN, MISSING or LOST;
    of a recording, what stood at the output in every cycle.
    traffic: uint8[cycles], as hwsim.tb.job has it. Both are empty where every cycle was promised. stuck: why its
    simulator was ended before it, or in it; empty where it was not.
    """

    play: Play
    driver: str
    outcome: SuiteOutcome
    folder: Path
    codes: np.ndarray = field(default_factory=lambda: np.zeros(0, object))
    traffic: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint8))
    stuck: str = ""

    @property
    def suite(self) -> Suite:
        """The suite."""
        return self.play.suite

    def compared(self) -> list[Case]:
        """The cases whose results came and were compared."""
        cases = self.suite.cases
        match self.play.script.promise:
            case Trace():
                return [cases[owner] for owner in self.play.owners[: self.outcome.results]]
            case BeatOrder():
                return [case for case, code in zip(cases, self.codes.tolist(), strict=True) if code > MISSING]
            case Recording() | CodeTable():
                return []

    def cycles(self) -> Iterator[Cycle]:
        """What happened at the ports; of a trace, for as long as the design did what the trace says."""
        beats = self.play.beats
        match self.play.script.promise:
            case Trace() as trace:
                columns = zip(trace.drive.tolist(), trace.offered.tolist(), trace.expect.tolist(), strict=True)
                for drive, at, seen in islice(columns, in_step(self.outcome)):
                    yield drive, beats[at] if at >= 0 else None, seen
            case BeatOrder():
                at = 0  # each beat stands at the input until it is accepted
                for byte in self.traffic.tolist():
                    drive, seen = byte & PORTS, byte >> SEEN
                    offered = beats[at] if drive & VALID else None
                    yield drive, offered, seen
                    at += bool(offered is not None and seen & SEEN_READY and not drive & RESET)
            case Recording() | CodeTable():
                pass


def in_step(outcome: SuiteOutcome) -> int:
    """Cycles in which a design did what its trace says, and after which it may be anywhere."""
    return min([outcome.cycles, *(one.cycle for one in outcome.mismatches if one.kind != "result")])


@dataclass(frozen=True, kw_only=True)
class Design(ABC):
    """Something to co-simulate.

    name: what rows and reports call it. folder: what the folders of its simulations are called; suites: what its
    suites are called in the progress. words: what names it on a command line; ends: what ends that line.
    width: bits of the bench's payloads. stuck_after: seconds without the end of a cycle after which a simulator is
    ended.
    """

    name: str
    folder: str
    words: tuple[str, ...]
    ends: tuple[str, ...] = ()
    suites: str = "suites"
    width: int = 0
    stuck_after: float = STUCK_AFTER

    @property
    def steps(self) -> tuple[str, ...]:
        """Its stages, after which its signals are called; empty where they are called otherwise."""
        return ()

    @abstractmethod
    def sources(self, simulator: str) -> HdlSources:
        """The bench and what stands in it."""


@dataclass(frozen=True, kw_only=True)
class DotDesign(Design):
    """A design that computes dot products: beats in, results out.

    unit: what it claims to be; called: what a command line calls that. title: what a report's title calls the design.
    ports: of what stands in the bench. products: those of one beat. latency: stages in which its beats are counted.
    drawn_for: the unit that stimuli are drawn for, like `unit` with only what the design takes.
    interface: the bins of its ports. chains: whether a dot product may have more than one beat. addend: whether it
    takes one other than +0. held: operands that are the same numbers
    in every case. reset: whether it has one. cycles: whether it promises what it does in every cycle.
    """

    unit: Unit
    called: str
    title: str
    ports: PortMap
    products: int
    latency: int
    drawn_for: Unit
    interface: tuple[CoverageBin, ...]
    chains: bool = True
    addend: bool = True
    held: HeldOperands = NONE_HELD
    reset: bool = True
    cycles: ClassVar[bool] = False

    @abstractmethod
    def play(self, suite: Suite, stream: Stream, tick: Tick) -> Play:
        """A suite as the testbench plays it. stream: of everything random."""

    @property
    def without(self) -> Mapping[SuiteKind, str]:
        """The suites that it is not to be put through, each with the reason."""
        return {}

    def notes(self, driver: str) -> list[str]:
        """What a reader should know of its suites on a driver."""
        return []

    def stage(self, case: Case | None) -> tuple[str, int | None]:
        """The first stage that differs in a case, in words, and in which of its groups; empty where nobody knows.

        case: None where no result was due.
        """
        return "", None

    def case_of(self, case: Case) -> tuple[Unit, str, Case | None]:
        """The unit that a case is of, what a command line calls it, and the case there, where it is one alone."""
        return self.unit, self.called, case
