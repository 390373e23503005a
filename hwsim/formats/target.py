"""Formats and roundings as the compiled arithmetic has them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.formats.codec import Missing, Overflow, encode_reference
from hwsim.formats.format import FixedFormat, FloatFormat, Format
from hwsim.formats.parameters import Target
from hwsim.formats.rounding import Rounding

HALF, ONES = 1 << 31, (1 << 32) - 1
MOST_FRACTION_BITS = 22  # of 23: a number is cut by at least one bit

# even, turn, flip: a magnitude goes up where its lost bits are above these.
LEAST = {
    Rounding.RNE: (HALF, ONES, 0),
    Rounding.RNA: (HALF - 1, 0, 0),
    Rounding.RZ: (ONES, 0, 0),
    Rounding.RU: (0, 0, ONES),
    Rounding.RD: (ONES, 0, ONES),
    Rounding.RTO: (0, ONES, 0),
}


@lru_cache(maxsize=128)
def target(fmt: Format, rounding: str, overflow: Overflow, missing: Missing) -> Target | None:
    """What the loops are told of a format, or None for one that is not theirs.

    Theirs are formats of at most 22 fraction bits whose numbers that count as normal are normal binary32 numbers:
    signed floats with subnormals or with `underflow: zero`, and two's complement. rounding: `stochastic` too.
    """
    even, turn, flip = LEAST.get(rounding, (0, 0, 0))  # type: ignore[call-overload]
    if isinstance(fmt, FixedFormat):
        found = _fixed(fmt)
    elif isinstance(fmt, FloatFormat) and fmt.signed and fmt.emax <= 127:
        found = _float(fmt, overflow)
    else:
        return None
    if not (0 <= found["fraction_bits"] <= MOST_FRACTION_BITS and found["low"] >= 1):
        return None
    plus, minus = encode_reference(fmt, [np.inf, -np.inf], overflow=overflow).tolist()
    lacks_nan = not fmt.has_nan and missing is Missing.ERROR
    nan = 0 if lacks_nan else int(encode_reference(fmt, np.nan, missing=missing))
    return Target(
        **found, first=23 - found["fraction_bits"], even=even, turn=turn, flip=flip, narrowing=32 - fmt.container_bits,
        plus=plus, minus=minus, nan=nan, lacks_nan=int(lacks_nan),
    )  # fmt: skip


def _float(fmt: FloatFormat, overflow: Overflow) -> dict[str, int]:
    # Where the least number stands alone above zero, neither binade nor ulp says what a smaller one is rounded by.
    theirs = fmt.subnormals or (fmt.underflow == "zero" and fmt.fraction_bits > 0)
    beyond = overflow is Overflow.INFINITY  # whose magnitude follows the largest number's
    to_nan = overflow is Overflow.NAN
    return {
        "fraction_bits": fmt.fraction_bits if theirs else -1, "low": fmt.emin + 127,
        "base": 0 if fmt.subnormals else 1 << fmt.fraction_bits, "cap": fmt.max_magnitude + beyond,
        "limit": fmt.max_magnitude if to_nan else ONES, "over": (fmt.canonical_nan or 0) if to_nan else 0,
        "padding": fmt.padding, "zero_sign": ONES if fmt.signed_zero else 0, "fixed": 0, "lopsided": 0,
    }  # fmt: skip


def _fixed(fmt: FixedFormat) -> dict[str, int]:
    # Its magnitudes are the subnormals of a float with a fraction as long; the first normal one is the negative end.
    return {
        "fraction_bits": fmt.bits - 1, "low": fmt.integer_bits + 127, "base": 0, "cap": (1 << fmt.bits - 1) - 1,
        "limit": ONES, "over": 0, "padding": 0, "zero_sign": 0, "fixed": 1, "lopsided": 1,
    }  # fmt: skip


@lru_cache(maxsize=128)
def packed(found: Target) -> NDArray[np.uint32]:
    """As the loops take it."""
    words: Any = [int(word) for word in found]
    return np.array(words, np.uint32)
