"""Matrix products as a plan makes them of a unit's results: parts of K, their sum, and steps on it.

Numbers stand in float32 where all is rounded to binary32, ties to even, which a processor does; elsewhere in float64,
where a sum that does not fit is rounded to odd, so that one more rounding, to 24 bits at most, is the only one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, assert_never, cast

import numpy as np
from numpy.typing import NDArray

from hwsim.base.arrays import as_numbers
from hwsim.base.errors import InputError, InputTypeError
from hwsim.compute.kernels.tiles import Progress
from hwsim.compute.products import no_progress, product, taken_apart
from hwsim.formats import FloatFormat, Format, codes_of, container_dtype
from hwsim.formats.codes import Codes
from hwsim.spec import Unit
from hwsim.spec.arguments import Shape, matrix_shape, result_dtype
from hwsim.spec.plan import AddNumber, MultiplyAndAdd, MultiplyBy, Number, ProductPlan, RoundTo, check

Values = NDArray[Any]  # float32 or float64
# Told of what a plan has made so far: in words, and the numbers.
Told = Callable[[str, Values], None]
MANY = 1 << 16  # results, for which compiled roundings are worth their loading
NAN = np.uint32(0x7FFFFFFF).view(np.float32)  # binary32's canonical one
NARROW = 21  # fraction bits of a format that float32, rounded to odd, can be rounded to once more


class ProductFactors(NamedTuple):
    """The codes of factors, (..., M, K) and (..., K, N), and the scales of a unit that has them."""

    unit: Unit
    a: Codes
    b: Codes
    scale_a: Any
    scale_b: Any

    @property
    def shape(self) -> Shape:
        """The shape of the result. Raises ValueError for factors that do not fit."""
        return matrix_shape(self.unit, self.a.shape, self.b.shape)

    def part(self, products: list[slice]) -> ProductFactors:
        """The factors of some products."""
        if [(piece.start, piece.stop) for piece in products] == [(0, self.a.shape[-1])]:
            return self
        unit, scale_a, scale_b = self.unit, self.scale_a, self.scale_b
        if unit.scale is not None:
            scale_a = _along(np.asarray(scale_a), products, -1, unit.scale.length("a"))
            scale_b = _along(np.asarray(scale_b), products, -2, unit.scale.length("b"))
        return ProductFactors(unit, _along(self.a, products, -1), _along(self.b, products, -2), scale_a, scale_b)

    def corner(self, rows: slice, columns: slice) -> ProductFactors:
        """The factors of some elements, which begin where blocks of scales do."""
        rule, scale_a, scale_b = self.unit.scale, self.scale_a, self.scale_b
        if rule is not None:
            scale_a = _along(np.asarray(scale_a), [rows], -2, rule.a.block[0])
            scale_b = _along(np.asarray(scale_b), [columns], -1, rule.b.block[1])
        return ProductFactors(self.unit, self.a[..., rows, :], self.b[..., columns], scale_a, scale_b)


def _along(array: NDArray[Any], slices: list[slice], axis: int, block: int = 1) -> NDArray[Any]:
    """Slices of the last axis or the one before it, of blocks of so many."""
    after = (slice(None),) * (-1 - axis)
    places: list[Any] = [(..., slice(piece.start // block, -(-piece.stop // block)), *after) for piece in slices]
    parts = [array[place] for place in places]
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis)


def factors_of(unit: Unit, A: Any, B: Any, scale_a: Any = None, scale_b: Any = None) -> ProductFactors:
    """Factors as `hwsim.gemm` takes them. Raises TypeError and ValueError as it does."""
    A, scale_a = taken_apart(unit, "a", A, scale_a)
    B, scale_b = taken_apart(unit, "b", B, scale_b)
    return ProductFactors(unit, codes_of(unit.operands.a, A, "A"), codes_of(unit.operands.b, B, "B"), scale_a, scale_b)


def planned(
    unit: Unit,
    plan: ProductPlan,
    A: Any,
    B: Any,
    given: Mapping[Number, Any],
    *,
    progress: Progress,
    told: Told | None = None,
    threads: int | None = None,
) -> NDArray[Any]:
    """`hwsim.gemm` with a plan. given: numbers beside A and B, or None; told: of partial sums and of every step;
    threads: None for as many as `hwsim.gemm` takes.
    """
    beside, C = dict(given), None
    if "c" not in plan.numbers:
        C = beside.pop("c", None)
    scales = (beside.pop("scale_a", None), beside.pop("scale_b", None)) if unit.scale is not None else (None, None)
    check(plan, unit)
    factors = factors_of(unit, A, B, *scales)
    numbers = _numbers(plan, beside, factors.shape)
    sums = partial_sums(plan, factors, C, progress, threads)
    return finished(plan, unit, sums, numbers, factors.a.shape[-1], told)


def partial_sums(
    plan: ProductPlan, factors: ProductFactors, C: Any, progress: Progress, threads: int | None = None
) -> list[NDArray[Any]]:
    """The unit's results for each part of K. C: the addends that the first begins with."""
    sums: list[NDArray[Any]] = []
    for products in plan.slices(factors.a.shape[-1]):
        unit, a, b, scale_a, scale_b = factors.part(products)
        addends = None if sums else C
        sums.append(product(unit, a, b, addends, scale_a, scale_b, progress=progress, threads=threads, again=True))
    return sums


def finished(
    plan: ProductPlan,
    unit: Unit,
    sums: list[NDArray[Any]],
    numbers: Mapping[Number, Values],
    k: int,
    told: Told | None = None,
) -> NDArray[Any]:
    """The results that a plan makes of partial sums, as users get them."""
    if plan.split is None and not plan.epilogue and told is None:
        return sums[0]
    if sums[0].size >= MANY:
        from hwsim.formats import loops  # noqa: F401 (results are rounded by them where they are there)
    total = _total(plan, unit.output, sums, k, told or _nothing)
    for step in plan.epilogue[:-1]:
        total = _stepped(step, plan.format, total, numbers, told or _nothing)
    for last in plan.epilogue[-1:]:
        if isinstance(last, RoundTo) and told is None:  # its codes are the results
            codes = RoundedNumbers(last.format, last.rounding).codes(total, last.overflow)
            return codes.view(result_dtype(last.format))
        total = _stepped(last, plan.format, total, numbers, told or _nothing)
    return _result(plan.output(unit), total)


def _nothing(_words: str, _values: Values) -> None:
    pass


@dataclass(frozen=True)
class RoundedNumbers:
    """Sums and products, each rounded to a format."""

    format: FloatFormat
    rounding: str

    @property
    def native(self) -> bool:
        """True if a processor's float32 rounds as this does."""
        return self.format.name == "f32" and self.rounding == "rne"

    def rounded(self, values: Values, overflow: str = "infinity") -> Values:
        """Numbers, or sums rounded to odd."""
        if self.native and overflow == "infinity":
            with np.errstate(over="ignore"):
                return values.astype(np.float32, copy=False)
        return self.format.decode(self.codes(values, overflow))

    def codes(self, values: Values, overflow: str) -> Codes:
        """The codes of numbers, or of sums rounded to odd."""
        with np.errstate(over="ignore"):
            if values.dtype == np.float64 and self.format.fraction_bits <= NARROW:
                values = _odd_float32(values)
            return self.format.encode(values, rounding=self.rounding, overflow=overflow)

    def product(self, x: Values, y: Values) -> Values:
        """x * y."""
        with np.errstate(over="ignore", invalid="ignore"):
            return x * y if self.native else self.rounded(_f64(x) * _f64(y))

    def sum(self, x: Values, y: Values) -> Values:
        """x + y."""
        with np.errstate(over="ignore", invalid="ignore"):
            return x + y if self.native else self.rounded(_odd_sum(_f64(x), _f64(y)))

    def fused(self, x: Values, y: Values, z: Values) -> Values:
        """x * y + z, rounded once."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.rounded(_odd_sum(_f64(x) * _f64(y), _f64(z)))


def _f64(values: Values) -> NDArray[np.float64]:
    return values.astype(np.float64, copy=False)


def _odd_sum(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """x + y rounded to odd: what is lost sets the last place. Both are products of numbers of up to 24 bits."""
    total = x + y
    back = total - x
    lost = (x - (total - back)) + (y - back)
    bits = total.view(np.int64)
    inexact = (lost != 0) & np.isfinite(total) & (bits & 1 == 0)
    # The exact sum lies past the total, or before it: the odd neighbour on its side.
    away = (lost > 0) == (total > 0)
    return np.where(inexact, np.where(away, bits + 1, bits - 1), bits).view(np.float64)


def _odd_float32(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """Numbers rounded to odd in float32, which is encoded faster."""
    narrow = values.astype(np.float32)
    infinite = np.isinf(narrow) & np.isfinite(values)
    narrow[infinite] = np.copysign(np.finfo(np.float32).max, values[infinite])
    bits = narrow.view(np.int32)
    inexact = (narrow != values) & np.isfinite(values) & (bits & 1 == 0)
    away = np.abs(values) > np.abs(_f64(narrow))
    return np.where(inexact, np.where(away, bits + 1, bits - 1), bits).astype(np.int32).view(np.float32)


def _total(plan: ProductPlan, fmt: Format, partial: list[NDArray[Any]], k: int, told: Told) -> Values:
    """Partial sums, added."""
    split = plan.split
    if split is None:
        told("the sum", total := _values(fmt, partial[0], True))
        return total
    register = RoundedNumbers(split.format, split.rounding)
    sums = [register.rounded(_values(fmt, codes, register.native)) for codes in partial]
    for index, (values, slices) in enumerate(zip(sums, split.slices(k), strict=True)):
        products = ", ".join(f"{piece.start} to {piece.stop - 1}" for piece in slices[:4])
        told(f"part {index}: products {products}{', ...' * (len(slices) > 4)}", values)
    match split.sum:
        case "sequential":
            total = sums[0]
            for index, values in enumerate(sums[1:], 1):
                total = register.sum(total, values)
                told(f"sum of parts 0 to {index}", total)
        case "pairwise":
            while len(sums) > 1:
                pairs = [register.sum(*sums[first : first + 2]) for first in range(0, len(sums) - 1, 2)]
                sums = pairs + sums[2 * len(pairs) :]
                for values in pairs:
                    told(f"sum of a pair, {len(sums)} left", values)
            total = sums[0]
        case "halves":
            *others, total = sums
            half = -(-len(sums) // 2)
            for index, values in enumerate(others[:half]):
                paired = index + half < len(others)
                total = register.sum(total, register.sum(values, others[index + half]) if paired else values)
                told(f"and part {index}{f' with {index + half}' * paired}", total)
        case never:
            assert_never(never)
    return total


def _values(fmt: Format, codes: NDArray[Any], native: bool) -> Values:
    """Results as numbers: float32 where that is wanted and holds them."""
    if native and codes.dtype == np.float32:
        return codes
    values = fmt.decode(codes.view(container_dtype(fmt)) if codes.dtype.kind == "f" else codes)
    return values.astype(np.float32) if native and isinstance(fmt, FloatFormat) else values


def _stepped(
    step: MultiplyBy | AddNumber | MultiplyAndAdd | RoundTo,
    fmt: FloatFormat,
    total: Values,
    beside: Mapping[Number, Values],
    told: Told,
) -> Values:
    """The sum after a step."""
    if isinstance(step, RoundTo):
        total = RoundedNumbers(step.format, step.rounding).rounded(total, step.overflow)
        told(f"rounded to {step.format.name}", total)
        return total
    register = RoundedNumbers(fmt, step.rounding)
    if register.native:
        total = total.astype(np.float32, copy=False)

    def factor(names: tuple[Number, ...]) -> Values:
        values = [beside[name] for name in names]
        return values[0] if len(values) == 1 else register.product(*values)

    match step:
        case MultiplyBy():
            before, by = total, factor(step.by)
            total = register.product(before, by)
            if step.zero == "positive":
                exact = (before == 0) | (by == 0)
                total = np.where(exact & (total == 0), np.zeros_like(total), total)
            told(f"times {' * '.join(step.by)}", total)
        case AddNumber(of=of, fused=True):
            total = register.fused(beside[of[0]], beside[of[-1]], total)
            told(f"plus {' * '.join(of)}, fused", total)
        case AddNumber():
            total = register.sum(total, factor(step.of))
            told(f"plus {' * '.join(step.of)}", total)
        case MultiplyAndAdd():
            total = register.fused(total, factor(step.by), factor(step.of))
            told(f"times {' * '.join(step.by)} plus {' * '.join(step.of)}, fused", total)
        case _:
            assert_never(step)
    return total


# The shape of each number, beside one number for all: by row, by column, or by element.
SHAPES: dict[Number, str] = {"scale_a": "(M, 1)", "scale_b": "(1, N)", "bias": "(N,)", "c": "(M, N)"}


def _numbers(plan: ProductPlan, given: Mapping[Number, Any], shape: Shape) -> dict[Number, Values]:
    """The numbers that a plan names. Raises ValueError for one that is missing, and one that no step takes."""
    for name, value in given.items():
        if value is not None and name not in plan.numbers:
            raise InputError(f"{name} must be None, because plan {plan.name} has no step that takes it")
    for name in plan.numbers:
        if given.get(name) is None:
            raise InputError(f"{name} is missing: a step of plan {plan.name} takes it")
    return {name: number_of(name, given[name], shape) for name in plan.numbers}


def number_of(name: Number, value: Any, shape: Shape) -> Values:
    """A number beside the sum, or one for each row, column or element, as float32 in a shape that broadcasts.

    Raises ValueError for another shape, TypeError for what are no floats; each names it.
    """
    array = np.asarray(as_numbers(value, name))
    if array.dtype.kind not in "fV" and array.ndim:
        raise InputTypeError(f"{name} must be floats, not {array.dtype}")
    try:
        array = array.astype(np.float32)
    except (TypeError, ValueError):
        raise InputTypeError(f"{name} must be real numbers, not {array.dtype}") from None
    allowed: dict[str, tuple[Shape, ...]] = {
        "scale_a": ((shape[-2], 1),), "scale_b": ((1, shape[-1]),), "bias": ((shape[-1],),), "c": (shape, shape[-2:]),
    }  # fmt: skip
    if array.size == 1 and name != "c":
        return array.reshape(1, 1)
    if array.shape not in allowed.get(name, ()):
        expected = f"a number, or of shape {SHAPES[name]}" if name in SHAPES else "one number"
        raise InputError(f"{name} must be {expected}, with M {shape[-2]} and N {shape[-1]}, not of shape {array.shape}")
    return array


def _result(fmt: Format, total: Values) -> NDArray[Any]:
    """Numbers in the dtype that users get: floats with exact bits, or codes; each NaN the format's canonical one."""
    if total.dtype == np.float32 == result_dtype(fmt):
        nan = np.isnan(total)
        return np.where(nan, NAN, total) if nan.any() else total
    return fmt.encode(total, missing="nan", overflow="propagate").view(result_dtype(fmt))


class PlannedStep(NamedTuple):
    """The state of an element after a step of its plan: in words, the number, and its code in binary32."""

    words: str
    value: float
    code: int


def explain_planned(unit: Unit, plan: ProductPlan, given: Mapping[str, Any]) -> list[PlannedStep]:
    """The steps to one element of a whole product. given: a and b, K codes, and by name what else there is."""
    steps: list[PlannedStep] = []

    def told(words: str, values: Values) -> None:
        single = np.float32(values.reshape(-1)[0])
        steps.append(PlannedStep(words, float(single), int(single.view(np.uint32))))

    beside = {name: value for name, value in given.items() if name not in ("a", "b") and value is not None}
    if "c" in beside:
        beside["c"] = np.reshape(beside["c"], (1, 1))
    for side, axis in (("scale_a", 0), ("scale_b", 1)):
        if unit.scale is not None and side in beside:
            beside[side] = np.expand_dims(np.asarray(beside[side]), axis)
    a, b = np.asarray(given["a"])[None], np.asarray(given["b"])[:, None]
    planned(unit, plan, a, b, cast(Mapping[Number, Any], beside), progress=no_progress, told=told)
    return steps
