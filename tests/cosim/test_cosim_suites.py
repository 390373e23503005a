"""The plan of a unit: its suites fit the bench, hold what they say, and do not change with a seed."""

from __future__ import annotations

import pytest
from cosim.odd_units import ODD, TINY, lanes, odd
from cosim.small_runs import BULK_SUITES, SUITES, shrink

from hwsim.cases.case import term_scales
from hwsim.cosim import suites
from hwsim.cosim.bench import DEPTH
from hwsim.cosim.ports import port_map
from hwsim.cosim.suites import SIZES, Planner, Suite, fitting
from hwsim.model.definition import Definition
from hwsim.spec import Unit, pipeline

NARROW = odd("narrow", operands={"a": "e2m1", "b": "e2m1", "addend": "f16"}, instruction=lanes(1))
LONG = odd(
    "long",
    operands={"a": "e2m1", "b": "e2m1", "addend": "f16"},
    instruction=lanes(1),
    result={"format": "f16", "rounding": "rz"},
    promotion={"interval": 64, "format": "f16"},
)
SHORT = odd(
    "short",
    operands={"a": "e4m3", "b": "e4m3", "addend": None},
    instruction={"k": 16, "lanes": 16, "chain": None},
    sum={"addend": None},
)


def planner(unit: Unit, seed: int = 1) -> Planner:
    built = pipeline(unit)
    return Planner(unit, built, port_map(unit, built), seed, lambda: None)


@pytest.mark.parametrize("unit", [TINY, SHORT, ODD["blocks-in-a-beat"], ODD["promoted-f16"]], ids=lambda u: u.name)
def test_every_suite_expects_what_the_definition_returns(unit: Unit, monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch)
    plan, definition = planner(unit), Definition(unit)
    # Every pair of FP4 codes is soon worked out; the 65,536 of FP8 take a while.
    bulk = BULK_SUITES if unit.operands.a.bits == 4 else set()
    made = [*plan.cocotb("icarus", 24), *(plan.bulk(24) if bulk else [])]
    names = {suite.name for suite in made}
    assert names - {"GEMM 3 x 3 x 64", "GEMM 3 x 3 x 16"} == (SUITES | bulk) - {"GEMM 3 x 3 x 64"}
    assert len(made) == len(names)
    for suite in made:
        assert suite.planned == len(suite.trace.results) > 0
        if suite.name != "handshake and reset":
            assert sorted(case for case, _ in suite.trace.results) == list(range(len(suite.cases)))
        for number, payload in suite.trace.results[:: max(1, suite.planned // 100)]:
            case = suite.cases[number]
            expected = definition.dot(case.a, case.b, case.c, *term_scales(unit, case)).code
            assert plan.ports.unpack(payload).code == expected


@pytest.mark.parametrize("driver", SIZES)
@pytest.mark.parametrize("unit", [NARROW, LONG, SHORT], ids=lambda u: u.name)
def test_a_matrix_product_fits_the_bench_and_the_unit(driver: str, unit: Unit) -> None:
    # One lane: 32 x 32 x 512 would be 524,288 beats, four times what the bench holds.
    m, n, k = planner(unit)._within(SIZES[driver].gemm)
    assert (m, n) == SIZES[driver].gemm[:2]
    assert 0 < m * n * -(-k // unit.instruction.lanes) <= DEPTH
    assert unit.instruction.chain or k <= unit.instruction.k


def test_presets_keep_their_matrix_product() -> None:
    unit = odd("sixteen", instruction=lanes(16))
    assert planner(unit)._within(SIZES["verilator"].gemm) == SIZES["verilator"].gemm


def test_many_beats_are_several_suites(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suites, "DEPTH", 500)
    plan = planner(LONG)
    made = [suite for suite in plan.bulk(40) if suite.name.startswith("dot random, many")]
    assert [suite.name for suite in made] == [f"dot random, many, part {part + 1}" for part in range(len(made))]
    assert len(made) > 2
    assert sum(suite.planned for suite in made) == 40
    assert all(len(suite.trace.beats) <= 500 for suite in made)
    monkeypatch.undo()
    whole = [suite for suite in plan.bulk(40) if suite.name.startswith("dot random")]
    assert [suite.name for suite in whole] == ["dot random, many"]
    assert [case for suite in made for case in suite.cases] == list(whole[0].cases)


def test_many_cases_are_several_suites(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suites, "MOST_CASES", 7)
    made = [suite for suite in planner(TINY).bulk(20) if suite.name.startswith("dot random")]
    assert [len(suite.cases) for suite in made] == [7, 7, 6]


@pytest.mark.parametrize(
    ("counts", "parts"),
    [
        ([], []),
        ([5], [1]),
        ([DEPTH, 1], [1, 1]),
        ([DEPTH - 1, 1, 1], [2, 1]),
        ([1, DEPTH, 1, 2], [1, 1, 2]),
        ([2, 2, 2, 2, 2, DEPTH], [3, 2, 1]),
    ],
)
def test_what_the_bench_holds_shares_a_simulation(counts: list[int], parts: list[int]) -> None:
    made = list(fitting(counts, lambda count: count, 3))
    assert [len(part) for part in made] == parts
    assert [count for part in made for count in part] == counts


def described(suite: Suite) -> tuple[object, ...]:
    return suite.name, suite.trace.beats, suite.trace.results, suite.trace.drive.tolist(), suite.trace.expect.tolist()


def test_a_seed_gives_the_same_plan_and_another_seed_another(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch)
    first, again, other = ([described(s) for s in planner(TINY, seed).cocotb("icarus", 24)] for seed in (1, 1, 2))
    assert first == again
    differ = [one[0] for one, another in zip(first, other, strict=True) if one != another]
    assert {"dot random", "dot random, gaps and back-pressure", "GEMM 3 x 3 x 64"} <= set(differ)


def test_one_case_is_played() -> None:
    made = {suite.name: suite.planned for suite in planner(TINY).cocotb("icarus", 1)}
    assert made["dot random, gaps and back-pressure"] == 1
    assert "dot random" not in made
