"""Even-odd sums in C: a window for the even lanes, one for the odd lanes, and one for both sums."""

from __future__ import annotations

from hwsim.c.group import GroupSum, Sizes
from hwsim.spec import EvenOddSum, Unit


def group_sum(unit: Unit, rule: EvenOddSum, sizes: Sizes) -> GroupSum:
    """The sum of a group. Adds the integers that it needs to `sizes`."""
    lanes = unit.instruction.lanes
    term = sizes.cut(sizes.product.most, sizes.product.fraction_bits, rule.fraction_bits)
    half = -(-lanes // 2) * term.kept
    kept_half = sizes.cut(half, rule.fraction_bits, rule.combine.fraction_bits)
    sizes.totals += [half, 2 * kept_half.kept]
    return GroupSum(
        template="even_odd",
        lost=(rule.lost, rule.combine.lost),
        window_bits=rule.fraction_bits,
        total_bits=rule.combine.fraction_bits,
        terms=lanes,
        zeros_count=rule.zero_terms == "count",
        max_exp_floor=rule.max_exp_floor,
        zero_signs=rule.zero == "ieee",
    )
