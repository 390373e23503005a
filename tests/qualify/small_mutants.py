"""A small unit, its netlists, and some of its mutants."""

from __future__ import annotations

from functools import cache

from hwsim.prove.qualify.mutants import Mutant
from hwsim.prove.qualify.steps import UnitNetlists
from hwsim.spec import Unit

CASES = {"smoke": 1000, "standard": 3000}


def small(**changes: object) -> Unit:
    """Four products of e2m1 and a binary16 addend."""
    data = {
        "unit": "small-e2m1-f16",
        "operands": {"a": "e2m1", "b": "e2m1", "addend": "f16"},
        "instruction": {"k": 4, "lanes": 4},
        "sum": {"method": "aligned", "fraction_bits": 6, "lost": "truncate"},
        "result": {"format": "f16", "rounding": "rz"},
    }
    return Unit.model_validate({**data, **changes})


PROMOTED = {
    "unit": "small-promoted",
    # Of e2m1 some readings are the same for all that is known, and are looked for long.
    "operands": {"a": "e4m3", "b": "e4m3", "addend": "f16"},
    "promotion": {"interval": 8, "format": "f16", "operation": "add", "rounding": "rne"},
}


@cache
def netlists(promoted: bool = False) -> UnitNetlists:
    """Of the small unit."""
    return UnitNetlists(small(**PROMOTED) if promoted else small(), (), 1)


def some(every: int, promoted: bool = False) -> list[Mutant]:
    """Every so many-th mutant."""
    return list(netlists(promoted).mutants())[::every]


# Scales that bring exponents to any place, and results that show few of them.
SCALED = {
    "unit": "small-scaled",
    "operands": {"a": "e4m3", "b": "e4m3", "addend": "f32"},
    "scale": {"a": {"format": "e8m0", "block": [1, 4]}, "b": {"format": "e8m0", "block": [4, 1]}, "at": "product"},
    "sum": {"method": "aligned", "fraction_bits": 14, "lost": "truncate"},
    "result": {"format": "f32", "rounding": "rz", "overflow": "infinity"},
}


@cache
def scaled() -> UnitNetlists:
    """Of a small unit with scales."""
    return UnitNetlists(small(**SCALED), (), 1)
