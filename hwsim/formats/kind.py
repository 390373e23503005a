"""The properties of every kind of number format: all that codecs, units and tools ask of a format."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hwsim.formats.rounding import ONES, Bools, Draw, ExactNumbers, Ints, Overflow, Rounding

TILE = 1024  # elements at a time: their bits, codes and what lies between stay in the first cache


class Steps(NamedTuple):
    """A format as steps, counted from zero; uint32s except `low`, which must be at least 1 for the loops.

    fraction_bits: at most 22, so that a binary32 number is cut by at least one bit. low: emin + 127.
    base: 2^fraction_bits in a format without subnormals, whose first binade has no number at fraction 0.
    cap: the last of the steps; below zero `lopsided` more, modulo 2^32. limit: the last that does not become `over`;
    below zero with `limit_turn` exclusive-ored.
    padding: the container's. zero_sign: all ones where there is a -0.
    fixed: 1 of two's complement.
    """

    fraction_bits: int
    low: int
    cap: int
    base: int = 0
    limit: int = ONES
    limit_turn: int = 0
    over: int = 0
    padding: int = 0
    zero_sign: int = 0
    fixed: int = 0
    lopsided: int = 0


class EncoderParameters(NamedTuple):
    """A format and how numbers are rounded to it, as uint32s. `hwsim.formats.fast` makes them.

    first: 23 less the format's fraction_bits. fraction_bits to lopsided: as in `Steps`.
    even, turn, flip: what a magnitude's lost bits, at the top of a word, must be above to take it to the next code:
    `even`, with `turn` exclusive-ored where the code below is odd, and `flip` where the number is negative.
    narrowing: 32 less the container's bits.
    nan, plus, minus: the codes of NaN and the infinities. lacks_nan: 1 where a NaN is an error.
    """

    first: Any
    fraction_bits: Any
    low: Any
    even: Any
    turn: Any
    flip: Any
    base: Any
    cap: Any
    limit: Any
    limit_turn: Any
    over: Any
    narrowing: Any
    padding: Any
    zero_sign: Any
    fixed: Any
    lopsided: Any
    nan: Any
    plus: Any
    minus: Any
    lacks_nan: Any


class RandomWords(NamedTuple):
    """The source of random words: a mask of the bits used (0 for no randomness), seed and counter in halves."""

    mask: int
    seed_low: int
    seed_high: int
    counter_low: int
    counter_high: int


NOTHING_RANDOM = RandomWords(0, 0, 0, 0, 0)


class Class(StrEnum):
    """The class of a code."""

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
        """A description in one line."""

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
        """True if there are negative numbers."""

    @property
    def signed_zero(self) -> bool:
        """True if zero has two codes, one with a sign."""

    @property
    def has_zero(self) -> bool:
        """True if there is a zero."""

    @property
    def twos_complement(self) -> bool:
        """True if codes are two's complement; of other signed formats they are a sign and a magnitude."""

    @property
    def without_exponent(self) -> bool:
        """True if a code is an integer, whose point stands where it stands for all codes."""

    @property
    def in_float64(self) -> bool:
        """True if float64 has every value; otherwise values are Fractions."""

    @property
    def of_operands(self) -> bool:
        """True if factors, scales, elements and conversions can have the format, and not results and addends alone."""

    @property
    def powers_of_two(self) -> bool:
        """True if every code is a biased exponent: all values are powers of two, and none is zero."""

    @property
    def subnormals(self) -> bool:
        """True if there are numbers without a hidden bit."""

    @property
    def infinities(self) -> bool:
        """True if any code is infinite."""

    @property
    def has_nan(self) -> bool:
        """True if any code is NaN."""

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
        """True if a code (`bits` wide) is NaN."""

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
