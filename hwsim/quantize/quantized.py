"""The result of a quantisation, and its way back to real numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.base.errors import InputError, InputTypeError
from hwsim.base.text import columns, facts, titled
from hwsim.formats import Format
from hwsim.quantize.rule import Rule

Lengths = tuple[int, ...]


def axis_of(axis: Any, dimensions: int) -> int:
    """An axis counted from 0. Raises TypeError for no integer, ValueError for an axis that is not there."""
    if isinstance(axis, bool) or not isinstance(axis, (int, np.integer)):
        raise InputTypeError(f"axis must be an integer, not {type(axis).__name__}")
    if not -dimensions <= axis < dimensions:
        raise InputError(f"axis must be {-dimensions} to {dimensions - 1}, not {axis}")
    return int(axis) % dimensions


def block_lengths(shape: tuple[int, ...], axis: int, block: tuple[int | None, int | None]) -> Lengths:
    """The length of a block along each axis.

    axis: 0 to len(shape) - 1. block: as in `Rule`. Raises ValueError for a block across axes that are not there.
    """
    across, along = block
    lengths = [1 if across is not None else max(size, 1) for size in shape]
    lengths[axis] = max(shape[axis], 1) if along is None else along
    if across is not None and across > 1:
        last = len(shape) - 1
        if last < 1 or axis < last - 1:
            raise InputError(
                f"axis must be one of the last two of at least two for blocks of {across} rows, not {axis}"
            )
        lengths[2 * last - 1 - axis] = across
    return tuple(lengths)


def blocks_shape(shape: tuple[int, ...], lengths: Lengths) -> tuple[int, ...]:
    """The number of blocks along each axis."""
    return tuple(-(-size // length) for size, length in zip(shape, lengths, strict=True))


def block_max(values: NDArray[Any], lengths: Lengths) -> NDArray[Any]:
    """The largest value of every block; NaN for a block with a NaN. values: at least 0, or NaN."""
    if values.size == 0:
        return np.zeros(blocks_shape(values.shape, lengths), values.dtype)
    for axis, length in enumerate(lengths):
        values = _max_along(values, axis, length)
    return values


def _max_along(values: NDArray[Any], axis: int, length: int) -> NDArray[Any]:
    size = values.shape[axis]
    if length == 1:
        return values
    if length >= size:
        return np.asarray(values.max(axis=axis, keepdims=True))
    whole = size // length
    inner = np.take(values, range(whole * length), axis) if size % length else values
    split = inner.reshape(*values.shape[:axis], whole, length, *values.shape[axis + 1 :]).max(axis=axis + 1)
    if size % length == 0:
        return np.asarray(split)
    tail = np.take(values, range(whole * length, size), axis).max(axis=axis, keepdims=True)
    return np.concatenate([split, tail], axis=axis)


def spread(scales: NDArray[Any], lengths: Lengths, shape: tuple[int, ...]) -> NDArray[Any]:
    """A block's number for each of its elements."""
    for axis, (length, size) in enumerate(zip(lengths, shape, strict=True)):
        if length >= size:
            scales = np.broadcast_to(scales, (*scales.shape[:axis], size, *scales.shape[axis + 1 :]))
        elif length > 1:
            scales = np.repeat(scales, length, axis=axis)
            if scales.shape[axis] != size:
                scales = np.take(scales, range(size), axis)
    return scales


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
        shape, block = (" x ".join(map(str, sizes)) for sizes in (self.codes.shape, self.block))
        scales = "real numbers" if self.scale_format is None else self.scale_format.name
        tensor = "" if self.tensor_scale is None else f", times {self.tensor_scale:g}"
        axis = f", along axis {self.axis}"
        return f"<Quantized: {shape} {self.element.name}, {scales} scales of blocks of {block}{axis}{tensor}>"

    def _repr_html_(self) -> str:
        """The shape, formats and first numbers, as a notebook shows them."""
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
        return self.scales.astype(np.float64) if self.scale_format is None else self.scale_format.decode(self.scales)

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
            values = self.element.decode(self.codes) * spread(scale, self.block, self.codes.shape)
            return np.asarray(values.astype(kind))


def dequantize(quantized: Quantized, dtype: Any = np.float64) -> NDArray[Any]:
    """The numbers that codes and scales stand for; see `Quantized.dequantize`."""
    if not isinstance(quantized, Quantized):
        raise InputTypeError(f"quantized must be what hwsim.quantize returns, not {type(quantized).__name__}")
    return quantized.dequantize(dtype)
