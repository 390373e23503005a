"""Chains and low addends: directed cases catch RTL that sums in another order, or by another rule."""

from __future__ import annotations

from typing import Any

import pytest
from built_presets import others_slow
from cosim.mutants import Mutant
from cosim.plays import amaranth_play, recorded
from odd_units import unit
from unit_keys import chained, odd_unit

from hwsim.cases.bins.covering import directed
from hwsim.cases.bins.lowaddends import low_addend_rows
from hwsim.cases.case import Case, Rows
from hwsim.rtl import aligned, rounded, terms, windows
from hwsim.spec import Unit, load_unit, pipeline

CHAINS = odd_unit("mutant-chains", "e2m1", "e5m2", chained("pairwise", "e5m2", "rz", chains=2), "e5m2", 4)
LOW, FOURS = unit("subgroups-low"), load_unit("blackwell-mxf4nvf4-e2m1-f32-fours")
SIXTEENS = load_unit("blackwell-mxf4nvf4-e2m1-f32")
FIRST_RULE = {"lanes": 16, "method": "exact", "exponent": "scales", "cancelled": "count"}
SECOND_RULE = {**FIRST_RULE, "low_lanes": 4, "low_addend": "skip"}


def cases(one: Unit) -> list[Case]:
    """The directed cases of chains; of scaled sums those of a low addend, which are among them."""
    if one.subgroup is None:
        return directed(one, 1)[::15]
    rows = Rows(one)
    low_addend_rows(rows)
    every = list(rows.cases.values())
    return every[:3] if one in (FOURS, SIXTEENS) else every[::2]


def caught(one: Unit, mutant: Mutant | None) -> int:
    """The mismatches of RTL with a fault, or without."""
    play = recorded(one, pipeline(one), cases(one))
    if mutant is None:
        (outcome,) = amaranth_play(one, pipeline(one), play)
    else:
        with mutant.applied():
            (outcome,) = amaranth_play(mutant.built_from(one), pipeline(one), play)
    return outcome.count


def text(name: str, function: Any, old: str, new: str) -> Mutant:
    return Mutant(name, "", (), function, old, new)


FAULTS: list[tuple[Unit, Mutant]] = [
    (CHAINS, text("a chain from its end", rounded._tree_levels, "{first + i}", "{lanes - first - 2 + i}")),
    (CHAINS, text("one product twice", rounded._tree_levels, "product{first + i}", "product{first}")),
    (LOW, text("an addend level with products is low", windows._is_low, "exp > least", "exp >= least")),
    (LOW, text("scales that do not count", windows._is_low, "sum(scale.bexp for scale in scales)", "16")),
    (LOW, text("a low addend that raises the window", aligned.Maximum._addend, "counts &= ~self.i.low", "pass")),
    (LOW, text("an addend cut above the window", aligned.shifter, " - n.reach)", ")")),
    (LOW, text("a low addend of one place less", aligned.Distance.compute, "addend.exp - n.reach,", "addend.exp,")),
    (LOW, text("parts that are always small", windows.drive_low_parts, "comb += low.eq(", "comb += low.eq(1 | ")),
    (FOURS, Mutant("the first rule", "", (), spec=(("sum", "subgroup", FIRST_RULE),))),
    (SIXTEENS, Mutant("the second rule", "", (), spec=(("sum", "subgroup", SECOND_RULE),))),
]  # fmt: skip
ALWAYS = ["a chain from its end", "the first rule"]


@pytest.mark.parametrize("name", others_slow(["mutant-chains", "subgroups-low", FOURS.name], ["mutant-chains"]))
def test_without_a_fault_nothing_is_caught(name: str) -> None:
    assert caught(next(one for one in (CHAINS, LOW, FOURS) if one.name == name), None) == 0


@pytest.mark.parametrize("fault", others_slow([mutant.name for _, mutant in FAULTS], ALWAYS))
def test_directed_cases_catch_another_order_and_another_rule(fault: str) -> None:
    one, mutant = next(each for each in FAULTS if each[1].name == fault)
    assert caught(one, mutant) > 0


def test_the_cases_of_a_low_addend_are_directed_ones() -> None:
    rows = Rows(FOURS)
    low_addend_rows(rows)
    assert rows.cases.keys() <= {case.id for case in directed(FOURS, 1)}
    assert terms.WindowRanges(FOURS).reach == 3
