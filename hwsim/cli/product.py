"""A matrix product of arrays in files: its checks, and its computation and writing part by part."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.codewords import WORD, to_words, words_of
from hwsim.compute.kernels import supports
from hwsim.compute.kernels.tiles import threads
from hwsim.compute.products import chosen, gemm
from hwsim.errors import InputError, InputTypeError
from hwsim.formats import Format
from hwsim.formats.blocks import scale_shape
from hwsim.formats.codes import Codes
from hwsim.quantize import get_rule
from hwsim.quantize.layouts import packed_factor
from hwsim.quantize.tensors import (
    NUMBERS,
    MatrixOperand,
    StoredArray,
    are_codes,
    codes,
    codes_shape,
    multiplies,
    quantized,
    refusal,
    suited,
    suits,
)
from hwsim.resources import Cost
from hwsim.spec import Unit
from hwsim.spec.arguments import Shape, check_broadcast, matrix_shape, result_dtype

# The size of a part of the result: bytes, and at least so many rows, because each part prepares B again.
PART, ROWS = 1 << 24, 1024
# Products a second, of a core where they are compiled.
BY_MODEL, COMPILED = 3e5, 1e9


class GivenFactor(NamedTuple):
    """A factor, and its scales, or the name of the rule that quantises its numbers; codes have no rule.

    key: `a` or `b`, as the specification calls it.
    """

    key: Literal["a", "b"]
    stored: StoredArray
    scale: StoredArray | None
    rule: str | None


class Given(NamedTuple):
    """The arrays that a product is computed from."""

    unit: Unit
    a: GivenFactor
    b: GivenFactor
    c: StoredArray | None

    @property
    def shape(self) -> Shape:
        """The result's shape. Raises ValueError, naming the file, for factors that do not fit."""
        files = f"{self.a.stored.name}: ", f"{self.b.stored.name}: "
        return matrix_shape(self.unit, self.a.stored.shape, self.b.stored.shape, files)


class MatrixProduct(NamedTuple):
    """A product, ready to be computed. c: the addends' codes, or None."""

    unit: Unit
    a: MatrixOperand
    b: MatrixOperand
    c: Codes | None
    shape: Shape

    @property
    def products(self) -> int:
        """The number of products in all sums."""
        return math.prod(self.shape) * int(self.a.codes.shape[-1])

    @property
    def by_model(self) -> bool:
        """Whether the model computes it; otherwise compiled code does, even for small parts."""
        return chosen(self.unit, self.products, self.a.codes.shape[-1]) is None

    def parts(self) -> Iterator[slice]:
        """Slices of the rows that are computed at once, of equal height except the last."""
        m, n = self.shape[-2:]
        most = max(ROWS, PART // max(n * self.dtype.itemsize, 1))
        across = self.unit.scale.a.block[0] if self.unit.scale else 1
        height = -(-m // max(-(-m // most) * across, 1)) * across
        return (slice(first, min(first + height, m)) for first in range(0, m, max(height, 1)))

    @property
    def long_words(self) -> int:
        """Words of 64 bits of a result that has more bits than one, as a file has it; else 0."""
        return words_of(self.unit.output.container_bits) if self.dtype == object else 0

    @property
    def dtype(self) -> np.dtype[Any]:
        """The result's dtype: that of `hwsim.gemm`, or float32 where it is multiplied by scales."""
        if self.a.factor is not None or self.b.factor is not None:
            return np.dtype(np.float32)
        return result_dtype(self.unit)


def unpacked(unit: Unit, key: Literal["a", "b"], stored: StoredArray, packed: str, axis: int) -> StoredArray:
    """A factor's array with a code in each element, where `packed` names it; axis: that of K."""
    if key not in packed:
        return stored
    fmt, label = unit.operands.factor(key), f"{stored.name}: {key.upper()}"
    return stored._replace(array=packed_factor(stored.array, fmt, label, axis))


def swapped(stored: StoredArray, fmt: Format | None) -> StoredArray:
    """An array with its last two axes swapped, without a copy.

    fmt: of codes, whose words may have an axis of their own; None for others. Raises ValueError, naming the file, for
    one that has fewer axes.
    """
    words = fmt is not None and fmt.container_bits > WORD
    if stored.array.ndim < 2 + words:
        raise InputError(f"{stored.name}: must have two axes or more to be transposed, not {stored.array.ndim - words}")
    array = stored.array.swapaxes(-2, -3) if words else stored.array.swapaxes(-1, -2)
    return stored._replace(array=np.ascontiguousarray(array) if words else array)


def check(given: Given) -> None:
    """Raise ValueError or TypeError, naming file or option, for shapes, dtypes and rules that do not go together."""
    unit, shape = given.unit, given.shape
    for factor in (given.a, given.b):
        _check_rule(unit, factor)
        _check_scale(unit, factor, shape[:-2])
    if given.c is None:
        return
    if unit.operands.addend is None:
        raise InputError(f"{given.c.name}: C must be left out, because {unit.name} has operands.addend none")
    check_broadcast(f"{given.c.name}: C", codes_shape(unit.operands.addend, given.c), shape)
    for factor in (given.a, given.b):
        if factor.rule is not None and multiplies(unit, get_rule(factor.rule)):
            raise InputError(
                f"--addend must be left out with {factor.rule}: {unit.name} would add it to the codes' products, "
                "which the scales multiply afterwards"
            )


def _check_rule(unit: Unit, factor: GivenFactor) -> None:
    fmt, what, stored, name = unit.operands.factor(factor.key), factor.key.upper(), factor.stored, factor.rule
    if are_codes(fmt, stored):
        return
    if name is None:
        rules = suited(unit, factor.key)
        hint = f"; --quantize RULE quantises it: {', '.join(rules)}" if rules else ""
        raise InputTypeError(f"{stored.name}: {what} is {stored.kind}, not codes of {fmt.name}{hint}")
    if stored.kind not in NUMBERS:
        raise InputTypeError(
            f"{stored.name}: {what} must be one of {', '.join(sorted(NUMBERS))} to be quantised, not {stored.kind}"
        )
    rule = get_rule(name)
    if not suits(unit, factor.key, rule):
        raise InputError(f"{stored.name}: {refusal(unit, factor.key, name, rule)}")
    if factor.scale is not None:
        raise InputError(f"--scale-{factor.key} must be left out, because {name} finds the scales of {what}")


def _check_scale(unit: Unit, factor: GivenFactor, batch: Shape) -> None:
    what, stored, scale = f"scale_{factor.key}", factor.stored, factor.scale
    if unit.scale is None:
        if scale is not None:
            raise InputError(f"{scale.name}: {what} must be left out, because {unit.name} has scale none")
        return
    of = unit.scale.of(factor.key)
    shape = scale_shape(stored.shape[-2], stored.shape[-1], of.block)
    if scale is not None:
        check_broadcast(f"{scale.name}: {what}", scale.shape, (*batch, *shape))
    elif factor.rule is None:
        raise InputError(
            f"--scale-{factor.key} is missing: {unit.name} takes a scale in {of.format.name} for every block, "
            f"shape {shape}"
        )


def product(given: Given, allow_nan: bool) -> MatrixProduct:
    """A product, ready to be computed, with numbers quantised. given: checked. allow_nan: as in `quantized`."""
    unit, c = given.unit, None
    a, b = (_operand(unit, factor, allow_nan) for factor in (given.a, given.b))
    if given.c is not None and unit.operands.addend is not None:
        c = codes(unit.operands.addend, given.c, "C")
    return MatrixProduct(unit, a, b, c, given.shape)


def cost(given: Given) -> Cost:
    """What a product takes: the codes of both factors in memory, and the time of compiled code, or of the model."""
    unit, m_n = given.unit, given.shape
    k = int(given.a.stored.shape[-1])
    products = math.prod(m_n) * k
    memory = 2 * sum(factor.stored.array.size for factor in (given.a, given.b)) + PART
    rate = COMPILED * threads() if supports(unit) else BY_MODEL
    return Cost(f"a product of {' x '.join(map(str, m_n))} with K {k:,}", memory, products / rate)


def _operand(unit: Unit, factor: GivenFactor, allow_nan: bool) -> MatrixOperand:
    """A factor as codes and scales, quantised if it holds numbers."""
    if factor.rule is not None:
        return quantized(unit, factor.key, factor.stored, get_rule(factor.rule), allow_nan)
    scales = None
    if factor.scale is not None and unit.scale is not None:
        scales = codes(unit.scale.of(factor.key).format, factor.scale, f"scale_{factor.key}")
    return MatrixOperand(codes(unit.operands.factor(factor.key), factor.stored, factor.key.upper()), scales)


def write(product: MatrixProduct, file: BinaryIO, progress: Callable[[int], None]) -> None:
    """Compute a product, and write it as a .npy file, part by part.

    Codes of more than 64 bits are written as words of 64, the low one first, in a last axis.
    """
    long, dtype = product.long_words, np.dtype(np.uint64) if product.long_words else product.dtype
    shape = (*product.shape, long) if long else product.shape
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    batch = product.shape[:-2]
    a, b = (_batched(side, batch) for side in (product.a, product.b))
    c = None if product.c is None else np.broadcast_to(product.c, product.shape)
    for at in np.ndindex(*batch):
        for rows in product.parts():
            of_a = _rows(a, at, rows, product.unit)
            of_b, of_c = (None if array is None else array[at] for array in (b.scales, c))
            of_c = None if of_c is None else of_c[rows]
            results = gemm(product.unit, of_a.codes, b.codes[at], of_c, of_a.scales, of_b, progress=progress)
            scaled = _multiplied(product.unit, results, of_a.factor, None if b.factor is None else b.factor[at])
            file.write(np.ascontiguousarray(to_words(scaled, long) if long else scaled).data)


def _batched(operand: MatrixOperand, batch: Sequence[int]) -> MatrixOperand:
    def to_batch(array: NDArray[Any]) -> NDArray[Any]:
        return np.broadcast_to(array, (*batch, *array.shape[-2:]))

    scales, factor = (None if array is None else to_batch(array) for array in (operand.scales, operand.factor))
    return MatrixOperand(to_batch(operand.codes), scales, factor)


def _rows(a: MatrixOperand, at: Shape, rows: slice, unit: Unit) -> MatrixOperand:
    """Some rows of a matrix in a batch; they begin where a block of scales begins."""
    scales, factor = (None if array is None else array[at] for array in (a.scales, a.factor))
    if scales is not None and unit.scale is not None:
        across = unit.scale.a.block[0]
        scales = scales[rows.start // across : -(-rows.stop // across)]
    if factor is not None and len(factor) > 1:
        factor = factor[rows]
    return MatrixOperand(a.codes[at][rows], scales, factor)


def _multiplied(unit: Unit, results: NDArray[Any], *factors: NDArray[np.float32] | None) -> NDArray[Any]:
    """Results times their scales, with every product in binary32, to nearest even; unchanged without scales."""
    given = [factor for factor in factors if factor is not None]
    if not given:
        return results
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        values = results if results.dtype.kind == "f" else unit.output.decode(results)
        scale = given[0] if len(given) == 1 else given[0] * given[1]
        return np.multiply(values.astype(np.float32), scale)
