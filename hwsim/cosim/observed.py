"""What a user's design returned, and which of its failing cases are of one kind."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from hwsim.cases.case import Case
from hwsim.cosim.design import Played
from hwsim.cosim.dutdesign import DutDesign, paired_codes
from hwsim.cosim.shrink import Like
from hwsim.cosim.suites import PAIRS, expected_codes
from hwsim.readings.diagnosis import Observation, WrongGroup
from hwsim.readings.known import Semantic

MOST_WRONG = MOST_RIGHT = 600  # results that names are judged by


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


def alike(groups: Sequence[WrongGroup], index: int) -> Like:
    """Which failing cases are of a group: those that its name explains, or that no group's name does."""
    own = groups[index].semantic
    others = tuple(group.semantic for group in groups if group.semantic is not None)
    return partial(_explained, own) if own is not None else partial(_unexplained, others)


def _explained(semantic: Semantic, cases: Sequence[Case], codes: Sequence[int]) -> list[bool]:
    return [said == code for said, code in zip(semantic.many(cases), codes, strict=True)] if cases else []


def _unexplained(others: Sequence[Semantic], cases: Sequence[Case], codes: Sequence[int]) -> list[bool]:
    explained = [_explained(semantic, cases, codes) for semantic in others]
    return [not any(one) for one in zip(*explained, strict=True)] if others else [True] * len(cases)
