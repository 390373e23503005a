"""What the compiled loops are told of a rule, as integers."""

from __future__ import annotations

from typing import NamedTuple

MULTIPLY, DIVIDE = 1, 2


class Powers(NamedTuple):
    """How blocks get power-of-two scales, and what becomes of the special ones. `hwsim.quantize.fast` makes them.

    add, offset: the exponent is (the bits of amax as a binary64, + add) >> 52, less offset.
    division: 0, or DIVIDE or MULTIPLY for amax that is divided by, or multiplied by the reciprocal of, `largest` first.
    least, most: exponents that the scale has. bias: of its codes. zero, nan: its codes for such blocks.
    zero_is_nan, huge_is_nan: 1 where a block of zeros, or one whose exponent is above `most`, has scale NaN.
    nan_apart, infinity_apart: 1 where those take no part in amax. refused: 1 where any is an error.
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
