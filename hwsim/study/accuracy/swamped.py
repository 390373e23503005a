"""Swamped terms: products other than zero that leave nothing in the sum, by the stages of the definition.

A term is swamped where it, or a partial sum that it is part of, is lost as a whole beside something larger: where every
bit of it is below a window, or an addition returns its other operand as it was. A factor that is flushed to zero leaves
nothing either.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cache, partial
from typing import NamedTuple, assert_never

from hwsim.explain.explained import Explained
from hwsim.formats import Class, Format, unpack
from hwsim.model.late import Added, Promoted, promoted_term
from hwsim.model.methods import Addition
from hwsim.model.record import Group
from hwsim.model.rounding import add
from hwsim.model.terms import Term, addend_term
from hwsim.spec import (
    AlignedSum,
    EvenOddSum,
    ExactSum,
    LateInWindow,
    PairwiseSum,
    SequentialSum,
    Unit,
)
from hwsim.spec.keys import LOST_RULES
from hwsim.spec.keys import Lost as LostBits
from hwsim.spec.parts import Promotion
from hwsim.spec.sums import Sum, WindowSubgroup


class Lost(NamedTuple):
    """Lanes of a group whose products leave nothing, and whether the sum before the group leaves nothing."""

    lanes: set[int]
    before: bool = False


def swamped_terms(explained: Explained) -> dict[int, bool]:
    """The terms other than zero, by index along K: True for a term that is swamped."""
    unit = explained.unit
    lost: set[int] = set()
    every: list[int] = []
    inside: list[int] = []  # the terms of the partial sum
    outside: list[int] = []  # the terms of the register, or of what an addend is added to
    # Most codes come again and again.
    of_a, of_b = (cache(partial(_is_factor, fmt)) for fmt in (unit.operands.a, unit.operands.b))
    for index, group in enumerate(explained.groups):
        if (unit.restart is not None and index % unit.restart == 0) or isinstance(unit.sum, EvenOddSum):
            inside = []
        indices, codes = group.indices, zip(group.codes_a[: group.used], group.codes_b, strict=False)
        here = [i for i, (x, y) in zip(indices, codes, strict=False) if of_a(x) and of_b(y)]
        lost_in_group = _lost(unit, group)
        lost.update(indices[lane] for lane in lost_in_group.lanes)
        lost.update(inside if lost_in_group.before else ())
        inside = inside + here
        every += here
        if unit.promotion and index in explained.promotions:
            promoted = explained.promotions[index]
            lost.update(_of_promotion(unit, unit.promotion, promoted, inside, outside))
            outside = outside + inside
        if index in explained.additions:
            lost.update(_of_addition(unit, group, explained.additions[index], inside, outside))
            outside = outside + inside
    return {i: i in lost for i in every}


def _is_factor(fmt: Format, code: int) -> bool:
    """True for a number other than zero, even if a unit flushes it."""
    fields = unpack(fmt, code)
    return bool(fields.sig) and fields.cls not in (Class.NAN, Class.INFINITY)


def _lost(unit: Unit, group: Group) -> Lost:
    flushed = {lane for lane, term in enumerate(group.products) if term.cls is Class.ZERO}
    if group.special is not None:
        return Lost(flushed)
    swamped = _of_group(unit.sum, group)
    return Lost(flushed | swamped.lanes, swamped.before)


def _of_group(rule: Sum, group: Group) -> Lost:
    match rule:
        case AlignedSum():
            return _of_window(rule, group)
        case EvenOddSum():
            return _of_halves(rule, group)
        case SequentialSum():
            return _of_chain(rule, group)
        case PairwiseSum():
            return _of_tree(rule, group)
        case ExactSum():
            return Lost(set())
        case _:
            assert_never(rule)


def _of_halves(rule: EvenOddSum, group: Group) -> Lost:
    if group.halves is None:
        return Lost(set())
    *halves, both = group.halves
    lanes = set()
    for first, (half, aligned) in enumerate(zip(halves, both.aligned, strict=True)):
        half_lanes = range(first, len(group.products), 2)
        if half.max_exp is None or both.max_exp is None:
            continue
        unit_exp = half.max_exp - rule.fraction_bits
        lanes |= {n for n in half_lanes if _below(group.products[n], unit_exp, rule.lost, half.aligned[n // 2])}
        if _below(half.term, both.max_exp - both.fraction_bits, rule.combine.lost, aligned):
            lanes |= set(half_lanes)
    return Lost(lanes)


def _of_window(rule: AlignedSum, group: Group) -> Lost:
    if group.max_exp is None:
        return Lost(set())
    unit_exp, size = group.max_exp - rule.fraction_bits, len(group.products) // len(group.subgroups or group.products)
    terms = [part.term for part in group.subgroups] or group.products
    below = [n for n, term in enumerate(terms) if _below(term, unit_exp, rule.term_lost, group.aligned[n])]
    before = group.addend is not None and _below(group.addend, unit_exp, rule.term_lost, group.aligned[-1])
    lanes = {lane for n in below for lane in range(n * size, (n + 1) * size)}
    return Lost(lanes | _in_own_windows(rule, group, size), before)


def _in_own_windows(rule: AlignedSum, group: Group, size: int) -> set[int]:
    """The lanes whose products have every bit below the window of their part."""
    if not isinstance(rule.subgroup, WindowSubgroup):
        return set()
    lanes, lost = set[int](), rule.subgroup.lost
    for n, part in enumerate(group.subgroups):
        if part.kept is None or part.kept.unit_exp is None:
            continue
        pairs = enumerate(part.kept.aligned, n * size)
        lanes |= {lane for lane, aligned in pairs if _below(group.products[lane], part.kept.unit_exp, lost, aligned)}
    return lanes


def _below(term: Term, unit_exp: int, lost: LostBits, aligned: int) -> bool:
    """True if a term other than zero has every bit below 2^unit_exp, and is not rounded up to it."""
    if term.cls is not Class.NORMAL or not term.sig:
        return False
    if LOST_RULES[lost].rounding in ("rne", "rna"):
        return aligned == 0
    return term.sig.bit_length() + term.exp - term.fraction_bits <= unit_exp


# Of sums that are rounded at each step: steps in the order in which the definition makes them.


def _of_tree(rule: PairwiseSum, group: Group) -> Lost:
    fmt, steps, level = rule.format, iter(group.steps), _lanes_of_terms(rule, group)
    lost: set[int] = set()
    if rule.chains is not None:
        products, level = level, [set[int]() for _ in range(rule.chains)]
        for lane, lanes in enumerate(products):
            if rule.product == "rounded" and _rounded_away(fmt, next(steps)):
                lost |= lanes
            chain = level[lane % rule.chains]
            lost |= _swallowed(fmt, next(steps), chain, lanes)
            chain |= lanes
    elif rule.product == "rounded":
        lost = lost.union(*(lanes for lanes in level if _rounded_away(fmt, next(steps))))
    while len(level) > 1:
        above = []
        for x, y in zip(level[::2], level[1::2], strict=False):
            lost |= _swallowed(fmt, next(steps), x, y)
            above.append(x | y)
        level = above + level[len(level) // 2 * 2 :]
    if group.addend is None:
        return Lost(lost)
    before = _rounded_away(fmt, next(steps))
    root, addend = _swallows(fmt, next(steps))
    return Lost(lost | (level[0] if root else set()), before or addend)


def _of_chain(rule: SequentialSum, group: Group) -> Lost:
    fmt, steps = rule.format, iter(group.steps)
    lost: set[int] = set()
    before = _rounded_away(fmt, next(steps))
    for lanes in _lanes_of_terms(rule, group):
        if rule.product == "rounded" and _rounded_away(fmt, next(steps)):
            lost |= lanes
        sums, term = _swallows(fmt, next(steps))
        before = before or sums
        lost |= set(range(min(lanes))) if sums else lanes if term else set()
    return Lost(lost, before)


def _lanes_of_terms(rule: SequentialSum | PairwiseSum, group: Group) -> list[set[int]]:
    """The lanes of each term that is added: of one product, or of the exact sum of some."""
    size = rule.subgroup.lanes if rule.subgroup else 1
    return [set(range(first, first + size)) for first in range(0, len(group.products), size)]


def _swallowed(fmt: Format, step: Addition, x: set[int], y: set[int]) -> set[int]:
    first, second = _swallows(fmt, step)
    return x if first else y if second else set()


def _swallows(fmt: Format, step: Addition) -> tuple[bool, bool]:
    """Two flags: an addition loses its first term, and its second."""
    x, y = step.terms
    return _gone(fmt, step.code, x, y), _gone(fmt, step.code, y, x)


def _gone(fmt: Format, code: int, term: Term, other: Term) -> bool:
    """True if an addition returns the other term unchanged, though this one is not zero."""
    total, unchanged, lost = _value(addend_term(fmt, code)), _value(other), _value(term)
    return bool(lost) and total is not None and total == unchanged


def _rounded_away(fmt: Format, step: Addition) -> bool:
    return bool(_value(step.terms[0])) and _value(addend_term(fmt, step.code)) == 0


def _value(term: Term) -> Fraction | None:
    if term.cls in (Class.NAN, Class.INFINITY):
        return None
    size = term.sig * Fraction(2) ** (term.exp - term.fraction_bits)
    return -size if term.sign else size


def _of_promotion(
    unit: Unit, rule: Promotion, step: Promoted, inside: Iterable[int], outside: Iterable[int]
) -> set[int]:
    """The terms that an addition into the promotion register swamps."""
    added = promoted_term(unit, step)
    before = addend_term(rule.format, step.register)
    alone = addend_term(rule.format, add(rule.format, (added,), rule.rounding))
    lost = set(inside) if _gone(rule.format, step.code, added, before) else set()
    return lost | set(outside) if _gone(rule.format, step.code, before, alone) else lost


def _of_addition(unit: Unit, group: Group, step: Added, inside: Iterable[int], outside: Iterable[int]) -> set[int]:
    """The terms that a late addition swamps."""
    before = addend_term(step.addend_format, step.addend)
    if step.window is None or not isinstance(unit.late, LateInWindow):
        partial = addend_term(unit.result.format, step.partial)
        lost = set(inside) if _gone(unit.output, step.code, partial, before) else set()
        return lost | set(outside) if _gone(unit.output, step.code, before, partial) else lost
    lost = set()
    if step.window.max_exp is None:
        return lost
    total, top = group.sum_term, step.window.max_exp
    if _below(total, top - unit.late.sum_bits, unit.late.lost, step.window.kept_sum):
        lost |= set(inside)
    if step.window.dropped or _below(before, top - unit.late.addend_bits, unit.late.lost, step.window.kept_addend):
        lost |= set(outside)
    return lost
