"""Units that kernels are tested with: presets of some methods, the model's odd ones, and odder ones for kernels."""

from __future__ import annotations

from typing import Any

from built_presets import one_of_each
from model.model_odd_sums import DL, INT8, LATE, NEARBY, chained, promoted, scaled, summed
from model.model_units import ODD, late, order

from hwsim.spec import Unit, load_unit, presets

# IEEE-like formats that hwsim does not ship.
E6M9 = {
    "name": "e6m9", "kind": "float", "exponent_bits": 6, "fraction_bits": 9, "bias": 31, "infinities": True,
    "nan": "ieee",
}  # fmt: skip
INT16 = {"name": "int16", "kind": "fixed", "integer_bits": 15, "fraction_bits": 0}
I12 = {"name": "i12", "kind": "fixed", "integer_bits": 7, "fraction_bits": 4}
EXACT: dict[str, Any] = {"method": "exact"}
GROUP: dict[str, Any] = {"method": "exact", "rounded": "group"}


def mx(block_a: int, block_b: int) -> dict[str, Any]:
    """E8M0 scales of blocks of such lengths, at products."""
    return scaled("product", ("e8m0", block_a), ("e8m0", block_b))


MORE: dict[str, dict[str, Any]] = {
    "chain-ordered": summed(
        "e4m3", "f16", chained("sequential", "f16", "rna"), "f16", 2, k=6, order=order(3, [2], [0], [1]),
    ),
    "chain-ordered-late": summed(
        "e5m2", "f16", {**chained("sequential", "bf16", "rz"), **LATE}, "bf16", 2, k=4, order=order(2, [1], [0]),
        **late("f16", "rd"),
    ),
    "chain-late-fnuz": summed(
        "e4m3", "e4m3fnuz", {**chained("sequential", "f16"), **LATE}, "e5m2", 3, start="zero",
        late={"operation": "add", "format": "f16", "rounding": "rne", "flush": True},
    ),
    "chain-scaled": summed("e4m3", "f32", chained("sequential", "f32"), "f32", 4, **mx(4, 2)),
    "chain-scaled-rz": summed("e2m1", "bf16", chained("sequential", "bf16", "rz"), "bf16", 2, **mx(2, 2)),
    "chain-converted": summed("e4m3", "bf16", chained("sequential", "bf16", "rto"), "bf16", 3, convert="f16", daz=True),
    "chain-fixed": summed("mxint8", "f16", chained("sequential", "f16", "ru", "rounded"), "f16", 3, nan=0x7E00),
    "chain-f32-bf16": summed("bf16", "f32", chained("sequential", "f32"), "f32", 1),
    "chain-f32-rz": summed("f16", "f32", chained("sequential", "f32", "rz"), "f32", 1),
    "chain-bf16-f16": summed("f16", "bf16", chained("sequential", "bf16"), "bf16", 1),
    "chain-tf32": summed("tf32", "f32", chained("sequential", "tf32", "rna"), "tf32", 2),
    "chain-fnuz": summed("e4m3fnuz", "none", chained("sequential", "e5m2fnuz", "rd"), "e4m3fnuz", 2, overflow="nan"),
    "chain-e6m9": summed("e4m3", E6M9, chained("sequential", E6M9), E6M9, 1),
    "tree-ordered-late": summed(
        "e4m3", "f32", {**chained("pairwise", "f16"), **LATE}, "f16", 3, k=6, order=order(2, [1], [0]),
        **late("f32", "rne"),
    ),
    "tree-bare": summed("e4m3", "none", chained("pairwise", DL, "rne"), DL, 5, overflow="nan"),
    "tree-nearby": summed("e5m2", NEARBY, chained("pairwise", NEARBY, "rz", "rounded"), NEARBY, 3, overflow="nan"),
    "tree-scaled": summed("e2m1", "f16", chained("pairwise", "f16"), "f32", 4, **mx(4, 4)),
    "exact-bf16": summed("bf16", "f32", EXACT, "f32", 3),
    "exact-bf16-group": summed("bf16", "bf16", {**GROUP, "zero": "ieee"}, "bf16", 3, rounding="rd"),
    "exact-tf32": summed("tf32", "none", EXACT, "f32", 2, rounding="rto", chain="none", k=8),
    "exact-e5m2-scaled": summed("e5m2", "f32", EXACT, "f32", 16, **mx(16, 32)),
    "exact-mx-group": summed("e4m3", "f32", {**GROUP, "zero": "ieee"}, "f32", 8, **mx(8, 8)),
    "exact-mx-folded": summed("e4m3", "f32", EXACT, "f32", 4, rounding="ru", **mx(2, 1)),
    "exact-mx-ordered": summed(
        "e2m1", "f16", {**EXACT, "zero": "ieee"}, "f16", 4, k=8, order=order(4, [3, 0], [1, 2]), **mx(4, 2),
    ),
    "exact-long-group": summed("e5m2", "f16", GROUP, "f16", 150, rounding="rz"),
    "exact-f16-promoted": summed("f16", "f32", EXACT, "e8m13", 2, rounding="rz", **promoted(6, "f32", "rna")),
    "exact-scaled-promotion": summed(
        "e4m3", "f32", EXACT, "f16", 4, **scaled("promotion", ("f32", 4), ("e8m0", 8)),
        **promoted(4, "f32", "rne", "fma"),
    ),
    "exact-saturate": summed("f16", "e5m2", {**EXACT, "zero": "ieee"}, "e4m3", 3, overflow="saturate", tiny="positive"),
    "exact-dl": summed("hfp8-e5m2", DL, GROUP, DL, 4, rounding="rna", overflow="nan"),
    "int16-saturate": summed((INT16, INT8), INT16, EXACT, INT16, 5, overflow="saturate", rounding="rz"),
    "i12-wrap": summed(("e3m2", I12), I12, GROUP, I12, 3, overflow="wrap", rounding="rna"),
    "i12-rne": summed(("mxint8", I12), "none", EXACT, I12, 4, overflow="saturate", rounding="rne"),
}  # fmt: skip


def units(*methods: str) -> list[Unit]:
    """Presets of these methods, one of each arithmetic, and odd units, by their names."""
    odd = [Unit.model_validate({**mapping, "unit": name}) for name, mapping in {**ODD, **MORE}.items()]
    every = [load_unit(name) for name in one_of_each(presets())] + odd
    return [unit for unit in every if unit.sum.method in methods]
