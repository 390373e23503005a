"""docs/silicon.md says what GPUs do and which rules stay open: the judge says the same of the captured results."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest
from built_presets import others_slow

from hwsim.cases.captured import captured_cases
from hwsim.explain.candidate import Candidate, results
from hwsim.explain.questions import QUESTIONS
from hwsim.explain.silicon.cases import INSTRUCTIONS, CaptureCase, as_case, instruction_of
from hwsim.explain.silicon.judge import Judgement, judge
from hwsim.explain.silicon.results import Captured, load
from hwsim.spec import load_unit

ROOT = Path(__file__).parents[2]
H200 = ROOT / "vectors" / "silicon" / "h200"
PAGE = ROOT / "docs" / "silicon.md"
ROW = re.compile(r"^\| `([\w-]+)` \| ([^|]+) \| ([^|]*)\| ([^|]*)\|$", re.MULTILINE)
UNITS = [instruction.unit for instruction in load(H200)]
OF_EACH_KIND = ("hopper-wgmma-e4m3-f32", "hopper-wgmma-f16-f16", "hopper-mma-e4m3xe5m2-f32")
CASES = 3000


def rows() -> list[tuple[str, str, str, str]]:
    return ROW.findall(PAGE.read_text())


def test_the_page_asks_every_question() -> None:
    assert [(name, question) for name, question, _, _ in rows()] == [(rule.name, rule.question) for rule in QUESTIONS]


def test_every_instruction_was_captured() -> None:
    stored = load(H200)
    assert sorted(one.instruction.name for one in stored) == sorted(INSTRUCTIONS)
    assert {(len(one.codes), len(one.unstable)) for one in stored} == {(CASES, 0)}
    assert all(load_unit(name).evidence == "captured" for name in UNITS)


@pytest.mark.parametrize("name", UNITS)
def test_every_unit_returns_what_its_gpu_returned(name: str) -> None:
    (captured,) = load(H200, [name])
    cases = [as_case(case) for case in captured.cases]
    assert results(Candidate("as specified", load_unit(name)), cases, whole=True) == captured.codes


def judged(name: str) -> Judgement:
    (captured,) = load(H200, [name])
    return judge(captured, load_unit(name))


@pytest.mark.parametrize("name", others_slow(UNITS, OF_EACH_KIND))
def test_what_the_page_calls_settled_is(name: str) -> None:
    judgement = judged(name)
    assert (judgement.right, judgement.of, judgement.adopted) == (CASES, CASES, {})
    said = {rule: (answer, opened) for rule, _, answer, opened in rows()}
    for verdict in judgement.verdicts:
        if verdict.word == "no question":
            continue
        answer, opened = said[verdict.rule.name]
        patterns = re.findall(r"`([\w*-]+)`", opened)
        is_open = any(fnmatch(name.removeprefix("hopper-"), pattern) for pattern in patterns)
        assert verdict.word == ("open" if is_open else "settled"), verdict.rule.name
        if not is_open:
            # What a candidate is called begins with its answer, or is it.
            assert any(word in answer for word in verdict.survivors), (verdict.rule.name, verdict.survivors)


def test_a_wrong_result_is_found() -> None:
    (captured,) = load(H200, [OF_EACH_KIND[0]])
    codes = [*captured.codes]
    codes[CASES - 1] ^= 1 << 10
    wrong = Captured(captured.instruction, captured.unit, captured.cases, codes)
    judgement = judge(wrong, load_unit(captured.unit))
    assert judgement.right < judgement.of
    assert judgement.unexplained is not None


@pytest.mark.parametrize("name", others_slow(["wgmma-e4m3-f32", "mma-f16-f32", "mma-e4m3-f16"], ["wgmma-e4m3-f32"]))
def test_what_others_captured_is_explained_too(silicon: Path, name: str) -> None:
    """Of Khattak's and Mikaitis' results no case was designed for a rule."""
    unit = load_unit(f"hopper-{name}")
    known = captured_cases(unit, silicon)[:1000]
    cases = [CaptureCase("captured", case.a, case.b, case.c) for case, _ in known]
    judgement = judge(Captured(instruction_of(unit), unit.name, cases, [code for _, code in known]), unit)
    assert (judgement.right, judgement.of, judgement.adopted) == (1000, 1000, {})
    settled = {verdict.rule.name: verdict.survivors for verdict in judgement.verdicts if verdict.word == "settled"}
    ours = {verdict.rule.name: verdict.survivors for verdict in judged(unit.name).verdicts}
    assert settled and all(ours[rule] == survivors for rule, survivors in settled.items())
