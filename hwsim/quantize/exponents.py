"""The exponents of shared scales, on integers: no logarithm is taken, so none is rounded.

A magnitude is sig * 2^(exp - 52) with sig in [2^52, 2^53), as `hwsim.formats.exact.ExactNumbers` has it.
"""

from __future__ import annotations

import numpy as np

from hwsim.formats.rounding import Ints

ONE = 1 << 52  # the significand of a power of two


def floor_exponent(sig: Ints, exp: Ints, emax: int, fraction_bits: int) -> Ints:
    """floor(log2(magnitude)) - emax."""
    return exp - emax


def ceil_exponent(sig: Ints, exp: Ints, emax: int, fraction_bits: int) -> Ints:
    """ceil(log2(magnitude)) - emax."""
    carry: Ints = (sig != ONE).astype(np.int64)
    return exp + carry - emax


def even_exponent(sig: Ints, exp: Ints, emax: int, fraction_bits: int) -> Ints:
    """floor(log2(magnitude + half an ulp)) - emax, the ulp that of fraction_bits (at most 51) below its leading one."""
    return exp + (sig + (1 << 51 - fraction_bits) >> 53) - emax
