"""What a user's design returned, and which of its failing cases are of one kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from hwsim.cases.case import Case
from hwsim.cosim.design import Played
from hwsim.cosim.dutdesign import DutDesign, paired_codes
from hwsim.cosim.shrink import Ask, Like
from hwsim.cosim.simpler import Simplifier
from hwsim.cosim.suites import PAIRS, expected_codes
from hwsim.readings.diagnosis import Observation, WrongKind
from hwsim.readings.known import Semantic

MOST_WRONG = MOST_RIGHT = 600  # results that names are judged by
FEW, LOOKED_AT, NEAR = 40, 8, 80  # wrong results that are few; how many of them get cases near them, and how many


def observed(design: DutDesign, played: Sequence[Played]) -> list[Observation]:
    """What a design returned in suites without resets, wrong and right results, as many of each as names need.

    Evenly chosen; of each is known which result left before it.
    """
    wrong: list[Observation] = []
    right: list[Observation] = []
    for one in played:
        if one.suite.resets or one.suite.isolated or not len(one.codes):
            continue
        cases, before = one.suite.cases, None
        many = one.suite.name.startswith(PAIRS)
        expected = one.suite.expected or (paired_codes if many else expected_codes)(design.unit, cases)
        codes = one.codes.tolist()
        for at in one.play.owners:
            if codes[at] >= 0:
                (right if codes[at] == expected[at] else wrong).append(Observation(cases[at], codes[at], before))
            before = codes[at] if codes[at] >= 0 else None
    return [*_spread(wrong, MOST_WRONG), *_spread(right, MOST_RIGHT)]


def _spread(every: list[Observation], most: int) -> list[Observation]:
    return every[:: max(1, -(-len(every) // most))]


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
    alone = zip(chosen, expected_codes(design.unit, chosen), ask(chosen).tolist(), strict=True)
    if all(code == want for _, want, code in alone):
        return []
    return [Observation(case, code) for case, code in zip(near, ask(near).tolist(), strict=True) if code >= 0]


def _near(simplifier: Simplifier, case: Case) -> Iterator[Case]:
    """Cases that differ from one in a step that makes it simpler, evenly chosen."""
    every = [simplifier.edited(case, edits) for edits in simplifier.edits(case)]
    yield from every[:: max(1, -(-len(every) // NEAR))]


def alike(kinds: Sequence[WrongKind], index: int) -> Like:
    """Which failing cases are of a kind: those that its name explains, or that no name does."""
    own = kinds[index].semantic
    others = tuple(kind.semantic for kind in kinds if kind.semantic is not None)
    return partial(_explained, own) if own is not None else partial(_unexplained, others)


def _explained(semantic: Semantic, cases: Sequence[Case], codes: Sequence[int]) -> list[bool]:
    return [said == code for said, code in zip(semantic.many(cases), codes, strict=True)] if cases else []


def _unexplained(others: Sequence[Semantic], cases: Sequence[Case], codes: Sequence[int]) -> list[bool]:
    explained = [_explained(semantic, cases, codes) for semantic in others]
    return [not any(one) for one in zip(*explained, strict=True)] if others else [True] * len(cases)
