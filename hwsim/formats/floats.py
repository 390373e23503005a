"""Floats: sign, exponent, fraction."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, model_validator

from hwsim.base.errors import InputError
from hwsim.formats.base import FLOAT64_LEAST, FLOAT64_MOST, FormatBase, nan_codes
from hwsim.formats.kind import Class, Fields, Steps
from hwsim.formats.rounding import (
    LAST,
    ONES,
    Bools,
    Draw,
    ExactNumbers,
    Ints,
    Overflow,
    Rounding,
    compare_half,
    cut,
    go_beyond,
    grows,
    rounds_inward,
    scaled,
)
from hwsim.formats.yamlfile import RuleError

# (signed, container bits, exponent bits, bias, NaN codes) of the dtypes, NumPy's and ml_dtypes', whose bits are codes.
_DTYPES = {
    (True, 64, 11, 1023, "ieee"): "float64",
    (True, 32, 8, 127, "ieee"): "float32",
    (True, 16, 5, 15, "ieee"): "float16",
    (True, 16, 8, 127, "ieee"): "bfloat16",
    (True, 8, 5, 15, "ieee"): "float8_e5m2",
    (True, 8, 4, 7, "ieee"): "float8_e4m3",
    (True, 8, 3, 3, "ieee"): "float8_e3m4",
    (True, 8, 4, 7, (0x7F, 0xFF)): "float8_e4m3fn",
    (False, 7, 4, 7, (0x7F,)): "float8_e4m3fn",
    (True, 8, 4, 8, (0x80,)): "float8_e4m3fnuz",
    (True, 8, 5, 16, (0x80,)): "float8_e5m2fnuz",
    (True, 8, 4, 11, (0x80,)): "float8_e4m3b11fnuz",
    (True, 6, 3, 3, ()): "float6_e3m2fn",
    (True, 6, 2, 1, ()): "float6_e2m3fn",
    (True, 4, 2, 1, ()): "float4_e2m1fn",
}


def _nan_or_ieee(value: Any) -> Any:
    """`ieee`, or NaN codes as a tuple."""
    try:
        return value if value == "ieee" else nan_codes(value)
    except ValueError as error:
        raise InputError(f"must be ieee or {str(error).removeprefix('must be ')}") from None


MOST_FRACTION_BITS = 28  # but for binary64's


class FloatFormat(FormatBase):
    """Sign, biased exponent, fraction.

    The value of a code with biased exponent 0 is a subnormal, or, with `subnormals: false`, an ordinary
    number with a hidden bit, except fraction 0, which is zero (DLFloat16, HFP8).

    nan: the NaN codes (`bits` wide); `ieee`: the top exponent with a fraction other than 0.
    infinities: with `ieee`, the top exponent with fraction 0; with a list, the largest magnitude that is not NaN.
    underflow: without subnormals, what becomes of a number between zero and the least: `nearby`, the neighbour that
    the rounding chooses; `zero`, zero if it is below the least after rounding with an unbounded exponent.
    canonical: the NaN that operations return; the first of `nan` (`ieee`: all ones below the sign) unless given.
    container: the width that codes are stored in, where it is more than `bits`; a code stands in its high bits.
    """

    kind: Literal["float"] = "float"
    exponent_bits: int = Field(ge=1, le=11)
    fraction_bits: int = Field(ge=0, le=52)
    bias: int
    subnormals: bool = True
    underflow: Literal["nearby", "zero"] = "nearby"
    infinities: bool = False
    nan: Annotated[Literal["ieee"] | tuple[int, ...], BeforeValidator(_nan_or_ieee)] = ()
    canonical: int | None = None
    container: Literal[8, 16, 32] | None = None
    signed_zero: bool = True
    signed: bool = True

    @cached_property
    def bits(self) -> int:
        return self.signed + self.exponent_bits + self.fraction_bits

    @cached_property
    def container_bits(self) -> int:
        """Width of a stored code: 32 for tf32 and e8m13, else `bits`."""
        return self.container or self.bits

    @property
    def is_binary64(self) -> bool:
        """True if it is binary64, the one format with more than 32 bits."""
        return self.bits == 64 and self.own_dtype == "float64"

    @cached_property
    def emin(self) -> int:
        """Exponent of the smallest normal number, and of every subnormal."""
        return self.least_bexp - self.bias

    @property
    def least_bexp(self) -> int:
        """Least biased exponent that a finite number counts with: 1 where there are subnormals, else 0."""
        return 1 if self.subnormals else 0

    @cached_property
    def top_bexp(self) -> int:
        return (1 << self.exponent_bits) - 1

    @cached_property
    def infinity_magnitude(self) -> int | None:
        """The magnitude bits of infinity, or None."""
        if not self.infinities:
            return None
        return self.top_bexp << self.fraction_bits if self.nan == "ieee" else self._last_magnitude

    @property
    def _last_magnitude(self) -> int:
        """The largest magnitude bits that a list of NaNs leaves."""
        magnitude = self.sign_bit - 1
        while magnitude in self.nan:
            magnitude -= 1
        return magnitude

    @cached_property
    def max_magnitude(self) -> int:
        """The magnitude bits of the largest finite number."""
        return self._last_magnitude if self.infinity_magnitude is None else self.infinity_magnitude - 1

    @property
    def emax(self) -> int:
        return max(self.max_magnitude >> self.fraction_bits, self.least_bexp) - self.bias

    @property
    def max_code(self) -> int:
        """The stored code of the largest finite number."""
        return self.max_magnitude << self.padding

    @property
    def own_dtype(self) -> str | None:
        """Name of the float dtype whose bits are the format's codes, or None; see `hwsim.formats.own_dtype`."""
        if not self.subnormals or self.infinities != (self.nan == "ieee"):
            return None
        nan = self.nan if self.nan == "ieee" else tuple(sorted(self.nan))
        return _DTYPES.get((self.signed, self.container_bits, self.exponent_bits, self.bias, nan))

    @cached_property
    def sign_bit(self) -> int:
        """Weight of the sign in a code of `bits` bits."""
        return 1 << (self.exponent_bits + self.fraction_bits)

    @property
    def decoded(self) -> FloatFormat:
        """The format that decoded codes have: this one."""
        return self

    @property
    def has_nan(self) -> bool:
        return self.nan != ()

    @cached_property
    def canonical_nan(self) -> int | None:
        """The container's code of the NaN that operations return, or None.

        Its padding is ones, not zeros: the NaN of e8m13 is binary32's 0x7FFFFFFF, as hardware returns it.
        """
        if self.canonical is not None:
            code = self.canonical
        elif self.nan == "ieee":
            code = self.sign_bit - 1
        elif self.nan:
            code = self.nan[0]
        else:
            return None
        return code << self.padding | ((1 << self.padding) - 1)

    def is_nan(self, code: int) -> bool:
        """True if a code (`bits` wide) is NaN."""
        if self.nan == "ieee":
            return (code & (self.sign_bit - 1)) > (self.top_bexp << self.fraction_bits)
        return code in self.nan

    def fields(self, code: int) -> Fields:
        sign = code >> (self.exponent_bits + self.fraction_bits)
        magnitude = code & (self.sign_bit - 1)
        if self.is_nan(code):
            return Fields(sign, 0, 0, Class.NAN)
        if magnitude == self.infinity_magnitude:
            return Fields(sign, 0, 0, Class.INFINITY)
        bexp, frac = magnitude >> self.fraction_bits, magnitude & ((1 << self.fraction_bits) - 1)
        if magnitude == 0:
            return Fields(sign, self.emin, 0, Class.ZERO)
        if bexp == 0 and self.subnormals:
            return Fields(sign, self.emin, frac, Class.SUBNORMAL)
        return Fields(sign, bexp - self.bias, frac | 1 << self.fraction_bits, Class.NORMAL)

    def values(self, code: Ints) -> NDArray[np.float64]:
        magnitude = code & (self.sign_bit - 1)
        bexp, frac = magnitude >> self.fraction_bits, magnitude & ((1 << self.fraction_bits) - 1)
        hidden = (bexp > 0) | (not self.subnormals) & (frac > 0)
        infinity = np.inf if self.infinity_magnitude is None else self.infinity_magnitude
        infinite = magnitude == infinity
        nan = magnitude > infinity if self.nan == "ieee" else np.isin(code, self.nan)
        exp = np.where(infinite | nan, 0, np.maximum(bexp, self.least_bexp) - self.bias - self.fraction_bits)
        value = np.where(infinite, np.inf, scaled(frac + (hidden.astype(np.int64) << self.fraction_bits), exp))
        return np.where(nan, np.nan, np.where(self._negative(code), -value, value))

    def _negative(self, code: Ints) -> Ints:
        """The sign of each code, 0 or 1; 0 in a format without signs."""
        return code >> (self.exponent_bits + self.fraction_bits) & 1

    def order(self, code: Ints) -> Ints:
        """The sign and the magnitude as one integer; below all of them for a NaN with the code of negative zero."""
        magnitude = code & (self.sign_bit - 1)
        negative = self._negative(code)
        key = np.where(negative, -magnitude, magnitude)
        if self.is_nan(self.sign_bit):
            key = np.where(negative & (magnitude == 0), -self.sign_bit, key)
        return key

    def rounded(self, x: ExactNumbers, rounding: Rounding | Draw, overflow: Overflow) -> tuple[Ints, Bools]:
        """Codes, and which numbers are missing. A magnitude that grows past its fraction carries into its exponent."""
        steps = self._steps_of(x, rounding)
        inward = rounds_inward(rounding, x.negative, self.infinity_magnitude)
        beyond = go_beyond(overflow, steps > self.max_magnitude, x.infinite, inward, self.infinities)
        nan = x.nan | beyond.nan
        steps = np.where(beyond.infinite, self.infinity_magnitude or 0, np.minimum(steps, self.max_magnitude))
        signed = x.negative & ((steps != 0) | self.signed_zero)
        sign = np.left_shift(1, self.exponent_bits + self.fraction_bits, dtype=np.int64)  # 2^63 as int64 has it
        codes = (np.where(signed, sign, 0) | steps) << self.padding
        lacking = np.zeros(nan.shape, dtype=bool) if self.has_nan else x.nan
        if not self.signed:
            lacking = lacking | x.negative & (x.sig != 0)
        return np.where(nan, self.canonical_nan or 0, codes), lacking

    def _steps_of(self, x: ExactNumbers, rounding: Rounding | Draw) -> Ints:
        """Each rounded magnitude as its count of numbers up from zero, as if the exponent had no upper end."""
        x = x._replace(exp=np.minimum(x.exp, self.emax + 1))  # beyond every number already
        exp = _binade(self, x)
        kept, rest = cut(rounding, x.sig, LAST - self.fraction_bits + exp - x.exp)
        steps = ((exp - self.emin) << self.fraction_bits) + kept
        if self.subnormals:
            return steps + grows(rounding, rest, steps, x.negative)
        # Fraction 0 of the lowest binade is zero, so the least number stands alone above it.
        steps = steps - (1 << self.fraction_bits)
        if self.underflow == "zero":
            return np.where(x.exp < self.emin, 0, steps + grows(rounding, rest, steps, x.negative))
        tiny = ~x.at_least(*self._least)
        steps, rest = np.where(tiny, 0, steps), np.where(tiny, self._part_of_least(x, rounding), rest)
        return steps + grows(rounding, rest, steps, x.negative)

    def _part_of_least(self, x: ExactNumbers, rounding: Rounding | Draw) -> Ints:
        """Magnitudes below the least number, as parts of it: what was cut off, in the form that `grows` takes."""
        sig, exp = self._least
        if not isinstance(rounding, Draw):
            half = x.at_least(sig, exp - 1)
            return compare_half(x.sig != 0, half, half & ~((x.exp == exp - 1) & (x.sig == sig)))
        below = np.minimum(exp - x.exp, LAST + 2 + rounding.bits).tolist()
        pairs = zip(x.sig.tolist(), below, strict=True)
        parts = [(number << rounding.bits) // (sig << max(0, down)) for number, down in pairs]
        return np.array([min(part, 1 << 33) for part in parts], dtype=np.int64)

    @property
    def _least(self) -> tuple[int, int]:
        """The least number of a format without subnormals: sig, as in `ExactNumbers`, and exponent."""
        if self.fraction_bits == 0:
            return 1 << LAST, self.emin + 1
        return ((1 << self.fraction_bits) + 1) << (LAST - self.fraction_bits), self.emin

    def magnitudes(self) -> NDArray[np.float64]:
        """Zero, the positive numbers and the next beyond; without subnormals also the step below the least."""
        codes = np.arange(self.max_magnitude + 2)
        bexp, frac = codes >> self.fraction_bits, codes & ((1 << self.fraction_bits) - 1)
        exp = np.maximum(bexp, self.least_bexp) - self.bias - self.fraction_bits
        hidden = (bexp >= self.least_bexp).astype(np.int64)
        return np.concatenate([[0.0], scaled(frac + (hidden << self.fraction_bits), exp)])

    def steps(self, rounding: Rounding | None, overflow: Overflow) -> Steps | None:
        """Steps of a signed format with subnormals or `underflow: zero`, in binary32's range; None of others.

        Where the least number stands alone above zero, neither binade nor ulp says what a smaller one is rounded by.
        """
        alone = not self.subnormals and (self.underflow != "zero" or self.fraction_bits == 0)
        if not self.signed or self.emax > 127 or alone:
            return None
        over, negative = np.array([True, True]), np.array([False, True])
        inward = rounds_inward(rounding, negative, self.infinity_magnitude)
        beyond = go_beyond(overflow, over, ~over, inward, self.infinities)
        # Infinity's magnitude follows the largest number's.
        cap, cap_below = (self.max_magnitude + int(infinite) for infinite in beyond.infinite)
        limit, limit_below = (self.max_magnitude if nan else ONES for nan in beyond.nan)
        return Steps(
            fraction_bits=self.fraction_bits,
            low=self.emin + 127,
            cap=cap,
            base=0 if self.subnormals else 1 << self.fraction_bits,
            limit=limit,
            limit_turn=limit ^ limit_below,
            over=(self.canonical_nan or 0) if beyond.nan.any() else 0,
            padding=self.padding,
            zero_sign=ONES if self.signed_zero else 0,
            lopsided=cap_below - cap & ONES,
        )

    @model_validator(mode="after")
    def _rules(self) -> FloatFormat:
        if self.fraction_bits > MOST_FRACTION_BITS and not self.is_binary64:
            rule = f"must be at most {MOST_FRACTION_BITS}, or that of binary64, not {self.fraction_bits}"
            raise RuleError("fraction_bits", rule)
        if self.padding < 0:
            raise RuleError("container", f"must hold the {self.bits} bits of a code, not {self.container}")
        if not self.signed and self.signed_zero:
            raise RuleError("signed_zero", "must be false for an unsigned format")
        if self.subnormals and self.underflow != "nearby":
            raise RuleError("underflow", "is of a format with subnormals: false")
        if self.infinities and self.exponent_bits + self.fraction_bits < 2:
            raise RuleError("infinities", "leaves no finite number other than zero")
        if self.nan == "ieee":
            self._check_ieee()
        else:
            self._check_nan_codes(self.nan)
        if self.canonical is not None and not (0 <= self.canonical < 1 << self.bits and self.is_nan(self.canonical)):
            raise RuleError("canonical", f"must be a NaN code, not {self.canonical:#x}")
        if self.quantum_exp < FLOAT64_LEAST or self.emax > FLOAT64_MOST:
            raise RuleError("bias", f"must keep every value a float64, not {self.bias}")
        return self

    def _check_ieee(self) -> None:
        if self.fraction_bits == 0:
            raise RuleError("nan", "ieee needs a fraction bit to tell NaN from infinity")
        if not self.infinities:
            raise RuleError("nan", "ieee goes with infinities: true; else list the NaN codes")
        if self.signed and not self.signed_zero:
            raise RuleError("signed_zero", "must be true where nan is ieee")

    def _check_nan_codes(self, codes: tuple[int, ...]) -> None:
        shown = ", ".join(f"{code:#x}" for code in codes)
        if self.infinities and self.fraction_bits and not codes:
            raise RuleError("nan", "must be ieee or a list of codes where infinities is true, not []")
        if any(not 0 <= code < 1 << self.bits for code in codes):
            raise RuleError("nan", f"must be codes of {self.bits} bits, not [{shown}]")
        for code in codes:
            if code == 0:
                raise RuleError("nan", "must not hold code 0, which is zero")
            if self.signed and code != self.sign_bit and code ^ self.sign_bit not in codes:
                raise RuleError("nan", f"must hold {code ^ self.sign_bit:#x}, as it holds {code:#x} of the other sign")
        if self.max_magnitude < 1:
            raise RuleError("nan", f"leaves no finite number other than zero: [{shown}]")
        if any(0 < code & (self.sign_bit - 1) <= self.max_magnitude for code in codes):
            raise RuleError("nan", f"must be codes above every finite number, or negative zero, not [{shown}]")
        if self.signed and self.signed_zero == (self.sign_bit in codes):
            rule = "must be false where" if self.signed_zero else "must be true unless"
            raise RuleError("signed_zero", f"{rule} {self.sign_bit:#x} is NaN")


def _binade(fmt: FloatFormat, x: ExactNumbers) -> Ints:
    """The exponent that sets a number's ulp: its own, or emin below the normal numbers."""
    return np.maximum(x.exp, fmt.emin)
