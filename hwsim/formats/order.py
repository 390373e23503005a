"""Codes in the order of their values, without decoding them."""

from __future__ import annotations

from typing import Any

import numpy as np

from hwsim.formats.codes import codes_of
from hwsim.formats.format import ExponentFormat, FixedFormat, Format
from hwsim.formats.rounding import Ints


def order_key(fmt: Format, codes: Any) -> Ints:
    """An integer for every code, in the argument's shape: less, equal or greater as the codes' values are.

    A float's code is a sign and a magnitude, and its key is that integer: both zeros have key 0. A fixed format's is
    the two's complement, an exponent format's the code.
    NaNs have keys beyond every number's and infinity's, on the side where their code stands: above, below with a sign,
    and below for a NaN that has the code of negative zero, or of an exponent format's low end.
    codes: as `codes_of` takes them; its errors.
    """
    code = codes_of(fmt, codes).astype(np.int64) >> fmt.padding
    if isinstance(fmt, FixedFormat):
        return code - (code >> (fmt.bits - 1) << fmt.bits)
    if isinstance(fmt, ExponentFormat):
        return code
    magnitude = code & (fmt.sign_bit - 1)
    key = np.where(code & fmt.sign_bit, -magnitude, magnitude)
    if fmt.is_nan(fmt.sign_bit):
        key = np.where(code == fmt.sign_bit, -fmt.sign_bit, key)
    return key
