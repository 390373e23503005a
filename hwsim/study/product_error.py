"""The error of one matrix product on a unit: of quantising the numbers, and of accumulating the products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.base.errors import InputError
from hwsim.base.text import columns, titled
from hwsim.compute.gemm import gemm
from hwsim.explain.drawing import drawing_html, histogram
from hwsim.quantize.convert import real_numbers
from hwsim.spec import Unit, UnitLike, load_unit
from hwsim.spec.arguments import check_length, matrix_shape
from hwsim.study.accuracy.exact import exact_product
from hwsim.study.accuracy.measures import KINDS, errors_by_kind
from hwsim.study.plan.scaling import default_scaling, resolve
from hwsim.study.task import quantized_product, trial_outcome

Floats = NDArray[np.float64]

SPELT = {"quantization": "quantisation"}  # a measure's name, as pages spell it


@dataclass(frozen=True)
class KindOfError:
    """Errors of one kind, of the finite results. errors: signed, in the units of the product, one for each.

    snr_db: the power of the exact product over that of the errors; inf where there is none.
    """

    errors: Floats
    snr_db: float

    @property
    def largest(self) -> float:
        """The largest magnitude."""
        return float(np.abs(self.errors).max(initial=0.0))

    @property
    def mean(self) -> float:
        """The mean magnitude."""
        return float(np.abs(self.errors).mean()) if self.errors.size else 0.0

    def __str__(self) -> str:
        snr = "exact" if self.snr_db == np.inf else f"SNR {self.snr_db:.1f} dB"
        return f"{snr}, at most {self.largest:.3g}, mean {self.mean:.3g}"


@dataclass(frozen=True, eq=False, repr=False)
class ProductError:
    """The error of a matrix product: `print` it for a line; a notebook draws it.

    quantization: of the exact product of the quantised numbers. accumulation: of what the unit makes of those.
    total: of the result. size: the root mean square of the exact product. nonfinite: results that are not finite,
    which nothing is said of.
    """

    unit: Unit
    scaling: str
    shape: tuple[int, int, int]
    quantization: KindOfError
    accumulation: KindOfError
    total: KindOfError
    size: float
    nonfinite: int

    @property
    def title(self) -> str:
        m, k, n = self.shape
        return f"{self.unit.name}, scaling {self.scaling}: {m} x {k} by {k} x {n}"

    @property
    def left_out(self) -> str:
        return f"; {self.nonfinite:,} results are not finite" if self.nonfinite else ""

    def __repr__(self) -> str:
        return f"<ProductError {self}>"

    def __str__(self) -> str:
        kinds = f"total {self.total}; quantisation {self.quantization}; accumulation {self.accumulation}"
        return f"{self.title}: {kinds}; the product's rms is {self.size:.3g}{self.left_out}"

    def _repr_html_(self) -> str:
        rows = [
            [SPELT.get(kind, kind), f"{error_kind.snr_db:.1f}", f"{error_kind.largest:.3g}", f"{error_kind.mean:.3g}"]
            for kind in KINDS
            for error_kind in [getattr(self, kind)]
        ]
        table = columns(["error of", "SNR dB", "largest", "mean"], rows)
        series = {SPELT.get(kind, kind): np.abs(getattr(self, kind).errors) for kind in KINDS}
        caption = f"the product's rms is {self.size:.3g}{self.left_out}; below, the errors' magnitudes by powers of two"
        return titled(self.title, caption, table, drawing_html(histogram(series)))


def error(unit: UnitLike, A: Any, B: Any, scaling: Any = None) -> ProductError:
    """The error that a unit makes of A @ B, against the exact product of the numbers.

    A: (M, K), B: (K, N): finite real numbers, float64, float32, float16, bfloat16 or FP8.
    scaling: how they become codes, as a study says it: `direct`, `tensor`, `channel`, `block`, or a rule of
    hwsim.quantize; unless given, `block` for a unit that takes scales, else `direct`, which rounds each number.
    Raises TypeError and ValueError as `hwsim.gemm` and `hwsim.quantize` do.
    """
    unit = load_unit(unit)
    a, b = real_numbers(A, "A"), real_numbers(B, "B")
    for name, numbers in (("A", a), ("B", b)):
        if numbers.ndim != 2:
            raise InputError(f"{name} must be a matrix, not of shape {numbers.shape}")
        if not np.isfinite(numbers).all():
            raise InputError(f"{name} must hold finite numbers: {int((~np.isfinite(numbers)).sum()):,} are not")
    m, n = matrix_shape(unit, a.shape, b.shape)
    check_length(unit, a.shape[-1])
    chosen = resolve(default_scaling(unit) if scaling is None else scaling, unit)
    product = quantized_product(unit, chosen, a, b)
    returned = gemm(unit, product.a.codes, product.b.codes, None, product.a.scales, product.b.scales)
    exact = exact_product(a.astype(np.float64), b.astype(np.float64))
    outcome = trial_outcome(unit, product, exact, returned)
    kinds = {kind: KindOfError(*values) for kind, values in errors_by_kind(outcome).items()}
    return ProductError(
        unit, chosen.name, (m, a.shape[1], n), **kinds, size=float(np.sqrt(np.mean(np.square(exact.hi)))),
        nonfinite=int((~np.isfinite(outcome.returned)).sum()),
    )  # fmt: skip
