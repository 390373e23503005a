"""A matrix product of arrays in files: what is checked before it starts, and how it is written part by part."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.formats import container_dtype
from hwsim.formats.blocks import BlockScale, scale_shape
from hwsim.formats.codes import Codes
from hwsim.model.arguments import check_length, shape_error
from hwsim.products import gemm
from hwsim.products.engine import chosen
from hwsim.products.matrix import as_results
from hwsim.quantize import get_rule
from hwsim.quantize.arrayfiles import NUMBERS, StoredArray, are_codes, codes
from hwsim.quantize.tensors import MatrixOperand, multiplies, quantized, refusal, suited, suits
from hwsim.spec import Unit

# Of the result, what is computed at a time: bytes, and rows, for all of which B is prepared once.
PART, ROWS = 1 << 24, 1024
Shape = tuple[int, ...]


class Given(NamedTuple):
    """What a product is computed from. rule_a, rule_b: how numbers are quantised, by name; None of what are codes."""

    unit: Unit
    a: StoredArray
    b: StoredArray
    c: StoredArray | None
    scale_a: StoredArray | None
    scale_b: StoredArray | None
    rule_a: str | None
    rule_b: str | None

    def side(self, side: str) -> tuple[StoredArray, StoredArray | None, str | None]:
        """A factor, its scales and its rule."""
        return (self.a, self.scale_a, self.rule_a) if side == "a" else (self.b, self.scale_b, self.rule_b)

    @property
    def batch(self) -> Shape:
        """The axes before the last two."""
        return np.broadcast_shapes(self.a.shape[:-2], self.b.shape[:-2])

    @property
    def shape(self) -> Shape:
        """The result's shape."""
        return (*self.batch, self.a.shape[-2], self.b.shape[-1])


class Product(NamedTuple):
    """A product, ready to be computed. c: the addends' codes, or None."""

    unit: Unit
    a: MatrixOperand
    b: MatrixOperand
    c: Codes | None
    shape: Shape

    @property
    def products(self) -> int:
        """How many products are summed."""
        return math.prod(self.shape) * int(self.a.codes.shape[-1])

    @property
    def by_model(self) -> bool:
        """Whether the model computes it; else compiled code does, of parts however small."""
        return chosen(self.unit, self.products, self.a.codes.shape[-1]) is None

    def parts(self) -> Iterator[slice]:
        """The rows that are computed at once, of one height but for the last."""
        m, n = self.shape[-2:]
        most = max(ROWS, PART // max(n * self.dtype.itemsize, 1))
        across = self.unit.scale.a.block[0] if self.unit.scale else 1
        height = -(-m // max(-(-m // most) * across, 1)) * across
        return (slice(first, min(first + height, m)) for first in range(0, m, max(height, 1)))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The result's dtype: as of `hwsim.gemm`, or float32 where it is multiplied by scales."""
        if self.a.factor is not None or self.b.factor is not None:
            return np.dtype(np.float32)
        return as_results(self.unit, np.empty(0, container_dtype(self.unit.output))).dtype


def check(given: Given) -> None:
    """Raise ValueError or TypeError, naming file or option, for shapes, dtypes and rules that do not go together."""
    unit, a, b = given.unit, given.a, given.b
    if len(a.shape) < 2:
        raise shape_error(f"{a.name}: A", "(..., M, K)", a.shape)
    k = a.shape[-1]
    if len(b.shape) < 2 or b.shape[-2] != k:
        raise shape_error(f"{b.name}: B", f"(..., {k}, N), because A has {k} columns", b.shape)
    try:
        check_length(unit, k)
    except ValueError as error:
        raise ValueError(f"{a.name}: {error}") from None
    try:
        batch = given.batch
    except ValueError:
        raise shape_error(
            f"{b.name}: B", f"{a.shape[:-2]}, A's axes, or what broadcasts with them, before its last two", b.shape
        ) from None
    for side in ("a", "b"):
        _check_rule(unit, side, *given.side(side))
        _check_scale(unit, side, *given.side(side), batch)
    if given.c is not None:
        if unit.operands.addend is None:
            raise ValueError(f"{given.c.name}: C must be left out, because {unit.name} has operands.addend none")
        _check_shape(given.c, "C", given.shape[-2:], batch)
        for side in ("a", "b"):
            _, _, name = given.side(side)
            if name is not None and multiplies(unit, get_rule(name)):
                raise ValueError(
                    f"--addend must be left out with {name}: {unit.name} would add it to the codes' products, "
                    "which the scales multiply afterwards"
                )


def _check_rule(unit: Unit, side: str, stored: StoredArray, scale: StoredArray | None, name: str | None) -> None:
    fmt, what = getattr(unit.operands, side), side.upper()
    if are_codes(fmt, stored):
        return
    if name is None:
        known = suited(unit, side)
        hint = f"; --quantize RULE quantises it: {', '.join(known)}" if known else ""
        raise TypeError(f"{stored.name}: {what} is {stored.kind}, not codes of {fmt.name}{hint}")
    if stored.kind not in NUMBERS:
        raise TypeError(
            f"{stored.name}: {what} must be one of {', '.join(sorted(NUMBERS))} to be quantised, not {stored.kind}"
        )
    rule = get_rule(name)
    if not suits(unit, side, rule):
        raise ValueError(f"{stored.name}: {refusal(unit, side, name, rule)}")
    if scale is not None:
        raise ValueError(f"--scale-{side} must be left out, because {name} finds the scales of {what}")


def _check_scale(
    unit: Unit, side: str, stored: StoredArray, scale: StoredArray | None, name: str | None, batch: Shape
) -> None:
    what = f"scale_{side}"
    if unit.scale is None:
        if scale is not None:
            raise ValueError(f"{scale.name}: {what} must be left out, because {unit.name} has scale none")
        return
    of: BlockScale = getattr(unit.scale, side)
    shape = scale_shape(stored.shape[-2], stored.shape[-1], of.block)
    if scale is not None:
        _check_shape(scale, what, shape, batch)
    elif are_codes(getattr(unit.operands, side), stored):
        raise ValueError(
            f"--scale-{side} is missing: {unit.name} takes a scale in {of.format.name} for every block, shape {shape}"
        )


def _check_shape(stored: StoredArray, what: str, last: Shape, batch: Shape) -> None:
    """The last two axes must be as they are said, those before them broadcast."""
    try:
        fits = stored.shape[-2:] == last and np.broadcast_shapes(stored.shape[:-2], batch) == batch
    except ValueError:
        fits = False
    if not fits:
        raise shape_error(f"{stored.name}: {what}", str((*batch, *last)), stored.shape)


def product(given: Given, allow_nan: bool) -> Product:
    """A product that was checked: codes found, and numbers quantised. allow_nan: as in `quantized`."""
    unit = given.unit
    sides = []
    for side in ("a", "b"):
        stored, scale, name = given.side(side)
        fmt = getattr(unit.operands, side)
        if are_codes(fmt, stored):
            of = None if scale is None else codes(getattr(unit.scale, side).format, scale, f"scale_{side}")
            sides.append(MatrixOperand(codes(fmt, stored, side.upper()), of))
        else:
            assert name is not None
            sides.append(quantized(unit, side, stored, get_rule(name), allow_nan))
    c = None
    if given.c is not None and unit.operands.addend is not None:
        c = codes(unit.operands.addend, given.c, "C")
    return Product(unit, sides[0], sides[1], c, given.shape)


def write(product: Product, file: BinaryIO, progress: Callable[[int], None]) -> None:
    """Compute a product, and write it as a .npy file, part by part."""
    header = {"descr": np.lib.format.dtype_to_descr(product.dtype), "fortran_order": False, "shape": product.shape}
    np.lib.format.write_array_header_1_0(file, header)
    batch = product.shape[:-2]
    a, b = (_batched(side, batch) for side in (product.a, product.b))
    c = None if product.c is None else np.broadcast_to(product.c, product.shape)
    for at in np.ndindex(*batch):
        for rows in product.parts():
            of_a = _rows(a, at, rows, product.unit)
            of_b, of_c = (None if one is None else one[at] for one in (b.scales, c))
            of_c = None if of_c is None else of_c[rows]
            results = gemm(product.unit, of_a.codes, b.codes[at], of_c, of_a.scales, of_b, progress=progress)
            found = _multiplied(product.unit, results, of_a.factor, None if b.factor is None else b.factor[at])
            file.write(np.ascontiguousarray(found).data)


def _batched(operand: MatrixOperand, batch: Sequence[int]) -> MatrixOperand:
    def to_batch(array: NDArray[Any]) -> NDArray[Any]:
        return np.broadcast_to(array, (*batch, *array.shape[-2:]))

    scales, factor = (None if one is None else to_batch(one) for one in (operand.scales, operand.factor))
    return MatrixOperand(to_batch(operand.codes), scales, factor)


def _rows(a: MatrixOperand, at: Shape, rows: slice, unit: Unit) -> MatrixOperand:
    """Some rows of one matrix of a batch; they begin where a block of scales does."""
    scales, factor = (None if one is None else one[at] for one in (a.scales, a.factor))
    if scales is not None and unit.scale is not None:
        across = unit.scale.a.block[0]
        scales = scales[rows.start // across : -(-rows.stop // across)]
    if factor is not None and len(factor) > 1:
        factor = factor[rows]
    return MatrixOperand(a.codes[at][rows], scales, factor)


def _multiplied(unit: Unit, results: NDArray[Any], *factors: NDArray[np.float32] | None) -> NDArray[Any]:
    """Results times the product of their scales, each rounded to binary32, to nearest even; as they are without."""
    given = [factor for factor in factors if factor is not None]
    if not given:
        return results
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        values = results if results.dtype.kind == "f" else unit.output.decode(results)
        scale = given[0] if len(given) == 1 else given[0] * given[1]
        return np.multiply(values.astype(np.float32), scale)
