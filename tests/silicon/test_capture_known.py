"""docs/silicon.md says what captured results settle: the judge says the same of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from built_presets import others_soaked

from hwsim.cases.captured import captured_cases
from hwsim.readings.questions import BY_NAME, QUESTIONS
from hwsim.readings.silicon.case import CaptureCase
from hwsim.readings.silicon.instructions import instruction_of
from hwsim.readings.silicon.judge import Judgement, judge
from hwsim.readings.silicon.store import Captured
from hwsim.spec import load_unit

PAGE = Path(__file__).parents[2] / "docs" / "silicon.md"
ROW = re.compile(r"^\| `([\w-]+)` \| ([^|]+) \| ([^|]*)\|$", re.MULTILINE)


def judged(name: str, silicon: Path) -> Judgement:
    """What one GPU's captured results settle; no case of theirs was designed for a rule."""
    unit = load_unit(name)
    rows = captured_cases(unit, silicon)[:1000]
    cases = [CaptureCase("captured", case.a, case.b, case.c) for case, _ in rows]
    return judge(Captured(instruction_of(unit), name, cases, [code for _, code in rows]), unit)


def test_the_page_asks_every_question() -> None:
    rows = ROW.findall(PAGE.read_text())
    assert [(name, question) for name, question, _ in rows] == [(rule.name, rule.question) for rule in QUESTIONS]


@pytest.mark.parametrize("name", others_soaked(["wgmma-e4m3-f32", "mma-f16-f32", "mma-e4m3-f16"], ["wgmma-e4m3-f32"]))
def test_what_the_page_calls_settled_is(silicon: Path, name: str) -> None:
    judgement = judged(f"hopper-{name}", silicon)
    assert (judgement.right, judgement.of, judgement.adopted) == (1000, 1000, {})
    settled = {verdict.rule.name for verdict in judgement.verdicts if verdict.word == "settled"}
    said = {rule for rule, _, text in ROW.findall(PAGE.read_text()) if f"`{name}`" in text}
    assert said == settled
    assert settled < set(BY_NAME)
