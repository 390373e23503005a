"""Codes as float64s, and float64s as codes: exact, for arrays."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.compiled import compiled
from hwsim.errors import InputError
from hwsim.formats import FixedFormat, FloatFormat, Format
from hwsim.formats.codes import Codes
from hwsim.spec.keys import Number

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
    """Whether codes are binary32's: f32, tf32, e8m13."""
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
