"""Codes: as arrays of the container's dtype, taken apart, and in the order of their values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.base.arrays import WORD, as_bits, as_numbers, is_tensor
from hwsim.base.errors import InputError, InputTypeError
from hwsim.formats.kind import Fields, Kind
from hwsim.formats.rounding import Ints

Codes = NDArray[np.unsignedinteger[Any]]


def container_dtype(fmt: Kind) -> np.dtype[Any]:
    """The dtype that codes are stored in: uint8, uint16, uint32, uint64; objects, Python's integers, of more bits."""
    if fmt.container_bits > WORD:
        return np.dtype(object)
    if fmt.container_bits > 32:
        return np.dtype(np.uint64)
    if fmt.container_bits > 16:
        return np.dtype(np.uint32)
    return np.dtype(np.uint16) if fmt.container_bits > 8 else np.dtype(np.uint8)


def own_dtype(fmt: Kind) -> str | None:
    """Name of the float dtype whose bits are the format's codes, or None.

    float32 for tf32 and e8m13 too, which stand in a binary32 container; float8_e4m3fn for ue4m3, whose codes are
    those of numbers without a sign.
    """
    return fmt.own_dtype


def fits_single(fmt: Kind) -> bool:
    """True if every value of a format is a binary32 number."""
    return fmt.precision <= 24 and fmt.quantum_exp >= -149 and fmt.emax <= 127


def codes_of(fmt: Kind, array: Any, name: str = "codes") -> Codes:
    """Codes as the container's unsigned dtype (`container_dtype`), in the argument's shape.

    array: integers (any dtype, Python ints, nested sequences of ints) are codes as stored in the container; those of
    a fixed format may be negative, as two's complement. Of more than 64 bits they are Python's integers, in an array of
    objects. Floats of the format's own dtype (`own_dtype`), PyTorch's too,
    are taken by their bits. The result may share the argument's memory.
    name: the argument's, in messages.
    Raises TypeError for any other dtype; ValueError for a code out of range or with bits in its padding (tf32 and
    e8m13: the low 13 and 10 bits, which are zero except in the canonical NaN).
    """
    if is_tensor(array):
        array, kind = as_bits(array, name)
        if kind and kind != own_dtype(fmt):
            raise _no_codes(fmt, name, kind)
    numbers = _array_of(fmt, as_numbers(array, name), name)
    if numbers.dtype.kind in "iuO":
        codes = _from_integers(fmt, numbers, name)
    elif numbers.dtype.name == own_dtype(fmt):
        native = numbers.astype(numbers.dtype.newbyteorder("="), copy=False)
        codes = _from_integers(fmt, native.view(container_dtype(fmt)), name)
    else:
        raise _no_codes(fmt, name, numbers.dtype.name)
    if fmt.padding:
        low = (1 << fmt.padding) - 1
        wrong = ((codes & low) != 0) & (codes != fmt.canonical_nan)
        if wrong.any():
            raise InputError(
                f"{element(name, codes, wrong, hex)}: the low {fmt.padding} bits of a code of {fmt.name}, "
                "in its container, must be zero"
            )
    return codes


def refuse_masked(array: Any, name: str) -> None:
    """Raise TypeError for a masked array: nothing here knows what its hidden elements would be."""
    if isinstance(array, np.ma.MaskedArray):
        raise InputTypeError(f"{name} must not be a masked array; fill it first, as with {name}.filled(0)")


def unpack(fmt: Kind, code: int) -> Fields:
    """A code's fields, by the definition of the format.

    code: as stored, in [0, 2^container_bits). Padding must be zero, except in the canonical NaN.
    Raises ValueError for a code out of range or with bits in its padding.
    """
    if not 0 <= code < 1 << fmt.container_bits:
        raise InputError(f"{code:#x} is no {fmt.name} code: they have {fmt.container_bits} bits")
    if not is_padded(fmt, code):
        raise InputError(f"{code:#x} is no {fmt.name} code: the low {fmt.padding} bits must be zero")
    return fmt.fields(code >> fmt.padding)


def all_codes(fmt: Kind) -> range:
    """Every code of a format, its padding zero."""
    return range(0, 1 << fmt.container_bits, 1 << fmt.padding)


def is_padded(fmt: Kind, code: int) -> bool:
    """True if the padding of a code is as it must be: zero, except in the canonical NaN."""
    return code & ((1 << fmt.padding) - 1) == 0 or code == fmt.canonical_nan


def order_key(fmt: Kind, codes: Any) -> Ints:
    """Integers that sort as the codes' values do, in the argument's shape.

    A float's code is a sign and a magnitude, and its key is that integer: both zeros have key 0. A fixed format's is
    the two's complement, an exponent format's the code.
    NaNs have keys beyond every number's and infinity's, on the side where their code stands: above, below with a sign,
    and below for a NaN that has the code of negative zero, or of an exponent format's low end.
    codes: as `codes_of` takes them; its errors.
    """
    kind = np.int64 if fmt.in_float64 else object
    return fmt.order(np.asarray(codes_of(fmt, codes).astype(kind) >> fmt.padding))


def element(name: str, array: NDArray[Any], wrong: NDArray[np.bool_], show: Any = str) -> str:
    """`NAME[i, j] is VALUE`, for the first wrong element."""
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    value = array[index]
    place = f"[{', '.join(map(str, index))}]" if index else ""
    return f"{name}{place} is {show(value.item() if isinstance(value, np.generic) else value)}"


def _no_codes(fmt: Kind, name: str, kind: str) -> TypeError:
    dtype = own_dtype(fmt)
    return TypeError(f"{name} must be integer {fmt.name} codes{f' or a {dtype} array' if dtype else ''}, not {kind}")


def _array_of(fmt: Kind, array: Any, name: str) -> NDArray[Any]:
    """The argument as an array; Python integers as an object array, so that none is cut."""
    refuse_masked(array, name)
    if isinstance(array, np.ndarray) or hasattr(array, "__array__"):
        elements = np.asarray(array)
    else:
        elements = np.array(array, dtype=object)
        if not all(issubclass(kind, (int, np.integer)) for kind in {type(item) for item in elements.flat}):
            elements = np.asarray(array) if _same_kind(elements) else elements
    if elements.dtype == object:
        for item in elements.flat:
            if isinstance(item, (bool, np.bool_)) or not isinstance(item, (int, np.integer)):
                raise _no_codes(fmt, name, type(item).__name__)
    return elements


def _same_kind(elements: NDArray[Any]) -> bool:
    """True if all objects are NumPy scalars of the same dtype, as in a list made from an array."""
    return len({type(item) for item in elements.flat}) == 1 and isinstance(elements.flat[0], np.generic)


def _from_integers(fmt: Kind, integers: NDArray[Any], name: str) -> Codes:
    """Integers, checked against the format's range, in the container's dtype."""
    dtype = container_dtype(fmt)
    full = fmt.container_bits == 8 * dtype.itemsize
    if (
        fmt.container_bits <= WORD
        and integers.dtype == dtype
        and (full or int(integers.max(initial=0)) < 1 << fmt.container_bits)
    ):
        return integers
    low = -(1 << fmt.bits - 1) if fmt.twos_complement else 0
    end = 1 << fmt.container_bits
    wrong = np.asarray((integers < low) | (integers >= end), dtype=bool)
    if wrong.any():
        raise InputError(f"{element(name, integers, wrong)}: {fmt.name} codes are {low} to {end - 1}")
    # Of what is negative the low bits are the code.
    if not fmt.in_float64:
        return np.asarray(integers.astype(object) & end - 1, dtype)
    return integers.astype(np.int64).astype(dtype) & dtype.type(end - 1) if low else integers.astype(dtype)
