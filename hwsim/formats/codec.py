"""Codecs of arrays: codes to values, and numbers to codes. `unpack` defines what a single code is."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.base.errors import InputError, InputTypeError
from hwsim.formats import fast
from hwsim.formats import reference as wide
from hwsim.formats.codes import Codes, codes_of, container_dtype, fits_single
from hwsim.formats.kind import Kind
from hwsim.formats.parts import worth
from hwsim.formats.reference import choices, codes_by, values_of


def decode(fmt: Kind, codes: Any, dtype: Any = np.float64) -> NDArray[Any]:
    """The exact value of every code, in the argument's shape (0-d for a scalar). NaNs and infinities are the dtype's.

    codes: as `codes_of` takes them; its errors. dtype: float64, or float32, half as long, for a format whose values
    are binary32 numbers. Of a fixed format of more than 53 bits, values are Fractions, in an array of objects.
    Raises TypeError for another dtype, ValueError for float32 where values do not fit.
    """
    kind = np.dtype(dtype)
    if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise InputTypeError(f"dtype must be float32 or float64, not {kind.name}")
    if kind.itemsize == 4 and not fits_single(fmt):
        raise InputError(f"dtype must be float64 for {fmt.name}, which has values that float32 does not hold")
    checked = codes_of(fmt, codes)
    if not fmt.in_float64:
        return wide.decode(fmt, checked)
    if fmt.container_bits > 16:
        return np.asarray(_wide(fmt, checked).astype(kind, copy=False))
    table = _table(fmt, kind)
    return fast.take(table, checked) if worth(checked.size) else np.asarray(table[checked])


@lru_cache(maxsize=64)
def _table(fmt: Kind, kind: np.dtype[Any]) -> NDArray[Any]:
    return values_of(fmt, np.arange(1 << fmt.container_bits, dtype=container_dtype(fmt))).astype(kind)


def _wide(fmt: Kind, codes: Codes) -> NDArray[np.float64]:
    """Values of codes of more than 16 bits."""
    if fmt.own_dtype not in ("float32", "float64"):
        return values_of(fmt, codes)
    with np.errstate(invalid="ignore"):  # a signalling NaN
        values = codes.view(fmt.own_dtype).astype(np.float64)
    return np.where(np.isnan(values), np.nan, values)


def encode(
    fmt: Kind,
    x: Any,
    rounding: str = "rne",
    overflow: str = "saturate",
    missing: str = "error",
    *,
    random_bits: int | None = None,
    seed: int | None = None,
    counter: int = 0,
) -> Codes:
    """The code of every number, each rounded once from its exact value, as `container_dtype` in x's shape (0-d for
    a scalar).

    x: float16, float32, float64 or ml_dtypes floats, integers, Python numbers, Fractions, or (nested) sequences of
    them. Integers are numbers here, not codes.
    rounding: `rne`, `rna`, `rz`, `ru`, `rd`, `rto` (`Rounding`), or `stochastic`: the number, cut to random_bits below
    the last place, plus as many random bits there, and then cut to the last place; all of magnitudes.
    random_bits, seed, counter: of `stochastic`. The bits of the i-th number, in C order, are those of `random_words` at
    counter + i, so that an array in parts gives the same codes.
    overflow: judged after rounding with an unbounded exponent, in every rounding (`Overflow`): `saturate` gives the
    largest number of the sign, for infinities too; `infinity` and `nan` give those; `ieee` the largest number where the
    rounding leads inward, and else infinity, or NaN in a format without; `propagate` the largest number. Under all but
    `saturate` infinities stay infinite in a format that has them. A fixed format can only saturate, which `propagate`
    does there too; its negative end is -2^(bits - 1).
    missing: what becomes of a number that the format cannot represent: a NaN (e3m2, e2m3, e2m1, mxint8), any negative
    number other than zero in an unsigned format, and in e8m0 zero and what rounds to less than its least number.
    `error` raises, `nan` gives the canonical NaN, `zero` gives code 0, `saturate` the largest number for a NaN and the
    smallest of an unsigned format for the others.

    A NaN gives the canonical NaN, without its sign. A zero, or what rounds to zero, keeps its sign where the format
    has a signed zero. In a format without subnormals the numbers next to zero are +-(1 + 2^-fraction_bits) * 2^-bias;
    `underflow` of the format says what lies between. Fixed formats of more than 53 bits are not rounded to at random.
    Raises ValueError for a policy that does not exist or that asks the format for an infinity, a NaN or a zero that
    it lacks, whatever x is; for a missing number under `error`. TypeError for what is no real number.
    """
    how = choices(fmt, rounding, overflow, missing, random_bits, seed, counter)
    codes = fast.encode(fmt, x, how) if fmt.in_float64 and fast.takes(x) else None
    return codes_by(fmt, x, how) if codes is None else codes
