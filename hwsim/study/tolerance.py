"""How far a unit's results may be from the exact sums, certified: tolerances for tests of kernels."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal

import numpy as np

from hwsim.base.errors import InputError
from hwsim.compute.gemm import gemm
from hwsim.formats import FixedFormat, codes_of
from hwsim.formats.blocks import per_term
from hwsim.spec import SparseLike, SparseUnit, Unit, UnitLike, load_pair
from hwsim.spec.arguments import addend_codes, addends, check_length, matrix_shape, scale_codes, scale_shapes
from hwsim.spec.keys import Factor
from hwsim.spec.sparse import gathered
from hwsim.study.accuracy.bounds import (
    counted_addends,
    counted_magnitude,
    flushed_addends,
    flushed_magnitude,
    overflow_limit,
    worst_errors,
)
from hwsim.study.accuracy.exact import Array, DoubleDouble, difference, exact_product, two_sum
from hwsim.study.accuracy.orders import errors_in_any_order
from hwsim.study.accuracy.roundings import least_exponent
from hwsim.study.task import as_numbers

SLACK = 1 + 2.0**-40  # of float64's own roundings in a bound


class ToleranceWarning(UserWarning):
    """A bound is so wide that a result of zeros would pass."""


@dataclass(frozen=True)
class Tolerance:
    """A certified bound of |result - exact|, or of |one unit's result - another's|.

    atol: a number, or (M, N) of given data; infinite where a result may overflow. exact: the exact sums of given data,
    rounded to float64, or None. zeros_pass: of how many results zeros would pass, of `results`.
    """

    atol: Any
    exact: Any
    zeros_pass: int
    results: int

    def __str__(self) -> str:
        widest = float(np.max(self.atol))
        return f"at most {widest:.4g} from the exact sum; zeros would pass as {self.zeros_pass:,} of {self.results:,}"


def tolerance(
    unit: UnitLike | SparseLike, k: int | None = None, a: Any = None, b: Any = None, c: Any = None,
    scale_a: Any = None, scale_b: Any = None, *, metadata: Any = None, order: Literal["any", "unit"] = "any",
    largest_a: float | None = None, largest_b: float | None = None, largest_c: float = 0.0,
    other: UnitLike | SparseLike | None = None,
) -> Tolerance:  # fmt: skip
    """How far a unit's results may be from the exact a b + c, for given data, or whatever the data within bounds.

    a, b, c, scale_a, scale_b: a matrix product's codes, as `hwsim.gemm` takes them, of two axes; or k products of
    factors of at most largest_a and largest_b in magnitude (their formats' largest unless given) and an addend of at
    most largest_c. other: a second unit: the bound is of the difference of both units' results. metadata: of a sparse
    unit, beside a and b; k are then the products that are kept.
    order: of "any" order of the products (and their scales) along K; or in that which the "unit" takes them in: then
    `atol` is the difference itself of what the model returns of these data.
    Computed in float64 and rounded up. Warns (ToleranceWarning) where results of zeros would be within the bound.
    Raises InputError where the operands do not fit the units.
    """
    if order not in ("any", "unit"):
        raise InputError(f"order must be 'any' or 'unit', not {order!r}")
    one, second, sparse = load_pair(unit, unit if other is None else other)
    units = [one, *([] if other is None else [second])]
    if metadata is not None and (not sparse or a is None or b is None):
        raise InputError("metadata go with a sparse unit's a and b")
    if a is None and b is None:
        if k is None:
            raise InputError("k is missing: the number of products, or a and b")
        if order == "unit":
            raise InputError("a unit's own order goes with given data, a and b")
        found = _of_bounds(units, k, largest_a, largest_b, largest_c)
    elif a is None or b is None or k is not None:
        raise InputError("a and b go together, and without k")
    elif sparse:
        found = _of_selected(sparse[0], units, a, b, c, metadata, order)
    else:
        found = _of_data(units, a, b, c, scale_a, scale_b, order)
    if found.zeros_pass:
        warnings.warn(
            f"{units[0].name}: a result of zeros would be within the tolerance of {found.zeros_pass:,} of "
            f"{found.results:,} results: compare sums that are larger, or bits with hwsim.gemm",
            ToleranceWarning,
            stacklevel=2,
        )
    return found


def _of_selected(unit: SparseUnit, units: list[Unit], a: Any, b: Any, c: Any, metadata: Any, order: str) -> Tolerance:
    """Of a product of sparse units, row by row: each row has factors of b of its own."""
    if metadata is None:
        raise InputError("metadata are missing: they go with a sparse unit's a and b")
    codes_a, codes_b, places = gathered(unit, a, b, metadata, "(K, N)")
    shape = len(codes_a), codes_b.shape[1]
    codes_c = None if c is None else addends(unit.dense, c, shape, "c")
    rows = [
        _of_data(units, codes_a[row : row + 1], codes_b[kept], None if codes_c is None else codes_c[row : row + 1],
                 None, None, order)
        for row, kept in enumerate(places)
    ]  # fmt: skip
    atol, exact = (np.concatenate([getattr(row, name) for row in rows]) for name in ("atol", "exact"))
    return Tolerance(atol, exact, sum(row.zeros_pass for row in rows), atol.size)


def _of_bounds(units: list[Unit], k: int, largest_a: float | None, largest_b: float | None, c: float) -> Tolerance:
    for name, given in (("largest_a", largest_a), ("largest_b", largest_b), ("largest_c", c)):
        if given is not None and not (isfinite(given) and given >= 0):
            raise InputError(f"{name} must be a magnitude, finite and at least 0, not {given}")
    total = 0.0
    for unit in units:
        check_length(unit, k)
        if unit.scale is not None:
            raise InputError(f"{unit.name} has scales: its tolerance is of given data, a and b")
        largest = [
            _largest(fmt) if given is None else float(given)
            for fmt, given in ((unit.operands.a, largest_a), (unit.operands.b, largest_b))
        ]
        a, b = np.full((1, k), largest[0]), np.full((k, 1), largest[1])
        bound = _bound(unit, a, b, np.array([[float(c)]]), None, None, any_data=True)
        if unit.operands.daz:  # any factor may be flushed
            least = [2.0 ** least_exponent(fmt) for fmt in unit.operands.multiplied]
            bound = bound + k * (least[0] * largest[1] + largest[0] * least[1]) * SLACK
        total += float(bound[0, 0])
        most = k * largest[0] * largest[1] + c
    passing = int(total >= most)
    return Tolerance(total, None, passing, 1)


def _largest(fmt: Factor) -> float:
    codes = np.arange(1 << min(fmt.bits, 16)) << fmt.padding
    if fmt.bits > 16:
        return 2.0**fmt.integer_bits if isinstance(fmt, FixedFormat) else float(2.0 ** (fmt.emax + 1))
    values = np.abs(np.asarray(fmt.decode(codes), np.float64))
    return float(values[np.isfinite(values)].max())


def _of_data(units: list[Unit], a: Any, b: Any, c: Any, scale_a: Any, scale_b: Any, order: str) -> Tolerance:
    first = units[0]
    for unit in units[1:]:
        if (unit.operands.a, unit.operands.b, unit.scale) != (first.operands.a, first.operands.b, first.scale):
            raise InputError(f"{first.name} and {unit.name} take other factors or scales")
    codes_a, codes_b = codes_of(first.operands.a, a, "a"), codes_of(first.operands.b, b, "b")
    if codes_a.ndim != 2 or codes_b.ndim != 2:
        raise InputError("a and b must be matrices: (M, K) and (K, N)")
    shape = matrix_shape(first, codes_a.shape, codes_b.shape)
    values_a, values_b = (
        np.asarray(fmt.decode(codes), np.float64)
        for fmt, codes in ((first.operands.a, codes_a), (first.operands.b, codes_b))
    )
    values_c = np.zeros((1, 1))
    if c is not None and first.operands.addend is not None:
        values_c = np.asarray(first.operands.addend.decode(addend_codes(first, c, "c")), np.float64)
    scales_a = scales_b = None
    scaled_a, scaled_b = values_a, values_b
    if first.scale is not None:
        shapes = scale_shapes(first.scale, codes_a.shape, codes_b.shape)
        of_a, of_b = (
            scale_codes(first, first.scale, side, given, wanted)  # type: ignore[arg-type]
            for side, given, wanted in (("a", scale_a, shapes[0]), ("b", scale_b, shapes[1]))
        )
        k, (rows, columns) = codes_a.shape[1], shape[-2:]
        decoded = (
            np.asarray(side.format.decode(codes), np.float64)
            for side, codes in ((first.scale.a, of_a), (first.scale.b, of_b))
        )
        part_a, part_b = decoded
        scales_a = per_term(np.repeat(part_a, first.scale.a.block[0], axis=0)[:rows], first.scale.a.block[1], k)
        scales_b = per_term(np.repeat(part_b.T, first.scale.b.block[1], axis=0)[:columns], first.scale.b.block[0], k).T
        scaled_a, scaled_b = values_a * scales_a, values_b * scales_b
    if not all(np.isfinite(side).all() for side in (scaled_a, scaled_b, values_c)):
        raise InputError("a, b, c and scales must be finite: nothing bounds the error of others")
    product = exact_product(scaled_a, scaled_b)
    exact = product.hi + values_c
    if order == "unit":
        returned = [as_numbers(unit, gemm(unit, codes_a, codes_b, c, scale_a, scale_b)) for unit in units]
        # One unit's less the exact sums, or less the other's.
        beside = DoubleDouble.of(returned[1]) if len(units) > 1 else product
        start = np.zeros(shape) if len(units) > 1 else -values_c
        with np.errstate(invalid="ignore", over="ignore"):
            atol = np.abs(difference(DoubleDouble(*two_sum(returned[0], start)), beside)) * SLACK
        atol = np.where(np.isfinite(atol), atol, np.inf)
    else:
        atol = np.zeros(shape)
        for unit in units:
            atol = atol + _bound(unit, values_a, values_b, values_c, scales_a, scales_b)
    passing = int((np.abs(exact) <= atol).sum())
    return Tolerance(atol, exact, passing, exact.size)


def _bound(
    unit: Unit, values_a: Array, values_b: Array, values_c: Array, scales_a: Array | None, scales_b: Array | None,
    *, any_data: bool = False,
) -> Array:  # fmt: skip
    """Upper bounds of |returned - exact|, for (rows, columns) results; infinite where one may overflow."""
    operands = values_a, values_b, scales_a, scales_b
    bound = worst_errors(unit, *operands, values_c)
    finite = np.isfinite(bound)
    near = errors_in_any_order(
        unit, *operands, values_c=values_c, within=np.where(finite, bound, 0.0), any_data=any_data
    )
    near = near + flushed_magnitude(unit, *operands) + flushed_addends(unit, values_c)
    bound = np.where(finite, np.minimum(bound, near), np.inf) * SLACK
    counted = counted_magnitude(unit, *operands) + counted_addends(unit, values_c)
    safe = counted + bound < overflow_limit(unit)
    if (limit := getattr(unit.sum, "product_limit", None)) is not None and unit.scale is not None:
        # A product may be infinite before it is scaled.
        safe &= np.abs(values_a).max(axis=1)[:, None] * np.abs(values_b).max(axis=0) < 2.0**limit
    return np.where(safe, bound, np.inf)
