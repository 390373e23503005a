"""Codes as numbers for compiled code, exact: as float64s, as factors and scales of a unit, and as words of 32 bits."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import gcd
from typing import Literal, NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from hwsim.base.compiled import compiled
from hwsim.base.errors import InputError
from hwsim.compute.kernels.floats import CarrierType
from hwsim.compute.kernels.kernel import lane_indices
from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, Format
from hwsim.formats.codes import Codes
from hwsim.spec import Unit
from hwsim.spec.keys import Number, ZeroSigns
from hwsim.spec.ranges import exponent_range, extent, span_of

Floats = NDArray[np.float64]
TABLE_BITS = 16
FRACTION, EXPONENT = (1 << 52) - 1, 0x7FF << 52


@lru_cache(maxsize=64)
def decode_table(fmt: Format) -> Floats:
    """The value of every code of a format of at most 16 bits, padding counted. Read-only."""
    if fmt.container_bits > TABLE_BITS:
        raise InputError(f"{fmt.name} has codes of {fmt.container_bits} bits, more than {TABLE_BITS}")
    bare = np.arange(1 << fmt.container_bits - fmt.padding)
    # Of what is not zero below a code there is one NaN; all else is refused before.
    table = np.repeat(fmt.decode(bare << fmt.padding), 1 << fmt.padding)
    table.setflags(write=False)
    return table


def values_of(fmt: Format, codes: Codes, out: Floats | None = None) -> Floats:
    """The values of codes, in their shape, contiguous; in `out`, where that is given.

    NaNs and infinities are float64's.
    """
    if out is not None and isinstance(fmt, FloatFormat) and is_binary32(fmt):
        with np.errstate(invalid="ignore"):
            np.copyto(out, codes.astype(np.uint32, copy=False).view(np.float32))
        return out
    if out is not None:
        out[...] = values_of(fmt, codes)
        return out
    if fmt.container_bits <= TABLE_BITS:
        return np.ascontiguousarray(np.take(decode_table(fmt), codes))
    if fmt.container_bits == 64:
        return np.ascontiguousarray(codes, np.uint64).view(np.float64)
    if isinstance(fmt, FloatFormat) and is_binary32(fmt):
        # A NaN may be a signalling one.
        with np.errstate(invalid="ignore"):
            return np.ascontiguousarray(codes, dtype=np.uint32).view(np.float32).astype(np.float64)
    return np.ascontiguousarray(fmt.decode(codes))


def is_binary32(fmt: FloatFormat) -> bool:
    """True if codes are binary32's: f32, tf32, e8m13."""
    signs = fmt.signed and fmt.subnormals
    return signs and (fmt.container_bits, fmt.exponent_bits, fmt.bias, fmt.nan) == (32, 8, 127, "ieee")


class Coding(NamedTuple):
    """A format's codes. infinity, nan: codes in the container. emin: the least exponent of a normal number."""

    fraction_bits: int
    bias: int
    emin: int
    sign: int
    padding: int
    infinity: int
    nan: int


def coding_of(fmt: FloatFormat, nan: int | None = None) -> Coding:
    """The codes of a format. nan: the container's code of NaN, where it is not the canonical one."""
    canonical = fmt.canonical_nan or 0
    return Coding(
        fraction_bits=fmt.fraction_bits,
        bias=fmt.bias,
        emin=fmt.emin,
        sign=fmt.sign_bit << fmt.padding,
        padding=fmt.padding,
        infinity=(fmt.infinity_magnitude or 0) << fmt.padding,
        nan=canonical if nan is None else nan,
    )


def codes_of(values: Floats, fmt: Number, out: NDArray[np.uint32], nan: int | None = None) -> None:
    """Write the container's codes of values, each of which is one of the format's, to `out`, of the same shape (m, n).

    nan: the code of NaN, where it is not the format's canonical one. Zeros have the signs that they are to have.
    """
    if isinstance(fmt, FixedFormat):
        scaled = np.ldexp(values, fmt.fraction_bits).astype(np.int64)
        out[...] = (scaled & ((1 << fmt.bits) - 1)).astype(np.uint32)
        return
    coding = coding_of(fmt, nan)
    if is_binary32(fmt):
        _encode_binary32(values, coding.nan, out)
    else:
        _encode(values.view(np.int64), coding, out)


@compiled
def _encode_binary32(values: Floats, nan: int, out: NDArray[np.uint32]) -> None:
    """Codes that are binary32's, of which all values are numbers."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            code = np.float32(values[i, j]).view(np.uint32)
            out[i, j] = np.uint32(nan) if np.isnan(values[i, j]) else code


@compiled
def _encode(bits: NDArray[np.int64], coding: Coding, out: NDArray[np.uint32]) -> None:
    drop = 52 - coding.fraction_bits
    for i in range(bits.shape[0]):
        for j in range(bits.shape[1]):
            magnitude = bits[i, j] & (EXPONENT | FRACTION)
            exp = (magnitude >> 52) - 1023
            if exp >= coding.emin:
                code = ((exp + coding.bias) << coding.fraction_bits) + ((magnitude & FRACTION) >> drop)
            else:
                # A subnormal has lost its hidden bit; of zero nothing is left.
                code = ((magnitude & FRACTION) | (1 << 52)) >> min(drop + coding.emin - exp, 63)
            code = code << coding.padding | (coding.sign if bits[i, j] < 0 else 0)
            if magnitude == EXPONENT:
                code = coding.infinity | (coding.sign if bits[i, j] < 0 else 0)
            out[i, j] = np.uint32(coding.nan if magnitude > EXPONENT else code)


Words = NDArray[np.uint32]

SIG_BITS, EXP_OFFSET = 16, 4096
EXP_SHIFT, NEGATIVE_SHIFT, CLASS_SHIFT = 16, 29, 30
SIG_MASK, EXP_MASK = (1 << SIG_BITS) - 1, (1 << NEGATIVE_SHIFT - EXP_SHIFT) - 1
FINITE, INFINITE, NAN = 0, 1, 2
MOST_CODE_BITS = 20
AT_ONCE = 1 << 17  # codes that are looked up together


def words_lack(key: str, fmt: Format, to: Format) -> Iterator[str]:
    """Yield the reason why words do not hold codes of a format, converted to another, if they do not."""
    if fmt.bits > MOST_CODE_BITS:
        yield f"{key}: {fmt.name} (more than {MOST_CODE_BITS} bits)"
    elif span_of(to).most.bit_length() > SIG_BITS or max(abs(exp) for exp in exponent_range(to)) > EXP_OFFSET // 4:
        yield f"{key}: {fmt.name} (too wide as {to.name})"


@lru_cache(maxsize=32)
def factor_words(fmt: Format, to: Format, daz: bool = False, positive: bool = False) -> Words:
    """A word for each code, its padding left out: significand, exponent + 4096, sign and class, from the low bit up.

    to: the format that is multiplied. The exponent is that of the leading one, not below `to.emin`; a zero has emin.
    daz: subnormals of that format are zeros. positive: zeros have no sign. Only for what `words_lack` has nothing
    against.
    """
    values = fmt.decode(np.arange(1 << fmt.bits, dtype=np.int64) << fmt.padding)
    finite = np.isfinite(values)
    magnitude = np.where(finite, np.abs(values), 0.0)
    if isinstance(to, ExponentFormat):
        exp, fraction_bits = np.where(finite, np.frexp(magnitude)[1] - 1, 0), 0
    elif isinstance(to, FixedFormat):
        exp, fraction_bits = np.zeros(values.shape, np.int64), to.fraction_bits
    else:
        fraction_bits = to.fraction_bits
        exp = np.maximum(np.where(magnitude > 0, np.frexp(magnitude)[1] - 1, to.emin), to.emin)
        if daz:
            magnitude = np.where(magnitude < np.ldexp(1.0, to.emin), 0.0, magnitude)
    sig = np.ldexp(magnitude, (fraction_bits - exp).astype(np.intc)).astype(np.int64)
    kind = np.where(finite, FINITE, np.where(np.isnan(values), NAN, INFINITE))
    negative = np.signbit(values) & ~((magnitude == 0) & finite & positive)
    word = sig | exp + EXP_OFFSET << EXP_SHIFT | negative.astype(np.int64) << NEGATIVE_SHIFT
    words: Words = (word | kind << CLASS_SHIFT).astype(np.uint32)
    words.setflags(write=False)
    return words


def exponents_of(words: Words) -> NDArray[np.int64]:
    return ((words >> EXP_SHIFT) & EXP_MASK).astype(np.int64) - EXP_OFFSET


def words_of(fmt: Format, table: Words, codes: Codes) -> Words:
    """The words of codes of a format, in the codes' shape, contiguous."""
    index = codes >> codes.dtype.type(fmt.padding) if fmt.padding else codes
    taken = np.empty(codes.shape, np.uint32)
    # By rows, because NumPy widens an index to 64 bits.
    step = max(1, AT_ONCE // max(codes.shape[1], 1))
    for first in range(0, len(codes), step):
        np.take(table, index[first : first + step], out=taken[first : first + step], mode="clip")
    return taken


OperandName = Literal["a", "b"]
# Numbers of a carrier.
Carried = NDArray[np.float32] | NDArray[np.float64]


class FloatOperand(NamedTuple):
    """Rows of A (m, K) or columns of B (K, n). scales: values, one for each `block` products along K, or None.

    bits: significant bits of a value, at most.
    """

    values: Carried
    scales: Floats | None
    block: int
    bits: int


def factor_values(unit: Unit, side: OperandName, codes: Codes) -> Floats:
    """The values of factors of these codes when they are multiplied, in the codes' shape."""
    fmt = unit.operands.factor(side)
    to = unit.operands.multiplied[0 if side == "a" else 1]
    if fmt.container_bits <= TABLE_BITS:
        return np.ascontiguousarray(np.take(_factor_table(fmt, to, unit.operands.daz, unit.operands.zeros), codes))
    return _as_multiplied(values_of(fmt, codes), to, unit.operands.daz, unit.operands.zeros)


@lru_cache(maxsize=64)
def _factor_table(fmt: Format, to: Format, daz: bool, zeros: ZeroSigns) -> Floats:
    return _as_multiplied(decode_table(fmt), to, daz, zeros)


def _as_multiplied(values: Floats, to: Format, daz: bool, zeros: ZeroSigns) -> Floats:
    """Values; with daz those that `to` has as subnormals are zeros. zeros: of which sign zeros are."""
    if daz and isinstance(to, FloatFormat) and to.subnormals:
        values = np.where(np.abs(values) < 2.0**to.emin, np.copysign(0.0, values), values)
    return _with_zeros(values, zeros)


def _with_zeros(values: Floats, zeros: ZeroSigns) -> Floats:
    match zeros:
        case "signed":
            return values
        case "positive":
            return np.where(values == 0, 0.0, values)
        case _:
            assert_never(zeros)


def addend_values(unit: Unit, c: NDArray[np.uint32], out: Floats | None = None) -> Floats:
    """The values of addends of these codes when they enter, in the codes' shape; +0 of a unit without addends.

    out: where they may be written to.
    """
    fmt = unit.operands.addend
    if fmt is None:
        if out is None:
            return np.zeros(c.shape)
        out[...] = 0
        return out
    values = values_of(fmt, c, out)
    if unit.operands.zeros == "positive" and unit.flushes_addends and isinstance(fmt, FloatFormat) and fmt.subnormals:
        values = np.where(np.abs(values) < 2.0**fmt.emin, 0.0, values)
    return _with_zeros(values, unit.operands.zeros)


def each(scales: Floats, block: int, k: int, axis: int) -> Floats:
    """A scale for every product along K; terms past the last block, which only fill K up, have a scale of 1."""
    whole = np.repeat(scales, block, axis=axis)
    missing = max(k - whole.shape[axis], 0)
    whole = np.pad(whole, [(0, missing if i == axis else 0) for i in range(2)], constant_values=1.0)
    return np.take(whole, np.arange(k), axis=axis)


def carried(values: Carried, kind: CarrierType) -> Carried:
    """Values in a carrier; the same array where they are in it already."""
    return values.astype(np.float32, copy=False) if kind is np.float32 else values.astype(np.float64, copy=False)


def pack(
    unit: Unit, side: OperandName, codes: Codes, scales: Codes | None, fold: bool, kind: CarrierType
) -> FloatOperand:
    """Factors' values in a carrier, in the order of products. fold: each is multiplied by its scale."""
    axis = 1 if side == "a" else 0
    values, k = factor_values(unit, side, codes), codes.shape[axis]
    scale_values, block = None, 1
    if scales is not None and unit.scale is not None:
        scale_values, block = values_of(unit.scale.of(side).format, scales), unit.scale.length(side)
    if scale_values is not None and fold:
        values, scale_values = values * each(scale_values, block, k, axis), None
    if unit.instruction.order != "sequential":
        values = np.take(values, lane_indices(unit, k).reshape(-1), axis=axis)
    bits = extent(unit.operands.multiplied[axis == 0]).bits  # scales are powers of two
    return FloatOperand(carried(np.ascontiguousarray(values), kind), scale_values, block, bits)


def paired(a: FloatOperand, b: FloatOperand, apart: bool) -> tuple[FloatOperand, FloatOperand]:
    """Rows of A, each for the column of B beside it, as one row of ones for columns of products, which have no error.

    Or have that of a product in float32, where additions are those of float32 too. apart: the scales of a are those of
    columns, too, (n, blocks); else they are multiplied with those of b.
    """
    products = np.empty_like(b.values)
    with np.errstate(all="ignore"):
        np.multiply(a.values.T, b.values, out=products)
    ones = FloatOperand(np.ones((1, len(products)), products.dtype), None, 1, 1)
    both = FloatOperand(products, None, 1, a.bits + b.bits)
    if a.scales is None or b.scales is None:
        return ones, both
    block = gcd(a.block, b.block)
    blocks = max(a.scales.shape[1] * a.block, len(b.scales) * b.block) // block
    of_a, scales = each(a.scales, a.block // block, blocks, 1), each(b.scales, b.block // block, blocks, 0)
    if apart:
        return ones._replace(scales=of_a, block=block), both._replace(scales=scales, block=block)
    scales *= of_a.T
    return ones._replace(scales=np.ones((1, blocks)), block=block), both._replace(scales=scales, block=block)
