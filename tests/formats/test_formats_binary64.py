"""binary64, the one format of 64 bits: NumPy's float64 is its decoder, rationals are the witness of its encoder."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from built_presets import others_slow
from formats.formats_witness import ROUNDINGS, expected, overflows, rung_value

from hwsim.formats import codes_of, container_dtype, get_format, order_key, parse, unpack
from hwsim.formats.reference import decode_reference
from hwsim.formats.tables import boundary_codes

F64 = get_format("f64")
RNG = np.random.default_rng(64)
CODES = np.concatenate([RNG.integers(0, 1 << 64, 20_000, np.uint64), np.array(boundary_codes(F64), np.uint64)])
NUMBERS = CODES[CODES & 0x7FFFFFFFFFFFFFFF <= 0x7FF << 52]  # and infinities
NAN = 0x7FFFFFFFFFFFFFFF


def test_codes_stand_in_64_bits():
    assert (F64.bits, F64.container_bits, F64.padding, container_dtype(F64)) == (64, 64, 0, np.uint64)
    assert (F64.own_dtype, F64.canonical_nan, F64.max_code) == ("float64", NAN, 0x7FEFFFFFFFFFFFFF)


@pytest.mark.parametrize("decode", [F64.decode, lambda codes: decode_reference(F64, codes)])
def test_decode_is_a_view_of_numpy(decode):
    got, want = decode(CODES), CODES.view(np.float64)
    number = ~np.isnan(want)
    assert np.array_equal(got.view(np.uint64)[number], CODES[number])
    assert np.isnan(got[~number]).all()
    assert (~number).sum() > 5


def test_fields_of_a_code():
    for code in NUMBERS[-800:].tolist():
        fields = unpack(F64, code)
        value = float(np.uint64(code).view(np.float64))
        assert fields.sign == (math.copysign(1, value) < 0)
        if math.isinf(value):
            assert fields.cls == "infinity"
        else:
            assert abs(Fraction(value)) == fields.sig * Fraction(2) ** (fields.exp - 52)


@pytest.mark.parametrize("mode", ROUNDINGS)
def test_a_float64_is_its_own_code(mode):
    values = NUMBERS.view(np.float64)
    assert np.array_equal(F64.encode(values, mode, "infinity"), NUMBERS)
    assert np.array_equal(F64.encode(values.astype(object), mode, "infinity"), NUMBERS)
    assert F64.encode([np.inf, -np.inf], mode).tolist() == [0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF]
    assert F64.encode([np.inf, -np.nan], mode, "nan").tolist() == [0x7FF0000000000000, NAN]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, ml_dtypes.bfloat16, np.int64])
def test_narrower_numbers_are_taken_at_their_value(dtype):
    x = RNG.normal(0, 1000, 20_000).astype(dtype)
    assert np.array_equal(F64.encode(x).view(np.float64), x.astype(np.float64))


def rationals():
    """Numbers next to codes and to midpoints, of every size, and beyond both ends."""
    largest, found = F64.max_magnitude, []
    rungs = [0, 1, 2, (1 << 52) - 1, 1 << 52, (1 << 52) + 1, 5 << 52, largest - 1, largest, largest + 1]
    for rung in [*rungs, *RNG.integers(0, largest, 60).tolist()]:
        low, high = rung_value(F64, rung), rung_value(F64, rung + 1)
        for part in (Fraction(0), Fraction(1, 2), Fraction(1, 3), Fraction(3, 4)):
            nudges = (0, Fraction(1, 2**80), -Fraction(1, 2**80))
            found += [low + (high - low) * (part + nudge) for nudge in nudges]
    return [sign * x for x in found if x >= 0 for sign in (1, -1)]


@pytest.mark.parametrize("mode", others_slow(ROUNDINGS, ("rne",)))
def test_a_fraction_goes_to_the_code_that_the_witness_finds(mode):
    numbers = rationals()
    for overflow in overflows(F64):
        want = [expected(F64, x, mode, overflow) for x in numbers]
        assert F64.encode(numbers, mode, overflow).tolist() == want


def test_nearest_is_pythons_division():
    numbers = [x for x in rationals() if abs(x) <= Fraction(F64.largest)]
    assert len(numbers) > 1000
    want = np.array([x.numerator / x.denominator for x in numbers])
    want[[x == 0 for x in numbers]] = 0.0
    got = F64.encode(numbers)
    assert np.array_equal(got[want != 0], want.view(np.uint64)[want != 0])
    large = [(1 << 53) + 1, -(1 << 63) + 513, (1 << 64) - 1, 10**300 + 1]
    assert F64.encode(large).view(np.float64).tolist() == [float(x) for x in large]


def test_order_is_that_of_values():
    values = NUMBERS.view(np.float64)
    by_key = np.argsort(order_key(F64, NUMBERS), kind="stable")
    assert np.array_equal(np.sort(values), values[by_key])
    assert order_key(F64, [0, 1 << 63, NAN, (1 << 64) - 1]).tolist() == [0, 0, NAN, -NAN]


def test_codes_are_taken_in_every_form():
    code = 0xBFF8000000000000
    for given in (
        [code],
        np.array([code], object),
        np.array([code], np.uint64),
        np.array([-1.5]),
        np.array([-1.5], ">f8"),
    ):
        taken = codes_of(F64, given)
        assert (taken.dtype, taken.tolist()) == (np.uint64, [code])
    assert codes_of(F64, np.array([7], np.int8)).tolist() == [7]
    for wrong in ([1 << 64], [-1], np.array([-1])):
        with pytest.raises(ValueError, match="f64 codes are 0 to 18446744073709551615"):
            codes_of(F64, wrong)


def test_there_is_no_stochastic_rounding_to_all_bits():
    with pytest.raises(ValueError, match=r"^rounding must not be stochastic for f64, which has every"):
        F64.encode([1.0], "stochastic", random_bits=1, seed=0)


@pytest.mark.parametrize(
    ("keys", "rule"),
    [
        ({"exponent_bits": 11, "fraction_bits": 52, "bias": 1022}, "makes a code of 64 bits; at most 32"),
        ({"exponent_bits": 10, "fraction_bits": 52, "bias": 500}, "makes a code of 63 bits; at most 32"),
        ({"exponent_bits": 2, "fraction_bits": 29, "bias": 1}, "must be at most 28, or that of binary64, not 29"),
    ],
)
def test_no_other_format_is_as_wide(keys, rule):
    with pytest.raises(ValueError, match=rule):
        parse({"name": "wide", "kind": "float", **keys})


def test_a_user_may_write_binary64_down():
    keys = {"exponent_bits": 11, "fraction_bits": 52, "bias": 1023, "infinities": True, "nan": "ieee"}
    mine = parse({"name": "double", "kind": "float", **keys})
    assert mine.decode(mine.encode([0.1])).tolist() == [0.1]
