"""The plan of a unit: its suites fit the bench, hold what they say, and do not change with a seed."""

from __future__ import annotations

import pytest
from built_presets import others_slow
from cosim.plays import codes_of, planned, planner, trace_of
from cosim.small_runs import BULK_SUITES, SUITES, shrink
from odd_units import IN_RTL, unit, units_of
from unit_keys import odd_unit, promoted, window

from hwsim.cases.case import term_scales
from hwsim.cosim import bench, suites
from hwsim.cosim.bench import DEPTH, fitting
from hwsim.cosim.design import Play
from hwsim.cosim.play import BULK
from hwsim.cosim.suites import SIZES
from hwsim.model.definition import Definition
from hwsim.spec import Unit

ODD = units_of(IN_RTL)
TINY = unit("tiny")

NARROW = odd_unit("narrow", "e2m1", "f16", window(13), "e8m13", 1, rounding="rz")
LONG = odd_unit("long", "e2m1", "f16", window(13), "f16", 1, rounding="rz", **promoted(64, "f16"))
SHORT = odd_unit("short", "e4m3", "none", window(13), "e8m13", 16, rounding="rz", chain="none")


PLANNED = [TINY, SHORT, ODD["blocks-in-a-beat"], ODD["promoted-e4m3-in-f16"]]


@pytest.mark.parametrize("unit", others_slow(PLANNED, [TINY, ODD["blocks-in-a-beat"]]), ids=lambda u: u.name)
def test_every_suite_expects_what_the_definition_returns(unit: Unit, monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch)
    definition = Definition(unit)
    # Every pair of FP4 codes is soon worked out; the 65,536 of FP8 take a while.
    bulk = BULK_SUITES if unit.operands.a.bits == 4 else set()
    made = [*planned(unit, "icarus", 24), *(planned(unit, BULK, 24) if bulk else [])]
    names = {play.suite.name for play in made}
    assert names - {"GEMM 3 x 3 x 64", "GEMM 3 x 3 x 16"} == (SUITES | bulk) - {"GEMM 3 x 3 x 64"}
    assert len(made) == len(names)
    for play in made:
        count, cases = play.script.planned, play.suite.cases
        assert count == len(play.owners) > 0
        if play.suite.name != "handshake and reset":
            assert sorted(play.owners) == list(range(len(cases)))
        for owner, code in list(zip(play.owners, codes_of(play), strict=True))[:: max(1, count // 100)]:
            case = cases[owner]
            assert code == definition.dot(case.a, case.b, case.c, *term_scales(unit, case)).code


@pytest.mark.parametrize("driver", SIZES)
@pytest.mark.parametrize("unit", [NARROW, LONG, SHORT], ids=lambda u: u.name)
def test_a_matrix_product_fits_the_bench_and_the_unit(driver: str, unit: Unit) -> None:
    # One lane: 16 x 16 x 512 would be 131,072 beats, one more than the bench holds.
    m, n, k = planner(unit).within(SIZES[driver].gemm)
    assert (m, n) == SIZES[driver].gemm[:2]
    assert 0 < m * n * -(-k // unit.instruction.lanes) <= DEPTH
    assert unit.instruction.chain or k <= unit.instruction.k


def random_suites(unit: Unit, count: int) -> list[suites.Suite]:
    return [suite for suite in planner(unit).bulk(count) if suite.name.startswith("dot random, many")]


def test_many_beats_are_several_suites(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "DEPTH", 500)
    made = random_suites(LONG, 40)
    assert [suite.name for suite in made] == [f"dot random, many, part {part + 1}" for part in range(len(made))]
    assert len(made) > 2
    assert sum(len(suite.cases) for suite in made) == 40
    lanes = LONG.instruction.lanes
    assert all(sum(len(case.a) // lanes for case in suite.cases) <= 500 for suite in made)
    monkeypatch.undo()
    (whole,) = random_suites(LONG, 40)
    assert whole.name == "dot random, many"
    assert [case for suite in made for case in suite.cases] == list(whole.cases)


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


def described(play: Play) -> tuple[object, ...]:
    trace = trace_of(play)
    columns = (play.script.results, trace.drive, trace.expect)
    return play.suite.name, play.beats, *(column.tolist() for column in columns)


def test_a_seed_gives_the_same_plan_and_another_seed_another(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch)
    first, again, other = ([described(play) for play in planned(TINY, "icarus", 24, seed)] for seed in (1, 1, 2))
    assert first == again
    differ = [one[0] for one, another in zip(first, other, strict=True) if one != another]
    assert {"dot random", "dot random, gaps and back-pressure", "GEMM 3 x 3 x 64"} <= set(differ)
