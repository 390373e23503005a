"""Exact sums in integers of two words: the model's bits, and faults that the comparison must find."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from built_presets import others_slow
from kernels.kernel_cases import compare_all
from odd_units import unit
from unit_keys import COARSE, E4M3_FINITE, E5M2_FINITE, FINE, FIXED43, INT8, INT16, exact_sum, odd_unit, order

from hwsim.compute.kernels import kernel_of, supports
from hwsim.compute.kernels.fixed import FixedKernel, FixedSum, SumPlaces, lacks, places_of
from hwsim.formats import FixedFormat
from hwsim.spec import Unit, implemented

FIXED64 = {"name": "fixed64", "kind": "fixed", "integer_bits": 30, "fraction_bits": 33}
FIXED53 = {"name": "fixed53", "kind": "fixed", "integer_bits": 58, "fraction_bits": -6}
MODES = ("rne", "rna", "rz", "ru", "rd", "rto")


def units() -> dict[str, Unit]:
    """Every rounding, both overflows, both places of rounding, with addends and without."""
    made = {name: unit(name) for name in ("long-43", "long-coarse")}
    for number, rounding in enumerate(MODES):
        for overflow in ("wrap", "saturate"):
            factors = (E4M3_FINITE, INT8) if number % 2 else (E5M2_FINITE, "e3m2")
            addend, result = (FINE, FIXED53) if number % 3 else (FIXED64, FIXED64)
            rule = exact_sum(rounded="group") if (number + (overflow == "wrap")) % 2 else exact_sum()
            how: dict[str, Any] = {"rounding": rounding, "overflow": overflow, "zeros": "positive"}
            how |= {"k": 8, "order": order(4, [0, 3], [2, 1])} if number % 2 else {}
            name = f"{rounding}-{overflow}"
            made[name] = odd_unit(name, factors, "none" if number == 4 else addend, rule, result, 4, **how)
    return made


UNITS = units()
WRONG = {name: UNITS[name] for name in ("long-43", "rna-saturate", "rd-wrap", "rto-wrap", "ru-saturate", "rne-wrap")}


def fixed(of: Unit) -> FixedKernel:
    assert isinstance(of.result.format, FixedFormat)
    assert not any(lacks(of))
    return FixedKernel(of, of.result.format)


@pytest.mark.parametrize("name", others_slow(UNITS, [*UNITS][::3]))
def test_kernel_is_the_model(name: str) -> None:
    assert compare_all(fixed(UNITS[name]), UNITS[name], seed=2, m=2) > 250


def test_long_results_are_summed_in_integers() -> None:
    assert isinstance(kernel_of(UNITS["long-43"]), FixedKernel)
    assert fixed(UNITS["long-43"]).word == np.dtype(np.uint64)


# Sums that never reach the ends of their results, or that lose no bits, cannot tell some faults.
@pytest.mark.parametrize(
    ("edit", "least"),
    [
        pytest.param(lambda rule: rule._replace(mode=(rule.mode + 1) % 6), 3, marks=pytest.mark.slow),
        (lambda rule: rule._replace(drop=rule.drop + 1), 6),
        pytest.param(lambda rule: rule._replace(wraps=not rule.wraps), 2, marks=pytest.mark.slow),
        (lambda rule: rule._replace(of_product=rule.of_product + 1), 6),
        pytest.param(lambda rule: rule._replace(of_addend=rule.of_addend + 1), 3, marks=pytest.mark.slow),
        pytest.param(lambda rule: rule._replace(bits=rule.bits - 1), 2, marks=pytest.mark.slow),
        (lambda rule: rule._replace(products=2), 2),
    ],
    ids=["rounding", "unit", "overflow", "products", "addend", "width", "groups"],
)
def test_faults_are_found(edit: Any, least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    right = FixedKernel._rule

    def wrong(self: FixedKernel, k: int) -> FixedSum:
        edited: FixedSum = edit(right(self, k))
        return edited

    monkeypatch.setattr(FixedKernel, "_rule", wrong)
    found = 0
    for one in WRONG.values():
        try:
            compare_all(fixed(one), one, seed=2, m=2)
        except AssertionError:
            found += 1
    assert found >= least


def test_places() -> None:
    # e5m2 x e4m3 is a multiple of 2^(-16 - 9), c of 2^-40; the result of 2^5 is an addend too.
    assert places_of(UNITS["long-coarse"]) == SumPlaces(sum=-40, product=-25, addend=-40, result=5)


@pytest.mark.parametrize(
    ("changed", "lack"),
    [
        ({"result": {"format": {**FIXED64, "integer_bits": 31}}}, "result.format: fixed64"),
        ({"operands": {"addend": {**COARSE, "integer_bits": 90}}}, "operands.addend: coarse"),
    ],
)
def test_what_is_refused(changed: dict[str, Any], lack: str) -> None:
    data = UNITS["rne-saturate"].model_dump(mode="json")
    for part, keys in changed.items():
        data[part] |= keys
    refused = Unit.model_validate(data)
    assert implemented(refused)
    assert lack in list(lacks(refused))
    assert not supports(refused)


def test_sums_that_two_words_do_not_hold_are_refused() -> None:
    far = {"name": "far", "kind": "fixed", "integer_bits": -20, "fraction_bits": 80}
    long = odd_unit("long", (INT16, INT16), far, exact_sum(), FIXED43, overflow="saturate")
    assert any("a sum of 1,048,576 products" in lack for lack in lacks(long))


@pytest.mark.parametrize("fraction_bits", [127, 128, 129, 300])
def test_sums_far_above_their_results_are_left_to_floats(fraction_bits: int) -> None:
    below = {"name": "below", "kind": "fixed", "integer_bits": 31 - fraction_bits, "fraction_bits": fraction_bits}
    small = odd_unit("small", ("e2m1", "e2m1"), "none", exact_sum(), below, 2, overflow="saturate", rounding="rz")
    assert any("a sum of 1,048,576 products" in lack for lack in lacks(small))
    assert supports(small)  # floats hold these sums
    assert compare_all(kernel_of(small), small, seed=2, m=2) > 250
