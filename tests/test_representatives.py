"""The few that stand for many have all that the many have, and no more of them than that takes."""

from __future__ import annotations

import pytest
from built_presets import BUILDABLE, others_slow
from odd_units import NAMED
from representatives import representatives, with_every_format, with_every_rule, with_every_shape


def test_every_fact_is_met_by_the_cheapest() -> None:
    facts = {"dear": {1, 2}, "cheap": {1, 2}, "own": {3}, "both": {1, 3}}
    assert representatives(facts, facts.__getitem__, ["cheap", "own", "both", "dear"].index) == ["cheap", "own"]


@pytest.mark.parametrize("names", [BUILDABLE, [*NAMED]], ids=["presets", "odd units"])
def test_fewer_have_every_shape_than_every_rule_than_every_format(names: list[str]) -> None:
    few = [len(chosen(names)) for chosen in (with_every_shape, with_every_rule, with_every_format)]
    assert 10 < few[0] < few[1] < few[2] < len(names) / 4
    assert len(with_every_rule(names, names)) == 0


def test_what_is_not_of_the_soak_is_slow_too() -> None:
    marks = [[mark.name for mark in getattr(one, "marks", ())] for one in others_slow("abc", "a", "b")]
    assert marks == [[], ["slow"], ["slow", "every"]]
