"""Finds the plan of a product's results: of splits of K and steps that libraries use, those that return its bits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from hwsim.base.errors import InputError
from hwsim.compute.planned import ProductFactors, Values, factors_of, finished, number_of, partial_sums
from hwsim.compute.products import dot_codes, no_progress
from hwsim.formats import FixedFormat, FloatFormat, codes_of
from hwsim.formats.codes import Codes
from hwsim.spec import Unit
from hwsim.spec.arguments import addends, pad, result_array
from hwsim.spec.plan import (
    AddNumber,
    Factor,
    MultiplyAndAdd,
    MultiplyBy,
    Number,
    PartOrder,
    ProductPlan,
    RoundTo,
    Split,
    Step,
)

MOST_PARTS = 64
CUTS = (128, 64, 32, 256, 16)  # products between places where K may be cut; those of libraries' tiles first
FEW = 8  # rows and columns that every candidate is tried on
MOST_SHARES = 8  # plans that are looked for where none explains all


class ExplainedShare(NamedTuple):
    """A plan, and the elements that it explains and no plan before it does."""

    plan: ProductPlan
    elements: NDArray[np.bool_]


@dataclass(frozen=True)
class Fit:
    """The plans that explain results.

    plans: those that return every bit, the simplest first. shares: where none does, plans that explain most of what is
    left, one after another. tried: the number of plans. elements: of the result.
    """

    plans: tuple[ProductPlan, ...]
    shares: tuple[ExplainedShare, ...]
    tried: int
    elements: int

    @property
    def unexplained(self) -> int:
        """The number of elements that no plan explains."""
        return 0 if self.plans else self.elements - sum(int(share.elements.sum()) for share in self.shares)


def fit(
    unit: Unit,
    A: Any,
    B: Any,
    D: Any,
    output: FloatFormat,
    numbers: Mapping[Number, Any] | None = None,
    *,
    most_parts: int = MOST_PARTS,
    usual: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Fit:
    """Look for plans that return the bits of D.

    unit: what computes each part. A: (M, K), B: (K, N), as `hwsim.gemm` takes them; D: (M, N) results, floats or codes
    of `output`. numbers: scales, alpha, beta, c and bias, as `hwsim.gemm` takes them; each takes part.
    usual: whether neighbouring steps make the parts of every split that is tried, added one after another.
    progress: called with the number of splits that were tried, and of all.
    Raises ValueError and TypeError for what does not fit.
    """
    present = {name: value for name, value in (numbers or {}).items() if value is not None}
    scales = (present.pop("scale_a", None), present.pop("scale_b", None)) if unit.scale is not None else (None, None)
    factors = factors_of(unit, A, B, *scales)
    shape, k = factors.shape, factors.a.shape[-1]
    wanted = codes_of(output, D, "D")
    if len(shape) != 2 or wanted.shape != shape:
        raise InputError(f"D must have shape (M, N), that of A @ B, {shape}, not {wanted.shape}")
    beside = {name: number_of(name, value, shape) for name, value in present.items()}
    tried = [
        split
        for split in splits(unit, k, most_parts)
        if split is None or not usual or (split.order, split.sum) == ("contiguous", "sequential")
    ]
    search = _Search(factors, output, beside, wanted, tried, [*epilogues(unit, output, present)])
    left, shares = np.ones(shape, bool), list[ExplainedShare]()
    while left.any() and len(shares) < MOST_SHARES:
        plans = search.on_corner(left, progress if not shares else None)
        equal = search.on_all(plans)
        if whole := tuple(plan for plan, same in zip(plans, equal, strict=True) if same.all()):
            return Fit(whole, (), search.tried, left.size)
        best = max(range(len(plans)), key=lambda index: (int((equal[index] & left).sum()), -index))
        if not (equal[best] & left).any():
            break
        shares.append(ExplainedShare(plans[best], equal[best] & left))
        left &= ~equal[best]
    return Fit((), tuple(shares), search.tried, left.size)


@dataclass(frozen=True)
class _Search:
    """Splits and steps that are tried on a product."""

    factors: ProductFactors
    output: FloatFormat
    beside: Mapping[Number, Values]
    wanted: Codes
    splits: list[Split | None]
    tails: list[tuple[Step, ...]]

    @property
    def tried(self) -> int:
        return len(self.splits) * len(self.tails)

    def on_corner(self, left: NDArray[np.bool_], progress: Callable[[int, int], None] | None) -> list[ProductPlan]:
        """The plans that explain the elements at and after the first one that is left; or those that explain most."""
        corner = _corner(self.factors.unit, left)
        factors = self.factors.corner(*corner)
        pairs = None if factors.unit.scale is not None else _pairs(factors)
        beside = {name: _cut(name, values, corner) for name, values in self.beside.items()}
        wanted, ranked = self.wanted[corner], list[tuple[int, int, ProductPlan]]()
        sums, of = list[NDArray[Any]](), list[list[slice]]()
        for index, split in enumerate(self.splits):
            if progress is not None:
                progress(index, len(self.splits))
            if (slices := ProductPlan(split=split).slices(factors.a.shape[-1])) != of:
                of, sums = slices, []
            sums = sums or (
                partial_sums(ProductPlan(split=split), factors, None, no_progress) if pairs is None else pairs(split)
            )
            for plan, same in self._each(split, self.tails, sums, beside, wanted):
                ranked.append((-int(same.sum()), len(ranked), plan))
        ranked.sort(key=lambda entry: entry[:2])
        return [plan for missed, _, plan in ranked if missed == ranked[0][0]]

    def on_all(self, plans: list[ProductPlan]) -> list[NDArray[np.bool_]]:
        """The elements that each plan explains."""
        equal: dict[int, NDArray[np.bool_]] = {}
        for split in dict.fromkeys(plan.split for plan in plans):
            of = [index for index, plan in enumerate(plans) if plan.split == split]
            tails = [plans[index].epilogue for index in of]
            sums = partial_sums(ProductPlan(split=split), self.factors, None, no_progress)
            judged = self._each(split, tails, sums, self.beside, self.wanted)
            equal |= {index: same for index, (_, same) in zip(of, judged, strict=True)}
        return [equal[index] for index in range(len(plans))]

    def _each(
        self,
        split: Split | None,
        tails: list[tuple[Step, ...]],
        sums: list[NDArray[Any]],
        beside: Mapping[Number, Values],
        wanted: Codes,
    ) -> Iterator[tuple[ProductPlan, NDArray[np.bool_]]]:
        for tail in tails:
            plan = ProductPlan(split=split, epilogue=tail)
            result = finished(plan, self.factors.unit, sums, beside, self.factors.a.shape[-1])
            yield plan, codes_of(self.output, result, "D") == wanted


def _corner(unit: Unit, left: NDArray[np.bool_]) -> tuple[slice, slice]:
    """Some rows and columns from the first element that is left, from where blocks of scales begin."""
    row, column = np.argwhere(left)[0].tolist()
    down, across = (1, 1) if unit.scale is None else (unit.scale.a.block[0], unit.scale.b.block[1])
    return slice(row - row % down, row + FEW), slice(column - column % across, column + FEW)


def _pairs(factors: ProductFactors) -> Callable[[Split | None], list[NDArray[Any]]]:
    """The partial sums of few elements, of a split at once: a call for so little takes longer than its products."""
    unit, (m, n) = factors.unit, factors.shape
    a = np.repeat(factors.a, n, axis=0)
    b = np.tile(factors.b.T, (m, 1))
    every = np.arange(a.shape[1])

    def sums(split: Split | None) -> list[NDArray[Any]]:
        parts = [np.concatenate([every[cut] for cut in part]) for part in ProductPlan(split=split).slices(every.size)]
        partial_sums: dict[int, NDArray[Any]] = {}
        for length in dict.fromkeys(map(len, parts)):
            places = [i for i, part in enumerate(parts) if len(part) == length]
            rows = (np.concatenate([codes[:, parts[i]] for i in places]).reshape(-1, length) for codes in (a, b))
            of_a, of_b = (pad(codes, unit.instruction.fill, 0) for codes in rows)
            results = dot_codes(unit, of_a, of_b, addends(unit, None, (len(of_a),), "c"), None, again=True)
            partial_sums |= dict(zip(places, result_array(unit, results).reshape(len(places), m, n), strict=True))
        return [partial_sums[i] for i in range(len(parts))]

    return sums


def _cut(name: Number, values: Values, at: tuple[slice, slice]) -> Values:
    """The numbers of some elements."""
    if values.size == 1:
        return values
    rows, columns = at
    match name:
        case "scale_a":
            return values[rows]
        case "scale_b":
            return values[:, columns]
        case "c":
            return values[at]
        case _:
            return values[columns]


def splits(unit: Unit, k: int, most_parts: int = MOST_PARTS) -> Iterator[Split | None]:
    """The splits of a sum of k products that are tried, the fewest parts first, none with the parts of one before."""
    yield None
    if isinstance(unit.output, FixedFormat):
        return
    block = 1 if unit.scale is None else math.lcm(unit.scale.length("a"), unit.scale.length("b"))
    steps = [step for step in CUTS if step % math.lcm(block, unit.instruction.lanes) == 0]
    seen = set[tuple[Any, ...]]()
    for parts in range(2, most_parts + 1):
        for order, step in itertools.product(get_args(PartOrder), steps):
            split = Split(parts=parts, step=step, order=order)
            slices = split.slices(k)
            places = tuple(tuple((piece.start, piece.stop) for piece in part) for part in slices)
            if len(slices) > 1 and places not in seen:
                seen.add(places)
                yield split
                if len(slices) > 3:
                    yield split.model_copy(update={"sum": "pairwise"})
                if len(slices) > 2:
                    yield split.model_copy(update={"sum": "halves"})


def epilogues(unit: Unit, output: FloatFormat, given: Mapping[Number, Any]) -> Iterator[tuple[Step, ...]]:
    """The steps that are tried: every number that is given takes part."""
    for scaled in _scaled(given):
        for added in _with_c(given):
            for biased in _with_bias((*scaled, *added), given):
                for rounded in _rounded(unit, output, bool(biased)):
                    yield (*biased, *rounded)


def _multiply(*by: Number) -> MultiplyBy:
    return MultiplyBy(operation="multiply", by=by)


def _scaled(given: Mapping[Number, Any]) -> list[tuple[Step, ...]]:
    both: list[tuple[Step, ...]] = [
        (_multiply("scale_a", "scale_b"),),
        (_multiply("scale_b"), _multiply("scale_a")),
        (_multiply("scale_a"), _multiply("scale_b")),
    ]
    names: list[Number] = [name for name in ("scale_a", "scale_b") if name in given]
    return both if len(names) == 2 else [tuple(_multiply(name) for name in names)]


def _with_c(given: Mapping[Number, Any]) -> Iterator[tuple[Step, ...]]:
    """Steps of alpha, beta and c."""
    alpha = (_multiply("alpha"),) if "alpha" in given else ()
    if "c" not in given:
        yield alpha
        return
    of: Factor = ("beta", "c") if "beta" in given else ("c",)
    if alpha:
        yield (MultiplyAndAdd(operation="multiply-add", by=("alpha",), of=of),)
    if len(of) == 2:
        yield (*alpha, AddNumber(operation="add", of=of, fused=True))
    yield (*alpha, AddNumber(operation="add", of=of))


def _with_bias(steps: tuple[Step, ...], given: Mapping[Number, Any]) -> Iterator[tuple[Step, ...]]:
    if "bias" not in given:
        yield steps
        return
    yield (*steps, AddNumber(operation="add", of=("bias",)))
    if steps and isinstance(steps[-1], MultiplyBy):
        yield (*steps[:-1], MultiplyAndAdd(operation="multiply-add", by=steps[-1].by, of=("bias",)))


def _rounded(unit: Unit, output: FloatFormat, stepped: bool) -> Iterator[tuple[Step, ...]]:
    """Roundings to the result's format: none where sums have it; one, or one of 16 bits before it."""
    of_sum = ProductPlan().format if stepped else unit.output
    if output == of_sum or (output.name == "f32" and isinstance(of_sum, FloatFormat)):
        yield ()
        return
    last = RoundTo(operation="round", format=output, overflow="infinity" if output.infinities else "saturate")
    yield (last,)
    narrow = [RoundTo.model_validate({"operation": "round", "format": name}) for name in ("f16", "bf16")]
    if output.bits < 16:
        yield from ((first, last) for first in narrow)
    if isinstance(of_sum, FixedFormat):
        yield RoundTo.model_validate({"operation": "round", "format": "f32"}), last
