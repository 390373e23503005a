"""One group's window in 64-bit integers, product by product: every setting, and what the vector kernel leaves out.

A partial sum goes from group to group as a float64, which holds every number of a result format exactly. Terms are
aligned and cut in `lost.cut`, and a group's sum is finished in `group_sum`, each in that one place.

What every group calls is inlined: a call hands over some fifty numbers, which takes as long as four products.
"""

from __future__ import annotations

import math

from hwsim.compiled import compiled, inlined
from hwsim.kernels.groupterms import (
    NAN_EXP,
    GroupTerms,
    Lanes,
    as_number,
    beyond_limit,
    cut_number,
    leading,
    merged,
    number_exp,
    number_loses,
    product_exp,
    special,
    special_number,
    wide_number,
)
from hwsim.kernels.integers import int64
from hwsim.kernels.lanes import NO_EXP
from hwsim.kernels.lost import cut, loses
from hwsim.kernels.partsums import parts_of
from hwsim.kernels.windows import NO_LIMIT, UNCUT, WindowNumbers
from hwsim.kernels.words import CLASS_SHIFT, NEGATIVE_SHIFT, SIG_MASK


@inlined
def products(rule: WindowNumbers, lanes: Lanes, terms: GroupTerms) -> int:
    """The products of a group's lanes become its terms. Returns what is special among them."""
    others = int64(rule.limit != NO_LIMIT)
    for lane in range(rule.lanes):
        x, y = int64(lanes.a[lane]), int64(lanes.b[lane])
        terms.sigs[lane] = (x & SIG_MASK) * (y & SIG_MASK)
        terms.exps[lane] = product_exp(x, y) + lanes.scales[lane]
        terms.signs[lane] = ((x ^ y) >> NEGATIVE_SHIFT) & 1
        others |= (x | y) >> CLASS_SHIFT | int64(lanes.scales[lane] == NAN_EXP)
    return 0 if others == 0 else special_products(rule, lanes, terms)


@compiled
def special_products(rule: WindowNumbers, lanes: Lanes, terms: GroupTerms) -> int:
    """What is special among a group's products, which are its terms."""
    specials = 0
    for lane in range(rule.lanes):
        kind = 2 if lanes.scales[lane] == NAN_EXP else special(int64(lanes.a[lane]), int64(lanes.b[lane]))
        if kind == 0:
            kind = beyond_limit(rule, terms.sigs[lane], terms.exps[lane], terms.signs[lane] == 1)
        specials = merged(specials, kind)
    return specials


@inlined
def largest(
    rule: WindowNumbers,
    terms: GroupTerms,
    first: int,
    count: int,
    step: int,
    c: float,
    emin: int,
    with_c: bool,
    start: int = NO_EXP,
) -> int:
    """max_exp of finite terms, every `step` of them from the first on, and of c; NO_EXP where all are zero.

    start: an exponent that counts beside theirs, if any.
    """
    top, zeros = int64(start), int64(rule.zero_exp)
    for i in range(first, count, step):
        if terms.sigs[i] != 0:
            top = max(top, terms.exps[i])
        else:
            zeros = max(zeros, terms.exps[i])
    if with_c:
        if c != 0:
            top = max(top, int64(number_exp(c, emin)))
        else:
            zeros = max(zeros, int64(emin))
    if top == NO_EXP:
        return top
    if rule.count_zeros:
        top = max(top, zeros)
    return max(top, int64(rule.floor))


@inlined
def window_sum(rule: WindowNumbers, terms: GroupTerms, first: int, count: int, step: int, top: int, fine: int) -> int:
    """The terms aligned to `top`, and summed, in units of 2^(top - fraction_bits). fine: a term's fraction bits."""
    total = int64(0)
    for i in range(first, count, step):
        total += cut(terms.sigs[i], top - terms.exps[i] + fine - rule.fraction_bits, terms.signs[i] == 1, rule.lost)
    return total


@inlined
def without_low(rule: WindowNumbers, total: int) -> int:
    """A window's sum without the places that it loses, if any."""
    if rule.cut_bits == 0:
        return total
    return cut(abs(total), rule.cut_bits, total < 0, rule.cut_lost) << rule.cut_bits


@compiled
def any_lost(rule: WindowNumbers, terms: GroupTerms, count: int, top: int, fine: int, c: float, with_c: bool) -> bool:
    """Whether a term, or c where it is aligned, has a 1 below the window. Arguments as of `window_sum`."""
    for i in range(count):
        if loses(terms.sigs[i], top - terms.exps[i] + fine - rule.fraction_bits):
            return True
    return with_c and number_loses(c, rule.fraction_bits - top)


@compiled
def zero_of(rule: WindowNumbers, terms: GroupTerms, count: int, c: float, with_c: bool) -> float:
    """The zero that a sum of exactly zero is."""
    if not rule.ieee_zero:
        return 0.0
    negatives = int64(0)
    for i in range(count):
        negatives += terms.signs[i]
    if with_c:
        negatives += int(math.copysign(1.0, c) < 0)
        count += 1
    count += int(rule.zero_exp != NO_EXP)
    negative = negatives > 0 if rule.rounds_down else negatives == count
    return -0.0 if negative else 0.0


@compiled
def late_sum(rule: WindowNumbers, total: int, top: int, bits: int, c: float, emin: int, zero: float) -> float:
    """A group's sum, total * 2^(top - bits), and a late addend in a window of their own, rounded to odd."""
    high = int64(top)
    if c != 0:
        high = max(high, int64(number_exp(c, emin)))
    if high == NO_EXP:
        return zero
    if rule.count_zeros:
        # A sum of zeros stands at exponent 0, as in the definition.
        high = max(high, int64(0) if top == NO_EXP else high, int64(emin) if c == 0 else high)
    if rule.late_zero and c == 0:
        high = max(high, int64(emin))
    sum_bits, addend_bits = rule.late_sum_bits, rule.late_addend_bits
    width = max(sum_bits, addend_bits)
    kept = int64(0)
    if top != NO_EXP:
        kept += cut(abs(total), high - top + bits - sum_bits, total < 0, rule.late_lost) << (width - sum_bits)
    if c != 0 and not number_exp(c, emin) < high - rule.late_drop:
        kept += cut_number(c, addend_bits - high, rule.late_lost) << (width - addend_bits)
    if kept == 0:
        return zero
    unit_exp = high - width
    if rule.late_total_bits != UNCUT:
        lost = max(leading(abs(kept)) + unit_exp, int64(rule.late_emin)) - rule.late_total_bits - unit_exp
        if lost > 0:
            kept, unit_exp = cut(abs(kept), lost, kept < 0, rule.late_lost), unit_exp + lost
    return zero if kept == 0 else wide_number(kept, unit_exp, False)


@inlined
def group_sum(rule: WindowNumbers, lanes: Lanes, terms: GroupTerms, c: float, emin: int, with_c: bool) -> float:
    """One group's sum as a float64, rounded to odd: to be rounded to the result format, once.

    terms: room for them. c: the addend, aligned with the terms, or added late in a window. emin: of its format.
    with_c: whether it is aligned.
    """
    count, fine, cancelled = rule.lanes, rule.product_fraction, int64(NO_EXP)
    if rule.subgroup:
        count = rule.lanes // rule.subgroup
        kind, cancelled, fine = parts_of(rule, lanes, terms)
    else:
        kind = products(rule, lanes, terms)
    if with_c or rule.late:
        kind = merged(kind, special_number(c))
    if kind != 0:
        return as_number(kind)
    zero = zero_of(rule, terms, count, c, with_c or rule.late == 1)
    if rule.even_odd:
        total, top, bits = even_odd(rule, terms)
    else:
        bits = rule.fraction_bits
        top = largest(rule, terms, 0, count, 1, c, emin, with_c, cancelled)
        total = int64(0)
        if top != NO_EXP:
            total = window_sum(rule, terms, 0, count, 1, top, fine)
            if with_c:
                total += cut_number(c, bits - top, rule.lost)
            total = without_low(rule, total)
    if rule.late:
        return late_sum(rule, total, top, bits, c, emin, zero)
    if total == 0:
        return zero
    sticky = rule.sticky == 1 and any_lost(rule, terms, count, top, fine, c, with_c)
    return wide_number(total, top - bits, sticky)


@compiled
def even_odd(rule: WindowNumbers, terms: GroupTerms) -> tuple[int, int, int]:
    """The sum of both halves' sums, its max_exp and its fraction bits."""
    fine, bits = rule.product_fraction, rule.combine_bits
    tops = (
        largest(rule, terms, 0, rule.lanes, 2, 0.0, 0, False),
        largest(rule, terms, 1, rule.lanes, 2, 0.0, 0, False),
    )
    top, total = max(tops[0], tops[1]), int64(0)
    for half in range(2):
        if tops[half] != NO_EXP:
            part = window_sum(rule, terms, half, rule.lanes, 2, tops[half], fine)
            total += cut(abs(part), top - tops[half] + rule.fraction_bits - bits, part < 0, rule.combine_lost)
    return total, top, bits
