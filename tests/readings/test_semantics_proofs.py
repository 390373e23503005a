"""Proofs that readings are equal: on small units every operand is tried, and no pair that is proved equal differs."""

from __future__ import annotations

from functools import cache
from itertools import combinations, combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
from built_presets import others_slow
from computed_once import computed_once

from hwsim.cases.case import Batch
from hwsim.explain import READINGS, Reading, own_reading
from hwsim.explain import readings as proofs
from hwsim.explain.candidate import batch_results, changed
from hwsim.explain.readings import Facts, normal_forms, read_unit, why_equal
from hwsim.model.definition import Definition
from hwsim.spec import Unit, load_unit

PAIRS = tuple(combinations(range(40), 2))


def small(name: str, exponent: int, fraction: int, **more: Any) -> dict[str, Any]:
    return {
        "name": name, "kind": "float", "exponent_bits": exponent, "fraction_bits": fraction,
        "bias": (1 << exponent - 1) - 1, **more,
    }  # fmt: skip


IEEE = {"nan": "ieee", "infinities": True}
FACTORS = {"e2m1": small("e2m1", 2, 1), "e3m1": small("e3m1", 3, 1), "e3m0": small("e3m0", 3, 0)}
RESULTS = {
    "e4m2": small("e4m2", 4, 2, **IEEE),
    "e4m4": small("e4m4", 4, 4, **IEEE),
    "e5m6": small("e5m6", 5, 6, **IEEE),
    "e5m9": small("e5m9", 5, 9, **IEEE),
}


def tiny(factor: str, result: str, bits: int, rounding: str, addend: str | None, lanes: int = 2, **more: Any) -> Unit:
    fmt = FACTORS[factor]
    data = {
        "unit": "tiny",
        "operands": {"a": fmt, "b": fmt, "addend": None if addend is None else RESULTS[addend]},
        "instruction": {"k": lanes, "lanes": lanes, "chain": None if addend is None else "addend"},
        "sum": {"method": "aligned", "fraction_bits": bits, "addend": None if addend is None else "aligned"},
        "result": {"format": RESULTS[result], "rounding": rounding, **more},
    }
    return Unit.model_validate(data)


@cache
def every_product(unit: Unit) -> tuple[tuple[int, int], ...]:
    """Codes that make every product of the unit's factors, each product once."""
    definition, bits = Definition(unit), unit.operands.a.bits
    codes = {}
    for a, b in product(range(1 << bits), repeat=2):
        term = definition.product(a, b)
        codes.setdefault((term.sign if term.sig else 0, term.exp if term.sig else 0, term.sig), (a, b))
    return tuple(codes.values())


def every_answer(unit: Unit) -> np.ndarray:
    """(n, 40): all readings of all operands, up to the order of the lanes."""
    products = np.array(every_product(unit), dtype=np.uint8)
    lanes = list(combinations_with_replacement(range(len(products)), unit.instruction.lanes))
    fmt = unit.operands.addend
    addends = (
        [0] if fmt is None else [code for code in range(1 << fmt.bits) if abs(float(fmt.decode([code])[0])) < np.inf]
    )
    table = np.tile(products[np.array(lanes)], (len(addends), 1, 1))
    c = np.repeat(np.array(addends, np.uint16), len(lanes))
    batch = Batch(range(len(c)), *(np.ascontiguousarray(table[:, :, side]) for side in (0, 1)), c)  # type: ignore[arg-type]
    return np.array([batch_results(read_unit(unit, reading), batch) for reading in READINGS]).T


@computed_once("explain")
def told_apart(name: str) -> set[tuple[int, int]]:
    answers = every_answer(UNITS[name])
    assert len(answers) > 50
    return {(i, j) for i, j in PAIRS if (answers[:, i] != answers[:, j]).any()}


def proved(unit: Unit) -> set[tuple[int, int]]:
    forms = normal_forms(unit)
    return {(i, j) for i, j in PAIRS if why_equal(forms, READINGS[i], READINGS[j]) is not None}


# Windows from too short for anything to long enough for everything, and all roundings.
UNITS = {
    "no addend, short": tiny("e3m1", "e4m2", 3, "rne", None),
    "no addend, cut to the result's bits": tiny("e3m1", "e4m4", 4, "rz", None),
    "no addend, one bit more": tiny("e2m1", "e4m4", 5, "rz", None, 3),
    "no addend, two bits more": tiny("e2m1", "e4m2", 4, "rne", None, 3),
    "no addend, to odd": tiny("e2m1", "e4m4", 4, "rto", None, 3),
    "no addend, down": tiny("e2m1", "e4m2", 4, "rd", None, 3),
    "no addend, up": tiny("e2m1", "e4m2", 3, "ru", None, 3),
    "no addend, long": tiny("e2m1", "e5m6", 12, "rne", None),
    "no addend, just long enough": tiny("e2m1", "e4m2", 6, "rne", None),
    "no addend, one bit too short": tiny("e2m1", "e4m2", 5, "rne", None),
    "one lane": tiny("e3m1", "e4m2", 4, "rz", None, 1),
    "powers of two": tiny("e3m0", "e4m2", 3, "rz", None),
    "addend, short": tiny("e2m1", "e4m2", 2, "rz", "e4m2"),
    "addend, long": tiny("e2m1", "e4m4", 6, "rne", "e4m2"),
    "addend, sums that fit": tiny("e2m1", "e5m9", 9, "rne", "e4m2"),
    "addend, sums that fit, tiny": tiny("e2m1", "e5m9", 9, "rz", "e4m2", tiny="positive"),
    "addend, sums that fit, down": tiny("e2m1", "e5m9", 9, "rd", "e4m2"),
    "addend finer than the result": tiny("e3m0", "e4m2", 7, "rz", "e4m4", tiny="positive"),
    "addend, saturating": tiny("e2m1", "e4m4", 8, "rne", "e4m2", overflow="saturate"),
    "addend, flushing": tiny("e2m1", "e5m9", 9, "rne", "e4m2", subnormals="flush"),
}


# An addend of every code takes most of the time; mutants are caught without these.
SOAKED = {
    "addend, long", "addend, sums that fit", "addend, sums that fit, tiny", "addend finer than the result",
    "addend, flushing",
}  # fmt: skip
ALWAYS = [name for name in UNITS if name not in SOAKED]


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", others_slow(UNITS, ALWAYS))
def test_no_pair_that_is_proved_equal_ever_differs(name: str) -> None:
    unit = UNITS[name]
    equal, different = proved(unit), told_apart(name)
    assert not equal & different
    assert len(equal) + len(different) > 400 or unit.instruction.lanes == 1


def test_what_is_long_enough_is_proved_and_what_is_not_is_told_apart() -> None:
    # Where a unit has no addend and loses nothing, one reading is left; a bit less, and some operands tell.
    assert len(proved(UNITS["no addend, long"])) == 780
    assert not told_apart("no addend, long")
    assert told_apart("no addend, one bit too short") > told_apart("no addend, just long enough")


# Mutants of the proofs: each claims more than holds, and some small unit tells.
HARMLESS_TOO_SOON = [
    ("jam", "rz", 0),
    ("jam", "rne", 1),
    ("floor", "rz", 0),
    ("truncate", "rne", 2),
    ("nearest", "rne", 0),
]


def refuted() -> bool:
    return any(proved(UNITS[name]) & told_apart(name) for name in ALWAYS)


@pytest.mark.parametrize(("lost", "rounding", "more"), HARMLESS_TOO_SOON)
def test_a_wrong_rule_for_cuts_is_caught(monkeypatch: pytest.MonkeyPatch, lost: str, rounding: str, more: int) -> None:
    monkeypatch.setitem(proofs.HARMLESS, lost, {**proofs.HARMLESS[lost], rounding: more})
    assert refuted()


def test_bounds_that_are_too_small_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Facts, "sum_bits", property(lambda facts: 3))
    assert refuted()


@pytest.mark.parametrize("claim", ["loses_nothing", "sum_fits"])
def test_claims_that_do_not_hold_are_caught(monkeypatch: pytest.MonkeyPatch, claim: str) -> None:
    monkeypatch.setattr(Facts, claim, lambda facts, reading: True)
    assert refuted()


def test_rules_of_a_late_addition_that_differ_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Facts, "adds_like_its_sums", True)
    assert refuted()


def test_a_late_addend_that_is_no_addend_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = Facts.__init__

    def without(self: Facts, unit: Unit) -> None:
        facts(self, unit)
        self.starts = False

    monkeypatch.setattr(Facts, "__init__", without)
    assert refuted()


def test_groups_that_hand_on_their_sums_are_no_proof() -> None:
    # Two groups of one instruction: a late addend comes after the second, so that when it comes does matter.
    forms = normal_forms(load_unit("ada-mma-e4m3-f32"))
    exact = READINGS[32:]
    assert why_equal(forms, exact[0], exact[2]) is None
    hopper = normal_forms(load_unit("hopper-wgmma-e4m3-f32"))
    assert why_equal(hopper, exact[0], exact[2]) == (
        "where nothing is lost and the sum is rounded once, it is the same whenever the addend comes"
    )
    assert own_reading(load_unit("hopper-wgmma-e4m3-f32")) == READINGS[0]


@pytest.mark.parametrize("rounding", ["rne", "rd"])
def test_a_sum_of_minus_zeros_shows_when_the_addend_comes(rounding: str) -> None:
    """IEEE 754: -0 + -0 is -0, but +0 + -0 is +0, unless it is rounded down; and a late addend is added to +0."""
    unit = changed(tiny("e2m1", "e4m4", 8, rounding, "e4m4"), {"sum": {"zero": "ieee"}})
    aligned, late = Reading("exact"), Reading("exact", late=True)
    batch = Batch(["-0"], np.array([[8, 8]]), np.array([[0, 0]]), np.array([1 << 8]))
    answers = [int(batch_results(read_unit(unit, reading), batch)[0]) for reading in (aligned, late)]
    assert answers == [1 << 8, 1 << 8 if rounding == "rd" else 0]
    assert (why_equal(normal_forms(unit), aligned, late) is None) == (rounding != "rd")


def test_a_zero_that_a_group_starts_from_may_count_as_an_addend() -> None:
    """Without an addend it is in the window of one reading, and in none where it is added late."""
    keys: dict[str, Any] = {
        "unit": "counted",
        "operands": {"a": "e4m3", "b": "e4m3", "addend": "none"},
        "instruction": {"k": 2, "lanes": 2, "start": "zero", "chain": "none"},
        "sum": {"method": "aligned", "fraction_bits": 2, "lost": "floor", "zero_terms": "count"},
        "result": {"format": "e4m3fnuz", "rounding": "rne", "overflow": "saturate"},
    }
    aligned, late = Reading("floor"), Reading("floor", late=True)
    assert why_equal(normal_forms(Unit.model_validate(keys)), aligned, late) is None
    keys["sum"] |= {"zero_terms": "skip"}
    assert why_equal(normal_forms(Unit.model_validate(keys)), aligned, late) is not None


def test_a_sum_goes_on_within_an_interval_of_promotion() -> None:
    keys: dict[str, Any] = {
        "unit": "promoted",
        "operands": {"a": "e4m3", "b": "e4m3", "addend": "none"},
        "instruction": {"k": 1, "lanes": 1, "chain": "none"},
        "sum": {"method": "aligned", "fraction_bits": 32},
        "result": {"format": "e4m3", "rounding": "rne", "overflow": "nan"},
        "promotion": {"interval": 2, "format": "f32", "operation": "add", "rounding": "rne"},
    }
    aligned, late = Reading("truncate"), Reading("truncate", late=True, two=True)
    assert why_equal(normal_forms(Unit.model_validate(keys)), aligned, late) is None
    keys["promotion"] |= {"interval": 1}
    assert why_equal(normal_forms(Unit.model_validate(keys)), aligned, late) is not None
