"""Single values at which codecs have been seen to go wrong, and every named policy. One claim each."""

import math
from decimal import Decimal
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from formats.formats_witness import EVERY, ROUNDINGS

from hwsim.formats import Missing, Overflow, Rounding, get_format

INF, NAN = math.inf, math.nan


def code(name, x, *policy, **policies):
    return int(EVERY[name].encode(x, *policy, **policies))


def test_dlfloat16_overflows_at_a_tie_under_half_up():
    # Midpoint of the largest, 0x7FFE, and of what 0x7FFF would be.
    assert code("dlfloat16", 8577351680, "rna", "nan") == 0x7FFF
    assert code("dlfloat16", 8577351679, "rna", "nan") == 0x7FFE
    assert code("dlfloat16", 8577351680, "rne", "nan") == 0x7FFE


# NaN and what a format lacks.


@pytest.mark.parametrize(
    ("name", "want"),
    [
        *[("e4m3", 0x7F), ("e5m2", 0x7F), ("f16", 0x7FFF), ("bf16", 0x7FFF), ("tf32", 0x7FFFFFFF)],
        *[("e8m13", 0x7FFFFFFF), ("f32", 0x7FFFFFFF), ("e8m0", 0xFF), ("e4m3fnuz", 0x80), ("ue4m3", 0x7F), ("e4m0", 0)],
        *[("binary8p3se", 0x80), ("binary8p4uf", 0xFF), ("dlfloat16", 0x7FFF), ("ue8m0", 0xFF), ("e5m6", 0x7FF)],
    ],
)
def test_canonical_nan(name, want):
    assert code(name, NAN) == want
    assert code(name, -NAN, missing="saturate") == want
    assert code(name, np.array(0xFF800001, np.uint32).view(np.float32)) == want  # signalling, negative


@pytest.mark.parametrize("name", ["e3m2", "e2m3", "e2m1", "mxint8"])
def test_nan_where_there_is_none(name):
    fmt = get_format(name)
    with pytest.raises(ValueError, match=rf"^x\[1\] is nan, for which {name} has no code; missing='zero' or missing="):
        fmt.encode([1.0, NAN])
    assert code(name, NAN, missing="zero") == 0
    assert fmt.decode(code(name, NAN, missing="saturate")) == fmt.decode(np.arange(1 << fmt.bits)).max()
    with pytest.raises(ValueError, match=f"missing must be one of error, zero, saturate for {name}, not 'nan'"):
        fmt.encode(1.0, missing="nan")


@pytest.mark.parametrize("x", [0.0, -0.0, -1.0, -INF, 2.0**-129, Fraction(1, 2**2000), -Fraction(1, 2**2000)])
def test_what_e8m0_lacks(x):
    e8m0 = get_format("e8m0")
    with pytest.raises(
        ValueError, match=r"^x\[0, 1\] is .*, for which e8m0 has no code; missing='nan' or missing='sat"
    ):
        e8m0.encode([[1.0, x]])
    assert code("e8m0", x, missing="nan") == 0xFF
    assert code("e8m0", x, missing="saturate") == 0x00
    with pytest.raises(ValueError, match="missing must be one of error, nan, saturate for e8m0, not 'zero'"):
        e8m0.encode(1.0, missing="zero")


def test_e8m0_down_to_less_than_its_least_number_is_missing():
    assert code("e8m0", 1.9 * 2.0**-128, "ru") == 0
    assert code("e8m0", 1.9 * 2.0**-128, "rz", missing="nan") == 0xFF


def test_an_exponent_format_without_nan():
    bare = EVERY["e8m0"].model_copy(update={"nan": (), "name": "bare"})
    assert int(bare.encode(INF)) == 0xFF
    assert int(bare.encode(NAN, missing="saturate")) == 0xFF
    with pytest.raises(ValueError, match=r"x is nan, for which bare has no code; missing='saturate' gives it one"):
        bare.encode(NAN)


@pytest.mark.parametrize("x", [-1.0, -INF, -1e-30, Fraction(-1, 3)])
def test_negative_numbers_in_an_unsigned_format(x):
    with pytest.raises(ValueError, match="for which ue4m3 has no code"):
        EVERY["ue4m3"].encode(x, "rz")
    assert code("ue4m3", x, missing="nan") == 0x7F
    assert code("ue4m3", x, missing="zero") == 0
    assert code("ue4m3", x, missing="saturate") == 0


# Rounding.


@pytest.mark.parametrize(
    ("name", "x", "mode", "want"),
    [  # The least number of e4m3nosub is 1.125 * 2^-11, and nothing lies between it and zero.
        ("e4m3nosub", 2.0**-11, "rne", 1.125),
        ("e4m3nosub", 0.5625 * 2.0**-11, "rne", 0),  # half of it: code 0 is even
        ("e4m3nosub", 0.5625 * 2.0**-11, "rna", 1.125),
        ("e4m3nosub", 0.5626 * 2.0**-11, "rne", 1.125),
        ("e4m3nosub", 1.1 * 2.0**-11, "rz", 0),
        ("e4m3nosub", 2.0**-60, "rto", 1.125),
        ("e4m3nosub", 2.0**-60, "ru", 1.125),
        ("e4m3nosub", 1.1875 * 2.0**-11, "rne", 1.25),
        # With underflow: zero, a number that does not reach it, rounded as if there were no least exponent, is zero.
        ("hfp8-e4m3", 2.0**-11, "rna", 0),
        ("hfp8-e4m3", 1.0625 * 2.0**-11, "rne", 0),  # the midpoint of it and of 2^-11, whose code would be even
        ("hfp8-e4m3", 1.0625 * 2.0**-11, "rna", 1.125),
        ("hfp8-e4m3", 1.0624 * 2.0**-11, "rna", 0),
        ("hfp8-e4m3", 1.01 * 2.0**-11, "ru", 1.125),
        ("hfp8-e4m3", 1.01 * 2.0**-11, "rto", 1.125),
        ("hfp8-e4m3", 2.0**-11, "ru", 0),
        ("hfp8-e4m3", 2.0**-60, "ru", 0),
        ("hfp8-e4m3", 2.0**-60, "rto", 0),
        ("e5m0nosub", 2.0**-15, "rz", 0),  # the least is 2^-14
        ("e5m0nosub", 2.0**-15, "rna", 2.0**-3),
    ],
)
def test_formats_without_subnormals(name, x, mode, want):
    fmt = EVERY[name]
    assert fmt.decode(fmt.encode(x, mode)) == want * 2.0**-11


# What an argument may be.


def test_numbers_of_every_kind():
    e4m3 = get_format("e4m3")
    third = Fraction(1, 3)
    assert e4m3.encode([1, 1.0, Fraction(1), np.float32(1), np.int8(1), ml_dtypes.bfloat16(1)]).tolist() == [0x38] * 6
    assert e4m3.encode([[third, 10**400], [-third, -(10**400)]]).tolist() == [[0x2B, 0x7E], [0xAB, 0xFE]]
    assert e4m3.encode(np.array([third, None][:1])).tolist() == [0x2B]
    for dtype in (np.float16, np.float32, np.float64, np.int8, np.uint64, ml_dtypes.float8_e5m2, ">f4"):
        assert e4m3.encode(np.array([1, 2]).astype(dtype)).tolist() == [0x38, 0x40]


def test_large_integers_are_exact():
    f32 = get_format("f32")
    tie = 2**60 + 2**36  # between 2^60 and 2^60 + 2^37
    for x in ([tie, tie + 1], np.array([tie, tie + 1]), np.array([tie, tie + 1], np.uint64), [tie, Fraction(tie + 1)]):
        assert f32.encode(x).tolist() == [0x5D800000, 0x5D800001]
    assert f32.encode([0.5, tie + 1]).tolist() == [0x3F000000, 0x5D800001]


def test_shape_and_dtype():
    for name, dtype in (("e4m3", np.uint8), ("e2m1", np.uint8), ("f16", np.uint16), ("tf32", np.uint32)):
        fmt = get_format(name)
        for x, shape in ((1.0, ()), ([], (0,)), (np.ones((2, 0)), (2, 0)), (np.ones((2, 3, 4)), (2, 3, 4))):
            assert isinstance(fmt.encode(x), np.ndarray)
            assert (fmt.encode(x).dtype, fmt.encode(x).shape) == (dtype, shape)


def test_the_argument_is_left_alone():
    x = np.arange(6.0).reshape(2, 3)
    assert get_format("e4m3").encode(x.T).tolist() == get_format("e4m3").encode(x).T.tolist()
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]


NO_NUMBERS = [
    *(True, [1.0, True], np.array([True]), "1", ["1"], None, 1j, np.ones(2, complex), [[1, 2], [3]], [[1.0], [[2.0]]]),
    *(np.longdouble(1), [np.longdouble(1)], Decimal(1), np.ones(1, "M8[s]"), object()),
]


@pytest.mark.parametrize("x", NO_NUMBERS)
def test_what_is_no_number_is_a_type_error(x):
    with pytest.raises(TypeError, match="x must hold real numbers"):
        get_format("e4m3").encode(x)


# Policies by name.


@pytest.mark.parametrize(
    ("name", "policy", "message"),
    [
        ("e4m3", {"rounding": "nearest"}, "rounding must be one of rne, .*, rto, stochastic, not 'nearest'"),
        ("e4m3", {"rounding": "RNE"}, "rounding must be one of rne, .*, not 'RNE'"),
        ("e4m3", {"rounding": None}, "rounding must be one of rne, .*, not None"),
        ("e4m3", {"overflow": "wrap"}, "overflow must be one of saturate, propagate, infinity, nan, ieee, not 'wrap'"),
        ("e4m3", {"missing": "skip"}, "missing must be one of error, nan, zero, saturate, not 'skip'"),
        ("e4m3", {"overflow": "infinity"}, "overflow must be one of saturate, propagate, nan, ieee for e4m3, not"),
        ("e2m1", {"overflow": "nan"}, "overflow must be one of saturate, propagate for e2m1, not 'nan'"),
        ("mxint8", {"overflow": "infinity"}, "overflow must be one of saturate, propagate for mxint8, not 'infinity'"),
        ("e8m0", {"overflow": "infinity"}, "overflow must be one of saturate, propagate, nan, ieee for e8m0, not"),
    ],
)
def test_a_policy_that_is_none(name, policy, message):
    with pytest.raises(ValueError, match=message):
        get_format(name).encode(1.0, **policy)  # whatever the data


def test_policies_are_words_or_members():
    e5m2 = get_format("e5m2")
    assert e5m2.encode(1e9, Rounding.RZ, Overflow.INFINITY, Missing.NAN) == e5m2.encode(1e9, "rz", "infinity", "nan")
    assert list(Rounding) == ROUNDINGS
