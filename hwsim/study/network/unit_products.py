"""Matrix products of a network as a unit computes them, with quantisation and accumulation told apart."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np

from hwsim.compute.products import gemm
from hwsim.spec import Unit
from hwsim.study.network.product import Array, Matmul, Where, exact
from hwsim.study.plan.scaling import QuantizedFactor, Scaling, SideScaling, apply, resolve
from hwsim.study.trial import as_numbers

Factors = tuple[QuantizedFactor, QuantizedFactor]


class UnitProducts:
    """A unit, and how numbers become what it multiplies.

    activations, weights: entries of a study's `scaling`, of either side: activations are A, and B of products without
    a weight; weights are B. Raises SpecError where the unit does not take them.

    Numbers are rounded to binary32 before they are quantised, as tensors in memory are. Scales that do not enter the
    unit multiply its results in binary64: what is measured is the unit's error, not that of one more rounding.
    """

    def __init__(self, unit: Unit, activations: Any, weights: Any):
        self.unit = unit
        self.of_activations: Scaling = resolve(activations, unit)
        self.of_weights: Scaling = resolve(weights, unit)
        self._weights: dict[Where, tuple[Array, QuantizedFactor]] = {}

    def operands(self, where: Where, a: Array, b: Array) -> Factors:
        """Both factors, quantised; a weight once for all passes."""
        a, b = self._filled(a, -1), b if where.weight else self._filled(b, -2)
        left = self._quantized(self.of_activations.a, "a", a)
        if not where.weight:
            return left, self._quantized(self.of_activations.b, "b", b)
        kept = self._weights.get(where)
        if kept is None or kept[0] is not b:
            kept = self._weights[where] = b, self._quantized(self.of_weights.b, "b", self._filled(b, -2))
        return left, kept[1]

    def _filled(self, x: Array, axis: int) -> Array:
        """The factor with zeros added along K up to a whole number of the unit's blocks of scales."""
        if self.unit.scale is None:
            return x
        step = math.lcm(self.unit.scale.a.block[1], self.unit.scale.b.block[0])
        widths = [(0, 0)] * x.ndim
        widths[axis] = 0, -x.shape[axis] % step
        return np.pad(x, widths)

    def _quantized(self, side: SideScaling, which: str, numbers: Array) -> QuantizedFactor:
        return apply(side, which, self.unit, numbers.astype(np.float32))

    def exactly(self, operands: Factors) -> Array:
        """The product of the numbers that the codes stand for, in binary64: nothing but quantisation is wrong."""
        a, b = operands
        return _scaled(np.asarray(a.values @ b.values), operands)

    def by_unit(self, operands: Factors) -> Array:
        """The product that the unit returns, as numbers."""
        a, b = operands
        results = gemm(self.unit, a.codes, b.codes, None, a.scales, b.scales)
        return _scaled(as_numbers(self.unit, results), operands)

    # Two ways to multiply: each is a `Matmul`.

    def quantized(self, where: Where, a: Array, b: Array) -> Array:
        """Quantised as for the unit, and multiplied exactly."""
        return self.exactly(self.operands(where, a, b))

    def both(self, where: Where, a: Array, b: Array) -> Array:
        """Quantised, and multiplied by the unit."""
        return self.by_unit(self.operands(where, a, b))


def _scaled(product: Array, operands: Factors) -> Array:
    for operand in operands:
        product = product if operand.factor is None else product * operand.factor
    return product


class ProductErrors(NamedTuple):
    """Sums over all elements of a product. signal: squares of the exact elements; the rest: squares of errors.

    magnitude: of the exact ones; towards_zero: -error of accumulation times the sign of what it should be.
    """

    signal: float
    quantization: float
    accumulation: float
    total: float
    magnitude: float
    towards_zero: float

    def relative(self, kind: str) -> float:
        """Root mean square error, over the root mean square of the exact elements; 0 where all are 0."""
        return float(np.sqrt(getattr(self, kind) / self.signal)) if self.signal else 0.0

    @property
    def shrink(self) -> float:
        """How much nearer to zero accumulation leaves sums, of their mean magnitude; 0 where all are 0."""
        return self.towards_zero / self.magnitude if self.magnitude else 0.0


class Accumulated:
    """A `Matmul`: multiplied exactly, and given the error with which a unit sums the products of quantised factors.

    sums: of every product of the network, what the unit gets wrong of the factors that it was given.
    """

    def __init__(self, products: UnitProducts):
        self.products = products
        self.sums: dict[Where, ProductErrors] = defaultdict(lambda: ProductErrors(0, 0, 0, 0, 0, 0))

    def __call__(self, where: Where, a: Array, b: Array) -> Array:
        """A @ B, and the unit's error of accumulation."""
        reference = exact(where, a, b)
        operands = self.products.operands(where, a, b)
        quantized, returned = self.products.exactly(operands), self.products.by_unit(operands)
        found = ProductErrors(
            _squares(reference), _squares(quantized - reference), _squares(returned - quantized),
            _squares(returned - reference), float(np.abs(quantized).sum()),
            float(((quantized - returned) * np.sign(quantized)).sum()),
        )  # fmt: skip
        self.sums[where] = ProductErrors(*(one + other for one, other in zip(self.sums[where], found, strict=True)))
        return reference + (returned - quantized)


def _squares(x: Array) -> float:
    return float(np.square(x).sum())


class Recorder:
    """A `Matmul` that keeps what is multiplied. factors: A and B of every call, by the product."""

    def __init__(self, product: Matmul = exact):
        self.product = product
        self.factors: dict[Where, list[tuple[Array, Array]]] = defaultdict(list)

    def __call__(self, where: Where, a: Array, b: Array) -> Array:
        """A @ B, as the product has it."""
        self.factors[where].append((a, b))
        return self.product(where, a, b)
