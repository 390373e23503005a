"""Odd units of the methods other than `aligned`, of scaled sums and of late windows: mappings as in unit files."""

from __future__ import annotations

from typing import Any

DL = "dlfloat16"
# The same without the rule that what rounds to nothing is zero; and a format that hwsim does not ship.
NEARBY = {
    "name": "bare-nearby", "kind": "float", "exponent_bits": 6, "fraction_bits": 9, "bias": 31, "subnormals": False,
    "nan": [0x7FFF, 0xFFFF],
}  # fmt: skip
INT8 = {"name": "int8", "kind": "fixed", "integer_bits": 7, "fraction_bits": 0}
I32 = {"name": "i32", "kind": "fixed", "integer_bits": 31, "fraction_bits": 0}


def summed(
    factors: str | tuple[Any, Any], addend: Any, rule: dict[str, Any], result: Any, lanes: int = 4, **more: Any
) -> dict[str, Any]:
    """A unit's mapping. factors: one format, or two. more: keys of any part, or top-level ones."""

    def taken(*keys: str) -> dict[str, Any]:
        return {key: more.pop(key) for key in keys if key in more}

    a, b = (factors, factors) if isinstance(factors, str) else factors
    top = taken("scale", "promotion", "late")
    return {
        "unit": "odd",
        "operands": {"a": a, "b": b, "addend": addend, **taken("convert", "daz")},
        "instruction": {"k": more.pop("k", lanes), "lanes": lanes, **taken("chain", "order", "start")},
        "sum": rule,
        "result": {"format": result, "rounding": "rne", **more},
        **top,
    }


def chained(method: str, fmt: Any, rounding: str = "rne", product: str = "fused", **more: Any) -> dict[str, Any]:
    """`sum` of a chain or a tree."""
    return {"method": method, "product": product, "format": fmt, "rounding": rounding, **more}


def scaled(at: str, a: tuple[Any, int], b: tuple[Any, int]) -> dict[str, Any]:
    """`scale`: a format and a block's length for each side."""
    sides = {"a": {"format": a[0], "block": [1, a[1]]}, "b": {"format": b[0], "block": [b[1], 1]}}
    return {"scale": {**sides, "at": at}}


def promoted(interval: int, fmt: Any, rounding: str = "rne", operation: str = "add") -> dict[str, Any]:
    """`promotion`."""
    keys = {"interval": interval, "format": fmt, "operation": operation, "rounding": rounding}
    return {"promotion": keys}


def windowed(sum_bits: int, addend_bits: int, lost: str, **more: Any) -> dict[str, Any]:
    """A late addend in a window, and the start from zero that goes with it."""
    keys = {"operation": "window", "sum_bits": sum_bits, "addend_bits": addend_bits, "lost": lost, **more}
    return {"start": "zero", "late": keys}


LATE = {"addend": "late"}
EVEN_ODD = {"method": "even-odd", "fraction_bits": 7, "combine": {"fraction_bits": 5, "lost": "floor"}}
SUBGROUP = {"method": "aligned", "subgroup": {"lanes": 2, "method": "exact", "exponent": "scales"}}

ODD_SUMS: dict[str, dict[str, Any]] = {
    "chain-f32": summed("e4m3", "f32", chained("sequential", "f32"), "f32"),
    "chain-f16-mul-add": summed("e5m2", "f16", chained("sequential", "f16", product="rounded"), "f16", 3, k=6),
    "chain-f16-rz": summed("f16", "f32", chained("sequential", "f16", "rz", "rounded"), "bf16", 2, rounding="rd"),
    "chain-rd": summed(("e4m3", "e5m2"), "none", chained("sequential", "f16", "rd"), "f16", 3, rounding="rd"),
    "chain-flush": summed(
        "e5m2", "f16", chained("sequential", "f16", product="rounded", flush=True), "f16", 3, daz=True
    ),
    "chain-flush-fused": summed("e5m2", "f16", chained("sequential", "f16", "ru", flush=True), "f32", 2),
    "chain-saturate": summed(
        "e5m2", "e5m2", chained("sequential", "e5m2", "rna"), "e4m3", 2, overflow="saturate", tiny="positive"
    ),
    "chain-bf16-chunks": summed(
        "bf16", "bf16", chained("sequential", "bf16"), "bf16", 1, k=4, **promoted(4, "bf16")
    ),
    "chain-f16-chunks": summed("e4m3", "f16", chained("sequential", "f16"), "f16", 2, **promoted(6, "f16", "rz")),
    "chain-dl-chunks": summed(
        "hfp8-e4m3", DL, chained("sequential", DL, "rna"), DL, 1, k=8, overflow="nan", rounding="rna",
        **promoted(8, DL, "rna"),
    ),
    "chain-dl-mixed": summed(
        ("hfp8-e4m3", "hfp8-e5m2"), DL, chained("sequential", DL, "rna", "rounded"), DL, 2, overflow="nan",
        rounding="rna", **promoted(4, DL, "rne"),
    ),
    "chain-dl-saturate": summed("hfp8-e4m3", DL, chained("sequential", DL, "rne"), DL, 2, overflow="saturate"),
    "chain-bare": summed("e5m2", NEARBY, chained("sequential", NEARBY, "rna"), NEARBY, 2, overflow="nan"),
    "chain-bare-ru": summed(
        ("e4m3", "e5m2"), NEARBY, chained("sequential", NEARBY, "ru"), NEARBY, 3, overflow="nan", rounding="rto"
    ),
    "tree-4": summed("f16", "f32", chained("pairwise", "f32", product="rounded"), "f32"),
    "tree-flush": summed(
        "bf16", "f32", chained("pairwise", "f32", product="rounded", flush=True), "f32", 4, k=8, daz=True
    ),
    "tree-f16-7": summed("e5m2", "f16", chained("pairwise", "f16"), "f16", 7, tiny="positive"),
    "tree-6-rd": summed("e4m3", "none", chained("pairwise", "e5m2", "rd"), "f16", 6, rounding="rz"),
    "tree-one": summed("e4m3", "f16", chained("pairwise", "e5m2", "rna", "rounded"), "f16", 1),
    "tree-one-bare": summed("e4m3", "none", chained("pairwise", "e5m2", "rto"), "f16", 1),
    "exact-f32": summed("e5m2", "f32", {"method": "exact"}, "f32", 3),
    "exact-f16-group": summed("f16", "f16", {"method": "exact", "rounded": "group"}, "f16", 4, k=8),
    "exact-zero": summed("e2m1", "f16", {"method": "exact", "zero": "ieee"}, "f16", 2, rounding="rd"),
    "exact-e4m3": summed("e4m3", "none", {"method": "exact"}, "e4m3", 5, overflow="nan", rounding="ru"),
    "exact-scaled": summed(
        ("e4m3", "e2m1"), "f32", {"method": "exact"}, "f32", 4, **scaled("product", ("e8m0", 4), ("e8m0", 2))
    ),
    "exact-promoted": summed("e4m3", "f16", {"method": "exact"}, "f16", 2, rounding="rz", **promoted(6, "f32")),
    "exact-late": summed(
        "e5m2", "f16", {"method": "exact", **LATE}, "f16", 3, k=6, daz=True, subnormals="flush", start="zero",
        late={"operation": "add", "format": "f16", "rounding": "rne", "flush": True},
    ),
    "late-flush-bf16": summed(
        "bf16", "f16", {"method": "exact", **LATE}, "f32", 2, start="zero",
        late={"operation": "add", "format": "bf16", "rounding": "rz", "flush": True},
    ),
    "integers": summed((INT8, INT8), I32, {"method": "exact"}, I32, 4, overflow="wrap"),
    "integers-saturate": summed((INT8, "mxint8"), INT8, {"method": "exact", "rounded": "group"}, INT8, 2,
                                overflow="saturate", rounding="rd"),
    "even-odd": summed("e4m3fnuz", "f32", {**EVEN_ODD, **LATE}, "f32", 6, **windowed(11, 8, "floor", drop_below=6)),
    "even-odd-wide": summed(
        ("e4m3fnuz", "e5m2fnuz"), "f16", {**EVEN_ODD, "lost": "jam", "zero_terms": "count", **LATE}, "f16", 4,
        **windowed(6, 12, "truncate", drop_below=0),
    ),
    "even-odd-add": summed(
        "e5m2", "bf16", {**EVEN_ODD, "max_exp_floor": -4, **LATE}, "f16", 3, start="zero",
        late={"operation": "add", "format": "f32", "rounding": "rna"},
    ),
    "even-odd-bare": summed("e2m1", "none", {**EVEN_ODD, "zero": "ieee"}, "f16", 5, chain="none"),
    "late-window": summed(
        "f16", "f32", {"method": "aligned", "fraction_bits": 9, "product_limit": 20, **LATE}, "f32", 4,
        **windowed(12, 10, "floor"),
    ),
    "late-window-jam": summed(
        "e4m3", "bf16", {"method": "aligned", "fraction_bits": 6, "zero": "ieee", **LATE}, "f16", 3, rounding="rd",
        **windowed(5, 7, "jam", drop_below=3),
    ),
    "product-limit": summed(
        "e5m2", "f16", {"method": "aligned", "fraction_bits": 12, "product_limit": 4}, "f16", 3, overflow="saturate"
    ),
    "subgroups": summed(
        "e2m1", "f32", {**SUBGROUP, "fraction_bits": 9}, "f32", 4, **scaled("subgroup", ("ue4m3", 2), ("ue4m3", 4)),
    ),
    "subgroups-e8m0": summed(
        ("e4m3", "e2m1"), "none", {**SUBGROUP, "fraction_bits": 5, "lost": "floor", "zero_terms": "count"}, "f16", 6,
        **scaled("subgroup", ("e8m0", 2), ("ue4m3", 6)),
    ),
    "subgroups-signed": summed(
        "e5m2", "f32", {**SUBGROUP, "fraction_bits": 7, "lost": "rne", "zero": "ieee"}, "f32", 4,
        **scaled("subgroup", ("e4m3", 2), ("f16", 2)),
    ),
    "scaled-promotion": summed(
        "e4m3", "f32", {"method": "aligned", "fraction_bits": 8}, "e8m13", 2, rounding="rz",
        **scaled("promotion", ("f32", 4), ("f32", 8)), **promoted(4, "f32", "rne", "fma"),
    ),
    "scaled-promotion-f16": summed(
        "e5m2", "none", {"method": "sequential", "product": "fused", "format": "f16", "rounding": "rz"}, "f16", 2,
        **scaled("promotion", ("bf16", 2), ("e8m0", 4)), **promoted(2, "f16", "rd", "fma"),
    ),
}  # fmt: skip
