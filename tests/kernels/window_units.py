"""Units that kernels of windows are tested with: odd ones of few kinds of vectors, and units drawn at random."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from model.model_odd_sums import DL, INT8, LATE, NEARBY, promoted, scaled, summed, windowed
from model.model_units import late, order
from pydantic import ValidationError

from hwsim.kernels.window_kernel import WindowKernel
from hwsim.spec import NotImplementedYet, Unit, implemented

Variant = tuple[int, int, int, int, int, int]


def variant(kernel: WindowKernel) -> Variant | None:
    """What one compilation of the vectors serves; None for a unit that has none."""
    if kernel.vectors is None:
        return None
    return (*kernel.vectors.layout, kernel.vectors.lost, kernel.rules.result.mode, kernel.mask != 0)


def window(bits: int, lost: str = "truncate", **more: Any) -> dict[str, Any]:
    """`sum` of one window."""
    return {"method": "aligned", "fraction_bits": bits, "lost": lost, **more}


def mx(block_a: int, block_b: int) -> dict[str, Any]:
    """E8M0 scales of blocks of such lengths, at products."""
    return scaled("product", ("e8m0", block_a), ("e8m0", block_b))


RZ, RU, RD, RNA, RTO = ({"rounding": mode} for mode in ("rz", "ru", "rd", "rna", "rto"))
# Six exponent bits, so that exponents of 8 bits would not tell a product from one that an addend swamps.
E6M2 = {
    "name": "e6m2", "kind": "float", "exponent_bits": 6, "fraction_bits": 2, "bias": 31, "infinities": True,
    "nan": "ieee",
}  # fmt: skip
# By their vectors: what stands together is compiled once, or for presets already.
VECTORS: dict[str, dict[str, Any]] = {
    # 16-bit lanes, finished in binary32, as of ada-mma-e4m3-f32.
    "single": summed("e4m3", "f32", window(13), "e8m13", 16, **RZ),
    "single-bf16": summed("e5m2", "bf16", window(12), "e8m13", 13, **RZ),
    "single-promoted": summed("e4m3", "f32", window(10), "e8m13", 14, **RZ, **promoted(28, "f32", "rd")),
    "single-late": summed("e5m2", "f32", {**window(9), **LATE}, "e8m13", 16, k=32, **RZ, **late("f32", "rd")),
    "single-bare": summed("e4m3", "none", window(13), "e8m13", 15, **RZ),
    "single-floored": summed("e4m3", "f32", window(13, max_exp_floor=-4), "e8m13", 16, **RZ),
    "single-floored-high": summed("e4m3", "f32", window(13, max_exp_floor=120), "e8m13", 16, **RZ),
    "single-floored-low": summed("e4m3", "f32", window(13, max_exp_floor=-140), "e8m13", 16, **RZ),
    # 16-bit lanes, finished in float64, as of ada-mma-e4m3-f16; windows narrower than the products.
    "bits-0": summed("e4m3", "f32", window(0), "f32", 16),
    "bits-1": summed("e5m2", "f16", window(1), "f16", 13),
    "bits-2": summed(("e4m3", "e5m2"), "none", window(2), "e5m2", 16),
    "bits-3": summed("e2m3", "bf16", window(3), "bf16", 15, tiny="positive", **promoted(15, "bf16", "rz")),
    "bits-2-subnormal": summed("e4m3", "f32", window(2), "f16", 16),
    "narrow-scaled": summed("e4m3", "f32", window(11), "f32", 16, **mx(16, 32)),
    "narrow-tf32": summed("e4m3", "tf32", window(9, max_exp_floor=5), "tf32", 14, subnormals="flush", overflow="nan"),
    "narrow-fnuz": summed("e5m2fnuz", "e5m2fnuz", window(8), "e5m2fnuz", 16, overflow="nan"),
    "narrow-fma": summed(
        "e5m2", "f32", window(12), "f16", 16, **scaled("promotion", ("f32", 32), ("f32", 32)),
        **promoted(32, "f32", "rd", "fma"),
    ),
    # 16-bit lanes, exponents of 16 bits.
    "far": summed(("bf16", "e2m1"), "f32", window(10), "f16", 8),
    "far-saturate": summed(("e2m1", "bf16"), "bf16", window(9), "e4m3", 5, overflow="saturate"),
    "far-dl": summed((DL, "e4m3"), "f32", window(13), "f32", 8),
    "far-e6m2": summed((E6M2, "e5m2"), "f32", window(12), "f32", 8, **mx(8, 8)),
    # 32-bit lanes, floor.
    "floor": summed("e4m3", "f32", window(20, "floor"), "f16", 8, **RD),
    "floor-wide": summed("e5m2", "f16", window(26, "floor"), "f16", 8, **RD, subnormals="flush", overflow="nan"),
    "floor-narrow": summed("e4m3", "bf16", window(2, "floor"), "bf16", 5, **RD, **promoted(10, "f32", "rna")),
    "floor-late": summed("e5m2", "f32", {**window(9, "floor"), **LATE}, "f32", 8, **RD, **late("f16", "rto")),
    "floor-scaled": summed("e2m1", "f32", window(22, "floor", max_exp_floor=-30), "f32", 8, **RD, **mx(8, 8)),
    # 32-bit lanes, jam.
    "jam": summed("e4m3", "f32", window(20, "jam"), "f16", 8, **RU),
    "jam-narrow": summed("e5m2", "bf16", window(1, "jam"), "f32", 8, **RU, tiny="positive"),
    "jam-fixed": summed("mxint8", "f16", window(21, "jam"), "f16", 8, **RU, **mx(16, 8)),
    "jam-promoted": summed("e4m3", "f16", window(12, "jam"), "f16", 6, **RU, **promoted(6, "f16", "ru")),
    # 32-bit lanes, to nearest with ties away, to a format without subnormals.
    "bare": summed("e4m3", NEARBY, window(20), NEARBY, 8, **RNA, overflow="nan"),
    "bare-promoted": summed("e5m2", NEARBY, window(21), NEARBY, 6, **RNA, overflow="nan", **promoted(12, "f32")),
    # 32-bit lanes, exponents of 16 bits, as of blackwell-mma-bf16-f32.
    "many-far": summed("bf16", "f32", window(20), "f32", 16, **RZ),
    "many-far-13": summed("bf16", "bf16", window(19), "bf16", 13, **RZ, overflow="saturate"),
    # 32-bit lanes, 5 to 8 of them, to nearest even, as of ampere-mma-f16-f16.
    "nearest-ordered": summed("e4m3", "f16", window(20), "f16", 8, k=16, order=order(2, [1], [0])),
    "nearest-emulated": summed(
        "e4m3", "f16", {**window(24), **LATE}, "f16", 8, k=16, convert="f16", nan=0x7E00,
        order=order(4, [0, 3], [2, 1]), **late("f16", "rz"),
    ),
    "nearest-daz": summed("f16", "f16", window(20), "f16", 5, daz=True, overflow="saturate"),
    "nearest-e4m3": summed("e5m2", "f32", window(18), "e4m3", 8, overflow="nan", tiny="positive"),
    "nearest-promoted": summed("f16", "f16", window(20), "f16", 6, subnormals="flush", **promoted(12, "f32", "ru")),
    "nearest-chunks": summed("f16", "bf16", window(21), "bf16", 8, nan="any", **promoted(8, "bf16")),
    # Sums of eight products of up to 49 * 2^23: above 2^31, below 2^32.
    "nearest-brim": summed("e5m2", "f32", window(27), "f32", 8),
    # And jammed and to odd, as of rvbna-e4m3-f32-n8.
    "odd-brim": summed("e5m2", "f32", window(27, "jam"), "f32", 8, **RTO),
    "odd-saturate": summed("e4m3", "e4m3", window(17, "jam"), "e4m3", 6, **RTO, overflow="saturate"),
}  # fmt: skip
# 62 bits of a sum, and what only the kernel without vectors has.
SCALARS: dict[str, dict[str, Any]] = {
    "brim-jam": summed("e4m3", "f32", window(55, "jam"), "f32", 5, **RZ),
    "brim-rne": summed("f16", "f32", window(55, "rne", zero="ieee"), "f32", 4, **RU),
    "brim-64": summed("e5m2", "f32", window(51, "rna"), "f32", 64),
    "brim-integers": summed((INT8, INT8), "f32", window(42), "f32", 8),
    "lanes-33": summed("e4m3", "f32", window(13), "e8m13", 33, **RZ),
    "lanes-64-floor": summed("e2m1", "f16", window(3, "floor"), "f16", 64),
    "rne-0": summed("e4m3", "f16", window(0, "rne"), "f16", 5, **RTO),
    "rna-1": summed("e5m2", "f32", window(1, "rna"), "f32", 8),
    "count": summed("bf16", "f32", window(9, zero_terms="count", max_exp_floor=-250), "f32", 3),
    "count-late": summed(
        "bf16", "f16", {**window(8, zero_terms="count"), **LATE}, "f16", 3, **windowed(9, 4, "rna")
    ),
    "late-subnormal": summed("e2m1", "f16", {**window(6), **LATE}, "f32", 4, **windowed(20, 3, "truncate")),
    "late-signed": summed("e4m3", "f16", {**window(6), **LATE, "zero": "ieee"}, "f16", 3, **windowed(9, 9, "floor")),
    "late-flushed": summed(
        "e5m2", "f16", {**window(9), **LATE}, "f16", 16, start="zero",
        late={"operation": "add", "format": "f16", "rounding": "rne", "flush": True},
    ),
    "limited-subgroups": summed(
        "e2m1", "f32", {**window(9), "product_limit": 3,
                        "subgroup": {"lanes": 2, "method": "exact", "exponent": "scales"}},
        "f32", 8, **scaled("subgroup", ("ue4m3", 4), ("e8m0", 8)),
    ),
    "blocks": summed("e4m3", "f32", window(13), "e8m13", 8, **RZ, **mx(2, 4)),
}  # fmt: skip
UNITS = {name: Unit.model_validate({**mapping, "unit": name}) for name, mapping in {**VECTORS, **SCALARS}.items()}

FACTORS = [
    "e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz", "e2m1", "e3m2", "e2m3", "f16", "bf16", "tf32", "e4m3-ieee", "e3m4",
    "hfp8-e4m3", "hfp8-e5m2", DL, "mxint8", INT8,
]  # fmt: skip
RESULTS = ["f32", "e8m13", "f16", "bf16", "tf32", "e4m3", "e5m2", DL, "e4m3fnuz", "e5m2fnuz"]
ADDENDS = ["f32", "f16", "bf16", "tf32", "e5m2", "e4m3", DL, "e8m13", "none", "none"]
MODES = ["rne", "rna", "rz", "ru", "rd", "rto"]
LOST = ["truncate", "floor", "jam", "rne", "rna"]


class Random:
    """Choices for one random unit."""

    def __init__(self, rng: np.random.Generator):
        self.rng = rng

    def one(self, things: list[Any]) -> Any:
        return things[int(self.rng.integers(len(things)))]

    def maybe(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def below(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high))

    def some(self, probability: float, **keys: Any) -> dict[str, Any]:
        return keys if self.maybe(probability) else {}

    def unit(self, for_vectors: bool) -> dict[str, Any]:
        """A unit's mapping; not every one is valid."""
        a, lanes = self.one(FACTORS), self.one([1, 3, 4, 5, 8, 9, 16, 32] + [2, 7, 17, 33, 64] * (not for_vectors))
        groups = self.one([1, 1, 2, 3])
        more: dict[str, Any] = {
            "k": lanes * groups, "rounding": self.one(MODES), "overflow": self.one(["infinity", "nan", "saturate"]),
            **self.some(0.2, tiny="positive"), **self.some(0.2, subnormals="flush"), **self.some(0.1, nan="any"),
            **self.some(0.1, convert=self.one(["f16", "bf16"])), **self.some(0.15, daz=True),
        }  # fmt: skip
        addend, rule = self.one(ADDENDS), self.window(for_vectors)
        if rule["method"] == "even-odd":
            more["k"] = lanes
        more |= self.rest(lanes, more["k"] // lanes, addend, rule, for_vectors)
        return summed((a, a if self.maybe(0.5) else self.one(FACTORS)), addend, rule, self.one(RESULTS), lanes, **more)

    def window(self, for_vectors: bool) -> dict[str, Any]:
        """`sum`."""
        lost = self.one(LOST[:3] if for_vectors else LOST)
        rule = window(
            self.below(0, 28 if for_vectors else 56), lost, **self.some(0.15, max_exp_floor=self.below(-60, 60))
        )
        if for_vectors:
            return rule
        rule |= {**self.some(0.2, zero_terms="count"), **self.some(0.2, zero="ieee")}
        rule |= self.some(0.15, product_limit=self.below(-5, 20))
        if self.maybe(0.2):
            rule |= {"method": "even-odd", "combine": {"fraction_bits": self.below(0, 30), "lost": self.one(LOST)}}
        return rule

    def rest(self, lanes: int, groups: int, addend: Any, rule: dict[str, Any], for_vectors: bool) -> dict[str, Any]:
        """Late addends and promotions, order and scales. `rule` gets what belongs to it."""
        more: dict[str, Any] = {}
        if self.maybe(0.3):
            rule |= LATE
            more = {
                "start": "zero",
                "late": {"operation": "add", "format": self.one(RESULTS), "rounding": self.one(MODES)},
            }
            more["late"] |= self.some(0.3, flush=True)
            if not for_vectors and self.maybe(0.5):
                drop = self.some(0.5, drop_below=self.below(-3, 30))
                more |= windowed(self.below(0, 40), self.below(0, 40), self.one(LOST), **drop)
        elif self.maybe(0.4):
            more = promoted(lanes * self.one([1, 2, 3]), self.one(RESULTS), self.one(MODES))
        if addend == "none" and self.maybe(0.5):
            more |= {"chain": "none", **self.some(0.3, start="zero")}
        if "start" not in more and groups > 1 and self.maybe(0.3):
            more["order"] = order(groups, *[[int(group)] for group in self.rng.permutation(groups)])
        return more | self.scales(lanes, more, rule, for_vectors)

    def scales(self, lanes: int, more: dict[str, Any], rule: dict[str, Any], for_vectors: bool) -> dict[str, Any]:
        """`scale`, where there is one."""
        parts = [part for part in range(1, lanes + 1) if lanes % part == 0 and not for_vectors]
        sizes = [*parts, lanes, lanes, 2 * lanes]
        if self.maybe(0.2):
            return mx(self.one(sizes), self.one(sizes))
        if parts and self.maybe(0.2):
            size = self.one(parts)
            rule |= {"subgroup": {"lanes": size, "method": "exact", "exponent": "scales"}}
            blocks, kinds = [part for part in parts if part % size == 0], ["e8m0", "ue4m3", "e4m3"]
            return scaled("subgroup", (self.one(kinds), self.one(blocks)), (self.one(kinds), self.one(blocks)))
        if "promotion" in more and self.maybe(0.4):
            more["promotion"]["operation"] = "fma"
            length, kinds = more["promotion"]["interval"], ["f32", "bf16", "e8m0", "ue4m3"]
            sides = [(self.one(kinds), length * self.one([1, 2])) for _ in range(2)]
            return scaled("promotion", *sides)
        return {}


def random_units(seed: int, for_vectors: bool = False) -> Iterator[Unit]:
    """Units of methods aligned and even-odd, of all settings that they have; without end.

    for_vectors: with settings that vectors may have.
    """
    random = Random(np.random.default_rng(seed))
    while True:
        try:
            unit = Unit.model_validate(random.unit(for_vectors))
            implemented(unit).demand()
        except (ValidationError, NotImplementedYet):
            continue
        longest = unit.instruction.k if unit.instruction.chain is None else 1 << 20
        blocks = 1 if unit.scale is None else int(np.lcm(unit.scale.a.block[1], unit.scale.b.block[0]))
        if blocks <= longest:
            yield unit
