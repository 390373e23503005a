"""Codes and scales as hardware keeps them in memory: narrow codes packed into bytes, scales in tiles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.base.errors import InputError, InputTypeError
from hwsim.formats import Format, get_format
from hwsim.formats.codes import codes_of
from hwsim.quantize.quantized import axis_of

Bytes = NDArray[np.uint8]

# NumPy's names for the order of bits within a byte, which order codes and the bits of a code alike.
ORDERS = {"low-first": "little", "high-first": "big"}
ROWS, COLUMNS, LANES = 128, 4, 32  # of a tile of scales: rows are kept in groups of 32, four groups side by side


def pack_codes(codes: Any, fmt: str | Format, order: str = "low-first", axis: int = -1) -> Bytes:
    """Codes of a narrow format without gaps: two of FP4 to a byte, four of FP6 to three bytes, one of FP8 to a byte.

    codes: of the format, of any shape with at least one axis, which are packed along `axis`. They are filled up with
    code 0 to whole groups: 2 codes of 4 bits, 4 of 6.
    order: `low-first`, the first code in the low bits, as PyTorch's float4_e2m1fn_x2, torchao and cuBLAS have it; a
    group of FP6 is a little-endian integer whose low 6 bits are the first code. `high-first`, the first code in the
    high bits of the first byte.
    Returns uint8, in the shape of codes but along the axis. Raises as `Format.decode` for codes; SpecError (a
    ValueError) for an unknown format; ValueError for a wider format, an unknown order or an axis that is not there.
    """
    kind = _narrow(fmt)
    bits, group = _width(kind), _group(kind)
    array = codes_of(kind, codes)
    axis = axis_of(axis, array.ndim)
    rows = np.moveaxis(array, axis, -1)
    whole = np.zeros((*rows.shape[:-1], -(-rows.shape[-1] // group) * group), np.uint8)
    whole[..., : rows.shape[-1]] = rows
    unpacked = np.unpackbits(whole[..., None], axis=-1, bitorder=_order(order))
    used = unpacked[..., :bits] if order == "low-first" else unpacked[..., 8 - bits :]
    stream = used.reshape(*whole.shape[:-1], whole.shape[-1] * bits)
    return np.ascontiguousarray(np.moveaxis(np.packbits(stream, axis=-1, bitorder=_order(order)), -1, axis))


def unpack_codes(
    packed: Any, fmt: str | Format, order: str = "low-first", axis: int = -1, count: int | None = None
) -> Bytes:
    """The codes that `pack_codes` packed, uint8.

    packed: uint8, whole groups along `axis`. count: how many codes along it, all that there are where it is None.
    Raises TypeError for another dtype; ValueError for bytes that are no whole groups, a count above what they hold,
    and as `pack_codes`.
    """
    kind = _narrow(fmt)
    bits, group = _width(kind), _group(kind)
    array = _bytes(packed, "packed")
    axis = axis_of(axis, array.ndim)
    rows = np.moveaxis(array, axis, -1)
    size = group * bits // 8
    if rows.shape[-1] % size:
        raise InputError(f"packed must have a multiple of {size} bytes along axis {axis}, not {rows.shape[-1]}")
    held = rows.shape[-1] // size * group
    if count is not None and not (_is_size(count) and count <= held):
        raise InputError(f"count must be 0 to {held}, what the bytes hold, not {count!r}")
    stream = np.unpackbits(rows, axis=-1, bitorder=_order(order)).reshape(*rows.shape[:-1], held, bits)
    padded = np.zeros((*stream.shape[:-1], 8), np.uint8)
    padded[..., slice(0, bits) if order == "low-first" else slice(8 - bits, 8)] = stream
    codes = np.packbits(padded, axis=-1, bitorder=_order(order))[..., 0]
    return np.ascontiguousarray(np.moveaxis(codes[..., :count], -1, axis))


def packed_factor(packed: Any, fmt: Format, name: str, axis: int) -> Bytes:
    """The codes of a factor of a matrix product that is packed along `axis`, low-first; name: its own in messages.

    Raises TypeError for anything but bytes; ValueError for a format whose codes fill bytes, and for part of a group.
    """
    if fmt.container_bits >= 8 or _width(fmt) == 8:
        raise InputError(f"{name} must not be packed: a code of {fmt.name} takes a byte or more")
    stored, size = _bytes(packed, name), _group(fmt) * _width(fmt) // 8
    if stored.ndim < 2:
        raise InputError(f"{name} must have two axes or more, not {stored.ndim}")
    if stored.shape[axis] % size:
        held = f"{stored.shape[axis]} bytes along K, which is no multiple of {size}"
        raise InputError(f"{name} must hold whole groups of {_group(fmt)} codes of {fmt.name}, not {held}")
    return unpack_codes(stored, fmt, axis=axis)


def swizzle_scales(scales: Any, axis: int = -1) -> Bytes:
    """Scales of a matrix in the tiles of cuBLAS' block-scaled products, as torchao's `to_blocked` gives them.

    scales: uint8, codes of E8M0 or UE4M3, two axes: one scale a block. axis: the one that blocks run along, -1 of
    A (M, K / 32) and 0 of B (K / 32, N); the other is of rows.
    Returns uint8, one axis: tiles of 128 rows by 4 scales, those of the same rows together, filled up with code 0.
    In a tile the scale c of row r is byte r % 32 * 16 + r // 32 * 4 + c.
    Raises TypeError for another dtype, ValueError for another number of axes.
    """
    rows = _rows(scales, axis)
    tall, wide = _tiles(rows.shape)
    whole = np.zeros((tall * ROWS, wide * COLUMNS), np.uint8)
    whole[: rows.shape[0], : rows.shape[1]] = rows
    tiles = whole.reshape(tall, ROWS // LANES, LANES, wide, COLUMNS)
    return np.ascontiguousarray(tiles.transpose(0, 3, 2, 1, 4)).reshape(-1)


def unswizzle_scales(swizzled: Any, shape: tuple[int, int], axis: int = -1) -> Bytes:
    """The scales that `swizzle_scales` brought into tiles, uint8, in their shape.

    swizzled: uint8, of any shape: all its bytes are read in order. shape, axis: of the scales.
    Raises TypeError for another dtype, ValueError where the number of bytes is not what the shape gives.
    """
    flat = _bytes(swizzled, "swizzled").reshape(-1)
    last = axis_of(axis, 2) == 1
    if len(shape) != 2 or not all(_is_size(size) for size in shape):
        raise InputError(f"shape must be two sizes of at least 0, not {shape}")
    rows, columns = shape if last else shape[::-1]
    tall, wide = _tiles((rows, columns))
    if flat.size != tall * wide * ROWS * COLUMNS:
        raise InputError(
            f"swizzled must have {tall * wide * ROWS * COLUMNS} bytes for scales of {shape}, not {flat.size}"
        )
    tiles = flat.reshape(tall, wide, LANES, ROWS // LANES, COLUMNS)
    whole = tiles.transpose(0, 3, 2, 1, 4).reshape(tall * ROWS, wide * COLUMNS)[:rows, :columns]
    return np.ascontiguousarray(whole if last else whole.T)


def _narrow(fmt: str | Format) -> Format:
    kind = get_format(fmt)
    if kind.container_bits > 8:
        raise InputError(f"fmt must have at most 8 bits, not {kind.container_bits}, as {kind.name} has")
    return kind


def _width(fmt: Format) -> int:
    """Bits that a code takes. UE4M3, which has no sign, takes the byte that it has in hardware."""
    return 8 if fmt.container_bits == 7 else fmt.container_bits


def _group(fmt: Format) -> int:
    """The fewest codes that fill whole bytes."""
    return 8 // math.gcd(_width(fmt), 8)


def _order(order: str) -> Any:
    if order not in ORDERS:
        raise InputError(f"order must be one of {', '.join(ORDERS)}, not {order!r}")
    return ORDERS[order]


def _bytes(array: Any, name: str) -> Bytes:
    stored = np.asarray(array)
    if stored.dtype != np.uint8:
        raise InputTypeError(f"{name} must be an array of uint8, not {stored.dtype.name}")
    return stored


def _is_size(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and int(value) >= 0


def _rows(scales: Any, axis: int) -> Bytes:
    """Scales with the axis that blocks run along last."""
    array = _bytes(scales, "scales")
    if array.ndim != 2:
        raise InputError(f"scales must have two axes, not {array.ndim}")
    return array if axis_of(axis, 2) == 1 else array.T


def _tiles(shape: tuple[int, ...]) -> tuple[int, int]:
    """The numbers of tiles down and across."""
    return -(-shape[0] // ROWS), -(-shape[1] // COLUMNS)
