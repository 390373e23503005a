"""What sums in one window may lose on given data: group by group, from the data's own exponents and bits.

The bounds of hwsim/study/accuracy/bounds.py know of data only sums of magnitudes. Here each group's window is at most
as high as its products and the sum before it, with all that this may have lost; and a product loses at most what of it
lies below that window. What is truncated goes towards zero: its direction is known where its sign is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.formats import FloatFormat
from hwsim.spec import AlignedSum, Unit
from hwsim.spec.keys import LOST_RULES
from hwsim.study.accuracy.exact import Array
from hwsim.study.accuracy.roundings import NEAREST, rounding

SLACK = 1 + 2.0**-40  # of sums in float64
FAR = -5000  # the exponent of zero: below all


class ErrorRange(NamedTuple):
    """An error is from `low`, at most 0, to `high`, at least 0."""

    low: Array
    high: Array

    @property
    def size(self) -> Array:
        """The largest magnitude."""
        return np.maximum(-self.low, self.high)

    def plus(self, towards_zero: Array, sign: Array, any_way: Array) -> ErrorRange:
        """An error besides: of a term of such signs (0: not known) towards zero, and one either way."""
        low = self.low - np.where(sign >= 0, towards_zero, 0.0) - any_way
        return ErrorRange(low, self.high + np.where(sign <= 0, towards_zero, 0.0) + any_way)


def walks(unit: Unit) -> bool:
    """True if a unit's sums are walked through: one window a group, without scales, subgroups, flushed factors."""
    rule, operands = unit.sum, unit.operands
    plain = isinstance(rule, AlignedSum) and rule.subgroup is None and rule.zero_terms == "skip" and rule.cut is None
    floats = all(isinstance(fmt, FloatFormat) for fmt in (*operands.multiplied, unit.result.format))
    starts = unit.instruction.start == "addend" or unit.promotion is not None
    added = unit.promotion is None or unit.promotion.operation == "add"
    return plain and floats and starts and added and unit.scale is None and unit.late is None and not operands.daz


def walked_errors(unit: Unit, values_a: Array, values_b: Array, values_c: Array) -> Array:
    """Upper bounds of |returned - exact| for (rows, columns) results, where nothing overflows.

    values_a, values_b: (rows, K) and (K, columns), finite, of what codes are worth. values_c: of addends.
    """
    rows, columns = values_a.shape[0], values_b.shape[1]
    a, b = (fmt for fmt in unit.operands.multiplied)
    exps_a, exps_b = _exponents(values_a, a.emin), _exponents(values_b, b.emin)
    zero = np.zeros((rows, columns))
    promotion, interval = unit.promotion, (unit.restart or 0)
    start = np.broadcast_to(values_c, (rows, columns)).astype(np.float64)
    register, partial = (start, zero) if promotion else (zero, start)
    error, of_partial = ErrorRange(zero, zero), ErrorRange(zero, zero)
    length, groups = values_a.shape[1], -(-values_a.shape[1] // unit.instruction.lanes)
    result = unit.result.format
    assert isinstance(result, FloatFormat)
    begun = unit.operands.addend if promotion is None else result
    of_result = result.emin, result.fraction_bits
    before_it = (begun.emin, begun.fraction_bits) if isinstance(begun, FloatFormat) else of_result
    magnitude = np.abs(start)
    for group in range(groups):
        here = [index for index in unit.instruction.indices(group) if index < length]
        products = values_a[:, here, None] * values_b[None, here, :]
        magnitude = magnitude + np.abs(products).sum(axis=1)
        top = (exps_a[:, here, None] + exps_b[None, here, :]).max(axis=1, initial=FAR)
        after = partial + products.sum(axis=1)
        of_partial = _group(
            unit, of_partial, WalkedGroup(products, top, partial, after, before_it, magnitude * 2.0**-40)
        )
        partial, before_it = after, of_result
        if promotion and ((group + 1) % interval == 0 or group == groups - 1):
            register, before = register + partial, of_partial
            error = ErrorRange(error.low + before.low, error.high + before.high)
            loss = rounding(promotion.format, promotion.rounding, 1, exact=True)
            whole = np.abs(register) + error.size + magnitude * 2.0**-40
            error = error.plus(zero, zero, loss.size * _power(whole) + loss.least)
            partial, of_partial = zero, ErrorRange(zero, zero)
    total = error if promotion else of_partial
    return total.size * SLACK


class WalkedGroup(NamedTuple):
    """A group: products (rows, lanes, columns), their largest exponent, the sums before and after, without losses.

    begun: emin and fraction bits of the format of what it starts from. doubt: how far the sums may be off.
    """

    products: Array
    top: NDArray[np.int64]
    before: Array
    after: Array
    begun: tuple[int, int]
    doubt: Array


def _group(unit: Unit, error: ErrorRange, terms: WalkedGroup) -> ErrorRange:
    """The error after a group, by that before it."""
    rule, fmt = unit.sum, unit.result.format
    assert isinstance(rule, AlignedSum) and isinstance(fmt, FloatFormat)
    most = np.abs(terms.before) + error.size + terms.doubt * (terms.before != 0)
    least = np.maximum(np.abs(terms.before) - error.size - terms.doubt, 0.0)
    started = (terms.before != 0) | (error.size > 0)
    high = np.where(started, np.maximum(_exponent(most), terms.begun[0]), FAR)
    low = np.where(least > 0, np.maximum(_exponent(least), terms.begun[0]), FAR)
    floor = FAR if rule.max_exp_floor is None else rule.max_exp_floor
    max_exp, at_least = (np.maximum(np.maximum(terms.top, exps), floor) for exps in (high, low))
    nothing = max_exp <= FAR
    unit_of = np.where(nothing, 0.0, np.ldexp(1.0, np.where(nothing, 0, max_exp) - rule.fraction_bits))
    lost = LOST_RULES[rule.term_lost]
    below = np.where(
        unit_of[:, None] > 0, np.fmod(np.abs(terms.products), np.where(unit_of > 0, unit_of, 1.0)[:, None]), 0.0
    )
    zero = np.zeros_like(most)
    # The sum before it, where its last place may lie below the window.
    cut = started & (low - terms.begun[1] < max_exp - rule.fraction_bits)
    of_start = np.where(cut, np.minimum(most, unit_of), 0.0)
    if rule.term_lost == "truncate":
        up = np.where(terms.products < 0, below, 0.0).sum(axis=1)
        down = np.where(terms.products > 0, below, 0.0).sum(axis=1)
        error = ErrorRange(error.low - down, error.high + up)
        error = error.plus(of_start, np.sign(terms.before) * (least > 0), zero)
    else:
        half = 0.5 if lost.rounding in NEAREST else 1.0
        every = np.where(below > 0, half * unit_of[:, None], 0.0)
        if lost.complemented:
            every = np.where(terms.products != 0, unit_of[:, None], 0.0)
        error = error.plus(
            zero, zero, every.sum(axis=1) + np.where(cut | (lost.complemented & started), half * unit_of, 0.0)
        )
    loss = rounding(fmt, unit.result.rounding, 1, flush=unit.result.subnormals == "flush")
    whole = np.abs(terms.after) + error.size + terms.doubt
    certain = np.abs(terms.after) - error.size - terms.doubt > 0
    # A sum is a multiple of its window's last place, and of that of every lower window.
    held = (
        (_exponent(whole) - fmt.fraction_bits <= at_least - rule.fraction_bits) & (at_least > FAR) & (not rule.sticky)
    )
    held &= at_least - rule.fraction_bits >= fmt.emin - fmt.fraction_bits
    rounded = np.where(held & (unit.result.subnormals == "keep"), 0.0, loss.size * _power(whole) + loss.least)
    if unit.result.rounding == "rz":
        return error.plus(rounded, np.sign(terms.after) * certain, zero)
    return error.plus(zero, zero, rounded)


def _exponents(values: Array, emin: int) -> NDArray[np.int64]:
    """The exponents of numbers in their format; of zeros one below all."""
    return np.where(values == 0, FAR, np.maximum(_exponent(np.abs(values)), emin))


def _exponent(size: Array) -> NDArray[np.int64]:
    return (np.frexp(size)[1] - 1).astype(np.int64)


def _power(size: Array) -> Array:
    """2^e of the binade of a magnitude; 0 of 0."""
    return np.where(size == 0, 0.0, np.ldexp(1.0, _exponent(size)))
