"""What a unit promises of its results, as testbenches compare them."""

from __future__ import annotations

from hwsim.formats import FloatFormat
from hwsim.spec import Unpromised
from hwsim.tb.board import OtherCodes
from hwsim.tb.job import ANY_NAN, ANY_ZERO, NO_OTHER


def other_codes(left_out: Unpromised) -> OtherCodes:
    """The codes that are as good as an expected one. left_out: what the unit does not promise."""
    nans = left_out.nans
    return OtherCodes(
        nan_mask=(nans.sign_bit - 1) << nans.padding if nans else 0,
        nan_above=largest_number(nans) if nans else 0,
        minus_zero=left_out.minus_zero or 0,
    )


def which_others(left_out: Unpromised, code: int) -> int:
    """Which other codes will do where this one is expected: NO_OTHER, ANY_NAN or ANY_ZERO."""
    nans, minus_zero = left_out.nans, left_out.minus_zero
    if nans is not None and nans.is_nan(code >> nans.padding):
        return ANY_NAN
    return ANY_ZERO if minus_zero is not None and code in (0, minus_zero) else NO_OTHER


def largest_number(fmt: FloatFormat) -> int:
    """The magnitude's code above which all are NaN."""
    bare = fmt.infinity_magnitude if fmt.infinity_magnitude is not None else fmt.max_magnitude
    return int(bare) << fmt.padding
