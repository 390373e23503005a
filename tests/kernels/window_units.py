"""Units that kernels of windows are tested with: odd ones of few kinds of vectors, and units drawn at random."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from pydantic import ValidationError
from unit_keys import DL, INT8, mx, odd, order, promoted, scaled, window, windowed

from hwsim.compute.kernels.lost import IN_VECTORS, lost_number
from hwsim.compute.kernels.window_kernel import WindowKernel
from hwsim.spec import NotImplementedYet, Unit, implemented
from hwsim.spec.keys import LOST


class Variant(NamedTuple):
    """What one compilation of the vectors serves. form: of `Single`; None where sums are finished in float64."""

    lane_bits: int
    exp_bits: int
    quads: int
    parts: int
    lost: int
    mode: int
    form: int | None


def variant(kernel: WindowKernel) -> Variant | None:
    """What one compilation of the vectors serves; None for a unit that has none."""
    if kernel.vectors is None:
        return None
    layout, form = kernel.vectors.layout, None if kernel.single is None else kernel.single.form
    widths = layout.lane_bits, layout.exp_bits, layout.quads, layout.parts
    return Variant(*widths, kernel.vectors.lost, kernel.rules.result.mode, form)


FACTORS = [
    "e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz", "e2m1", "e3m2", "e2m3", "f16", "bf16", "tf32", "e4m3-ieee", "e3m4",
    "hfp8-e4m3", "hfp8-e5m2", DL, "mxint8", INT8,
]  # fmt: skip
RESULTS = ["f32", "e8m13", "f16", "bf16", "tf32", "e4m3", "e5m2", DL, "e4m3fnuz", "e5m2fnuz"]
ADDENDS = ["f32", "f16", "bf16", "tf32", "e5m2", "e4m3", DL, "e8m13", "none", "none"]
LOST_IN_VECTORS = [rule for rule in LOST if lost_number(rule) in IN_VECTORS]
MODES = ["rne", "rna", "rz", "ru", "rd", "rto"]


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
            "k": lanes * groups, "rounding": self.one(MODES),
            "overflow": self.one(["infinity", "nan", "saturate", "ieee", "propagate"]),
            **self.some(0.2, tiny="positive"), **self.some(0.2, subnormals="flush"), **self.some(0.1, nan="any"),
            **self.some(0.1, convert=self.one(["f16", "bf16"])), **self.some(0.15, daz=True),
            **self.some(0.2, zeros="positive"),
        }  # fmt: skip
        addend, rule = self.one(ADDENDS), self.window(for_vectors)
        if rule["method"] == "even-odd":
            more["k"] = lanes
        more |= self.rest(lanes, more["k"] // lanes, addend, rule, for_vectors)
        return odd((a, a if self.maybe(0.5) else self.one(FACTORS)), addend, rule, self.one(RESULTS), lanes, **more)

    def window(self, for_vectors: bool) -> dict[str, Any]:
        """`sum`."""
        lost = self.one(list(LOST_IN_VECTORS if for_vectors else LOST))
        rule = window(
            self.below(0, 28 if for_vectors else 56), lost, **self.some(0.15, max_exp_floor=self.below(-60, 60))
        )
        if for_vectors:
            return rule
        rule |= {**self.some(0.2, zero_terms="count"), **self.some(0.2, zero="ieee")}
        rule |= self.some(0.15, product_limit=self.below(-5, 20))
        if self.maybe(0.2):
            rule |= {
                "method": "even-odd",
                "combine": {"fraction_bits": self.below(0, 30), "lost": self.one(list(LOST))},
            }
        return rule

    def rest(self, lanes: int, groups: int, addend: Any, rule: dict[str, Any], for_vectors: bool) -> dict[str, Any]:
        """Late addends and promotions, order and scales. `rule` gets what belongs to it."""
        more: dict[str, Any] = {}
        if self.maybe(0.3):
            more = {
                "start": "zero",
                "late": {"operation": "add", "format": self.one(RESULTS), "rounding": self.one(MODES)},
            }
            more["late"] |= self.some(0.3, flush=True)
            if not for_vectors and self.maybe(0.5):
                drop = self.some(0.5, drop_below=self.below(-3, 30)) | self.some(0.4, total_bits=self.below(0, 40))
                drop |= self.some(0.4, zero_addend="count")
                more |= windowed(self.below(0, 40), self.below(0, 40), self.one(list(LOST)), **drop)
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
            cancelled = self.some(0.5, cancelled="count")
            rule |= {"subgroup": {"lanes": size, "method": "exact", "exponent": "scales", **cancelled}}
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
