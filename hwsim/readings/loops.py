"""All 40 readings of many dot products, compiled: a second implementation of `hwsim.readings.reader`.

A reading's number is its index in READINGS: lost * 8 + leading * 4 + late * 2 + two.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hwsim.compiled import compiled, inlined
from hwsim.readings.integers import (
    EMIN,
    FRACTION,
    PADDING,
    RD,
    RNE,
    ROUNDING,
    RTO,
    RZ,
    SIGN_BIT,
    add_to,
    cut,
    decoded,
    gathered,
    length,
    rounded,
)

# The settings of a unit, as a row of integers.
(
    LANES, GROUPS, WINDOW, PRODUCT_BITS, FLOOR, COUNT_ZEROS, HAS_ADDEND, BY_INSTRUCTION, BEATS, LOWEST, LIMBS,
) = range(11)  # fmt: skip
# The rows of formats: of the addend, of a group's result, of a late addition, of the promotion register.
ADDEND, RESULT, LATE, REGISTER = range(4)
NONE = -(1 << 40)  # an exponent below all
EXACT = 4


@compiled
def _max_exp(sig: Any, unit: Any, first: int, s: Any, leading: bool) -> int:
    """The largest exponent of a group's products; NONE where all are zero."""
    most = NONE
    for i in range(first, first + s[LANES]):
        if sig[i]:
            exp = unit[i] + (length(abs(sig[i])) - 1 if leading else s[PRODUCT_BITS])
            most = max(most, exp)
    return most


@compiled
def _zeros_exp(sig: Any, unit: Any, first: int, s: Any) -> int:
    """The largest reference exponent of a group's zero products."""
    most = NONE
    for i in range(first, first + s[LANES]):
        if sig[i] == 0:
            most = max(most, unit[i] + s[PRODUCT_BITS])
    return most


@inlined
def _aligned(sig: int, unit_exp: int, last: int, rounding: int) -> int:
    """A term in units of 2^last."""
    kept = cut(abs(sig), last - unit_exp, 1 if sig < 0 else 0, rounding)
    return -kept if sig < 0 else kept


@compiled
def _plus(words: Any, s: Any, fmt: Any, x: int, x_exp: int, x_sign: int, y: int, y_exp: int, y_sign: int) -> Any:
    """The code of x + y, rounded once, with IEEE 754's signs of zero; -1 where the sum is too large."""
    words[:] = 0
    add_to(words, s[LOWEST], x, x_exp)
    add_to(words, s[LOWEST], y, y_exp)
    sign, total, place = gathered(words)
    if total == 0:
        sign = x_sign if x_sign == y_sign else (1 if fmt[ROUNDING] == RD else 0)
        return (sign * fmt[SIGN_BIT]) << fmt[PADDING]
    return rounded(fmt, sign, total, place + s[LOWEST])


@compiled
def evaluate(sig: Any, unit: Any, c: Any, s: Any, formats: Any, out: Any) -> None:
    """Write the result codes of all readings; -1 where a sum is too large for a format.

    sig, unit: int64[n, K]; the products, signed significands and the exponents of their units, in the order of groups.
    c: int64[n], finite codes. s, formats: the unit. out: int64[n, 40].
    """
    words, products = np.zeros(s[LIMBS], np.int64), np.zeros(s[LIMBS], np.int64)
    tops, zeros, every = np.zeros(2, np.int64), np.zeros(1, np.int64), formats
    partial, added, register = np.zeros(40, np.int64), np.zeros(40, np.int64), np.zeros(40, np.int64)
    modes = np.array([RZ, RD, RNE, RTO, RZ])
    addend, result, late_fmt, promoted = every[ADDEND], every[RESULT], every[LATE], every[REGISTER]
    lanes, lowest, beats = s[LANES], s[LOWEST], s[BEATS]
    for n in range(len(sig)):
        count = sig.shape[1] // lanes
        out[n, :] = 0
        for group in range(count):
            first = group * lanes
            products[:] = 0
            for i in range(first, first + lanes):
                add_to(products, lowest, sig[n, i], unit[n, i])
            tops[0] = _max_exp(sig[n], unit[n], first, s, False)
            tops[1] = _max_exp(sig[n], unit[n], first, s, True)
            zeros[0] = _zeros_exp(sig[n], unit[n], first, s) if s[COUNT_ZEROS] else NONE
            last_group = group % s[GROUPS] == s[GROUPS] - 1
            first_group = group % s[GROUPS] == 0
            restart = beats > 0 and group % beats == 0
            for r in range(40):
                if out[n, r] < 0:
                    continue
                lost, leading, late, two = r >> 3, (r >> 2) & 1, (r >> 1) & 1, r & 1
                by_instruction = s[BY_INSTRUCTION] == 1
                # What stands in the window beside the products, and what comes late: significand, exponent, sign.
                inside, inside_exp, inside_unit, has_inside = 0, result[EMIN], 0, True
                outer, outer_unit, outer_sign, has_outer = 0, 0, 0, False
                start_sig, start_exp, start_unit, start_sign, has_start = 0, result[EMIN], 0, 0, True
                if restart or (late and by_instruction and first_group):
                    pass
                elif group == 0:
                    has_start = s[HAS_ADDEND] == 1
                    if has_start:
                        start_sig, start_exp = decoded(addend, c[n])
                        start_unit = start_exp - addend[FRACTION]
                        start_sign = (c[n] >> addend[PADDING]) // addend[SIGN_BIT] & 1
                else:
                    start_sig, start_exp = decoded(result, partial[r])
                    start_unit = start_exp - result[FRACTION]
                    start_sign = (partial[r] >> result[PADDING]) // result[SIGN_BIT] & 1
                if late and not by_instruction:
                    outer, outer_unit, outer_sign, has_outer = start_sig, start_unit, start_sign, has_start
                    has_inside = False
                else:
                    inside, inside_exp, inside_unit, has_inside = start_sig, start_exp, start_unit, has_start
                    if late and last_group:
                        has_outer = True
                        if group < s[GROUPS]:
                            outer, outer_exp = decoded(addend, c[n])
                            outer_unit = outer_exp - addend[FRACTION]
                            outer_sign = (c[n] >> addend[PADDING]) // addend[SIGN_BIT] & 1
                        else:
                            outer, outer_exp = decoded(late_fmt, added[r])
                            outer_unit = outer_exp - late_fmt[FRACTION]
                            outer_sign = (added[r] >> late_fmt[PADDING]) // late_fmt[SIGN_BIT] & 1
                # The window's sum: total * 2^total_unit.
                top = tops[leading]
                if has_inside and inside:
                    top = max(top, inside_exp)
                wide = lost == EXACT or (has_outer and not two)
                total, total_unit, sign = 0, 0, 0
                if top > NONE and lost != EXACT:
                    if s[COUNT_ZEROS]:
                        top = max(top, zeros[0])
                        if has_inside and inside == 0:
                            top = max(top, inside_exp)
                    top = max(top, s[FLOOR])
                    total_unit, mode = top - s[WINDOW], modes[lost]
                    for i in range(first, first + lanes):
                        if sig[n, i]:
                            total += _aligned(sig[n, i], unit[n, i], total_unit, mode)
                    if has_inside and inside:
                        total += _aligned(inside, inside_unit, total_unit, mode)
                if wide:
                    if lost == EXACT:
                        words[:] = products
                        if has_inside:
                            add_to(words, lowest, inside, inside_unit)
                    else:
                        words[:] = 0
                        add_to(words, lowest, total, total_unit)
                    if has_outer and not two:
                        add_to(words, lowest, outer, outer_unit)
                    sign, total, total_unit = gathered(words)
                    total_unit += lowest
                else:
                    sign = 1 if total < 0 else 0
                    total = abs(total)
                if two and not late and total:
                    shift = length(total) - 1 - s[WINDOW]
                    if shift > 0:
                        total = cut(total, shift, sign, modes[lost])
                        total_unit += shift
                code = rounded(result, sign, total, total_unit) if total else 0
                if two and has_outer and code >= 0:
                    x, exp = decoded(result, code)
                    x_sign = (code >> result[PADDING]) // result[SIGN_BIT] & 1
                    code = _plus(words, s, late_fmt, outer, outer_unit, outer_sign, x, exp - result[FRACTION], x_sign)
                if has_outer and by_instruction:
                    added[r] = code
                else:
                    partial[r] = code
                if beats > 0 and code >= 0 and (group % beats == beats - 1 or group == count - 1):
                    if group < beats:
                        register[r] = c[n] if s[HAS_ADDEND] else 0
                    y, y_exp = decoded(promoted, register[r])
                    x, exp = decoded(result, code)
                    code = _plus(
                        words, s, promoted, y, y_exp - promoted[FRACTION],
                        (register[r] >> promoted[PADDING]) // promoted[SIGN_BIT] & 1,
                        x, exp - result[FRACTION], (partial[r] >> result[PADDING]) // result[SIGN_BIT] & 1,
                    )  # fmt: skip
                    register[r] = code
                if code < 0:
                    out[n, r] = -1
                elif group == count - 1:
                    out[n, r] = code
