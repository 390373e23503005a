"""Compiled arithmetic of the codecs and of random words, on the bits of binary32 numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.extending import intrinsic

from hwsim.base.compiled import compiled, inlined
from hwsim.formats.kind import TILE, EncoderParameters


def _operation(arguments: int, build: Callable[..., Any]) -> Any:
    """An operation with uint32 operands and result. build: makes its value from LLVM's builder and operands."""
    kind = numba.types.uint32

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return build(builder, *values)

    if arguments == 1:
        return intrinsic(lambda typing, a: (kind(kind), generate))
    return intrinsic(lambda typing, a, b: (kind(kind, kind), generate))


left = _operation(2, lambda builder, a, n: builder.shl(a, n))  # n at most 31, of both shifts
right = _operation(2, lambda builder, a, n: builder.lshr(a, n))
xor = _operation(2, lambda builder, a, b: builder.xor(a, b))
below_zero = _operation(1, lambda builder, a: builder.ashr(a, a.type(31)))  # all ones where the first bit is 1
odd = _operation(1, lambda builder, a: builder.neg(builder.and_(a, a.type(1))))  # all ones where the last bit is 1


U = np.uint32
PARITY = U(0x1BD11BDA)


@inlined
def _mix(x: Any, y: Any, n: Any) -> Any:
    x = U(x + y)
    return x, xor(U(left(y, U(n)) | right(y, U(32 - n))), x)


@inlined
def _four(x: Any, y: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    x, y = _mix(x, y, a)
    x, y = _mix(x, y, b)
    x, y = _mix(x, y, c)
    return _mix(x, y, d)


@inlined
def threefry(key: Any, other: Any, low: Any, high: Any) -> Any:
    """Both words of the key (key, other) at the counter (low, high), all of them uint32.

    Where only the first is used, the compiler omits the work for the second.
    """
    third = xor(xor(PARITY, key), other)
    x, y = U(low + key), U(high + other)
    x, y = _four(x, y, 13, 15, 26, 6)
    x, y = U(x + other), U(U(y + third) + U(1))
    x, y = _four(x, y, 17, 29, 16, 24)
    x, y = U(x + third), U(U(y + key) + U(2))
    x, y = _four(x, y, 13, 15, 26, 6)
    x, y = U(x + key), U(U(y + other) + U(3))
    x, y = _four(x, y, 17, 29, 16, 24)
    x, y = U(x + other), U(U(y + third) + U(4))
    x, y = _four(x, y, 13, 15, 26, 6)
    return U(x + third), U(U(y + key) + U(5))


ONES, SIGN, MAGNITUDE = U(0xFFFFFFFF), U(0x80000000), U(0x7FFFFFFF)
FRACTION, HIDDEN, INFINITY = U(0x7FFFFF), U(0x800000), U(0x7F800000)


# A number is a count of steps, codes from zero, and of what it has beyond them.


@compiled
def unpacked(t: Any) -> Any:
    """EncoderParameters from an array; if a loop cast them itself, LLVM would select and shift 64 bits."""
    return EncoderParameters(
        t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[9], t[10], t[11], t[12], t[13], t[14], t[15], t[16],
        t[17], t[18], t[19],
    )  # fmt: skip


@compiled
def _cut(w: Any, low: Any, t: Any) -> Any:
    """The significand, the number of bits that are cut off, the same limited to 31, and the steps that are left.

    low: the biased binary32 exponent of emin, at least 1.
    """
    exp = right(w, U(23)) & U(255)
    unit = max(exp, low)
    sig = U(w & FRACTION) | (HIDDEN if exp != 0 else U(0))
    cut = U(t.first + U(unit - max(exp, U(1))))
    near = min(cut, U(31))
    return sig, cut, near, U(left(U(unit - low), t.fraction_bits) + right(sig, near))


@compiled
def _nearest(w: Any, low: Any, t: Any) -> Any:
    """Rounded steps. A cut of more than 31 bits loses less than half a step, as a cut of 31 does."""
    sig, _, near, steps = _cut(w, low, t)
    lost = left(sig, U(U(32) - near))
    least = xor(xor(t.even, U(odd(steps) & t.turn)), U(below_zero(w) & t.flip))
    return U(steps + (U(1) if lost > least else U(0)))


@compiled
def _random(w: Any, low: Any, t: Any, least: Any, mask: Any) -> Any:
    """Stochastically rounded steps: a step more where the lost bits exceed the complement of the random bits."""
    sig, cut, near, steps = _cut(w, low, t)
    lost = right(left(sig, U(U(32) - near)), min(U(cut - near), U(31)))
    return U(steps + (U(1) if U(lost & mask) > least else U(0)))


@compiled
def _float_code(w: Any, steps: Any, t: Any) -> Any:
    steps = U(max(steps, t.base) - t.base)
    sign, below = U(right(U(w & SIGN), t.narrowing) & (t.zero_sign if steps == 0 else ONES)), below_zero(w)
    cap, limit = U(t.cap + U(below & t.lopsided)), xor(t.limit, U(below & t.limit_turn))
    code = U(left(min(steps, cap), t.padding) | sign)
    return t.over if steps > limit else code


@compiled
def _fixed_code(w: Any, steps: Any, t: Any) -> Any:
    sign = below_zero(w)
    steps = min(steps, U(t.cap + U(sign & t.lopsided)))
    return U(U(xor(steps, sign) - sign) & right(ONES, t.narrowing))


@compiled
def _round(bits: Any, low: Any, t: Any, out: Any) -> None:
    if t.fixed != 0:
        for i in range(out.size):
            out[i] = _fixed_code(bits[i], _nearest(bits[i], low[i], t), t)
    else:
        for i in range(out.size):
            out[i] = _float_code(bits[i], _nearest(bits[i], low[i], t), t)


@compiled
def _round_randomly(bits: Any, low: Any, t: Any, least: Any, mask: Any, out: Any) -> None:
    if t.fixed != 0:
        for i in range(out.size):
            out[i] = _fixed_code(bits[i], _random(bits[i], low[i], t, least[i], mask), t)
    else:
        for i in range(out.size):
            out[i] = _float_code(bits[i], _random(bits[i], low[i], t, least[i], mask), t)


@compiled
def complements(random: Any, offset: int, out: Any) -> None:
    """Masked complements of the first words of `stochastic.threefry2x32`, from the counter + `offset` on.

    Complements, because LLVM does not vectorise a comparison that takes the exclusive or itself.
    """
    key, key_high, mask = U(random.seed_low), U(random.seed_high), U(random.mask)
    start = ((np.uint64(random.counter_high) << np.uint64(32)) | np.uint64(random.counter_low)) + np.uint64(offset)
    first, above = U(start & np.uint64(0xFFFFFFFF)), U(start >> np.uint64(32))
    for i in range(out.size):
        place = U(first + U(i))
        word, _ = threefry(key, key_high, place, U(above + (U(1) if place < first else U(0))))
        out[i] = xor(U(word & mask), ONES)


# Whole arrays.


@compiled
def largest(bits: Any) -> Any:
    """The bits of the largest magnitude, NaNs above infinity."""
    most = U(0)
    for i in range(bits.size):
        most = max(most, U(bits[i] & MAGNITUDE))
    return most


@compiled
def put_special(bits: Any, t: Any, out: Any) -> Any:
    """Write the codes of infinities and NaNs. Returns whether the format lacks any of them."""
    most = U(0)
    for i in range(out.size):
        magnitude = U(bits[i] & MAGNITUDE)
        infinity = t.plus if bits[i] == magnitude else t.minus
        code = infinity if magnitude == INFINITY else U(out[i])
        out[i] = t.nan if magnitude > INFINITY else code
        most = max(most, magnitude)
    return most > INFINITY and t.lacks_nan != 0


@compiled
def codes_of_run(bits: Any, offset: int, low: Any, t: Any, random: Any, least: Any, out: Any) -> None:
    """Codes of finite numbers; the first number takes the random word at `offset`."""
    if random.mask != 0:
        complements(random, offset, least[: out.size])
        _round_randomly(bits, low, t, least, U(random.mask), out)
    else:
        _round(bits, low, t, out)


@compiled
def _round_all(bits: Any, t: Any, out: Any) -> Any:
    """`_round` for numbers that all belong to the same block. Returns their `largest`."""
    low, most = t.low, U(0)
    if t.fixed != 0:
        for i in range(out.size):
            out[i] = _fixed_code(bits[i], _nearest(bits[i], low, t), t)
            most = max(most, U(bits[i] & MAGNITUDE))
    else:
        for i in range(out.size):
            out[i] = _float_code(bits[i], _nearest(bits[i], low, t), t)
            most = max(most, U(bits[i] & MAGNITUDE))
    return most


@compiled
def encode(bits: Any, parameters: Any, out: Any) -> bool:
    """Write codes of binary32 numbers; False if the format lacks any."""
    t = unpacked(parameters)
    for start in range(0, bits.size, TILE):
        tile, codes = bits[start : start + TILE], out[start : start + TILE]
        if _round_all(tile, t, codes) >= INFINITY and put_special(tile, t, codes):
            return False
    return True


@compiled
def encode_randomly(bits: Any, offset: int, parameters: Any, random: Any, out: Any) -> bool:
    """`encode`, stochastically. offset: place of the first random word."""
    t = unpacked(parameters)
    low, least = np.full(TILE, t.low, np.uint32), np.empty(TILE, np.uint32)
    for start in range(0, bits.size, TILE):
        tile, codes = bits[start : start + TILE], out[start : start + TILE]
        codes_of_run(tile, offset + start, low, t, random, least, codes)
        if largest(tile) >= INFINITY and put_special(tile, t, codes):
            return False
    return True
