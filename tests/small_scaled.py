"""A small unit with shared scales."""

from __future__ import annotations

from hwsim.spec import Unit

SMALL_SCALED = Unit.model_validate(
    {
        "unit": "small-scaled",
        "operands": {"a": "e4m3", "b": "e5m2", "addend": "f32"},
        "scale": {"a": {"format": "e8m0", "block": (1, 4)}, "b": {"format": "e8m0", "block": (4, 1)}},
        "instruction": {"k": 4, "lanes": 4},
        "sum": {"method": "aligned", "fraction_bits": 20, "lost": "jam"},
        "result": {"format": "f16", "rounding": "rne"},
    }
)
