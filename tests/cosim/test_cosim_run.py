"""A whole run: what it compares, what it writes, and that it cannot pass by mistake."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from built_presets import others_slow
from cosim.small_runs import (
    BULK_SUITES,
    CASES,
    SEED,
    SUITES,
    TINY,
    figures,
    junit,
    lines,
    mutant,
    options,
    shrink,
    small_run,
    small_suites,
)
from cosim.wave_checks import check
from odd_modes import ODD_MODES
from odd_units import unit
from unit_keys import odd_unit, window

from hwsim.base.text import counted
from hwsim.cases.case import block_lengths
from hwsim.cases.random_cases import random_cases
from hwsim.cosim import play, run
from hwsim.cosim.report import MOST_TOLD
from hwsim.cosim.suites import expected_codes
from hwsim.cosim.trace import alone
from hwsim.cosim.unitdesign import modal_design
from hwsim.explain import NAMES, read_json
from hwsim.explain.mismatches import explain_command, explained_case
from hwsim.explain.reports import MOST_LINES
from hwsim.spec import pipeline
from hwsim.tb.job import SuiteOutcome, read_outcome

simulators = [pytest.mark.simulator, pytest.mark.usefixtures("verilator", "icarus")]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch)


def simulated(test: Any) -> Any:
    for mark in simulators:
        test = mark(test)
    return test


@simulated
def test_model_and_rtl_agree_on_both_simulators(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    report = small_run(folder, (TINY, pipeline(TINY)), tables=True)
    assert report.passed
    assert all(
        row.planned == row.compared > 0 and row.mismatches == 0 and not lines(report, row) for row in report.rows
    )
    expected = {
        (TINY.name, suite, driver)
        for driver, wanted in (("verilator", SUITES), ("icarus", SUITES), ("verilator, bulk", BULK_SUITES))
        for suite in wanted
    }
    expected |= {
        ("all formats", table, driver) for table in ("codec tables", "products") for driver in ("verilator", "icarus")
    }
    assert {(row.unit, row.suite, row.driver) for row in report.rows} == expected
    # Both simulators played the same.
    by_driver = {driver: [r for r in figures(report.rows) if r[2] == driver] for driver in ("verilator", "icarus")}
    assert [r[:2] + r[3:] for r in by_driver["verilator"]] == [r[:2] + r[3:] for r in by_driver["icarus"]]
    # 16 codes, and 256 pairs.
    tables = {row.suite: row.planned for row in report.rows if row.unit == "all formats"}
    assert tables == {"codec tables": 16, "products": 256}
    assert set(junit(folder)) == {f"{unit}.{driver}/{suite}" for unit, suite, driver in expected}
    assert set(junit(folder).values()) == {None}
    jobs = {"formats", TINY.name}
    assert {path.name for path in folder.iterdir()} == {
        ".hwsim-cosim", *NAMES, *(f"{job}-{simulator}" for job in jobs for simulator in ("verilator", "icarus"))
    }  # fmt: skip
    for job in folder.glob("*-*/"):
        assert (job / "simulation.log").exists()
        assert not (job / "payloads.hex").exists()
        # cocotb's own results, a testcase a suite.
        testcases = list(ElementTree.parse(job / "results.xml").iter("testcase"))
        assert len(testcases) == (2 if job.name.startswith("formats") else len(SUITES))
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@simulated
@pytest.mark.parametrize("beside", others_slow(["nothing", "verilator"], ["nothing"]))
def test_a_run_is_repeated_by_its_seed_and_waves_are_kept(tmp_path: Path, beside: str) -> None:
    simulators = ("icarus",) if beside == "nothing" else (beside, "icarus")
    unit = (TINY, pipeline(TINY, cuts=("maximum.1", "sum.1"), contexts=2))
    first = small_run(tmp_path / "first", unit, simulators=simulators, bulk=False, waves=True, coverage=False)
    again = small_run(tmp_path / "again", unit, simulators=("icarus",), coverage=False)
    other = small_run(tmp_path / "again", unit, simulators=("icarus",), seed=SEED + 1, coverage=False)
    assert first.passed and again.passed and other.passed
    on_icarus = [row for row in first.rows if row.driver == "icarus"]
    assert figures(on_icarus) == figures(again.rows) != figures(other.rows)
    assert not list((tmp_path / "again").rglob("dump.vcd"))
    for simulator in simulators:
        dump = (tmp_path / "first" / f"tiny-{simulator}" / "dump.vcd").read_text()
        assert "$enddefinitions" in dump and "#" in dump
        # The stages have the model's names.
        for name in ("in_a", "out_result", "u_datapath", "u_align", "max_exp"):
            assert name in dump
        check(tmp_path / "first" / f"tiny-{simulator}", ("multiply", "maximum.1", "align", "sum.1", "round"))


@pytest.mark.slow
@simulated
def test_a_fault_is_reported_by_every_driver(tmp_path: Path) -> None:
    with mutant("subnormal with the exponent of zero").applied():
        report = small_run(tmp_path / "out")
    assert not report.passed
    failures = junit(tmp_path / "out")
    saved, page = read_json(tmp_path / "out" / "results.json"), (tmp_path / "out" / "report.html").read_text()
    assert saved == report
    assert saved.command == f"hwsim cosim tiny --seed {SEED} --cases {CASES} -o {tmp_path / 'out'}"
    directed = [row for row in report.rows if row.suite == "dot directed"]
    assert [row.driver for row in directed] == ["verilator", "icarus"]
    assert {row.driver for row in report.rows if not row.passed} == {"verilator", "icarus", "verilator, bulk"}
    for row in directed:
        assert row.mismatches > 0
        told_lines = lines(report, row)
        assert len(told_lines) <= MOST_LINES
        text = "\n".join(told_lines)
        assert told_lines[0].startswith(f"tiny · {row.driver} · dot directed · case ")
        for words in ("  a  [", "  b  [", "  c  0x", ", got 0x", "first differing stage: decode", f"seed {SEED}"):
            assert words in text
        into = f"-o {tmp_path / 'out'}"
        assert told_lines[-1] == f"  again: hwsim cosim tiny --sim {row.driver} --seed {SEED} --cases {CASES} {into}"
        failure = failures[f"tiny.{row.driver}/dot directed"]
        assert failure.get("message").startswith(f"{counted(row.mismatches, 'mismatch')}; ")
        assert failure.text == text
        # The same in the JSON and on the page, and the model's explanation of the case.
        told = saved.of(row)
        assert 1 <= len(told) <= MOST_TOLD and told == tuple(report.of(row))
        assert told[0].stage.startswith("decode") and told[0].group is not None
        assert f"group {told[0].group}: " in "\n".join(told[0].explanation.lines)
        assert told[0].explain.startswith("hwsim explain tiny --a 0x")
        assert told[0].stage in page and told[0].case in page
    # Both simulators see the same.
    assert directed[0].mismatches == directed[1].mismatches


@simulated
@pytest.mark.parametrize("name", ["blocks-longer", "blocks-in-a-beat", "scaled-promotion", "ordered-spans", "integers"])
def test_a_sum_that_ends_inside_a_block_is_explained(name: str) -> None:
    # The suite of resets plays the first beat of a case alone, which may be a part of what shares a scale.
    made = unit(name)
    for case in random_cases(made, 3, 1):
        first = alone(made, case)
        explained = explained_case(made, first)
        (want,) = expected_codes(made, [first])
        assert explained.code == want
        whole = made.scale is None or not any(len(first.a) % length for length in block_lengths(made))
        assert bool(explain_command(made, name, first)) == whole


# One of each kind of preset: scaled, MX, NVFP4, promoted, even-odd, pairwise, exact, sequential, integers.
KINDS = [
    "blocks-longer", "small-scaled", "subgroups", "scaled-promotion", "even-odd-bare", "tree-4", "exact-scaled",
    "chain-f32", "integers",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", [*KINDS, "modes-window"])
def test_a_faulty_unit_of_every_kind_ends_in_its_report(
    icarus: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    small_suites(monkeypatch)
    modal = ODD_MODES.get(name)
    with mutant("zeroed output").applied():
        if modal is not None:
            designs = (modal_design(modal, pipeline(modal)),)
            result = run.run(options(tmp_path / "run", designs=designs, simulators=("icarus",), coverage=False))
        else:
            made = unit(name)
            result = small_run(tmp_path / "run", (made, pipeline(made)), simulators=("icarus",), coverage=False)
    assert not result.passed
    assert any(one.what == "result" for one in result.mismatches)


@pytest.mark.slow
@simulated
def test_the_command_in_a_report_is_the_one_to_run_again(tmp_path: Path) -> None:
    unit = (TINY, pipeline(TINY, cuts=("sum",), contexts=3))
    with mutant("zeroed output").applied():
        report = small_run(
            tmp_path / "out",
            unit,
            simulators=("icarus",),
            called="my units/tiny.yaml",
            cases=None,
            waves=True,
            coverage=False,
        )
    first = next(row for row in report.rows if not row.passed)
    # The stages are right, and what leaves is not.
    assert any("first differing stage: control" in line for line in lines(report, first))
    assert lines(report, first)[-1] == (
        f"  again: hwsim cosim 'my units/tiny.yaml' --sim icarus --seed {SEED} --cuts sum,round --contexts 3 "
        f"-o {tmp_path / 'out'} --waves"
    )
    (wave,) = [line for line in lines(report, first) if "waveform" in line]
    left = tmp_path / "out" / "tiny-icarus"
    assert wave == (
        f"  seed {SEED}; waveform: {left / 'dump.vcd'}; signals by stage, for GTKWave: {left / 'dump.gtkw'}"
    )
    assert (tmp_path / "out" / "tiny-icarus" / "dump.vcd").stat().st_size > 1000


def lost(folder: Path, index: int) -> SuiteOutcome | None:
    return None if index == 1 else read_outcome(folder, index)


def shorter(folder: Path, index: int) -> SuiteOutcome | None:
    outcome = read_outcome(folder, index)
    if outcome is not None and index == 1:
        outcome.results -= 1
    return outcome


@pytest.mark.simulator
@pytest.mark.parametrize(("reads", "missing"), others_slow([(lost, CASES), (shorter, 1)], [(shorter, 1)]))
def test_fewer_results_than_planned_are_a_failure(
    icarus: None, reads: Any, missing: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(play, "read_outcome", reads)
    report = small_run(tmp_path / "out", simulators=("icarus",), coverage=False)
    assert not report.passed
    (failed,) = [row for row in report.rows if not row.passed]
    assert (failed.suite, failed.mismatches, failed.planned - failed.compared) == ("dot random", 0, missing)
    assert f"{failed.compared} of {counted(failed.planned, 'result')} compared" in lines(report, failed)[1]
    assert len(lines(report, failed)) <= MOST_LINES
    assert sum(failure is not None for failure in junit(tmp_path / "out").values()) == 1


@pytest.mark.simulator
def test_a_simulator_that_dies_is_a_failure(icarus: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Its last words are in the report, and nothing was compared.
    dying = ["sh", "-c", "echo out of luck; exit 7"]
    monkeypatch.setattr(run, "command", lambda *_, **__: dying)
    report = small_run(tmp_path / "out", simulators=("icarus",))
    assert len(report.rows) == len(SUITES)
    assert not any(row.passed or row.compared for row in report.rows)
    assert all("  out of luck" in lines(report, row) for row in report.rows)


@pytest.mark.slow
@pytest.mark.simulator
def test_a_unit_with_cases_of_no_chain_and_of_one_lane(icarus: None, tmp_path: Path) -> None:
    short = odd_unit("short", "e2m1", "none", window(13), "e8m13", rounding="rz", chain="none")
    narrow = odd_unit("narrow", "e2m1", "f16", window(13), "e8m13", 1, rounding="rz")
    report = small_run(tmp_path / "out", (short, pipeline(short)), (narrow, pipeline(narrow)), simulators=("icarus",))
    assert report.passed
    assert {row.suite for row in report.rows if row.unit == "short"} >= {"GEMM 3 x 3 x 4"}


@pytest.mark.slow
@pytest.mark.simulator
def test_codes_in_wider_containers_and_a_window_of_70_bits(icarus: None, tmp_path: Path) -> None:
    # A window's integer is beyond 64 bits, and most words of a container are no codes.
    padded = {"name": "padded", "kind": "float", "exponent_bits": 3, "fraction_bits": 2, "bias": 3, "container": 8}
    padded |= {"nan": "ieee", "infinities": True}
    wide = odd_unit("wide", (padded, "e2m1"), "f32", window(70), padded, 2)
    report = small_run(tmp_path / "out", (wide, pipeline(wide)), simulators=("icarus",), tables=True)
    assert report.passed
    assert {row.suite for row in report.rows} >= {"codec tables", "products", "dot directed", "dot random"}
