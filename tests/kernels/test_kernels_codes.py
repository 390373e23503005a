"""Codes and values of kernels' addends and results, and the memory that they stand in."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from hwsim.compute.kernels.kernel import MOST_KEPT, room, zeros
from hwsim.compute.kernels.values import codes_of, values_of
from hwsim.formats import FloatFormat, get_format

# Of binary32's widths and bias; its codes below the normal numbers are other numbers.
WITHOUT_SUBNORMALS = FloatFormat(
    name="bare", exponent_bits=8, fraction_bits=23, bias=127, subnormals=False, infinities=True, nan="ieee"
)
FORMATS = [*(get_format(name) for name in ("f32", "tf32", "e8m13", "bf16", "f16", "e4m3")), WITHOUT_SUBNORMALS]


@pytest.mark.parametrize("fmt", FORMATS, ids=lambda fmt: fmt.name)
def test_values_are_those_of_the_codec_and_have_their_codes(fmt: FloatFormat) -> None:
    rng = np.random.default_rng(7)
    codes = (rng.integers(0, 1 << fmt.bits, (40, 50)) << fmt.padding).astype(np.uint32)
    codes[0, :20] = np.arange(20) << fmt.padding  # zero and the least numbers
    want = fmt.decode(codes.astype(f"u{max(fmt.container_bits // 8, 1)}"))
    for got in (values_of(fmt, codes), values_of(fmt, codes, np.full(codes.shape, 3.0))):
        assert np.array_equal(got, want, equal_nan=True)
        assert np.array_equal(np.signbit(got[got == 0]), np.signbit(want[got == 0]))
    out = np.zeros_like(codes)
    codes_of(want, fmt, out, nan=0x7F)
    assert np.array_equal(out, np.where(np.isnan(want), 0x7F, codes))


def test_room_is_a_threads_own() -> None:
    mine, again, found = room((3, 4), np.float64), room((6,), np.float64), []
    assert mine.shape == (3, 4) and np.shares_memory(mine, again)
    thread = threading.Thread(target=lambda: found.append(room((3, 4), np.float64)))
    thread.start()
    thread.join()
    assert not np.shares_memory(mine, found[0])
    large = (MOST_KEPT + 1,)
    assert not np.shares_memory(room(large, np.uint8), room(large, np.uint8))


def test_zeros_are_zeros_that_nobody_changes() -> None:
    for shape in ((3, 4), (1, MOST_KEPT)):
        assert zeros(shape).shape == shape and not zeros(shape).any()
    with pytest.raises(ValueError, match="read-only"):
        zeros((3, 4))[0, 0] = 1
