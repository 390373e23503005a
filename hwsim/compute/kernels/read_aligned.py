"""Readings of `sum.method: aligned` (hwsim/explain): one group's sum by rules that a specification leaves open.

Their settings are numbers of the generic path, so that no reading compiles anything anew.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from hwsim.base.compiled import compiled, inlined
from hwsim.compute.kernels.chain import (
    ADDED_LATE,
    PLAIN,
    PROMOTED,
    PROMOTED_SCALED,
    GroupRules,
    WindowOperand,
    committed,
    load,
    promotion_scales,
    rooms,
)
from hwsim.compute.kernels.floats import RD, RNE, add_odd, round_to, sum_in
from hwsim.compute.kernels.group import (
    FAR,
    GroupTerms,
    Lanes,
    as_number,
    cut_number,
    largest,
    leading,
    merged,
    number_exp,
    parts_of,
    power,
    products,
    special_number,
    window_sum,
    without_low,
    zero_of,
)
from hwsim.compute.kernels.kernel import Int64s, int64
from hwsim.compute.kernels.lanes import NO_EXP
from hwsim.compute.kernels.values import Floats
from hwsim.compute.kernels.window_kernel import WindowKernel
from hwsim.compute.kernels.windows import ALIGNED, WindowNumbers
from hwsim.spec import ReadAlignedSum, Unit
from hwsim.spec.ranges import exponent_range

# A sum that is rounded to odd in a float64 is right when it is rounded again to two bits less, or fewer.
MOST_CUT = 50
# Exponents of products: their bits, and those of their sums, are exact in float64s.
FARTHEST = 800


def lacks_reading(unit: Unit, rule: ReadAlignedSum) -> Iterator[str]:
    """What this kernel does not hold of a reading, as keys with their values."""
    if rule.significant and rule.fraction_bits > MOST_CUT:
        yield f"sum.significant: true (of more than {MOST_CUT} fraction bits)"
    if rule.zero == "ieee" and rule.subgroup is not None:
        yield "sum.zero: ieee of scaled sums, read otherwise"
    scales = (unit.scale.a.format, unit.scale.b.format) if unit.scale is not None else ()
    reaches = sum(max(map(abs, exponent_range(fmt))) for fmt in (*unit.operands.multiplied, *scales))
    if reaches > FARTHEST:
        yield f"operands: products beyond 2^{FARTHEST}, read otherwise"


class ReadNumbers(NamedTuple):
    """The keys of a `ReadAlignedSum` as flags, 0 or 1."""

    leading: int
    lossless: int
    significant: int
    starts_late: int
    unrounded: int


class ReadingRoom(NamedTuple):
    """Room for a group: parts of its sum, of which each number that is added makes at most one, and exponents."""

    parts: Floats
    exps: Int64s


@inlined
def reading_room(lanes: int) -> ReadingRoom:
    """Room for groups of so many lanes."""
    return ReadingRoom(np.zeros(2 * lanes + 6), np.zeros(lanes, np.int64))


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
    """One group's sum as a float64, rounded to odd, as `group_sum` returns it. room: `reading_room`.

    c: aligned with the terms. late: added to the window's sum. with_c, with_late: whether they are.
    """
    count, fine, cancelled = rule.lanes, rule.product_fraction, int64(NO_EXP)
    if rule.subgroup:
        count = rule.lanes // rule.subgroup
        kind, cancelled, fine = parts_of(rule, lanes, terms)
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


@compiled
def run_readings(
    rules: GroupRules, read: ReadNumbers, places: Int64s, a: WindowOperand, b: WindowOperand, values: Floats,
    columns: Int64s,
) -> None:  # fmt: skip
    """Every element by itself, as `chain.run_scalar` does it for units as specified; other arguments as there."""
    rule, chain, result = rules.window, rules.chain, rules.result
    group, terms = rooms(rule.lanes)
    room = reading_room(rule.lanes)
    count, promoted = places.shape[0], chain.kind == PROMOTED or chain.kind == PROMOTED_SCALED
    for i in range(a.words.shape[0]):
        for j in range(values.shape[1]):
            row = j + columns[i]
            partial = register = values[i, j]
            if promoted:
                register = round_to(register, rules.register)
            emin = chain.emin_c
            for g in range(count):
                if chain.restart and g % chain.restart == 0:
                    partial, emin = 0.0, chain.emin
                load(rules, group, places[g], a, b, i, row)
                # What the group starts from comes late, and so does the register after an instruction's last group.
                starts = rule.addend == ALIGNED or g > 0 or chain.restart > 0
                ends = g % chain.every == chain.every - 1 or g == count - 1
                joins = read.unrounded == 1 and chain.kind == ADDED_LATE and ends
                late, with_late = register, joins
                if read.starts_late:
                    late, with_late = partial, starts and read.unrounded == 1
                aligned = starts and not read.starts_late
                total = reading_sum(rule, read, group, terms, room, partial, emin, aligned, late, with_late)
                total = round_to(total, result)
                if read.starts_late and starts and not read.unrounded:
                    total = round_to(sum_in(partial, total, result.mode, False), result)
                emin = chain.emin
                if joins:
                    register = total
                    continue
                partial = total
                if ends and chain.kind != PLAIN:
                    scale_a, scale_b = promotion_scales(rules, g, a, b, i, row)
                    register = committed(chain, register, partial, scale_a, scale_b, rules.register)
            values[i, j] = partial if chain.kind == PLAIN else register


class ReadingKernel(WindowKernel):
    def __init__(self, unit: Unit, numbers: WindowNumbers, rule: ReadAlignedSum):
        super().__init__(unit, numbers)
        flags = (rule.leading, rule.lossless, rule.significant, rule.starts_late, rule.unrounded)
        self.read = ReadNumbers(*map(int, flags))

    def scalar(self, places: Int64s, a: WindowOperand, b: WindowOperand, values: Floats, columns: Int64s) -> None:
        run_readings(self.rules, self.read, places, a, b, values, columns)
