"""Designs cases: for every open rule, cases on which each pair of candidates differs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, count, cycle, islice

import numpy as np
from numpy.typing import NDArray

from hwsim.cases.drawing import key_of
from hwsim.cases.random_cases import draw
from hwsim.readings.answers import results
from hwsim.readings.changes import Candidate
from hwsim.readings.questions import QUESTIONS, Question
from hwsim.readings.search import PairSearch
from hwsim.readings.silicon.case import CaptureCase, Section, as_case
from hwsim.readings.silicon.instructions import GpuInstruction
from hwsim.spec import Unit

QUOTA = 24  # cases on which a pair of candidates differs, where there are so many; 16 are promised
TRIES = 4000  # stimuli after which pairs that none told apart are given up
MOST_TRIES = 40_000
AT_ONCE = 64  # stimuli that are computed together

Kinds = tuple[str, ...]
# Kinds of cases on which the answers to each question differ, by its name.
KINDS: dict[str, Kinds] = {
    "window": ("tie", "tie", "tie", "edge", "ladder"),
    "lost": ("tie", "tie", "tie", "edge", "ladder"),
    "result": ("tie", "edge", "near"),
    "groups": ("edge", "ladder", "spread"),
    "chain": ("edge", "ladder", "spread"),
    "conversion": ("subnormal", "edge"),
    "subnormals": ("subnormal", "few"),
    "addend": ("near", "addend", "edge"),
    "addend-bits": ("addend", "below"),
    "zeros": ("empty", "cancel", "zeros"),
    "zero-terms": ("zeros",),
    "cancelled": ("cancel",),
    "late-window": ("near", "addend", "edge"),
    "floor": ("floor", "halfway", "halfway", "floor", "halfway", "halfway", "tiny"),
    "zero-sum": ("empty", "cancel"),
    "tiny": ("tiny", "vanishing", "empty"),
    "overflow": ("overflow", "specials"),
    "nan": ("specials",),
    "special-codes": ("specials",),
}
# Over how many instructions cases go, in turn, where that is not one.
TIMES = {"chain": (2, 4), "addend": (1, 1, 2)}
RANDOM: Kinds = ("any", "near", "spread", "sparse", "straddle", "addend", "zeros", "rounding")

# What fills a section up: for what share, kinds, and over how many instructions.
FILLERS: tuple[tuple[str, float, Kinds, tuple[int, ...]], ...] = (
    ("random", 0.5, RANDOM, (1,)),
    ("far", 0.15, ("spread", "straddle", "edge"), (1,)),
    ("cancelling", 0.15, ("cancel", "opposite"), (1,)),
    ("chained", 0.1, RANDOM, (2, 4)),
    ("dense", 0.1, ("near", "ladder", "growth"), (1,)),
)
OFF = 8  # every eighth filling case has its addend switched off, where the instruction can


@dataclass(frozen=True)
class Designed:
    """The cases of one rule.

    apart: for each pair of candidates, by index, the number of cases on which they differ. tried: stimuli tried.
    """

    rule: Question
    candidates: tuple[Candidate, ...]
    cases: tuple[CaptureCase, ...]
    apart: dict[tuple[int, int], int]
    tried: int

    @property
    def alike(self) -> list[frozenset[str]]:
        """Sets of two or more candidates that no stimulus tells apart."""
        classes = [{index} for index in range(len(self.candidates))]
        for (i, j), differ in self.apart.items():
            if not differ:
                classes[i] |= classes[j]
                for member in classes[i]:
                    classes[member] = classes[i]
        sets = {frozenset(self.candidates[index].name for index in members) for members in classes if len(members) > 1}
        return sorted(sets, key=sorted)

    @property
    def least(self) -> int:
        """The fewest cases that tell any pair apart, of the pairs that are told apart."""
        return min((differ for differ in self.apart.values() if differ), default=0)


def design_rule(
    instruction: GpuInstruction,
    unit: Unit,
    rule: Question,
    seed: int,
    quota: int = QUOTA,
    tick: Callable[[], None] = lambda: None,
) -> Designed:
    """Cases on which the candidates of a rule differ: `quota` for each pair, where so many are found."""
    among = rule.candidates(unit)
    pairs = list(combinations(range(len(among)), 2))
    search, kept, tried = PairSearch(pairs, quota), list[CaptureCase](), 0
    drawn = stimuli(instruction, unit, seed, rule.name, KINDS[rule.name], TIMES.get(rule.name, (1,)))
    for case, codes in _answered(drawn, among):
        wanted = search.need > 0 if tried < TRIES else (search.need > 0) & (search.need < quota)
        if not wanted.any():
            break
        tried += 1
        # One by one, so that the cases that are kept do not depend on how many are computed at once.
        kept += [case for _ in search.keep(codes)]
        if tried % AT_ONCE == 0:
            tick()
    codes = _codes(among, kept)
    apart = {(i, j): int((codes[:, i] != codes[:, j]).sum()) for i, j in pairs}
    return Designed(rule, among, tuple(kept), apart, tried)


def _answered(
    drawn: Iterator[CaptureCase], among: Sequence[Candidate]
) -> Iterator[tuple[CaptureCase, NDArray[np.int64]]]:
    """The first stimuli, each with the results of all candidates: codes (1, candidates)."""
    for _ in range(0, MOST_TRIES, AT_ONCE):
        some = list(islice(drawn, AT_ONCE))
        yield from zip(some, _codes(among, some)[:, None], strict=True)


def _codes(among: Sequence[Candidate], cases: Sequence[CaptureCase]) -> NDArray[np.int64]:
    """The results of candidates, codes (cases, candidates). A GPU takes whole instructions."""
    plain = [as_case(case) for case in cases]
    columns = [results(candidate, plain, whole=True) for candidate in among]
    return np.array(columns, dtype=np.int64).reshape(len(among), len(cases)).T


def stimuli(
    instruction: GpuInstruction, unit: Unit, seed: int, tag: str, kinds: Kinds, instructions: tuple[int, ...] = (1,)
) -> Iterator[CaptureCase]:
    """Cases of these kinds without end. instructions: over how many of them a case goes, in turn."""
    key = key_of(seed, instruction.name, unit.name, tag)
    for first, times in zip(count(0, AT_ONCE), cycle(instructions)):
        for case in draw(unit, key, first, AT_ONCE, times * instruction.k, kinds).cases():
            yield CaptureCase(tag, case.a, case.b, case.c)


def fillers(instruction: GpuInstruction, unit: Unit, total: int, seed: int) -> Iterator[CaptureCase]:
    """`total` cases that are designed for no rule."""
    shares = [int(share * total) for _, share, _, _ in FILLERS]
    shares[0] += total - sum(shares)
    for (tag, _, kinds, instructions), share in zip(FILLERS, shares, strict=True):
        drawn = stimuli(instruction, unit, seed, tag, kinds, instructions)
        for index, case in enumerate(islice(drawn, share)):
            off = instruction.switch and index % OFF == 0
            yield CaptureCase(case.tag, case.a, case.b, None) if off else case


def design(
    instruction: GpuInstruction,
    unit: Unit,
    total: int,
    seed: int,
    rules: tuple[Question, ...] = QUESTIONS,
    quota: int = QUOTA,
    tick: Callable[[], None] = lambda: None,
) -> tuple[Section, list[Designed]]:
    """At least `total` cases for an instruction: those designed for its rules, then `fillers`.

    tick: called now and then. The same cases for the same instruction, unit and seed.
    """
    designed = [design_rule(instruction, unit, rule, seed, quota, tick) for rule in rules]
    cases = [case for rule in designed for case in rule.cases]
    cases += fillers(instruction, unit, max(0, total - len(cases)), seed)
    return Section(instruction, unit.name, cases), designed
