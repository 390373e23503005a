"""Which vectors hold a unit's window: the widths of lanes, and how products get their place in them."""

from __future__ import annotations

from typing import NamedTuple

from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, Format
from hwsim.kernels.kernel import Unsuited
from hwsim.kernels.lanes import LOST, TOP_EXP, TRUNCATE, Layout
from hwsim.spec import Unit

MOST_QUADS = 8
# A lane is empty when it is shifted by that; so far below TOP_EXP all exponents of products must be.
DEEPEST = 32
# Addends are finished in float64, in units of the window: both ends of their sum of exponents must be in its range.
FARTHEST = 600
# Significands are signed numbers of 16 bits.
MOST_SIG_BITS = 15


class Vectors(NamedTuple):
    """layout, lost: of `lanes.group`. shift_a, shift_b: of significands. deeper: of every product, down."""

    layout: Layout
    lost: int
    shift_a: int
    shift_b: int
    deeper: int


def vectors_of(unit: Unit) -> Vectors:
    """The narrowest lanes that hold the window of a unit. Raises Unsuited where none do."""
    rule, lanes = unit.sum, unit.instruction.lanes
    late_window = unit.late is not None and unit.late.operation == "window"
    if rule.method != "aligned" or rule.subgroup or rule.product_limit is not None or late_window:
        raise Unsuited("not one window for all products")
    if rule.zero_terms != "skip" or rule.zero != "positive" or rule.lost not in LOST:
        raise Unsuited("a setting of the window that vectors do not have")
    if unit.scale is not None and unit.scale.at == "product":
        if any(length % lanes for length in (unit.scale.a.block[1], unit.scale.b.block[0])):
            raise Unsuited("several scales in a group")
        if unit.instruction.order != "sequential":
            raise Unsuited("scales of products in another order")
    if _reaches(unit) > FARTHEST:
        raise Unsuited("exponents that a float64 does not hold together with the addend's")
    quads = next((q for q in (1, 2, 4, 8) if lanes <= 4 * q), 0)
    if not quads:
        raise Unsuited(f"more than {4 * MOST_QUADS} lanes")
    a, b = unit.operands.multiplied
    exp_bits = 8 if _span(a) + _span(b) <= TOP_EXP[8] - DEEPEST else 16
    up = (rule.fraction_bits or 0) - a.fraction_bits - b.fraction_bits
    most = _most(a) * _most(b) << max(up, 0)
    lost = LOST[rule.lost]
    if lost == TRUNCATE and most < 1 << 15 and most * lanes < 1 << 31:
        room = MOST_SIG_BITS - _most(a).bit_length()
        if max(up, 0) <= room:
            return Vectors(Layout(quads, 16, exp_bits), lost, max(up, 0), 0, max(-up, 0))
    shift_a = min(max(up, 0), MOST_SIG_BITS - _most(a).bit_length())
    shift_b = max(up, 0) - shift_a
    # A floor adds one to every magnitude.
    if (
        most >= 1 << 31
        or (most + 1) * lanes >= 1 << 32
        or shift_a < 0
        or shift_b + _most(b).bit_length() > MOST_SIG_BITS
    ):
        raise Unsuited(f"a window of {rule.fraction_bits} bits for {lanes} products does not fit lanes of 32 bits")
    if -up > TOP_EXP[8] // 4:
        raise Unsuited("a window far narrower than the products")
    return Vectors(Layout(quads, 32, exp_bits), lost, shift_a, shift_b, max(-up, 0))


def least_exp(fmt: Format) -> int:
    """The exponent that packed ones count from."""
    return fmt.emin if isinstance(fmt, FloatFormat) else 0


def _reaches(unit: Unit) -> int:
    """The largest magnitude of an exponent: of scaled products, twice an addend's or a result's, or max_exp's floor."""
    scales = [unit.scale.a.format, unit.scale.b.format] if unit.scale and unit.scale.at == "product" else []
    ends = [_ends(fmt) for fmt in (*unit.operands.multiplied, *scales)]
    low, high = (sum(end[side] for end in ends) for side in (0, 1))
    sums = [end for fmt in (unit.operands.addend, unit.result.format) if fmt is not None for end in _ends(fmt)]
    return max(-low, high, unit.sum.max_exp_floor or 0, *(2 * abs(end) for end in sums))


def _ends(fmt: Format) -> tuple[int, int]:
    """The least and the largest exponent of a format."""
    if isinstance(fmt, ExponentFormat):
        return fmt.min_code - fmt.bias, fmt.max_code - fmt.bias
    return (fmt.emin, fmt.emax) if isinstance(fmt, FloatFormat) else (0, fmt.integer_bits)


def _span(fmt: Format) -> int:
    return fmt.emax - fmt.emin if isinstance(fmt, FloatFormat) else 0


def _most(fmt: Format) -> int:
    """The largest significand."""
    if isinstance(fmt, FixedFormat):
        return 1 << fmt.fraction_bits + fmt.integer_bits
    assert isinstance(fmt, FloatFormat)
    full = (2 << fmt.fraction_bits) - 1
    # A top binade cut short, and every binade below it.
    top = fmt.max_magnitude & ((1 << fmt.fraction_bits) - 1) | 1 << fmt.fraction_bits
    return full if fmt.emax > fmt.emin else top
