"""What a report may say: nothing that contradicts itself, nothing that documents cannot hold."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from pydantic import ValidationError
from report.report_samples import (
    CAUSE,
    FAILED,
    NAMED,
    NASTY,
    PART,
    PASSED,
    SHORT,
    WHOLE,
    explained,
    good,
    mismatch,
    report,
)

import hwsim
from hwsim.explain import CountedBin, CoverageGroup, Row, coverage_groups, explanation, failure_lines
from hwsim.explain.frozen import fit
from hwsim.explain.mismatches import reading, ulps
from hwsim.explain.reports import MOST_LINES, _percent
from hwsim.explain.stages import text
from hwsim.formats import get_format
from hwsim.spec import load_unit
from hwsim.words import counted


@pytest.mark.parametrize(
    ("planned", "compared", "mismatches", "passed"),
    [(2, 2, 0, True), (0, 0, 0, False), (2, 1, 0, False), (2, 2, 1, False)],
)
def test_a_row_passes_only_where_all_was_compared_and_equal(
    planned: int, compared: int, mismatches: int, passed: bool
) -> None:
    row = Row(unit="u", suite="s", driver="d", planned=planned, compared=compared, mismatches=mismatches)
    assert row.passed is passed


def test_a_row_that_compared_more_than_was_planned_is_refused() -> None:
    with pytest.raises(ValidationError, match="u / d / s compared 2 results of 1"):
        Row(unit="u", suite="s", driver="d", planned=1, compared=2, mismatches=0)


def test_a_count_agrees_with_its_noun() -> None:
    said = [counted(1, "mismatch"), counted(0, "mismatch"), counted(1200, "case"), counted(1, "bin"), counted(2, "box")]
    assert said == ["1 mismatch", "0 mismatches", "1,200 cases", "1 bin", "2 boxes"]
    row = Row(unit="u", suite="s", driver="d", planned=1, compared=1, mismatches=1)
    assert row.verdict == "1 mismatch; 1 of 1 compared"
    assert "1 mismatch in this suite" in failure_lines(row, [mismatch()])[-3]
    assert failure_lines(row.changed(planned=1, compared=0), [])[1] == "  0 of 1 result compared"


def test_the_figures_are_those_of_the_rows_and_bins() -> None:
    figures, summary = report().figures, report().summary()
    assert (figures.suites, figures.suites_passed, figures.suites_left_out) == (3, 1, 1)
    assert (figures.planned, figures.compared, figures.not_compared) == (16 + 3074 + 56, 16 + 3074 + 12, 44)
    assert (figures.mismatches, figures.cases_left_out) == (341, 1)
    # By hand: 31 bins hit of 34 that are known to be reachable, one open, eight proved unreachable.
    assert tuple(figures.bins) == (31, 3, 1, 8) and figures.bins.reachable == 34
    assert str(figures.bins) == "31 of 34 reachable bins hit, 1 open, 8 unreachable"
    assert summary["bins_reachable"] == 34 and summary["not_compared"] == 44


def test_a_report_passes_only_where_every_row_does() -> None:
    assert good().passed and good().verdict == "all equal"
    assert not report().passed and report().verdict == "2 of 3 suites failed"
    empty = good().changed(rows=())
    assert not empty.passed and empty.verdict == "nothing was compared"


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"mismatches": ()}, "counts 341 mismatches, of which 0 are told"),
        ({"rows": (PASSED, FAILED.model_copy(update={"mismatches": 0}))}, "counts 0 mismatches, of which 1 are told"),
        ({"rows": (PASSED,)}, "a mismatch belongs to .*, which is no row"),
        ({"rows": (PASSED, FAILED, PASSED)}, "rows must have names of their own"),
        ({"mismatches": (mismatch(), mismatch(driver="verilator"))}, "verilator / dot directed, which is no row"),
        ({"coverage": report().coverage * 2}, "coverage groups must have names of their own, not G2"),
        ({"rows": ({**PASSED.model_dump(), "seconds": float("nan")},)}, "finite"),
        ({"rows": ({**PASSED.model_dump(), "compared": -1},)}, "greater than or equal to 0"),
        ({"verdict": "all equal"}, "Extra inputs"),
        (
            {"kinds": (NAMED.changed(minimal=mismatch(driver="verilator")),)},
            "the minimal case is of .* on verilator, where nothing failed",
        ),
        (
            {"kinds": (NAMED.changed(minimal=mismatch(unit=PASSED.unit)),)},
            "the minimal case is of all formats on icarus, where nothing failed",
        ),
        ({"left_out": (WHOLE.changed(suite="dot directed"),)}, "dot directed ran, so that .* must be left out, not 0"),
        ({"left_out": (PART.changed(suite="GEMM"),)}, "GEMM did not run at all, not 1"),
        ({"rows": (PASSED,), "mismatches": (), "kinds": (NAMED,), "left_out": ()}, "has 300 wrong results, but every"),
    ],
)
def test_a_report_that_contradicts_itself_is_refused(changes: dict[str, Any], rule: str) -> None:
    with pytest.raises(ValidationError, match=rule):
        report(**changes)


def test_a_cause_that_explains_more_than_it_was_tried_on_is_refused() -> None:
    with pytest.raises(ValidationError, match="lost bits floored explains 901 results of 900"):
        CAUSE.changed(right=901)


def test_a_kind_of_more_than_was_wrong_is_refused() -> None:
    with pytest.raises(ValidationError, match="a kind has 342 wrong results of 341"):
        NAMED.changed(wrong=342)


@pytest.mark.parametrize(
    "wrong",
    [
        {"state": "hit"},
        {"state": "missed", "hits": 1},
        {"state": "unreachable", "hits": 1, "reason": "a proof"},
        {"state": "unreachable"},
        {"state": "passed"},
    ],
)
def test_a_bin_that_contradicts_itself_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        CountedBin(name="bin", **wrong)


def test_a_plan_and_its_hits_become_groups() -> None:
    planned = [
        ("G1", "zero", True, ""),
        ("G2", "far", False, "never"),
        ("G1", "one", True, ""),
        ("G1", "inf", None, ""),
    ]
    made = coverage_groups(planned, {"one": 3, "zero": 0}, unit="u", titles={"G1": "operands"})
    assert [group.name for group in made] == ["G1", "G2"]
    assert [(bin.name, bin.hits, bin.state) for bin in made[0].bins] == [
        ("zero", 0, "missed"), ("one", 3, "hit"), ("inf", 0, "open")
    ]  # fmt: skip
    assert (made[0].title, made[0].unit, made[1].bins[0].reason) == ("operands", "u", "never")
    with pytest.raises(ValueError, match="hits must be of bins that were planned, not of two"):
        coverage_groups(planned, {"two": 1})
    with pytest.raises(ValueError, match="bin far was hit 1 times, so that it must not be unreachable"):
        coverage_groups(planned, {"far": 1})
    with pytest.raises(ValueError, match="bins of G1 must have names of their own"):
        coverage_groups([planned[0], planned[0]], {})
    with pytest.raises(ValidationError, match="at least 1"):
        CoverageGroup(name="G1", bins=())


def test_texts_are_fit_for_every_document() -> None:
    assert fit("a\x00b\x1b[1;31mred\x1b[0m\r\n\tc\ud800\ufffe\x85é𝟘") == "a\ufffdbred\n\tc\ufffd\ufffd\ufffdé𝟘"
    assert "\ufffd" in mismatch(case=NASTY).case and "\x00" not in mismatch(case=NASTY).case


def test_a_failure_fits_its_lines() -> None:
    lines = failure_lines(FAILED, [mismatch()])
    assert lines == [
        "hopper-wgmma-e4m3-f32 · icarus · dot directed · case distance/d08-exact-sub",
        "  this case: directed: two products that many places apart (d), with or without lost bits",
        "  a  [0] 0x7e (448), [1] 0xb9 (-1.125), [2] 0x05 (0.009765625); 32 elements",
        "  b  [0] 0x3c (1.5), [1] 0x39 (1.125), [2] 0x4d (6.5); 32 elements",
        "  c  0x3f8ccccd (1.10000002)",
        "  expected 0x4427f800 (671.875), got 0x44280000 (672), +2 ulp of e8m13",
        "  first differing stage: align, beat 0, lane 1: expected -40, got -41",
        "  at cycle 27, result 21 of 3074; 341 mismatches in this suite",
        "  seed 1; waveform: build/cosim/x-icarus/dump.vcd",
        "  again: hwsim cosim hopper-wgmma-e4m3-f32 --sim icarus --seed 1",
    ]
    assert failure_lines(SHORT, [])[1:] == [
        "  12 of 56 results compared", "  the end of the simulation's log:", "  out of luck", "  again: hwsim cosim"
    ]  # fmt: skip
    # However much there is to say, the command at the end stays.
    long = failure_lines(FAILED, [mismatch(operands=mismatch().operands * 9)])
    assert len(long) == MOST_LINES
    assert long[-1].startswith("  again: hwsim cosim")


def test_an_explanation_is_what_the_model_says() -> None:
    assert "\n".join(explanation(explained()).lines) == text(explained())
    # Of a long one, some groups: the first, and the one asked for.
    long = explained([0x38] * 256, [0x40] * 256)
    assert len(long.groups) == 8
    kept = explanation(long, 6)
    assert [group.index for group in kept.groups] == [0, 1, 2, 6] and kept.left_out == 4
    assert "4 more groups left out" in kept.lines
    assert [group.index for group in explanation(long).groups] == [0, 1, 2, 3]
    assert [group.index for group in explanation(long, 1).groups] == [0, 1, 2]
    # A sum without a window has its stages as text.
    for name in ("hfp8-forward-e4m3-dlfloat16", "exact-e4m3-f32"):
        unit = load_unit(name)
        scales = ([127], [127]) if unit.scale else (None, None)
        (group, *_) = explanation(hwsim.explain(unit, [0x38] * 32, [0x38] * 32, None, *scales)).groups
        assert group.window is None and len(group.lines) > 4


def test_codes_are_read_as_the_format_says() -> None:
    # 1 10001000 0101... by hand: 671.875 = 1.312255859375 * 2^9, exponent field 9 + 127 = 136.
    assert reading(get_format("e8m13"), 0x4427F800).fields == ("0", "10001000", "0100111111110", "0000000000")
    assert reading(get_format("e2m1"), 0xF).fields == ("1", "11", "1")
    assert str(reading(get_format("f16"), 0x3C00)) == "0x3c00 (1)"
    assert reading(get_format("f16"), -1).code == "unknown" and not reading(get_format("f16"), -1).fields
    fmt = get_format("f16")
    for code in range(0, 1 << 16, 257):
        sign, exponent, fraction = reading(fmt, code).fields
        if exponent != "11111":
            exp = max(int(exponent, 2), 1) - 15
            significand = Fraction(int(fraction, 2), 1024) + (int(exponent, 2) > 0)
            assert (-1) ** int(sign) * significand * Fraction(2) ** exp == Fraction(float(fmt.decode([code])[0]))


def test_a_distance_is_in_ulp_of_the_result() -> None:
    f16, e8m13 = get_format("f16"), get_format("e8m13")
    assert ulps(f16, 0x3C01, 0x3C00) == 1
    assert ulps(f16, 0x8001, 0x0001) == -2
    assert ulps(e8m13, 0x3F800000, 0x3F800400) == -1
    for got, expected in ((0x7C00, 0x3C00), (0x7E00, 0x3C00), (-1, 0x3C00)):
        assert ulps(f16, got, expected) is None
    assert ulps(e8m13, 0x3F800001, 0x3F800000) is None
    assert mismatch().distance == "+2 ulp of e8m13" and mismatch(ulp=None).distance == ""


def test_per_cent_never_rounds_to_all_or_nothing() -> None:
    assert [_percent(*pair) for pair in ((0, 0), (0, 5), (5, 5), (1, 10**6), (10**6 - 1, 10**6), (1, 3))] == [
        "0 %", "0 %", "100 %", "0.1 %", "99.9 %", "33.3 %"
    ]  # fmt: skip


def test_a_report_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        report().rows[0].mismatches = 3  # type: ignore[misc]
    # A changed copy is checked as the first was.
    assert report().rows[0].changed(suite="a\x00b").suite == "a\ufffdb"
    with pytest.raises(ValidationError, match="of which 0 are told"):
        report().changed(mismatches=())
