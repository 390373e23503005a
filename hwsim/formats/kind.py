"""What every kind of number format answers: all that codecs, units and tools ask of a format."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hwsim.formats.exact import ExactNumbers
from hwsim.formats.parameters import Steps
from hwsim.formats.rounding import Bools, Draw, Ints, Overflow, Rounding


class Class(StrEnum):
    """What a code is."""

    ZERO = "zero"
    SUBNORMAL = "subnormal"
    NORMAL = "normal"
    INFINITY = "infinity"
    NAN = "nan"


class Fields(NamedTuple):
    """A code, decoded: (-1)^sign * sig * 2^(exp - fraction_bits), where finite.

    sign: 0 or 1. exp: unbiased; emin for zeros and subnormals, which are not normalised.
    sig: significand with the hidden bit. Infinities and NaNs have exp and sig 0.
    """

    sign: int
    exp: int
    sig: int
    cls: Class


class Kind(Protocol):
    """A format of any kind, by its properties and its arithmetic.

    A new kind of format is a class that has all of these, and a member of `Format`; nothing else has to know it.
    """

    def __hash__(self) -> int: ...

    @property
    def name(self) -> str:
        """The format's name."""

    @property
    def summary(self) -> str:
        """What it is, in a line."""

    @property
    def bits(self) -> int:
        """Bits that carry information."""

    @property
    def container_bits(self) -> int:
        """Width of a stored code."""

    @property
    def padding(self) -> int:
        """Low bits of the container that are always zero."""

    @property
    def fraction_bits(self) -> int:
        """Bits of a significand below the binary point."""

    @property
    def sig_bits(self) -> int:
        """Width of the largest significand, `Fields.sig`."""

    @property
    def precision(self) -> int:
        """Significant bits of any value, from its first 1 to its last."""

    @property
    def emin(self) -> int:
        """The least exponent, `Fields.exp`."""

    @property
    def emax(self) -> int:
        """The largest exponent, `Fields.exp`."""

    @property
    def quantum_exp(self) -> int:
        """Exponent of the power of two that every value is a multiple of."""

    @property
    def signed(self) -> bool:
        """Whether there are negative numbers."""

    @property
    def signed_zero(self) -> bool:
        """Whether zero has two codes, one with a sign."""

    @property
    def has_zero(self) -> bool:
        """Whether there is a zero."""

    @property
    def twos_complement(self) -> bool:
        """Whether codes are two's complement; of other signed formats they are a sign and a magnitude."""

    @property
    def in_float64(self) -> bool:
        """Whether float64 has every value; otherwise values are Fractions."""

    @property
    def of_operands(self) -> bool:
        """Whether factors, scales, elements and conversions can have the format, and not results and addends alone."""

    @property
    def powers_of_two(self) -> bool:
        """Whether every code is a biased exponent: all values are powers of two, and none is zero."""

    @property
    def subnormals(self) -> bool:
        """Whether there are numbers without a hidden bit."""

    @property
    def infinities(self) -> bool:
        """Whether any code is infinite."""

    @property
    def has_nan(self) -> bool:
        """Whether any code is NaN."""

    @property
    def canonical_nan(self) -> int | None:
        """The stored code of the NaN that operations return, or None."""

    @property
    def min_code(self) -> int:
        """The stored code of the number nearest to zero, zero included."""

    @property
    def max_code(self) -> int:
        """The stored code of the largest number."""

    @property
    def largest(self) -> float:
        """The largest number."""

    @property
    def own_dtype(self) -> str | None:
        """Name of the float dtype, NumPy's or ml_dtypes', whose bits are the format's codes, or None."""

    def is_nan(self, code: int) -> bool:
        """Whether a code (`bits` wide) is NaN."""

    def fields(self, code: int) -> Fields:
        """A code's fields. code: `bits` wide, without its padding."""

    def values(self, code: Ints) -> NDArray[np.float64]:
        """Codes' exact values. code: `bits` wide, without their padding."""

    def order(self, code: Ints) -> Ints:
        """Integers in the order of the codes' values; see `order_key`. code: `bits` wide."""

    def rounded(self, x: ExactNumbers, rounding: Rounding | Draw, overflow: Overflow) -> tuple[Ints, Bools]:
        """Stored codes of numbers, and which numbers the format cannot represent."""

    def magnitudes(self) -> NDArray[np.float64]:
        """The numbers from the least magnitude to the largest, and the next that an unbounded exponent would add.

        Of a format of up to 8 bits. Below the first stands zero, or in a format without zero the next smaller power.
        """

    def steps(self, rounding: Rounding | None, overflow: Overflow) -> Steps | None:
        """The format as the compiled arithmetic has it, or None for one that the arithmetic does not round to.

        rounding: None of stochastic rounding. overflow: a policy that the format has.
        """
