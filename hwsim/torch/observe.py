"""The errors of every product of a model while it runs: of quantisation and of accumulation, told apart."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hwsim.base.arrays import arrow, write_table
from hwsim.base.errors import InputError
from hwsim.quantize.quantized import spread
from hwsim.quantize.tensors import MatrixOperand
from hwsim.spec import Unit
from hwsim.torch import operators
from hwsim.torch.products import ComputedProduct, Side

if TYPE_CHECKING:
    from hwsim.study.report import StudyReport

Doubles = NDArray[np.float64]
SIDES: tuple[Side, Side] = ("a", "b")


class Measures:
    """Measured errors: a record for each observed product.

    records: `step`, `layer`, `product` (forward, input, weight), `unit`, `m`, `k`, `n`; `quantization`, `accumulation`,
    `total`: root mean square error over the root mean square of the exact elements; `snr_db`, of both kinds together;
    `shrink`: how much nearer to zero accumulation leaves results, of their mean magnitude; `saturated_a` and
    `saturated_b`: the share of numbers beyond the largest code under their scale; `underflowed_a` and `underflowed_b`:
    the share of numbers other than zero whose code is zero.
    """

    def __init__(self, every: int):
        self.every, self._step = every, 0
        self.records: list[dict[str, Any]] = []

    def step(self) -> None:
        """Count a step of training. Of `every` steps, one is looked at: the first, then each `every`-th."""
        self._step += 1

    def __call__(self, call: ComputedProduct) -> None:
        """Take a record of a product, in a step that is looked at."""
        if self._step % self.every == 0:
            self.records.append({"step": self._step, **record_of(call)})

    def write(self, path: Path | str) -> None:
        """Write the records as a Parquet file, a row each, sealed as studies' results are.

        Raises ValueError where there is no record, ToolMissing without the extra `study`, OSError.
        """
        self._demand()
        write_table(arrow().Table.from_pylist(self.records), Path(path))

    def report(self, title: str = "Products of a model") -> StudyReport:
        """Charts of the errors by layer, and by step where several were looked at, and a table of all products.

        Raises ValueError where there is no record.
        """
        from hwsim.torch.overview import report_of

        self._demand()
        return report_of(self.records, self.summary(), title)

    def draw(self, folder: Path | str, title: str = "Products of a model") -> list[Path]:
        """Write the report as a page, report.html, and its figures. Returns what was written.

        Raises ValueError where there is no record, ToolMissing without the extra `study`, OSError.
        """
        from hwsim.torch.overview import write_report

        return write_report(self.report(title), Path(folder))

    def _demand(self) -> None:
        if not self.records:
            raise InputError("nothing was measured: no product went through a unit")

    def summary(self) -> list[dict[str, Any]]:
        """A record for each layer and product: the mean of its measures over all steps."""
        groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for record in self.records:
            groups.setdefault((record["layer"], record["product"]), []).append(record)
        return [
            {
                key: float(np.mean([record[key] for record in of])) if isinstance(value, float) else value
                for key, value in of[0].items()
                if key != "step"
            }
            for of in groups.values()
        ]


@contextmanager
def measure(every: int = 1) -> Iterator[Measures]:
    """Within the block, the errors of all products that units compute are measured, against exact ones in binary64.

    every: of so many steps one is looked at; `step()` of what is yielded counts them. It takes several times as long as
    the products.
    """
    if type(every) is not int or every < 1:
        raise InputError(f"every must be a whole number of at least 1, not {every!r}")
    measures = Measures(every)
    operators.observers.append(measures)
    try:
        yield measures
    finally:
        operators.observers.remove(measures)


def record_of(call: ComputedProduct) -> dict[str, Any]:
    """The measures of one product."""
    a, b = call.a.astype(np.float64), call.b.astype(np.float64)
    exact = a @ b
    values = [values_of(call.product.unit, side, operand) for side, operand in zip(SIDES, call.operands, strict=True)]
    quantized = values[0] @ values[1]
    sums = {
        "quantization": quantized - exact,
        "accumulation": call.result - quantized,
        "total": call.result - exact,
    }
    signal, magnitude = _mean_square(exact), float(np.abs(quantized).mean())
    errors = {name: float(np.sqrt(_mean_square(error) / signal)) if signal else 0.0 for name, error in sums.items()}
    towards_zero = float(-(sums["accumulation"] * np.sign(quantized)).mean())
    *_, m, k = a.shape
    return {
        "layer": call.where, "product": call.which, "unit": call.product.unit.name, "m": m, "k": k, "n": b.shape[-1],
        **errors,
        "snr_db": float(-20 * np.log10(errors["total"])) if errors["total"] else float("inf"),
        "shrink": towards_zero / magnitude if magnitude else 0.0,
        **_ranges(call, values),
    }  # fmt: skip


def values_of(unit: Unit, side: Side, operand: MatrixOperand) -> Doubles:
    """The numbers that codes and scales stand for, exactly."""
    numbers = unit.operands.factor(side).decode(operand.codes)
    if unit.scale is not None and operand.scales is not None:
        scale = unit.scale.of(side)
        scales = operand.scales if operand.scales.dtype == np.float32 else scale.format.decode(operand.scales)
        lengths = (*[1] * (numbers.ndim - 2), *scale.block)
        numbers = numbers * spread(np.asarray(scales, np.float64), lengths, numbers.shape)
    return numbers if operand.factor is None else numbers * operand.factor.astype(np.float64)


def _ranges(call: ComputedProduct, values: list[Doubles]) -> dict[str, float]:
    """The shares of numbers that saturate and underflow; 0 after a transform, whose numbers are not the factors'."""
    shares: dict[str, float] = {}
    for side, numbers, value, operand in zip(SIDES, (call.a, call.b), values, call.operands, strict=True):
        fmt = call.product.unit.operands.factor(side)
        if call.product.hadamard is not None:
            shares |= {f"saturated_{side}": 0.0, f"underflowed_{side}": 0.0}
            continue
        # What rounds to the largest code lies at most half an ulp above it.
        beyond = 1 + 2.0 ** (math.frexp(fmt.largest)[1] - 1 - fmt.precision) / fmt.largest
        most, counted = np.abs(fmt.decode(operand.codes)) == fmt.largest, numbers != 0
        shares[f"saturated_{side}"] = float((most & (np.abs(numbers) > np.abs(value) * beyond)).mean())
        shares[f"underflowed_{side}"] = float(((value == 0) & counted).sum() / max(counted.sum(), 1))
    return shares


def _mean_square(x: Doubles) -> float:
    return float(np.square(x).mean()) if x.size else 0.0
