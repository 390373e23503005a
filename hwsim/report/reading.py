"""Codes as a reader wants them: in digits, as a value, as fields, and how far apart."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from hwsim.formats import FloatFormat, Format
from hwsim.report.differences import CodeReading, Element, Operand
from hwsim.report.rows import number_text


def number(fmt: Format, code: int) -> tuple[str, str]:
    """A code in all its digits, and its value; a negative code is one that nobody knows."""
    digits = f"{code:#0{2 + -(-fmt.container_bits // 4)}x}" if code >= 0 else "unknown"
    try:
        value = fmt.decode(code).item()
    except ValueError:
        return digits, f"no code of {fmt.name}"
    return digits, number_text(value) if isinstance(value, Fraction) else f"{value:.9g}"


def reading(fmt: Format, code: int) -> CodeReading:
    """A code with its value and its fields."""
    digits, value = number(fmt, code)
    return CodeReading(code=digits, value=value, fields=_fields(fmt, code))


def _fields(fmt: Format, code: int) -> tuple[str, ...]:
    if not 0 <= code < 1 << fmt.container_bits:
        return ()
    bits = f"{code:0{fmt.container_bits}b}"
    if not isinstance(fmt, FloatFormat):
        return (bits,)
    # A container may be wider than the format: padding is below its fraction.
    exponent = len(bits) - fmt.padding - fmt.fraction_bits
    first = exponent - fmt.exponent_bits
    ends = [0, first, exponent, len(bits) - fmt.padding, len(bits)]
    return tuple(bits[start:end] for start, end in pairwise(ends) if end > start)


def ulps(fmt: Format, got: int, expected: int) -> int | None:
    """How far apart two codes are, in ulp of the format; None where that has no meaning."""
    if not isinstance(fmt, FloatFormat):
        return None
    places = []
    for code in (got, expected):
        if code < 0 or code & ((1 << fmt.padding) - 1):
            return None
        bare = code >> fmt.padding
        if fmt.is_nan(bare) or bare & (fmt.sign_bit - 1) == fmt.infinity_magnitude:
            return None
        magnitude = bare & (fmt.sign_bit - 1)
        places.append(-magnitude if bare & fmt.sign_bit else magnitude)
    return places[0] - places[1]


def operand(name: str, fmt: Format, codes: Sequence[int]) -> Operand:
    """A vector of codes, decoded, without its zeros."""
    elements = []
    for index, code in enumerate(codes):
        if code:
            digits, value = number(fmt, code)
            elements.append(Element(index=index, code=digits, value=value))
    return Operand(name=name, format=fmt.name, length=len(codes), elements=tuple(elements))


def scalar(name: str, fmt: Format, code: int) -> Operand:
    """One code, decoded, be it zero."""
    digits, value = number(fmt, code)
    return Operand(name=name, format=fmt.name, length=0, elements=(Element(index=0, code=digits, value=value),))
