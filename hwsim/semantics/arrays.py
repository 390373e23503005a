"""Dot products as arrays of decoded products, for the compiled readings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.formats import Class, ExponentFormat, FloatFormat, unpack
from hwsim.model.terms import factor
from hwsim.semantics import integers, loops
from hwsim.semantics.reader import late_of_instruction
from hwsim.spec import Unit
from hwsim.vectors.case import Case, term_scales

Ints = NDArray[np.int64]
LONGEST = 62  # bits of a window's sum


class Settings(NamedTuple):
    """A unit as the compiled readings take it."""

    numbers: Ints
    formats: Ints


class Products(NamedTuple):
    """Products of many dot products, in the order of their groups.

    sig, unit: int64[n, K], signed significands and the exponents of their units. finite: bool[n].
    """

    sig: Ints
    unit: Ints
    finite: NDArray[np.bool_]


def settings(unit: Unit) -> Settings | None:
    """None for a unit that only `hwsim.semantics.reader` reads."""
    if not _suits(unit):
        return None
    instruction, a, b = unit.instruction, *unit.operands.multiplied
    bits, lanes, window = a.fraction_bits + b.fraction_bits, instruction.lanes, unit.sum.fraction_bits or 0
    late = unit.late
    result = format_row(
        unit.result.format, unit.result.rounding, unit.result.tiny == "positive", unit.result.subnormals == "flush"
    )
    added = result.copy()
    added[[integers.POSITIVE, integers.FLUSH]] = 0
    if late is not None:
        assert late.rounding is not None
        added = format_row(late.format, late.rounding)
    addend = result if unit.operands.addend is None else format_row(unit.operands.addend, "rz")
    register = result if unit.promotion is None else format_row(unit.promotion.format, unit.promotion.rounding)
    formats = np.array([addend, result, added, register])
    low, high = _exponents(unit)
    ends = [fmt[integers.EMIN] - fmt[integers.FRACTION] for fmt in formats]
    lowest = min(low - bits - window - 2, *(end - window for end in ends))
    highest = max(high + 2, *(_emax(fmt) for fmt in formats)) + lanes.bit_length() + 2
    numbers = [
        lanes, instruction.groups, window, bits,
        loops.NONE if unit.sum.max_exp_floor is None else unit.sum.max_exp_floor,
        unit.sum.zero_terms == "count", unit.operands.addend is not None, late_of_instruction(unit),
        unit.promotion_beats or 0, lowest, (highest - lowest) // integers.LIMB + 4,
    ]  # fmt: skip
    longest = 2 + window + max(2, bits - window) + lanes.bit_length() + 1
    return Settings(np.array(numbers, dtype=np.int64), formats) if longest <= LONGEST else None


def _suits(unit: Unit) -> bool:
    rule, promotion = unit.sum, unit.promotion
    formats = [unit.result.format, unit.operands.addend, promotion and promotion.format, unit.late and unit.late.format]
    plain = all(isinstance(fmt, FloatFormat) and fmt.subnormals and fmt.signed_zero for fmt in formats if fmt)
    scaled = unit.scale is not None and not (
        unit.scale.at == "product"
        and all(isinstance(side.format, ExponentFormat) for side in (unit.scale.a, unit.scale.b))
    )
    odd = unit.late is not None and (
        unit.late.operation != "add" or unit.late.flush or unit.late.format != unit.result.format
    )
    register = promotion is not None and unit.operands.addend not in (None, promotion.format)
    return (
        rule.method == "aligned" and plain and not scaled and not odd and not register and rule.zero == "positive"
        and rule.product_limit is None
    )  # fmt: skip


def format_row(fmt: Any, rounding: str, positive: bool = False, flush: bool = False) -> Ints:
    """A float format and a rounding to it as the compiled code takes them: see `hwsim.semantics.integers`."""
    row = [fmt.fraction_bits, fmt.emin, fmt.max_magnitude, fmt.sign_bit, fmt.padding, integers.BY_NAME[rounding]]
    return np.array([*row, positive, flush], dtype=np.int64)


def _emax(row: Ints) -> int:
    return int(row[integers.MOST] >> row[integers.FRACTION]) + int(row[integers.EMIN])


def _exponents(unit: Unit) -> tuple[int, int]:
    """The least and the largest reference exponent of a product."""
    low = high = 0
    for fmt in unit.operands.multiplied:
        low += getattr(fmt, "emin", 0)
        high += getattr(fmt, "emax", 0)
    for fmt in scale_formats(unit):
        low, high = low + fmt.min_code - fmt.bias, high + fmt.max_code - fmt.bias
    return low, high


def scale_formats(unit: Unit) -> tuple[ExponentFormat, ...]:
    """The formats of the scales that are powers of two."""
    sides = (unit.scale.a.format, unit.scale.b.format) if unit.scale else ()
    return tuple(fmt for fmt in sides if isinstance(fmt, ExponentFormat))


def products(unit: Unit, cases: Sequence[Case]) -> Products:
    """The products of cases of one length."""
    x, y = unit.operands.multiplied
    a, b = (np.array([getattr(case, side) for case in cases], dtype=np.int64) for side in "ab")
    (sign_a, exp_a, sig_a, finite_a), (sign_b, exp_b, sig_b, finite_b) = (
        _factors(codes, partial(factor, fmt, to, unit.operands.daz))
        for codes, fmt, to in ((a, unit.operands.a, x), (b, unit.operands.b, y))
    )
    exp = exp_a + exp_b
    finite: NDArray[np.bool_] = np.asarray((finite_a & finite_b).all(axis=1))
    if unit.scale is not None:
        scales = [term_scales(unit, case) for case in cases]
        for index, fmt in enumerate(scale_formats(unit)):
            codes = np.array([scale[index] for scale in scales], dtype=np.int64)
            exp = exp + codes - fmt.bias
            finite &= ~_nans(fmt, codes).any(axis=1)
    sig = np.where(sign_a ^ sign_b, -1, 1) * sig_a * sig_b
    order = np.array([i for g in range(a.shape[1] // unit.instruction.lanes) for i in unit.instruction.indices(g)])
    unit_exp = exp - x.fraction_bits - y.fraction_bits
    return Products(sig[:, order], unit_exp[:, order], finite)


def _nans(fmt: ExponentFormat, codes: Ints) -> NDArray[np.bool_]:
    return np.isin(codes, [code for code in range(1 << fmt.bits) if fmt.is_nan(code)])


def _factors(codes: Ints, decode: Any) -> tuple[Ints, Ints, Ints, NDArray[np.bool_]]:
    """Sign, exponent and significand of every code, and whether it is finite."""
    seen, place = np.unique(codes, return_inverse=True)
    fields = [decode(code) for code in seen.tolist()]
    rows = np.array([[f.sign, f.exp, f.sig, f.cls not in (Class.NAN, Class.INFINITY)] for f in fields], dtype=np.int64)
    sign, exp, sig, finite = rows[place.reshape(codes.shape)].transpose(2, 0, 1)
    return sign, exp, sig, finite.astype(bool)


def finite_codes(unit: Unit, codes: Sequence[int]) -> NDArray[np.bool_]:
    """Which addends are numbers."""
    fmt = unit.operands.addend
    if fmt is None:
        return np.ones(len(codes), dtype=bool)
    plain = {code: unpack(fmt, code).cls not in (Class.NAN, Class.INFINITY) for code in set(codes)}
    return np.array([plain[code] for code in codes], dtype=bool)


def evaluated(unit: Unit, made: Products, c: Ints) -> Ints:
    """int64[n, 40]: what every reading returns; -1 where that is not finite."""
    found = settings(unit)
    assert found is not None
    out = np.empty((len(c), 40), dtype=np.int64)
    loops.evaluate(made.sig, made.unit, c, found.numbers, found.formats, out)
    return out
