"""The methods, as the witness has them: what a group's sum is, in values. Windows, chains, trees, subgroups."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from model.witness_numbers import Number, add, floor_log2, keep, read, scaled, specials, two

# Far less than any part of a quantum that a rounding to a format can tell from nothing.
LITTLE = two(-4000)


class Sum(NamedTuple):
    """A sum that is not rounded yet. top: its window's largest exponent, None where every term is zero."""

    value: Fraction
    top: int | None


def window(
    terms: Sequence[Number], bits: int, rule: dict[str, Any], also: Sequence[int] = (), low: Number | None = None
) -> Sum:
    """Finite terms, each cut to a multiple of the window's quantum. rule: `lost`, `zero_terms`, `max_exp_floor`, `cut`.

    also: exponents of terms that are zero and count as if they were not. low: one more term, which says nothing of the
    quantum.
    """
    live = [term for term in terms if term.value != 0]
    if not live and not also:
        return Sum(Fraction(0), None)
    top = max([term.exp for term in (terms if rule.get("zero_terms") == "count" else live)] + list(also))
    live += [] if low is None or low.value == 0 else [low]
    floor = rule.get("max_exp_floor", "none")
    top = top if floor == "none" else max(top, floor)
    quantum = two(top - bits)
    lost = rule.get("lost", "truncate")
    kept = [keep(term.value / quantum, lost) for term in live]
    total = Fraction(sum(kept)) * quantum
    cut = rule.get("cut", "none")
    if cut != "none":
        last = quantum * two(cut["bits"])
        total = keep(total / last, cut.get("lost", "truncate")) * last
    if lost == "sticky" and total and any(one * quantum != term.value for one, term in zip(kept, live, strict=True)):
        total += quantum * (LITTLE if total > 0 else -LITTLE)
    return Sum(total, top)


def even_odd(terms: Sequence[Number], rule: dict[str, Any]) -> Sum:
    """The products at even places and those at odd places, each in a window; both cut to the larger one's quantum."""
    halves = [window(list(terms[start::2]), rule["fraction_bits"], rule) for start in (0, 1)]
    tops = [half.top for half in halves if half.top is not None]
    if not tops:
        return Sum(Fraction(0), None)
    combine = rule["combine"]
    quantum = two(max(tops) - combine["fraction_bits"])
    return Sum(sum(keep(half.value / quantum, combine["lost"]) for half in halves) * quantum, max(tops))


def late(total: Sum, addend: Number, rule: dict[str, Any], zeros_count: bool, emin: int) -> Fraction:
    """The sum and an addend, cut to multiples of quanta of their own below the larger exponent.

    emin: the least exponent of the result.
    """
    exps = [] if total.top is None else [total.top]
    zeros_count = zeros_count or rule.get("zero_addend") == "count"
    if addend.value != 0 or (zeros_count and exps):
        exps.append(addend.exp)
    if not exps:
        return Fraction(0)
    top, lost = max(exps), rule["lost"]
    fine, coarse = two(top - rule["sum_bits"]), two(top - rule["addend_bits"])
    kept = keep(total.value / fine, lost) * fine
    drop = rule.get("drop_below", "none")
    if drop == "none" or addend.exp >= top - drop:
        kept += keep(addend.value / coarse, lost) * coarse
    bits = rule.get("total_bits", "none")
    if bits == "none" or not kept:
        return kept
    last = two(max(floor_log2(abs(kept)), emin) - bits)
    return keep(kept / last, lost) * last if last > min(fine, coarse) else kept


def subgroups(products: Sequence[Number], lanes: int, scale_a: list[Number], scale_b: list[Number]) -> list[Number]:
    """Exact sums of `lanes` products, times both their scales, whose exponents alone they are aligned by."""
    terms = []
    for i in range(0, len(products), lanes):
        part = products[i : i + lanes]
        total = specials(part)
        if total is None:
            value = sum((product.value for product in part), Fraction(0))
            negative = all(product.negative for product in part) if value == 0 else value < 0
            total = Number("finite", negative, value, 0)
        terms.append(scaled([total._replace(exp=0), scale_a[i], scale_b[i]]))
    return terms


def is_low(products: Sequence[Number], scale_a: list[Number], scale_b: list[Number], addend: Number | None) -> bool:
    """Whether there is a product, and a larger exponent than the addend's."""
    exps = [one.exp + x.exp + y.exp for one, x, y in zip(products, scale_a, scale_b, strict=True)
            if one.value and x.value and y.value]  # fmt: skip
    return bool(exps) and (addend is None or not addend.value or addend.exp < max(exps))


def own_windows(
    products: Sequence[Number], rule: dict[str, Any], scale_a: list[Number], scale_b: list[Number]
) -> tuple[list[Number], list[int]]:
    """Sums of neighbouring products in windows of their own, times both their scales; exponents of zeros that count."""
    terms, also, lanes = [], [], rule["lanes"]
    for i in range(0, len(products), lanes):
        part, scales = products[i : i + lanes], [scale_a[i], scale_b[i]]
        total = specials(part)
        if total is None:
            kept = window(part, rule["fraction_bits"], {"lost": rule.get("lost", "truncate")})
            exp = max(product.exp for product in part) if kept.top is None else kept.top
            negative = all(product.negative for product in part) if kept.value == 0 else kept.value < 0
            total = Number("finite", negative, kept.value, exp)
            counts = rule.get("cancelled") == "count" and kept.top is not None and kept.value == 0
            if counts and all(scale.kind == "finite" and scale.value != 0 for scale in scales):
                also.append(exp + sum(scale.exp for scale in scales))
        terms.append(scaled([total, *scales]))
    return terms, also


def cancelled(products: Sequence[Number], lanes: int, scale_a: list[Number], scale_b: list[Number]) -> list[int]:
    """The exponents of sums of `lanes` products that are zero though a product is not, and no scale is."""
    exps = []
    for i in range(0, len(products), lanes):
        values = [product.value for product in products[i : i + lanes]]
        if any(values) and sum(values) == 0 and scale_a[i].value and scale_b[i].value:
            exps.append(scale_a[i].exp + scale_b[i].exp)
    return exps


def chain(terms: Sequence[Number], addend: Number | None, rule: dict[str, Any]) -> Number:
    """Additions that are rounded one by one, to the format of the sum."""
    name, mode = rule["format"], rule["rounding"]
    flush = rule.get("tininess", "result") if rule.get("flush") else None

    def to_format(*numbers: Number) -> Number:
        return read(name, add(name, numbers, mode, flush, rule.get("overflow", "ieee")))

    if rule["product"] == "rounded":
        terms = [to_format(term) for term in terms]
    c = None if addend is None else to_format(addend)
    if rule["method"] == "sequential":
        total = read(name, 0) if c is None else c
        for term in terms:
            total = to_format(total, term)
        return total

    def tree(part: Sequence[Number]) -> Number:
        if len(part) == 1:
            return part[0]
        half = 1 << (len(part) - 1).bit_length() - 1
        return to_format(tree(part[:half]), tree(part[half:]))

    if rule.get("chains") not in (None, "none"):
        sums = []
        for first in range(rule["chains"]):
            total = read(name, 0)
            for term in terms[first :: rule["chains"]]:
                total = to_format(total, term)
            sums.append(total)
        terms = sums
    root = tree(terms)
    return to_format(root) if c is None else to_format(root, c)
