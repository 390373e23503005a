"""The 40 readings in fractions: written from their definitions alone, for one group of an unscaled or scaled unit."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import floor, frexp

from hwsim.cases.case import Case, term_scales
from hwsim.explain import Reading
from hwsim.formats import ExponentFormat, FloatFormat
from hwsim.spec import Unit


def exponent(value: Fraction) -> int:
    """floor(log2(|value|)) of a value other than zero."""
    top = value.numerator.bit_length() - value.denominator.bit_length()
    return top if abs(value) >= Fraction(2) ** top else top - 1


def to_multiple(value: Fraction, unit: Fraction, rule: str) -> Fraction:
    """A multiple of `unit`, by a rule for what is cut off."""
    size = abs(value) / unit
    low = floor(size)
    rest = size - low
    if rule in ("truncate", "rz"):
        kept = low
    elif rule in ("floor", "rd"):
        return floor(value / unit) * unit
    elif rule in ("jam", "rto"):
        kept = low | 1 if rest else low
    else:
        assert rule in ("nearest", "rne")
        kept = round(size)
    return (-1 if value < 0 else 1) * kept * unit


def rounded(fmt: FloatFormat, value: Fraction, rule: str) -> Fraction:
    if value == 0:
        return value
    place = max(exponent(value), fmt.emin) - fmt.fraction_bits
    return to_multiple(value, Fraction(2) ** place, rule)


@lru_cache(maxsize=10_000)
def decoded(fmt: object, code: int) -> tuple[Fraction, int]:
    """A finite code's value, and its exponent, emin at least."""
    value = float(fmt.decode([code])[0])  # type: ignore[attr-defined]
    if not isinstance(fmt, FloatFormat):
        return Fraction(value), 0
    return Fraction(value), max(frexp(value)[1] - 1, fmt.emin) if value else fmt.emin


def value_of(unit: Unit, reading: Reading, case: Case) -> Fraction:
    """What a reading returns for one group, as a number: signs of zero and overflow are not told."""
    result, rounding, bits = unit.result.format, unit.result.rounding, unit.sum.fraction_bits or 0
    scales = list(zip(*term_scales(unit, case), strict=True)) or [None] * len(case.a)
    terms = []
    for a, b, scale in zip(case.a, case.b, scales, strict=True):
        (x, exp_x), (y, exp_y) = decoded(unit.operands.a, a), decoded(unit.operands.b, b)
        shift = 0
        if scale is not None:
            assert unit.scale is not None
            sides = (unit.scale.a.format, unit.scale.b.format)
            shift = sum(
                code - fmt.bias for fmt, code in zip(sides, scale, strict=True) if isinstance(fmt, ExponentFormat)
            )
        product = x * y * Fraction(2) ** shift
        if product:
            terms.append((product, exponent(product) if reading.leading else exp_x + exp_y + shift))
    addend = decoded(unit.operands.addend, case.c) if unit.operands.addend else (Fraction(0), 0)
    late = addend[0] if reading.late else Fraction(0)
    if addend[0] and not reading.late:
        terms.append(addend)
    total = sum((value for value, _ in terms), Fraction(0))
    if reading.lost != "exact" and terms:
        unit_of = Fraction(2) ** (max(exp for _, exp in terms) - bits)
        total = sum((to_multiple(value, unit_of, reading.lost) for value, _ in terms), Fraction(0))
    if reading.late and reading.two:
        return rounded(result, rounded(result, total, rounding) + late, rounding)
    if reading.two and total:
        cut = "truncate" if reading.lost == "exact" else reading.lost
        total = to_multiple(total, Fraction(2) ** (exponent(total) - bits), cut) if long(total, bits) else total
    return rounded(result, total + late, rounding)


def long(value: Fraction, bits: int) -> bool:
    """Whether a number has more than 1 + bits significant bits."""
    return (value / Fraction(2) ** (exponent(value) - bits)).denominator != 1
