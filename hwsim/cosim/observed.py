"""What a user's design returned, and which of its failing cases are of one kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from hwsim.cases.case import Case
from hwsim.cosim.design import Played, SuiteKind
from hwsim.cosim.dutdesign import DutDesign, paired_codes
from hwsim.cosim.shrink import Ask, Like, Shrunk
from hwsim.cosim.simpler import Simplifier
from hwsim.cosim.suites import PAIRS, expected_codes
from hwsim.formats import Format
from hwsim.readings.diagnosis import WrongKind, counted_operands
from hwsim.readings.known import Semantic
from hwsim.readings.shape import Classes, Observation, class_of
from hwsim.spec import Unit, unpromised

MOST_WRONG, MOST_RIGHT = 600, 6000  # results that names are judged by
FEW, LOOKED_AT, NEAR = 40, 8, 80  # wrong results that are few; how many of them get cases near them, and how many


def observed(design: DutDesign, played: Sequence[Played]) -> list[Observation]:
    """What a design returned in suites without resets, wrong and right results, as many of each as names need.

    Evenly chosen; of each is known which result left before it.
    """
    wrong: list[Observation] = []
    right: list[Observation] = []
    good = unpromised(design.unit)
    for one in played:
        if one.suite.resets or one.suite.isolated or not len(one.codes):
            continue
        cases, before = one.suite.cases, None
        many = one.suite.name.startswith(PAIRS)
        expected = one.suite.expected or (paired_codes if many else expected_codes)(design.unit, cases)
        codes = one.codes.tolist()
        for at in one.play.owners:
            if codes[at] >= 0:
                seen = Observation(cases[at], codes[at], before, one.suite.name.startswith(SuiteKind.GAPS.suite))
                (right if good.same(expected[at], codes[at]) else wrong).append(seen)
            before = codes[at] if codes[at] >= 0 else None
    return [*_spread(wrong, MOST_WRONG), *_spread(right, MOST_RIGHT)]


def _spread(every: list[Observation], most: int) -> list[Observation]:
    """So many at most: a third of them those of the fewest operands, in which mistakes stand alone; others evenly."""
    if len(every) <= most:
        return every
    by_size = sorted(range(len(every)), key=lambda at: counted_operands(every[at].case))
    simplest, others = set(by_size[: most // 3]), sorted(by_size[most // 3 :])
    step = -(-len(others) // (most - len(simplest)))
    return [every[at] for at in sorted({*simplest, *others[::step]})]


def looked_closer(design: DutDesign, seen: Sequence[Observation], ask: Ask) -> list[Observation]:
    """More results of a design of which few are wrong: of cases near wrong ones, each alone after a reset.

    Few wrong results are explained by a wrong name easily; right ones beside them contradict it. ask: what the design
    returns for some cases. Empty where many are wrong, and where the wrong ones are right alone.
    """
    cases = [one.case for one in seen]
    expected = expected_codes(design.unit, cases)
    wrong = [one.case for one, code in zip(seen, expected, strict=True) if one.code != code]
    if not 0 < len(wrong) < FEW:
        return []
    simplifier = Simplifier(design)
    chosen = wrong[:: -(-len(wrong) // LOOKED_AT)]
    near = list(dict.fromkeys(case for one in chosen for case in _near(simplifier, one)))
    if ask(chosen).tolist() == list(expected_codes(design.unit, chosen)):
        return []
    return alone(design, near, ask(near).tolist())


def alone(design: DutDesign, cases: Sequence[Case], codes: Sequence[int]) -> list[Observation]:
    """What a design returned of cases that were played alone, each after a reset, which leaves no result but 0."""
    before = None if design.dut.file.reset is None else 0
    return [Observation(case, code, before, False) for case, code in zip(cases, codes, strict=True) if code >= 0]


def _near(simplifier: Simplifier, case: Case) -> Iterator[Case]:
    """Cases that differ from one in a step that makes it simpler, evenly chosen."""
    every = [simplifier.edited(case, edits) for edits in simplifier.edits(case)]
    yield from every[:: max(1, -(-len(every) // NEAR))]


def alike(unit: Unit, kinds: Sequence[WrongKind], index: int) -> Like:
    """Which failing cases are of a kind: those that its name explains, or those of its classes that no name does."""
    own = kinds[index].semantic
    others = tuple(kind.semantic for kind in kinds if kind.semantic is not None)
    if own is not None:
        return partial(_explained, own)
    return partial(_unexplained, unit.output, kinds[index].classes, others)


def _explained(semantic: Semantic, failing: Sequence[Shrunk]) -> list[bool]:
    said = semantic.many([one.case for one in failing]) if failing else []
    return [code == one.got for code, one in zip(said, failing, strict=True)]


def _unexplained(
    fmt: Format, classes: Classes | None, others: Sequence[Semantic], failing: Sequence[Shrunk]
) -> list[bool]:
    explained = [_explained(semantic, failing) for semantic in others]
    return [
        (classes is None or (class_of(fmt, one.expected), class_of(fmt, one.got)) in classes)
        and not any(row[at] for row in explained)
        for at, one in enumerate(failing)
    ]
