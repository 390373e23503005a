"""Quotients that a narrow format rounds as it would round the exact ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SPLITTER = 134217729.0  # 2^27 + 1, Veltkamp's for 53 bits
TINY, HUGE = 2.0**-1022, float(np.finfo(np.float64).max)


def shifted(x: Floats, exp: NDArray[np.integer]) -> Floats:
    """x * 2^exp, exact, or a stand-in that rounds to the same code.

    float64's largest number stands for results beyond it, its least normal number for results below its normal
    numbers: `encode` gives both the same code, in a format with numbers in between.
    """
    with np.errstate(over="ignore", under="ignore"):
        scaled = np.ldexp(x, exp.astype(np.intc))
    magnitude = np.abs(scaled)
    wrong = (np.isinf(magnitude) & ~np.isinf(x)) | ((magnitude < TINY) & (x != 0))
    if not wrong.any():
        return np.asarray(scaled)
    return np.where(wrong, np.copysign(np.where(magnitude > 1, HUGE, TINY), x), scaled)


def quotient(x: Floats, scale: Floats) -> Floats:
    """x / scale, rounded to odd at 53 bits; at 51 bits or fewer it rounds to what the exact quotient rounds to.

    scale: numbers above 0. Infinities and NaNs of x pass through. Ends of the range as in `shifted`.
    (Boldo and Melquiond 2008 for round to odd; Dekker 1971 for the exact product.)
    """
    finite = np.isfinite(x)
    top, exp = np.frexp(np.where(finite, x, 0.0))
    bottom, scale_exp = np.frexp(scale)
    near = np.asarray(top / bottom)
    product, error = _product(near, bottom)
    # The remainder of a rounded quotient is a float64, and so is every step to it.
    rest = (top - product) - error
    beyond = (rest != 0) & ((rest < 0) != (near < 0))
    cut = np.where(beyond, np.nextafter(near, 0.0), near)
    bits = cut.view(np.int64) | (rest != 0)
    return np.where(finite, shifted(bits.view(np.float64), exp - scale_exp), x)


def _product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """a * b as a float64, and its rounding error."""
    product = a * b
    a_high, b_high = _high(a), _high(b)
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _high(a: Floats) -> Floats:
    """The upper 26 bits."""
    spread = SPLITTER * a
    return np.asarray(spread - (spread - a))
