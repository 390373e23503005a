"""Dot products as arrays of decoded products, for the compiled readings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.cases.case import Case, term_scales
from hwsim.formats import Class, ExponentFormat, FloatFormat, Format, unpack
from hwsim.model.terms import factor
from hwsim.readings import integers, loops
from hwsim.readings.reader import late_of_instruction
from hwsim.readings.readings import aligned_rule
from hwsim.spec import AlignedSum, LateAdd, Unit

Ints = NDArray[np.int64]
LONGEST = 62  # bits of a window's sum
MANY = 1 << 16  # codes that a table of all is made of


class Settings(NamedTuple):
    """A unit as the compiled readings take it."""

    numbers: Ints
    formats: Ints


class Products(NamedTuple):
    """The terms of many dot products without their addends, in the order of groups: products, or scaled sums.

    sig, unit: int64[n, terms], signed significands and the exponents of their units. finite: bool[n].
    """

    sig: Ints
    unit: Ints
    finite: NDArray[np.bool_]


class Terms(NamedTuple):
    """The terms of a group, beside its addend: products, or the scaled sums of subgroups.

    lanes: how many. bits: from a term's unit to its reference exponent. low, high: the least and the largest reference
    exponent. whole: no term is more than 2^(its reference exponent + whole).
    """

    lanes: int
    bits: int
    low: int
    high: int
    whole: int


def terms_of(unit: Unit) -> Terms:
    """The terms in a group's window, by bounds that hold for all finite operands."""
    (low, high), factors = _exponents(unit.operands.multiplied), unit.operands.multiplied
    bits, subgroup = sum(fmt.fraction_bits for fmt in factors), unit.subgroup
    scales = (unit.scale.a.format, unit.scale.b.format) if unit.scale else ()
    scale_low, scale_high = _exponents(scales)
    if subgroup is None:
        return Terms(unit.instruction.lanes, bits, low + scale_low, high + scale_high, 2)
    # A scaled sum is an integer in units of its scales' last places times the least product's; its exponent is that
    # of its scales, each below 2 times its exponent's power of two.
    bits += sum(fmt.fraction_bits for fmt in scales) - low
    whole = subgroup.lanes.bit_length() + high + 2 + 2
    return Terms(unit.instruction.lanes // subgroup.lanes, bits, scale_low, scale_high, whole)


def settings(unit: Unit) -> Settings | None:
    """A unit as the compiled readings take it; None where only `hwsim.readings.reader` can read it."""
    if not _suits(unit):
        return None
    rule, instruction = aligned_rule(unit), unit.instruction
    window = rule.fraction_bits
    lanes, bits, low, high, whole = terms_of(unit)
    # A late addend that has a window of its own has none in any reading.
    late = unit.late if isinstance(unit.late, LateAdd) else None
    result = format_row(
        unit.result.format, unit.result.rounding, unit.result.tiny == "positive", unit.result.subnormals == "flush"
    )
    added = result.copy()
    added[[integers.POSITIVE, integers.FLUSH]] = 0
    if late is not None:
        added = format_row(late.format, late.rounding)
    addend = result if unit.operands.addend is None else format_row(unit.operands.addend, "rz")
    register = result if unit.promotion is None else format_row(unit.promotion.format, unit.promotion.rounding)
    formats = np.array([addend, result, added, register])
    ends = [fmt[integers.EMIN] - fmt[integers.FRACTION] for fmt in formats]
    lowest = min(low - bits - window - 2, *(end - window for end in ends))
    floor = loops.NONE if rule.max_exp_floor is None else rule.max_exp_floor
    highest = max(high + whole, 0, floor, *(_emax(fmt) for fmt in formats)) + lanes.bit_length() + 2
    numbers = [
        lanes, instruction.groups, window, bits,
        floor,
        rule.zero_terms == "count", unit.operands.addend is not None, late_of_instruction(unit),
        unit.promotion_beats or 0, lowest, (highest - lowest) // integers.LIMB + 4,
    ]  # fmt: skip
    longest = whole + window + max(2, bits - window) + lanes.bit_length() + 1
    return Settings(np.array(numbers, dtype=np.int64), formats) if longest <= LONGEST else None


def _suits(unit: Unit) -> bool:
    rule, promotion = unit.sum, unit.promotion
    late = unit.late if isinstance(unit.late, LateAdd) else None
    formats = [unit.result.format, unit.operands.addend, promotion and promotion.format, late and late.format]
    plain = all(isinstance(fmt, FloatFormat) and fmt.subnormals and fmt.signed_zero for fmt in formats if fmt)
    powers = unit.scale is None or all(isinstance(side.format, ExponentFormat) for side in (unit.scale.a, unit.scale.b))
    scaled = unit.scale is not None and (unit.scale.at == "promotion" or (unit.scale.at == "product" and not powers))
    odd = late is not None and (late.flush or late.format != unit.result.format)
    register = promotion is not None and unit.operands.addend not in (None, promotion.format)
    return (
        isinstance(rule, AlignedSum) and plain and not scaled and not odd and not register and rule.zero == "positive"
        and (rule.subgroup is None or rule.product_limit is None)
    )  # fmt: skip


def format_row(fmt: Any, rounding: str, positive: bool = False, flush: bool = False) -> Ints:
    """A float format and a rounding to it as the compiled code takes them: see `hwsim.readings.integers`."""
    row = [fmt.fraction_bits, fmt.emin, fmt.max_magnitude, fmt.sign_bit, fmt.padding, integers.BY_NAME[rounding]]
    return np.array([*row, positive, flush], dtype=np.int64)


def _emax(row: Ints) -> int:
    return int(row[integers.MOST] >> row[integers.FRACTION]) + int(row[integers.EMIN])


def _exponents(formats: Sequence[Format]) -> tuple[int, int]:
    """The least and the largest exponent of a product of finite numbers of these formats."""
    low = high = 0
    for fmt in formats:
        if isinstance(fmt, ExponentFormat):
            low, high = low + fmt.min_code - fmt.bias, high + fmt.max_code - fmt.bias
        else:
            low, high = low + getattr(fmt, "emin", 0), high + getattr(fmt, "emax", 0)
    return low, high


def products(unit: Unit, cases: Sequence[Case]) -> Products:
    """The products of cases of equal length."""
    x, y = unit.operands.multiplied
    a, b = (np.array([getattr(case, side) for case in cases], dtype=np.int64) for side in "ab")
    (sign_a, exp_a, sig_a, finite_a), (sign_b, exp_b, sig_b, finite_b) = (
        _factors(codes, partial(factor, fmt, unit.operands.convert, unit.operands.daz))
        for codes, fmt in ((a, unit.operands.a), (b, unit.operands.b))
    )
    sig = np.where(sign_a ^ sign_b, -1, 1) * sig_a * sig_b
    unit_exp = exp_a + exp_b - x.fraction_bits - y.fraction_bits
    order = np.array([i for g in range(a.shape[1] // unit.instruction.lanes) for i in unit.instruction.indices(g)])
    codes = [term_scales(unit, case) for case in cases] if unit.scale else []
    scales = [np.array([both[side] for both in codes], dtype=np.int64)[:, order] for side in (0, 1) if codes]
    terms = scaled(unit, sig[:, order], unit_exp[:, order], scales)
    return terms._replace(finite=terms.finite & (finite_a & finite_b).all(axis=1))


def scaled(unit: Unit, sig: Ints, unit_exp: Ints, scales: Sequence[Ints]) -> Products:
    """The terms of windows, from products without their scales.

    sig, unit_exp: int64[n, K], in the order of groups. scales: of a and of b, each int64[n, K], codes; or none.
    """
    finite: NDArray[np.bool_] = np.ones(len(sig), dtype=bool)
    if unit.subgroup is not None:
        sig, unit_exp = _sums(unit, unit.subgroup.lanes, sig, unit_exp)
        scales = [codes[:, :: unit.subgroup.lanes] for codes in scales]
    if unit.scale is not None:
        for codes, fmt in zip(scales, (unit.scale.a.format, unit.scale.b.format), strict=True):
            sign, exp, part, plain = _factors(codes, partial(unpack, fmt))
            sig, unit_exp = sig * np.where(sign, -part, part), unit_exp + exp - fmt.fraction_bits
            finite &= plain.all(axis=1)
    if unit.sum.product_limit is not None:
        # A product so large is an infinity. A significand has fewer bits than a float64.
        too_large = (np.frexp(sig)[1] - 1 + unit_exp >= unit.sum.product_limit) & (sig != 0)
        finite &= ~too_large.any(axis=1)
    return Products(sig, unit_exp, finite)


def _sums(unit: Unit, lanes: int, sig: Ints, unit_exp: Ints) -> tuple[Ints, Ints]:
    """Exact sums of every `lanes` products, in units of the least product's last place."""
    factors = unit.operands.multiplied
    least = _exponents(factors)[0] - sum(fmt.fraction_bits for fmt in factors)
    sums = (sig << unit_exp - least).reshape(len(sig), -1, lanes).sum(axis=2)
    return sums, np.full_like(sums, least)


def _factors(codes: Ints, decode: Any) -> tuple[Ints, Ints, Ints, NDArray[np.bool_]]:
    """Sign, exponent and significand of every code, and whether it is finite."""
    # As `numpy.unique`, which is slow where there are many codes and few that differ.
    there = np.zeros(int(codes.max(initial=0)) + 1, dtype=bool) if codes.size and codes.max() < MANY else None
    if there is None:
        distinct, place = np.unique(codes, return_inverse=True)
    else:
        there[codes] = True
        distinct, place = np.flatnonzero(there), (np.cumsum(there) - 1)[codes]
    fields = [decode(code) for code in distinct.tolist()]
    rows = np.array([[f.sign, f.exp, f.sig, f.cls not in (Class.NAN, Class.INFINITY)] for f in fields], dtype=np.int64)
    sign, exp, sig, finite = rows[place.reshape(codes.shape)].transpose(2, 0, 1)
    return sign, exp, sig, finite.astype(bool)


def finite_codes(unit: Unit, codes: Sequence[int]) -> NDArray[np.bool_]:
    """Which addends are finite."""
    fmt = unit.operands.addend
    if fmt is None:
        return np.ones(len(codes), dtype=bool)
    plain = {code: unpack(fmt, code).cls not in (Class.NAN, Class.INFINITY) for code in set(codes)}
    return np.array([plain[code] for code in codes], dtype=bool)


def evaluated(unit: Unit, products: Products, c: Ints) -> Ints:
    """The result codes of every reading, int64[n, 40]; -1 where a result is not finite."""
    rows = settings(unit)
    assert rows is not None
    out = np.empty((len(c), 40), dtype=np.int64)
    finite = products.finite[:, None]
    sig, unit_exp = np.where(finite, products.sig, 0), np.where(finite, products.unit, 0)
    loops.evaluate(sig, unit_exp, np.where(products.finite, c, 0), rows.numbers, rows.formats, out)
    out[~products.finite] = -1
    return out
