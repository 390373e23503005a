"""Codes packed into bytes, and scales in tiles: by their definitions, and back for all shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hwsim
from hwsim.formats import get_format
from hwsim.quantize import pack_codes, swizzle_scales, unpack_codes, unswizzle_scales

NARROW = ["e2m1", "e3m2", "e2m3", "e4m3", "mxint8"]


def codes_like(fmt: str, *shape: int, seed: int = 0) -> Any:
    bits = get_format(fmt).container_bits
    return np.random.default_rng(seed).integers(0, 1 << bits, shape).astype(np.uint8)


def test_two_codes_of_fp4_are_a_byte() -> None:
    assert pack_codes([0x1, 0xA, 0x7, 0x0], "e2m1").tolist() == [0xA1, 0x07]
    assert pack_codes([0x1, 0xA, 0x7, 0x0], "e2m1", "high-first").tolist() == [0x1A, 0x70]
    assert pack_codes([[0x1, 0xA, 0x7]], "e2m1").tolist() == [[0xA1, 0x07]]


@pytest.mark.parametrize("fmt", ["e3m2", "e2m3"])
def test_four_codes_of_fp6_are_three_bytes(fmt: str) -> None:
    codes = codes_like(fmt, 50, 4)
    for row, low, high in zip(
        codes.tolist(), pack_codes(codes, fmt), pack_codes(codes, fmt, "high-first"), strict=True
    ):
        assert int.from_bytes(low.tobytes(), "little") == sum(code << 6 * i for i, code in enumerate(row))
        assert int.from_bytes(high.tobytes(), "big") == sum(code << 18 - 6 * i for i, code in enumerate(row))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    fmt=st.sampled_from(NARROW),
    order=st.sampled_from(["low-first", "high-first"]),
    shape=st.lists(st.integers(0, 9), min_size=1, max_size=3),
    data=st.data(),
)
def test_packing_goes_back(fmt: str, order: str, shape: list[int], data: st.DataObject) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    codes = codes_like(fmt, *shape)
    packed = pack_codes(codes, fmt, order, axis)
    bits = get_format(fmt).container_bits
    group = {8: 1, 4: 2, 6: 4}[bits]
    assert packed.dtype == np.uint8 and packed.shape[axis] * 8 == -(-shape[axis] // group) * group * bits
    assert np.array_equal(unpack_codes(packed, fmt, order, axis, shape[axis]), codes)
    filled = np.moveaxis(unpack_codes(packed, fmt, order, axis), axis, -1)
    assert not filled[..., shape[axis] :].any()


def test_codes_of_8_bits_are_their_bytes() -> None:
    codes = codes_like("e4m3", 3, 5)
    for order in ("low-first", "high-first"):
        assert np.array_equal(pack_codes(codes, "e4m3", order), codes)
    assert np.array_equal(pack_codes(codes[:, :1] % 128, "ue4m3"), codes[:, :1] % 128)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (32, 4), (128, 4), (129, 5), (300, 13), (0, 3)])
def test_a_scale_is_at_its_place_in_its_tile(rows: int, columns: int) -> None:
    scales = codes_like("e8m0", rows, columns)
    got = swizzle_scales(scales)
    tall, wide = -(-rows // 128), -(-columns // 4)
    want = np.zeros(tall * wide * 512, np.uint8)
    for r in range(rows):
        for c in range(columns):
            want[(r // 128 * wide + c // 4) * 512 + r % 32 * 16 + r % 128 // 32 * 4 + c % 4] = scales[r, c]
    assert np.array_equal(got, want)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(shape=st.tuples(st.integers(0, 300), st.integers(0, 20)), axis=st.sampled_from([-1, 0, 1, -2]))
def test_tiles_go_back(shape: tuple[int, int], axis: int) -> None:
    scales = codes_like("e8m0", *(shape if axis % 2 else shape[::-1]))
    tiles = swizzle_scales(scales, axis)
    assert np.array_equal(unswizzle_scales(tiles, scales.shape, axis), scales)
    assert np.array_equal(unswizzle_scales(tiles.reshape(-1, 32, 16), scales.shape, axis), scales)


def test_scales_of_b_are_those_of_its_transpose() -> None:
    b = np.random.default_rng(0).standard_normal((96, 40)).astype(np.float32)
    by_columns, by_rows = hwsim.quantize(b, "mxfp4-e2m1", axis=0), hwsim.quantize(b.T, "mxfp4-e2m1")
    assert np.array_equal(swizzle_scales(by_columns.scales, axis=0), swizzle_scales(by_rows.scales))
    assert np.array_equal(
        pack_codes(by_columns.codes, by_columns.element, axis=0).T, pack_codes(by_rows.codes, by_rows.element)
    )


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: pack_codes([16], "e2m1"), ValueError, "e2m1"),
        (lambda: pack_codes([0.5], "e2m1"), TypeError, "codes must be integer e2m1 codes"),
        (lambda: pack_codes([1], "bf16"), ValueError, "fmt must have at most 8 bits, not 16, as bf16 has"),
        (lambda: pack_codes([1], "e2m1", "big"), ValueError, "order must be one of low-first, high-first, not 'big'"),
        (lambda: pack_codes([1], "e2m1", axis=1), ValueError, "axis must be -1 to 0, not 1"),
        (lambda: unpack_codes([1, 2], "e2m1"), TypeError, "packed must be an array of uint8"),
        (lambda: unpack_codes(np.zeros(4, np.uint8), "e3m2"), ValueError, "packed must have a multiple of 3 bytes"),
        (lambda: unpack_codes(np.zeros(4, np.uint8), "e2m1", count=9), ValueError, "count must be 0 to 8"),
        (lambda: swizzle_scales(np.zeros(4, np.uint8)), ValueError, "scales must have two axes, not 1"),
        (lambda: swizzle_scales(np.zeros((4, 4), np.float32)), TypeError, "scales must be an array of uint8"),
        (lambda: unpack_codes(np.zeros(4, np.uint8), "e2m1", count=1.5), ValueError, "count must be 0 to 8"),
        (lambda: unswizzle_scales(np.zeros(512, np.uint8), (4,)), ValueError, "shape must be two sizes"),
        (lambda: unswizzle_scales(np.zeros(512, np.uint8), (-4, 4)), ValueError, "shape must be two sizes"),
        (lambda: unswizzle_scales(np.zeros(5, np.uint8), (4, 4)), ValueError, "swizzled must have 512 bytes"),
    ],
)
def test_what_is_no_layout_is_refused(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()
