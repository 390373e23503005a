"""Checks arguments of dot products and of matrix products, and returns results as users get them."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hwsim.base.errors import InputError
from hwsim.formats import Format, codes_of, container_dtype, own_dtype
from hwsim.formats.blocks import one_code, per_term, scale_shape
from hwsim.formats.codes import Codes
from hwsim.spec.parts import Scale
from hwsim.spec.unit import Unit

Shape = tuple[int, ...]
Side = Literal["a", "b"]


def shape_error(name: str, expected: str, shape: Shape) -> InputError:
    """The error for an array of the wrong shape."""
    return InputError(f"{name} must have shape {expected}, not {shape}")


def check_length(unit: Unit, k: int, where: str = "") -> None:
    """Raise ValueError for a number of products, K, that the unit does not take. where: the message's beginning."""
    if k < 1:
        raise InputError(f"{where}K, the number of products, must be at least 1, not 0")
    instruction = unit.instruction
    if instruction.chain is None and k > instruction.k:
        raise InputError(
            f"{where}K, the number of products, must be at most instruction.k ({instruction.k}), because {unit.name} "
            f"has instruction.chain none, not {k}"
        )
    if unit.scale is not None:
        for side, length in (("a", unit.scale.length("a")), ("b", unit.scale.length("b"))):
            if k % length:
                raise InputError(
                    f"{where}K, the number of products, must be a multiple of scale.{side}.block along K ({length}), "
                    f"not {k}"
                )


def factors(unit: Unit, a: Any, b: Any, axes: tuple[str, ...]) -> tuple[Codes, Codes]:
    """The codes of a and b, both with these axes; the last is K."""
    codes_a = codes_of(unit.operands.a, a, "a")
    codes_b = codes_of(unit.operands.b, b, "b")
    if codes_a.ndim != len(axes):
        raise shape_error("a", f"({', '.join(axes)}{',' * (len(axes) == 1)})", codes_a.shape)
    if codes_b.shape != codes_a.shape:
        raise shape_error("b", f"{codes_a.shape}, as a", codes_b.shape)
    check_length(unit, codes_a.shape[-1])
    return codes_a, codes_b


def addends(unit: Unit, c: Any, shape: Shape, name: str) -> Codes:
    """The addends' codes, +0 for None, in that shape.

    Raises ValueError for another shape, and for any addend where the unit has none.
    """
    if c is None:
        fmt = unit.operands.addend
        return np.zeros(shape, dtype=np.uint8 if fmt is None else container_dtype(fmt))
    codes = addend_codes(unit, c, name)
    if codes.shape != shape:
        raise shape_error(name, str(shape), codes.shape)
    return codes


def addend_codes(unit: Unit, c: Any, name: str) -> Codes:
    """The codes of addends of any shape. Raises ValueError where the unit has none."""
    if unit.operands.addend is None:
        raise InputError(f"{name} must be None, because {unit.name} has operands.addend none")
    return codes_of(unit.operands.addend, c, name)


def check_unscaled(unit: Unit, scale_a: Any, scale_b: Any) -> None:
    """Raise ValueError for scales of an unscaled unit."""
    for name, scale in (("scale_a", scale_a), ("scale_b", scale_b)):
        if scale is not None:
            raise InputError(f"{name} must be None, because {unit.name} has scale none")


def scale_codes(unit: Unit, scale: Scale, side: Side, given: Any, shape: Shape) -> Codes:
    """The codes of an operand's shared scales. Raises ValueError for None, naming the shape that is expected."""
    if given is None:
        raise InputError(f"scale_{side} is missing: {unit.name} takes one scale for every block, shape {shape}")
    return codes_of(scale.of(side).format, given, f"scale_{side}")


def block_scales(unit: Unit, scale_a: Any, scale_b: Any, n: int, k: int) -> tuple[Codes, Codes] | None:
    """The scales' codes, (n, blocks) for a and for b, filled up as terms are; None for an unscaled unit."""
    if unit.scale is None:
        check_unscaled(unit, scale_a, scale_b)
        return None
    return _row_scales(unit, unit.scale, "a", scale_a, n, k), _row_scales(unit, unit.scale, "b", scale_b, n, k)


def _row_scales(unit: Unit, scale: Scale, side: Side, given: Any, n: int, k: int) -> Codes:
    shape = n, k // scale.length(side)
    codes = scale_codes(unit, scale, side, given, shape)
    if codes.shape != shape:
        raise shape_error(f"scale_{side}", str(shape), codes.shape)
    return filled(codes, scale, side, k + -k % unit.instruction.fill)


def dot_scales(unit: Unit, scale_a: Any, scale_b: Any, n: int, k: int) -> tuple[Codes, Codes]:
    """The scales' codes for every term, (n, terms) for a and for b, filled up too; (n, 0) for an unscaled unit."""
    of_blocks, terms = block_scales(unit, scale_a, scale_b, n, k), k + -k % unit.instruction.fill
    if unit.scale is None or of_blocks is None:
        return np.zeros((n, 0), dtype=np.uint8), np.zeros((n, 0), dtype=np.uint8)
    return per_term(of_blocks[0], unit.scale.length("a"), terms), per_term(of_blocks[1], unit.scale.length("b"), terms)


def pad(codes: Codes, multiple: int, fill: int) -> Codes:
    """Codes (n, K), filled up along K to a multiple of `multiple`."""
    return np.pad(codes, ((0, 0), (0, -codes.shape[1] % multiple)), constant_values=fill)


def filled(codes: Codes, scale: Scale, side: Side, terms: int) -> Codes:
    """Scales (n, blocks), filled up with scales of 1 for `terms` terms."""
    missing = -(-terms // scale.length(side)) - codes.shape[1]
    return np.pad(codes, ((0, 0), (0, missing)), constant_values=one_code(scale.of(side).format))


def matrix_shape(unit: Unit, a: Shape, b: Shape, files: tuple[str, str] = ("", "")) -> Shape:
    """The shape of a matrix product, (..., M, N). files: beginnings of messages about a and about b.

    K may be 0. Raises ValueError for shapes that do not fit one another or the unit.
    """
    if len(a) < 2:
        raise shape_error(f"{files[0]}A", "(..., M, K)", a)
    if len(b) < 2 or b[-2] != a[-1]:
        expected = f"(..., {a[-1]}, N), because A has {a[-1]} columns"
        raise InputError(f"{shape_error(f'{files[1]}B', expected, b)}{_hint(unit, a, b)}")
    if a[-1]:
        check_length(unit, a[-1], files[0])
    try:
        batch = np.broadcast_shapes(a[:-2], b[:-2])
    except ValueError:
        rule = f"{a[:-2]}, A's axes, or what broadcasts with them, before its last two"
        raise shape_error(f"{files[1]}B", rule, b) from None
    return *batch, a[-2], b[-1]


def _hint(unit: Unit, a: Shape, b: Shape) -> str:
    """Guess why shapes do not fit: they may be those of (N, K), or of packed codes."""
    if len(b) < 2:
        return ""
    if b[-1] == a[-1]:
        return "; if it is (N, K), say that it is transposed"
    operands = unit.operands
    for factor, fmt, few, many in (("A", operands.a, a[-1], b[-2]), ("B", operands.b, b[-2], a[-1])):
        if fmt.container_bits == 4 and 2 * few == many:
            return f"; if each byte of {factor} holds two codes, say that it is packed"
    return ""


def scale_shapes(scale: Scale, a: Shape, b: Shape) -> tuple[Shape, Shape]:
    """The last two axes of the scales of matrices A (..., M, K) and B (..., K, N)."""
    return scale_shape(a[-2], a[-1], scale.a.block), scale_shape(b[-2], b[-1], scale.b.block)


def check_broadcast(name: str, shape: Shape, wanted: Shape) -> None:
    """Raise ValueError unless the last two axes are as expected, and the axes before them broadcast as expected."""
    try:
        fits = shape[-2:] == wanted[-2:] and np.broadcast_shapes(shape[:-2], wanted[:-2]) == wanted[:-2]
    except ValueError:
        fits = False
    if not fits:
        raise shape_error(name, str(wanted), shape)


def result_dtype(fmt: Format) -> np.dtype[Any]:
    """The dtype of results: float64, float32 or float16 in containers of these formats, else the codes' dtype."""
    dtype = own_dtype(fmt)
    return np.dtype(dtype) if dtype in {"float64", "float32", "float16"} else container_dtype(fmt)


def result_array(unit: Unit, codes: Codes) -> NDArray[Any]:
    """Result codes, in their container's dtype, as the array that users get: floats by their bits, or codes."""
    return codes.view(result_dtype(unit.output))
