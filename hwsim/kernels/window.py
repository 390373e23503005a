"""One group's window in 64-bit integers, product by product: every setting, and what the vector kernel leaves out.

A partial sum goes from group to group as a float64, which holds every number of a result format exactly.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hwsim.compiled import compiled, inlined
from hwsim.kernels.factors import CLASS_SHIFT, EXP_OFFSET, EXP_SHIFT, FINITE, NAN, NEGATIVE_SHIFT, SIG_BITS
from hwsim.kernels.rules import FLOOR, JAM, NAN_EXP, NEAREST_AWAY, NEAREST_EVEN, NO_EXP, NO_LIMIT

SIG_MASK, EXP_MASK, CLASS_MASK = (1 << SIG_BITS) - 1, (1 << NEGATIVE_SHIFT - EXP_SHIFT) - 1, 3
# Exponents of float64 that a power of two is made of.
F64_BIAS, F64_FRACTION = 1023, 52
# A float64 holds a sum at that exponent, and at its negative; results are within MOST_EXPONENT of `floats`.
FAR = 900


@inlined
def power(exp: Any) -> Any:
    """2^exp as a float64, exp within -1022 and 1023."""
    return np.int64((exp + F64_BIAS) << F64_FRACTION).view(np.float64)


@compiled
def leading(sig: Any) -> Any:
    """Where the leading one of a number above 0 stands. sig below 2^62."""
    exp = np.int64(math.frexp(np.float64(sig))[1]) - 1
    # The conversion may have rounded up to the next power of two.
    return exp - 1 if sig >> exp == 0 else exp


@compiled
def cut(sig: Any, shift: Any, negative: Any, lost: Any) -> Any:
    """A magnitude, sig * 2^-shift, as an integer, its lost bits as `sum.lost` says, with its sign."""
    if shift <= 0:
        kept = sig << -shift
    elif shift > 62:
        kept = np.int64(sig != 0 and (lost == JAM or (lost == FLOOR and negative)))
    else:
        kept = sig >> shift
        rest = sig - (kept << shift)
        half = np.int64(1) << (shift - 1)
        if lost == JAM:
            kept |= np.int64(rest != 0)
        elif lost == FLOOR:
            kept += np.int64(rest != 0 and negative)
        elif lost == NEAREST_EVEN:
            kept += np.int64(rest > half or (rest == half and (kept & 1) == 1))
        elif lost == NEAREST_AWAY:
            kept += np.int64(rest >= half)
    return -kept if negative else kept


@compiled
def number_exp(x: Any, emin: Any) -> Any:
    """The exponent of a finite number other than zero, at least emin."""
    return max(np.int64(math.frexp(x)[1]) - 1, emin)


@compiled
def cut_number(x: Any, shift: Any, lost: Any) -> Any:
    """x * 2^shift as an integer, its lost bits as `sum.lost` says, with its sign. Below 2^62; x is a float64."""
    if x == 0:
        return np.int64(0)
    fraction, exp = math.frexp(abs(x))
    sig = np.int64(fraction * 2.0**53)
    return cut(sig, 53 - exp - shift, x < 0, lost)


@compiled
def wide_number(total: Any, exp: Any) -> Any:
    """total * 2^exp as a float64, rounded to odd. |total| below 2^62.

    One more rounding, to 51 bits or fewer, is then as if it were the only one.
    """
    size = abs(total)
    if size >= np.int64(1) << 53:
        low = size & 1023
        size = (size >> 10 | np.int64(low != 0)) << 10
    # So far away, nothing but the sign tells in a result: all formats end long before.
    value = math.ldexp(np.float64(size), min(max(exp, -FAR), FAR))
    return -value if total < 0 else value


@compiled
def special(a: Any, b: Any) -> Any:
    """What a product with an infinite or NaN factor is: 2 for NaN, 1 or -1 for an infinity, 0 for a number."""
    kind_a, kind_b = a >> CLASS_SHIFT, b >> CLASS_SHIFT
    if kind_a == FINITE and kind_b == FINITE:
        return 0
    if kind_a == NAN or kind_b == NAN:
        return 2
    if (kind_a == FINITE and a & SIG_MASK == 0) or (kind_b == FINITE and b & SIG_MASK == 0):
        return 2
    return -1 if ((a ^ b) >> NEGATIVE_SHIFT) & 1 else 1


@compiled
def merged(before: Any, new: Any) -> Any:
    """Two special terms together; 0 is none."""
    if before == 0 or new == 0:
        return before + new
    return before if before == new else 2


@compiled
def as_number(kind: Any) -> Any:
    """A special term as a float64."""
    return np.nan if kind == 2 else np.inf if kind == 1 else -np.inf


@inlined
def beyond_limit(rule: Any, sig: Any, exp: Any, minus: Any) -> Any:
    """What a product of numbers is: an infinity from `sum.product_limit` on, as `special` has it; 0 for a number."""
    if rule.limit == NO_LIMIT or sig == 0 or leading(sig) + exp - rule.product_fraction < rule.limit:
        return 0
    return -1 if minus else 1


@compiled
def products(rule: Any, a: Any, b: Any, scales: Any, sigs: Any, exps: Any, signs: Any) -> Any:
    """The products of a group's lanes, in sigs, exps and signs, and what is special among them.

    a, b: words of lanes. scales: an exponent for each lane, NAN_EXP for NaN.
    """
    found = 0
    for lane in range(rule.lanes):
        x, y = np.int64(a[lane]), np.int64(b[lane])
        sigs[lane] = (x & SIG_MASK) * (y & SIG_MASK)
        exp = ((x >> EXP_SHIFT) & EXP_MASK) + ((y >> EXP_SHIFT) & EXP_MASK) - 2 * EXP_OFFSET
        exps[lane] = exp + scales[lane]
        signs[lane] = ((x ^ y) >> NEGATIVE_SHIFT) & 1
        kind = 2 if scales[lane] == NAN_EXP else special(x, y)
        if kind == 0:
            kind = beyond_limit(rule, sigs[lane], exps[lane], signs[lane])
        found = merged(found, kind)
    return found


@compiled
def subgroups(rule: Any, a: Any, b: Any, scale_a: Any, scale_b: Any, sigs: Any, exps: Any, signs: Any) -> Any:
    """The scaled sums of a group's parts as terms, in sigs, exps and signs; how many, and what is special.

    scale_a, scale_b: the scales' words for each lane.
    """
    found, count = 0, rule.lanes // rule.subgroup
    for part in range(count):
        first = part * rule.subgroup
        total, negatives, kind = np.int64(0), np.int64(0), 0
        for lane in range(first, first + rule.subgroup):
            x, y = np.int64(a[lane]), np.int64(b[lane])
            exp = ((x >> EXP_SHIFT) & EXP_MASK) + ((y >> EXP_SHIFT) & EXP_MASK) - 2 * EXP_OFFSET
            sig = (x & SIG_MASK) * (y & SIG_MASK)
            size = sig << (exp - rule.subgroup_least)
            minus = ((x ^ y) >> NEGATIVE_SHIFT) & 1
            mine = special(x, y)
            kind = merged(kind, mine if mine != 0 else beyond_limit(rule, sig, exp, minus))
            negatives += minus
            total += -size if minus else size
        x, y = np.int64(scale_a[first]), np.int64(scale_b[first])
        sign = np.int64(total < 0) if total != 0 else np.int64(negatives == rule.subgroup)
        sig = abs(total)
        if kind != 0:
            sign = np.int64(kind == -1)
        # A number, an infinity or a NaN, times one scale and then the other.
        for scale in (x, y):
            scale_kind, scale_sig = scale >> CLASS_SHIFT, scale & SIG_MASK
            sign ^= (scale >> NEGATIVE_SHIFT) & 1
            if kind == 2 or scale_kind == NAN:
                kind = 2
            elif kind != 0 or scale_kind != FINITE:
                mine_is_zero = kind == 0 and sig == 0
                its_is_zero = scale_kind == FINITE and scale_sig == 0
                kind = 2 if mine_is_zero or its_is_zero else 1
            sig *= scale_sig
        if kind == 1 and sign:
            kind = -1
        sigs[part], signs[part] = sig, sign
        exps[part] = ((x >> EXP_SHIFT) & EXP_MASK) + ((y >> EXP_SHIFT) & EXP_MASK) - 2 * EXP_OFFSET
        found = merged(found, kind)
    return count, found


@compiled
def largest(rule: Any, first: Any, count: Any, step: Any, sigs: Any, exps: Any, c: Any, emin: Any, with_c: Any) -> Any:
    """max_exp of finite terms, NO_EXP where all are zero."""
    top, zeros = np.int64(NO_EXP), np.int64(rule.zero_exp)
    for i in range(first, count, step):
        if sigs[i] != 0:
            top = max(top, exps[i])
        else:
            zeros = max(zeros, exps[i])
    if with_c:
        if c != 0:
            top = max(top, number_exp(c, emin))
        else:
            zeros = max(zeros, emin)
    if top == NO_EXP:
        return top
    if rule.count_zeros:
        top = max(top, zeros)
    return max(top, rule.floor)


@compiled
def window_sum(
    rule: Any, first: Any, count: Any, step: Any, sigs: Any, exps: Any, signs: Any, top: Any, fine: Any
) -> Any:
    """The terms aligned to `top`, and summed, in units of 2^(top - fraction_bits). fine: a term's fraction bits."""
    total = np.int64(0)
    for i in range(first, count, step):
        total += cut(sigs[i], top - exps[i] + fine - rule.fraction_bits, signs[i] == 1, rule.lost)
    return total


@compiled
def zero_of(rule: Any, count: Any, signs: Any, c: Any, with_c: Any) -> Any:
    """The zero that a sum of exactly zero is."""
    if not rule.ieee_zero:
        return 0.0
    negatives = np.int64(0)
    for i in range(count):
        negatives += signs[i]
    if with_c:
        negatives += np.int64(math.copysign(1.0, c) < 0)
        count += 1
    count += np.int64(rule.zero_exp != NO_EXP)
    negative = negatives > 0 if rule.rounds_down else negatives == count
    return -0.0 if negative else 0.0


@compiled
def late_sum(rule: Any, total: Any, top: Any, bits: Any, c: Any, emin: Any, zero: Any) -> Any:
    """A group's sum, total * 2^(top - bits), and a late addend in a window of their own, rounded to odd."""
    high = top
    if c != 0:
        high = max(high, number_exp(c, emin))
    if high == NO_EXP:
        return zero
    if rule.count_zeros:
        # A sum of zeros stands at exponent 0, as in the definition.
        high = max(high, np.int64(0) if top == NO_EXP else high, emin if c == 0 else high)
    sum_bits, addend_bits = rule.late_sum_bits, rule.late_addend_bits
    width = max(sum_bits, addend_bits)
    kept = np.int64(0)
    if top != NO_EXP:
        kept = cut(abs(total), high - top + bits - sum_bits, total < 0, rule.late_lost) << (width - sum_bits)
    if c != 0 and not number_exp(c, emin) < high - rule.late_drop:
        kept += cut_number(c, addend_bits - high, rule.late_lost) << (width - addend_bits)
    return zero if kept == 0 else wide_number(kept, high - width)


@compiled
def group_sum(
    rule: Any, a: Any, b: Any, scales: Any, scale_a: Any, scale_b: Any, c: Any, emin: Any, with_c: Any,
    sigs: Any, exps: Any, signs: Any,
) -> Any:  # fmt: skip
    """One group's sum as a float64, rounded to odd: to be rounded to the result format, once.

    a, b: words of lanes. scales: exponents of lanes. scale_a, scale_b: words of the scales of lanes, for subgroups.
    c: the addend (aligned), or what is added late in a window. emin: of its format. with_c: whether it is aligned.
    sigs, exps, signs: int64 of lanes.
    """
    count, fine = rule.lanes, rule.product_fraction
    if rule.subgroup:
        count, kind = subgroups(rule, a, b, scale_a, scale_b, sigs, exps, signs)
        fine = rule.subgroup_fraction - rule.subgroup_least + rule.product_fraction
    else:
        kind = products(rule, a, b, scales, sigs, exps, signs)
    if with_c or rule.late:
        if c != c:
            kind = 2
        elif math.isinf(c):
            kind = merged(kind, 1 if c > 0 else -1)
    if kind != 0:
        return as_number(kind)
    zero = zero_of(rule, count, signs, c, with_c or rule.late)
    if rule.even_odd:
        total, top, bits = even_odd(rule, sigs, exps, signs)
    else:
        bits = rule.fraction_bits
        top = largest(rule, 0, count, 1, sigs, exps, c, emin, with_c)
        total = np.int64(0)
        if top != NO_EXP:
            total = window_sum(rule, 0, count, 1, sigs, exps, signs, top, fine)
            if with_c:
                total += cut_number(c, bits - top, rule.lost)
    if rule.late:
        return late_sum(rule, total, top, bits, c, emin, zero)
    return zero if total == 0 else wide_number(total, top - bits)


@compiled
def even_odd(rule: Any, sigs: Any, exps: Any, signs: Any) -> Any:
    """The sum of both halves' sums, its max_exp and its fraction bits."""
    fine, bits = rule.product_fraction, rule.combine_bits
    tops = (
        largest(rule, 0, rule.lanes, 2, sigs, exps, 0.0, 0, 0),
        largest(rule, 1, rule.lanes, 2, sigs, exps, 0.0, 0, 0),
    )
    top, total = max(tops[0], tops[1]), np.int64(0)
    for half in range(2):
        if tops[half] != NO_EXP:
            part = window_sum(rule, half, rule.lanes, 2, sigs, exps, signs, tops[half], fine)
            total += cut(abs(part), top - tops[half] + rule.fraction_bits - bits, part < 0, rule.combine_lost)
    return total, top, bits
