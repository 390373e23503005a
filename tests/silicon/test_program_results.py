"""The capture program: what comes back, and runs that fail. A stand-in for the GPU answers with `hwsim.dot`."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
from pathlib import Path

import pytest
from patience import LIMIT
from silicon.capture_program import (
    GOOD,
    INSTRUCTIONS,
    SOURCE,
    Build,
    Section,
    after_head,
    capture,
    case_file,
    environment,
)

from hwsim.explain.silicon.cases import read_cases
from hwsim.explain.silicon.results import read_results


def test_every_instruction_gives_what_the_model_gives(
    build: Build, sections: dict[str, Section], tmp_path: Path
) -> None:
    cases = case_file(tmp_path / "cases", *(one.lines for one in sections.values()))
    done = capture(build.program, cases, tmp_path / "results")
    assert done.returncode == 0, done.stderr
    wanted = [line for one in sections.values() for line in one.results]
    assert after_head(tmp_path / "results") == [*wanted, "end"]
    # What is compared varies: no constant would do.
    assert len({line.split()[-1] for line in wanted}) > 150
    said = [f"{name}: 16 cases, each run twice: 16 stable, 0 unstable" for name in INSTRUCTIONS]
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
        ("8.0", ["9.0", "8.9 or later", ""]),
        ("8.9", ["9.0", "", ""]),
        ("10.0", ["9.0", "", ""]),
    ],
)
def test_what_the_gpu_lacks_is_skipped(
    capability: str, needed: list[str], build: Build, sections: dict[str, Section], tmp_path: Path
) -> None:
    names = ["wgmma.m64n8k32.f32.e4m3.e4m3", "mma.m16n8k32.f32.e4m3.e4m3", "mma.m16n8k8.f32.bf16.bf16"]
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
    assert done.stderr.count(": 16 cases, each run twice: 15 stable, 1 unstable\n") == 2


def test_operands_out_of_place_are_reported_and_not_believed(
    build: Build, sections: dict[str, Section], tmp_path: Path
) -> None:
    cases = case_file(tmp_path / "cases", sections["mma.m16n8k4.f32.tf32.tf32"].lines)
    done = capture(build.program, cases, tmp_path / "results", "apart")
    assert done.returncode == 1
    reason = "operands are out of place: a 1 at k 0 of a and one at k 1 of b must not meet"
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
    cases = case_file(tmp_path / "cases", *(sections[name].lines for name in INSTRUCTIONS[-2:]))
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
