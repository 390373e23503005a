"""Captures: designed cases, files of cases and results, judgements, and the command, with a stand-in for the GPU."""

from __future__ import annotations

import dataclasses
import re
import shutil
import subprocess
import tempfile
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from built_presets import others_slow
from computed_once import computed_once
from conftest import missing
from silicon.capture_program import HOPPER, SOURCE, TCGEN05, Build, environment, quick_compiler, words
from silicon.capture_program import INSTRUCTIONS as PROGRAMS
from silicon.capture_program import capture as run_program
from silicon.capture_samples import (
    FACTS_OF_H200,
    WGMMA,
    answers,
    machine,
    results_file,
    returned,
    section,
    some_cases,
    written,
)

from hwsim.base.files import replaced
from hwsim.cases.captured import captured_cases
from hwsim.cli import main
from hwsim.explain.candidate import Candidate, changed, results
from hwsim.explain.mistakes import NO_FLAW
from hwsim.explain.questions import BY_NAME, QUESTIONS, Question
from hwsim.explain.silicon.cases import (
    FILLERS,
    INSTRUCTIONS,
    KINDS,
    RANDOM,
    CaptureCase,
    Designed,
    Section,
    as_case,
    design,
    design_rule,
    fillers,
    instruction_of,
    read_cases,
    write_cases,
)
from hwsim.explain.silicon.judge import Judgement, judge
from hwsim.explain.silicon.results import Captured, folder_name, load, read_results, store
from hwsim.formats import Class, unpack
from hwsim.spec import load_unit, presets

PROMISED = 16
NVFP4 = ("blackwell-mxf4nvf4-e2m1-f32", "blackwell-mxf4nvf4-e2m1-f32-fours")  # MMA-Sim's rule, and tcgen05-model's
OF_TCGEN05_ALONE = "tcgen05.m128n16k64.f32.e2m1.e2m1.mxf4nvf4.4x.ue8m0"
SAME_AS_MXF4 = "mma.m16n8k64.f32.e2m1.e2m1.mxf4nvf4.2x.ue8m0"

# Candidates that no operands of the unit tell apart, and why. All others are, pair by pair.
TOGETHER: dict[str, dict[str, list[set[str]]]] = {
    WGMMA: {
        # Every exponent of its terms is -126 or more: an f32 addend's least is emin, an 8-bit product's far above.
        "floor": [{"none", "-126", "-131", "-132", "-133", "-139", "-149"}],
        # What is below e8m13's least subnormal is below the window of an addend at emin, too.
        "tiny": [{"kept, zero without a sign", "kept, zero with the sign"}],
        # A finite sum cannot be too large (`hwsim cosim` says so: proved), and an infinity is one either way.
        "overflow": [
            {"infinity", "NaN", "as IEEE 754 has it"},
        ],
    },
    "hopper-mma-f16-f16": {
        # No exponent of its terms is below -28, the least of a product, nor a bit below 2^-48, its last place.
        "floor": [{"none", "-24", "-28"}],
    },
}


def designed(unit: str) -> dict[str, Designed]:
    loaded = load_unit(unit)
    return {one.rule.name: one for one in design(instruction_of(loaded), loaded, 1, 1, quota=PROMISED)[1]}


@pytest.mark.parametrize("unit", others_slow(TOGETHER, [WGMMA]))
def test_every_pair_of_candidates_is_told_apart(unit: str) -> None:
    made = designed(unit)
    assert list(made) == [rule.name for rule in QUESTIONS]
    for name, one in made.items():
        assert one.alike == TOGETHER[unit].get(name, []), name
        if len(one.candidates) < 2:
            assert name in {"conversion", "addend-bits", "zeros", "cancelled", "late-window", "low-addend"}
            continue
        assert one.least >= PROMISED or not any(one.apart.values()), name
        # Counted anew, from the cases that are written.
        given = [answers(candidate, one.cases) for candidate in one.candidates]
        for (i, j), count in one.apart.items():
            assert sum(x != y for x, y in zip(given[i], given[j], strict=True)) == count
            names = {one.candidates[i].name, one.candidates[j].name}
            assert bool(count) != any(names <= alike for alike in one.alike)
        assert {case.tag for case in one.cases} == ({name} if any(one.apart.values()) else set())


def test_the_same_seed_gives_the_same_cases() -> None:
    unit = load_unit(WGMMA)
    rules = (BY_NAME["lost"], BY_NAME["nan"])
    first, again, other = (design(instruction_of(unit), unit, 300, seed, rules)[0] for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert len(first.cases) == 300


def test_what_fills_up_is_of_every_kind() -> None:
    unit = load_unit(WGMMA)
    instruction = instruction_of(unit)
    cases = list(fillers(instruction, unit, 1000, 1))
    assert len(cases) == 1000
    shares = {tag: sum(case.tag == tag for case in cases) for tag, *_ in FILLERS}
    assert shares == {"random": 500, "far": 150, "cancelling": 150, "chained": 100, "dense": 100}
    assert {len(case.a) for case in cases if case.tag == "chained"} == {64, 128}
    off = sum(case.c is None for case in cases)
    assert 100 < off < 200
    mma = INSTRUCTIONS["mma.m16n8k32.f32.e4m3.e4m3"]
    assert all(case.c is not None for case in fillers(mma, unit, 100, 1))


@pytest.mark.parametrize("kinds", sorted({*KINDS.values(), RANDOM}), ids="-".join)
@pytest.mark.parametrize("name", [WGMMA, "hopper-mma-e4m3xe5m2-f16", "hopper-mma-bf16-f32", "hopper-mma-tf32-f32"])
def test_stimuli_are_operands_of_the_instruction(name: str, kinds: tuple[str, ...]) -> None:
    unit = load_unit(name)
    instruction, some_special = instruction_of(unit), 0
    for case in some_cases(name, 40, kinds, (1, 4)):
        assert len(case.a) == len(case.b)
        assert len(case.a) in {instruction.k, 4 * instruction.k}
        assert case.c is not None
        classes = set()
        for codes, fmt in zip(
            (case.a, case.b, (case.c,)), (*instruction.factors, instruction.accumulator), strict=True
        ):
            for code in codes:
                assert 0 <= code < 1 << fmt.container_bits
                classes.add(unpack(fmt, code).cls)
                # Ones in the padding are what hardware returns; it has not been asked to take them.
                assert not code & ((1 << fmt.padding) - 1)
        some_special += bool(classes & {Class.NAN, Class.INFINITY})
    assert (some_special > 20) == (kinds == ("specials",))
    assert bool(some_special) == ("specials" in kinds)


def test_a_unit_stands_for_one_instruction() -> None:
    hopper = [name for name in presets() if name.startswith("hopper-") and "int8" not in name and "f64" not in name]
    for other in ("hopper-mma-f64-f64", "hopper-wgmma-int8-i32"):  # codes of 64 bits, and integers, it does not ask for
        with pytest.raises(ValueError, match="is none of the instructions that can be captured"):
            instruction_of(load_unit(other))
    found = {name: instruction_of(load_unit(name)).name for name in hopper}
    assert found["hopper-wgmma-e4m3-f32"] == "wgmma.m64n8k32.f32.e4m3.e4m3"
    assert found["hopper-mma-tf32-f32"] == "mma.m16n8k8.f32.tf32.tf32"
    assert found["hopper-mma-e4m3xe5m2-f16"] == "mma.m16n8k32.f16.e4m3.e5m2"
    assert len(set(found.values())) == len(found)
    mx = {name: instruction_of(load_unit(name)).name for name in presets() if name.startswith("blackwell-mxf8f6f4-")}
    assert len(set(mx.values())) == len(mx) == 25
    assert mx["blackwell-mxf8f6f4-e4m3xe2m1-f32"] == "mma.m16n8k32.f32.e4m3.e2m1.mxf8f6f4.1x.ue8m0"
    # Every one of the program's instructions has a unit; two of them are one instruction of the hardware.
    found |= mx | {name: instruction_of(load_unit(name)).name for name in (*NVFP4[:1], "blackwell-mxf4-e2m1-f32")}
    blackwell = re.compile(r"blackwell-(tcgen05-(?!sp-).*(?<!-sat)|mxf4.*)|geforce-blackwell-mma-e\dm\d(xe\dm\d)?-f\d+")
    found |= {name: instruction_of(load_unit(name)).name for name in presets() if blackwell.fullmatch(name)}
    scaled = {name for name in TCGEN05 if words(name).blocks}
    assert set(INSTRUCTIONS) - set(found.values()) == {SAME_AS_MXF4, *scaled} - {OF_TCGEN05_ALONE}
    assert found["blackwell-mxf4nvf4-e2m1-e8m0-f32"] == OF_TCGEN05_ALONE
    unit, own = load_unit(NVFP4[0]), "tcgen05.m128n16k64.f32.e2m1.e2m1.mxf4nvf4.4x.ue4m3"
    assert instruction_of(unit, own).switch
    assert instruction_of(load_unit("blackwell-mxf4-e2m1-f32"), SAME_AS_MXF4).kind == "mxf4nvf4"


def test_a_unit_that_no_gpu_has_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\(e4m3fnuz x e4m3fnuz \+ f32, k 16\) is none of the instruct"):
        instruction_of(load_unit("cdna3-mfma-e4m3fnuz-f32"))
    e8m0 = r"\(e2m1 x e2m1 \+ f32, k 64, scales e8m0 of 16 and e8m0 of 16\) is none of the instructions"
    with pytest.raises(ValueError, match=e8m0):
        instruction_of(load_unit("blackwell-mxf4nvf4-e2m1-e8m0-f32"), "mma.m16n8k64.f32.e2m1.e2m1.mxf4.2x.ue8m0")
    with pytest.raises(ValueError, match="is none of the instructions"):
        instruction_of(load_unit("blackwell-tcgen05-int8-i32-sat"))  # the program's integers wrap
    with pytest.raises(ValueError, match="did you mean mma"):
        instruction_of(load_unit(WGMMA), "mma.m16n8k32.f32.e4m3")
    with pytest.raises(ValueError, match="unknown instruction 'mma': `hwsim capture kit` writes"):
        instruction_of(load_unit(WGMMA), "mma")
    with pytest.raises(
        ValueError, match=r"is none of the instructions that can be captured: mma.m16n8k4.f32.tf32.tf32$"
    ):
        instruction_of(load_unit(WGMMA), "mma.m16n8k4.f32.tf32.tf32")
    renamed = changed(load_unit(WGMMA), {"unit": "mine"})
    assert instruction_of(renamed).name == "mma.m16n8k32.f32.e4m3.e4m3"
    assert instruction_of(renamed, "wgmma.m64n8k32.f32.e4m3.e4m3").switch


GPUS = {"mma": "12.0", "tcgen05": "10.0"}


@pytest.fixture(scope="module")
def low_addend() -> Designed:
    """Cases that tell the rules of NVFP4 apart."""
    unit = load_unit(NVFP4[0])
    return design_rule(instruction_of(unit), unit, BY_NAME["low-addend"], 1, quota=4)


def test_the_cases_that_the_page_names_are_asked_first(low_addend: Designed) -> None:
    rows = re.findall(r"^\| (\d+ \(.*?) \| (\w{8}) \| (.*?) \| (.*?) \| (\w{8}) \| (\w{8}) \|$", PAGE.read_text(), re.M)
    assert len(rows) == 3
    candidates = [Candidate(name, load_unit(name)) for name in NVFP4]
    for (products, c, scale_a, scale_b, *codes), case in zip(rows, low_addend.cases, strict=False):
        assert case.c == int(c, 16)
        scales = [tuple(int(code, 16) for code in side.split()) for side in (scale_a, scale_b)]
        assert [case.scale_a, case.scale_b] == scales
        placed = {k: (case.a[k], case.b[k]) for k in range(64) if case.a[k] or case.b[k]}
        named = re.findall(r"(\d+) \((\w), (\w)\)", products)
        assert placed == {int(k): (int(x, 16), int(y, 16)) for k, x, y in named}
        assert [answers(one, [case]) for one in candidates] == [(int(code, 16),) for code in codes]


@pytest.mark.parametrize("family", ["tcgen05", pytest.param("mma", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("truth", "left"),
    [
        pytest.param(NVFP4[0], "counts in max_exp", marks=pytest.mark.slow),
        (NVFP4[1], "has no part in max_exp, beside sums of 4"),
    ],
)
def test_the_rules_published_of_nvfp4_are_told_apart(
    truth: str, left: str, family: str, low_addend: Designed, build: Build, tmp_path: Path
) -> None:
    # The program's own kernels, whose operands are read as the PTX ISA has them: from cases to a verdict.
    unit = load_unit(NVFP4[0])
    shape = {"mma": "m16n8k64", "tcgen05": "m128n16k64"}[family]
    instruction = instruction_of(unit, f"{family}.{shape}.f32.e2m1.e2m1.mxf4nvf4.4x.ue4m3")
    path, cases = written(tmp_path, Section(instruction, unit.name, low_addend.cases))
    done = run_program(build.program, path, tmp_path / "r", f"as:{truth}", HWSIM_STANDIN_CAPABILITY=GPUS[family])
    assert done.returncode == 0, done.stderr
    folder, _ = store(tmp_path, cases, read_results(tmp_path / "r", cases))
    (captured,) = load(folder)
    assert (captured.instruction, captured.cases) == (instruction, list(low_addend.cases))
    judgement = judge(captured, unit, (BY_NAME["low-addend"],))
    assert judgement.verdicts[0].survivors == [left]
    assert judgement.right == judgement.of == len(low_addend.cases)
    assert judgement.adopted == ({} if truth == unit.name else {"low-addend": left})


@pytest.mark.parametrize("rule", QUESTIONS, ids=BY_NAME)
def test_the_unit_itself_is_among_the_candidates_of_every_rule(rule: object) -> None:
    for name in presets():
        unit = load_unit(name)
        if name.startswith("hopper-") and "int8" not in name:  # integers it does not ask for
            among = BY_NAME[rule.name].candidates(unit)  # type: ignore[attr-defined]
            assert sum(one.unit == unit and one.flaw == NO_FLAW for one in among) == 1, name
            names = [one.name for one in among]
            assert len(set(names)) == len(names)


def test_an_addend_that_is_rounded_first_is_that_of_the_codec() -> None:
    unit = load_unit(WGMMA)
    plain, rounded = BY_NAME["addend-bits"].candidates(unit)
    f32, own = unit.operands.addend, unit.result.format
    assert f32 is not None
    assert rounded.name == f"rounded to {own.name} first"
    drawn = [replace(case, a=(0,) * 32, b=(0,) * 32) for case in some_cases(WGMMA, 200, ("addend",))]
    differ = 0
    for case, got, exact in zip(drawn, answers(rounded, drawn), answers(plain, drawn), strict=True):
        assert case.c is not None
        want = int(own.encode(f32.decode([case.c]), "rne", "infinity")[0])
        # With no product beside it, the addend is all that is returned.
        if case.c & 0x7FFFFFFF >= 1 << 23 and want & 0x7FFFFFFF < 0x7F800000:
            assert got == want
            differ += want != exact
    assert differ > 30


@pytest.mark.quick
def test_a_case_file_holds_what_was_written(tmp_path: Path) -> None:
    sections = (section(), section("hopper-wgmma-e5m2-f32", 5))
    path, read = written(tmp_path, *sections)
    assert (read.generator, read.seed) == ("hwsim test", 7)
    assert [(one.instruction, one.unit, list(one.cases)) for one in read.sections] == [
        (one.instruction, one.unit, list(one.cases)) for one in sections
    ]
    assert write_cases(path, "hwsim test", 7, sections) == read.checksum
    assert write_cases(path, "hwsim test", 8, sections) != read.checksum


HEAD = "hwsim-capture-cases 1\ngenerator g\nseed 1\n"
SECTION = "instruction mma.m16n8k4.f32.tf32.tf32\nunit u\ncases 1\n"
A = "3f800000" * 4
CASE = f"0 tag 4 00000000 {A} {A}\n"
BROKEN_CASES = [
    ("", "1: the file ends here, where 'hwsim-capture-cases 1' should be: it is not whole"),
    ("hwsim-capture-cases 2\n", "1: this is no case file: the line must be 'hwsim-capture-cases 1'"),
    ("hwsim-capture-cases 1\nseed 1\n", "2: must be 'generator ...', not 'seed 1'"),
    ("hwsim-capture-cases 1\ngenerator g\nseed x\n", "3: seed must be a number, not 'x'"),
    (HEAD, "4: the file ends here, where 'instruction' should be: it is not whole"),
    (HEAD + "instruction mma\n", "4: unknown instruction 'mma'"),
    (HEAD + SECTION, "7: the file ends here, where a case should be"),
    (HEAD + SECTION + CASE[:-1], "7: the file ends here, in the middle of a line"),
    (HEAD + SECTION + CASE, "8: the file ends here, where 'instruction' should be"),
    (HEAD + SECTION + CASE + "end", "8: the file ends here, in the middle of a line"),
    (HEAD + SECTION + CASE + CASE + "end\n", "8: must be 'instruction ...'"),
    (HEAD + SECTION + CASE + "end\n\n", "9: nothing may follow 'end'"),
    (HEAD + SECTION + CASE.replace("0 tag", "1 tag") + "end\n", "7: must be case 0: ID TAG K C A B"),
    (HEAD + SECTION + CASE.replace(" tag", "") + "end\n", "7: must be case 0"),
    (HEAD + SECTION + CASE.replace("tag 4", "tag 5") + "end\n", "7: K must be a multiple of 4, not 5"),
    (HEAD + SECTION + CASE.replace("tag 4", "tag 0") + "end\n", "7: K must be a multiple of 4, not 0"),
    (HEAD + SECTION + CASE.replace("tag 4", "tag 8") + "end\n", "7: a must be 64 hexadecimal digits"),
    (HEAD + SECTION + CASE.replace("00000000", "-") + "end\n", "7: the addend of mma.m16n8k4.* cannot be switched off"),
    (HEAD + SECTION + CASE.replace("00000000", "0000") + "end\n", "7: c must be 8 hexadecimal digits"),
    (HEAD + SECTION + CASE.replace("3f8", "3G8") + "end\n", "7: a must be 32 hexadecimal digits in lower case"),
    (HEAD + SECTION + CASE.replace("tag", "t\u00e4g") + "end\n", "7: holds something else than ASCII text"),
]


@pytest.mark.parametrize(("text", "message"), BROKEN_CASES, ids=range(len(BROKEN_CASES)))
def test_what_is_wrong_in_a_case_file_is_named_by_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "cases.txt"
    path.write_bytes(text.encode())
    with pytest.raises(ValueError, match=f"^{path}:{message}"):
        read_cases(path)


def test_that_case_file_is_right_where_nothing_is_broken(tmp_path: Path) -> None:
    path = tmp_path / "cases.txt"
    path.write_text(HEAD + SECTION + CASE + "end\n")
    assert len(read_cases(path).sections[0].cases) == 1


@pytest.fixture
def both(tmp_path: Path) -> tuple[Path, Path]:
    """A case file of two instructions and its results."""
    path, read = written(tmp_path, section(WGMMA, 3), section("hopper-wgmma-e5m2-f32", 2))
    return path, results_file(tmp_path, read, machine(read))


def test_results_hold_what_was_written(both: tuple[Path, Path]) -> None:
    cases = read_cases(both[0])
    read = read_results(both[1], cases)
    assert read.facts == FACTS_OF_H200
    assert [one.codes for one in read.sections] == machine(cases)
    assert any(code for one in read.sections for code in one.codes)


# The results' lines: 1 head, 2 cases, 3-8 facts, 9 instruction, 10 results 3, 11-13, 14 instruction, 15 results 2,
# 16-17, 18 end.
def swap(lines: list[str], i: int, j: int) -> None:
    lines[i - 1], lines[j - 1] = lines[j - 1], lines[i - 1]


BROKEN_RESULTS = {
    "no result file": (lambda x: x.__setitem__(0, "hwsim-capture-cases 1"), "1: this is no result file"),
    "other cases": (lambda x: x.__setitem__(1, "cases 00000000"), "2: these are the results of other cases"),
    "no gpu": (lambda x: x.pop(2), "3: must be 'gpu ...', not 'capability 9.0'"),
    "swapped sections": (lambda x: swap(x, 9, 14), "9: must be instruction wgmma.m64n8k32.f32.e4m3.e4m3, as in"),
    "too few": (lambda x: x.__setitem__(9, "results 2"), "10: must be 3 results, one for each case, not 2"),
    "a lost line": (lambda x: x.pop(11), "12: must be result 1, not 2: results are missing, repeated or mixed up"),
    "a repeated line": (lambda x: x.insert(11, x[10]), "12: must be result 1, not 0"),
    "swapped lines": (lambda x: swap(x, 11, 12), "11: must be result 0, not 1"),
    "no code": (lambda x: x.__setitem__(11, "1"), "12: must be '1 CODE' or '1 unstable CODE CODE'"),
    "a short code": (lambda x: x.__setitem__(11, "1 3f80"), "12: the result must be 8 hexadecimal digits"),
    "words": (lambda x: x.__setitem__(11, "1 stable 3f800000 3f800000"), "12: must be '1 CODE' or"),
    "cut off": (lambda x: x.__delitem__(slice(12, None)), "13: the file ends here, where result 2 of wgmma"),
    "no end": (lambda x: x.pop(), "18: the file ends here, where 'end' should be"),
    "more behind": (lambda x: x.append("end"), "19: nothing may follow 'end'"),
    "one more section": (lambda x: x.insert(17, "instruction x"), "18: must be 'end': the case file has no further"),
}


@pytest.mark.parametrize("name", BROKEN_RESULTS)
def test_what_is_wrong_in_a_result_file_is_named_by_line(both: tuple[Path, Path], name: str) -> None:
    change, message = BROKEN_RESULTS[name]
    lines = both[1].read_text().splitlines()
    change(lines)
    both[1].write_text("".join(f"{line}\n" for line in lines))
    with pytest.raises(ValueError, match=f"^{both[1]}:{message}"):
        read_results(both[1], read_cases(both[0]))


def test_every_cut_of_a_result_file_is_noticed(both: tuple[Path, Path]) -> None:
    data, cases = both[1].read_bytes(), read_cases(both[0])
    for length in range(len(data)):
        both[1].write_bytes(data[:length])
        with pytest.raises(ValueError, match=rf"^{both[1]}:\d+: "):
            read_results(both[1], cases)


def test_skipped_and_unstable_results(tmp_path: Path) -> None:
    path, cases = written(tmp_path, section(WGMMA, 3), section("hopper-wgmma-e5m2-f32", 2))
    results = results_file(tmp_path, cases, machine(cases))
    lines = results.read_text().splitlines()
    lines[13:17] = [lines[13], "skipped needs compute capability 9.0"]
    lines[11] = "1 unstable 00000001 00000002"
    results.write_text("".join(f"{line}\n" for line in lines))
    read = read_results(results, read_cases(path))
    assert read.sections[1].skipped == "needs compute capability 9.0"
    assert read.sections[0].unstable == (1,)
    folder, names = store(tmp_path / "out", cases, read)
    assert names == ["wgmma.m64n8k32.f32.e4m3.e4m3"]
    (captured,) = load(folder)
    assert captured.stable == [0, 2]


def test_what_was_stored_is_loaded(tmp_path: Path) -> None:
    _, cases = written(tmp_path, section(), section("hopper-wgmma-e5m2-f32", 5))
    results = read_results(results_file(tmp_path, cases, machine(cases)), cases)
    folder, names = store(tmp_path / "out", cases, results)
    assert folder == tmp_path / "out" / "h200"
    assert names == [one.instruction.name for one in cases.sections]
    for captured, one, codes in zip(load(folder), cases.sections, machine(cases), strict=True):
        assert (captured.instruction, captured.unit) == (one.instruction, one.unit)
        assert list(captured.cases) == list(one.cases)
        assert tuple(captured.codes) == codes
    (only,) = load(folder, ["hopper-wgmma-e5m2-f32"])
    assert only.unit == "hopper-wgmma-e5m2-f32"
    with pytest.raises(ValueError, match="has no results of mxfp8-e4m3-f32; it has hopper-wgmma-e4m3-f32, hopper"):
        load(folder, ["mxfp8-e4m3-f32"])


def test_results_are_the_same_bytes_every_time(tmp_path: Path) -> None:
    _, cases = written(tmp_path, section())
    results = read_results(results_file(tmp_path, cases, machine(cases)), cases)
    first, second = (store(tmp_path / name, cases, results)[0] for name in "ab")
    assert {file.name: file.read_bytes() for file in first.iterdir()} == {
        file.name: file.read_bytes() for file in second.iterdir()
    }


def test_results_are_not_replaced_unasked_and_others_stay(tmp_path: Path) -> None:
    _, cases = written(tmp_path, section())
    results = read_results(results_file(tmp_path, cases, machine(cases)), cases)
    folder, _ = store(tmp_path / "out", cases, results)
    with pytest.raises(ValueError, match=r"holds results of wgmma\S+ already; say --replace"):
        store(tmp_path / "out", cases, results)
    _, other = written(tmp_path, section("hopper-wgmma-e5m2-f32", 5))
    store(tmp_path / "out", other, read_results(results_file(tmp_path, other, machine(other)), other))
    store(tmp_path / "out", cases, results, replace=True)
    assert [captured.unit for captured in load(folder)] == ["hopper-wgmma-e4m3-f32", "hopper-wgmma-e5m2-f32"]


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    _, cases = written(tmp_path, section())
    folder, (name,) = store(tmp_path, cases, read_results(results_file(tmp_path, cases, machine(cases)), cases))
    file = folder / f"{name}.npz"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(ValueError, match="is not the file that was imported"):
        load(folder)
    with pytest.raises(ValueError, match="holds no captured results"):
        load(tmp_path / "nowhere")
    (folder / "manifest.yaml").write_text("- 1\n")
    with pytest.raises(ValueError, match=r"manifest\.yaml:1: "):
        load(folder)


def test_nothing_captured_is_nothing_to_import(tmp_path: Path) -> None:
    _, cases = written(tmp_path, section())
    results = read_results(results_file(tmp_path, cases, machine(cases)), cases)
    skipped = dataclasses.replace(results, sections=(dataclasses.replace(results.sections[0], skipped="why"),))
    with pytest.raises(ValueError, match="no instruction was captured on NVIDIA H200: nothing to import"):
        store(tmp_path / "out", cases, skipped)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("gpu", "name"),
    [
        ("NVIDIA H200", "h200"),
        ("NVIDIA H100 80GB HBM3", "h100-80gb-hbm3"),
        ("../../etc", "etc"),
        ("stand-in (no GPU)", "stand-in-no-gpu"),
        ("///", "unknown"),
    ],
)
def test_a_gpu_has_a_folder_of_its_own(gpu: str, name: str) -> None:
    assert folder_name(gpu) == name


def test_a_file_that_is_not_written_whole_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file"
    with replaced(path) as file:
        file.write(b"whole")

    def half() -> None:
        with replaced(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half()
    assert path.read_bytes() == b"whole"
    assert list(path.parent.iterdir()) == [path]


def test_the_instructions_are_those_that_the_program_knows() -> None:
    assert list(INSTRUCTIONS) == PROGRAMS
    assert INSTRUCTIONS["wgmma.m64n8k32.f16.e5m2.e4m3"].digits == {"a": 2, "b": 2, "c": 4, "d": 4}
    assert INSTRUCTIONS["mma.m16n8k4.f32.tf32.tf32"].digits == {"a": 8, "b": 8, "c": 8, "d": 8}
    mixed = INSTRUCTIONS["mma.m16n8k32.f32.e3m2.e2m1.mxf8f6f4.1x.ue8m0"]
    assert mixed.digits == {"a": 2, "b": 1, "c": 8, "d": 8, "scale_a": 2, "scale_b": 2}


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


ROOT = Path(__file__).parents[2]
H200 = ROOT / "vectors" / "silicon" / "h200"
PAGE = ROOT / "docs" / "silicon.md"
ROW = re.compile(r"^\| `([\w-]+)` \| ([^|]+) \| ([^|]*)\| ([^|]*)\|$", re.MULTILINE)
UNITS = [one["unit"] for one in yaml.safe_load((H200 / "manifest.yaml").read_text())["instructions"].values()]
OF_EACH_KIND = ("hopper-wgmma-e4m3-f32", "hopper-wgmma-f16-f16", "hopper-mma-e4m3xe5m2-f32")
CASES = 3000


def rows() -> list[tuple[str, str, str, str]]:
    return ROW.findall(PAGE.read_text())


def test_the_page_asks_every_question() -> None:
    assert [(name, question) for name, question, _, _ in rows()] == [(rule.name, rule.question) for rule in QUESTIONS]


def test_every_instruction_was_captured() -> None:
    stored = load(H200)
    assert sorted(one.instruction.name for one in stored) == sorted(HOPPER)
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


CALLED = "hopper-mma-f16-f32"
NAME = "mma.m16n8k16.f32.f16.f16"

Printed = pytest.CaptureFixture[str]


def measure(cases: Path, results: Path, fault: str = "") -> int:
    """Run the capture program on a stand-in that computes with the model."""
    compiler = shutil.which("g++")
    if compiler is None:
        missing("no g++: the capture program cannot be built")
    words = ["sh", str(SOURCE / "run"), "--standin", str(cases), str(results)]
    with tempfile.TemporaryDirectory() as folder:
        variables = environment(fault, CXX=quick_compiler(Path(folder), str(compiler)))
        done = subprocess.run(words, env=variables, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A case file of one unit, and the results of a stand-in that does what the unit says."""
    folder = tmp_path_factory.mktemp("capture")
    cases, results = folder / "cases.txt", folder / "results.txt"
    assert main(["capture", "cases", CALLED, "-o", str(cases), "--cases", "1200", "--seed", "5"]) == 0
    assert measure(cases, results) == 0
    return cases, results


def test_from_cases_to_verdicts(files: tuple[Path, Path], tmp_path: Path, capsys: Printed) -> None:
    assert main(["capture", "import", *map(str, files), "-o", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    folder = tmp_path / "stand-in-no-gpu"
    assert printed.out.splitlines() == [
        f"{folder}: 1 instructions of stand-in (no GPU)",
        f"judge them: hwsim capture judge {folder}",
    ]
    with np.load(folder / f"{NAME}.npz") as arrays:
        assert len(arrays["d"]) == 1200
        assert arrays["d"].any()
    assert main(["capture", "judge", str(folder)]) == 0
    printed = capsys.readouterr()
    assert f"{CALLED}: {NAME}, 1,200 results\n" in printed.out
    assert "as specified, the unit explains 1,200 of 1,200 results" in printed.out
    assert re.search(
        r"^lost +settled +truncated +\d+ +\d+ +left +case \d+ refutes another: returned 0x", printed.out, re.M
    )
    assert re.search(r"^floor +open +none ", printed.out, re.M)
    assert "refuted" not in printed.out
    assert main(["capture", "judge", str(folder), CALLED, "--all"]) == 0
    every = capsys.readouterr().out
    assert re.search(r"^ +floored +\d+ +\d+ +refuted +case \d+ refutes it: returned 0x\w{8}, not 0x\w{8}$", every, re.M)
    assert len(every.splitlines()) > len(printed.out.splitlines())


@pytest.mark.slow
def test_a_machine_that_does_something_else_is_said_to(
    files: tuple[Path, Path], tmp_path: Path, capsys: Printed
) -> None:
    results = tmp_path / "results.txt"
    measure(files[0], results, "changed")
    assert main(["capture", "import", str(files[0]), str(results), "-o", str(tmp_path)]) == 0
    assert f"{NAME}: 1 results changed from one run to the next; they are kept, and not judged" in " ".join(
        capsys.readouterr().err.split()
    )
    assert main(["capture", "judge", str(tmp_path / "stand-in-no-gpu")]) == 0
    assert "1,199 results; 1 unstable ones are left out" in capsys.readouterr().out
    lines = files[1].read_text().splitlines()
    first = lines.index("results 1200") + 1
    lines[first : first + 1200] = [f"{i} 3f800000" for i in range(1200)]
    results.write_text("".join(f"{line}\n" for line in lines))
    words = ["capture", "import", str(files[0]), str(results), "-o", str(tmp_path)]
    assert main(words) == 2
    assert "holds results of" in capsys.readouterr().err
    assert main([*words, "--replace"]) == 0
    assert main(["capture", "judge", str(tmp_path / "stand-in-no-gpu")]) == 1
    printed = capsys.readouterr().out
    assert re.search(r"^lost +unexplained ", printed, re.M)
    assert re.search(r"^case \d+ is not explained: returned 0x3f800000, not 0x", printed, re.M)


def test_mixed_up_files_are_named_by_line(files: tuple[Path, Path], tmp_path: Path, capsys: Printed) -> None:
    other = tmp_path / "other.txt"
    other.write_bytes(files[0].read_bytes().replace(b"seed 5", b"seed 6", 1))
    assert main(["capture", "import", str(other), str(files[1])]) == 2
    assert f"error: {files[1]}:2: these are the results of other cases" in capsys.readouterr().err
    assert main(["capture", "import", str(files[0]), str(files[0])]) == 2
    assert f"error: {files[0]}:1: this is no result file" in capsys.readouterr().err
    assert not Path("vectors/silicon/stand-in-no-gpu").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cases", "hopper", "-o", "x"], "unknown unit 'hopper'"),
        (["cases", "cdna3-mfma-e4m3fnuz-f32", "-o", "x"], "is none of the instructions that can be captured"),
        (["cases", CALLED, CALLED, "-o", "x"], f"{NAME} is asked for by more than one unit"),
        (["cases", CALLED, "-o", "x", "--instruction", "mma"], "unknown instruction 'mma'"),
        (["cases", CALLED], "Missing option"),
        (["import", "none.txt", "none.txt"], "none.txt: No such file or directory"),
        (["judge", "nowhere"], "nowhere holds no captured results"),
    ],
)
def test_bad_input_is_status_2(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["capture", *words]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert list(tmp_path.iterdir()) == []


def test_the_help_teaches(capsys: Printed) -> None:
    assert main(["capture", "--help"]) == 0
    assert "capture/run cases.txt results.txt" in capsys.readouterr().out
    for command in ("cases", "import", "judge"):
        assert main(["capture", command, "--help"]) == 0
        assert f"hwsim capture {command}" in capsys.readouterr().out
