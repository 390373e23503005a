"""Large arrays through compiled loops, with the reference's bits. The compiler is imported when it is first used."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.formats.codes import Codes, container_dtype
from hwsim.formats.kind import EncoderParameters, Kind
from hwsim.formats.parts import flat, split, worth
from hwsim.formats.reference import Choices, encode_reference
from hwsim.formats.rounding import COMPILED, Missing, Overflow, Rounding, is_float
from hwsim.formats.stochastic import Stochastic

MOST_FRACTION_BITS = 22  # of 23: a number is cut by at least one bit


def take(table: NDArray[Any], codes: Codes) -> NDArray[Any]:
    """table[codes]."""
    from hwsim.formats import lookup

    indices, out = flat(codes, codes.dtype.str), np.empty(codes.size, table.dtype)
    split(indices.size, 1, lambda start, end: lookup.take(indices[start:end], table, out[start:end]))
    return out.reshape(codes.shape)


def takes(x: Any) -> bool:
    """True if x is a large array of floats."""
    return isinstance(x, np.ndarray) and worth(x.size) and x.dtype.isnative and is_float(x.dtype)


def encode(fmt: Kind, x: NDArray[Any], how: Choices) -> Codes | None:
    """Codes of an array that `takes` accepts; None where the loops cannot encode it, or the format lacks a number."""
    out, size = np.empty(x.size, container_dtype(fmt)), x.dtype.itemsize
    rounding, overflow, missing = how
    if isinstance(rounding, Rounding) and size <= 2:
        done = _by_code(fmt, x, out, rounding, overflow, missing)
    else:
        done = size <= 4 and _by_arithmetic(fmt, x, out, rounding, overflow, missing)
        if not done and isinstance(rounding, Rounding) and fmt.container_bits <= 8:
            done = _by_table(fmt, x, out, rounding, overflow, missing)
    return out.reshape(x.shape) if done else None


def _by_code(fmt: Kind, x: NDArray[Any], out: Codes, rounding: Rounding, overflow: Overflow, missing: Missing) -> bool:
    from hwsim.formats import lookup

    entries = lookup.by_code(fmt, x.dtype, rounding, overflow, missing)
    if entries is None:
        return False
    codes = flat(x, f"u{x.dtype.itemsize}")
    marks = split(x.size, 1, lambda start, end: lookup.take_codes(codes[start:end], entries, out[start:end]))
    return bool(max(marks) >> 8 * out.itemsize == 0)


def _by_table(fmt: Kind, x: NDArray[Any], out: Codes, rounding: Rounding, overflow: Overflow, missing: Missing) -> bool:
    from hwsim.formats import lookup

    table = lookup.singles(fmt, rounding, overflow, missing)
    if table is None or (x.dtype.itemsize == 8 and not table.doubles):
        return False
    look = lookup.take_singles if x.dtype.itemsize == 4 else lookup.take_doubles
    bits = flat(x, f"u{x.dtype.itemsize}")
    marks = split(x.size, 1, lambda start, end: look(bits[start:end], table.entries, table.shift, out[start:end]))
    return bool(max(marks) >> 8 == 0)


def _by_arithmetic(
    fmt: Kind, x: NDArray[Any], out: Codes, rounding: Rounding | Stochastic, overflow: Overflow, missing: Missing
) -> bool:
    from hwsim.formats import loops

    words = encoder_words(fmt, rounding if isinstance(rounding, Rounding) else None, overflow, missing)
    if words is None:
        return False
    if x.dtype != np.float32:
        with np.errstate(invalid="ignore"):  # a signalling NaN
            x = x.astype(np.float32)
    bits = flat(x, "u4")
    if isinstance(rounding, Rounding):
        return all(split(x.size, 1, lambda start, end: loops.encode(bits[start:end], words, out[start:end])))
    random = rounding.for_loops()
    return all(
        split(
            x.size, 1, lambda start, end: loops.encode_randomly(bits[start:end], start, words, random, out[start:end])
        )
    )


@lru_cache(maxsize=128)
def encoder_parameters(
    fmt: Kind, rounding: Rounding | None, overflow: Overflow, missing: Missing
) -> EncoderParameters | None:
    """A format and a rounding as the loops take them; None where the loops cannot encode.

    They encode to formats that have `steps`, of at most 22 fraction bits, whose numbers that count as normal are
    normal binary32 numbers. rounding: None of stochastic rounding.
    """
    steps = fmt.steps(rounding, overflow)
    if steps is None or steps.fraction_bits > MOST_FRACTION_BITS or steps.low < 1:
        return None
    even, turn, flip = (0, 0, 0) if rounding is None else COMPILED[rounding]
    plus, minus = encode_reference(fmt, [np.inf, -np.inf], overflow=overflow).tolist()
    lacks_nan = not fmt.has_nan and missing is Missing.ERROR
    nan = 0 if lacks_nan else int(encode_reference(fmt, np.nan, missing=missing))
    return EncoderParameters(
        **steps._asdict(), first=23 - steps.fraction_bits, even=even, turn=turn, flip=flip,
        narrowing=32 - fmt.container_bits, plus=plus, minus=minus, nan=nan, lacks_nan=int(lacks_nan),
    )  # fmt: skip


@lru_cache(maxsize=128)
def encoder_words(
    fmt: Kind, rounding: Rounding | None, overflow: Overflow, missing: Missing
) -> NDArray[np.uint32] | None:
    """`encoder_parameters`, packed."""
    parameters = encoder_parameters(fmt, rounding, overflow, missing)
    return None if parameters is None else packed(parameters)


@lru_cache(maxsize=128)
def packed(parameters: EncoderParameters) -> NDArray[np.uint32]:
    """The parameters as an array, which the loops take."""
    return np.array([int(word) for word in parameters], np.uint32)
