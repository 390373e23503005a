"""Formats without an exponent, or without a fraction: integers with a point, and powers of two."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, model_validator

from hwsim.formats.base import FLOAT64_LEAST, FLOAT64_MOST, MOST_BITS, FormatBase, nan_codes
from hwsim.formats.kind import Class, Fields, Steps
from hwsim.formats.rounding import (
    LAST,
    Bools,
    Draw,
    ExactNumbers,
    Ints,
    Overflow,
    Rounding,
    cut,
    go_beyond,
    grows,
    rounds_inward,
    scaled,
)
from hwsim.formats.yamlfile import RuleError

MOST_PLACES = 1000  # of the point, to either side of a code; float64 then has the largest and the least number
MOST_FIXED_BITS = 1024  # of a code
FLOAT64_BITS = 53  # of a code whose values float64 has, and whose steps int64 has with room to round


class FixedFormat(FormatBase):
    """Two's complement, or with `signed: false` no negative numbers: value = code * 2^-fraction_bits (MXINT8: 2^-6).

    A value is sig * 2^(exp - fraction_bits) too: exp is always 0, and sig the whole magnitude. Either number of bits
    may be negative, where the point stands outside the code: with fraction_bits -5 the last bit weighs 2^5, and with
    integer_bits -20 all values are below 2^-20.
    """

    kind: Literal["fixed"] = "fixed"
    integer_bits: int = Field(ge=-MOST_PLACES, le=MOST_PLACES)
    fraction_bits: int = Field(ge=-MOST_PLACES, le=MOST_PLACES)
    without_exponent: ClassVar[bool] = True
    emin: ClassVar[int] = 0
    emax: ClassVar[int] = 0
    signed: bool = True
    signed_zero: ClassVar[bool] = False
    subnormals: ClassVar[bool] = False
    infinities: ClassVar[bool] = False
    has_nan: ClassVar[bool] = False
    canonical_nan: ClassVar[int | None] = None

    @model_validator(mode="after")
    def _has_a_width(self) -> FixedFormat:
        if not 1 <= self.bits <= MOST_FIXED_BITS:
            raise RuleError("fraction_bits", f"must make a code of 1 to {MOST_FIXED_BITS} bits, not of {self.bits}")
        return self

    @property
    def decoded(self) -> FixedFormat:
        """The format that decoded codes have: this one."""
        return self

    @property
    def bits(self) -> int:
        """Bits that carry information, the sign counted."""
        return self.signed + self.integer_bits + self.fraction_bits

    @property
    def twos_complement(self) -> bool:
        """True if there is a sign."""
        return self.signed

    @property
    def sig_bits(self) -> int:
        """Width of the largest magnitude: that of the negative end, or of the largest number where there is none."""
        return self.bits

    @property
    def precision(self) -> int:
        """The most significant bits of any value; the negative end, a power of two, has a single one."""
        return self.bits - self.signed

    @property
    def sign_bit(self) -> int:
        """Weight of the sign in a code; without signs, of the bit above a code."""
        return 1 << self.bits - self.signed

    @property
    def steps_down(self) -> int:
        """Numbers below zero."""
        return self.sign_bit if self.signed else 0

    @property
    def in_float64(self) -> bool:
        return self.bits <= FLOAT64_BITS

    @property
    def of_operands(self) -> bool:
        """True if the point stands in the code, which has at most 32 bits."""
        return self.bits <= MOST_BITS and min(self.integer_bits, self.fraction_bits) >= 0

    @property
    def max_code(self) -> int:
        """The code of the largest number; a negative end is one step longer."""
        return self.sign_bit - 1

    def is_nan(self, code: int) -> bool:
        return False

    def fields(self, code: int) -> Fields:
        value = code - ((code & self.sign_bit) << 1)
        return Fields(int(value < 0), 0, abs(value), Class.NORMAL if value else Class.ZERO)

    def values(self, code: Ints) -> NDArray[np.float64]:
        """Codes' exact values; of a format that float64 does not hold, see `hwsim.formats.reference`."""
        return scaled(self.order(code), -self.fraction_bits)

    def order(self, code: Ints) -> Ints:
        return code - ((code & self.sign_bit) << 1)

    def rounded(self, x: ExactNumbers, rounding: Rounding | Draw, overflow: Overflow) -> tuple[Ints, Bools]:
        """Codes, and which numbers are missing: NaNs, and without signs negative numbers."""
        # Where everything kept is 2^bits or more it is beyond every end.
        kept, rest = cut(rounding, x.sig, np.maximum(LAST - self.fraction_bits - x.exp, LAST - self.bits))
        steps = kept + grows(rounding, rest, kept, x.negative)
        steps = np.minimum(steps, np.where(x.negative, self.steps_down, self.max_code))
        lacking = x.nan if self.signed else x.nan | x.negative & (x.sig != 0)
        return np.where(x.negative, -steps, steps) & ((1 << self.bits) - 1), lacking

    def magnitudes(self) -> NDArray[np.float64]:
        """Zero and the numbers above it, and the next, which is the negative end's magnitude."""
        return scaled(np.arange(self.sign_bit + 1), -self.fraction_bits)

    def steps(self, rounding: Rounding | None, overflow: Overflow) -> Steps | None:
        """The magnitudes are subnormals of a float with a fraction as long; the negative end is its first normal.

        None where that is no float of binary32's exponents, or where negative numbers are missing.
        """
        if not self.signed or not 0 < self.integer_bits + 127 < 255:
            return None
        return Steps(
            fraction_bits=self.bits - 1, low=self.integer_bits + 127, cap=self.max_code, fixed=1, lopsided=1
        )  # fmt: skip


class ExponentFormat(FormatBase):
    """A power of two: value = 2^(code - bias), except the NaN codes (OCP MX E8M0)."""

    kind: Literal["exponent"] = "exponent"
    exponent_bits: int = Field(ge=1, le=11)
    bias: int
    nan: Annotated[tuple[int, ...], BeforeValidator(nan_codes)] = ()
    fraction_bits: ClassVar[int] = 0
    signed: ClassVar[bool] = False
    signed_zero: ClassVar[bool] = False
    has_zero: ClassVar[bool] = False
    powers_of_two: ClassVar[bool] = True
    subnormals: ClassVar[bool] = False
    infinities: ClassVar[bool] = False

    @property
    def bits(self) -> int:
        return self.exponent_bits

    @property
    def emin(self) -> int:
        return self.min_code - self.bias

    @property
    def emax(self) -> int:
        return self.max_code - self.bias

    @property
    def has_nan(self) -> bool:
        return self.nan != ()

    @property
    def canonical_nan(self) -> int | None:
        """The first NaN code, or None."""
        return self.nan[0] if self.nan else None

    @property
    def max_code(self) -> int:
        """The code of the largest number."""
        return max(code for code in range(1 << self.bits) if code not in self.nan)

    @property
    def min_code(self) -> int:
        """The code of the smallest number."""
        return min(code for code in range(1 << self.bits) if code not in self.nan)

    @property
    def own_dtype(self) -> str | None:
        """Name of the float dtype whose bits are the format's codes, or None."""
        return "float8_e8m0fnu" if (self.exponent_bits, self.bias, self.nan) == (8, 127, (0xFF,)) else None

    def is_nan(self, code: int) -> bool:
        return code in self.nan

    def fields(self, code: int) -> Fields:
        return Fields(0, 0, 0, Class.NAN) if self.is_nan(code) else Fields(0, code - self.bias, 1, Class.NORMAL)

    def values(self, code: Ints) -> NDArray[np.float64]:
        return np.where(np.isin(code, self.nan), np.nan, scaled(1, code - self.bias))

    def order(self, code: Ints) -> Ints:
        return code

    def rounded(self, x: ExactNumbers, rounding: Rounding | Draw, overflow: Overflow) -> tuple[Ints, Bools]:
        """Codes, and which numbers are missing: negative ones, zero, and what is too small."""
        steps = x.exp + self.bias
        _, rest = cut(rounding, x.sig, np.full(x.sig.shape, LAST))
        steps = steps + grows(rounding, rest, steps, x.negative)
        over = steps > self.max_code
        inward = rounds_inward(rounding, x.negative, None)
        nan = x.nan | go_beyond(overflow, over, x.infinite, inward, infinities=False).nan
        codes = np.where(nan, self.canonical_nan or 0, np.minimum(steps, self.max_code))
        lacking = x.negative | (steps < self.min_code)
        return codes, lacking & ~x.nan if self.has_nan else lacking

    def magnitudes(self) -> NDArray[np.float64]:
        """The numbers, one power of two below them and one above."""
        return scaled(1, np.arange(self.min_code - 1, self.max_code + 2) - self.bias)

    def steps(self, rounding: Rounding | None, overflow: Overflow) -> None:
        """The compiled arithmetic rounds to no powers of two."""
        return

    @model_validator(mode="after")
    def _rules(self) -> ExponentFormat:
        if -self.bias < FLOAT64_LEAST or (1 << self.exponent_bits) - 1 - self.bias > FLOAT64_MOST:
            raise RuleError("bias", f"must keep every value a float64, not {self.bias}")
        numbers = sorted(set(range(1 << self.bits)) - set(self.nan))
        shown = ", ".join(f"{code:#x}" for code in self.nan)
        if any(not 0 <= code < 1 << self.bits for code in self.nan):
            raise RuleError("nan", f"must be codes of {self.bits} bits, not [{shown}]")
        if not numbers:
            raise RuleError("nan", f"leaves no number: [{shown}]")
        if numbers[-1] - numbers[0] != len(numbers) - 1:
            raise RuleError("nan", f"must be codes at an end of the range, not [{shown}]")
        return self
