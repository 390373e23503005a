"""Units that are drawn: valid, the same for the same seed, and of the whole language."""

from __future__ import annotations

from collections import Counter

import pytest
from random_units.random_unit_files import SMALL

from hwsim.cosim.fuzz.draw import counted_settings, drawn_unit, modes_of, settings
from hwsim.cosim.fuzz.hardware import ALL_KINDS, tiled_cases
from hwsim.model.definition import supports


@pytest.mark.quick(cases=1)
def test_a_unit_depends_on_seed_and_number_alone() -> None:
    assert drawn_unit(5, 3) == drawn_unit(5, 3)
    assert len({str(drawn_unit(seed, number).unit) for seed in (5, 6) for number in (3, 4)}) == 4


def test_every_word_of_the_language_is_drawn() -> None:
    drawn = [drawn_unit(6, number) for number in range(600)]
    assert all(supports(one.unit) for one in drawn)
    counts = counted_settings(map(settings, drawn))
    assert {(path, value) for path, values in counts.items() for value, count in values.items() if not count} == set()
    assert {"own float", "own fixed"} <= counts["operands.a"].keys()
    assert counts["sum.method"].total() == 600
    assert "modulo" in counts["instruction.order"]
    reasons = sum((one.refused for one in drawn), Counter[str]())
    assert any("without a fraction" in reason for reason in reasons), "no specification was refused by all"


def test_some_units_are_outsize_and_some_pipelines_odd() -> None:
    drawn = [drawn_unit(9, number) for number in range(300)]
    units, built = [one.unit for one in drawn], [one.pipeline for one in drawn]
    assert max(unit.instruction.lanes for unit in units) >= 64
    assert max(unit.instruction.k // unit.instruction.lanes for unit in units) >= 8
    assert max(getattr(unit.sum, "fraction_bits", 0) for unit in units) > 120
    assert max(abs(unit.sum.product_limit or 0) for unit in units) > 100
    assert any("f64" in unit.model_dump_json() for unit in units)
    assert any(one.register_ready for one in built) and max(one.contexts for one in built) > 8
    assert sum(modes_of(one) is not None for one in drawn[:20]) > 10


def test_small_units_are_small() -> None:
    drawn = [drawn_unit(1, number, SMALL).unit for number in range(50)]
    assert max(one.instruction.lanes for one in drawn) == 2
    assert max(one.operands.a.bits for one in drawn) <= 8


@pytest.mark.parametrize("number", range(6))
def test_every_tile_has_cases_of_every_kind_and_of_the_same_lengths(number: int) -> None:
    unit = drawn_unit(2, number).unit
    cases = tiled_cases(unit, 60, 4)
    tiles = [cases.tile(tile) for tile in range(cases.tiles)]
    assert sum(map(len, tiles)) >= 60
    for tile in tiles:
        assert {case.id.rpartition("-")[2] for case in tile} == set(ALL_KINDS)
        assert [len(case.a) for case in tile] == [len(case.a) for case in tiles[0]]
    assert tiles[0] != tiles[1]
    assert tiled_cases(unit, 60, 4).tile(1) == tiles[1]
