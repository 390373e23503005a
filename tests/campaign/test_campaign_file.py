"""The file of a campaign: which jobs it makes, in GitHub's words of a matrix, and what it is refused for."""

from __future__ import annotations

import textwrap
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from hwsim.base.errors import InputError
from hwsim.cosim.campaign.file import JobMatrix, known_reason, load_campaign
from hwsim.cosim.campaign.job import content_of
from hwsim.cosim.campaign.plan import JobPlan, planned

UNIT = """unit: tiny
operands: {a: int8, b: int8, addend: i32}
instruction: {k: 2, lanes: 2}
sum: {method: exact}
result: {format: i32, rounding: rz, overflow: wrap}
"""
DUT = """unit: tiny.yaml
sources: [dot2.v]
top: dot2
protocol: {kind: combinational}
ports: {a: a, b: b, c: acc, result: y}
"""
VERILOG = """`include "width.vh"
module dot2 (input [15:0] a, b, input [`WIDTH-1:0] acc, output [31:0] y);
  assign y = $signed(a[7:0]) * $signed(b[7:0]) + $signed(a[15:8]) * $signed(b[15:8]) + $signed(acc);
endmodule
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, icarus: None, verilator: None) -> Path:
    """A folder with a unit and a design."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("tiny.yaml", UNIT), ("dut.yaml", DUT), ("dot2.v", VERILOG), ("width.vh", "`define WIDTH 32\n")):
        (tmp_path / name).write_text(text)
    return tmp_path


def plan(text: str) -> JobPlan:
    Path("c.yaml").write_text("campaign: mine\njobs:\n" + textwrap.indent(textwrap.dedent(text), "  "))
    return planned(load_campaign("c.yaml"))


def names(text: str) -> list[str]:
    return [job.name for job in plan(text).jobs.values()]


def combined(**keys: Any) -> list[dict[str, Any]]:
    matrix = JobMatrix.model_validate(keys)
    return [one.given for one in matrix.combinations(lambda at: InputError(f"exclude {at}"))]


def test_a_matrix_is_every_combination_less_what_is_excluded_with_what_is_included() -> None:
    axes = {"unit": ["u", "v"], "seed": [1, 2], "simulator": ["icarus"]}
    assert combined(**axes) == [
        {"unit": unit, "seed": seed, "simulator": "icarus"} for unit in ("u", "v") for seed in (1, 2)
    ]
    left = combined(**axes, exclude=[{"unit": "u", "seed": 2}, {"unit": "v"}])
    assert left == [{"unit": "u", "seed": 1, "simulator": "icarus"}]
    with pytest.raises(InputError, match="exclude 1"):
        combined(**axes, exclude=[{"unit": "u"}, {"unit": "u", "seed": 2}])


@pytest.mark.quick
def test_include_is_as_github_has_it() -> None:
    # The example of GitHub's documentation, with axes of ours.
    found = combined(
        unit=["apple", "pear"],
        pipeline=[{"contexts": 1}, {"contexts": 2}],
        seed=[],
        simulator=[],
        include=[
            {"cases": 3},
            {"pipeline": {"contexts": 1}, "cases": 4},
            {"unit": "apple", "stuck_after": 5},
            {"unit": "banana"},
            {"unit": "banana", "pipeline": {"contexts": 1}},
        ],
    )
    shown = [(one["unit"], getattr(one.get("pipeline"), "contexts", None), one.get("cases"), one.get("stuck_after"))
             for one in found]  # fmt: skip
    assert shown == [
        ("apple", 1, 4, 5), ("apple", 2, 3, 5), ("pear", 1, 4, None), ("pear", 2, 3, None),
        ("banana", None, None, None), ("banana", 1, None, None),
    ]  # fmt: skip


def test_jobs_have_names_that_say_what_they_are_and_stay() -> None:
    text = """
    ours:
      matrix:
        unit: [tiny.yaml, fp8-any]
        mode: [all, e4m3xe5m2]
        pipeline: [usual, {cuts: "sum", contexts: 2}]
        simulator: icarus
        exclude: [{unit: tiny.yaml, mode: e4m3xe5m2}, {unit: fp8-any, pipeline: {cuts: sum, contexts: 2}}]
        include: [{unit: fp8-any, mode: all, cases: 9}]
      tables: true
    theirs:
      matrix: {design: dut.yaml, seed: 3..4}
      suites: gemm
    random:
      fuzz: {from: 95, to: 104, block: 6, every: {Icarus: 3}}
    """
    made = plan(text)
    assert [job.name for job in made.jobs.values()] == [
        "ours/tables/icarus", "ours/tiny.yaml/icarus/seed-1", "ours/tiny.yaml/sum-x2/icarus/seed-1",
        "ours/fp8-any/icarus/seed-1/cases-9", "ours/fp8-any:e4m3xe5m2/icarus/seed-1",
        *(f"theirs/dut/{simulator}/seed-{seed}" for seed in (3, 4) for simulator in ("verilator", "icarus")),
        "random/seed-1/095-100", "random/seed-1/101-104",
    ]  # fmt: skip
    jobs = list(made.jobs.values())
    kinds = ["codec tables", *["our RTL of"] * 4, *["dut.yaml: 1 suite on"] * 4, *["random unit"] * 2]
    assert all(kind in job.words for kind, job in zip(kinds, jobs, strict=True))
    assert jobs[5].inputs["suites"] == ["gemm"] and jobs[5].dut is not None
    assert jobs[9].simulators == ("verilator", "icarus") and jobs[10].inputs["every"]["own kernel"] == 16


def test_a_job_that_is_planned_twice_runs_once() -> None:
    made = plan("ours: {matrix: {unit: [tiny.yaml, ./tiny.yaml], simulator: icarus, seed: [1, 1..2]}, suites: [gemm]}")
    assert [job.name for job in made.jobs.values()] == [f"ours/tiny.yaml/icarus/seed-{seed}" for seed in (1, 2)]
    assert len(made.repeated) == 4


def test_a_digest_changes_with_all_that_an_outcome_hangs_on(here: Path) -> None:
    text = "theirs: {{matrix: {{design: {}, simulator: icarus}}, cases: {}}}"

    def key(design: str = "dut.yaml", cases: int = 5) -> str:
        (only,) = plan(text.format(design, cases)).jobs
        return only

    first, content = key(), content_of(here / "dut.yaml")
    assert key() == first and key(cases=6) != first
    for name in ("width.vh", "dot2.v", "tiny.yaml", "dut.yaml"):
        before = (here / name).read_text()
        more = {"dut.yaml": "# more\n", "tiny.yaml": "summary: more\n"}.get(name, "// more\n")
        (here / name).write_text(before + more)
        assert key() != first and content_of(here / "dut.yaml") != content, name
        (here / name).write_text(before)
    (here / "elsewhere").mkdir()
    for name in ("dut.yaml", "tiny.yaml", "dot2.v", "width.vh"):
        (here / "elsewhere" / name).write_text((here / name).read_text())
    assert key("elsewhere/dut.yaml") == first == key()


def test_sources_that_cannot_be_elaborated_are_a_failure_of_their_job_and_no_refusal(here: Path) -> None:
    (here / "dot2.v").write_text("module dot2 (\n")
    (job,) = plan("theirs: {matrix: {design: dut.yaml, simulator: icarus}}").jobs.values()
    ((outcome),) = job.execute()
    assert outcome["breakage"]["kind"] == "build" and "dot2.v" in outcome["breakage"]["said"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: {matrix: {unit: none-such}}", "c.yaml:3: jobs.a.matrix.unit names 'none-such': .*none-such"),
        ("a: {matrix: {unit: tiny.yaml, mode: x}}", "jobs.a.matrix.unit names 'tiny.yaml': .*no mode 'x'"),
        ("a: {matrix: {design: no.yaml}}", "jobs.a.matrix.design names 'no.yaml': .*cannot be read"),
        ("a: {matrix: {unit: tiny.yaml, pipeline: {cuts: x}}}", "jobs.a.matrix.pipeline does not fit tiny: .*x"),
        ("a: {matrix: {unit: tiny.yaml, design: dut.yaml}}", "jobs.a.matrix.design must be a matrix of its own"),
        ("a: {matrix: {seed: 1}}", "jobs.a.matrix must have unit or design"),
        ("a: {matrix: {include: [{unit: tiny.yaml}]}}", "must say simulator where it is a combination of its own"),
        ("a: {matrix: {design: dut.yaml, pipeline: {contexts: 2}}}", "must not say mode or pipeline of a design"),
        ("a: {matrix: {unit: tiny.yaml, exclude: [{seed: 7}]}}", "jobs.a.matrix.exclude.0 must match a combination"),
        ("a: {matrix: {unit: tiny.yaml, exclude: [{seed: 1}]}}", "jobs.a.matrix must leave a combination at least"),
        ("a: {matrix: {unit: tiny.yaml, seed: 5..4}}", "jobs.a.matrix.seed must be FIRST..LAST of 1 to 100,000 seeds"),
        ("a: {matrix: {unit: tiny.yaml, simulator: vcs}}", "simulator must be 'verilator' or 'icarus', not 'vcs'"),
        ("a: {matrix: {unit: tiny.yaml}, suites: [dots]}", "jobs.a.suites must be of directed, .*, not 'dots'"),
        ("a: {matrix: {unit: tiny.yaml, include: [{}]}}", "jobs.a.matrix.include.0 must have a key at least"),
        ("a: {fuzz: {from: 3, to: 2}}", r"jobs.a.fuzz.to must be at least from \(3\), not 2"),
        ("a: {fuzz: {to: 2, every: {Rtl: 1}}}", "jobs.a.fuzz.every.Rtl must be 'cases'"),
        ("a: {fuzz: {}}", "jobs.a.fuzz.to is missing"),
        ("a: {}", "jobs.a.matrix is missing"),
        ("a: 1", "jobs.a must be a mapping"),
        ("a b: {fuzz: {to: 1}}", "jobs.a b must be of letters"),
        ("a: {fuzz: {to: 2, every: {cases: 1}}}", "jobs.a.fuzz.every.cases is no side; sides are kernels"),
        ("a: {matrix: {unit: [tiny.yaml, sub/tiny.yaml], simulator: icarus}}", "two jobs are called a/tiny.yaml/"),
    ],
)  # fmt: skip
def test_what_breaks_a_rule_is_refused_with_file_line_and_key(text: str, said: str, here: Path) -> None:
    (here / "sub").mkdir()
    (here / "sub" / "tiny.yaml").write_text(UNIT.replace("wrap", "saturate"))
    with pytest.raises(InputError, match=said) as refused:
        plan(text)
    assert str(refused.value).startswith("c.yaml:") and "\n" not in str(refused.value)


def test_known_failures_are_read_from_their_file(here: Path) -> None:
    (here / "known.yaml").write_text(
        'known:\n  - {job: "a/*", suite: GEMM*, kind: mismatch, reason: see 12, date: 2026-11-26}\n'
    )
    (here / "c.yaml").write_text("campaign: c\nknown: known.yaml\njobs: {a: {fuzz: {to: 1}}}\n")
    known = load_campaign("c.yaml").known
    assert known[0].date == date(2026, 11, 26)
    assert known_reason(known, "a/x/y", "GEMM 3 x 3 x 64", "mismatch") == "see 12 (2026-11-26)"
    for other in (("b/x", "GEMM", "mismatch"), ("a/x", "dot random", "mismatch"), ("a/x", "GEMM", "build")):
        assert known_reason(known, *other) == ""  # type: ignore[arg-type]
    for wrong, said in (
        ("known: [{job: a, kind: mismatch, reason: r}]", "known.yaml:1: known.0.date is missing"),
        ("known: [{job: a, kind: mismatch, reason: r, date: soon}]", "known.0.date must be a day, as 2026-11-26"),
        ("known: [{job: a, kind: odd, reason: r, date: 2026-11-26}]", "known.0.kind must be 'mismatch', 'incomplete'"),
        ("others: []", "others is not a key here"),
    ):
        (here / "known.yaml").write_text(wrong)
        with pytest.raises(InputError, match=said):
            load_campaign("c.yaml")
