"""Base of the classes of all kinds of formats: a name, checks, and the codecs as methods."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Self, overload

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, model_validator

from hwsim.base.errors import InputError
from hwsim.base.text import facts, titled
from hwsim.formats import codec
from hwsim.formats.kind import Kind
from hwsim.formats.yamlfile import RuleError

# Every value must be a float64, because that is what `decode` returns.
FLOAT64_LEAST, FLOAT64_MOST = -1074, 1023
MOST_BITS = 32  # of a code, but for binary64's and those of fixed formats


def nan_codes(value: Any) -> Any:
    """NaN codes as a tuple."""
    if isinstance(value, (list, tuple)) and all(type(code) is int for code in value):
        return tuple(value)
    raise InputError("must be a list of codes")


class FormatBase(BaseModel):
    """A number format of any kind."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str = Field(pattern=r"^[a-z][a-z0-9_.-]*$")
    summary: str = ""
    source: str = ""
    has_zero: ClassVar[bool] = True
    without_exponent: ClassVar[bool] = False
    powers_of_two: ClassVar[bool] = False

    @property
    def bits(self) -> int:
        """Bits that carry information."""
        raise TypeError

    @property
    def container_bits(self) -> int:
        """Width of a stored code: 32 for tf32 and e8m13, else `bits`."""
        return self.bits

    @cached_property
    def padding(self) -> int:
        """Low bits of the container that are always zero."""
        return self.container_bits - self.bits

    @property
    def precision(self: Kind) -> int:
        """The most significant bits of any value; of a float, of a significand with its hidden bit: p."""
        return self.fraction_bits + 1

    @property
    def sig_bits(self: Kind) -> int:
        """Width of the largest significand, `Fields.sig`."""
        return self.precision

    @property
    def quantum_exp(self: Kind) -> int:
        """Exponent of the power of two that every value is a multiple of."""
        return self.emin - self.fraction_bits

    @property
    def largest(self: Kind) -> float:
        """The largest number."""
        return float(codec.decode(self, self.max_code))

    def _repr_html_(self: Kind) -> str:
        padded = f" of a container of {self.container_bits}" if self.padding else ""
        nan = self.canonical_nan
        rows = (
            ("bits", f"{self.bits}{padded}"),
            ("precision", f"{self.precision} bits"),
            ("largest", f"{self.largest:g}"),
            ("multiples of", f"2^{self.quantum_exp}"),
            ("normal numbers from", "" if self.without_exponent or self.powers_of_two else f"2^{self.emin}"),
            ("infinities", "yes" if self.infinities else "none"),
            ("NaN", "none" if not self.has_nan else "yes" if nan is None else f"{nan:#x}"),
            ("negative zero", "yes" if self.signed_zero else "none"),
        )
        return titled(self.name, self.summary, facts(rows))

    @property
    def min_code(self) -> int:
        """The stored code of the number nearest to zero, zero included."""
        return 0

    @property
    def own_dtype(self) -> str | None:
        """Name of the float dtype, NumPy's or ml_dtypes', whose bits are the format's codes, or None."""
        return None

    @overload
    def decode(self: Kind, codes: Any) -> NDArray[np.float64]: ...

    @overload
    def decode(self: Kind, codes: Any, dtype: Any) -> NDArray[Any]: ...

    def decode(self: Kind, codes: Any, dtype: Any = np.float64) -> NDArray[Any]:
        """The exact value of every code; see `hwsim.formats.codec.decode`."""
        return codec.decode(self, codes, dtype)

    def encode(
        self: Kind,
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
        random: dict[str, Any] = {"random_bits": random_bits, "seed": seed, "counter": counter}
        return codec.encode(self, x, rounding, overflow, missing, **random)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with other keys, unchecked; what was derived from the old ones is derived anew."""
        copied = super().model_copy(update=update, deep=deep)
        for name in vars(copied).keys() - type(self).model_fields.keys():
            del vars(copied)[name]
        return copied

    @property
    def twos_complement(self) -> bool:
        """True if codes are two's complement."""
        return False

    @property
    def is_binary64(self) -> bool:
        """True if it is binary64, the one float format with more than 32 bits."""
        return False

    @property
    def in_float64(self) -> bool:
        """True if float64 has every value."""
        return True

    @property
    def of_operands(self) -> bool:
        """True if factors, scales, elements and conversions can have the format, and not results and addends alone."""
        return True

    @model_validator(mode="after")
    def _short_enough(self) -> FormatBase:
        if self.bits > MOST_BITS and not (self.is_binary64 or self.without_exponent):
            raise RuleError("fraction_bits", f"makes a code of {self.bits} bits; at most {MOST_BITS}")
        return self
