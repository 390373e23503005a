"""Which vectors hold a unit's window: the widths of lanes, and how products get their place in them."""

from __future__ import annotations

from typing import NamedTuple

from hwsim.formats import Format
from hwsim.kernels.extents import exponent_range
from hwsim.kernels.lanes import TOP_EXP, VectorLayout
from hwsim.kernels.lost import IN_VECTORS, TRUNCATE, lost_number
from hwsim.kernels.values import OperandName
from hwsim.kernels.words import CLASS_SHIFT, FINITE, SIG_MASK, factor_words
from hwsim.spec import AlignedSum, LateInWindow, Unit, WindowSum
from hwsim.spec.parts import Scale

# Products of a group by fours; each number is code of its own.
QUADS = 1, 2, 4, 8, 16, 32, 64
# A lane is empty when it is shifted by that; so far below TOP_EXP all exponents of products must be.
DEEPEST = 32
# Addends are finished in float64, in units of the window: both ends of their sum of exponents must be in its range.
FARTHEST = 600
# Significands are signed numbers of 16 bits.
MOST_SIG_BITS = 15


class Vectors(NamedTuple):
    """layout, lost: of `lanes.group`. shift_a, shift_b: of significands. deeper: of every product, down.

    most: the largest sum of all magnitudes, in units of the window. per_lane: exponents of products' scales are added
    to those of the factors when these are packed, since a group has scales of several blocks.
    """

    layout: VectorLayout
    lost: int
    shift_a: int
    shift_b: int
    deeper: int
    most: int
    per_lane: bool = False


def vectors_of(unit: Unit, rule: AlignedSum) -> Vectors | None:
    """The narrowest lanes that hold the window of a unit; None where none do."""
    if not _one_plain_window(unit, rule):
        return None
    scale, lanes = unit.scale, unit.instruction.lanes
    if scale is None or scale.at != "product" or _one_scale_a_group(unit, scale):
        return vectors_of_lanes(unit, rule, lanes)
    scales = scale.a.format, scale.b.format
    found = vectors_of_lanes(unit, rule, lanes, scales)
    return None if found is None else found._replace(per_lane=True)


def vectors_of_lanes(unit: Unit, rule: WindowSum, lanes: int, scales: tuple[Format, ...] = ()) -> Vectors | None:
    """The narrowest lanes that hold a unit's window of so many products; None where none do.

    scales: formats whose exponents are added to those of the factors.
    """
    lost = lost_number(rule.term_lost)
    quads = next((q for q in QUADS if lanes <= 4 * q), None)
    if quads is None or lost not in IN_VECTORS or _reaches(unit, rule) > FARTHEST:
        return None
    a, b = unit.operands.multiplied
    spans = [most - least for least, most in map(exponent_range, (a, b, *scales))]
    exp_bits = 8 if sum(spans) <= TOP_EXP[8] - DEEPEST else 16
    up = rule.fraction_bits - a.fraction_bits - b.fraction_bits
    down, up = max(-up, 0), max(up, 0)
    most_a, most_b = _largest_significand(unit, "a"), _largest_significand(unit, "b")
    most = most_a * most_b << up
    shift_a = min(up, MOST_SIG_BITS - most_a.bit_length())
    shift_b = up - shift_a
    if lost == TRUNCATE and most < 1 << 15 and most * lanes < 1 << 31 and not shift_b:
        return Vectors(VectorLayout(quads, 16, exp_bits), lost, shift_a, 0, down, most * lanes)
    # Rounding down or up adds one to every magnitude. What one sum does not hold is summed in parts.
    parts = next((p for p in QUADS if quads % p == 0 and (most + 1) * min(lanes, 4 * quads // p) < 1 << 32), None)
    if parts is None or most >= 1 << 31:
        return None
    factors_fit = shift_a >= 0 and shift_b + most_b.bit_length() <= MOST_SIG_BITS
    if not factors_fit or down > TOP_EXP[8] // 4:
        return None
    return Vectors(VectorLayout(quads, 32, exp_bits, parts), lost, shift_a, shift_b, down, (most + 1) * lanes)


def _one_plain_window(unit: Unit, rule: AlignedSum) -> bool:
    """Whether products go into one window by rules that vectors have."""
    if rule.subgroup is not None or rule.product_limit is not None or isinstance(unit.late, LateInWindow):
        return False
    return rule.zero_terms == "skip" and rule.zero == "positive" and not rule.sticky and rule.cut is None


def _one_scale_a_group(unit: Unit, scale: Scale) -> bool:
    lanes = unit.instruction.lanes
    return unit.instruction.order == "sequential" and not scale.length("a") % lanes and not scale.length("b") % lanes


def _reaches(unit: Unit, rule: WindowSum) -> int:
    """The largest magnitude of an exponent: of scaled products, twice an addend's or a result's, or max_exp's floor."""
    scales = [unit.scale.a.format, unit.scale.b.format] if unit.scale and unit.scale.at == "product" else []
    ends = [exponent_range(fmt) for fmt in (*unit.operands.multiplied, *scales)]
    low, high = (sum(end[side] for end in ends) for side in (0, 1))
    sums = [end for fmt in (unit.operands.addend, unit.result.format) if fmt is not None for end in exponent_range(fmt)]
    floor = 0 if rule.max_exp_floor is None else rule.max_exp_floor
    return max(-low, high, floor, *(2 * abs(end) for end in sums))


def _largest_significand(unit: Unit, side: OperandName) -> int:
    """In units of the last place of the format that is multiplied."""
    operands = unit.operands
    words = factor_words(operands.factor(side), operands.multiplied[0 if side == "a" else 1], operands.daz)
    return int((words[words >> CLASS_SHIFT == FINITE] & SIG_MASK).max())
