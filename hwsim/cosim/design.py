"""A design, the suites that it is put through, how busy its ports are, and what comes of them.

Our own RTL is a design that promises what it does in every cycle; a user's promises an order of results, and perhaps
their latency; the bench of codec tables promises what combinational blocks return. All are built, played, judged and
reported alike."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import ClassVar

import numpy as np

from hwsim.base.errors import InputError
from hwsim.cases.bins.declare import CoverageBin
from hwsim.cases.case import Case, beats
from hwsim.cases.drawing import Stream
from hwsim.cosim.bench import ROOM, PortMap
from hwsim.cosim.build import HdlSources
from hwsim.cosim.heldoperands import NONE_HELD, HeldOperands
from hwsim.model.clock import Beat
from hwsim.spec import AnyUnit, Unit
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


class SuiteKind(StrEnum):
    """A kind of suite, by its name on command lines and in files."""

    TABLES = "tables"
    DIRECTED = "directed"
    RANDOM = "random"
    GAPS = "gaps"
    RESET = "reset"
    GEMM = "gemm"
    CAPTURED = "captured"
    PAIRS = "pairs"
    MANY = "many"

    @property
    def suite(self) -> str:
        """The name of suites of the kind in rows and reports."""
        return NAMES[self]


NAMES = {
    SuiteKind.TABLES: "tables of codes",
    SuiteKind.DIRECTED: "dot directed",
    SuiteKind.RANDOM: "dot random",
    SuiteKind.GAPS: "dot random, gaps and back-pressure",
    SuiteKind.RESET: "handshake and reset",
    SuiteKind.GEMM: "GEMM",
    SuiteKind.CAPTURED: "captured",
    SuiteKind.PAIRS: "code pairs through every lane",
    SuiteKind.MANY: "dot random, many",
}
BULK_KINDS = (SuiteKind.PAIRS, SuiteKind.MANY)  # which the bulk driver plays, of our own RTL
NOT_ASKED = "not asked for"


@dataclass(frozen=True)
class AskedSuites:
    """The suites that a user asks for.

    only: these kinds; all where it is empty. without: kinds that are left out, each with the user's reason.
    """

    only: frozenset[SuiteKind] = frozenset()
    without: Mapping[SuiteKind, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        both = sorted(self.only & self.without.keys())
        if both:
            raise InputError(f"suite {both[0]} must not be asked for and left out at once")

    def left_out(self, kind: SuiteKind) -> str:
        """The reason why the user wants no suite of a kind; empty where it is wanted."""
        if kind in self.without:
            return self.without[kind]
        return NOT_ASKED if self.only and kind not in self.only else ""

    def and_without(self, without: Mapping[SuiteKind, str]) -> AskedSuites:
        """The same request without what a design's file leaves out; kinds asked for by name run all the same."""
        return AskedSuites(
            self.only, {**{kind: why for kind, why in without.items() if kind not in self.only}, **self.without}
        )

    @property
    def arguments(self) -> list[str]:
        """The arguments of a command line that make the same request."""
        asked = [word for kind in sorted(self.only) for word in ("--suite", kind.value)]
        return [*asked, *(word for kind in sorted(self.without) for word in ("--without", kind.value))]


EVERY_SUITE = AskedSuites()


BURST = 0.02  # the chance that a burst without a taken result begins in a cycle


@dataclass(frozen=True)
class Traffic:
    """The share of cycles in which the ports are busy.

    offer: chance that the input offers a beat in a cycle. take: chance that the output takes a result.
    bursts: whole spans of cycles, drawn at random, in which nothing is taken.
    """

    offer: float = 1.0
    take: float = 1.0
    bursts: bool = False


FULL = Traffic()
BUSY = Traffic(offer=0.75, take=0.7, bursts=True)


@dataclass(frozen=True)
class Tagged:
    """A beat of a case: `case` is an index, `index` its place in the case."""

    beat: Beat
    case: int
    index: int


def tag(unit: AnyUnit, number: int, case: Case, context: int) -> Iterator[Tagged]:
    """Yield a case's beats, tagged with its number."""
    return (Tagged(beat, number, index) for index, beat in enumerate(beats(unit, case, context)))


def interleave(unit: AnyUnit, cases: Sequence[Case], contexts: int, stream: Stream | None) -> Iterator[Tagged]:
    """Yield the beats of all cases, `contexts` cases at a time, each in a context of its own.

    stream: chooses whose turn it is; None takes turns, which keeps a unit with enough contexts busy.
    """
    waiting = iter(enumerate(cases))

    def open_next(context: int) -> Iterator[Tagged] | None:
        following = next(waiting, None)
        return None if following is None else tag(unit, *following, context)

    queues = [queue for queue in map(open_next, range(contexts)) if queue is not None]
    slots = list(range(len(queues)))
    turn = 0
    while slots:
        place = turn % len(slots) if stream is None else stream.randrange(len(slots))
        slot = slots[place]
        tagged = next(queues[slot])
        yield tagged
        turn = place + 1
        if tagged.beat.last:
            following = open_next(slot)
            if following is None:
                del slots[place]
                turn = place
            else:
                queues[slot] = following


def with_tags(tagged: Sequence[Tagged], tags: int, stream: Stream) -> list[Tagged]:
    """The beats with a tag for each case, in place of a context; every tag once before any again, in random order."""
    numbers, drawn = dict[int, int](), list[int]()
    for item in tagged:
        if item.case not in numbers:
            drawn = drawn or stream.sample(range(tags), tags)
            numbers[item.case] = drawn.pop()
    return [replace(item, beat=replace(item.beat, context=numbers[item.case])) for item in tagged]


PATTERN = 4093  # a prime, so that patterns of both ports and of beats do not beat together


def pattern(chance: float, stream: Stream, *, bursts: bool = False) -> np.ndarray:
    """Random cycles in which something happens, with this chance: uint8[cycles], not all 0, repeated from the start.

    bursts: whether there are spans in which it does not.
    """
    happens = (stream.uniforms(PATTERN) < chance).astype(np.uint8)
    for start in np.flatnonzero(stream.uniforms(PATTERN) < BURST).tolist() if bursts else ():
        happens[start : start + stream.randint(4, 19)] = 0
    return happens if happens.any() else np.ones(PATTERN, np.uint8)


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
    """A suite in the form that the testbench plays.

    beats: those of all cases, in the order in which they are offered. owners: the case of each result, in order.
    """

    suite: Suite
    script: Script
    beats: tuple[Beat, ...] = ()
    owners: tuple[int, ...] = ()

    def case(self, result: int) -> Case | None:
        """The case that a result belongs to; None where no result was due."""
        return self.suite.cases[self.owners[result]] if 0 <= result < len(self.owners) else None


@dataclass(frozen=True)
class Played:
    """The outcome of a suite on a driver.

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

    @property
    def passed(self) -> bool:
        """True if every planned result was compared, and everything was as promised."""
        return (
            self.play.script.planned > 0 and self.outcome.results == self.play.script.planned and not self.outcome.count
        )

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
        """Yield the ports' cycles; for a trace, only those in which the design kept to it."""
        beats = self.play.beats
        match self.play.script.promise:
            case Trace() as trace:
                columns = zip(trace.drive.tolist(), trace.offered.tolist(), trace.expect.tolist(), strict=True)
                for drive, index, seen in islice(columns, in_step(self.outcome)):
                    yield drive, beats[index] if index >= 0 else None, seen
            case BeatOrder():
                index = 0  # each beat stands at the input until it is accepted
                for byte in self.traffic.tolist():
                    drive, seen = byte & PORTS, byte >> SEEN
                    offered = beats[index] if drive & VALID else None
                    yield drive, offered, seen
                    index += bool(offered is not None and seen & SEEN_READY and not drive & RESET)
            case Recording() | CodeTable():
                pass


def in_step(outcome: SuiteOutcome) -> int:
    """The number of cycles in which a design kept to its trace, after which it may be anywhere."""
    return min([outcome.cycles, *(mismatch.cycle for mismatch in outcome.mismatches if mismatch.kind != "result")])


@dataclass(frozen=True, kw_only=True)
class Design(ABC):
    """A design to co-simulate.

    name: what rows and reports call it. folder: what the folders of its simulations are called; suites: what its
    suites are called in the progress. words: what names it on a command line; ends: what ends that line.
    width: bits of the bench's payloads; room: how many of them it holds. stuck_after: seconds without the end of a
    cycle after which a simulator is ended.
    """

    name: str
    folder: str
    words: tuple[str, ...]
    ends: tuple[str, ...] = ()
    suites: str = "suites"
    width: int = 0
    room: int = ROOM
    stuck_after: float = STUCK_AFTER

    @property
    def steps(self) -> tuple[str, ...]:
        """The stages of the design, which name its signals; empty where they have other names."""
        return ()

    @abstractmethod
    def sources(self, simulator: str) -> HdlSources:
        """The bench and the device in it."""


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
    def play(self, suite: Suite, stream: Stream) -> Play:
        """A suite in the form that the testbench plays. stream: of everything random."""

    @property
    def selected(self) -> tuple[Case, ...]:
        """Of a design with a selector the cases that ask what it selects, as the unit that multiplies has them."""
        return ()

    @property
    def skipped_suites(self) -> Mapping[SuiteKind, str]:
        """The suites that the design is not put through, each with the reason."""
        return {}

    def notes(self, driver: str) -> list[str]:
        """Notes for a reader on the design's suites on a driver."""
        return []

    def stage(self, case: Case | None) -> tuple[str, int | None]:
        """The first stage that differs in a case, in words, and the group in which it does; empty where unknown.

        case: None where no result was due.
        """
        return "", None

    def case_of(self, case: Case) -> tuple[Unit, str, Case | None]:
        """The unit of a case, its name on a command line, and the case there, where it belongs to one unit alone."""
        return self.unit, self.called, case
