"""Sums of parts of a group in 64-bit integers: exact and scaled, or in windows of their own."""

from __future__ import annotations

from hwsim.compiled import compiled, inlined
from hwsim.kernels.groupterms import NAN_EXP, GroupTerms, Lanes, beyond_limit, merged, product_exp, special
from hwsim.kernels.integers import int64
from hwsim.kernels.lanes import NO_EXP
from hwsim.kernels.lost import cut
from hwsim.kernels.windows import NO_WINDOW, WindowNumbers
from hwsim.kernels.words import CLASS_SHIFT, FINITE, NAN, NEGATIVE_SHIFT, SIG_MASK


@compiled
def subgroups(rule: WindowNumbers, lanes: Lanes, terms: GroupTerms) -> tuple[int, int]:
    """The scaled sums of a group's parts become its terms.

    Returns what is special among them, and the largest exponent of sums that cancel and count, or NO_EXP.
    """
    specials, cancelled = 0, int64(NO_EXP)
    for part in range(rule.lanes // rule.subgroup):
        first = part * rule.subgroup
        total, negatives, kind, ones = int64(0), int64(0), 0, int64(0)
        for lane in range(first, first + rule.subgroup):
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
        sign = int64(total < 0) if total != 0 else int64(negatives == rule.subgroup)
        kind, sign, sig = times_scales(kind, sign, abs(total), x, y)
        terms.sigs[part], terms.signs[part], terms.exps[part] = sig, sign, product_exp(x, y)
        if rule.count_cancelled and total == 0 and ones != 0 and x & SIG_MASK and y & SIG_MASK:
            cancelled = max(cancelled, terms.exps[part])
        specials = merged(specials, kind)
    return specials, cancelled


@compiled
def own_windows(rule: WindowNumbers, lanes: Lanes, terms: GroupTerms) -> tuple[int, int]:
    """The sums of a group's parts, each in a window of its own, become its terms; returns as `subgroups` does."""
    specials, cancelled = 0, int64(NO_EXP)
    for part in range(rule.lanes // rule.subgroup):
        first = part * rule.subgroup
        top, zeros, negatives, kind = int64(NO_EXP), int64(NO_EXP), int64(0), 0
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
def parts_of(rule: WindowNumbers, lanes: Lanes, terms: GroupTerms) -> tuple[int, int, int]:
    """The sums of a group's parts become its terms: as `subgroups` returns, and the terms' fraction bits."""
    if rule.own_bits != NO_WINDOW:
        kind, cancelled = own_windows(rule, lanes, terms)
        return kind, cancelled, rule.own_bits + rule.subgroup_fraction
    kind, cancelled = subgroups(rule, lanes, terms)
    return kind, cancelled, rule.subgroup_fraction - rule.subgroup_least + rule.product_fraction
