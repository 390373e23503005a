"""The capture program: files, results, how operands are packed, runs that fail; a stand-in answers as the model."""

from __future__ import annotations

import contextlib
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
from built_presets import others_slow
from patience import LIMIT
from silicon.capture_program import (
    BITS,
    GEFORCE,
    GOOD,
    HOPPER,
    INSTRUCTIONS,
    ONE,
    SOURCE,
    TCGEN05,
    WARNINGS,
    Build,
    Section,
    Words,
    after_head,
    capture,
    case_file,
    environment,
    words,
)

from hwsim.explain.silicon.cases import read_cases
from hwsim.explain.silicon.results import read_results

slow = pytest.mark.slow
FEW_SCALED = ["mma.m16n8k32.f32.e3m2.e2m1.mxf8f6f4.1x.ue8m0", GEFORCE[-1]]
FEW_GEFORCE = [*FEW_SCALED, "mma.m16n8k32.f16.e2m1.e5m2"]
SWITCHED = "tcgen05.m128n16k32.s32.u8.s8"  # of which cases have no addend
FEW_TCGEN05 = ["tcgen05.m128n16k32.f16.e2m3.e2m1", "tcgen05.m128n16k8.f32.tf32.tf32", TCGEN05[-1]]


@pytest.mark.parametrize(
    ("names", "capability", "differ"),
    [
        pytest.param(HOPPER, "9.0", 70, id="hopper"),
        pytest.param(FEW_GEFORCE, "12.0", 18, id="few-geforce"),
        pytest.param(GEFORCE, "12.1", 200, id="geforce", marks=slow),
        pytest.param([*FEW_TCGEN05, SWITCHED], "10.0", 24, id="few-tcgen05"),
        pytest.param(TCGEN05, "10.0", 400, id="tcgen05", marks=slow),
    ],
)
def test_every_instruction_gives_what_the_model_gives(
    names: list[str], capability: str, differ: int, build: Build, sections: dict[str, Section], tmp_path: Path
) -> None:
    cases = case_file(tmp_path / "cases", *(sections[name].lines for name in names))
    done = capture(build.program, cases, tmp_path / "results", HWSIM_STANDIN_CAPABILITY=capability)
    assert done.returncode == 0, done.stderr
    wanted = [line for name in names for line in sections[name].results]
    assert after_head(tmp_path / "results") == [*wanted, "end"]
    # What is compared varies: no constant would do.
    assert len({line.split()[-1] for line in wanted}) > differ
    said = [f"{name}: 8 cases, each run twice: 8 stable, 0 unstable" for name in names]
    assert done.stderr.splitlines() == ["stand-in (no GPU)", *said]


def test_a_result_file_says_where_it_comes_from_and_is_read(
    build: Build, sections: dict[str, Section], tmp_path: Path
) -> None:
    chosen = [sections["wgmma.m64n8k32.f16.e5m2.e4m3"], sections["mma.m16n8k8.f32.tf32.tf32"]]
    cases = case_file(tmp_path / "cases", *(one.lines for one in chosen))
    assert capture(build.program, cases, tmp_path / "results", HWSIM_STANDIN_CAPABILITY="8.9").returncode == 0
    head = (tmp_path / "results").read_text().splitlines()[:8]
    known = read_cases(cases)
    assert head[:7] == [
        "hwsim-capture-results 1",
        f"cases {known.checksum}",
        "gpu stand-in (no GPU)",
        "capability 8.9",
        "driver none",
        "cuda-driver none",
        "cuda-runtime none",
    ]
    assert re.fullmatch(r"compiler g\+\+ \d+\..+", head[7])
    skipped, given = read_results(tmp_path / "results", known).sections
    assert (skipped.skipped, skipped.codes) == ("needs compute capability 9.0", ())
    assert [f"{code:08x}" for code in given.codes] == [line.split()[1] for line in chosen[1].results[2:]]


@pytest.mark.parametrize(
    ("capability", "needed"),
    [
        pytest.param("8.0", ["9.0", "8.9 or later", "", "12.0 or 12.1", "10.0 or 10.3", "10.0"], marks=slow),
        ("8.9", ["9.0", "", "", "12.0 or 12.1", "10.0 or 10.3", "10.0"]),
        pytest.param("10.0", ["9.0", "", "", "12.0 or 12.1", "", ""], marks=slow),
        pytest.param("10.3", ["9.0", "", "", "12.0 or 12.1", "", "10.0"], marks=slow),
        pytest.param("12.0", ["9.0", "", "", "", "10.0 or 10.3", "10.0"], marks=slow),
        pytest.param("13.0", ["9.0", "", "", "12.0 or 12.1", "10.0 or 10.3", "10.0"], marks=slow),
    ],
)
def test_what_the_gpu_lacks_is_skipped(
    capability: str, needed: list[str], build: Build, sections: dict[str, Section], tmp_path: Path
) -> None:
    names = ["wgmma.m64n8k32.f32.e4m3.e4m3", "mma.m16n8k32.f32.e4m3.e4m3", "mma.m16n8k8.f32.bf16.bf16", GEFORCE[0]]
    names += [TCGEN05[0], "tcgen05.m128n16k32.s32.s8.u8"]
    cases = case_file(tmp_path / "cases", *(sections[name].lines for name in names))
    done = capture(build.program, cases, tmp_path / "results", HWSIM_STANDIN_CAPABILITY=capability)
    assert done.returncode == 0, done.stderr
    wanted = ["end"]
    for name, text in zip(reversed(names), reversed(needed), strict=True):
        skipped = [f"instruction {name}", f"skipped needs compute capability {text}"]
        wanted = [*(skipped if text else sections[name].results), *wanted]
        assert f"{name}: skipped: needs compute capability {text}\n" in done.stderr or not text
    assert after_head(tmp_path / "results") == wanted


@pytest.mark.parametrize("fault", ["changed", "torn"])
def test_an_unstable_result_is_reported(fault: str, build: Build, sections: dict[str, Section], tmp_path: Path) -> None:
    bad, good = sections["mma.m16n8k16.f32.bf16.bf16"], sections["mma.m16n8k16.f16.f16.f16"]
    cases = case_file(tmp_path / "cases", bad.lines, good.lines)
    done = capture(build.program, cases, tmp_path / "results", fault)
    assert done.returncode == 1
    wanted = []
    for one in (bad, good):
        texts = [line.split()[-1] for line in one.lines[3:]]
        at = max(range(len(texts)), key=lambda at: texts[at])
        rows = one.results
        code = rows[2 + at].split()[1]
        other = f"{int(code, 16) ^ 1:0{len(code)}x}"
        # A run that differs from the other comes second; elements of a tile have no order, so the lower code is first.
        pair = (code, other) if fault == "changed" else sorted((code, other))
        rows[2 + at] = f"{at} unstable {' '.join(pair)}"
        wanted += rows
    assert after_head(tmp_path / "results") == [*wanted, "end"]
    assert done.stderr.count(": 8 cases, each run twice: 7 stable, 1 unstable\n") == 2


def test_operands_out_of_place_are_reported_and_not_believed(
    build: Build, sections: dict[str, Section], tmp_path: Path
) -> None:
    cases = case_file(tmp_path / "cases", sections["mma.m16n8k4.f32.tf32.tf32"].lines)
    done = capture(build.program, cases, tmp_path / "results", "apart")
    assert done.returncode == 1
    reason = "operands are out of place: k 0 of a must meet no other of b"
    assert after_head(tmp_path / "results")[1:] == [f"skipped {reason}", "end"]
    assert reason in done.stderr


# Runs that fail.


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("garbage", "the stand-in answered 'none\n', which is no code"),
        ("dies", "the stand-in ended before it had answered"),
    ],
)
def test_a_failing_device_leaves_no_results(
    fault: str, message: str, build: Build, sections: dict[str, Section], tmp_path: Path
) -> None:
    cases = case_file(tmp_path / "cases", *(sections[name].lines for name in HOPPER[-2:]))
    done = capture(build.program, cases, tmp_path / "results", fault)
    assert (done.returncode, done.stderr) == (3, f"stand-in (no GPU)\nerror: {message}\n")
    assert [path.name for path in tmp_path.iterdir()] == ["cases"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_leaves_no_results(
    number: signal.Signals, build: Build, sections: dict[str, Section], tmp_path: Path
) -> None:
    cases = case_file(tmp_path / "cases", sections["mma.m16n8k4.f32.tf32.tf32"].lines)
    command = [str(build.program), str(cases), str(tmp_path / "results")]
    with (
        subprocess.Popen(command, env=environment("hangs"), stderr=subprocess.PIPE, text=True) as running,
        contextlib.ExitStack() as watchdog,
    ):
        watchdog.callback(running.kill)
        assert running.stderr is not None
        assert [running.stderr.readline() for _ in range(2)] == ["stand-in (no GPU)\n", "hangs\n"]
        # The file is being written, under another name.
        (part,) = set(tmp_path.iterdir()) - {cases}
        assert part.name == f"results.part{running.pid}"
        running.send_signal(number)
        assert running.wait(LIMIT) == -number
    assert [path.name for path in tmp_path.iterdir()] == ["cases"]


def test_results_that_cannot_be_written_are_an_error_before_the_gpu_is_asked(build: Build, tmp_path: Path) -> None:
    cases = case_file(tmp_path / "cases", GOOD)
    done = capture(build.program, cases, tmp_path / "absent" / "results", HWSIM_STANDIN="echo asked >&2")
    assert (done.returncode, done.stderr) == (2, f"error: {tmp_path}/absent/results: No such file or directory\n")


def test_without_a_stand_in_there_is_an_error(build: Build, tmp_path: Path) -> None:
    done = capture(build.program, case_file(tmp_path / "cases", GOOD), tmp_path / "results", HWSIM_STANDIN="")
    assert (done.returncode, done.stderr) == (3, "error: HWSIM_STANDIN names no command\n")


@pytest.mark.parametrize("arguments", [[], ["cases"], ["cases", "results", "more"], ["--what", "results"]])
def test_bad_usage_is_exit_status_2(arguments: list[str], build: Build) -> None:
    for program in (build.program, SOURCE / "run"):
        done = subprocess.run([program, *arguments], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (2, "")
        assert re.fullmatch(r"usage: \S+ (\[--standin\] )?CASES RESULTS\n", done.stderr)


def test_help_is_printed(build: Build) -> None:
    for program in (build.program, SOURCE / "run"):
        done = subprocess.run([program, "--help"], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("usage: ")
        assert "3 " in done.stdout.partition("Exit status:")[2]


WGMMA = [
    "instruction wgmma.m64n8k32.f16.e4m3.e5m2",
    "unit any",
    "cases 1",
    f"0 tag 32 - {'38' * 32} {'3c' * 32}",
]


MX_FILE = [
    f"instruction {FEW_SCALED[0]}",
    "unit any",
    "cases 1",
    f"0 tag 64 {ONE} {'0c' * 64} {'2' * 64} 7f80 8182",
]


class Broken(NamedTuple):
    """A line of the file of GOOD, WGMMA and MX_FILE, and what it becomes. where: the line that is named, if another."""

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
    "no-scales": Broken(16, f"0 tag 64 {ONE} {'0c' * 64} {'2' * 64}", "must be a case, 'ID TAG K C A B SA SB'"),
    "fewer-scales": Broken(
        16, f"0 tag 64 {ONE} {'0c' * 64} {'2' * 64} 7f 8182", "the scales of a must have 2 codes of 2 digits, which is"
    ),
    "wide-code": Broken(16, f"0 tag 64 {ONE} {'40' * 64} {'2' * 64} 7f80 8182", "a must be codes of 6 bits, not '40'"),
    "scale-digits": Broken(
        16,
        f"0 tag 64 {ONE} {'0c' * 64} {'2' * 64} 7f80 818G",
        "the scales of b must be lower-case hexadecimal digits, not '8G'",
    ),
    "after-the-end": Broken(17, "end\nend", "'end' must be the last line", 18),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_case_file_is_refused_with_its_line(name: str, build: Build, tmp_path: Path) -> None:
    broken = BROKEN[name]
    cases = case_file(tmp_path / "cases", GOOD, WGMMA, MX_FILE)
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


DUMP = r"""
#include <cstdio>
#include "fragments.hpp"
#include "instructions.hpp"
using namespace capture;
int main() {
    for (const Instruction& one : INSTRUCTIONS) {
        const char* name = one.name.data();
        for (int k = 0; k < one.k; ++k) std::printf("%s bit %d %d\n", name, one.bit(one.a, k), one.bit(one.b, k));
        if (one.family != Family::mma) {
            const bool tensor = one.family == Family::tcgen05;
            const auto described = tensor ? tensor_descriptor(0x12340) : descriptor(0x12340);
            std::printf("%s descriptor %llx\n", name, static_cast<unsigned long long>(described));
            if (tensor) std::printf("%s descriptor %x\n", name, instruction_descriptor(one));
            for (int row = 0; row < (tensor ? TENSOR_M : 64); ++row)
                for (int word = 0; word < ROW_WORDS; ++word)
                    std::printf("%s core %d %d %d\n", name, row, word, core_word(row, word));
            continue;
        }
        for (int lane = 0; lane < 32; ++lane) {
            for (int place = 0; place < one.words() / 2; ++place)
                std::printf("%s a %d %d %d\n", name, lane, place, a_word(lane, place));
            for (int place = 0; place < one.words() / 4; ++place)
                std::printf("%s b %d %d %d\n", name, lane, place, b_word(lane, place));
            std::printf("%s scales %d %d %d\n", name, lane, gives_scale_a(lane), gives_scale_b(lane));
        }
    }
}
"""


@pytest.fixture(scope="module")
def packing(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], list[list[int]]]:
    """By instruction and side: rows of what the packing functions take and give."""
    folder = tmp_path_factory.mktemp("packing")
    (folder / "dump.cpp").write_text(DUMP)
    command = [compiler, "-std=c++17", *WARNINGS, f"-I{SOURCE}", "-o", str(folder / "dump"), str(folder / "dump.cpp")]
    subprocess.run(command, check=True)
    text = subprocess.run([folder / "dump"], check=True, capture_output=True, text=True).stdout
    found: dict[tuple[str, str], list[list[int]]] = {}
    for line in text.splitlines():
        name, side, *numbers = line.split()
        found.setdefault((name, side), []).append(
            [int(number, 16 if side == "descriptor" else 10) for number in numbers]
        )
    return found


def places(k: int, bits: int, side: str, lane: int) -> list[tuple[int, int]]:
    """(row or column, k) of the elements a0, a1, ... or b0, b1, ... of a lane.

    PTX ISA 9.0, "Matrix Fragments for mma.m16n8k4", "... mma.m16n8k8", "... mma.m16n8k16 with floating point type",
    "... mma.m16n8k32" and "... mma.m16n8k64": the formulas for row and col.
    """
    group, thread = lane >> 2, lane % 4
    if side == "b":
        columns = {
            (4, 32): [thread],
            (8, 32): [thread, thread + 4],
            (8, 16): [thread * 2 + (i & 1) for i in range(2)],
            (16, 16): [thread * 2 + (i & 1) + (8 if i >= 2 else 0) for i in range(4)],
            (32, 8): [thread * 4 + (i & 3) + (16 if i >= 4 else 0) for i in range(8)],
            (64, 4): [thread * 8 + (i & 7) + (32 if i >= 8 else 0) for i in range(16)],
        }
        return [(group, at) for at in columns[k, bits]]
    rows = {
        (4, 32): [(group, thread), (group + 8, thread)],
        (8, 32): [(group, thread), (group + 8, thread), (group, thread + 4), (group + 8, thread + 4)],
        (8, 16): [(group if i < 2 else group + 8, thread * 2 + (i & 1)) for i in range(4)],
        (16, 16): [
            (group if i in (0, 1, 4, 5) else group + 8, thread * 2 + (i & 1) + (8 if i >= 4 else 0)) for i in range(8)
        ],
        (32, 8): [
            (group if i < 4 or 8 <= i < 12 else group + 8, thread * 4 + (i & 3) + (16 if i >= 8 else 0))
            for i in range(16)
        ],
        (64, 4): [
            (group if i < 8 or 16 <= i < 24 else group + 8, thread * 8 + (i & 7) + (32 if i >= 16 else 0))
            for i in range(32)
        ],
    }
    return rows[k, bits]


def container_bits(one: Words) -> int:
    return 8 if one.k == 32 else BITS[one.a]


@pytest.mark.parametrize("side", ["a", "b"])
@pytest.mark.parametrize("name", [name for name in INSTRUCTIONS if name.startswith("mma.")])
def test_registers_hold_every_k_where_the_ptx_isa_says(
    name: str, side: str, packing: dict[tuple[str, str], list[list[int]]]
) -> None:
    one = words(name)
    bits = container_bits(one)
    held = {}
    for lane, place, word in packing[name, side]:
        held[lane, place] = [word * 32 // bits + at for at in range(32 // bits)]
    seen: dict[int, list[int]] = {}
    for lane in range(32):
        wanted = places(one.k, bits, side, lane)
        registers = len(wanted) * bits // 32
        got = [k for place in range(registers) for k in held.pop((lane, place))]
        assert got == [k for _, k in wanted]
        for line, k in wanted:
            seen.setdefault(line, []).append(k)
    assert not held
    # Over the lanes, every row of A and every column of B has every k once.
    assert {line: sorted(ks) for line, ks in seen.items()} == {
        line: list(range(one.k)) for line in range(16 if side == "a" else 8)
    }


# Layouts of CUTLASS 4 (cute/atom, mma_traits_sm80.hpp and mma_traits_sm120.hpp), by k: of thread and value, shapes and
# strides, to a place in a matrix of 16 rows of A, or 8 columns of B, for each k.
CUTE = {
    (32, "a"): (((4, 8), (4, 2, 2)), ((64, 1), (16, 8, 256))),
    (32, "b"): (((4, 8), (4, 2)), ((32, 1), (8, 128))),
    (64, "a"): (((4, 8), (8, 2, 2)), ((128, 1), (16, 8, 512))),
    (64, "b"): (((4, 8), (8, 2)), ((64, 1), (8, 256))),
    (0, "a"): (((2, 2, 8), (1,)), ((8, 0, 1), (0,))),  # scales
    (0, "b"): (((4, 8), (1,)), ((0, 1), (0,))),
}


def cute(k: int, side: str, thread: int, value: int) -> int:
    """Where a layout puts a thread's value: each mode is counted in its shape, the first digit fastest."""
    place = 0
    for index, shape, stride in zip((thread, value), *CUTE[k, side], strict=True):
        for size, step in zip(shape, stride, strict=True):
            index, digit = divmod(index, size)
            place += digit * step
        assert index == 0
    return place


@pytest.mark.parametrize("name", [*FEW_GEFORCE, *GEFORCE[-3:-1]])
def test_registers_hold_what_cutlass_puts_there(name: str, packing: dict[tuple[str, str], list[list[int]]]) -> None:
    one = words(name)
    each = 32 // container_bits(one)
    for side, lines in (("a", 16), ("b", 8)):
        for lane, place, word in packing[name, side]:
            for at in range(each):
                found = cute(one.k, side, lane, place * each + at)
                assert found // lines == word * each + at
        # Each line's scales come from one lane, of those that have them.
        giving = [row[0] for row in packing[name, "scales"] if row[1 if side == "a" else 2]]
        assert sorted(cute(0, side, lane, 0) for lane in giving) == list(range(lines))
    # A byte has FP4 in the middle, and FP6 at the bottom.
    shifts = [2 if one.k == 32 and fmt == "e2m1" else 0 for fmt in (one.a, one.b)]
    bits = container_bits(one)
    assert packing[name, "bit"] == [[k * bits + shift for shift in shifts] for k in range(one.k)]


@pytest.mark.parametrize("name", [*HOPPER[:1], *HOPPER[8:12], *FEW_TCGEN05])
def test_shared_memory_holds_every_k_where_the_descriptor_says(
    name: str, packing: dict[tuple[str, str], list[list[int]]]
) -> None:
    # PTX ISA 9.0, "Matrix Descriptor Format": 14 bits each from bits 0, 16 and 32, in units of 16 bytes; of tcgen05
    # with 1 from bit 46.
    (descriptor,), *_ = packing[name, "descriptor"]
    start, leading, stride = ((descriptor >> low & 0x3FFF) * 16 for low in (0, 16, 32))
    tensor = name.startswith("tcgen05")
    assert (start, descriptor >> 46, descriptor >> 14 & 3, descriptor >> 30 & 3) == (0x12340, tensor, 0, 0)
    # "Strides", K-major without swizzling: core matrices of 8 rows of 16 bytes; the leading offset leads to the next
    # one along k, the stride offset to the next 8 rows.
    rows = 128 if tensor else 64
    assert packing[name, "core"] == [
        [row, word, (row // 8 * stride + word // 4 * leading + row % 8 * 16 + word % 4 * 4) // 4]
        for row in range(rows)
        for word in range(8)
    ]
    # No two share a place, and A's rows fill 32 bytes each.
    assert sorted(at for _, _, at in packing[name, "core"]) == list(range(rows * 8))
    # FP8, FP6 and FP4 of one instruction have 16 bytes for 16 neighbours, the padding last.
    if tensor and words(name).k == 32:
        bits = [BITS[words(name).a], BITS[words(name).b]]
        assert packing[name, "bit"] == [[k // 16 * 128 + k % 16 * each for each in bits] for k in range(32)]


# Fields of CUTLASS's InstrDescriptor, with block scales too (cute/arch/mma_sm100_desc.hpp): first bit and width.
FIELDS = {"c_format": (4, 2), "a_format": (7, 3), "b_format": (10, 3), "n_dim": (17, 6), "m_dim": (24, 5)}
NUMBERS = {"e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5, "f16": 0, "bf16": 1, "tf32": 2, "u8": 0, "s8": 1}


@pytest.mark.parametrize("name", TCGEN05)
def test_the_instruction_descriptor_is_that_of_cutlass(
    name: str, packing: dict[tuple[str, str], list[list[int]]]
) -> None:
    one = words(name)
    numbers = {**NUMBERS, "e2m1": 1} if one.kind in ("mxf4", "mxf4nvf4") else NUMBERS
    values = {"a_format": numbers[one.a], "b_format": numbers[one.b], "n_dim": 16 >> 3, "m_dim": 128 >> 4}
    if not one.blocks:
        values["c_format"] = {"f16": 0, "f32": 1, "s32": 2}[one.d]
    wanted = sum(value << FIELDS[field][0] for field, value in values.items()) | (one.scale == "ue8m0") << 23
    assert all(value < 1 << FIELDS[field][1] for field, value in values.items())
    assert packing[name, "descriptor"][1] == [wanted]


class Mutant(NamedTuple):
    """Text of a file of the program, and what it becomes. message: what is said, or nothing where results differ."""

    file: str
    old: str
    new: str
    message: str
    asked: tuple[str, ...] = ("mma.m16n8k32.f32.e4m3.e4m3", "wgmma.m64n8k32.f32.e4m3.e4m3")
    capability: str = "9.0"


MX = {"asked": tuple(FEW_SCALED[::-1]), "capability": "12.0"}
TENSOR = {"asked": tuple(FEW_TCGEN05[::-1]), "capability": "10.0"}
MUTANTS = {
    "a's registers in another order": Mutant(
        "fragments.hpp",
        "return place / 2 * 4 + lane % 4;",
        "return place % 2 * 4 + lane % 4;",
        "rows or columns differ",
    ),
    "lanes in another order": Mutant(
        "fragments.hpp",
        "return place * 4 + lane % 4;",
        "return place * 4 + 3 - lane % 4;",
        "operands are out of place",
    ),
    "halves of k exchanged for a and b alike": Mutant(
        "fragments.hpp",
        "word / 4 * (LEADING_BYTES / 4)",
        "(1 - word / 4) * (LEADING_BYTES / 4)",
        "",
    ),
    "leading and stride offsets exchanged": Mutant(
        "fragments.hpp",
        "descriptor_field(LEADING_BYTES) << 16 | descriptor_field(STRIDE_BYTES) << 32",
        "descriptor_field(STRIDE_BYTES) << 16 | descriptor_field(LEADING_BYTES) << 32",
        "rows or columns differ",
    ),
    "codes in a word from the top": Mutant(
        "cases.hpp",
        "code << bit % 32;",
        "code << (32 - format.bits - bit % 32);",
        "",
    ),
    "one step of a chain for another": Mutant(
        "kernels.cuh",
        "one.first + std::uint64_t{step} * 4 * Op::B;",
        "one.first;",
        "",
    ),
    "the addend of every step": Mutant(
        "kernels.cuh",
        "Op::issue(d, a, b);",
        "for (int i = 0; i < Op::D; ++i) fill(d[i], one.c);\n                Op::issue(d, a, b);",
        "an instruction's addend is not the result before it",
    ),
    "scales of a from the other pair of lanes": Mutant(
        "fragments.hpp",
        "return lane % 4 / 2 == SCALE_PAIR_A;",
        "return lane % 4 / 2 == 1 - SCALE_PAIR_A;",
        "operands are out of place",
        **MX,
    ),
    "scales of a from one lane of each four": Mutant(
        "fragments.hpp",
        "return lane % 4 / 2 == SCALE_PAIR_A;",
        "return lane % 4 == SCALE_PAIR_A;",
        "rows or columns differ",
        **MX,
    ),
    "scales of b from the next lane": Mutant(
        "fragments.hpp",
        "return lane % 4 == SCALE_LANE_B;",
        "return lane % 4 == SCALE_LANE_B + 1;",
        "operands are out of place",
        **MX,
    ),
    "scales in a word from the top": Mutant(
        "cases.hpp",
        "(SCALE_BYTE + block) * 8",
        "(3 - SCALE_BYTE - block) * 8",
        "operands are out of place: k 0 of a must have the scale of its block",
        **MX,
    ),
    "scales of b for those of a": Mutant(
        "kernels.cuh",
        "gives_scale_a(lane) ? batch.scale_a[at]",
        "gives_scale_a(lane) ? batch.scale_b[at]",
        "operands are out of place: k 16 of a must have the scale of its block",
        **MX,
    ),
    "one scale for every step of a chain": Mutant(
        "kernels.cuh",
        "const std::uint64_t at = first / (4 * Op::B);",
        "const std::uint64_t at = one.first / (4 * Op::B);",
        "",
        **MX,
    ),
    "FP4 at the bottom of its byte": Mutant(
        "instructions.hpp",
        "(format.bits == 4 ? 2 : 0)",
        "0",
        "padding is not zero",
        **MX,
    ),
    "FP4 and FP6 of shared memory in bytes": Mutant(
        "instructions.hpp",
        "at / 16 * 128 + at % 16 * format.bits",
        "at * 8",
        "operands are out of place",
        **TENSOR,
    ),
    "a matrix descriptor without its constant": Mutant(
        "fragments.hpp",
        "return descriptor(address) | std::uint64_t{1} << 46;",
        "return descriptor(address);",
        "the descriptor lacks its constant",
        **TENSOR,
    ),
    "E2M3 for E3M2": Mutant(
        "fragments.hpp",
        "format.one == E2M3.one ? 3 : 4",
        "format.one == E2M3.one ? 4 : 3",
        "the instruction descriptor has another format of A",
        **TENSOR,
    ),
    "scales of UE8M0 for UE4M3": Mutant(
        "fragments.hpp",
        "(instruction.scale.one == UE8M0.one) << 23",
        "1u << 23",
        "the instruction descriptor has another format of scales",
        **TENSOR,
    ),
    "scales of the other side": Mutant(
        "kernels.cuh",
        "addend, d + SCALE_A_COLUMN, d + SCALE_B_COLUMN",
        "addend, d + SCALE_B_COLUMN, d + SCALE_B_COLUMN",
        "operands are out of place: k 16 of a must have the scale of its block",
        **TENSOR,
    ),
    "scales where D is": Mutant(
        "fragments.hpp", "SCALE_A_COLUMN = 16", "SCALE_A_COLUMN = 15", "elements of C", **TENSOR
    ),
    "rows of scales one after another": Mutant(
        "fragments.hpp",
        "SCALE_ROWS_BYTES = 128;",
        "SCALE_ROWS_BYTES = 1024;",
        "an element is beyond what is filled",
        **TENSOR,
    ),
    "nobody waits for the multiplication": Mutant(
        "kernels.cuh",
        "            barrier_wait(barrier, phase);\n",
        "",
        "tensor memory is freed that is not allocated, or in use",
        **TENSOR,
    ),
    "the barrier's phase stays": Mutant("kernels.cuh", "            phase ^= 1;\n", "", "", **TENSOR),
    "a warp's lanes are the first": Mutant(
        "kernels.cuh",
        "own = d + (thread / 32 * 32 << 16)",
        "own = d",
        "a warp's lanes of tensor memory are others",
        **TENSOR,
    ),
    "the address of tensor memory is 0": Mutant(
        "kernels.cuh",
        "const std::uint32_t d = shared.address,",
        "const std::uint32_t d = 0,",
        "an address is in no tensor memory that is allocated",
        **TENSOR,
    ),
    "the upper half of a word is read": Mutant(
        "kernels.cuh",
        "words[i] & batch.mask",
        "words[i]",
        "an element of D is not its last result",
        asked=(FEW_TCGEN05[0],),
        capability="10.0",
    ),
    "an addend that is off is on": Mutant(
        "kernels.cuh",
        "const int addend = one.addend || step;",
        "const int addend = 1;",
        "",
        asked=(SWITCHED,),
        capability="10.0",
    ),
    "tensor memory stays": Mutant(
        "kernels.cuh",
        "    if (thread / 32 == 0) tensor_free(d);\n",
        "",
        "tensor memory is not freed",
        **TENSOR,
    ),
}
# The objects that hold what a file says, where that is not the stand-in alone.
CHANGED = {"cases.hpp": ("cases", "measure", "standin"), "instructions.hpp": ("cases", "measure", "standin")}


@pytest.mark.parametrize("mutant", others_slow(MUTANTS, ["scales of b from the next lane"]))
def test_operands_that_are_packed_wrongly_show(
    mutant: str, build: Build, sections: dict[str, Section], tmp_path: Path
) -> None:
    wrong = MUTANTS[mutant]
    folder = tmp_path / "capture"
    shutil.copytree(SOURCE, folder)
    text = (folder / wrong.file).read_text()
    assert text.count(wrong.old) == 1
    (folder / wrong.file).write_text(text.replace(wrong.old, wrong.new))
    objects = dict(build.objects)
    for changed in CHANGED.get(wrong.file, ("standin",)):
        objects[changed] = tmp_path / f"{changed}.o"
        compile_one = [build.compiler, "-std=c++17", "-c", str(folder / f"{changed}.cpp"), "-o", str(objects[changed])]
        subprocess.run(compile_one, check=True)
    subprocess.run([build.compiler, "-o", tmp_path / "program", *objects.values()], check=True)
    chosen = [sections[name] for name in wrong.asked]
    cases = case_file(tmp_path / "cases", *(one.lines for one in chosen))
    others = {"HWSIM_STANDIN_CAPABILITY": wrong.capability}
    done = capture(tmp_path / "program", cases, tmp_path / "results", **others)
    if wrong.message:
        assert done.returncode != 0
        assert wrong.message in done.stderr
    else:
        assert done.returncode != 0 or after_head(tmp_path / "results") != [
            *(line for one in chosen for line in one.results),
            "end",
        ]
