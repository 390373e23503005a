"""Factors and scales as words of 32 bits: significand, exponent, sign and class, in fields."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hwsim.formats import ExponentFormat, FixedFormat, Format
from hwsim.formats.codes import Codes
from hwsim.kernels.extents import exponent_range

Words = NDArray[np.uint32]

SIG_BITS, EXP_OFFSET = 16, 4096
EXP_SHIFT, NEGATIVE_SHIFT, CLASS_SHIFT = 16, 29, 30
SIG_MASK, EXP_MASK = (1 << SIG_BITS) - 1, (1 << NEGATIVE_SHIFT - EXP_SHIFT) - 1
FINITE, INFINITE, NAN = 0, 1, 2
MOST_CODE_BITS = 20
AT_ONCE = 1 << 17  # codes that are looked up together


def words_lack(key: str, fmt: Format, to: Format) -> Iterator[str]:
    """Why words do not hold codes of a format, converted to another, if they do not."""
    if fmt.bits > MOST_CODE_BITS:
        yield f"{key}: {fmt.name} (more than {MOST_CODE_BITS} bits)"
    elif _significand_bits(to) > SIG_BITS or max(abs(exp) for exp in exponent_range(to)) > EXP_OFFSET // 4:
        yield f"{key}: {fmt.name} (too wide as {to.name})"


def _significand_bits(fmt: Format) -> int:
    if isinstance(fmt, ExponentFormat):
        return 1
    return fmt.fraction_bits + (fmt.integer_bits + 1 if isinstance(fmt, FixedFormat) else 1)


@lru_cache(maxsize=32)
def factor_words(fmt: Format, to: Format, daz: bool = False, positive: bool = False) -> Words:
    """A word for each code, its padding left out: significand, exponent + 4096, sign and class, from the low bit up.

    to: the format that is multiplied. The exponent is that of the leading one, not below `to.emin`; a zero has emin.
    daz: subnormals of that format are zeros. positive: zeros have no sign. Only for what `words_lack` has nothing
    against.
    """
    values = fmt.decode(np.arange(1 << fmt.bits, dtype=np.int64) << fmt.padding)
    finite = np.isfinite(values)
    magnitude = np.where(finite, np.abs(values), 0.0)
    if isinstance(to, ExponentFormat):
        exp, fraction_bits = np.where(finite, np.frexp(magnitude)[1] - 1, 0), 0
    elif isinstance(to, FixedFormat):
        exp, fraction_bits = np.zeros(values.shape, np.int64), to.fraction_bits
    else:
        fraction_bits = to.fraction_bits
        exp = np.maximum(np.where(magnitude > 0, np.frexp(magnitude)[1] - 1, to.emin), to.emin)
        if daz:
            magnitude = np.where(magnitude < np.ldexp(1.0, to.emin), 0.0, magnitude)
    sig = np.ldexp(magnitude, (fraction_bits - exp).astype(np.intc)).astype(np.int64)
    kind = np.where(finite, FINITE, np.where(np.isnan(values), NAN, INFINITE))
    negative = np.signbit(values) & ~((magnitude == 0) & finite & positive)
    word = sig | exp + EXP_OFFSET << EXP_SHIFT | negative.astype(np.int64) << NEGATIVE_SHIFT
    words: Words = (word | kind << CLASS_SHIFT).astype(np.uint32)
    words.setflags(write=False)
    return words


def exponents_of(words: Words) -> NDArray[np.int64]:
    """The exponents in words."""
    return ((words >> EXP_SHIFT) & EXP_MASK).astype(np.int64) - EXP_OFFSET


def words_of(fmt: Format, table: Words, codes: Codes) -> Words:
    """The words of codes of a format, in the codes' shape, contiguous."""
    index = codes >> codes.dtype.type(fmt.padding) if fmt.padding else codes
    taken = np.empty(codes.shape, np.uint32)
    # By rows, because NumPy widens an index to 64 bits.
    step = max(1, AT_ONCE // max(codes.shape[1], 1))
    for first in range(0, len(codes), step):
        np.take(table, index[first : first + step], out=taken[first : first + step], mode="clip")
    return taken
