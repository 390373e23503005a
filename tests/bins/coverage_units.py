"""The units that coverage is tested with: presets, and tiny ones whose every case can be enumerated."""

from __future__ import annotations

from hwsim.spec import Unit, load_unit

HOPPER, MX, DEEPSEEK = "hopper-wgmma-e4m3-f32", "mxfp8-e4m3-f32", "deepseek-v3-e4m3-f32"
TINY = {
    # Two products and no addend, in a window that cuts off most of the smaller one.
    "tiny-pair": {
        "operands": {"a": "e2m1", "b": "e2m1"},
        "instruction": {"k": 2, "lanes": 2, "chain": None},
        "sum": {"method": "aligned", "fraction_bits": 1},
        "result": {"format": "e3m2", "rounding": "rne", "overflow": "saturate"},
    },
    "tiny-wide": {
        "operands": {"a": "e2m1", "b": "e2m1"},
        "instruction": {"k": 2, "lanes": 2, "chain": None},
        "sum": {"method": "aligned", "fraction_bits": 4},
        "result": {"format": "e3m2", "rounding": "rz", "overflow": "saturate"},
    },
    # One product and an addend whose range goes beyond the product's.
    "tiny-addend": {
        "operands": {"a": "e2m1", "b": "e2m1", "addend": "e3m2"},
        "instruction": {"k": 1, "lanes": 1, "chain": None},
        "sum": {"method": "aligned", "fraction_bits": 2},
        "result": {"format": "e3m2", "rounding": "rz", "overflow": "saturate"},
    },
    # An even smaller product, so that the addend beside two of them can be enumerated.
    "tiny-both": {
        "operands": {"a": "e2m1", "b": "e2m1", "addend": "e3m2"},
        "instruction": {"k": 2, "lanes": 2, "chain": None},
        "sum": {"method": "aligned", "fraction_bits": 2, "lost": "jam"},
        "result": {"format": "e4m3", "rounding": "rne", "overflow": "nan"},
    },
}


def unit_of(name: str) -> Unit:
    """A preset, or a tiny unit."""
    if name in TINY:
        return Unit.model_validate({"unit": name, **TINY[name]})
    return load_unit(name)
