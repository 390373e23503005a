"""A rule's settings as integers for the compiled loops."""

from __future__ import annotations

from typing import NamedTuple

MULTIPLY, DIVIDE = 1, 2


class Powers(NamedTuple):
    """How blocks get power-of-two scales, and what special blocks get. `hwsim.quantize.fast` makes it.

    add, offset: the exponent is (the bits of amax as a binary64, + add) >> 52, less offset.
    division: 0; DIVIDE where amax is first divided by `largest`, MULTIPLY where it is multiplied by its reciprocal.
    least, most: limits of the scale's exponent. bias: of its codes. zero, nan: its codes for such blocks.
    zero_is_nan, huge_is_nan: 1 where a block of zeros, or one whose exponent is above `most`, has scale NaN.
    nan_apart, infinity_apart: 1 where NaNs, or infinities, take no part in amax. refused: 1 where either is an
    error, or an infinity counts in amax: such arrays are left to NumPy code.
    flush: 1 where subnormal inputs are zeros. emin: of the elements. dead: the code of an element under scale NaN.
    """

    add: int
    offset: int
    division: int
    least: int
    most: int
    bias: int
    zero: int
    nan: int
    zero_is_nan: int
    huge_is_nan: int
    nan_apart: int
    infinity_apart: int
    refused: int
    flush: int
    emin: int
    dead: int
