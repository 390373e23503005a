"""The bulk driver: a Verilated unit in this process, against the cycle-level model."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from built_presets import others_slow
from cosim.plays import played, recorded, trace_of, with_codes, with_trace
from odd_units import unit

from hwsim.cases.random_cases import random_cases
from hwsim.cosim.bench import port_map, words_of
from hwsim.cosim.build import bulk_build
from hwsim.cosim.design import Play, Traffic
from hwsim.cosim.play import BulkUnit
from hwsim.rtl import verilog
from hwsim.spec import Pipeline, Unit, pipeline
from hwsim.tb.job import READY, RESET, SEEN_VALID, VALID

TINY = unit("tiny")

pytestmark = [pytest.mark.simulator, pytest.mark.usefixtures("verilator")]


def plays(unit: Unit, built: Pipeline, count: int) -> Iterator[Play]:
    cases = random_cases(unit, count, 21)
    yield recorded(unit, built, cases)
    yield recorded(unit, built, cases, Traffic(0.7, 0.6, bursts=True), shuffled=True)
    yield recorded(unit, built, cases[:32], resets=True)


def agree(unit: Unit, built: Pipeline, count: int) -> None:
    ports = port_map(unit, built)
    with BulkUnit(bulk_build(verilog(unit, built), ports), ports) as device:
        for play in plays(unit, built, count):
            outcome = played(device, play)
            assert outcome.mismatches == []
            assert outcome.results == play.script.planned > 0


@pytest.mark.parametrize("name", others_slow(["ones-complement-in-rtl", "ordered-runs"], ["ordered-runs"]))
def test_odd_units(name: str) -> None:  # others and presets, in their files: tests/rtl/test_rtl_verilog.py, tests/soak
    agree(unit(name), pipeline(unit(name)), 480)


def test_odd_pipelines() -> None:
    agree(TINY, pipeline(TINY, cuts=(), contexts=8), 480)


@pytest.fixture
def tiny() -> Iterator[BulkUnit]:
    built = pipeline(TINY)
    ports = port_map(TINY, built)
    with BulkUnit(bulk_build(verilog(TINY, built), ports), ports) as device:
        yield device


@pytest.mark.parametrize(
    ("cycles", "offered", "shape", "message"),
    [
        (2, [0, 0], (1, 3), r"words must have 2 columns, not shape \(1, 3\)"),
        (2, [0, 0], (2,), r"words must have 2 columns, not shape \(2,\)"),
        (3, [0, 0], (1, 2), "offered must have 3 cycles, as drive has, not 2"),
        (2, [0, 1], (1, 2), r"offered must name rows of words \(1\), not 1"),
        (1, [0], (0, 2), r"offered must name rows of words \(0\), not 0"),
    ],
)
def test_arguments_that_do_not_fit(
    tiny: BulkUnit, cycles: int, offered: list[int], shape: tuple[int, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        tiny.run(np.zeros(cycles, np.uint8), np.array(offered, np.int32), np.zeros(shape, np.uint32))


def test_an_offer_of_minus_one_keeps_what_stands_there(tiny: BulkUnit) -> None:
    # The same beat, 1 * 1, three times; its row is named once.
    words = words_of([0x22 | 0x02 << 8 | 0b11 << 32], 2)
    drive = np.array([RESET, *[VALID | READY] * 3, *[READY] * 5], np.uint8)
    offered = np.array([-1, 0, *[-1] * 7], np.int32)
    seen = tiny.run(drive, offered, words)
    assert (seen.flags & SEEN_VALID > 0).tolist() == [False] * 5 + [True] * 3 + [False]
    assert seen.code.tolist() == [0x3C00] * 3


def test_wrong_answers_are_caught(tiny: BulkUnit) -> None:
    play = next(plays(TINY, pipeline(TINY), 30))
    assert played(tiny, play).count == 0
    assert played(tiny, with_codes(play, 0)).count > 20
    late = with_trace(play, expect=np.roll(trace_of(play).expect, 1))
    assert played(tiny, late).count > 0
