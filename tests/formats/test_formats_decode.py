import ml_dtypes
import numpy as np
import pytest
from formats.formats_peers import CASTS, GFLOAT
from formats.formats_witness import ALL_P3109, EVERY, float_value
from gfloat import Domain, Signedness, decode_ndarray
from gfloat import formats as gf

from hwsim.formats import Class, FloatFormat, codes_of, container_dtype, formats, get_format, unpack

ML_DTYPES = {name: dtype for name, (dtype, _) in CASTS.items()}
ML_DTYPES |= {"e8m0": ml_dtypes.float8_e8m0fnu, "ue4m3": ml_dtypes.float8_e4m3fn, "ue8m0": ml_dtypes.float8_e8m0fnu}
OF_GFLOAT = {**GFLOAT, **dict.fromkeys(("e8m0", "ue8m0"), gf.format_info_ocp_e8m0), "mxint8": gf.format_info_ocp_int8}
DOMAINS = (Domain.Finite, Domain.Extended)
NARROW = [name for name, fmt in EVERY.items() if fmt.container_bits <= 16]
WIDE = ["tf32", "e8m13", "f32"]


def every_code(name):
    return np.arange(1 << EVERY[name].container_bits).astype(container_dtype(EVERY[name]))


def same(got, want):
    """Equal in value and in the sign of zeros and infinities; NaN where NaN."""
    nan = np.isnan(want)
    return got.dtype == np.float64 and np.array_equal(got.view(np.int64)[~nan], want.view(np.int64)[~nan]) and (
        np.array_equal(np.isnan(got), nan)
    )  # fmt: skip


def wide_codes(name, count=20_000):
    fmt = EVERY[name]
    codes = np.random.default_rng(1).integers(0, 1 << fmt.bits, count, dtype=np.int64)
    ends = [bexp << fmt.fraction_bits | frac for bexp in range(256) for frac in (0, 1, (1 << fmt.fraction_bits) - 1)]
    codes = np.concatenate([codes, ends, np.array(ends) | 1 << (fmt.bits - 1)])
    return (codes << fmt.padding).astype(np.uint32)


@pytest.mark.quick(cases=4)
@pytest.mark.parametrize("name", ML_DTYPES)
def test_decode_is_that_of_ml_dtypes_and_numpy(name):
    codes = every_code(name)
    with np.errstate(invalid="ignore"):
        want = codes.view(ML_DTYPES[name]).astype(np.float64)
    assert same(EVERY[name].decode(codes), want)


@pytest.mark.quick
@pytest.mark.parametrize("name", OF_GFLOAT)
def test_decode_is_that_of_gfloat(name):
    codes = every_code(name)
    assert same(EVERY[name].decode(codes), decode_ndarray(OF_GFLOAT[name], codes.astype(np.int64)).astype(np.float64))


def test_decode_of_p3109_is_that_of_gfloat():
    assert len(ALL_P3109) == 120
    for (bits, precision, signed, extended), fmt in ALL_P3109.items():
        sign, domain = Signedness.Signed if signed else Signedness.Unsigned, DOMAINS[extended]
        info = gf.format_info_p3109(bits, precision, sign, domain)
        codes = np.arange(1 << bits)
        assert same(fmt.decode(codes), decode_ndarray(info, codes).astype(np.float64)), fmt.name
        assert fmt.decode(1 << (bits - 1 - signed)) == 1, fmt.name
        assert get_format(fmt.name) == fmt


@pytest.mark.parametrize("name", WIDE)
def test_decode_of_a_binary32_container_is_that_of_numpy(name):
    codes = wide_codes(name)
    with np.errstate(invalid="ignore"):
        want = codes.view(np.float32).astype(np.float64)
    assert same(EVERY[name].decode(codes), want)


@pytest.mark.parametrize("name", NARROW)
def test_decode_is_the_scalar_definition(name):
    fmt = EVERY[name]
    unit = -getattr(fmt, "fraction_bits", 0)
    want = []
    for code in range(1 << fmt.container_bits):
        sign, exp, sig, cls = unpack(fmt, code)
        value = {Class.NAN: np.nan, Class.INFINITY: np.inf}.get(cls)
        value = np.ldexp(float(sig), exp + unit) if value is None else value
        want.append(-value if sign else value)
    assert same(fmt.decode(np.arange(len(want))), np.array(want))


@pytest.mark.parametrize("name", [name for name in NARROW if isinstance(EVERY[name], FloatFormat)])
def test_decode_of_finite_floats_is_the_formula(name):
    fmt = EVERY[name]
    magnitudes = range(fmt.max_magnitude + 1)
    assert fmt.decode(magnitudes).tolist() == [float(float_value(fmt, m)) for m in magnitudes]


# Of formats that no other decoder has, and where tables of specifications are easily misread.
@pytest.mark.parametrize(
    ("name", "code", "value"),
    [
        ("tf32", 0x7F7FE000, 2047 * 2.0**117),
        ("e8m13", 0x7F7FFC00, 16383 * 2.0**114),
        ("e8m13", 0x00000400, 2.0**-139),
        ("dlfloat16", 0x3E00, 1.0),  # Agrawal et al., DLFloat, ARITH 2019
        ("dlfloat16", 0x7FFE, 8573157376.0),
        ("dlfloat16", 0x0001, 4.665707820095122e-10),
        ("hfp8-e4m3", 0x7F, 30.0),  # Sun et al., NeurIPS 2019, with a bias of 7 + 4
        ("hfp8-e4m3", 0x01, 1.125 * 2.0**-11),
        ("hfp8-e5m2", 0x7E, 98304.0),
        ("hfp8-e5m2", 0x01, 1.25 * 2.0**-15),
    ],
)
def test_value_of_a_code(name, code, value):
    assert EVERY[name].decode(code) == value


# What an argument may be.


@pytest.mark.parametrize("name", ML_DTYPES)
def test_floats_of_the_own_dtype_are_taken_by_their_bits(name):
    codes = every_code(name)
    floats = codes.view(ML_DTYPES[name])
    assert np.array_equal(codes_of(EVERY[name], floats), codes)
    assert same(EVERY[name].decode(floats), EVERY[name].decode(codes))


@pytest.mark.parametrize("name", WIDE)
def test_float32_arrays_are_codes_of_binary32_containers(name):
    codes = np.array([[0, 0x3F800000], [0x80000000, 0x7F800000]], np.uint32)
    assert np.array_equal(codes_of(EVERY[name], codes.view(np.float32)), codes)
    assert np.array_equal(codes_of(EVERY[name], codes.view(np.float32).astype(">f4")), codes)


@pytest.mark.parametrize(
    "argument",
    [
        [[1, 2], [3, 0x7E]],
        ((1, 2), (3, 0x7E)),
        np.array([[1, 2], [3, 0x7E]], np.uint8),
        np.array([[1, 2], [3, 0x7E]], np.int8),
        np.array([[1, 2], [3, 0x7E]], np.uint64),
        np.array([[1, 2], [3, 0x7E]], ">i2"),
        np.array([[1, 2], [3, 0x7E]], object),
        np.array([[1, 3], [2, 0x7E]], np.int64).T,
        [np.array([1, 2]), np.array([3, 0x7E])],
        [[np.uint8(1), 2], [3, np.int64(0x7E)]],
    ],
)
def test_integers_of_every_kind_are_codes(argument):
    codes = codes_of(get_format("e4m3"), argument)
    assert codes.dtype == np.uint8
    assert codes.tolist() == [[1, 2], [3, 0x7E]]
    assert get_format("e4m3").decode(argument).shape == (2, 2)


def test_scalars_and_empty_arguments_keep_their_shape():
    e4m3 = get_format("e4m3")
    for one in (0x38, np.uint8(0x38), np.array(0x38), np.array(1, ml_dtypes.float8_e4m3fn)):
        assert isinstance(e4m3.decode(one), np.ndarray)
        assert e4m3.decode(one).shape == ()
        assert e4m3.decode(one) == 1
    assert e4m3.decode([]).shape == (0,)
    assert e4m3.decode(np.zeros((0, 3), np.uint8)).shape == (0, 3)
    assert get_format("f32").decode([np.float32(1.5)]) == 1.5


def test_containers():
    assert {name: container_dtype(fmt).name for name, fmt in formats().items()} == {
        **dict.fromkeys([name for name, fmt in formats().items() if fmt.bits <= 8], "uint8"),
        **dict.fromkeys(["f16", "bf16", "e5m6", "dlfloat16"], "uint16"),
        **dict.fromkeys([*WIDE, "i32"], "uint32"),
        "f64": "uint64",
    }


def test_fixed_codes_may_be_negative():
    mxint8 = get_format("mxint8")
    assert codes_of(mxint8, np.array([-128, -1, 127], np.int8)).tolist() == [0x80, 0xFF, 0x7F]
    assert codes_of(mxint8, [-128, -1, 127, 255]).tolist() == [0x80, 0xFF, 0x7F, 0xFF]
    with pytest.raises(ValueError, match=r"codes\[1\] is -129: mxint8 codes are -128 to 255"):
        mxint8.decode([0, -129])


def test_user_formats_with_the_layout_of_a_dtype_take_it():
    assert codes_of(EVERY["e4m3fnuz"], np.array([1.0], ml_dtypes.float8_e4m3fnuz)) == 0x40
    with pytest.raises(TypeError, match="float8_e4m3fnuz"):
        codes_of(EVERY["e4m3fnuz"], np.array([1.0], ml_dtypes.float8_e4m3fn))


@pytest.mark.parametrize(
    ("name", "argument", "message"),
    [
        ("e4m3", [0, 256], r"codes\[1\] is 256: e4m3 codes are 0 to 255"),
        ("e4m3", -1, "codes is -1: e4m3 codes are 0 to 255"),
        ("e4m3", np.array([[0, 0], [0, -1]], np.int8), r"codes\[1, 1\] is -1: "),
        ("e4m3", [2**70], r"codes\[0\] is 1180591620717411303424"),
        ("e4m3", [-1, 2**63], r"codes\[0\] is -1"),
        ("e2m1", np.array([3, 16], np.uint8), r"codes\[1\] is 16: e2m1 codes are 0 to 15"),
        ("e3m2", [64], r"codes\[0\] is 64: e3m2 codes are 0 to 63"),
        ("f16", [65536], "f16 codes are 0 to 65535"),
        ("f32", [2**32], "f32 codes are 0 to 4294967295"),
        ("tf32", [0x3F800000, 0x3F801000], r"codes\[1\] is 0x3f801000: the low 13 bits of a code of tf32"),
        (
            "e8m13",
            np.array([1 + 2.0**-14], np.float32),
            r"codes\[0\] is 0x3f800200: the low 10 bits of a code of e8m13",
        ),
        ("e8m13", [0xFFFFFFFF], "the low 10 bits"),
    ],
)
def test_codes_out_of_range(name, argument, message):
    with pytest.raises(ValueError, match=message):
        get_format(name).decode(argument)


@pytest.mark.parametrize(
    "argument",
    [
        1.0,
        [1.0],
        [1, 2.0],
        True,
        [1, True],
        np.array([True]),
        [np.bool_(True)],
        np.array([1, True], object),
        None,
        "0x7e",
        ["a"],
        b"ab",
        [[1, 2], [3]],
        np.zeros(3, np.float32),
        np.zeros(3, np.float64),
        np.zeros(3, np.complex64),
        np.zeros(3, ml_dtypes.float8_e5m2),
        np.zeros(3, ml_dtypes.int4),
        np.zeros(3, "M8[s]"),
        {1: 2},
    ],
)
def test_what_is_no_code_is_a_type_error(argument):
    with pytest.raises(TypeError, match=r"^left must be integer e4m3 codes or a float8_e4m3fn array, not "):
        codes_of(get_format("e4m3"), argument, "left")


def test_a_scale_of_nvfp4_may_be_a_float8_array():
    # As frameworks keep it; a sign, that of a zero too, is no code of ue4m3.
    ue4m3 = get_format("ue4m3")
    assert codes_of(ue4m3, np.array([0.5, 448], ml_dtypes.float8_e4m3fn)).tolist() == [0x30, 0x7E]
    for wrong in (-1.0, -0.0):
        with pytest.raises(ValueError, match="ue4m3 codes are 0 to 127"):
            codes_of(ue4m3, np.array([wrong], ml_dtypes.float8_e4m3fn))


def test_mxint8_has_no_float_dtype():
    with pytest.raises(TypeError, match=r"^codes must be integer mxint8 codes, not float32"):
        get_format("mxint8").decode(np.zeros(2, np.float32))


# A check that cannot fail is none: decoders with a fault.


@pytest.mark.parametrize(
    ("attribute", "fault"),
    [("bias", lambda fmt: fmt.bias + 1), ("least_bexp", lambda fmt: 0), ("infinity_magnitude", lambda fmt: 0x78)],
)
def test_a_faulty_decoder_is_seen(attribute, fault):
    class Faulty:
        def __getattr__(self, key):
            return fault(get_format("e5m2")) if key == attribute else getattr(get_format("e5m2"), key)

    codes = every_code("e5m2")
    want = codes.view(ml_dtypes.float8_e5m2).astype(np.float64)
    assert same(FloatFormat.values(get_format("e5m2"), codes.astype(np.int64)), want)
    assert not same(FloatFormat.values(Faulty(), codes.astype(np.int64)), want)
