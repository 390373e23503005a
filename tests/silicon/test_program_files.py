"""The capture program: case files that are broken are refused, with their line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest
from silicon.capture_program import GOOD, ONE, SOURCE, Build, capture, case_file

from hwsim.explain.silicon.cases import read_cases
from hwsim.explain.silicon.results import read_results

WGMMA = [
    "instruction wgmma.m64n8k32.f16.e4m3.e5m2",
    "unit any",
    "cases 1",
    f"0 tag 32 - {'38' * 32} {'3c' * 32}",
]


class Broken(NamedTuple):
    """A line of the file of GOOD and WGMMA and what it becomes. where: the line that is named, if it is another."""

    line: int
    text: str
    message: str
    where: int = 0


BROKEN = {
    "head": Broken(1, "hwsim-capture-cases 2", "this is no case file: must be 'hwsim-capture-cases 1', not"),
    "generator": Broken(2, "generator", "must be 'generator ...', not 'generator'"),
    "seed": Broken(3, "seed one", "seed must be a number, not 'one'"),
    "section": Broken(4, "instructions mma", "must be 'instruction ...', not 'instructions mma'"),
    "instruction": Broken(4, "instruction mma.m16n8k8.f16.e4m3.e4m3", "unknown instruction 'mma.m16n8k8.f16.e4m3"),
    "unit": Broken(5, "unit an other", "unit must be one word, not 'an other'"),
    "no-cases": Broken(6, "cases 0", "cases must be a number from 1 to 100000000, not '0'"),
    "cases": Broken(6, "cases 2x", "cases must be a number from 1 to 100000000, not '2x'"),
    "more-cases": Broken(6, "cases 3", "must be a case, 'ID TAG K C A B'", 9),
    "fewer-cases": Broken(6, "cases 1", "must be 'instruction ...', not '1 tag", 8),
    "id": Broken(8, f"2 tag 4 {ONE} {ONE * 4} {ONE * 4}", "must be case 1, not '2'"),
    "same-id": Broken(8, f"0 tag 4 {ONE} {ONE * 4} {ONE * 4}", "must be case 1, not '0'"),
    "words": Broken(7, f"0 tag 4 {ONE} {ONE * 4}", "must be a case, 'ID TAG K C A B'"),
    "two-blanks": Broken(7, f"0 tag  4 {ONE} {ONE * 4} {ONE * 4}", "must be a case, 'ID TAG K C A B'"),
    "more-words": Broken(
        7, f"0 tag 4 {ONE} {ONE * 4} {ONE * 4} ", "b must have 4 codes of 8 digits, which is 32, not 33"
    ),
    "k": Broken(7, f"0 tag 6 {ONE} {ONE * 6} {ONE * 6}", "K must be a multiple of 4 up to 65536, not '6'"),
    "k-zero": Broken(7, f"0 tag 0 {ONE} {ONE * 4} {ONE * 4}", "K must be a multiple of 4 up to 65536, not '0'"),
    "k-negative": Broken(7, f"0 tag -4 {ONE} {ONE * 4} {ONE * 4}", "K must be a multiple of 4 up to 65536, not '-4'"),
    "k-large": Broken(7, f"0 tag 65540 {ONE} {ONE} {ONE}", "K must be a multiple of 4 up to 65536, not '65540'"),
    "c-short": Broken(7, f"0 tag 4 3f80 {ONE * 4} {ONE * 4}", "c must have 8 digits, not '3f80'"),
    "c-off": Broken(
        7, f"0 tag 4 - {ONE * 4} {ONE * 4}", "the addend of mma.m16n8k4.f32.tf32.tf32 cannot be switched off"
    ),
    "c-digits": Broken(
        7, f"0 tag 4 3f8000g0 {ONE * 4} {ONE * 4}", "c must be lower-case hexadecimal digits, not '3f8000g0'"
    ),
    "a-short": Broken(7, f"0 tag 4 {ONE} {ONE * 3} {ONE * 4}", "a must have 4 codes of 8 digits, which is 32, not 24"),
    "b-long": Broken(7, f"0 tag 4 {ONE} {ONE * 4} {ONE * 4}0", "b must have 4 codes of 8 digits, which is 32, not 33"),
    "a-upper": Broken(
        7,
        f"0 tag 4 {ONE} {ONE * 3}3F800000 {ONE * 4}",
        "a must be lower-case hexadecimal digits, not '3F800000'",
    ),
    "a-not-tf32": Broken(
        7,
        f"0 tag 4 {ONE} {ONE * 3}3f801000 {ONE * 4}",
        "a must be binary32 codes whose low 13 bits are zero",
    ),
    "carriage-return": Broken(5, "unit any\r", "a line is ASCII text and ends with LF alone"),
    "not-ascii": Broken(2, "generator \u00e9", "a line is ASCII text and ends with LF alone"),
    "f16-addend": Broken(12, f"0 tag 32 {ONE} {'38' * 32} {'3c' * 32}", "c must have 4 digits, not '3f800000'"),
    "after-the-end": Broken(13, "end\nend", "'end' must be the last line", 14),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_case_file_is_refused_with_its_line(name: str, build: Build, tmp_path: Path) -> None:
    broken = BROKEN[name]
    cases = case_file(tmp_path / "cases", GOOD, WGMMA)
    assert capture(build.program, cases, tmp_path / "results", HWSIM_STANDIN="exit 0").returncode == 3  # it is read
    lines = cases.read_text().split("\n")
    lines[broken.line - 1] = broken.text
    cases.write_text("\n".join(lines), encoding="utf-8", newline="")
    done = capture(build.program, cases, tmp_path / "results")
    assert done.stderr.startswith(f"error: {cases}:{broken.where or broken.line}: {broken.message}"), done.stderr
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert not (tmp_path / "results").exists()


def test_a_case_file_that_is_cut_off_anywhere_is_refused(build: Build, tmp_path: Path) -> None:
    cases = case_file(tmp_path / "cases", GOOD, WGMMA)
    whole = cases.read_bytes()
    cut = tmp_path / "cut"
    for length in [*range(0, len(whole), 7), len(whole) - 1]:
        cut.write_bytes(whole[:length])
        done = capture(build.program, cut, tmp_path / "results")
        line = whole.count(b"\n", 0, length) + 1
        assert done.stderr.startswith(f"error: {cut}:{line}: the file ends"), (length, done.stderr)
        assert done.returncode == 2
    assert not (tmp_path / "results").exists()


def test_the_files_that_the_readme_shows_are_what_is_read_and_written(build: Build, tmp_path: Path) -> None:
    shown = re.findall(r"^```text\n(.*?)^```$", (SOURCE / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    for name, text in zip(("cases", "shown"), shown, strict=True):
        (tmp_path / name).write_text(text)
    known = read_cases(tmp_path / "cases")
    stable, skipped = read_results(tmp_path / "shown", known).sections
    assert (stable.unstable, bool(skipped.skipped)) == ((1,), True)
    capability = "HWSIM_STANDIN_CAPABILITY"
    done = capture(build.program, tmp_path / "cases", tmp_path / "results", "changed", **{capability: "8.0"})
    assert done.returncode == 1, done.stderr
    written = read_results(tmp_path / "results", known).sections
    assert [len(one.unstable) for one in written] == [1, 0]
    assert written[1].skipped == skipped.skipped


@pytest.mark.parametrize("kind", ["absent", "folder"])
def test_a_case_file_that_cannot_be_read_is_named(kind: str, build: Build, tmp_path: Path) -> None:
    if kind == "folder":
        (tmp_path / "cases").mkdir()
    done = capture(build.program, tmp_path / "cases", tmp_path / "results")
    reason = {"absent": "No such file or directory", "folder": "Is a directory"}[kind]
    assert (done.returncode, done.stderr) == (2, f"error: {tmp_path}/cases: {reason}\n")
