"""The result of a quantisation, and its way back to real numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.errors import InputTypeError
from hwsim.formats import Format
from hwsim.markup import columns, facts, titled
from hwsim.quantize.rule import Rule, is_f32
from hwsim.quantize.tiles import spread

FEW = 6  # rows and columns that a notebook shows


@dataclass(frozen=True, eq=False, kw_only=True)
class Quantized:
    """Codes and scales of an array.

    codes: of `element`, in the array's shape; uint8 for formats of up to 8 bits.
    scales: one a block, in the shape of the array divided by `block`, upwards: codes of `scale_format`, float32 where
    that is f32, float64 real numbers where it is None.
    block: how many elements a block has along each axis. Of a matrix these are the rows and columns of a unit's
    `scale.a.block` or `scale.b.block`, and codes and scales go into `hwsim.gemm` as they are.
    axis: the axis that was quantised along, counted from 0.
    tensor_scale: a second scale of all elements, a binary32 number, or None. No unit takes it: multiply the result.
    rule: the rule that was applied.
    """

    codes: NDArray[Any]
    scales: NDArray[Any]
    element: Format
    scale_format: Format | None
    block: tuple[int, ...]
    axis: int
    tensor_scale: np.float32 | None
    rule: Rule

    def __repr__(self) -> str:
        shape, block = (" x ".join(map(str, one)) for one in (self.codes.shape, self.block))
        scales = "real numbers" if self.scale_format is None else self.scale_format.name
        tensor = "" if self.tensor_scale is None else f", times {self.tensor_scale:g}"
        axis = f", along axis {self.axis}"
        return f"<Quantized: {shape} {self.element.name}, {scales} scales of blocks of {block}{axis}{tensor}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: what it is of, and its first numbers."""
        of_scales = "real numbers" if self.scale_format is None else self.scale_format.name
        rows = (
            ("shape", " x ".join(map(str, self.codes.shape))),
            ("codes", self.element.name),
            ("scales", f"{of_scales}, one for a block of {' x '.join(map(str, self.block))}"),
            ("scale of the tensor", "" if self.tensor_scale is None else f"{self.tensor_scale:g}"),
            ("quantised along", f"axis {self.axis}"),
        )
        first = self.dequantize()[(0,) * (self.codes.ndim - 2)] if self.codes.ndim > 1 and self.codes.size else None
        shown = () if first is None else first[:FEW, :FEW].tolist()
        numbers = [[f"[{i}]", *(f"{x:.4g}" for x in row)] for i, row in enumerate(shown)]
        head = ["", *(f"[{j}]" for j in range(len(numbers[0]) - 1))] if numbers else [""]
        return titled(
            "Quantized", "its first numbers, with their scales" if numbers else "", facts(rows), columns(head, numbers)
        )

    @property
    def scale_values(self) -> NDArray[np.float64]:
        """The blocks' scales as numbers, without the tensor's scale."""
        if self.scale_format is None or is_f32(self.scale_format):
            return self.scales.astype(np.float64)
        return self.scale_format.decode(self.scales)

    def dequantize(self, dtype: Any = np.float64) -> NDArray[Any]:
        """Every element times its scale, and the tensor's, in the shape of `codes`.

        dtype: float64, which holds every product (a real scale's is rounded once); or float32, to which it is
        rounded: 256 * 2^120 is infinite there. An element of a block whose scale is NaN is NaN.
        Raises TypeError for another dtype.
        """
        kind = np.dtype(dtype)
        if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
            raise InputTypeError(f"dtype must be float32 or float64, not {kind.name}")
        with np.errstate(over="ignore", under="ignore"):
            scale = self.scale_values
            if self.tensor_scale is not None:
                scale = scale * np.float64(self.tensor_scale)
            found = self.element.decode(self.codes) * spread(scale, self.block, self.codes.shape)
            return np.asarray(found.astype(kind))


def dequantize(quantized: Quantized, dtype: Any = np.float64) -> NDArray[Any]:
    """The numbers that codes and scales stand for; see `Quantized.dequantize`."""
    if not isinstance(quantized, Quantized):
        raise InputTypeError(f"quantized must be what hwsim.quantize returns, not {type(quantized).__name__}")
    return quantized.dequantize(dtype)
