"""Bits of floats where arithmetic cannot say it: float32 and float64 alike, element by element or in vectors.

Each function is written in LLVM's own language, as in `lanes`.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from hwsim.kernels.vector_code import Builder, Value

EXPONENT = {32: 0x7F800000, 64: 0x7FF0000000000000}


def _binade(_: Value, x: Value) -> Value:
    """The largest power of two that is not above x. x: normal and above zero."""
    if not isinstance(x, types.Float):
        return None

    def code(context: Value, builder: Builder, signature: Value, arguments: Value) -> Value:
        bits = _as_bits(builder, arguments[0])
        return builder.bitcast(builder.and_(bits, bits.type(EXPONENT[bits.type.width])), arguments[0].type)

    return x(x), code


def _jam(_: Value, x: Value, rest: Value) -> Value:
    """x + rest, rounded to odd: x itself if rest is zero or NaN, else that of the two floats around it that is odd.

    rest: at most half an ulp of x in magnitude, as the error of an addition is.
    """
    if not isinstance(x, types.Float) or x != rest:
        return None

    def code(context: Value, builder: Builder, signature: Value, arguments: Value) -> Value:
        bits, of_rest = (_as_bits(builder, argument) for argument in arguments)
        inexact = builder.fcmp_ordered("one", arguments[1], arguments[1].type(0.0))
        # Towards zero first: one less in magnitude where the rest has the other sign. Then the last bit is set.
        other_sign = builder.icmp_signed("<", builder.xor(bits, of_rest), bits.type(0))
        bits = builder.sub(bits, builder.zext(builder.and_(other_sign, inexact), bits.type))
        bits = builder.or_(bits, builder.zext(inexact, bits.type))
        return builder.bitcast(bits, arguments[0].type)

    return x(x, x), code


def _drop_bits(_: Value, x: Value, drop: Value) -> Value:
    """x without its last `drop` bits, to nearest, ties to even; infinities and NaNs are left alone.

    That is the rounding to a format whose exponents are those of x's type. drop: 1 or more.
    """
    if not isinstance(x, types.Float) or not isinstance(drop, types.Integer):
        return None

    def code(context: Value, builder: Builder, signature: Value, arguments: Value) -> Value:
        bits = _as_bits(builder, arguments[0])
        kind = bits.type
        drop = builder.trunc(arguments[1], kind) if kind.width < 64 else arguments[1]
        unit = builder.shl(kind(1), drop)
        odd = builder.and_(builder.lshr(bits, drop), kind(1))
        half = builder.sub(builder.lshr(unit, kind(1)), kind(1))
        kept = builder.and_(builder.add(bits, builder.add(half, odd)), builder.neg(unit))
        nan = builder.fcmp_unordered("uno", arguments[0], arguments[0])
        return builder.select(nan, arguments[0], builder.bitcast(kept, arguments[0].type))

    return x(x, types.int64), code


def _fma(_: Value, x: Value, y: Value, z: Value) -> Value:
    """x * y + z, rounded once, to nearest."""
    if not isinstance(x, types.Float) or not x == y == z:
        return None

    def code(context: Value, builder: Builder, signature: Value, arguments: Value) -> Value:
        return builder.fma(*arguments)

    return x(x, x, x), code


def _as_bits(builder: Builder, x: Value) -> Value:
    return builder.bitcast(x, ir.IntType(32 if isinstance(x.type, ir.FloatType) else 64))


binade: Callable[[float], float] = intrinsic(_binade)
jam: Callable[[float, float], float] = intrinsic(_jam)
drop_bits: Callable[[float, int], float] = intrinsic(_drop_bits)
fma: Callable[[float, float, float], float] = intrinsic(_fma)
