"""What a unit promises of its results, as testbenches compare them."""

from __future__ import annotations

from hwsim.formats import FloatFormat
from hwsim.spec import Unpromised
from hwsim.tb.job import SameCodes


def same_codes(left_out: Unpromised) -> SameCodes:
    """The codes that count as equal. left_out: what the unit does not promise."""
    nans = left_out.nans
    return SameCodes(
        nan_mask=(nans.sign_bit - 1) << nans.padding if nans else 0,
        nan_above=largest_number(nans) if nans else 0,
        minus_zero=left_out.minus_zero or 0,
    )


def largest_number(fmt: FloatFormat) -> int:
    """The magnitude's code above which all are NaN."""
    bare = fmt.infinity_magnitude if fmt.infinity_magnitude is not None else fmt.max_magnitude
    return int(bare) << fmt.padding
