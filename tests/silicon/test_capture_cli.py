"""`hwsim capture`, from cases to verdicts, with the capture program on a stand-in for the GPU."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest
from conftest import missing
from silicon.capture_program import SOURCE, environment, quick_compiler

from hwsim.cli import main

UNIT = "hopper-mma-f16-f32"
NAME = "mma.m16n8k16.f32.f16.f16"

Captured = pytest.CaptureFixture[str]


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
    assert main(["capture", "cases", UNIT, "-o", str(cases), "--cases", "1200", "--seed", "5"]) == 0
    assert measure(cases, results) == 0
    return cases, results


def test_from_cases_to_verdicts(files: tuple[Path, Path], tmp_path: Path, capsys: Captured) -> None:
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
    assert f"{UNIT}: {NAME}, 1,200 results\n" in printed.out
    assert "as specified, the unit explains 1,200 of 1,200 results" in printed.out
    assert re.search(
        r"^lost +settled +truncated +\d+ +\d+ +left +case \d+ refutes another: returned 0x", printed.out, re.M
    )
    assert re.search(r"^floor +open +none ", printed.out, re.M)
    assert "refuted" not in printed.out
    assert main(["capture", "judge", str(folder), UNIT, "--all"]) == 0
    every = capsys.readouterr().out
    assert re.search(r"^ +floored +\d+ +\d+ +refuted +case \d+ refutes it: returned 0x\w{8}, not 0x\w{8}$", every, re.M)
    assert len(every.splitlines()) > len(printed.out.splitlines())


@pytest.mark.slow
def test_a_machine_that_does_something_else_is_said_to(
    files: tuple[Path, Path], tmp_path: Path, capsys: Captured
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


def test_mixed_up_files_are_named_by_line(files: tuple[Path, Path], tmp_path: Path, capsys: Captured) -> None:
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
        (["cases", "mxfp8-e4m3-f32", "-o", "x"], "is none of the instructions that can be captured"),
        (["cases", UNIT, UNIT, "-o", "x"], f"{NAME} is asked for by more than one unit"),
        (["cases", UNIT, "-o", "x", "--instruction", "mma"], "unknown instruction 'mma'"),
        (["cases", UNIT], "Missing option"),
        (["import", "none.txt", "none.txt"], "none.txt: No such file or directory"),
        (["judge", "nowhere"], "nowhere holds no captured results"),
    ],
)
def test_bad_input_is_status_2(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["capture", *words]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert list(tmp_path.iterdir()) == []


def test_the_help_teaches(capsys: Captured) -> None:
    assert main(["capture", "--help"]) == 0
    assert "capture/run cases.txt results.txt" in capsys.readouterr().out
    for command in ("cases", "import", "judge"):
        assert main(["capture", command, "--help"]) == 0
        assert f"hwsim capture {command}" in capsys.readouterr().out
