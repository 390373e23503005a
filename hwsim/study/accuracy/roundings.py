"""What each stage of a unit may lose: how often a sum is rounded on its way, and by how much of itself at most.

Each stage is a list of losses, from which hwsim/study/accuracy/bounds.py makes bounds. docs/study-measures.md has the
reasons.
"""

from __future__ import annotations

from typing import NamedTuple

from hwsim.formats import FixedFormat, FloatFormat, Format
from hwsim.spec import Unit

NEAREST = ("rne", "rna")


class Loss(NamedTuple):
    """Something that happens `times` times, and each time loses at most `size` of a sum of magnitudes.

    least: what it may lose besides, whatever the sum, near the least numbers of a format.
    """

    times: int
    size: float
    least: float = 0.0


class Lengths(NamedTuple):
    """How K is divided: products of a group, groups of a stretch that starts from zero, and such stretches."""

    lanes: int
    groups: int
    stretches: int


def lengths(unit: Unit, length: int) -> Lengths:
    """How a unit divides `length` products."""
    instruction = unit.instruction
    lanes = min(instruction.lanes, length)
    filled = -(-length // instruction.fill) * instruction.fill
    groups = filled // instruction.lanes
    restart = unit.restart or groups
    return Lengths(lanes, min(restart, groups), -(-groups // restart))


def rounding(fmt: Format, how: str, count: int, *, flush: bool = False, exact: bool = False) -> Loss:
    """`count` roundings to a format. exact: nothing is lost among its subnormals."""
    if isinstance(fmt, FixedFormat):
        return Loss(count, 0.0, 2.0**-fmt.fraction_bits)
    assert isinstance(fmt, FloatFormat)
    size = 2.0 ** (-fmt.fraction_bits - (how in NEAREST))
    if flush or not fmt.subnormals:
        # Nothing between zero and the least number, which is below 2^(emin + 1).
        return Loss(count, size, 2.0 ** (fmt.emin + 1))
    return Loss(count, size, 0.0 if exact else 2.0 ** (fmt.emin - fmt.fraction_bits))


def on_grid(unit: Unit, fmt: Format) -> bool:
    """Whether every sum of products, cut or not, is a multiple of the least subnormal of a format."""
    if unit.scale is not None:
        return False
    grids = [-side.fraction_bits + getattr(side, "emin", 0) for side in (unit.operands.a, unit.operands.b)]
    return sum(grids) >= getattr(fmt, "emin", 0) - fmt.fraction_bits


def product_bits(unit: Unit) -> int:
    """Fraction bits of a product."""
    a, b = unit.operands.multiplied
    return int(a.fraction_bits + b.fraction_bits)


def of_group_sums(unit: Unit, parts: Lengths) -> list[Loss]:
    """What a stretch of groups loses, from zero to its rounded result."""
    return METHODS[unit.sum.method](unit, parts)


def _result(unit: Unit, count: int) -> Loss:
    rule = unit.result
    flush = rule.subnormals == "flush"
    return rounding(rule.format, rule.rounding, count, flush=flush, exact=on_grid(unit, rule.format))


def _rounded(unit: Unit, count: int) -> list[Loss]:
    """The roundings of windows' sums; none before an addend that comes late in a window of its own."""
    return [] if unit.late is not None and unit.late.operation == "window" else [_result(unit, count)]


def _window_size(fraction_bits: int, lost: str) -> float:
    """What a term loses, in units of the largest."""
    return 2.0 ** -(fraction_bits + (lost in NEAREST))


def _aligned(unit: Unit, parts: Lengths) -> list[Loss]:
    """Each term loses less than a unit of the window; the largest nothing, where the window holds all of its bits."""
    rule, bits, result = unit.sum, unit.sum.fraction_bits or 0, unit.result.format
    size, held = _window_size(bits, rule.lost), product_bits(unit)
    terms = parts.lanes
    if rule.subgroup is not None:
        assert unit.scale is not None
        terms = -(-parts.lanes // rule.subgroup.lanes)
        held += unit.scale.a.format.fraction_bits + unit.scale.b.format.fraction_bits
    first = terms - (held <= bits)
    rest = terms + 1 - (held <= bits and result.fraction_bits <= bits)
    count = first + rest * (parts.groups - 1)
    # The exponent of an addend among the subnormals, or of zero, is emin.
    assert isinstance(result, FloatFormat)
    least = [result.emin] if parts.groups > 1 or rule.zero_terms == "count" else []
    if rule.zero_terms == "count" and isinstance(unit.operands.addend, FloatFormat):
        least.append(unit.operands.addend.emin)
    if rule.max_exp_floor is not None:
        least.append(rule.max_exp_floor)
    floor = size * 2.0 ** max(least) if least else 0.0
    return [Loss(count, size, floor), *_rounded(unit, parts.groups)]


def _even_odd(unit: Unit, parts: Lengths) -> list[Loss]:
    """Two windows, each of half the terms and of its own largest, and a third for both sums."""
    rule, bits = unit.sum, unit.sum.fraction_bits or 0
    assert rule.combine is not None
    half = -(-parts.lanes // 2)
    floor = 0.0 if rule.max_exp_floor is None else 2.0**rule.max_exp_floor
    size, both = _window_size(bits, rule.lost), _window_size(rule.combine.fraction_bits, rule.combine.lost)
    made = [
        Loss(max(half - (product_bits(unit) <= bits), 0), size, 2 * size * floor),
        Loss(1 + (rule.combine.fraction_bits < bits), both, both * floor),
    ]
    return [*made, *_rounded(unit, 1)]


def _exact(unit: Unit, parts: Lengths) -> list[Loss]:
    """One rounding, or one a group; none to a fixed format that holds products."""
    fmt = unit.result.format
    if isinstance(fmt, FixedFormat) and unit.scale is None and fmt.fraction_bits >= product_bits(unit):
        return []
    return [_result(unit, parts.groups if unit.sum.rounded == "group" else 1)]


def _sequential(unit: Unit, parts: Lengths) -> list[Loss]:
    """Every addition rounds, but the first, to zero, where it adds what the format holds."""
    products = parts.lanes * parts.groups
    return [_addition(unit, products - 1), *_products(unit, products), *_between(unit, parts.groups)]


def _pairwise(unit: Unit, parts: Lengths) -> list[Loss]:
    """A product passes a rounding a level, and one a group from then on, where the sum so far is added."""
    levels = (parts.lanes - 1).bit_length()
    products = parts.lanes * parts.groups
    passed = levels + parts.groups - 1
    return [_addition(unit, passed, products), *_products(unit, products), *_between(unit, parts.groups)]


def _addition(unit: Unit, count: int, every: int | None = None) -> Loss:
    """Rounded additions. every: how many there are altogether, of which no term passes more than `count`."""
    rule = unit.sum
    assert rule.format is not None and rule.rounding is not None
    exact = rule.product == "rounded" or on_grid(unit, rule.format)
    made = rounding(rule.format, rule.rounding, count, flush=rule.flush, exact=exact)
    return made if every is None or not count else made._replace(least=made.least * every / count)


def _products(unit: Unit, every: int) -> list[Loss]:
    """The rounding of each product, before or in its addition; none where the format holds it."""
    rule, fmt = unit.sum, unit.sum.format
    assert isinstance(fmt, FloatFormat) and rule.rounding is not None
    made = rounding(fmt, rule.rounding, 1, flush=rule.flush, exact=on_grid(unit, fmt))
    held = product_bits(unit) + 1 <= fmt.fraction_bits
    return [made._replace(size=0.0 if held else made.size, least=made.least * every)]


def _between(unit: Unit, groups: int) -> list[Loss]:
    """From the format of the sum to that of the result and back, where they are two."""
    rule = unit.sum
    assert rule.format is not None and rule.rounding is not None
    if rule.format == unit.result.format and unit.result.subnormals == "keep":
        return []
    return [_result(unit, groups), rounding(rule.format, rule.rounding, groups, flush=rule.flush)]


def of_late(unit: Unit, parts: Lengths) -> list[Loss]:
    """What the additions of late addends lose."""
    late, result = unit.late, unit.result.format
    assert late is not None
    if late.operation == "add":
        assert late.format is not None and late.rounding is not None
        held = late.format == result and not late.flush
        count, exact = parts.stretches - held, on_grid(unit, late.format)
        made = rounding(late.format, late.rounding, count, flush=late.flush, exact=exact)
        return [made._replace(least=2 * made.least)]  # of the addend, where that is flushed, and of the sum
    assert late.lost is not None and late.sum_bits is not None and late.addend_bits is not None
    assert isinstance(result, FloatFormat)
    kept, addend = _window_size(late.sum_bits, late.lost), _window_size(late.addend_bits, late.lost)
    if late.drop_below is not None:
        addend = max(addend, 2.0**-late.drop_below)
    window = unit.sum.combine.fraction_bits if unit.sum.combine else unit.sum.fraction_bits or 0
    whole = window <= late.sum_bits
    size = max(kept, addend) if whole and result.fraction_bits <= late.addend_bits else kept + addend
    # To an addend of zero a sum of which nothing is cut loses nothing.
    return [Loss(parts.stretches - whole, size, size * 2.0**result.emin), _result(unit, parts.stretches)]


def of_promotion(unit: Unit, parts: Lengths) -> list[Loss]:
    """What the additions into the promotion register lose: but for the first, to zero, of a number that it holds."""
    rule = unit.promotion
    assert rule is not None
    if rule.operation == "add":
        return [rounding(rule.format, rule.rounding, parts.stretches - 1, exact=True)]
    # The product of both scales is rounded too.
    scale = rounding(rule.format, rule.rounding, 1)._replace(least=0.0)
    return [scale, rounding(rule.format, rule.rounding, parts.stretches)]


METHODS = {
    "aligned": _aligned,
    "even-odd": _even_odd,
    "exact": _exact,
    "sequential": _sequential,
    "pairwise": _pairwise,
}
