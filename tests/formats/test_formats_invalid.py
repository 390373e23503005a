"""What a file breaks is said in plain words, in a line of bounded length."""

from __future__ import annotations

from pathlib import Path

import pytest

from hwsim.formats.yamlfile import SpecError, shown
from hwsim.spec import load_unit

UNIT = """unit: small
summary: of eight products
source: [a paper]
operands: {a: e5m2, b: e5m2, addend: f16}
instruction: {k: 8, lanes: 8}
sum: {method: aligned, fraction_bits: 10, lost: jam}
result: {format: f16, rounding: rne}
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("unit: small", "unit: 7", "1: unit must be text, not 7"),
        ("of eight products", "[a, b]", "2: summary must be text, not ['a', 'b']"),
        ("[a paper]", "a paper", "3: source must be a list, not 'a paper'"),
        ("a: e5m2", "a: {x: 1}", "4: operands.a.kind is missing; it must be float, fixed, exponent or table"),
        ("a: e5m2", "a: {kind: real}", "4: operands.a.kind must be float, fixed, exponent or table, not 'real'"),
        ("a: e5m2", "a: {kind: float}", "4: operands.a.name is missing"),
        ("k: 8", "k: eight", "5: instruction.k must be an integer, not 'eight'"),
        ("{method: aligned, fraction_bits: 10, lost: jam}", "5", "6: sum must be a mapping of keys to values, not 5"),
        ("e5m2, addend", "e5m2, daz: 2, addend", "4: operands.daz must be true or false, not 2"),
        ("k: 8", "k: 0", "5: instruction.k must be greater than or equal to 1, not 0"),
    ],
)  # fmt: skip
def test_a_rule_is_said_without_words_of_the_library(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "u.yaml"
    path.write_text(UNIT.replace(old, new))
    with pytest.raises(SpecError) as error:
        load_unit(path)
    assert str(error.value) == f"{path}:{message}"


def test_a_long_value_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "u.yaml"
    for value in ("x" * 70_000, "[" + "[1], " * 1000 + "]", "{" + ", ".join(f"k{at}: 1" for at in range(999)) + "}"):
        path.write_text(UNIT.replace("k: 8", f"k: {value}"))
        with pytest.raises(SpecError, match=r"u\.yaml:5: instruction\.k must be an integer, not ") as error:
            load_unit(path)
        assert len(str(error.value)) < 600
    assert shown("as it is") == "'as it is'" and shown([1, {"a": None}]) == "[1, {'a': None}]"
