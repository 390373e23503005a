"""Sensitive cases of units whose windows are wide, or hardly there, beside their results."""

from __future__ import annotations

from typing import Any

import pytest

from hwsim.cases.case import dot
from hwsim.cases.sensitive import sensitive
from hwsim.model.definition import definition_of
from hwsim.spec import Unit

UNITS: dict[str, tuple[str, str, int, int, str]] = {
    # Factors, addend, lanes, fraction bits, result. The window ends far below the last place of a narrow result.
    "wide": ("e5m2", "bf16", 8, 20, "bf16"),
    "wider than a word": ("e2m1", "f16", 2, 35, "f16"),
    "wider than two words": ("e2m1", "f16", 4, 75, "bf16"),
    # Places of the window, and distances at which one bit says that a term is far, are the same.
    "none": ("e2m1", "f32", 2, 0, "f16"),
}


def unit(name: str, **result: Any) -> Unit:
    factors, addend, lanes, bits, fmt = UNITS[name]
    return Unit.model_validate(
        {
            "unit": name.replace(" ", "-"),
            "operands": {"a": factors, "b": factors, "addend": addend},
            "instruction": {"k": lanes, "lanes": lanes},
            "sum": {"method": "aligned", "fraction_bits": bits},
            "result": {"format": fmt, "rounding": "rne", **result},
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "rounding"),
    [("wide", "rne"), ("wider than a word", "rto"), ("wider than two words", "rd"), ("none", "rz")],
)
def test_each_has_cases_that_the_unit_takes(name: str, rounding: str) -> None:
    some = unit(name, rounding=rounding)
    cases = sensitive(some, 1)
    assert len({case.id for case in cases}) == len(cases) > 100
    codes = {dot(definition_of(some), case).code for case in cases[:: max(1, len(cases) // 100)]}
    assert len(codes) > 20
