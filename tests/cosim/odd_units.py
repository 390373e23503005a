"""Units with every rule that presets do not have, and pipelines that cut them in odd places."""

from __future__ import annotations

from typing import Any

from hwsim.spec import Pipeline, Unit, pipeline

BASE: dict[str, dict[str, Any]] = {
    "operands": {"a": "e4m3", "b": "e5m2", "addend": "f32"},
    "instruction": {"k": 8, "lanes": 8},
    "sum": {"method": "aligned", "fraction_bits": 13},
    "result": {"format": "e8m13", "rounding": "rz"},
}


def odd(name: str, **changes: Any) -> Unit:
    """BASE with other keys; a mapping changes a part of it, anything else replaces it."""
    data: dict[str, Any] = {"unit": name, **BASE}
    for key, value in changes.items():
        data[key] = {**BASE[key], **value} if key in BASE else value
    return Unit.model_validate(data)


def lanes(count: int, k: int | None = None) -> dict[str, int]:
    return {"k": k or count, "lanes": count}


def scale(block_a: int, block_b: int) -> dict[str, Any]:
    return {"a": {"format": "e8m0", "block": [1, block_a]}, "b": {"format": "e8m0", "block": [block_b, 1]}}


ODD = {
    unit.name: unit
    for unit in (
        odd("floor-to-f16", sum={"lost": "floor"}, result={"format": "f16", "rounding": "rne"}),
        odd(
            "jam-5-lanes-f16",
            instruction=lanes(5),
            sum={"lost": "jam", "fraction_bits": 4},
            result={"format": "f16", "rounding": "ru", "overflow": "saturate"},
        ),
        odd(
            "half-factors",
            operands={"a": "f16", "b": "bf16", "addend": "f16"},
            instruction=lanes(3),
            sum={"lost": "rne", "fraction_bits": 10},
            result={"format": "bf16", "rounding": "rd"},
        ),
        odd(
            "one-lane-e5m2",
            instruction=lanes(1),
            sum={"lost": "rna", "fraction_bits": 0},
            result={"format": "e5m2", "rounding": "rna", "overflow": "nan"},
        ),
        odd(
            "no-addend-e4m3",
            operands={"a": "e3m2", "b": "e2m3", "addend": None},
            instruction=lanes(2, k=4),
            sum={"fraction_bits": 30, "addend": None},
            result={"format": "e4m3", "rounding": "rto", "overflow": "saturate"},
        ),
        odd(
            "blocks-in-a-beat",
            operands={"a": "e2m1", "b": "e2m1", "addend": "f32"},
            scale=scale(2, 8),
            instruction=lanes(4),
            sum={"lost": "jam", "fraction_bits": 20},
            result={"format": "f16", "rounding": "rne", "tiny": "positive"},
        ),
        odd(
            "promoted-f16",
            operands={"a": "e4m3", "b": "e4m3", "addend": "f16"},
            instruction=lanes(4, k=8),
            sum={"fraction_bits": 12},
            result={"format": "e4m3", "rounding": "rne", "overflow": "saturate"},
            promotion={"interval": 8, "format": "f16", "rounding": "rd"},
        ),
        odd(
            "promoted-scaled",
            operands={"a": "e4m3", "b": "e4m3", "addend": "f32"},
            scale=scale(16, 2),
            instruction=lanes(4),
            sum={"lost": "floor", "fraction_bits": 8},
            result={"format": "f32", "rounding": "rd"},
            promotion={"interval": 4, "format": "f32", "rounding": "rna"},
        ),
        odd(
            "padded-tf32",
            operands={"a": "e5m2", "b": "e5m2", "addend": "bf16"},
            instruction=lanes(7),
            sum={"lost": "rne", "fraction_bits": 3},
            result={"format": "tf32", "rounding": "ru", "nan": 0x7FC00000},
        ),
    )
}

TINY = odd(
    "tiny",
    operands={"a": "e2m1", "b": "e2m1", "addend": "f16"},
    instruction=lanes(2),
    sum={"fraction_bits": 6},
    result={"format": "f16", "rounding": "rne"},
)
TINY_PROMOTED = odd(
    "tiny-promoted",
    operands={"a": "e2m1", "b": "e2m1", "addend": "f16"},
    instruction=lanes(2),
    sum={"fraction_bits": 6},
    result={"format": "f16", "rounding": "rz"},
    promotion={"interval": 6, "format": "f16", "rounding": "rne"},
)


def odd_pipelines(unit: Unit) -> dict[str, Pipeline]:
    """The usual pipeline, one that cuts inside the trees, and a single register."""
    trees = ("maximum.1", "sum.1") if unit.instruction.lanes > 2 else ("maximum", "sum")
    return {
        "usual": pipeline(unit),
        "trees, 3 contexts": pipeline(unit, cuts=(*trees, "normalize"), contexts=3),
        "one register": pipeline(unit, cuts=(), contexts=1),
    }
