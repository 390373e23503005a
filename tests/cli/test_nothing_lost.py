"""No command with an output replaces or removes what is a user's: each is tried with files beside, inside and edited.

What takes long is left out of a command, not what writes.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from campaign.fake_jobs import fakes
from cli.cli_run import Done, Run, fails
from cosim.small_runs import one_row
from uncounted import uncounted  # noqa: F401  a fixture

import hwsim.cli.commands  # (adds every command to the application)
import hwsim.rtl
from hwsim.cli import campaign as campaign_command
from hwsim.cli import engine as engine_command
from hwsim.cli import prove as prove_command
from hwsim.cli import qualify, streams
from hwsim.cli.app import app
from hwsim.cosim import bench as project
from hwsim.cosim import run as cosim_run
from hwsim.cosim import streams as streams_designs
from hwsim.cosim.campaign import plan as campaign_plan
from hwsim.cosim.engine import bulk as engine_bulk
from hwsim.cosim.engine.bulk import EngineProduct
from hwsim.cosim.fuzz import run as fuzzing
from hwsim.cosim.fuzz.draw import drawn_unit
from hwsim.cosim.fuzz.findings import write_finding
from hwsim.cosim.fuzz.run import FuzzedUnit, FuzzPlan
from hwsim.cosim.fuzz.trial import SideMismatch
from hwsim.explain import RunReport, microscope
from hwsim.explain.proof import ProofReport
from hwsim.explain.silicon import cases as capture_design
from hwsim.explain.silicon.cases import INSTRUCTIONS, CaptureCase, Section, read_cases, write_cases
from hwsim.explain.silicon.results import FACTS, SectionResults, result_lines
from hwsim.prove import run as proving
from hwsim.prove.engine import run as engine_proof
from hwsim.prove.qualify import run as qualifying
from hwsim.prove.qualify.run import Qualification
from hwsim.rtl.engine import top as engine_verilog
from hwsim.tb.job import SuiteOutcome

UNIT = """unit: int8x2
operands: {a: int8, b: int8, addend: i32}
instruction: {k: 2, lanes: 2}
sum: {method: exact}
result: {format: i32, rounding: rz, overflow: wrap}
"""
ENGINE = "engine: e\nunit: int8x2.yaml\nrows: 2\ncolumns: 2\nports: {a: 32, b: 32, d: 32}\n"
FP8_UNIT = "hopper-wgmma-e4m3-f32"
GPU_UNIT, INSTRUCTION = "hopper-mma-f16-f32", "mma.m16n8k16.f32.f16.f16"
MINE = "mine, and nobody else's\n"
Patch = Callable[[pytest.MonkeyPatch, Path], None]


@dataclass(frozen=True)
class Writer:
    """A command that writes. words: its arguments, with `{out}` where it writes.

    option: which names it. folder: whether that is a folder. status: that it ends with. quick: what makes it quick.
    """

    option: str
    words: str
    folder: bool = False
    status: int = 0
    quick: Patch = lambda patch, here: None

    @property
    def command(self) -> str:
        """Its name, with that of its group."""
        first, second, *_ = self.words.split()
        return f"{first} {second}" if first in ("capture", "plan") else first


def _quick_cosim(patch: pytest.MonkeyPatch, here: Path) -> None:
    patch.setattr(cosim_run, "require", lambda _: None)

    def ran(self: Any) -> Any:
        (self.folder / "job").mkdir()
        (self.folder / "job" / "simulation.log").write_text("ran\n")
        return cosim_run._Found([one_row()])

    patch.setattr(cosim_run._Run, "all", ran)


def _quick_streams(patch: pytest.MonkeyPatch, here: Path) -> None:
    report = RunReport(title="t", command="c", version="0", rows=(one_row(),))
    patch.setattr(streams, "played", lambda *_: report)


def _quick_verilog(patch: pytest.MonkeyPatch, here: Path) -> None:
    patch.setattr(hwsim.rtl, "verilog", lambda *_, **__: "module m; endmodule\n")
    patch.setattr(project, "project_files", lambda *_: {"m.core": "CAPI=2:\n", "m.sdc": "# a clock\n"})
    patch.setattr(streams_designs, "stream_verilog", lambda *_, **__: "module m; endmodule\n")


def _quick_engine(patch: pytest.MonkeyPatch, here: Path) -> None:
    patch.setattr(engine_verilog, "engine_verilog", lambda _: "module m; endmodule\n")
    (here / "engine.yaml").write_text(ENGINE)


def _quick_product(patch: pytest.MonkeyPatch, here: Path) -> None:
    _quick_engine(patch, here)
    made = EngineProduct(np.zeros((2, 2), np.uint64), SuiteOutcome("product", seconds=1.0), 8)
    patch.setattr(engine_bulk, "product", lambda *_, **__: made)


def _quick_microscope(patch: pytest.MonkeyPatch, here: Path) -> None:
    patch.setattr(microscope, "page", lambda *_: "<!doctype html>\n")


def _quick_prove(patch: pytest.MonkeyPatch, here: Path) -> None:
    report = ProofReport(unit="u", title="t", version="0", command="c", rows=(), conclusion="")
    patch.setattr(prove_command, "demand_provers", lambda: None)
    patch.setattr(proving, "prove", lambda *_: report)


def _quick_engine_proof(patch: pytest.MonkeyPatch, here: Path) -> None:
    report = ProofReport(unit="u", title="t", version="0", command="c", rows=(), conclusion="")
    patch.setattr(engine_command, "demand_provers", lambda: None)
    patch.setattr(engine_proof, "prove_engine", lambda *_: report)
    (here / "engine.yaml").write_text(ENGINE)


def _quick_qualify(patch: pytest.MonkeyPatch, here: Path) -> None:
    patch.setattr(qualify, "demand", lambda *_: None)
    found = Qualification("int8x2", (), 1, 0, ())
    patch.setattr(qualifying.Qualifier, "__init__", lambda self, *_: None)
    patch.setattr(qualifying.Qualifier, "qualify", lambda self, _: found)


def _quick_synth(patch: pytest.MonkeyPatch, here: Path) -> None:
    from hwsim.cli import synth

    patch.setattr(synth, "_row", lambda *_: {"unit": "int8x2"})
    patch.setattr(synth, "_show", lambda *_: None)
    patch.setattr(synth, "_demand", lambda *_: None)


def fuzzed_with_a_finding(plan: FuzzPlan, number: int) -> FuzzedUnit:
    drawn = drawn_unit(plan.seed, number, plan.size)
    assert plan.folder is not None
    write_finding(plan.folder / f"{number}-RTL.yaml", drawn, SideMismatch("RTL", "another result"), plan.cases)
    return FuzzedUnit(number, {}, {}, {"RTL": 1}, [], [("RTL", "another result", f"{number}-RTL.yaml")])


def _quick_fuzz(patch: pytest.MonkeyPatch, here: Path) -> None:
    patch.setattr(fuzzing, "fuzzed", fuzzed_with_a_finding)


def _quick_campaign(patch: pytest.MonkeyPatch, here: Path) -> None:
    jobs = {job.key: job for job in fakes(here.parent / "begun", "passes", "fails")}
    patch.setattr(campaign_plan, "planned", lambda *_: campaign_plan.JobPlan(dict(jobs)))

    def one_by_one(tasks: Any, done: Any) -> None:
        for task in tasks:
            done(task, task.execute())

    patch.setattr(campaign_command, "_make", lambda *_: one_by_one)


def no_design(gpu: Any, unit: Any, count: int, seed: int) -> Any:
    return Section(gpu, unit.name, [CaptureCase("random", (1,) * gpu.k, (2,) * gpu.k, 3)]), []


def _quick_cases(patch: pytest.MonkeyPatch, here: Path) -> None:
    patch.setattr(capture_design, "design", no_design)


def _captured(patch: pytest.MonkeyPatch, here: Path) -> None:
    section = Section(INSTRUCTIONS[INSTRUCTION], GPU_UNIT, [CaptureCase("random", (1,) * 16, (2,) * 16, 3)])
    write_cases(here / "cases.txt", "hwsim", 1, [section])
    cases = read_cases(here / "cases.txt")
    results = result_lines(cases, dict.fromkeys(FACTS, "one"), iter([SectionResults(section, (7,))]))
    (here / "results.txt").write_text("".join(results))


def _answers(patch: pytest.MonkeyPatch, here: Path) -> None:
    from hwsim.cli import main

    assert main(["vectors", "int8x2.yaml", "-o", "set", "--suite", "random", "--cases", "3", "--format", "hex"]) == 0
    (here / "answers").write_text((here / "set" / "expected.hex").read_text())


def _captured_plans(patch: pytest.MonkeyPatch, here: Path) -> None:
    from hwsim.compute import profiling

    call = {"operation": "mm", "a": "e4m3", "b": "e4m3", "output": "f32"}
    row = profiling.ProfileRow.model_validate({"call": call, "unit": "hopper-wgmma-e4m3-f32", "shapes": {"1x1x32": 1}})
    facts = profiling.PlanFacts(capability="9.0", gpu="one", cuda="13.0", torch="2.11", seed=1, calls=[])
    patch.setattr(profiling, "captured_products", lambda path: (facts, []))
    patch.setattr(profiling, "rows_of", lambda *_, **__: ([row], []))


def _fitted(patch: pytest.MonkeyPatch, here: Path) -> None:
    np.save(here / "one.npy", np.full((1, 1), 0x38, np.uint8))
    np.save(here / "d.npy", np.ones((1, 1), np.float32))


WRITERS = (
    Writer("--output", "vectors int8x2.yaml -o {out} --suite random --cases 3", folder=True),
    Writer("--output", "cosim int8x2.yaml -o {out} --seed 1", folder=True, quick=_quick_cosim),
    Writer("--report", "check set answers --report {out}", folder=True, quick=_answers),
    Writer("--output", "rtl int8x2.yaml -o {out}", quick=_quick_verilog),
    Writer("--output", "engine engine.yaml -o {out}", quick=_quick_engine),
    Writer("--report", "engine engine.yaml --prove --report {out}", folder=True, status=1, quick=_quick_engine_proof),
    Writer("--output", "rtl int8x2.yaml --project -o {out}", folder=True, quick=_quick_verilog),
    Writer("--output", "converter e2m1 e3m2 -o {out}", quick=_quick_verilog),
    Writer("--report", "converter e2m1 e3m2 --cosim --seed 1 --report {out}", folder=True, quick=_quick_streams),
    Writer("--output", "quantizer mxfp4-e2m1 -o {out}", quick=_quick_verilog),
    Writer("--report", "quantizer mxfp4-e2m1 --cosim --seed 1 --report {out}", folder=True, quick=_quick_streams),
    Writer("--output", "export-c int8x2.yaml -o {out}", folder=True),
    Writer("--output", "export-sv rvbna-e4m3-f32-n4 -o {out}", folder=True),
    Writer("--output", "explain int8x2.yaml -o {out}", quick=_quick_microscope),
    Writer("--result", "engine engine.yaml --a a.npy --b a.npy --result {out}.npy", quick=_quick_product),
    Writer("--output", "gemm int8x2.yaml a.npy a.npy -o {out}.npy"),
    Writer("--output", "study --unit int8x2.yaml --data ones.npy --length 64 --trials 1 -o {out}", folder=True),
    Writer("--html", "prove int8x2.yaml --html {out}", status=1, quick=_quick_prove),
    Writer("--json", "prove int8x2.yaml --json {out}", status=1, quick=_quick_prove),
    Writer("--output", "prove int8x2.yaml -o {out}", folder=True, status=1, quick=_quick_prove),
    Writer("--json", "qualify int8x2.yaml --json {out}", quick=_quick_qualify),
    Writer("--json", "synth int8x2.yaml --json {out}", quick=_quick_synth),
    Writer("--output", "fuzz --units 1 --cases 1 -o {out}", folder=True, status=1, quick=_quick_fuzz),
    Writer("--output", "campaign c.yaml -o {out}", folder=True, status=1, quick=_quick_campaign),
    Writer("--output", f"capture cases {GPU_UNIT} --cases 1 --seed 1 -o {{out}}", quick=_quick_cases),
    Writer("--output", "capture import cases.txt results.txt --replace -o {out}", folder=True, quick=_captured),
    Writer("output", "capture kit {out}", folder=True),
    Writer("--output", "capture plans plans.npz -o {out}", quick=_captured_plans),
    Writer("--output", f"plan fit {FP8_UNIT} --a one.npy --b one.npy --d d.npy --parts 1 -o {{out}}", quick=_fitted),
)
# Never replaces anything, whoever wrote it: test_a_first_file_replaces_none.
NEVER = {("dut-init", "--output")}
LISTS = {f"{folder}.hwsim-files" for folder in ("", "out/", "out/runs/0001/")}
# Where a refuted claim's case goes, which is written as the rest is: `refuse_strangers` comes before the proof.
INNER = {("prove", "--case")}


def written_by(group: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """The commands that have an option for an output, and its name."""
    for called, command in group.commands.items():
        whole = f"{name} {called}".strip()
        if hasattr(command, "commands"):
            yield from written_by(command, whole)
            continue
        for parameter in command.params:
            names = {*getattr(parameter, "opts", ()), parameter.name}
            helped = (getattr(parameter, "help", "") or "").lower()
            written = "write" in helped or "where" in helped
            if names & {"-o", "output"} or (parameter.metavar in ("FILE", "DIR") and written):
                yield whole, next((one for one in parameter.opts if one.startswith("--")), parameter.name)


def test_every_command_that_writes_is_tried_here() -> None:
    group = typer.main.get_command(app)
    assert set(written_by(group)) == {(one.command, one.option) for one in WRITERS} | NEVER | INNER


def content(folder: Path) -> dict[str, tuple[str, Any]]:
    """All that a folder holds: what it is, and its bytes or where it leads."""
    return {
        str(path.relative_to(folder)): ("link", path.readlink())
        if path.is_symlink()
        else ("folder", None)
        if path.is_dir()
        else ("file", path.read_bytes())
        for path in sorted(folder.rglob("*"))
    }


@dataclass
class Tried:
    """A command in a place of its own."""

    writer: Writer
    run: Run
    here: Path

    def __call__(self, out: str) -> Done:
        """Run it."""
        return self.run(*self.writer.words.format(out=out).split())

    def keeps(self, out: str, mine: Mapping[str, tuple[str, Any]], edited: str | None = None) -> None:
        """It leaves what is a user's; where it refuses, it says so in a line and changes nothing."""
        before = content(self.here)
        done = self(out)
        after = content(self.here)
        assert {name: after.get(name) for name in mine} == dict(mine), done
        if done.status != self.writer.status or edited is not None:
            assert done.status == 2 and "\nerror: " in f"\n{done.err}", done
            if self.writer.command == "campaign":  # goes on, and is kept, until it comes to what is in its way
                assert {name for name in before if before[name] != after.get(name)} <= LISTS
            else:
                assert after == before

    def fresh(self, out: str) -> tuple[Path, list[Path]]:
        """Its output, in a new place, and the files of it."""
        done = self(out)
        assert done.status == self.writer.status, done
        path = self.here / f"{out}{'.npy' if '{out}.npy' in self.writer.words else ''}"
        made = [one for one in path.rglob("*") if one.is_file()] if path.is_dir() else [path]
        return path, sorted(one for one in made if not one.name.startswith(".") and one.name != "lock")


@pytest.fixture(params=WRITERS, ids=lambda one: f"{one.command} {one.option}")
def tried(
    request: pytest.FixtureRequest, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Tried:  # fmt: skip
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    (here / "int8x2.yaml").write_text(UNIT)
    (here / "c.yaml").write_text("campaign: mine\njobs: {one: {matrix: {unit: int8x2.yaml}}}\n")
    np.save(here / "a.npy", np.ones((2, 2), np.int8))
    np.save(here / "ones.npy", np.ones((64, 64), np.float32))
    request.param.quick(monkeypatch, here)
    capsys.readouterr()
    return Tried(request.param, run, here)


def test_a_users_files_stay(tried: Tried) -> None:
    path, made = tried.fresh("out")
    inside = path if path.is_dir() else path.parent
    (inside / "mine").mkdir()
    (inside / "mine" / "deep.txt").write_text(MINE)
    (inside / "notes.txt").write_text(MINE)
    (inside / "link").symlink_to("notes.txt")
    names = {str((inside / name).relative_to(tried.here)) for name in ("mine", "mine/deep.txt", "notes.txt", "link")}
    mine = {name: found for name, found in content(tried.here).items() if name in names}
    tried.keeps("out", mine)
    # The first and the last: edited, and then links to somebody's file.
    for edited in {made[0], made[-1]}:
        kept = edited.read_bytes()
        name = str(edited.relative_to(tried.here))
        if name.endswith("progress.jsonl"):
            continue  # grows, and is never replaced
        edited.write_bytes(kept + MINE.encode())
        tried.keeps("out", {**mine, name: content(tried.here)[name]})
        edited.write_text(MINE)
        edited.rename(edited.with_name("theirs"))
        edited.symlink_to("theirs")
        tried.keeps("out", {**mine, name: ("link", Path("theirs"))})
        edited.unlink()
        edited.with_name("theirs").unlink()
        edited.write_bytes(kept)


def test_a_folder_of_somebody_else_stays(tried: Tried) -> None:
    path, _ = tried.fresh("first")
    name = path.name.replace("first", "out")
    shutil.copytree(path, tried.here / name) if path.is_dir() else shutil.copy(path, tried.here / name)
    out = tried.here / name
    for one in [out, *out.rglob("*")]:
        if one.is_file():
            one.unlink() if one.name.startswith(".") else one.write_text(MINE)
    mine = {
        found: what for found, what in content(tried.here).items() if found.startswith(name) and what[0] != "folder"
    }
    tried.keeps("out", mine, edited=r"\S")
    if path.is_dir():
        (tried.here / "int8x2.yaml.bak").write_text(MINE)
        tried.keeps(".", {"int8x2.yaml.bak": ("file", MINE.encode()), "int8x2.yaml": ("file", UNIT.encode())})


def test_a_first_file_replaces_none(run: Run, here: Path) -> None:
    (here / "m.v").write_text("module m (input [15:0] a, b, output [31:0] y); assign y = a * b; endmodule\n")
    (here / "m.yaml").write_text(MINE)
    (here / "link.yaml").symlink_to("m.yaml")
    for name in ("m.yaml", "link.yaml"):
        fails(run("dut-init", "m.v", "-o", name), name)
    assert (here / "m.yaml").read_text() == MINE
    assert (here / "link.yaml").is_symlink()
