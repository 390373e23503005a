"""The kernel of late addends in windows, in vectors: of `aligned` and `even-odd` sums."""

from __future__ import annotations

import numpy as np

from hwsim.kernels.codes import Floats
from hwsim.kernels.finish import WIDE
from hwsim.kernels.integers import Int64s
from hwsim.kernels.late_strips import LateCode, finish_late_of, late_kind, late_numbers, late_run
from hwsim.kernels.lost import FLOOR, TRUNCATE, lost_number
from hwsim.kernels.order import lane_indices
from hwsim.kernels.packed import WindowOperand, aligned_bytes
from hwsim.kernels.strips import Packing, sums_of
from hwsim.kernels.targets import binary32_target
from hwsim.kernels.vectors import Vectors, vectors_of_lanes
from hwsim.kernels.window_kernel import WindowKernel
from hwsim.spec import AlignedSum, EvenOddSum, LateInWindow, Unit, WindowSum

# Sums and what they are shifted by stay exact in float64.
MOST_BITS, MOST_FINE = 40, 60


def late_vectors_of(unit: Unit, rule: WindowSum) -> Vectors | None:
    """The lanes that hold the windows of a unit whose addend comes late, in a window; None where none do."""
    late, lanes = unit.late, unit.instruction.lanes
    if not isinstance(late, LateInWindow) or unit.scale is not None or rule.max_exp_floor is not None:
        return None
    if rule.zero_terms != "skip" or rule.zero != "positive" or (isinstance(rule, AlignedSum) and rule.cut is not None):
        return None
    lost, bits = [late.lost], [late.sum_bits, late.addend_bits, rule.fraction_bits]
    if isinstance(rule, EvenOddSum):
        if lanes % 2:
            return None
        lost, bits, lanes = [*lost, rule.combine.lost], [*bits, rule.combine.fraction_bits], lanes // 2
    known = all(lost_number(way) in (TRUNCATE, FLOOR) for way in lost)
    if not known or max(bits) > MOST_BITS or (late.total_bits or 0) > MOST_FINE:
        return None
    found = vectors_of_lanes(unit, rule, lanes)
    return None if found is None or found.layout.parts > 1 else found


class LateKernel(WindowKernel):
    """Late addends in windows."""

    def packed_lanes(self, k: int) -> Int64s:
        """As in `WindowKernel`: of even and odd lanes, a group of each."""
        indices = lane_indices(self.unit, k)
        if not self.rules.window.even_odd:
            return indices
        halves = np.stack([indices[:, 0::2], indices[:, 1::2]], axis=1)
        return np.ascontiguousarray(halves.reshape(2 * len(indices), -1))

    def strips(self, v: Vectors, places: Int64s, a: WindowOperand, b: WindowOperand, values: Floats) -> None:
        """As in `WindowKernel`."""
        rule, to, least = self.rules.window, self.rules.result, sum(self.least)
        kind = late_kind(rule, v.layout.lane_bits, FLOOR, to == binary32_target(), to.mode)
        numbers, target = np.array(late_numbers(rule, least), np.int32), np.array(to)
        code = LateCode(
            sums_of(*v.layout, v.lost).address, finish_late_of(kind).address, numbers.ctypes.data, target.ctypes.data
        )
        packing = Packing(v.layout.a_bytes, v.layout.b_bytes, v.deeper, least, 0)
        scratch = aligned_bytes(4 * 7 * WIDE).view(np.int32)
        late_run(code, packing, self.rules, places, a, b, values, scratch)
