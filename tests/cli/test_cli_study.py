from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from cli.cli_run import Run, fails
from patience import LIMIT, wait_until

import hwsim
from hwsim.cli.study import SCRIPTS
from hwsim.study import task as trial
from hwsim.study.report import charts

HOPPER = "hopper-wgmma-e4m3-f32"
SMALL = ["--length", "64", "--trials", "3", "--rows", "4", "--columns", "4", "--no-report"]
STUDY = """study: mine
trials: 3
rows: 4
columns: 4
lengths: [32, 64]
units: [{unit: hopper-wgmma-e4m3-f32, label: Hopper, grid: {fraction_bits: [9, 13]}}]
data: normal
"""


pytestmark = pytest.mark.usefixtures("here")
Study = Callable[..., str]


@pytest.fixture
def study(run: Run) -> Study:
    """`hwsim study` that ends well: what it prints."""

    def call(*words: str) -> str:
        done = run("study", *words)
        assert done.status == 0, done
        return done.out

    return call


def test_a_study_in_a_file(study: Study) -> None:
    Path("s.yaml").write_text(STUDY)
    first = study("s.yaml", "-o", "out", "--no-report")
    lines = first.splitlines()
    assert lines[0].split()[:4] == ["label", "data", "K", "accumulation"]
    assert [re.split(r"\s{2,}", line)[0] for line in lines[1:5]] == [
        "Hopper fraction_bits=9", "Hopper fraction_bits=9", "Hopper fraction_bits=13", "Hopper fraction_bits=13"
    ]  # fmt: skip
    assert "out: 4 points x 3 trials, in " in first and "seed 1" in first
    assert lines[-1] == "again: hwsim study s.yaml --no-report -o out"
    before = Path("out/results.parquet").read_bytes()
    second = study("s.yaml", "-o", "out", "--no-report")
    assert "all there from an earlier run" in second
    assert second.splitlines()[:5] == lines[:5] and Path("out/results.parquet").read_bytes() == before
    # What is written runs again, to the same bytes.
    study("out/study.yaml", "-o", "again", "--no-report")
    assert Path("again/results.parquet").read_bytes() == before


def test_a_study_on_the_command_line_is_the_one_in_a_file(study: Study) -> None:
    words = ["--unit", HOPPER, "--grid", "fraction_bits=9:13:2", "--grid", "interval=none,64", *SMALL]
    words += ["--scaling", "direct", "--scaling", "tensor:scale=0.5", "--data", "outliers:factor=10"]
    printed = study(*words, "--dry-run")
    assert printed.splitlines()[-1] == "study: 12 points of 3 trials, each 4 x 4 results: 36,864 products"
    assert f"{HOPPER} fraction_bits=11 interval=64, tensor scale=0.5" in printed
    printed = study(*words, "-o", "a")
    Path("s.yaml").write_text(
        f"study: study\ntrials: 3\nrows: 4\ncolumns: 4\nlengths: 64\nunits:\n  - unit: {HOPPER}\n"
        "    grid: {fraction_bits: [9, 11, 13], interval: [none, 64]}\n"
        "    scaling: [direct, {rule: tensor, scale: 0.5}]\n"
        "data: [{distribution: outliers, factor: 10}]\n"
    )
    study("s.yaml", "-o", "b", "--no-report")
    assert Path("a/results.parquet").read_bytes() == Path("b/results.parquet").read_bytes()
    (again,) = re.findall(r"^again: hwsim study (--unit .*) a$", printed, re.MULTILINE)
    study(*again.split(), "c")
    assert Path("c/results.parquet").read_bytes() == Path("a/results.parquet").read_bytes()


def test_options_take_the_place_of_a_files_keys(study: Study) -> None:
    Path("s.yaml").write_text(STUDY)
    printed = study("s.yaml", "--trials", "2", "--length", "32", "--seed", "9", "--dry-run")
    assert "mine: 2 points of 2 trials, each 4 x 4 results: 2,048 products" in printed


WRONG: dict[str, list[str]] = {
    "error: give one of STUDY.yaml, --preset NAME and --unit UNIT": ["-o", "o"],
    "error: --output is missing": ["--unit", HOPPER],
    "error: --grid must be FIELD=V,V or FIELD=A:B, not 'lanes'": ["--unit", HOPPER, "--grid", "lanes", "-o", "o"],
    "error: --grid lanes: a range must go up": ["--unit", HOPPER, "--grid", "lanes=8:4", "-o", "o"],
    "unknown field of a unit 'zzzz': known: method, accumulator": ["--unit", HOPPER, "--grid", "zzzz=8", "-o", "o"],
    "error: unknown preset 'x'": ["--preset", "x"],
    "units.0.grid.lane: unknown field of a unit 'lane'": ["--unit", HOPPER, "--grid", "lane=8", "-o", "o"],
    "units.0.unit: unknown unit 'hoper-wgmma-e4m3-f32': did": ["--unit", "hoper-wgmma-e4m3-f32", "-o", "o"],
    "units.0.scaling: unknown scaling 'tensr': did you mean": ["--unit", HOPPER, "--scaling", "tensr", "-o", "o"],
    "data.0: distribution is unknown: 'norml'; did you mean normal?": ["--unit", HOPPER, "--data", "norml", "-o", "o"],
    "error: missing.yaml: cannot be read: No such file": ["missing.yaml", "-o", "o"],
    "trials must be greater than or equal to 1, not 0": ["--unit", HOPPER, "--trials", "0", "-o", "o"],
    "has 96,000 points, the limit is 20,000": [
        "--unit", HOPPER, "--grid", "fraction_bits=1:200", "--grid", "interval=32:15360:32", "-o", "o"
    ],
    "takes about 85.2 GiB, the limit is 4 GiB": ["--unit", HOPPER, "--rows", "15000", "--columns", "15000", "-o", "o"],
    "error: s.yaml:3: unknown key 'row': did you mean rows": ["s.yaml", "-o", "o"],
    "error: f: must be a folder, which results are written to; it is a file": ["--unit", HOPPER, "-o", "f"],
    "error: f/deep": ["--unit", HOPPER, "-o", "f/deep"],
    "nan.npy": ["--unit", HOPPER, "--data", "nan.npy", "--length", "32", "--trials", "1", "-o", "o"],
    "error: --stages and --fmax go with --pareto": ["--unit", HOPPER, "--fmax", "all", "-o", "o"],
    "error: --grid, --scaling, --data and --skip-invalid go with --unit": ["s.yaml", "--data", "normal", "-o", "o"],
}  # fmt: skip


@pytest.mark.parametrize("said", WRONG)
def test_what_is_wrong_is_one_line_and_nothing_is_written(said: str, run: Run) -> None:
    Path("s.yaml").write_text(STUDY if "--data" in WRONG[said] else STUDY.replace("rows:", "row:"))
    Path("f").write_text("")
    numbers = np.ones((64, 32), np.float32)
    numbers[2, 3] = np.nan
    np.save("nan.npy", numbers)
    done = run("study", *WRONG[said])
    fails(done, re.escape(said))
    assert not done.out
    assert not Path("o").exists()


def test_another_study_is_not_overwritten_unasked(run: Run, study: Study) -> None:
    words = ["--unit", HOPPER, *SMALL, "-o", "o"]
    study(*words)
    before = Path("o/results.parquet").read_bytes()
    fails(run("study", *words, "--seed", "2"), "o: holds the results of another study")
    assert Path("o/results.parquet").read_bytes() == before
    study(*words, "--seed", "2", "--overwrite")
    assert Path("o/results.parquet").read_bytes() != before


def test_combinations_that_break_rules_are_left_out_when_asked(run: Run, study: Study) -> None:
    words = ["--unit", HOPPER, "--grid", "interval=32,40", "--length", "64", "--dry-run"]
    fails(run("study", *words), f"{HOPPER} interval=40: promotion.interval must be a multiple")
    assert "study: 1 points" in study(*words, "--skip-invalid")


def test_a_wrong_kernel_is_exit_status_1(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    right = trial.gemm

    def wrong(*given: object) -> object:
        made = right(*given)  # type: ignore[arg-type]
        made[0, 0] += 1
        return made

    monkeypatch.setattr(trial, "gemm", wrong)
    fails(run("study", "--unit", HOPPER, *SMALL, "-o", "o"), "by the definition and", status=1)


def test_a_unit_that_loses_nothing_is_exact(study: Study) -> None:
    lines = study("--unit", "exact-e4m3-f32", "--unit", "int8-i32", *SMALL, "-o", "o").splitlines()
    assert re.split(r"\s{2,}", lines[2])[3:7] == ["exact", "0", "0", "0"]


# Processes that are killed, in studies of many small tasks.
MANY = ["--unit", HOPPER, "--grid", "fraction_bits=9,13", "--length", "256", "--trials", "30"]
MANY += ["--rows", "8", "--columns", "8", "--explained", "8", "--no-report"]
WORK = 1 << 24


def started(folder: str) -> subprocess.Popen[str]:
    program = "import sys, hwsim.study.task as task; from hwsim.cli import main; task.WORK = int(sys.argv.pop(1)); "
    program += "sys.exit(main(['study', *sys.argv[1:]]))"
    command = [sys.executable, "-c", program, str(WORK), *MANY, "-o", folder, "--workers", "2"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def parts(folder: str) -> int:
    return len(list(Path(folder, ".parts").glob("*.parquet"))) if Path(folder).exists() else 0


def wait_for_parts(folder: str, count: int, process: subprocess.Popen[str]) -> None:
    wait_until(lambda: parts(folder) >= count or process.poll() is not None)
    assert process.poll() is None, process.communicate()


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def workers(process: subprocess.Popen[str]) -> list[int]:
    """Its processes that run tasks: one of its children forks them."""
    forks = [pid for pid in children(process.pid) if b"forkserver" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    return [pid for fork in forks for pid in children(fork)]


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.slow
def test_killed_workers_and_a_killed_study_lose_nothing(
    run: Run, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hwsim.study.task.WORK", WORK)
    study(*MANY, "-o", "through", "--workers", "1")
    process = started("killed")
    wait_for_parts("killed", 1, process)
    os.kill(workers(process)[0], signal.SIGKILL)
    # Others take its place.
    wait_for_parts("killed", parts("killed") + 3, process)
    left = workers(process)
    process.kill()
    process.communicate()
    assert not Path("killed/results.parquet").exists()
    wait_until(lambda: all(map(gone, left)))  # workers do not outlive the study that they work for
    done = run("study", *MANY, "-o", "killed", "--workers", "1")
    assert done.status == 0 and re.search(r"note: went on after \d+ of 60 trials", done.err), done
    for name in ("results.parquet", "summary.parquet", "study.yaml"):
        assert Path("killed", name).read_bytes() == Path("through", name).read_bytes()


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on() -> None:
    process = started("stopped")
    wait_for_parts("stopped", 1, process)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=LIMIT)
    assert process.returncode == 130, said
    assert re.search(r"note: \d+% is done and kept in stopped; to go on: hwsim study --unit", said)
    assert said.count("\n") == 2 and said.endswith("\nerror: interrupted\n")
    assert not Path("stopped/results.parquet").exists() and parts("stopped") >= 1


@pytest.mark.slow
def test_a_report_is_drawn(monkeypatch: pytest.MonkeyPatch, study: Study) -> None:
    monkeypatch.setattr(charts, "png", cache(charts.png))  # the same pictures are drawn twice
    words = ["--unit", HOPPER, "--grid", "fraction_bits=9,13", *SMALL[:-1], "-o", "o"]
    assert "o/report.html: with figures" in study(*words)
    figures = {path.name for path in Path("o/figures").iterdir()}
    assert {"accumulation-snr-db.svg", "accumulation-snr-db.png"} <= figures
    page = Path("o/report.html").read_text()
    # Each figure says the command that made it.
    assert "hwsim study --unit hopper-wgmma-e4m3-f32 --grid fraction_bits=9,13" in page
    # A second run draws again what is gone.
    Path("o/report.html").unlink()
    study(*words)
    assert Path("o/report.html").read_text() == page


def test_a_preset_is_a_plan_like_a_file(study: Study) -> None:
    sizes = ["--trials", "1", "--rows", "2", "--columns", "2", "--length", "64", "--no-report"]
    printed = study("--preset", "deepseek-2pct", *sizes, "--seed", "5", "-o", "o")
    assert "ReLU x ReLU" in printed and "seed 5" in printed
    again = printed.splitlines()[-1].removeprefix("again: hwsim study ").split()
    assert again[:2] == ["--preset", "deepseek-2pct"]
    assert "all there from an earlier run" in study(*again)


def test_a_preset_that_is_no_plan_is_told(run: Run) -> None:
    known = "known: deepseek-2pct, pareto, snr-vector-length"
    script = "a script of hwsim's repository: python examples/papers/train_mx.py (hwsim docs studies/train-mx)"
    for name, said in (
        ("train-mx", f"preset train-mx is {script}"),
        ("x", f"unknown preset 'x': {known}"),
        ("deepseek-2pc", f"unknown preset 'deepseek-2pc': did you mean deepseek-2pct?; {known}"),
    ):
        fails(run("study", "--preset", name, "-o", "o"), f"^error: {re.escape(said)}$")


def test_every_script_of_the_repository_is_named() -> None:
    folder = Path(__file__).parents[2] / "examples" / "papers"
    assert all((folder / f"{name.replace('-', '_')}.py").is_file() for name in SCRIPTS)


@pytest.fixture
def matrices(here: Path) -> None:
    drawn = np.random.default_rng(3)
    np.save("a.npy", drawn.normal(size=(4, 64)).astype(np.float32))
    np.save("b.npy", drawn.normal(size=(64, 4)).astype(np.float16))


def test_the_error_of_ones_own_product(matrices: None, study: Study) -> None:
    units = ["--unit", "hopper-wgmma-e4m3-f32", "--unit", "ada-mma-e5m2-f32"]
    given = ["--a", "a.npy", "--b", "b.npy", *units, "--scaling", "direct", "--scaling", "tensor"]
    lines = study(*given, "-o", "out").splitlines()
    assert len(lines) == 5 and lines[-1] == "out/error.html: the same, drawn"
    wanted = [
        str(hwsim.error(unit, np.load("a.npy"), np.load("b.npy"), scaling))
        for unit in ("hopper-wgmma-e4m3-f32", "ada-mma-e5m2-f32")
        for scaling in ("direct", "tensor")
    ]
    assert lines[:4] == wanted
    assert Path("out/error.html").read_text().count("<svg") == 4


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--a", "a.npy"], "--a and --b go together"),
        (["--a", "a.npy", "--b", "b.npy"], "--unit is missing"),
        (["--a", "a.npy", "--b", "b.npy", "--unit", "x", "--trials", "3"], "not with trials"),
        (["--a", "a.npy", "--b", "c.npy", "--unit", "int8-i32"], "--b c.npy: must hold numbers"),
        (["--a", "a.npy", "--b", "v.npy", "--unit", "int8-i32"], "--b v.npy: must hold a matrix"),
        (["--a", "n.npy", "--b", "b.npy", "--unit", "int8-i32"], "--a n.npy: must hold finite numbers; 1 are not"),
        (["--a", "a.npy", "--b", "b.npy", "--unit", "no-unit"], "unknown unit 'no-unit'"),
        (["--a", "none.npy", "--b", "b.npy", "--unit", "int8-i32"], "none.npy: No such file"),
    ],
)
def test_a_product_that_cannot_be_measured(matrices: None, given: list[str], message: str, run: Run) -> None:
    np.save("c.npy", np.zeros((64, 4), np.uint8))
    np.save("v.npy", np.zeros(64, np.float32))
    np.save("n.npy", np.where(np.arange(256).reshape(4, 64) == 5, np.nan, 1.0))
    fails(run("study", *given), re.escape(message))


@pytest.mark.slow
def test_charts_that_find_no_room_end_no_study(tmp_path: Path) -> None:
    # Batch systems limit addresses; what runs JavaScript ends the process where it gets too few.
    given = f"{sys.executable} -m hwsim study --unit int8-i32 --length 32 --trials 2 --rows 2 --columns 2 -o s"
    done = subprocess.run(
        ["sh", "-c", f"ulimit -v 4000000; exec {given}"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 3 and done.stderr.startswith("error: charts need more address space"), done
    assert "results.parquet, summary.parquet" in done.stdout and (tmp_path / "s" / "results.parquet").exists()
    assert subprocess.run(given.split(), cwd=tmp_path, capture_output=True, check=False).returncode == 0
    assert (tmp_path / "s" / "report.html").exists()
