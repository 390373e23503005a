"""One group's window in 64-bit integers, product by product: every setting, and what the vector kernel leaves out.

A partial sum goes from group to group as a float64, which holds every number of a result format exactly. Terms are
aligned and cut in `lost.cut`, and a group's sum is finished in `group_sum`, each in that one place.

What every group calls is inlined: a call hands over some fifty numbers, which takes as long as four products. Two
readers of one beginning, `group_sum` and `reading_sum`, each have it written out: a function for it, inlined too, cost
a tenth of the speed. A literal as an argument makes a function of its own, which compiles in half a second. Of what a
unit does not have, the code is not compiled: its flag is None."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hwsim.base.compiled import compiled, inlined
from hwsim.compute.kernels.floats import RD, RNE, add_odd, sum_in
from hwsim.compute.kernels.kernel import Int64s, int64
from hwsim.compute.kernels.lanes import NO_EXP
from hwsim.compute.kernels.lost import cut, loses
from hwsim.compute.kernels.values import (
    CLASS_SHIFT,
    EXP_MASK,
    EXP_OFFSET,
    EXP_SHIFT,
    FINITE,
    NAN,
    NEGATIVE_SHIFT,
    SIG_MASK,
    Floats,
    Words,
)
from hwsim.compute.kernels.windows import NO_LIMIT, NO_WINDOW, UNCUT, ReadNumbers, WindowNumbers

# The exponent of a scale that is NaN.
NAN_EXP = 1 << 20
# Exponents of float64 that a power of two is made of.
F64_BIAS, F64_FRACTION = 1023, 52
# A float64 holds a sum at that exponent, and at its negative; results are within MOST_EXPONENT of `floats`.
FAR = 900


# Whether a unit has something: 1, or None, where Numba leaves out what is done `if flag is not None`.
Flag = int | None


def flag(has: bool) -> Flag:
    return 1 if has else None


class GroupTerms(NamedTuple):
    """A group's products, or scaled sums: significands, exponents, and signs, 1 of negative ones. int64 of lanes."""

    sigs: Int64s
    exps: Int64s
    signs: Int64s


class Lanes(NamedTuple):
    """A group's factors and scales. a, b: words. scales: exponents of products' scales, NAN_EXP for NaN.

    scale_a, scale_b: words of the scales, for subgroups.
    """

    a: Words
    b: Words
    scales: Int64s
    scale_a: Words
    scale_b: Words


@inlined
def power(exp: int) -> float:
    """2^exp as a float64, exp within -1022 and 1023."""
    return np.int64((exp + F64_BIAS) << F64_FRACTION).view(np.float64)


@compiled
def leading(sig: int) -> int:
    """The place of the leading one of a number above 0. sig below 2^62."""
    exp = math.frexp(float(sig))[1] - 1
    # The conversion may have rounded up to the next power of two.
    return exp - 1 if sig >> exp == 0 else exp


@compiled
def number_exp(x: float, emin: int) -> int:
    """The exponent of a finite number other than zero, at least emin."""
    return max(math.frexp(x)[1] - 1, emin)


@compiled
def cut_number(x: float, shift: int, lost: int) -> int:
    """x * 2^shift as an integer, its lost bits as `sum.lost` says, with its sign. Below 2^62; x is a float64."""
    if x == 0:
        return 0
    fraction, exp = math.frexp(abs(x))
    return cut(int(fraction * 2.0**53), 53 - exp - shift, x < 0, lost)


@compiled
def number_loses(x: float, shift: int) -> bool:
    """True if `cut_number` cuts a 1 off the magnitude of x * 2^shift."""
    if x == 0:
        return False
    fraction, exp = math.frexp(abs(x))
    return loses(int(fraction * 2.0**53), 53 - exp - shift)


@compiled
def wide_number(total: int, exp: int, sticky: bool) -> float:
    """total * 2^exp as a float64, rounded to odd. |total| below 2^62.

    One more rounding, to 51 bits or fewer, is then as if it were the only one.
    sticky: the magnitude is more than that, by less than any place that such a rounding looks at.
    """
    size, up = abs(total), int64(0)
    if size >= 1 << 53:
        low = size & 1023
        size = (size >> 10 | int(low != 0 or sticky)) << 10
    elif sticky:
        up = int64(52 - leading(size))
        size = size << up | 1
    # So far away, nothing but the sign tells in a result: all formats end long before.
    value = math.ldexp(float(size), min(max(exp, -FAR), FAR) - up)
    return -value if total < 0 else value


@compiled
def special(a: int, b: int) -> int:
    """The kind of a product with an infinite or NaN factor: 2 for NaN, 1 or -1 for an infinity, 0 for a number."""
    kind_a, kind_b = a >> CLASS_SHIFT, b >> CLASS_SHIFT
    if kind_a == FINITE and kind_b == FINITE:
        return 0
    if kind_a == NAN or kind_b == NAN:
        return 2
    if (kind_a == FINITE and a & SIG_MASK == 0) or (kind_b == FINITE and b & SIG_MASK == 0):
        return 2
    return -1 if ((a ^ b) >> NEGATIVE_SHIFT) & 1 else 1


@compiled
def merged(before: int, new: int) -> int:
    """Two special terms together; 0 is none."""
    if before == 0 or new == 0:
        return before + new
    return before if before == new else 2


@inlined
def special_number(x: float) -> int:
    """The kind of a float64, as `special` has it."""
    return 2 if x != x else 0 if not math.isinf(x) else 1 if x > 0 else -1


@compiled
def as_number(kind: int) -> float:
    """A special term as a float64."""
    return np.nan if kind == 2 else np.inf if kind == 1 else -np.inf


@inlined
def beyond_limit(rule: WindowNumbers, sig: int, exp: int, minus: bool) -> int:
    """The kind of a product of numbers: infinity from `sum.product_limit` on, as `special` has it; 0 for a number."""
    if rule.limit == NO_LIMIT or sig == 0 or leading(sig) + exp - rule.product_fraction < rule.limit:
        return 0
    return -1 if minus else 1


@inlined
def product_exp(x: int, y: int) -> int:
    """The exponent of a product, of words."""
    return ((x >> EXP_SHIFT) & EXP_MASK) + ((y >> EXP_SHIFT) & EXP_MASK) - 2 * EXP_OFFSET


@compiled
def low_addend(rule: WindowNumbers, lanes: Lanes, c: float, emin: int) -> bool:
    """True if c is zero, or its exponent below the largest of products other than zero, scales counted."""
    top = int64(NO_EXP)
    for lane in range(rule.lanes):
        x, y = int64(lanes.a[lane]), int64(lanes.b[lane])
        by, of = int64(lanes.scale_a[lane]), int64(lanes.scale_b[lane])
        if x & SIG_MASK and y & SIG_MASK and by & SIG_MASK and of & SIG_MASK:
            top = max(top, product_exp(x, y) + product_exp(by, of))
    return top != NO_EXP and (c == 0 or number_exp(c, emin) < top)


@compiled
def subgroups(rule: WindowNumbers, lanes: Lanes, terms: GroupTerms, of_part: int) -> tuple[int, int]:
    """The scaled sums of a group's parts, of so many products each, become its terms.

    Returns what is special among them, and the largest exponent of sums that cancel and count, or NO_EXP.
    """
    specials, cancelled = int64(0), int64(NO_EXP)
    for part in range(rule.lanes // of_part):
        first = part * of_part
        total, negatives, kind, ones = int64(0), int64(0), int64(0), int64(0)
        for lane in range(first, first + of_part):
            x, y = int64(lanes.a[lane]), int64(lanes.b[lane])
            exp, sig = product_exp(x, y), (x & SIG_MASK) * (y & SIG_MASK)
            size = sig << (exp - rule.subgroup_least)
            minus = ((x ^ y) >> NEGATIVE_SHIFT) & 1
            mine = special(x, y)
            kind = merged(kind, mine if mine != 0 else beyond_limit(rule, sig, exp, minus == 1))
            negatives += minus
            ones |= sig
            total += -size if minus else size
        x, y = int64(lanes.scale_a[first]), int64(lanes.scale_b[first])
        sign = int64(total < 0) if total != 0 else int64(negatives == of_part)
        kind, sign, sig = times_scales(kind, sign, abs(total), x, y)
        terms.sigs[part], terms.signs[part], terms.exps[part] = sig, sign, product_exp(x, y)
        if rule.count_cancelled and total == 0 and ones != 0 and x & SIG_MASK and y & SIG_MASK:
            cancelled = max(cancelled, terms.exps[part])
        specials = merged(specials, kind)
    return specials, cancelled


@compiled
def own_windows(rule: WindowNumbers, lanes: Lanes, terms: GroupTerms) -> tuple[int, int]:
    """The sums of a group's parts, each in a window of its own, become its terms; returns as `subgroups` does."""
    specials, cancelled = int64(0), int64(NO_EXP)
    for part in range(rule.lanes // rule.subgroup):
        first = part * rule.subgroup
        top, zeros, negatives, kind = int64(NO_EXP), int64(NO_EXP), int64(0), int64(0)
        for lane in range(first, first + rule.subgroup):
            x, y = int64(lanes.a[lane]), int64(lanes.b[lane])
            exp, sig = product_exp(x, y) + lanes.scales[lane], (x & SIG_MASK) * (y & SIG_MASK)
            minus = ((x ^ y) >> NEGATIVE_SHIFT) & 1
            mine = 2 if lanes.scales[lane] == NAN_EXP else special(x, y)
            kind = merged(kind, mine if mine != 0 else beyond_limit(rule, sig, exp, minus == 1))
            negatives += minus
            zeros = max(zeros, exp)
            top = max(top, exp) if sig != 0 else top
        total = int64(0)
        for lane in range(first, first + rule.subgroup):
            x, y = int64(lanes.a[lane]), int64(lanes.b[lane])
            sig = (x & SIG_MASK) * (y & SIG_MASK)
            if sig != 0 and kind == 0:
                down = top - product_exp(x, y) - lanes.scales[lane] + rule.product_fraction - rule.own_bits
                total += cut(sig, down, ((x ^ y) >> NEGATIVE_SHIFT) & 1 == 1, rule.own_lost)
        sign = int64(total < 0) if total != 0 else int64(negatives == rule.subgroup)
        exp, sig, counts = (zeros if top == NO_EXP else top), abs(total), top != NO_EXP
        if kind != 0:
            sign = int64(kind == -1)
        if rule.subgroup_scaled:
            x, y = int64(lanes.scale_a[first]), int64(lanes.scale_b[first])
            kind, sign, sig = times_scales(kind, sign, sig, x, y)
            exp, counts = exp + product_exp(x, y), counts and (x & SIG_MASK) != 0 and (y & SIG_MASK) != 0
        terms.sigs[part], terms.signs[part], terms.exps[part] = sig, sign, exp
        if rule.count_cancelled and total == 0 and counts:
            cancelled = max(cancelled, exp)
        specials = merged(specials, kind)
    return specials, cancelled


@inlined
def times_scales(kind: int, sign: int, sig: int, x: int, y: int) -> tuple[int, int, int]:
    """A number, an infinity or a NaN, as `special` has it, times one scale's word and then the other's."""
    if kind != 0:
        sign = int64(kind == -1)
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
    return kind, sign, sig


@inlined
def parts_of(rule: WindowNumbers, lanes: Lanes, terms: GroupTerms, size: int) -> tuple[int, int, int]:
    """The sums of a group's parts become its terms: as `subgroups` returns, and the terms' fraction bits."""
    if rule.own_bits != NO_WINDOW:
        kind, cancelled = own_windows(rule, lanes, terms)
        return kind, cancelled, rule.own_bits + rule.subgroup_fraction
    kind, cancelled = subgroups(rule, lanes, terms, size)
    return kind, cancelled, rule.subgroup_fraction - rule.subgroup_least + rule.product_fraction


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
    """The special kinds among a group's products, which are its terms, merged into one."""
    specials = int64(0)
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
    """True if a term, or c where it is aligned, has a 1 below the window. Arguments as of `window_sum`."""
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
def group_sum(
    rule: WindowNumbers, lanes: Lanes, terms: GroupTerms, c: float, emin: int, with_c: bool, parts: Flag,
    halves: Flag, late: Flag, sticky: Flag, signs: Flag,
) -> float:  # fmt: skip
    """One group's sum as a float64, rounded to odd: to be rounded to the result format, once.

    terms: room for them. c: the addend, aligned with the terms, or added late in a window. emin: of its format.
    with_c: whether it is aligned. parts, halves, late: whether products are summed in parts, or even and odd ones
    apart; the addend comes late in a window; the rounding is told of lost bits; zeros have the signs of IEEE 754.
    """
    count, fine, cancelled, low = rule.lanes, rule.product_fraction, int64(NO_EXP), False
    if parts is not None:
        size = int64(rule.subgroup)
        if rule.low_lanes != 0:
            low = low_addend(rule, lanes, c if with_c else 0.0, emin)
            size = rule.low_lanes if low else size
        count = rule.lanes // size
        kind, cancelled, fine = parts_of(rule, lanes, terms, size)
    else:
        kind = products(rule, lanes, terms)
    enters = with_c or late is not None
    if enters:
        kind = merged(kind, special_number(c))
    if kind != 0:
        return as_number(kind)
    zero = 0.0
    if signs is not None:
        zero = zero_of(rule, terms, count, c, enters)
    if halves is not None:
        total, top, bits = even_odd(rule, terms)
    else:
        bits = rule.fraction_bits
        skips = low and rule.low_skips == 1
        top = largest(rule, terms, 0, count, 1, c, emin, with_c and not skips, cancelled)
        total = int64(0)
        if top != NO_EXP:
            total = window_sum(rule, terms, 0, count, 1, top, fine)
            if with_c:
                total += cut_number(c, bits - top, rule.lost)
            total = without_low(rule, total)
    if late is not None:
        return late_sum(rule, total, top, bits, c, emin, zero)
    if total == 0:
        return zero
    lost = False
    if sticky is not None:
        lost = rule.sticky == 1 and any_lost(rule, terms, count, top, fine, c, with_c)
    return wide_number(total, top - bits, lost)


@compiled
def even_odd(rule: WindowNumbers, terms: GroupTerms) -> tuple[int, int, int]:
    """The sum of both halves' sums, its max_exp and its fraction bits."""
    fine, bits = rule.product_fraction, rule.combine_bits
    tops = (
        largest(rule, terms, int64(0), rule.lanes, 2, 0.0, 0, False),
        largest(rule, terms, int64(1), rule.lanes, 2, 0.0, 0, False),
    )
    top, total = max(tops[0], tops[1]), int64(0)
    for half in range(2):
        if tops[half] != NO_EXP:
            part = window_sum(rule, terms, half, rule.lanes, 2, tops[half], fine)
            total += cut(abs(part), top - tops[half] + rule.fraction_bits - bits, part < 0, rule.combine_lost)
    return total, top, bits


class ReadingRoom(NamedTuple):
    """Room for a group: parts of its sum, of which each number that is added makes at most one, and exponents."""

    parts: Floats
    exps: Int64s


@compiled
def add_part(parts: Floats, count: int, x: float) -> int:
    """Add x to the exact sum of `count` parts, which do not overlap, in ascending order. Returns how many there are.

    Shewchuk 1997, Grow-Expansion, without zeros: parts are not even adjacent.
    """
    kept = 0
    for i in range(count):
        total = x + parts[i]
        of_part = total - x
        error = (x - (total - of_part)) + (parts[i] - of_part)
        if error != 0:
            parts[kept] = error
            kept += 1
        x = total
    parts[kept] = x
    return kept + 1


@compiled
def add_integer(parts: Floats, count: int, total: int, exp: int) -> int:
    """`add_part` of total * 2^exp. |total| below 2^62."""
    if total == 0:
        return count
    # So far away, nothing but the sign tells in a result: all formats end long before.
    unit = power(min(max(exp, -FAR), FAR))
    low = total & ((1 << 31) - 1)
    count = add_part(parts, count, float(total - low) * unit)
    return count if low == 0 else add_part(parts, count, float(low) * unit)


@compiled
def at_leading_ones(terms: GroupTerms, count: int, fine: int, exps: Int64s) -> GroupTerms:
    """Terms for `largest`: at the exponents of their leading ones, which are written to `exps`, zeros as they are."""
    for i in range(count):
        exps[i] = terms.exps[i] + (leading(terms.sigs[i]) - fine if terms.sigs[i] != 0 else 0)
    return GroupTerms(terms.sigs, exps, terms.signs)


@compiled
def reading_sum(
    rule: WindowNumbers, read: ReadNumbers, lanes: Lanes, terms: GroupTerms, room: ReadingRoom, c: float,
    emin: int, with_c: bool, late: float, with_late: bool,
) -> float:  # fmt: skip
    """One group's sum as a float64, rounded to odd, by rules that a specification leaves open; as `group_sum`.

    c: aligned with the terms. late: added to the window's sum. with_c, with_late: whether they are.
    """
    count, fine, cancelled = rule.lanes, rule.product_fraction, int64(NO_EXP)
    if rule.subgroup:
        count = rule.lanes // rule.subgroup
        kind, cancelled, fine = parts_of(rule, lanes, terms, rule.subgroup)
    else:
        kind = products(rule, lanes, terms)
    if with_c:
        kind = merged(kind, special_number(c))
    if with_late:
        kind = merged(kind, special_number(late))
    if kind != 0:
        return as_number(kind)
    parts, used = room.parts, 0
    if read.lossless:
        for i in range(count):
            sig = -terms.sigs[i] if terms.signs[i] == 1 else terms.sigs[i]
            used = add_integer(parts, used, sig, terms.exps[i] - fine)
        if with_c:
            used = add_part(parts, used, c)
    else:
        standing = at_leading_ones(terms, count, fine, room.exps) if read.leading else terms
        top = largest(rule, standing, 0, count, 1, c, emin, with_c, cancelled)
        if top != NO_EXP:
            total = window_sum(rule, terms, 0, count, 1, top, fine)
            if with_c:
                total += cut_number(c, rule.fraction_bits - top, rule.lost)
            total = without_low(rule, total)
            used = add_integer(parts, used, total, top - rule.fraction_bits)
    if with_late:
        used = add_part(parts, used, late)
    value = 0.0
    for i in range(used):
        value = add_odd(value, parts[i])
    if value == 0:
        return reading_zero(rule, terms, count, c, with_c, late, with_late)
    if read.significant:
        exp = number_exp(value, -FAR)
        value = math.ldexp(float(cut_number(value, rule.fraction_bits - exp, rule.lost)), exp - rule.fraction_bits)
    return value


@compiled
def reading_zero(
    rule: WindowNumbers, terms: GroupTerms, count: int, c: float, with_c: bool, late: float, with_late: bool
) -> float:
    """The zero that a sum of exactly zero is."""
    zero = zero_of(rule, terms, count, c, with_c)
    if not with_late or not rule.ieee_zero:
        return zero
    return sum_in(zero, math.copysign(0.0, late), RD if rule.rounds_down else RNE, False)
