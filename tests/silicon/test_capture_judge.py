"""The judge: whatever a machine does, the judge says it; and what is none of the candidates, it says too."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from built_presets import others_slow
from computed_once import computed_once
from silicon.capture_samples import WGMMA, answers, returned

from hwsim.explain.questions import BY_NAME, QUESTIONS, Question
from hwsim.explain.silicon.cases import CaptureCase, design, instruction_of
from hwsim.explain.silicon.judge import Judgement, judge
from hwsim.explain.silicon.results import Captured
from hwsim.spec import load_unit

UNIT = load_unit(WGMMA)
INSTRUCTION = instruction_of(UNIT)
FILL, QUOTA = 100, 6


@computed_once("explain")
def made() -> tuple[list[CaptureCase], dict[str, list[frozenset[str]]]]:
    """Cases, and for each rule the candidates that none of them tells apart."""
    section, designed = design(INSTRUCTION, UNIT, 1, 1, quota=QUOTA)
    more, _ = design(INSTRUCTION, UNIT, FILL, 1, ())
    return [*section.cases, *more.cases], {one.rule.name: one.alike for one in designed}


def captured(codes: tuple[int, ...], unstable: frozenset[int] = frozenset()) -> Captured:
    return Captured(INSTRUCTION, UNIT.name, made()[0], codes, unstable)


def said(judgement: Judgement, rule: str) -> tuple[str, list[str]]:
    (verdict,) = [verdict for verdict in judgement.verdicts if verdict.rule.name == rule]
    return verdict.word, verdict.survivors


OTHERS = ("window", "lost", "result")  # rules that are judged beside the one in question
TRUTHS = [(rule, name) for rule in QUESTIONS for name in rule.answers(UNIT)]


@pytest.mark.parametrize(
    ("rule", "name"), others_slow(TRUTHS, TRUTHS[::6]), ids=[f"{rule.name}: {name}" for rule, name in TRUTHS]
)
def test_a_machine_that_does_what_a_candidate_says_is_found_out(rule: Question, name: str) -> None:
    among = {candidate.name: candidate for candidate in rule.candidates(UNIT)}
    if name not in among:
        pytest.fail(f"{name} is not among the candidates: {', '.join(among)}")
    near = [one for one in QUESTIONS if one is rule or one.name in OTHERS]
    judgement = judge(captured(answers(among[name], made()[0])), UNIT, near)
    alike = {name}.union(*(names for names in made()[1][rule.name] if name in names))
    word, survivors = said(judgement, rule.name)
    assert set(survivors) == alike
    assert word == ("settled" if len(alike) == 1 else "open")
    assert (judgement.right, judgement.of, judgement.unexplained) == (len(made()[0]), len(made()[0]), None)


COMBINED: list[dict[str, Any]] = [
    {"sum": {"lost": "floor", "fraction_bits": 14}},
    {"sum": {"lost": "rne", "zero_terms": "count"}, "result": {"rounding": "rne"}},
    {"instruction": {"lanes": 16}, "result": {"tiny": "signed"}},
    {"sum": {"addend": "late", "fraction_bits": 12}, "instruction": {"start": "zero"},
     "late": {"operation": "add", "format": "f32", "rounding": "rne"}},
]  # fmt: skip


@pytest.mark.parametrize("changes", others_slow(COMBINED, COMBINED[:2]), ids=str)
def test_several_rules_that_are_not_as_specified_are_found_together(changes: dict[str, Any]) -> None:
    judgement = judge(captured(returned(UNIT, made()[0], changes)), UNIT)
    assert judgement.right == judgement.of
    assert judgement.adopted
    assert all(verdict.survivors for verdict in judgement.verdicts)


def zeroed(codes: tuple[int, ...]) -> tuple[int, ...]:
    return (0,) * len(codes)


def a_bit_flipped(codes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(code ^ (1 << 13) for code in codes)


def shifted(codes: tuple[int, ...]) -> tuple[int, ...]:
    return codes[1:] + codes[:1]


@pytest.mark.parametrize("fault", [zeroed, a_bit_flipped, shifted], ids=lambda fault: fault.__name__)
def test_what_is_no_candidate_is_not_explained(fault: Any) -> None:
    judgement = judge(captured(fault(returned(UNIT, made()[0]))), UNIT)
    assert judgement.right < judgement.of
    assert judgement.unexplained is not None
    example = judgement.unexplained
    assert example.got != example.expected
    assert "unexplained" in {verdict.word for verdict in judgement.verdicts}


def test_one_wrong_result_is_enough() -> None:
    codes = list(returned(UNIT, made()[0]))
    place = next(i for i, case in enumerate(made()[0]) if case.tag == "random")
    codes[place] ^= 1 << 13
    judgement = judge(captured(tuple(codes)), UNIT)
    assert judgement.right == judgement.of - 1
    assert judgement.unexplained is not None
    assert judgement.unexplained.case == place
    # It was not stable: it does not count.
    judgement = judge(captured(tuple(codes), frozenset({place})), UNIT)
    assert judgement.right == judgement.of == len(codes) - 1


def test_a_survivor_of_its_own_cases_is_refuted_by_others() -> None:
    # With the cases of the rule cut down to those on which all candidates agree, the others must decide.
    rule = BY_NAME["lost"]
    cases = made()[0]
    codes = returned(UNIT, cases)
    among = rule.candidates(UNIT)
    told = [len({answers(one, [case])[0] for one in among}) > 1 for case in cases]
    kept = [i for i, case in enumerate(cases) if case.tag != rule.name or not told[i]]
    agreeing = [replace_tag(cases[i], rule.name) for i in kept if not told[i]][:8]
    others = [i for i in kept if told[i]]
    mixed = [*agreeing, *(cases[i] for i in others)]
    given = (*returned(UNIT, agreeing), *(codes[i] for i in others))
    judgement = judge(replace(captured(given), cases=mixed), UNIT, [rule])
    assert said(judgement, "lost") == ("settled", ["truncated"])
    assert all(standing.right == 8 for standing in judgement.verdicts[0].standings)
    assert len(agreeing) == 8


def replace_tag(case: CaptureCase, tag: str) -> CaptureCase:
    return replace(case, tag=tag)


def test_where_no_case_was_designed_for_a_rule_all_others_decide() -> None:
    cases = [case for case in made()[0] if case.tag != "lost"]
    judgement = judge(replace(captured(returned(UNIT, cases)), cases=cases), UNIT, [BY_NAME["lost"]])
    assert said(judgement, "lost") == ("settled", ["truncated"])
    assert {standing.of for standing in judgement.verdicts[0].standings} == {len(cases)}
    few = cases[:1]
    judgement = judge(replace(captured(returned(UNIT, few)), cases=few), UNIT, [BY_NAME["nan"]])
    assert said(judgement, "nan")[0] == "open"
