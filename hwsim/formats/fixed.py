"""Two's complement."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from hwsim.formats.base import MOST_BITS, FormatBase
from hwsim.formats.exact import LAST, ExactNumbers, scaled
from hwsim.formats.kind import Class, Fields
from hwsim.formats.parameters import Steps
from hwsim.formats.rounding import Bools, Draw, Ints, Overflow, Rounding, cut, grows
from hwsim.formats.yamlfile import RuleError

MOST_PLACES = 1000  # of the point, to either side of a code; float64 then has the largest and the least number
MOST_FIXED_BITS = 1024  # of a code
FLOAT64_BITS = 53  # of a code whose values float64 has, and whose steps int64 has with room to round


class FixedFormat(FormatBase):
    """Two's complement: value = code * 2^-fraction_bits (MXINT8 carries an implicit 2^-6).

    A value is sig * 2^(exp - fraction_bits) too: exp is always 0, and sig the whole magnitude. Either number of bits
    may be negative, where the point stands outside the code: with fraction_bits -5 the last bit weighs 2^5, and with
    integer_bits -20 all values are below 2^-20.
    """

    kind: Literal["fixed"] = "fixed"
    integer_bits: int = Field(ge=-MOST_PLACES, le=MOST_PLACES)
    fraction_bits: int = Field(ge=-MOST_PLACES, le=MOST_PLACES)

    @model_validator(mode="after")
    def _has_a_width(self) -> FixedFormat:
        if not 1 <= self.bits <= MOST_FIXED_BITS:
            raise RuleError("fraction_bits", f"must make a code of 1 to {MOST_FIXED_BITS} bits, not of {self.bits}")
        return self

    @property
    def bits(self) -> int:
        """Bits that carry information, the sign counted."""
        return 1 + self.integer_bits + self.fraction_bits

    @property
    def sig_bits(self) -> int:
        """Width of the largest magnitude, that of the negative end."""
        return self.bits

    @property
    def precision(self) -> int:
        """The most significant bits of any value; the negative end, a power of two, has a single one."""
        return self.bits - 1

    @property
    def emin(self) -> int:
        """The exponent of every code."""
        return 0

    @property
    def emax(self) -> int:
        """The exponent of every code."""
        return 0

    @property
    def signed(self) -> bool:
        """Half of the codes are negative."""
        return True

    @property
    def signed_zero(self) -> bool:
        """Zero is one code."""
        return False

    @property
    def twos_complement(self) -> bool:
        """Codes are two's complement."""
        return True

    @property
    def subnormals(self) -> bool:
        """False: no significand has a hidden bit."""
        return False

    @property
    def infinities(self) -> bool:
        """No code is infinite."""
        return False

    @property
    def has_nan(self) -> bool:
        """No code is NaN."""
        return False

    @property
    def canonical_nan(self) -> None:
        """No code is NaN."""
        return None

    @property
    def sign_bit(self) -> int:
        """Weight of the sign in a code."""
        return 1 << self.bits - 1

    @property
    def in_float64(self) -> bool:
        """Whether float64 has every value."""
        return self.bits <= FLOAT64_BITS

    @property
    def of_operands(self) -> bool:
        """Whether the point stands in the code, which has at most 32 bits."""
        return self.bits <= MOST_BITS and min(self.integer_bits, self.fraction_bits) >= 0

    @property
    def max_code(self) -> int:
        """The code of the largest number; the negative end is one step longer."""
        return self.sign_bit - 1

    def is_nan(self, code: int) -> bool:
        """No code is NaN."""
        return False

    def fields(self, code: int) -> Fields:
        """A code's fields."""
        value = code - ((code & self.sign_bit) << 1)
        return Fields(int(value < 0), 0, abs(value), Class.NORMAL if value else Class.ZERO)

    def values(self, code: Ints) -> NDArray[np.float64]:
        """Codes' exact values; of a format that float64 does not hold, see `hwsim.formats.wide`."""
        return scaled(self.order(code), -self.fraction_bits)

    def order(self, code: Ints) -> Ints:
        """The codes as signed integers."""
        return code - ((code & self.sign_bit) << 1)

    def rounded(self, x: ExactNumbers, rounding: Rounding | Draw, overflow: Overflow) -> tuple[Ints, Bools]:
        """Codes, and which numbers are missing: NaNs."""
        # Where everything kept is 2^bits or more it is beyond every end.
        kept, rest = cut(rounding, x.sig, np.maximum(LAST - self.fraction_bits - x.exp, LAST - self.bits))
        steps = kept + grows(rounding, rest, kept, x.negative)
        steps = np.minimum(steps, np.where(x.negative, self.sign_bit, self.max_code))
        return np.where(x.negative, -steps, steps) & ((1 << self.bits) - 1), x.nan

    def magnitudes(self) -> NDArray[np.float64]:
        """Zero and the numbers above it, and the negative end's magnitude."""
        return scaled(np.arange(self.sign_bit + 1), -self.fraction_bits)

    def steps(self, rounding: Rounding | None, overflow: Overflow) -> Steps | None:
        """The magnitudes are subnormals of a float with a fraction as long; the negative end is its first normal.

        None where that is no float of binary32's exponents.
        """
        if not 0 < self.integer_bits + 127 < 255:
            return None
        return Steps(
            fraction_bits=self.bits - 1, low=self.integer_bits + 127, cap=self.max_code, fixed=1, lopsided=1
        )  # fmt: skip
