"""What quantising must give, by exact rationals, a block at a time: nothing of hwsim, no logarithm, no floats.

An element format is its numbers, found from its definition; rounding is a search among them.
"""

from __future__ import annotations

import bisect
from fractions import Fraction
from functools import cache

# exponent bits, fraction bits, bias, largest number
FLOATS = {
    "e4m3": (4, 3, 7, Fraction(448)),
    "e5m2": (5, 2, 15, Fraction(57344)),
    "e3m2": (3, 2, 3, Fraction(28)),
    "e2m3": (2, 3, 1, Fraction(15, 2)),
    "e2m1": (2, 1, 1, Fraction(6)),
    "ue4m3": (4, 3, 7, Fraction(448)),
}
# bits below the point, largest number, in units of the last place
FIXED = {"mxint8": (6, 127), "int8": (0, 127)}
LEAST_SINGLE = Fraction(1, 1 << 149)
GREATEST_SINGLE = Fraction((1 << 24) - 1) * (1 << 104)


@cache
def numbers(element: str) -> list[Fraction]:
    """Every number of a format that is not negative, in order: its place is its code."""
    if element in FIXED:
        fraction_bits, most = FIXED[element]
        return [Fraction(code, 1 << fraction_bits) for code in range(most + 1)]
    _, fraction_bits, bias, most = FLOATS[element]
    found, code = [], 0
    while not found or found[-1] < most:
        bexp, frac = divmod(code, 1 << fraction_bits)
        one = Fraction(frac, 1 << fraction_bits) + (bexp > 0)
        found.append(one * Fraction(2) ** (max(bexp, 1) - bias))
        code += 1
    return found


def largest(element: str) -> Fraction:
    return numbers(element)[-1]


def rounded(element: str, x: Fraction, ties: str = "rne") -> Fraction:
    """The nearest number of a format; the largest for all above."""
    ladder = numbers(element)
    size = abs(x)
    if size >= ladder[-1]:
        return -ladder[-1] if x < 0 else ladder[-1]
    lower = bisect.bisect_right(ladder, size) - 1
    gap = ladder[lower + 1] - ladder[lower]
    past = size - ladder[lower]
    up = past * 2 > gap or (past * 2 == gap and (ties == "rna" or lower % 2 == 1))
    found = ladder[lower + up]
    return -found if x < 0 else found


def single(x: Fraction) -> Fraction:
    """The nearest binary32 number, ties to even; no overflow."""
    if x == 0:
        return x
    unit = max(power_below(abs(x)) / (1 << 23), LEAST_SINGLE)
    whole, rest = divmod(abs(x), unit)
    whole += rest * 2 > unit or (rest * 2 == unit and whole % 2 == 1)
    return whole * unit * (-1 if x < 0 else 1)


def power_below(x: Fraction) -> Fraction:
    """The largest power of two that is not above x."""
    power = Fraction(1)
    while power > x:
        power /= 2
    while power * 2 <= x:
        power *= 2
    return power


def power_above(x: Fraction) -> Fraction:
    """The smallest power of two that is not below x."""
    below = power_below(x)
    return below if below == x else 2 * below


def mx_scale(element: str, amax: Fraction, select: str) -> Fraction:
    """A power of two, within E8M0's; 2^-127 for zeros."""
    if amax == 0:
        return Fraction(1, 1 << 127)
    top = power_below(largest(element))
    ulp = largest(element) - numbers(element)[-2]  # of the largest binade
    if select == "floor":
        scale = power_below(amax) / top
    elif select == "ceil":
        scale = power_above(amax) / top
    elif select == "even":
        binade = power_below(amax)
        scale = power_below(amax + ulp / top * binade / 2) / top
    elif select == "rceil":
        quotient = single(single(amax) / largest(element))
        scale = power_above(quotient) if quotient else Fraction(0)
    else:
        quotient = single(single(amax) * single(1 / largest(element)))
        scale = power_above(quotient) if quotient else Fraction(0)
    return min(max(scale, Fraction(1, 1 << 127)), Fraction(1 << 127))


def mx_block(
    element: str, xs: list[Fraction], select: str = "floor", ties: str = "rne", least: Fraction = Fraction(0)
) -> tuple[Fraction, list[Fraction]]:
    """The scale of a block, and the numbers that its elements stand for, the scale not counted. least: of amax."""
    scale = mx_scale(element, max(least, *map(abs, xs)), select)
    return scale, [rounded(element, x / scale, ties) for x in xs]


def divided_block(
    element: str, xs: list[Fraction], apply: str, least: Fraction = Fraction(0)
) -> tuple[Fraction, list[Fraction]]:
    """The same under a binary32 scale, amax / largest; 1 for zeros."""
    amax = max(least, *map(abs, xs))
    if amax == 0:
        return Fraction(1), [Fraction(0)] * len(xs)
    if apply == "multiply":
        factor = single(largest(element) / amax)
        return single(1 / factor), [rounded(element, single(x * factor)) for x in xs]
    scale = max(single(amax / largest(element)), LEAST_SINGLE)
    if apply == "reciprocal":
        inverse = single(1 / scale)
        return scale, [rounded(element, single(x * inverse)) for x in xs]
    if apply == "exact":
        return scale, [rounded(element, x / scale) for x in xs]
    return scale, [rounded(element, single(x / scale)) for x in xs]


def nvfp4(
    blocks: list[list[Fraction]], second: str, apply: str = "divide", least: Fraction | None = None,
    given: Fraction | None = None,
) -> tuple[Fraction, list[Fraction], list[list[Fraction]]]:  # fmt: skip
    """The tensor's scale, the blocks', and what elements stand for, without their scales.

    second: none, multiply, divide, reciprocal. apply: divide, reciprocal, tensor-reciprocal, or transformer-engine,
    which is reciprocal with factors limited to binary32's largest number. given: the tensor's scale.
    """
    amax = max(abs(x) for block in blocks for x in block)
    g = factor = Fraction(1)
    if given is not None:
        g, factor = given, single(1 / given)
    elif second in ("multiply", "reciprocal") and amax:
        factor = single(2688 / amax)
        g = single(1 / factor)
    elif second == "divide" and amax:
        g = single(amax / 2688)
    least = least if least is not None else Fraction(1, 64) if second == "divide" else Fraction(0)
    scales, elements = [], []
    for block in blocks:
        most = max(map(abs, block))
        if second == "reciprocal":
            wanted = single(most * single(factor * single(Fraction(1, 6))))
        else:
            wanted = single(single(most / 6) / g) if second == "divide" else single(single(most / 6) * factor)
        scale = max(rounded("ue4m3", wanted), least)
        scales.append(scale)
        elements.append([rounded("e2m1", _applied(x, scale, g, apply)) for x in block])
    return g, scales, elements


def _applied(x: Fraction, scale: Fraction, g: Fraction, apply: str) -> Fraction:
    """An element in units of its scales."""
    whole = single(scale * g)
    if whole == 0:
        return x * GREATEST_SINGLE if apply == "transformer-engine" else Fraction(0)
    if apply == "divide":
        return single(x / whole)
    if apply == "tensor-reciprocal":
        return single(x * single(single(1 / g) / scale))
    return single(x * single(1 / whole))
