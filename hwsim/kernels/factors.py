"""Factors as kernels want them: a word of 32 bits for each code."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.formats import ExponentFormat, FixedFormat, Format
from hwsim.kernels.kernel import Unsuited

Words = NDArray[np.uint32]

SIG_BITS, EXP_OFFSET = 16, 4096
EXP_SHIFT, NEGATIVE_SHIFT, CLASS_SHIFT = 16, 29, 30
FINITE, INFINITE, NAN = 0, 1, 2
MOST_CODE_BITS = 20
AT_ONCE = 1 << 17  # codes that are looked up together


@lru_cache(maxsize=32)
def factor_words(fmt: Format, to: Format, daz: bool) -> Words:
    """A word for each code, its padding left out: significand, exponent + 4096, sign and class, from the low bit up.

    to: the format that is multiplied. The exponent is that of the leading one, not below `to.emin`; a zero has emin.
    daz: subnormals of that format are zeros. Raises Unsuited for factors that are too wide for a word.
    """
    if fmt.bits > MOST_CODE_BITS:
        raise Unsuited(f"{fmt.name} has more than {MOST_CODE_BITS} bits")
    values = fmt.decode(np.arange(1 << fmt.bits, dtype=np.int64) << fmt.padding)
    finite = np.isfinite(values)
    magnitude = np.where(finite, np.abs(values), 0.0)
    if isinstance(to, ExponentFormat):
        exp, bits, fraction_bits = np.where(finite, np.frexp(magnitude)[1] - 1, 0), 1, 0
    elif isinstance(to, FixedFormat):
        exp, bits = np.zeros(values.shape, np.int64), to.fraction_bits + to.integer_bits + 1
        fraction_bits = to.fraction_bits
    else:
        fraction_bits = to.fraction_bits
        exp = np.maximum(np.where(magnitude > 0, np.frexp(magnitude)[1] - 1, to.emin), to.emin)
        bits = fraction_bits + 1
        if daz:
            magnitude = np.where(magnitude < np.ldexp(1.0, to.emin), 0.0, magnitude)
    if bits > SIG_BITS or np.abs(exp).max() > EXP_OFFSET // 4:
        raise Unsuited(f"{to.name} is too wide")
    sig = np.ldexp(magnitude, (fraction_bits - exp).astype(np.intc)).astype(np.int64)
    kind = np.where(finite, FINITE, np.where(np.isnan(values), NAN, INFINITE))
    word = sig | exp + EXP_OFFSET << EXP_SHIFT | np.signbit(values).astype(np.int64) << NEGATIVE_SHIFT
    made: Words = (word | kind << CLASS_SHIFT).astype(np.uint32)
    made.setflags(write=False)
    return made


def words_of(fmt: Format, table: Words, codes: NDArray[Any]) -> Words:
    """The words of codes of a format, in the codes' shape, contiguous."""
    index = codes >> codes.dtype.type(fmt.padding) if fmt.padding else codes
    taken = np.empty(codes.shape, np.uint32)
    # By rows, because NumPy widens an index to 64 bits.
    step = max(1, AT_ONCE // max(codes.shape[1], 1))
    for first in range(0, len(codes), step):
        np.take(table, index[first : first + step], out=taken[first : first + step], mode="clip")
    return taken
