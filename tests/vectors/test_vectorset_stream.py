"""Cases through a pipe, as a device in it sees them."""

import pytest
import yaml
from vectors.vectorset_units import made, unit_of

from hwsim.cases.case import Case, term_scales
from hwsim.cases.matrices import gemm_problem
from hwsim.cosim.vectors.check import Malformed, judge, stream
from hwsim.cosim.vectors.make import made_batches
from hwsim.cosim.vectors.plan import Wanted, plan
from hwsim.model.definition import Definition

NAMES = ["mxfp8-e4m3-f32", "tiny", "ada-mma-e4m3-f32", "deepseek-v3-e4m3-f32-scaled"]


def sent(name, cases=120, suite="random"):
    """The lines of a stream."""
    wanted = Wanted(unit_of(name), suite, 1, cases)
    return "".join(stream(wanted.unit, made_batches(wanted))).splitlines()


def returned(name, lines):
    """The lines as a device sends them back, which knows the columns and the formats and no more."""
    unit, back = unit_of(name), []
    definition = Definition(unit)
    columns = lines[3].removeprefix("# columns ").split()
    formats = {"a": unit.operands.a, "b": unit.operands.b, "c": unit.operands.addend}
    if unit.scale is not None:
        formats |= {"scale_a": unit.scale.a.format, "scale_b": unit.scale.b.format}
    for line in lines:
        if line.startswith("#"):
            back.append(line)
            continue
        words = dict(zip(columns, line.split(), strict=True))
        codes = {}
        for key, word in words.items():
            if key != "id":
                size = -(-formats[key].container_bits // 4)
                codes[key] = tuple(int(word[at : at + size], 16) for at in range(0, len(word), size))
        case = Case("", codes["a"], codes["b"], codes["c"][0], codes.get("scale_a", ()), codes.get("scale_b", ()))
        result = definition.dot(case.a, case.b, case.c, *term_scales(unit, case)).code
        back.append(f"{line} {result:x}")
    return back


@pytest.mark.parametrize("name", NAMES)
def test_a_right_device_passes(name):
    judged = judge(returned(name, sent(name)), lambda unit: None)
    assert (judged.row.passed, judged.compared, judged.wrong) == (True, 120, 0)
    assert judged.unit == unit_of(name)


def test_order_does_not_matter_and_one_wrong_bit_does():
    back = returned("tiny", sent("tiny"))
    mixed = [*back[:4], *back[:3:-1]]
    assert judge(mixed, lambda unit: None).row.passed
    words = mixed[9].split()
    mixed[9] = " ".join([*words[:-1], f"{int(words[-1], 16) ^ 0x10:x}"])
    judged = judge(mixed, lambda unit: None)
    assert (judged.row.passed, judged.wrong) == (False, 1)
    assert judged.first[0].place == "line 10"
    mixed[9] = " ".join([*words[:-1], "3cxx"])
    assert judge(mixed, lambda unit: None).first[0].got is None


def test_a_result_may_begin_with_0x():
    back = returned("tiny", sent("tiny", 4))
    back[4:] = [" ".join([*line.split()[:-1], f"0x{line.split()[-1]}"]) for line in back[4:]]
    assert judge(back, lambda unit: None).row.passed


def test_nothing_is_no_pass():
    assert not judge(sent("tiny")[:4], lambda unit: None).row.passed


@pytest.mark.parametrize(
    ("line", "text", "message"),
    [
        (0, "random/0 00 00", "-:1: must be `# hwsim vectors 1`"),
        (1, "# columns", "-:2: must be `# unit` and the unit's specification"),
        (4, "random/0 0000 0000 0000", r"-:5: must be 5 words \(id a b c result\), not 4"),
        (5, "x 00 0000 0000 0000", "-:6: a must have a multiple of 4 codes, not 2"),
        (5, "x 0000 000 0000 0000", "-:6: b must have 4 codes, not 3"),
        (5, "x 000g 0000 0000 0000", "-:6: a must be hexadecimal digits, not '000g'"),
        (5, "x 0000 0000 00000 0000", "-:6: c must be codes of 4 hexadecimal digits each"),
        (5, "x 0000 0000 0000 12345", "-:6: result must be 16 bits in hexadecimal, not '12345'"),
    ],
)
def test_malformed_lines_are_named(line, text, message):
    back = returned("tiny", sent("tiny", 4))
    back[line] = text
    with pytest.raises(Malformed, match=message):
        judge(back, lambda unit: None)


class Searched(Exception):
    """Cases were looked for."""


@pytest.fixture
def no_search(monkeypatch):
    def search(*given):
        raise Searched

    for name in ("discrimination", "telling", "sensitive", "gemm_problem"):
        monkeypatch.setattr(f"hwsim.cosim.vectors.plan.{name}", search)


def test_the_first_cases_are_there_before_others_are_looked_for(no_search):
    lines = stream(unit_of("tiny"), made_batches(Wanted(unit_of("tiny"))))
    seen = []
    with pytest.raises(Searched):
        seen.extend(lines)
    assert sum(not line.startswith("#") for line in "".join(seen).splitlines()) > 100


def test_what_a_short_set_does_not_reach_is_not_looked_for(no_search):
    soon = sum(len(part.cases) for part in plan(unit_of("tiny"), "smoke", 1).parts[:2])
    for cases in (60, soon):
        assert sum(map(len, made_batches(Wanted(unit_of("tiny"), cases=cases)))) == cases


def test_a_short_set_says_what_it_has(no_search, monkeypatch, tmp_path):
    monkeypatch.setattr("hwsim.cosim.vectors.plan.gemm_problem", gemm_problem)
    short = made(tmp_path / "set", "tiny", suite="smoke", cases=60)
    assert [*short.counts.made()] == [
        (name, cases, None, "")
        for name, cases in {"smoke": 60, "coverage": 0, "products": 0, "gemm": 0, "random": 0}.items()
    ]
    assert "discrimination" not in yaml.safe_load((short.folder / "manifest.yaml").read_text())
