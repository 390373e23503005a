"""Engines at random: what is drawn is played, and what fails is made smaller and can be played again."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import at_hand

from hwsim.cosim.engine import run as engine_run
from hwsim.cosim.engine.draw import drawn_engine
from hwsim.cosim.engine.fuzz import SIMULATORS, EngineFailure, fuzzed_engine, played, smallest
from hwsim.cosim.fuzz.run import FuzzPlan
from hwsim.cosim.fuzz.run import run as run_plan
from hwsim.cosim.fuzz.trial import Side
from hwsim.rtl.engine.top import engine_verilog
from hwsim.spec.engine import Engine, load_engine

TEN = 10
WRONG = EngineFailure(frozenset({"full: d_tdata", "gaps: d_tvalid"}), "full: 2 differ")


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 300, TEN))
def test_random_engines_are_their_models(first: int) -> None:
    plan = FuzzPlan(TEN, 0, 1, None, frozenset(SIMULATORS), every={}, first=first)
    with at_hand():
        done = run_plan(plan, lambda _: None, one=fuzzed_engine)
    assert [(one.number, one.found) for one in done if one.found] == []
    assert all(count > 50 for one in done for count in one.cases.values())


@pytest.mark.slow
def test_what_fails_is_made_smaller_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(engine: Engine) -> str:
        return engine_verilog(engine).replace("count != 2'd2", "count != 2'd3")

    monkeypatch.setattr(engine_run, "engine_verilog", wrong)
    number = 25
    drawn = drawn_engine(1, number)
    assert drawn.rows * drawn.columns > 1 and drawn.drain == 2
    with at_hand():
        done = fuzzed_engine(FuzzPlan(1, 0, 1, tmp_path, frozenset[Side]({"Icarus"}), every={}), number)
        ((side, said, name),) = done.found
        assert side == "Icarus" and " differ, the first " in said
        kept = load_engine(tmp_path / name)
        assert (kept.rows, kept.columns, kept.reuse, kept.drain, kept.ports.c) == (1, 1, (1, 1), 2, None)
        assert kept.unit.name == "int8-i32"
        again = played(kept, "icarus", 1)[1]
        assert again is not None and again.words == said and any(kind.endswith(": d_tdata") for kind in again.kinds)
        monkeypatch.undo()
        assert played(kept, "icarus", 1)[1] is None


def test_what_is_needed_to_fail_stays() -> None:
    drawn = drawn_engine(1, 25)
    least = smallest(drawn, lambda engine: WRONG if engine.rows > 1 and engine.reuse[1] > 1 else None, WRONG)
    assert (least.rows, least.reuse[1], least.columns, least.drain) == (drawn.rows, drawn.reuse[1], 1, 1)
    assert least.unit.name == "int8-i32" and least.ports.model_dump(exclude_none=True) == {"a": 64, "b": 64, "d": 64}
    assert least.reset == "sync" != drawn.reset


def test_another_failure_is_not_the_same() -> None:
    """Whatever is simpler than the engine that was drawn fails, too, but for another reason."""
    drawn, other = drawn_engine(1, 25), EngineFailure(frozenset({"full: d_tvalid"}), "full: 3 differ")

    def fails(engine: Engine) -> EngineFailure:
        return WRONG if engine.rows > 1 and engine.drain > 1 else other

    least = smallest(drawn, fails, WRONG)
    assert fails(least) == WRONG and (least.rows, least.drain, least.columns) == (drawn.rows, drawn.drain, 1)
    assert fails(smallest(drawn, fails, other)) == other


def test_what_an_engine_raises_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(engine: Engine) -> str:
        raise IndexError(f"no element of {engine.name}")

    monkeypatch.setattr(engine_run, "engine_verilog", raises)
    results, said = played(drawn_engine(1, 25), "icarus", 1)
    assert results == 0 and said is not None and said.kinds == {"IndexError"}
    assert said.words.startswith("IndexError: no element of engine-1-25 (test_engine_fuzz.py:")
