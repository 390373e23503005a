"""One matrix product of numbers as a unit computes it: quantised, multiplied, scaled."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.compute.products import no_progress
from hwsim.compute.products import product as multiplied
from hwsim.errors import InputError
from hwsim.quantize import Rule
from hwsim.quantize.tensors import MatrixOperand
from hwsim.spec import Unit
from hwsim.torch.hadamard import transformed
from hwsim.torch.operands import FactorRule, Histories, Side, coded

Singles = NDArray[np.float32]
Which = Literal["forward", "input", "weight"]
Output = Literal["f32", "bf16", "f16"]


@dataclass(frozen=True)
class UnitProduct:
    """A matrix product of a recipe: the unit, how its factors become codes, and a transform of both along K."""

    unit: Unit
    a: FactorRule
    b: FactorRule
    hadamard: int | None = None

    @property
    def step(self) -> int:
        """What K must be a multiple of; factors are filled with zeros up to it."""
        scale = self.unit.scale
        of_scales = 1 if scale is None else math.lcm(scale.a.block[1], scale.b.block[0])
        return math.lcm(of_scales, self.hadamard or 1)

    @property
    def random(self) -> bool:
        """Whether the result depends on a seed."""
        return self.a.stochastic or self.b.stochastic

    @property
    def delayed(self) -> bool:
        """Whether a scale follows from earlier calls."""
        return self.a.history is not None or self.b.history is not None


@dataclass(frozen=True)
class Products:
    """The three products of a layer; None is left to PyTorch, in float32.

    forward: activations @ weights. input: gradients @ weights^T. weight: gradients^T @ activations.
    output: the format that results are rounded to. keep: the rule by which the first factor is kept for the backward
    pass; None keeps it as it is.
    key: a word by which an operator finds these products, the same for equal ones in every process. random: whether
    any of them depends on a seed.
    """

    forward: UnitProduct | None
    input: UnitProduct | None
    weight: UnitProduct | None
    output: Output = "f32"
    keep: Rule | None = None
    key: str = field(init=False, repr=False, compare=False)
    random: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Here, and not where they are asked for: `torch.compile` looks on there.
        key = hashlib.sha256(repr(self).encode()).hexdigest()[:16]
        every = (self.forward, self.input, self.weight)
        object.__setattr__(self, "key", key)
        object.__setattr__(self, "random", any(one is not None and one.random for one in every))
        _known[key] = self

    def __reduce__(self) -> tuple[type[Products], tuple[Any, ...]]:
        """Pickled as its own constructor call: a process that reads it knows its key."""
        return Products, (self.forward, self.input, self.weight, self.output, self.keep)

    def of(self, which: Which) -> UnitProduct | None:
        """One of the products."""
        return {"forward": self.forward, "input": self.input, "weight": self.weight}[which]


_known: dict[str, Products] = {}


def products_of(key: str) -> Products:
    """The products of a key. Raises ValueError where no recipe of this process has them."""
    if key not in _known:
        raise InputError(f"no recipe of this process has the products {key}: call hwsim.torch.load_recipe first")
    return _known[key]


class ComputedProduct(NamedTuple):
    """A product that was computed, for those who measure.

    where: the layer. a, b: the factors' numbers, filled up, before a transform. result: float32, before it is rounded
    to the recipe's output.
    """

    where: str
    which: Which
    product: UnitProduct
    a: Singles
    b: Singles
    operands: tuple[MatrixOperand, MatrixOperand]
    result: Singles


def computed(
    product: UnitProduct,
    a: Singles,
    b: Singles,
    *,
    seed: int,
    where: str,
    which: Which,
    histories: Histories,
    threads: int | None = None,
    again: bool = False,
) -> ComputedProduct:
    """A @ B of numbers, (..., M, K) and (..., K, N), as the unit returns it.

    Results are numbers of binary32: d * (scale of A * scale of B), both products rounded to it, where the unit takes
    no scales, as `hwsim gemm --quantize` does it.
    seed: of stochastic rounding. histories: of delayed scaling, by `where` and `which`. threads: None for as many as
    `hwsim.gemm` takes. again: the last call of `where` and `which` is computed again.
    """
    a, b = filled(a, -1, product.step), filled(b, -2, product.step)
    factors: dict[Side, Singles] = {"a": a, "b": b}
    if product.hadamard is not None:
        size = product.hadamard
        factors = {"a": transformed(a, -1, size, 0), "b": transformed(b, -2, size, 0)}
    operands = tuple(
        histories.codes(f"{where}:{which}:{side}", operand, factors[side], again)
        if operand.history is not None
        else coded(operand, product.unit, side, factors[side], 2 * seed + (side == "b"))
        for side, operand in zip(factors, (product.a, product.b), strict=True)
    )
    of_a, of_b = operands
    returned = multiplied(
        product.unit, of_a.codes, of_b.codes, None, of_a.scales, of_b.scales, progress=no_progress, threads=threads,
        again=True,
    )  # fmt: skip
    result = as_singles(product.unit, returned)
    scales = [one.factor for one in operands if one.factor is not None]
    if scales:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            result = result * (scales[0] if len(scales) == 1 else scales[0] * scales[1])
    return ComputedProduct(where, which, product, a, b, (of_a, of_b), result)


def filled(x: Singles, axis: int, step: int) -> Singles:
    """Numbers with zeros added along K up to a whole number of steps."""
    missing = -x.shape[axis] % step
    if not missing:
        return x
    widths = [(0, 0)] * x.ndim
    widths[axis] = 0, missing
    return np.pad(x, widths)


def as_singles(unit: Unit, results: NDArray[Any]) -> Singles:
    """Results of a unit as binary32 numbers; those of i32 and binary64 are rounded to it."""
    if results.dtype == np.float32:
        return results
    if results.dtype.kind != "f":
        if not unit.output.in_float64:
            raise InputError(f"{unit.name} has results in {unit.output.name}, which float64 does not hold")
        results = unit.output.decode(results)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return results.astype(np.float32)
