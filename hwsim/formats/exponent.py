"""Powers of two."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, model_validator

from hwsim.formats.base import FLOAT64_LEAST, FLOAT64_MOST, FormatBase, nan_codes
from hwsim.formats.exact import LAST, ExactNumbers, scaled
from hwsim.formats.kind import Class, Fields
from hwsim.formats.rounding import Bools, Draw, Ints, Overflow, Rounding, cut, go_beyond, grows, rounds_inward
from hwsim.formats.yamlfile import RuleError


class ExponentFormat(FormatBase):
    """A power of two: value = 2^(code - bias), except the NaN codes (OCP MX E8M0)."""

    kind: Literal["exponent"] = "exponent"
    exponent_bits: int = Field(ge=1, le=11)
    bias: int
    nan: Annotated[tuple[int, ...], BeforeValidator(nan_codes)] = ()

    @property
    def bits(self) -> int:
        """Bits that carry information."""
        return self.exponent_bits

    @property
    def fraction_bits(self) -> int:
        """A power of two has no fraction."""
        return 0

    @property
    def emin(self) -> int:
        """Exponent of the smallest number."""
        return self.min_code - self.bias

    @property
    def emax(self) -> int:
        """Exponent of the largest number."""
        return self.max_code - self.bias

    @property
    def signed(self) -> bool:
        """No number is negative."""
        return False

    @property
    def signed_zero(self) -> bool:
        """No code is zero."""
        return False

    @property
    def has_zero(self) -> bool:
        """No code is zero."""
        return False

    @property
    def powers_of_two(self) -> bool:
        """Codes are biased exponents."""
        return True

    @property
    def subnormals(self) -> bool:
        """Every number is a normal one."""
        return False

    @property
    def infinities(self) -> bool:
        """No code is infinite."""
        return False

    @property
    def has_nan(self) -> bool:
        """Whether any code is NaN."""
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
        """Whether a code is NaN."""
        return code in self.nan

    def fields(self, code: int) -> Fields:
        """A code's fields."""
        return Fields(0, 0, 0, Class.NAN) if self.is_nan(code) else Fields(0, code - self.bias, 1, Class.NORMAL)

    def values(self, code: Ints) -> NDArray[np.float64]:
        """Codes' exact values."""
        return np.where(np.isin(code, self.nan), np.nan, scaled(1, code - self.bias))

    def order(self, code: Ints) -> Ints:
        """The code."""
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
