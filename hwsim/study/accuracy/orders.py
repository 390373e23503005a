"""What a unit may lose on given data, in whatever order it takes the products.

The bounds of hwsim/study/accuracy/bounds.py know of data only sums of magnitudes. Here every loss is taken of what it
is a part of: of the sum so far, which is at most that of as many of the largest products of one sign, and at most what
the others can still take back; or of a window, which is as high as that sum or the largest product. The places of
products are free: windows and products are matched, largest to largest, so that no order loses more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.formats import ExponentFormat
from hwsim.spec import AlignedSum, Unit
from hwsim.spec.keys import LOST_RULES
from hwsim.spec.sums import ExactSubgroup
from hwsim.study.accuracy.bounds import counted_addends, counted_sides
from hwsim.study.accuracy.exact import Array
from hwsim.study.accuracy.roundings import NEAREST, Lengths, Loss, lengths, losses_of

SLACK = 1 + 2.0**-40  # of float64's own roundings
MOST_AT_ONCE = 1 << 21  # products of a part of the results: memory
ROUNDS = 3  # each takes the bound before it as what sums may be off


class Terms(NamedTuple):
    """The products of (rows, columns) results, along the last axis, largest first where they are sorted.

    sizes, positive, negative: of all, and of those of a sign, the sums of the 0, 1, ... largest magnitudes.
    total: exact sums. addend: magnitudes. tops: what products are aligned by, largest first.
    last_places: 2^e of which a product is a multiple, and of which the addend is, last.
    """

    values: Array
    sizes: Array
    positive: Array
    negative: Array
    total: Array
    addend: Array
    tops: Array
    last_places: Array
    filled: int  # zeros that fill up K
    by_scales: bool  # parts are aligned by their scales alone
    known: bool  # products are these, not any of at most their magnitudes


class BothFactors(NamedTuple):
    """What is multiplied: (rows, K) and (columns, K) of values with their scales, as they count, and as they align."""

    values: tuple[Array, Array]
    counted: tuple[Array, Array]
    tops: tuple[Array, Array]


def errors_in_any_order(
    unit: Unit, values_a: Array, values_b: Array, scales_a: Array | None = None, scales_b: Array | None = None,
    *, values_c: Array, within: Array, any_data: bool = False,
) -> Array:  # fmt: skip
    """Upper bounds of |returned - exact| for (rows, columns) results, where nothing overflows, in any order of K.

    Operands as `counted_magnitude`'s, finite; values_c: addends. within: bounds of all that is lost, of any data.
    any_data: also of all factors of at most these magnitudes. Factors that the unit flushes are not in it.
    """
    sides = _sides(unit, values_a, values_b, scales_a, scales_b)
    rows, columns, length = values_a.shape[0], values_b.shape[1], values_a.shape[1]
    addends = np.broadcast_to(values_c, (rows, columns))
    bound = np.empty((rows, columns))
    step = max(1, MOST_AT_ONCE // max(1, columns * length))
    for first in range(0, rows, step):
        part = slice(first, first + step)
        terms = _terms(unit, sides, part, addends[part], any_data)
        bound[part] = _bound(unit, terms, length, within[part])
    return bound


def _sides(unit: Unit, a: Array, b: Array, scales_a: Array | None, scales_b: Array | None) -> BothFactors:
    counted = counted_sides(unit, a, b, scales_a, scales_b)
    if scales_a is None or scales_b is None:
        return BothFactors((a, b.T), (counted[0], counted[1].T), (counted[0], counted[1].T))
    tops = counted
    if isinstance(unit.sum, AlignedSum) and isinstance(unit.sum.subgroup, ExactSubgroup):
        # A subgroup is aligned by its scales alone.
        tops = np.where(counted[0] != 0, np.abs(scales_a), 0.0), np.where(counted[1] != 0, np.abs(scales_b), 0.0)
    return BothFactors((a * scales_a, (b * scales_b).T), (counted[0], counted[1].T), (tops[0], tops[1].T))


def _terms(unit: Unit, sides: BothFactors, rows: slice, addends: Array, any_data: bool) -> Terms:
    values, counted, tops = (of_a[rows, None, :] * of_b[None, :, :] for of_a, of_b in sides)
    if _binary(unit):
        tops = _power(sides.tops[0])[rows, None, :] * _power(sides.tops[1])[None, :, :]
    if any_data:
        values = np.abs(values)
    addend = counted_addends(unit, addends)
    size = np.abs(values)
    # The complement of a negative term is none of its multiples.
    known = not any_data and _binary(unit) and "ones-complement" not in unit.model_dump_json()
    lowest = [_last_place(side) for side in sides.values]
    last_places = np.concatenate(
        [lowest[0][rows, None, :] * lowest[1][None, :, :], _last_place(addends)[..., None]], axis=2
    )
    parts, length = lengths(unit, values.shape[2]), values.shape[2]
    by_scales = isinstance(unit.sum, AlignedSum) and isinstance(unit.sum.subgroup, ExactSubgroup)
    return Terms(
        values, _cumulated(np.maximum(size, counted)), _cumulated(np.where(values > 0, size, 0.0)),
        _cumulated(np.where(values < 0, size, 0.0)), values.sum(axis=2), addend, -np.sort(-tops, axis=2), last_places,
        max(parts.lanes * parts.groups * parts.stretches - length, 0), by_scales, known,
    )  # fmt: skip


def _bound(unit: Unit, terms: Terms, length: int, within: Array) -> Array:
    parts = lengths(unit, length, addend=bool(terms.addend.any()))
    whole = Lengths(parts.lanes * parts.groups, parts.stretches, 1)
    inner, outer = losses_of(unit, parts)
    losses = [*((loss, parts) for loss in inner), *((loss, whole) for loss in outer)]
    # An addend may make one loss more.
    least = sum(loss.least * (loss.times + 1) * among.stretches for loss, among in losses)
    off, bound = within, within
    for _ in range(ROUNDS):
        found = [_lost(unit, loss, among, terms, off) for loss, among in losses]
        off = np.minimum(off, (sum(lost for lost, _ in found) + least) * SLACK)
        bound = np.minimum(off, (sum(one_way for _, one_way in found) + least) * SLACK)
    return bound


def _lost(unit: Unit, loss: Loss, parts: Lengths, terms: Terms, off: Array) -> tuple[Array, Array]:
    """What a kind of loss takes at most of results: of all magnitudes, and of what goes one way.

    off: how much all that is lost may have changed a sum.
    """
    if loss.base == "products":
        every = loss.times * loss.size * (terms.sizes[..., -1] + terms.addend + off)
        return every, every
    among = parts.lanes * parts.groups  # products of a stretch
    if loss.base == "sums":
        stretches = parts.stretches
        if loss.fresh:
            among, stretches = loss.fresh, -(-among * stretches // loss.fresh)
        after = np.arange(1, -(-among // loss.along) + 1) * loss.along
        sums = _sums(unit, terms, after, stretches, off)
        every = loss.size * _of_events(terms, sums, 2 * loss.size)
        return every, every
    windows = -(-among // loss.along) * parts.stretches
    heights = _part_tops(terms, loss)[..., :windows]
    if loss.base != "closed":
        spans = loss.base == "spans"
        at = (np.arange(-(-among // loss.along)) + spans) * loss.along
        heights = np.concatenate([heights, _sums(unit, terms, at, parts.stretches, off, free=spans)], axis=2)
        heights = -np.sort(-heights, axis=2)[..., :windows]
    unit_of = loss.size * heights
    others = loss.others * _of_events(terms, unit_of, 2.0)
    if not loss.terms or loss.width > 1 or not terms.known:
        every = loss.terms * unit_of.sum(axis=2) + others
        return every, every
    below = _below(terms, loss, heights[..., :1])
    matched = np.repeat(unit_of, loss.along, axis=2)
    every, up, down = (
        np.minimum(-np.sort(-np.where(kept, below, 0.0), axis=2), _at(matched, np.arange(below.shape[2]))).sum(axis=2)
        for kept in (True, terms.values > 0, terms.values < 0)
    )
    towards_zero = loss.lost in ("truncate", "sticky")
    return every + others, (np.maximum(up, down) if towards_zero else every) + others


def _of_events(terms: Terms, sums: Array, place: float) -> Array:
    """The sum of as many of these sums as may be rounded, the largest.

    place: the last place of a sum, as a part of it. A rounding raises that of a partial sum, which lies below that of
    the largest; an addition has the lower of two. So each product allows for as many roundings as its own lies below.
    """
    if not terms.known:
        return np.asarray(sums.sum(axis=2))
    highest = place * sums.max(axis=2, initial=0.0)
    with np.errstate(divide="ignore"):
        below = np.log2(highest[..., None] / terms.last_places)
    events = np.maximum(below, 0.0).sum(axis=2)
    events = np.minimum(events, sums.shape[2]).astype(np.int64)
    ordered = np.pad(np.cumsum(-np.sort(-sums, axis=2), axis=2), [(0, 0), (0, 0), (1, 0)])
    return np.asarray(np.take_along_axis(ordered, events[..., None], axis=2)[..., 0])


def _below(terms: Terms, loss: Loss, highest: Array) -> Array:
    """What each product loses at most in any window that is no higher; infinity where only the window bounds it."""
    assert loss.lost is not None
    rule, nearest = LOST_RULES[loss.lost], LOST_RULES[loss.lost].rounding in NEAREST
    size = np.abs(terms.values)
    place = np.where(highest > 0, loss.size * highest * (2 if nearest else 1), 1.0)
    rest = np.fmod(size, place)
    if rule.complemented:
        return np.where(size > 0, np.inf, 0.0)
    if rule.rounding == "rz":
        return rest
    return np.where(rest > 0, size if nearest else np.inf, 0.0)


def _part_tops(terms: Terms, loss: Loss) -> Array:
    """By what the terms of windows are aligned at most, largest first: products, or sums of several."""
    if loss.width == 1 or terms.by_scales:
        return terms.tops
    ends = np.arange(0, terms.sizes.shape[2] - 1 + loss.width, loss.width)
    return np.diff(_at(terms.sizes, ends), axis=2)


def _sums(unit: Unit, terms: Terms, after: NDArray[np.int64], stretches: int, off: Array, free: bool = False) -> Array:
    """The magnitudes of sums so far after so many products, at most, in each stretch: (rows, columns, sums).

    free: of sums of any so many products, not only of those that the others complete.
    """
    positive, negative = (_at(side, after) for side in (terms.positive, terms.negative))
    most = np.maximum(positive, negative)
    beside = (terms.addend + off)[..., None]
    if stretches > 1:
        # The k largest of disjoint sums are at most those of k times as many products: the kth is at most a kth.
        nth = np.arange(1, stretches + 1)
        together = _at(terms.sizes, (nth[:, None] * after).ravel()).reshape(*most.shape[:2], stretches, -1)
        most = np.minimum(most[:, :, None, :], together / nth[:, None]).reshape(*most.shape[:2], -1)
    elif not free:
        left = terms.sizes.shape[2] - 1 - np.maximum(after - terms.filled, 0)
        doubt = terms.sizes[..., -1:] * 2.0**-40
        others = [_at(side, left) for side in (terms.negative, terms.positive)]
        total = terms.total[..., None]
        most = np.maximum(
            np.minimum(positive, total + others[0] + doubt), np.minimum(negative, others[1] - total + doubt)
        )
        most = np.maximum(most, 0.0)
    return _height(unit, (most + beside) * SLACK)


def _at(values: Array, places: NDArray[np.int64]) -> Array:
    """Those of the last axis at places; beyond its end its last one."""
    return values[..., np.clip(places, 0, values.shape[-1] - 1)]


def _cumulated(sizes: Array) -> Array:
    """Sums of the 0, 1, ... largest along the last axis."""
    return np.pad(np.cumsum(-np.sort(-sizes, axis=2), axis=2), [(0, 0), (0, 0), (1, 0)]) * SLACK


def _binary(unit: Unit) -> bool:
    """True if exponents of what is computed are those of the scaled sums: no scales but powers of two."""
    return unit.scale is None or all(isinstance(side.format, ExponentFormat) for side in (unit.scale.a, unit.scale.b))


def _height(unit: Unit, size: Array) -> Array:
    return _power(size) if _binary(unit) else size


def _power(size: Array) -> Array:
    """2^e of the binade of a magnitude; 0 of 0."""
    return np.where(size == 0, 0.0, np.ldexp(1.0, np.frexp(size)[1] - 1))


def _last_place(values: Array) -> Array:
    """The largest power of two of which a number is a multiple; infinity of 0."""
    fraction, exponent = np.frexp(values)
    whole = (fraction * 2.0**53).astype(np.int64)
    return np.where(whole == 0, np.inf, np.ldexp((whole & -whole).astype(np.float64), exponent - 53))
