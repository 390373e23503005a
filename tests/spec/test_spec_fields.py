"""Units of keys that no file holds, and units with other keys: checked as a file's are."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import hwsim
from hwsim.spec import load_unit

HOPPER = "hopper-wgmma-e4m3-f32"
KEYS: dict[str, Any] = {
    "unit": "mine",
    "operands": {"a": "e4m3", "b": "e5m2", "addend": "f32"},
    "instruction": {"k": 32, "lanes": 16},
    "sum": {"method": "aligned", "fraction_bits": 13, "lost": "truncate"},
    "result": {"format": "f32", "rounding": "rz"},
}


def test_keys_are_taken_wherever_a_unit_is() -> None:
    before = copy.deepcopy(KEYS)
    assert hwsim.dot(KEYS, [[0x38]], [[0x3C]]) == 1.0
    assert before == KEYS


@pytest.mark.parametrize(
    ("where", "value", "told"),
    [
        (("sum", "fraction_bits"), -3, "sum.fraction_bits must be greater than or equal to 0, not -3"),
        (("sum", "fractions"), 3, "sum.fractions is not a key"),
        (("instruction", "lanes"), 7, r"instruction.lanes must divide instruction.k \(32\), not 7"),
        (("operands", "a"), "e4m9", "e4m9"),
    ],
)
def test_keys_are_checked_as_a_file_s_are(where: tuple[str, str], value: Any, told: str) -> None:
    keys = copy.deepcopy(KEYS)
    keys[where[0]][where[1]] = value
    with pytest.raises(hwsim.SpecError, match=told):
        load_unit(keys)
    if where[1] != "fractions":
        with pytest.raises(hwsim.SpecError):
            load_unit(KEYS).replace({".".join(where): value})


def test_other_keys_change_what_a_unit_returns_and_its_name() -> None:
    unit = load_unit(HOPPER)
    wider = unit.replace(fraction_bits=24, lost="jam")
    assert (wider.name, wider.sum.fraction_bits, wider.sum.lost) == (f"{HOPPER}-fraction_bits-24-lost-jam", 24, "jam")  # type: ignore[union-attr]
    same = unit.replace({"sum.fraction_bits": 24}, lost="jam")
    assert (same.sum, same.operands, same.result) == (wider.sum, unit.operands, unit.result)
    assert unit.replace() is unit
    with pytest.raises(hwsim.SpecError, match="did you mean fraction_bits"):
        unit.replace(fraction_bit=24)
