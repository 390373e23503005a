"""Rules that say every value of a format of variable fields: posits, HiF8, logarithms. Each is computed once."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from math import isqrt
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

# A value: exact, or NaN (None), or the sign of an infinity.
Value = Fraction | Literal["inf", "-inf"] | None
MOST_BITS = 16


class TableRule(BaseModel):
    """A rule with its parameters."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @cached_property
    def listed(self) -> tuple[Value, ...]:
        """The value of every code, in the order of codes."""
        raise TypeError

    @property
    def saturates(self) -> bool:
        """True if no number other than an infinity is too large, and none other than zero rounds to zero."""
        return False

    def between(self, low: Fraction, high: Fraction) -> Fraction:
        """The number halfway between neighbours, 0 <= low < high: what is above it rounds to `high`."""
        return (low + high) / 2

    def beyond(self, largest: Fraction, before: Fraction) -> Fraction:
        """The next number above the largest, as if there were one. before: the one below the largest."""
        return largest + (largest - before)


class PositRule(TableRule):
    """Posits (Posit Standard 2022: es = 2): sign, a run of equal bits, up to es exponent bits, fraction.

    Numbers are two's complements; the code of the sign alone is NaR, a NaN. A number is rounded as its bits are, to
    the code that is nearest when both have a bit more.
    """

    name: Literal["posit"]
    bits: int = Field(ge=2, le=MOST_BITS)
    es: int = Field(ge=0, le=4)

    @cached_property
    def listed(self) -> tuple[Value, ...]:
        half = 1 << self.bits - 1
        above = [posit(self.bits, self.es, code) for code in range(half)]
        return (*above, None, *(-value for value in reversed(above[1:])))

    @cached_property
    def _halves(self) -> dict[Fraction, Fraction]:
        """By a number from zero up, the number halfway to the next: of a posit of a bit more, the code between."""
        half = 1 << self.bits - 1
        return {posit(self.bits, self.es, code): posit(self.bits + 1, self.es, 2 * code + 1) for code in range(half)}

    @property
    def saturates(self) -> bool:
        return True

    def between(self, low: Fraction, high: Fraction) -> Fraction:
        return self._halves[low] if low else low


def posit(bits: int, es: int, code: int) -> Fraction:
    """The value of a posit's code from 0 up to all ones below the sign."""
    if code == 0:
        return Fraction(0)
    text = f"{code:0{bits - 1}b}"
    run = len(text) - len(text.lstrip(text[0]))
    rest = text[run + 1 :]
    exponent, fraction = rest[:es].ljust(es, "0"), rest[es:]
    regime = run - 1 if text[0] == "1" else -run
    power = (regime << es) + int(exponent or "0", 2)
    return (1 + Fraction(int(fraction or "0", 2), 1 << len(fraction))) * Fraction(2) ** power


class HiF8Rule(TableRule):
    """Huawei's HiFloat8 (Luo et al. 2024, arXiv 2409.16626): sign, a dot field that says how wide the exponent is.

    The dot is 11, 10, 01 (4, 3, 2 bits of exponent), 001 (1 bit), 0001 (none, so exponent 0) or 0000. An exponent is a
    sign and a magnitude whose leading 1 is left out; what remains of the code is fraction. Under 0000 a code below 8 is
    2^(code - 23), code 0 zero and, with a sign, NaN. The largest magnitude is infinity.
    """

    name: Literal["hif8"]

    @cached_property
    def listed(self) -> tuple[Value, ...]:
        above: list[Value] = [hif8(code) for code in range(0x6F)]
        above += ["inf", *(hif8(code) for code in range(0x70, 0x80))]
        below: list[Value] = [-value if isinstance(value, Fraction) else "-inf" for value in above[1:]]
        return (*above, None, *below)

    def beyond(self, largest: Fraction, before: Fraction) -> Fraction:
        """That of infinity's code: 1.5 * 2^15."""
        return hif8(0x6F)


def hif8(code: int) -> Fraction:
    """The value of a code without its sign; infinity's as that of a number."""
    if code < 8:
        return Fraction(2) ** (code - 23) if code else Fraction(0)
    dot, width = next(
        (dot, width) for dot, width in (("11", 4), ("10", 3), ("01", 2), ("001", 1), ("0001", 0))
        if f"{code:07b}".startswith(dot)
    )  # fmt: skip
    rest = f"{code:07b}"[len(dot) :]
    exponent, fraction = rest[:width], rest[width:]
    power = int("1" + exponent[1:], 2) * (-1) ** int(exponent[0]) if exponent else 0
    return (1 + Fraction(int(fraction, 2), 1 << len(fraction))) * Fraction(2) ** power


class LogRule(TableRule):
    """Logarithms: a sign above E, of bits - 1 bits; the value is 2^((E - 2^(bits - 2)) / 2^fraction_bits).

    Few such numbers have finitely many binary digits: every value is rounded to `precision` significant bits, to
    nearest. E = 0 is zero, and with a sign NaN.
    """

    name: Literal["lns"]
    bits: int = Field(ge=3, le=MOST_BITS)
    fraction_bits: int = Field(ge=0, le=14)
    precision: int = Field(ge=1, le=24)

    @cached_property
    def listed(self) -> tuple[Value, ...]:
        half = 1 << self.bits - 2
        above = [power_of_two(number, self.fraction_bits, self.precision) for number in range(1 - half, half)]
        return (Fraction(0), *above, None, *(-value for value in above))


def power_of_two(numerator: int, fraction_bits: int, precision: int) -> Fraction:
    """2^(numerator / 2^fraction_bits), rounded to `precision` bits, to nearest; no tie exists."""
    whole, part = numerator >> fraction_bits, numerator & ((1 << fraction_bits) - 1)
    # 2^(part / 2^f) by square roots of 2, from integers that are too small by less than 2^-90 each.
    size = 128
    root, product = 2 << size, 1 << size
    for place in reversed(range(fraction_bits)):
        root = isqrt(root << size)
        if part >> place & 1:
            product = product * root >> size
    steps = (product + (1 << size - precision)) >> size + 1 - precision
    return Fraction(steps) * Fraction(2) ** (whole + 1 - precision)


Rule = Annotated[PositRule | HiF8Rule | LogRule, Field(discriminator="name")]
