"""Case and result files: what is written is read back, and what is wrong is named by line."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from silicon.capture_samples import FACTS_OF_H200, WGMMA, machine, results_file, section, written

from hwsim.base.files import replaced
from hwsim.explain.silicon.cases import INSTRUCTIONS, read_cases, write_cases
from hwsim.explain.silicon.results import folder_name, load, read_results, store


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
    # 8 of wgmma, 8 of mma FP8, 7 others.
    assert len(INSTRUCTIONS) == 28
    assert INSTRUCTIONS["wgmma.m64n8k32.f16.e5m2.e4m3"].digits == (2, 4)
    assert INSTRUCTIONS["mma.m16n8k4.f32.tf32.tf32"].digits == (8, 8)
