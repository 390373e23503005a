"""Operands of any unit, as codes and as numbers, and what the unit and exact arithmetic make of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.cases.drawing import Stream, normals
from hwsim.compute.gemm import gemm
from hwsim.model import dot
from hwsim.spec import Unit
from hwsim.study.accuracy.exact import exact_product, magnitude
from hwsim.study.accuracy.measures import TrialOutcome

Array = NDArray[np.float64]


class Given(NamedTuple):
    """Codes of both operands, (rows, K) and (K, columns), and of their scales, in blocks, or None."""

    unit: Unit
    a: NDArray[Any]
    b: NDArray[Any]
    scale_a: NDArray[Any] | None = None
    scale_b: NDArray[Any] | None = None

    def codes(self) -> tuple[Any, ...]:
        """As `dot` takes them: row i with column i."""
        sides = None if self.scale_b is None else self.scale_b.T
        return self.a, self.b.T, self.scale_a, sides

    def scales(self) -> tuple[Array | None, Array | None]:
        """The scales' values, one a term."""
        if self.unit.scale is None or self.scale_a is None or self.scale_b is None:
            return None, None
        sides = []
        for side, codes, shape in (("a", self.scale_a, self.a.shape), ("b", self.scale_b, self.b.shape)):
            scale = getattr(self.unit.scale, side)
            wide = np.repeat(np.repeat(scale.format.decode(codes), scale.block[0], axis=0), scale.block[1], axis=1)
            sides.append(wide[: shape[0], : shape[1]])
        return sides[0], sides[1]

    def outcome(self, matrix: bool = True) -> TrialOutcome:
        """What the unit returns, and what it should; without quantisation. matrix: by the engine, else the model."""
        unit = self.unit
        made = gemm(unit, self.a, self.b, None, self.scale_a, self.scale_b) if matrix else dot(unit, *self.codes())
        values_a, values_b = unit.operands.a.decode(self.a), unit.operands.b.decode(self.b)
        scales_a, scales_b = self.scales()
        whole_a = values_a if scales_a is None else values_a * scales_a
        whole_b = values_b if scales_b is None else values_b * scales_b
        product = exact_product(whole_a, whole_b)
        return TrialOutcome(
            unit=unit,
            returned=np.asarray(unit.output.decode(made), np.float64).reshape(product.hi.shape),
            quantized=product,
            numbers=product,
            factor=None,
            magnitude=magnitude(whole_a, whole_b),
            values_a=values_a,
            values_b=values_b,
            scales_a=scales_a,
            scales_b=scales_b,
        )


def operands(unit: Unit, stream: Stream, shape: tuple[int, int], length: int, spread: int = 0) -> Given:
    """Normal numbers, times powers of two up to 2^spread either way, saturated; scales within 2^spread of 1."""
    rows, columns = shape
    sides = []
    for fmt, size in ((unit.operands.a, (rows, length)), (unit.operands.b, (length, columns))):
        values = normals(stream, size) * 2.0 ** stream.integers(-spread, spread + 1, size)
        values = values * (16.0 if "int" in fmt.name else 1.0)
        sides.append(fmt.encode(values if fmt.signed else np.abs(values)))
    if unit.scale is None:
        return Given(unit, *sides)
    scales = []
    for side, (height, width) in (("a", (rows, length)), ("b", (length, columns))):
        scale = getattr(unit.scale, side)
        size = -(-height // scale.block[0]), -(-width // scale.block[1])
        values = 2.0 ** stream.integers(-spread, spread + 1, size)
        scales.append(scale.format.encode(values))
    return Given(unit, *sides, *scales)


def positive(given: Given) -> Given:
    """The same without signs."""
    unit = given.unit
    a, b = unit.operands.a, unit.operands.b
    return given._replace(a=a.encode(np.abs(a.decode(given.a))), b=b.encode(np.abs(b.decode(given.b))))
