"""Blocks of an array: boxes of equal shape, the last along each axis possibly cut short."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.errors import InputError, InputTypeError

Lengths = tuple[int, ...]


def axis_of(axis: Any, dimensions: int) -> int:
    """An axis counted from 0. Raises TypeError for no integer, ValueError for an axis that is not there."""
    if isinstance(axis, bool) or not isinstance(axis, (int, np.integer)):
        raise InputTypeError(f"axis must be an integer, not {type(axis).__name__}")
    if not -dimensions <= axis < dimensions:
        raise InputError(f"axis must be {-dimensions} to {dimensions - 1}, not {axis}")
    return int(axis) % dimensions


def block_lengths(shape: tuple[int, ...], axis: int, block: tuple[int | None, int | None]) -> Lengths:
    """How long a block is along each axis.

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
    """How many blocks there are along each axis."""
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
