"""An argument that holds codes, as an array of the container's dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.formats.format import ExponentFormat, FixedFormat, FloatFormat, Format

Codes = NDArray[np.unsignedinteger[Any]]

# (container bits, exponent bits, bias, NaN codes) of the dtypes, NumPy's and ml_dtypes', whose bits are codes.
_DTYPES = {
    (32, 8, 127, "ieee"): "float32",
    (16, 5, 15, "ieee"): "float16",
    (16, 8, 127, "ieee"): "bfloat16",
    (8, 5, 15, "ieee"): "float8_e5m2",
    (8, 4, 7, "ieee"): "float8_e4m3",
    (8, 3, 3, "ieee"): "float8_e3m4",
    (8, 4, 7, (0x7F, 0xFF)): "float8_e4m3fn",
    (8, 4, 8, (0x80,)): "float8_e4m3fnuz",
    (8, 5, 16, (0x80,)): "float8_e5m2fnuz",
    (8, 4, 11, (0x80,)): "float8_e4m3b11fnuz",
    (6, 3, 3, ()): "float6_e3m2fn",
    (6, 2, 1, ()): "float6_e2m3fn",
    (4, 2, 1, ()): "float4_e2m1fn",
}


def container_dtype(fmt: Format) -> np.dtype[np.unsignedinteger[Any]]:
    """The dtype that codes are stored in: uint8, uint16 or uint32."""
    if fmt.container_bits > 16:
        return np.dtype(np.uint32)
    return np.dtype(np.uint16) if fmt.container_bits > 8 else np.dtype(np.uint8)


def own_dtype(fmt: Format) -> str | None:
    """Name of the float dtype whose bits are the format's codes, or None.

    float32 for tf32 and e8m13 too, which stand in a binary32 container; float8_e4m3fn for ue4m3, whose codes are
    those of numbers without a sign.
    """
    if isinstance(fmt, ExponentFormat):
        return "float8_e8m0fnu" if (fmt.exponent_bits, fmt.bias, fmt.nan) == (8, 127, (0xFF,)) else None
    if not isinstance(fmt, FloatFormat) or not fmt.subnormals or fmt.infinities != (fmt.nan == "ieee"):
        return None
    bits, nan = fmt.container_bits, fmt.nan if fmt.nan == "ieee" else tuple(sorted(fmt.nan))
    if not fmt.signed:
        return "float8_e4m3fn" if (bits, fmt.exponent_bits, fmt.bias, nan) == (7, 4, 7, (0x7F,)) else None
    return _DTYPES.get((bits, fmt.exponent_bits, fmt.bias, nan))


def fits_single(fmt: Format) -> bool:
    """Whether every value of a format is a binary32 number."""
    if isinstance(fmt, FixedFormat):
        return fmt.bits <= 25  # -2^24 is one too
    if isinstance(fmt, ExponentFormat):
        return fmt.min_code >= fmt.bias - 149 and fmt.max_code <= fmt.bias + 127
    return fmt.precision <= 24 and fmt.emin - fmt.fraction_bits >= -149 and fmt.emax <= 127


def codes_of(fmt: Format, array: Any, what: str = "codes") -> Codes:
    """Codes as the container's unsigned dtype (`container_dtype`), in the argument's shape.

    array: integers (any dtype, Python ints, nested sequences of ints) are codes as stored in the container; those of
    a fixed format may be negative, as two's complement. Floats of the format's own dtype (`own_dtype`) are taken by
    their bits. The result may share the argument's memory.
    what: the argument's name in messages.
    Raises TypeError for any other dtype; ValueError for a code out of range or with bits in its padding (tf32 and
    e8m13: the low 13 and 10 bits, which are zero except in the canonical NaN).
    """
    given = _array_of(fmt, array, what)
    if given.dtype.kind in "iuO":
        codes = _from_integers(fmt, given, what)
    elif given.dtype.name == own_dtype(fmt):
        native = given.astype(given.dtype.newbyteorder("="), copy=False)
        codes = _from_integers(fmt, native.view(container_dtype(fmt)), what)
    else:
        raise _no_codes(fmt, what, given.dtype.name)
    if isinstance(fmt, FloatFormat) and fmt.padding:
        low = (1 << fmt.padding) - 1
        wrong = ((codes & low) != 0) & (codes != fmt.canonical_nan)
        if wrong.any():
            raise ValueError(
                f"{element(what, codes, wrong, hex)}: the low {fmt.padding} bits of a code of {fmt.name}, "
                "in its container, must be zero"
            )
    return codes


def element(what: str, array: NDArray[Any], wrong: NDArray[np.bool_], show: Any = str) -> str:
    """`what[i, j] is VALUE`, of the first element that is wrong."""
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    value = array[index]
    place = f"[{', '.join(map(str, index))}]" if index else ""
    return f"{what}{place} is {show(value.item() if isinstance(value, np.generic) else value)}"


def _no_codes(fmt: Format, what: str, kind: str) -> TypeError:
    own = own_dtype(fmt)
    return TypeError(f"{what} must be integer {fmt.name} codes{f' or a {own} array' if own else ''}, not {kind}")


def _array_of(fmt: Format, array: Any, what: str) -> NDArray[Any]:
    """The argument as an array; Python integers as an object array, so that none is cut."""
    if isinstance(array, np.ndarray) or hasattr(array, "__array__"):
        given = np.asarray(array)
    else:
        given = np.array(array, dtype=object)
        if not all(issubclass(kind, (int, np.integer)) for kind in {type(item) for item in given.flat}):
            given = np.asarray(array) if _same_kind(given) else given
    if given.dtype == object:
        for item in given.flat:
            if isinstance(item, (bool, np.bool_)) or not isinstance(item, (int, np.integer)):
                raise _no_codes(fmt, what, type(item).__name__)
    return given


def _same_kind(given: NDArray[Any]) -> bool:
    """Whether every object is a NumPy scalar of one dtype, as those of an array put in a list are."""
    return len({type(item) for item in given.flat}) == 1 and isinstance(given.flat[0], np.generic)


def _from_integers(fmt: Format, given: NDArray[Any], what: str) -> Codes:
    """Integers, checked against the format's range, in the container's dtype."""
    dtype = container_dtype(fmt)
    full = fmt.container_bits == 8 * dtype.itemsize
    if given.dtype == dtype and (full or int(given.max(initial=0)) < 1 << fmt.container_bits):
        return given
    low = -(1 << fmt.bits - 1) if isinstance(fmt, FixedFormat) else 0
    end = 1 << fmt.container_bits
    wrong = np.asarray((given < low) | (given >= end), dtype=bool)
    if wrong.any():
        raise ValueError(f"{element(what, given, wrong)}: {fmt.name} codes are {low} to {end - 1}")
    return (given.astype(np.int64) & (end - 1)).astype(dtype)
