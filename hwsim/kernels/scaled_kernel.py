"""The kernel of scaled sums of subgroups, in vectors."""

from __future__ import annotations

import math

import numpy as np

from hwsim.formats import FixedFormat, Format
from hwsim.formats.codes import Codes
from hwsim.kernels.codes import Floats
from hwsim.kernels.dots import DotsLayout
from hwsim.kernels.extents import exponent_range, extent
from hwsim.kernels.finish import WIDE
from hwsim.kernels.integers import Int64s
from hwsim.kernels.lost import FLOOR, TRUNCATE, lost_number
from hwsim.kernels.packed import WindowOperand, aligned_bytes
from hwsim.kernels.scaled_strips import (
    ScaledCode,
    ScaledPacking,
    dots_of,
    finish_scaled_of,
    pack_integer_columns,
    pack_integer_rows,
    scaled_run,
)
from hwsim.kernels.window_kernel import WindowKernel
from hwsim.kernels.windows import WindowNumbers, scale_fraction
from hwsim.kernels.words import words_of
from hwsim.spec import AlignedSum, Unit
from hwsim.spec.sums import ExactSubgroup

# Of integers of 16 bits with signs, of an exact sum, and of a float64.
FACTOR_BITS, SUM_BITS, FLOAT64_BITS = 15, 31, 53
# A word has a bit for each product of a part.
MOST_IN_PART = 32
MOST_LANES = 128
# The largest magnitude of a scale's, a product's, an addend's and a result's exponent: sums of some are float64s'.
FARTHEST = 200


def dots_layout(unit: Unit, rule: AlignedSum) -> DotsLayout | None:
    """The vectors that hold the scaled sums of a unit; None where none do."""
    scale, lanes = unit.scale, unit.instruction.lanes
    if (
        not isinstance(rule.subgroup, ExactSubgroup)
        or scale is None
        or unit.late is not None
        or unit.promotion is not None
    ):
        return None
    if rule.zero_terms != "skip" or rule.zero != "positive" or rule.product_limit is not None or rule.cut is not None:
        return None
    size = rule.subgroup.lanes
    if size % 2 or size > MOST_IN_PART or lanes > MOST_LANES or isinstance(unit.result.format, FixedFormat):
        return None
    if rule.sticky or lost_number(rule.term_lost) not in (TRUNCATE, FLOOR):
        return None
    if any(scale.length(side) % size for side in ("a", "b")):
        return None
    if max(extent(fmt).span for fmt in unit.operands.multiplied) > FACTOR_BITS:
        return None
    most = size * math.prod(_largest(fmt) for fmt in unit.operands.multiplied)
    scaled = most << sum(extent(side.format).bits for side in (scale.a, scale.b))
    up = rule.fraction_bits - _least_place(unit)
    window = (lanes // size * scaled << max(up, 0) >> max(-up, 0)) + (2 << rule.fraction_bits)
    if most >= 1 << SUM_BITS or max(scaled, window).bit_length() > FLOAT64_BITS:
        return None
    formats = [*unit.operands.multiplied, scale.a.format, scale.b.format, unit.result.format]
    if unit.operands.addend is not None:
        formats.append(unit.operands.addend)
    ends = [abs(end) for fmt in formats for end in exponent_range(fmt)]
    floor = 0 if rule.max_exp_floor is None else abs(rule.max_exp_floor)
    return DotsLayout(lanes, lanes // size) if max(*ends, floor) <= FARTHEST else None


def _largest(fmt: Format) -> int:
    """The largest magnitude of a factor, in units of the format's least number."""
    reach = extent(fmt)
    return 1 << reach.span if isinstance(fmt, FixedFormat) else int(fmt.largest / 2.0**reach.low)


def _least_place(unit: Unit) -> int:
    """Places of an exact sum times significands of scales that are below their exponents'."""
    scale = unit.scale
    fine = 0 if scale is None else scale_fraction(scale.a.format) + scale_fraction(scale.b.format)
    return fine - sum(extent(fmt).low for fmt in unit.operands.multiplied)


class ScaledKernel(WindowKernel):
    """Scaled sums of subgroups."""

    def __init__(self, unit: Unit, numbers: WindowNumbers, layout: DotsLayout):
        """layout: as `dots_layout` says."""
        super().__init__(unit, numbers)
        self.layout: DotsLayout | None = layout

    @property
    def in_vectors(self) -> bool:
        """As in `WindowKernel`."""
        return self.layout is not None

    def pack_a(self, codes: Codes, scales: Codes | None) -> WindowOperand:
        """As in `Kernel`."""
        if self.layout is None:
            return super().pack_a(codes, scales)
        words = words_of(self.unit.operands.a, self.words_a, codes)
        packed = pack_integer_rows(words, self.packed_lanes(codes.shape[1]), self.layout, self.least[0])
        return WindowOperand(words, *packed, self._scales("a", scales, len(codes)))

    def pack_b(self, codes: Codes, scales: Codes | None) -> WindowOperand:
        """As in `Kernel`."""
        if self.layout is None:
            return super().pack_b(codes, scales)
        words = words_of(self.unit.operands.b, self.words_b, codes)
        packed = pack_integer_columns(words, self.packed_lanes(codes.shape[0]), self.layout, self.least[1])
        return WindowOperand(words, *packed, self._scales("b", scales, codes.shape[1]))

    def every(self, places: Int64s, a: WindowOperand, b: WindowOperand, values: Floats) -> None:
        """As in `WindowKernel`."""
        layout, scale = self.layout, self.unit.scale
        if layout is None or scale is None:
            super().every(places, a, b, values)
            return
        rule, to = self.rules.window, self.rules.result
        finish = finish_scaled_of(layout.parts, rule.count_cancelled == 1, rule.lost == FLOOR, to.mode)
        target = np.array(to)
        code = ScaledCode(dots_of(*layout).address, finish.address, target.ctypes.data)
        unit = sum(extent(fmt).low for fmt in self.unit.operands.multiplied)
        fine_a, fine_b = (scale_fraction(side.format) for side in (scale.a, scale.b))
        packing = ScaledPacking(layout.a_bytes, layout.b_bytes, unit, fine_a, fine_b)
        scratch = aligned_bytes(4 * 3 * layout.parts * WIDE).view(np.int32)
        scaled_run(code, packing, self.rules, places, a, b, values, scratch)
