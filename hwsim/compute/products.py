"""Dot products and matrix products of codes, bit for bit as a unit returns them: by its kernel, or by the model."""

from __future__ import annotations

import math
from collections import Counter
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.base.arrays import is_on_gpu
from hwsim.base.errors import InputError
from hwsim.compute.kernels import AnyKernel, kernel_of, supports
from hwsim.compute.kernels.tiles import ProductOperands, Progress, multiply_all, multiply_pairs
from hwsim.formats import codes_of, container_dtype
from hwsim.formats.blocks import per_term
from hwsim.formats.codes import Codes
from hwsim.model.definition import definition_of
from hwsim.quantize import Quantized
from hwsim.spec import SparseLike, Unit, UnitLike, load_sparse, load_unit
from hwsim.spec.arguments import (
    Shape,
    Side,
    addend_codes,
    addends,
    block_scales,
    check_broadcast,
    check_unscaled,
    factors,
    filled,
    matrix_shape,
    pad,
    result_array,
    scale_codes,
    scale_shapes,
)
from hwsim.spec.sparse import gathered

SIDES: tuple[Side, Side] = ("a", "b")
# Up to this number of products the model takes about a second, which is less than loading compiled code takes.
FEW = 1 << 19
# Up to this number of a unit's products, code that is compiled once for all units takes about a second; code that is
# compiled for the unit is quicker by far, and takes seconds to compile.
SOME = 1 << 26
# The products of each unit that kernels have been asked for.
_asked: Counter[Unit] = Counter()


@lru_cache(maxsize=64)
def kernel_for(unit: Unit) -> AnyKernel | None:
    """The unit's kernel; None for a unit without one, which the model computes."""
    definition_of(unit)
    return kernel_of(unit) if supports(unit) else None


def chosen(unit: Unit, products: int, k: int, again: bool = False) -> AnyKernel | None:
    """The kernel that computes a product of this size; None where the model does.

    k: products of one sum. again: whether more products will be asked for, so that compiled code is worth its loading.
    """
    if products <= FEW and not _asked[unit] and not again:
        return None
    kernel = kernel_for(unit)
    if kernel is None or k > kernel.longest:
        return None
    _asked[unit] += products
    return kernel if _asked[unit] > SOME else kernel.general


def warm(unit: Unit) -> bool:
    """Compile what products of a unit's codes take, or load it: of matrices and of pairs, few and many.

    False where no kernel computes the unit.
    """
    if kernel_for(unit) is None:
        return False
    rule, k = unit.scale, unit.instruction.fill
    if rule is not None:
        k = math.lcm(k, rule.a.block[1], rule.b.block[0])
    k *= -(-LONG // k)
    factors = unit.operands.a, unit.operands.b
    a, b = (fmt.encode(np.zeros(shape)) for fmt, shape in zip(factors, ((WARM, k), (k, WARM)), strict=True))
    scales: list[Codes] = []
    if rule is not None:
        of_a = -(-WARM // rule.a.block[0]), k // rule.a.block[1]
        of_b = k // rule.b.block[0], -(-WARM // rule.b.block[1])
        scales = [np.zeros(shape, container_dtype(side.format)) for shape, side in ((of_a, rule.a), (of_b, rule.b))]
    before = _asked[unit]
    for asked in (1, SOME + 1):
        _asked[unit] = asked
        product(unit, a, b, None, *scales, progress=no_progress)
        pairs = [np.ascontiguousarray(codes) for codes in (scales[0], scales[1][:, :1].T)] if rule is not None else []
        dot(unit, a[:1], b.T[:1], None, *(codes[:1] for codes in pairs))
    _asked[unit] = before
    return True


WARM, LONG = 65, 4096  # rows and columns, more than a strip of them; products of a sum, at least


def dot(
    unit: UnitLike | SparseLike,
    a: Any,
    b: Any,
    c: Any = None,
    scale_a: Any = None,
    scale_b: Any = None,
    metadata: Any = None,
) -> NDArray[Any]:
    """The dot products of n pairs of rows: a[i] . b[i] + c[i], as the unit returns them.

    unit: a unit, a preset's name, the path of a unit's file, or its keys.
    a, b: (n, K) codes of the unit's factors, or floats of the format's own dtype, which are taken by their bits. K at
    least 1, and a multiple of the scales' blocks; it is filled with zero terms up to whole groups, or whole
    instructions (`hwsim docs arithmetic`).
    c: (n,) codes, or floats, of `operands.addend`; None is +0.
    scale_a, scale_b: (n, K / block) codes of the shared scales, block being that along K; None for an unscaled unit.
    metadata: of a sparse unit (`hwsim docs sparse`), of whose b (n, K) a has the (n, kept) that these indices name.
    Returns (n,) float64, float32 or float16 with exact bits, where the result stands in a container of binary64,
    binary32 or binary16 (NaNs with their payloads), else codes: uint8, uint16, uint32 or uint64, and of more than 64
    bits Python's integers, in an array of objects.
    PyTorch's tensors on a CUDA device give a tensor there, as of `hwsim.gemm`.
    Raises TypeError for any other dtype; ValueError for a code out of range, a shape that does not fit and for what
    the unit does not take; NotImplementedYet for a unit that asks for what hwsim does not have.
    """
    if metadata is not None:
        sparse = load_sparse(unit)
        a, codes, places = gathered(sparse, a, b, metadata, "(n, K)")
        unit, b = sparse.dense, np.take_along_axis(codes, places, axis=1)
    if any(map(is_on_gpu, (a, b, c, scale_a, scale_b))):
        from hwsim.compute.cuda.device import dot_on_gpu  # which loads what compiles, and takes half a second

        return dot_on_gpu(load_unit(unit), a, b, c, scale_a, scale_b)  # type: ignore[no-any-return]
    unit = load_unit(unit)
    definition_of(unit)
    codes_a, codes_b = factors(unit, a, b, ("n", "K"))
    codes_c = addends(unit, c, (len(codes_a),), "c")
    scales = block_scales(unit, scale_a, scale_b, *codes_a.shape)
    fill = unit.instruction.fill
    return result_array(unit, dot_codes(unit, pad(codes_a, fill, 0), pad(codes_b, fill, 0), codes_c, scales))


def dot_codes(
    unit: Unit, a: Codes, b: Codes, c: Codes, scales: tuple[Codes, Codes] | None, again: bool = False
) -> Codes:
    """The result codes (n,) of a[i] . b[i] + c[i].

    a, b: (n, K), filled up along K; scales: (n, blocks) of each, filled too, or None. c: (n,). again: as of `product`.
    """
    kernel = chosen(unit, a.size, a.shape[1], again)
    codes = _dots_by_definition(unit, a, b, c, scales) if kernel is None else multiply_pairs(kernel, a, b, c, scales)
    return codes.astype(container_dtype(unit.output))


def product(
    unit: Unit,
    A: Any,
    B: Any,
    C: Any = None,
    scale_a: Any = None,
    scale_b: Any = None,
    *,
    progress: Progress,
    threads: int | None = None,
    again: bool = False,
) -> NDArray[Any]:
    """`gemm`, on a number of threads. again: whether many more products will follow, however small this one is."""
    A, scale_a = taken_apart(unit, "a", A, scale_a)
    B, scale_b = taken_apart(unit, "b", B, scale_b)
    a = codes_of(unit.operands.a, A, "A")
    b = codes_of(unit.operands.b, B, "B")
    shape = matrix_shape(unit, a.shape, b.shape)
    batch, k = shape[:-2], a.shape[-1]
    c = None if C is None else _broadcast("C", addend_codes(unit, C, "C"), shape)
    side_a, side_b = _scales(unit, scale_a, scale_b, a.shape, b.shape, batch)
    a, b = np.broadcast_to(a, (*batch, *a.shape[-2:])), np.broadcast_to(b, (*batch, *b.shape[-2:]))
    results = np.empty(shape, container_dtype(unit.output))
    kernel = chosen(unit, results.size * k, k, again)
    if k == 0:
        return result_array(unit, _of_no_products(unit, c, shape))
    matrices = []
    for index in np.ndindex(batch):
        of_c, of_a, of_b = (None if codes is None else codes[index] for codes in (c, side_a, side_b))
        matrices.append((ProductOperands(unit, a[index], b[index], of_c, of_a, of_b), results[index]))
    if kernel is not None:
        multiply_all(kernel, matrices, progress, threads)
    else:
        for operands, out in matrices:
            _matrix_by_definition(operands, out, progress)
    return result_array(unit, results)


def _of_no_products(unit: Unit, c: Codes | None, shape: Shape) -> Codes:
    """The result codes of addends and zero terms alone, as many as a group or an instruction is filled up with."""
    values, places = np.unique(addends(unit, None, (1,), "C") if c is None else c, return_inverse=True)
    fill, scales = unit.instruction.fill, None
    a, b = (np.zeros((len(values), fill), container_dtype(fmt)) for fmt in (unit.operands.a, unit.operands.b))
    if unit.scale is not None:
        none = {side: np.zeros((len(values), 0), container_dtype(unit.scale.of(side).format)) for side in SIDES}
        scales = filled(none["a"], unit.scale, "a", fill), filled(none["b"], unit.scale, "b", fill)
    results = dot_codes(unit, a, b, values, scales)
    return np.broadcast_to(results[places].reshape(shape if c is not None else (1,) * len(shape)), shape).copy()


def taken_apart(unit: Unit, side: Side, given: Any, scales: Any) -> tuple[Any, Any]:
    """Codes and scales of a quantised operand; any other as it is. Raises ValueError for what the unit refuses."""
    if not isinstance(given, Quantized):
        return given, scales
    what, fmt = side.upper(), unit.operands.a if side == "a" else unit.operands.b
    if given.element != fmt:
        raise InputError(f"{what} is quantised to {given.element.name}; {unit.name} takes {fmt.name}")
    if scales is not None:
        raise InputError(f"scale_{side} must be None, because {what} is quantised and has its own")
    if given.tensor_scale is not None or unit.scale is None:
        scaled = "scales" if given.tensor_scale is None else "a scale of the whole tensor"
        raise InputError(
            f"{what} has {scaled}, which {unit.name} does not take; pass {what}.codes, and multiply the result by what "
            "they are worth"
        )
    taken = unit.scale.of(side)
    if (given.scale_format, given.block[-2:]) != (taken.format, taken.block):
        scale_words = "real numbers" if given.scale_format is None else given.scale_format.name
        raise InputError(
            f"{what} has scales of {scale_words} for blocks of {list(given.block[-2:])}; {unit.name} takes "
            f"{taken.format.name} for blocks of {list(taken.block)}"
        )
    return given.codes, given.scales


def products(a: Shape, b: Shape) -> int:
    """The number of products in a matrix product of these shapes: the total of the calls of `progress`."""
    return math.prod(np.broadcast_shapes(a[:-2], b[:-2])) * a[-2] * a[-1] * b[-1]


def no_progress(_: int) -> None:
    """Show no progress."""


def _broadcast(what: str, codes: Codes, shape: Shape) -> Codes:
    check_broadcast(what, codes.shape, shape)
    return np.broadcast_to(codes, shape)


def _scales(
    unit: Unit, scale_a: Any, scale_b: Any, a: Shape, b: Shape, batch: Shape
) -> tuple[Codes, Codes] | tuple[None, None]:
    """The scales' codes of all matrices of a batch; None for an unscaled unit. a, b: shapes of the matrices."""
    if unit.scale is None:
        check_unscaled(unit, scale_a, scale_b)
        return None, None
    shape_a, shape_b = scale_shapes(unit.scale, a, b)
    codes_a = _broadcast("scale_a", scale_codes(unit, unit.scale, "a", scale_a, shape_a), (*batch, *shape_a))
    codes_b = _broadcast("scale_b", scale_codes(unit, unit.scale, "b", scale_b, shape_b), (*batch, *shape_b))
    return codes_a, codes_b


def _dots_by_definition(unit: Unit, a: Codes, b: Codes, c: Codes, scales: tuple[Codes, Codes] | None) -> Codes:
    """Dot products by the model, in Python's integers."""
    definition, k = definition_of(unit), a.shape[1]
    none: list[list[int]] = [[]] * len(a)
    of_a, of_b = none, none
    if unit.scale is not None and scales is not None:
        of_a = per_term(scales[0], unit.scale.length("a"), k).tolist()
        of_b = per_term(scales[1], unit.scale.length("b"), k).tolist()
    rows = zip(a.tolist(), b.tolist(), c.tolist(), of_a, of_b, strict=True)
    return np.array([definition.dot(*row).code for row in rows], container_dtype(unit.output))


def _matrix_by_definition(operands: ProductOperands, out: Codes, progress: Progress) -> None:
    """Write a matrix product by the model, row by row, in Python's integers."""
    unit, n = operands.unit, operands.b.shape[1]
    word = container_dtype(unit.operands.addend) if unit.operands.addend else np.dtype(np.uint8)
    columns, scale_b = operands.panel(slice(0, n))
    for i in range(len(operands.a)):
        rows, scale_a = operands.rows(slice(i, i + 1))
        scales = None
        if scale_a is not None and scale_b is not None:
            scales = np.repeat(scale_a, n, axis=0), scale_b.T
        c = operands.addends(slice(i, i + 1), slice(0, n), word)[0]
        out[i] = _dots_by_definition(unit, np.repeat(rows, n, axis=0), columns.T, c, scales)
        progress(n * operands.a.shape[1])
