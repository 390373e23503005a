"""Codes sort as their values, by an integer key."""

import numpy as np
import pytest
from formats.formats_witness import ALL_P3109, EVERY

from hwsim.formats import FloatFormat, get_format, order_key

NARROW = {fmt.name: fmt for fmt in [*EVERY.values(), *ALL_P3109.values()] if fmt.container_bits <= 16}


@pytest.mark.parametrize("name", NARROW)
def test_keys_are_ordered_as_values(name):
    fmt = NARROW[name]
    codes = np.arange(1 << fmt.container_bits)
    keys, values = order_key(fmt, codes), fmt.decode(codes)
    number = ~np.isnan(values)
    order = np.argsort(keys[number], kind="stable")
    assert np.array_equal(np.diff(keys[number][order]) > 0, np.diff(values[number][order]) > 0)
    assert (np.diff(values[number][order]) >= 0).all()
    # A NaN has no order; its key is beyond all that have.
    beyond = (keys > keys[number].max()) | (keys < keys[number].min())
    assert np.array_equal(beyond, ~number)


@pytest.mark.parametrize("name", ["e4m3", "e5m2", "e2m1", "f16", "bf16", "hfp8-e4m3", "dlfloat16", "binary8p3se"])
def test_a_float_s_key_is_its_code_as_sign_and_magnitude(name):
    fmt = get_format(name)
    assert isinstance(fmt, FloatFormat)
    half = 1 << (fmt.bits - 1)
    assert order_key(fmt, np.arange(half)).tolist() == list(range(half))
    negative = order_key(fmt, np.arange(half, 2 * half))
    assert negative[1:].tolist() == list(range(-1, -half, -1))
    assert negative[0] == (0 if fmt.signed_zero else -half)


@pytest.mark.parametrize("name", ["tf32", "e8m13", "f32"])
def test_keys_of_wide_codes(name):
    fmt = get_format(name)
    random = np.random.default_rng(5)
    codes = random.integers(0, 1 << fmt.bits, 20_000) << fmt.padding
    codes = np.concatenate([codes, [0, 1 << 31, 0x7F800000, 0xFF800000]])
    values, keys = fmt.decode(codes), order_key(fmt, codes)
    codes, keys, values = (array[~np.isnan(values)] for array in (codes, keys, values))
    pairs = random.integers(0, len(codes), (2, 50_000))
    assert np.array_equal(np.sign(np.diff(keys[pairs], axis=0)), np.sign(values[pairs[1]] - values[pairs[0]])[None])
    # The canonical NaN, whose padding is ones, is above infinity.
    assert order_key(fmt, 0x7FFFFFFF) > order_key(fmt, 0x7F800000) == keys.max()


def test_keys_have_the_shape_of_the_codes():
    assert order_key(get_format("e4m3"), [[0x7E, 0xFE]]).tolist() == [[126, -126]]
    assert order_key(get_format("mxint8"), 0x80) == -128
    assert order_key(get_format("e8m0"), 0xFF) == 255
    with pytest.raises(ValueError, match="e2m1 codes are 0 to 15"):
        order_key(get_format("e2m1"), 16)
