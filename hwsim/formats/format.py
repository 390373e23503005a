"""What a number format is: data, validated once.

Three kinds: `FloatFormat` (sign, exponent, fraction), `FixedFormat` (two's complement) and
`ExponentFormat` (a power of two, as MX shared scales are).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast, overload

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, model_validator

from hwsim.formats.yamlfile import RuleError

# Every value must be a float64, because that is what `decode` returns.
FLOAT64_LEAST, FLOAT64_MOST, FLOAT64_PRECISION = -1074, 1023, 53


def _nan_codes(value: Any) -> Any:
    """NaN codes as a tuple."""
    if isinstance(value, (list, tuple)) and all(type(code) is int for code in value):
        return tuple(value)
    raise ValueError("must be a list of codes")


def _nan_or_ieee(value: Any) -> Any:
    """`ieee`, or NaN codes as a tuple."""
    try:
        return value if value == "ieee" else _nan_codes(value)
    except ValueError as error:
        raise ValueError(f"must be ieee or {str(error).removeprefix('must be ')}") from None


class _Format(BaseModel):
    """What every kind has."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str = Field(pattern=r"^[a-z][a-z0-9_.-]*$")
    summary: str = ""
    source: str = ""

    @property
    def bits(self) -> int:
        """Bits that carry information."""
        raise TypeError

    @property
    def container_bits(self) -> int:
        """Width of a stored code: 32 for tf32 and e8m13, else `bits`."""
        return self.bits

    @property
    def padding(self) -> int:
        """Low bits of the container that are always zero."""
        return self.container_bits - self.bits

    @overload
    def decode(self, codes: Any) -> NDArray[np.float64]: ...

    @overload
    def decode(self, codes: Any, dtype: Any) -> NDArray[Any]: ...

    def decode(self, codes: Any, dtype: Any = np.float64) -> NDArray[Any]:
        """The exact value of every code; see `hwsim.formats.codec.decode`."""
        from hwsim.formats import codec

        return codec.decode(cast("Format", self), codes, dtype)

    def encode(
        self,
        x: Any,
        rounding: str = "rne",
        overflow: str = "saturate",
        missing: str = "error",
        *,
        random_bits: int | None = None,
        seed: int | None = None,
        counter: int = 0,
    ) -> NDArray[np.unsignedinteger[Any]]:
        """The codes of numbers, each rounded once; see `hwsim.formats.codec.encode`."""
        from hwsim.formats import codec

        random: dict[str, Any] = {"random_bits": random_bits, "seed": seed, "counter": counter}
        return codec.encode(cast("Format", self), x, rounding, overflow, missing, **random)

    @model_validator(mode="after")
    def _at_most_32_bits(self) -> _Format:
        if self.bits > 32:
            raise RuleError("fraction_bits", f"makes a code of {self.bits} bits; at most 32")
        return self


class FloatFormat(_Format):
    """Sign, biased exponent, fraction.

    The value of a code with biased exponent 0 is a subnormal, or, with `subnormals: false`, an ordinary
    number with a hidden bit, except fraction 0, which is zero (DLFloat16, HFP8).

    nan: the NaN codes (`bits` wide); `ieee`: the top exponent with a fraction other than 0.
    infinities: with `ieee`, the top exponent with fraction 0; with a list, the largest magnitude that is not NaN.
    underflow: without subnormals, what becomes of a number between zero and the least: `nearby`, the one that the
    rounding chooses; `zero`, zero where, rounded with an unbounded exponent, it stays below the least.
    canonical: the NaN that operations return; the first of `nan` (`ieee`: all ones below the sign) unless given.
    container: the width that codes are stored in, where it is more than `bits`; a code stands in its high bits.
    """

    kind: Literal["float"] = "float"
    exponent_bits: int = Field(ge=1, le=11)
    fraction_bits: int = Field(ge=0, le=28)
    bias: int
    subnormals: bool = True
    underflow: Literal["nearby", "zero"] = "nearby"
    infinities: bool = False
    nan: Annotated[Literal["ieee"] | tuple[int, ...], BeforeValidator(_nan_or_ieee)] = ()
    canonical: int | None = None
    container: Literal[8, 16, 32] | None = None
    signed_zero: bool = True
    signed: bool = True

    @property
    def bits(self) -> int:
        """Bits that carry information."""
        return self.signed + self.exponent_bits + self.fraction_bits

    @property
    def container_bits(self) -> int:
        """Width of a stored code: 32 for tf32 and e8m13, else `bits`."""
        return self.container or self.bits

    @property
    def precision(self) -> int:
        """Bits of a significand, the hidden bit counted: p."""
        return self.fraction_bits + 1

    @property
    def emin(self) -> int:
        """Exponent of the smallest normal number, and of every subnormal."""
        return self.least_bexp - self.bias

    @property
    def least_bexp(self) -> int:
        """Least biased exponent that a finite number counts with: 1 where there are subnormals, else 0."""
        return 1 if self.subnormals else 0

    @property
    def top_bexp(self) -> int:
        """The largest biased exponent field."""
        return (1 << self.exponent_bits) - 1

    @property
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

    @property
    def max_magnitude(self) -> int:
        """The magnitude bits of the largest finite number."""
        return self._last_magnitude if self.infinity_magnitude is None else self.infinity_magnitude - 1

    @property
    def emax(self) -> int:
        """Exponent of the largest finite number."""
        return max(self.max_magnitude >> self.fraction_bits, self.least_bexp) - self.bias

    @property
    def sign_bit(self) -> int:
        """Weight of the sign in a code of `bits` bits."""
        return 1 << (self.exponent_bits + self.fraction_bits)

    @property
    def has_nan(self) -> bool:
        """Whether any code is NaN."""
        return self.nan != ()

    @property
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
        """Whether a code (`bits` wide) is NaN."""
        if self.nan == "ieee":
            return (code & (self.sign_bit - 1)) > (self.top_bexp << self.fraction_bits)
        return code in self.nan

    @model_validator(mode="after")
    def _rules(self) -> FloatFormat:
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
        if self.emin - self.fraction_bits < FLOAT64_LEAST or self.emax > FLOAT64_MOST:
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


class FixedFormat(_Format):
    """Two's complement: value = code * 2^-fraction_bits (MXINT8 carries an implicit 2^-6)."""

    kind: Literal["fixed"] = "fixed"
    integer_bits: int = Field(ge=0, le=31)
    fraction_bits: int = Field(ge=0, le=31)

    @property
    def bits(self) -> int:
        """Bits that carry information, the sign counted."""
        return 1 + self.integer_bits + self.fraction_bits

    @property
    def has_nan(self) -> bool:
        """No code is NaN."""
        return False

    def is_nan(self, code: int) -> bool:
        """No code is NaN."""
        return False

    @property
    def infinities(self) -> bool:
        """No code is infinite."""
        return False


class ExponentFormat(_Format):
    """A power of two: value = 2^(code - bias), except the NaN codes (OCP MX E8M0)."""

    kind: Literal["exponent"] = "exponent"
    exponent_bits: int = Field(ge=1, le=11)
    bias: int
    nan: Annotated[tuple[int, ...], BeforeValidator(_nan_codes)] = ()

    @property
    def bits(self) -> int:
        """Bits that carry information."""
        return self.exponent_bits

    @property
    def fraction_bits(self) -> int:
        """A power of two has no fraction."""
        return 0

    @property
    def has_nan(self) -> bool:
        """Whether any code is NaN."""
        return self.nan != ()

    @property
    def canonical_nan(self) -> int | None:
        """The first NaN code, or None."""
        return self.nan[0] if self.nan else None

    @property
    def infinities(self) -> bool:
        """No code is infinite."""
        return False

    def is_nan(self, code: int) -> bool:
        """Whether a code is NaN."""
        return code in self.nan

    @property
    def max_code(self) -> int:
        """The code of the largest number."""
        return max(code for code in range(1 << self.bits) if code not in self.nan)

    @property
    def min_code(self) -> int:
        """The code of the smallest number."""
        return min(code for code in range(1 << self.bits) if code not in self.nan)

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


Format = FloatFormat | FixedFormat | ExponentFormat
_adapter: TypeAdapter[Any] = TypeAdapter(Annotated[Format, Field(discriminator="kind")])


def parse(data: dict[str, Any]) -> Format:
    """The format that a mapping describes. Raises pydantic's ValidationError."""
    return _adapter.validate_python(data)  # type: ignore[no-any-return]
