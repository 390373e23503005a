"""hwsim campaign: real jobs on Icarus, what it prints, and its exit statuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from campaign import fake_jobs
from cli.cli_run import Done, Run, fails

from hwsim.base.arrays import read_table
from hwsim.cosim.campaign import job

UNIT = """unit: int8x2
operands: {a: int8, b: int8, addend: i32}
instruction: {k: 2, lanes: 2}
sum: {method: exact}
result: {format: i32, rounding: rz, overflow: wrap}
"""
VERILOG = """module m (input [15:0] a, b, input [31:0] acc, output [31:0] y);
  assign y = $signed(a[7:0]) * $signed(b[7:0]) + $signed(a[15:8]) * $signed(b[15:8]) + $signed(acc);
endmodule
"""
# A design that is right, one that adds wrongly, one that no simulator takes, one in which time stands still.
DESIGNS = {
    "right": VERILOG,
    "wrong": VERILOG.replace("+ $signed(acc)", "- $signed(acc)"),
    "broken": VERILOG.replace("endmodule", "  initial not_a_task(1);\nendmodule"),
    "hangs": VERILOG.replace("endmodule", "  initial forever ;\nendmodule"),
}
FILE = """campaign: mine
known: known.yaml
jobs:
  theirs:
    matrix:
      design: [right.yaml, wrong.yaml, broken.yaml, hangs.yaml]
      simulator: icarus
      include: [{design: hangs.yaml, stuck_after: 4}]
    suites: random
    cases: 20
    coverage: false
    minimize: false
"""


def printed(done: Done) -> str:
    return done.out + done.err


@pytest.fixture
def designs(here: Path, icarus: None) -> Path:
    (here / "int8x2.yaml").write_text(UNIT)
    for name, text in DESIGNS.items():
        (here / f"{name}.v").write_text(text)
        (here / f"{name}.yaml").write_text(
            f"unit: int8x2.yaml\nsources: [{name}.v]\ntop: m\nprotocol: {{kind: combinational}}\n"
            "ports: {a: a, b: b, c: acc, result: y}\n"
        )
    (here / "c.yaml").write_text(FILE)
    (here / "known.yaml").write_text(
        "known: [{job: '*/wrong/*', kind: mismatch, reason: an old one, date: 2026-11-26}]\n"
    )
    return here


@pytest.mark.slow
@pytest.mark.simulator
def test_designs_that_fail_fail_alone_and_each_in_its_way(designs: Path, run: Run) -> None:
    plan = run("campaign", "c.yaml", "--plan")
    assert plan.status == 0 and "theirs: 4 jobs" in plan.out
    assert "theirs/hangs/icarus/seed-1" in plan.out and not (designs / "out").exists()
    done = run("campaign", "c.yaml", "-o", "out")
    assert done.status == 1, printed(done)
    rows = read_table(designs / "out" / "runs" / "0001" / "suites.parquet").to_pylist()
    assert {row["job"].split("/")[1]: (row["failure"], row["known"]) for row in rows} == {
        "broken": ("build", ""), "hangs": ("stuck", ""), "right": ("", ""),
        "wrong": ("mismatch", "an old one (2026-11-26)"),
    }  # fmt: skip
    assert "mine, run 1: 4 jobs: 2 jobs failed, 1 in known ways alone" in done.out
    page = (designs / "out" / "runs" / "0001" / "failed" / "theirs~wrong~icarus~seed-1" / "report.html").read_text()
    assert f"hwsim cosim --dut {designs}/wrong.yaml --sim icarus --seed 1 --cases 20" in page
    # What passed is not run again where that is asked for; what is mended or known lets the run pass.
    for name in ("broken", "hangs"):
        (designs / f"{name}.v").write_text(VERILOG)
    again = run("campaign", "c.yaml", "-o", "out", "--changed")
    assert again.status == 0, printed(again)
    assert "1 job did not change since a run that passed: outcomes taken" in printed(again)
    assert again.out.count("mended since the run before: ") == 2
    shown = run("campaign", "--show", "out")
    assert shown.status == 0 and "out: 2 runs of campaign mine" in shown.out
    assert "known since run 1: theirs/wrong/icarus/seed-1 icarus dot random: mismatch (an old one" in shown.out


def test_what_is_no_command_is_refused(here: Path, run: Run, icarus: None) -> None:
    (here / "c.yaml").write_text("campaign: mine\njobs: {a: {fuzz: {to: 0, every: {RTL: 0, Icarus: 0}}}}\n")
    for words, said in (
        ((), "give one of CAMPAIGN.yaml and --show DIR"),
        (("c.yaml", "--show", "out"), "give one of CAMPAIGN.yaml and --show DIR"),
        (("--show", "out", "--plan"), "--show goes alone"),
        (("--show", "out"), "out: must be the folder of a campaign's runs; it holds none"),
        (("none.yaml",), "none.yaml: cannot be read"),
        (("c.yaml", "--scheduler", "nowhere", "-o", "x"), "scheduler must be local, slurm, lsf or an address"),
    ):
        fails(run("campaign", *words), said)


def test_a_missing_simulator_is_said_before_anything_runs(
    here: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "c.yaml").write_text("campaign: mine\njobs: {a: {matrix: {unit: mxfp4-e2m1-f32, simulator: icarus}}}\n")
    job.simulator_version.cache_clear()
    monkeypatch.setenv("PATH", str(here))
    done = run("campaign", "c.yaml", "-o", "out")
    job.simulator_version.cache_clear()
    assert (done.status, (here / "out").exists()) == (3, False) and "vvp" in done.err


def test_a_run_that_has_not_ended_is_shown(here: Path, run: Run) -> None:
    with pytest.raises(KeyboardInterrupt):
        fake_jobs.run(here, fake_jobs.fakes(here, "passes", "passes"), told=fake_jobs.Told(stop_after=1), workers=1)
    shown = run("campaign", "--show", "runs")
    assert shown.status == 0 and "run 1 has not ended: 1 job done" in shown.out
