"""Large arrays go through compiled loops: the bits are the reference's, whatever the numbers, shapes and threads."""

import subprocess
import sys

import ml_dtypes
import numba
import numpy as np
import pytest
from built_presets import others_slow
from formats.formats_witness import EVERY, every_policy, inputs, overflows, paired_policies
from hypothesis import given, settings
from hypothesis import strategies as st

from hwsim.formats import FloatFormat, fast, formats, get_format, lookup, loops, parts, reference, stochastic
from hwsim.formats.reference import Choices, decode_reference, encode_reference
from hwsim.formats.rounding import Missing, Overflow, Rounding

NARROW = [name for name, fmt in EVERY.items() if fmt.container_bits <= 8]
WIDE = ["f16", "bf16", "e5m6", "dlfloat16", "tf32", "e8m13"]
# Signed floats with subnormals or with underflow to zero, and two's complement, are rounded by arithmetic.
ARITHMETIC = {
    *("e4m3", "e5m2", "e4m3-ieee", "e4m3fnuz", "e5m2fnuz", "e4m3b11fnuz", "e3m4", "e3m4-finite", "hfp8-e4m3"),
    *("hfp8-e5m2", "e3m2", "e2m3", "e2m1", "mxint8", "int8", "int4", "e5m0", "e4m3inf", "fixed5", "binary8p3se"),
    *("binary8p1se", "binary5p2sf", "binary3p1se"),
}
DTYPES = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]
DTYPES += [np.dtype(kind) for kind in (ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float4_e2m1fn)]


@pytest.fixture(autouse=True)
def every_array_is_large(monkeypatch):
    monkeypatch.setattr(parts, "LEAST", 1)


def traps(name):
    """float32: the witness's inputs (every code and midpoint, and one and two ulps to each side, among them), random
    bits, and all that is special.
    """
    rng = np.random.default_rng(5)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        near = inputs(name).astype(np.float32)
    bits = rng.integers(0, 1 << 32, 20_000, dtype=np.uint32)
    nans = rng.integers(0x7F800001, 0x80000000, 50, dtype=np.uint32)
    ends = np.array([0, 1, 2, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FFFFFFF], np.uint32)
    subnormals = ((np.arange(1, 17)[:, None] << 19) + np.arange(-2, 3)).astype(np.uint32)
    wild = np.concatenate([bits, nans, ends, subnormals.ravel()])
    return np.concatenate([near, -near[:200], wild.view(np.float32), (wild ^ np.uint32(1 << 31)).view(np.float32)])


DEFAULTS = (Rounding.RNE, Overflow.SATURATE, Missing.SATURATE)


# Which roundings and overflow policies a test of all of them takes.
POLICIES = pytest.mark.parametrize(
    "policies", [paired_policies, pytest.param(every_policy, marks=pytest.mark.slow)], ids=["pairs", "all"]
)


def members(policies):
    return [(Rounding(mode), Overflow(over)) for mode, over in policies]


def check(name, x, mode, overflow, by=(fast._by_arithmetic, fast._by_table)):
    """A loop against the reference. AssertionError with the first number that differs."""
    fmt = EVERY[name]
    _, lacking = reference.outcome(fmt, x, mode, overflow)
    for some, missing in ((x[~lacking], Missing.ERROR), (x, Missing.NAN if fmt.has_nan else Missing.SATURATE)):
        want = encode_reference(fmt, some, mode, overflow, missing)
        for loop in by:
            out = np.empty(some.size, want.dtype)
            if not loop(fmt, some, out, mode, overflow, missing):
                assert loop is fast._by_arithmetic and name not in ARITHMETIC, (name, loop)
                continue
            wrong = np.flatnonzero(out != want)
            assert not len(wrong), (
                f"{len(wrong)}: {float(some[wrong[0]]).hex()} {mode} gave {out[wrong[0]]:#x}, not {want[wrong[0]]:#x}"
            )


@POLICIES
@pytest.mark.parametrize("name", others_slow(NARROW, NARROW[::3]))
def test_codes_of_up_to_8_bits_are_the_reference_s(name, policies):
    x = traps(name)
    for mode, overflow in members(policies(name)):
        check(name, x, mode, overflow)
    assert {name for name in NARROW if fast.encoder_parameters(EVERY[name], *DEFAULTS)} == ARITHMETIC


@POLICIES
@pytest.mark.parametrize("name", others_slow(WIDE, WIDE[::2]))
def test_codes_of_more_bits_are_the_reference_s(name, policies):
    x, fmt = traps(name), EVERY[name]
    for mode, overflow in members(policies(name)):
        got = fast.encode(fmt, x, Choices(mode, overflow, Missing.ERROR))
        assert got is not None
        assert np.array_equal(got, encode_reference(fmt, x, mode, overflow)), (mode, overflow)


@POLICIES
@pytest.mark.parametrize("name", others_slow(NARROW, NARROW[1::3]))
def test_binary64_is_rounded_once(name, policies):
    fmt, x = EVERY[name], inputs(name)
    rng = np.random.default_rng(6)
    wild = rng.integers(0, 1 << 64, 5_000, dtype=np.uint64).view(np.float64)
    ends = np.array([2.0**-1074, 2.0**-127, 2.0**128, 2.0**128 - 2.0**103, 2.0**128 - 2.0**104, 1e308, np.inf, np.nan])
    x = np.concatenate([x, wild, ends, -ends])
    for mode, overflow in members(policies(name)):
        want = encode_reference(fmt, x, mode, overflow, "saturate")
        assert np.array_equal(fmt.encode(x, mode, overflow, "saturate"), want), (mode, overflow)
    table = lookup.singles(fmt, Rounding.RNE, Overflow.SATURATE, Missing.SATURATE)
    assert table.doubles == (name not in ("e8m0", "ue8m0", "binary8p1ue"))  # theirs need binary32's whole range


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.name)
def test_every_number_of_a_narrow_dtype(dtype):
    x = np.arange(1 << 8 * dtype.itemsize).astype(f"u{dtype.itemsize}").view(dtype)
    for name in [*NARROW, *WIDE]:
        for mode, overflow in (("rne", overflows(EVERY[name])[-1]), ("ru", "saturate")):
            want = encode_reference(EVERY[name], x, mode, overflow, "saturate")
            assert np.array_equal(EVERY[name].encode(x, mode, overflow, "saturate"), want), (name, mode)


# Stochastic rounding.


@pytest.mark.parametrize(
    ("seed", "counter"), [(0, 0), (2**64 - 1, 2**32 - 700), (0x0370734413198A2E, 2**64 - 900), (5, 9)]
)
def test_words_are_the_generator_s(seed, counter):
    places = [(counter + i) % 2**64 for i in range(2500)]
    at = tuple(np.array([place >> shift & 0xFFFFFFFF for place in places]) for shift in (0, 32))
    words, _ = stochastic.threefry2x32((seed & 0xFFFFFFFF, seed >> 32), at)
    assert np.array_equal(stochastic._compiled_words(stochastic.Stochastic(32, seed, counter).for_loops(), 2500), words)
    for bits in (1, 13, 32):
        assert np.array_equal(stochastic.random_words(seed, counter, 2500, bits), words >> 32 - bits)


def stochastic_check(name, bits):
    fmt, x, words = EVERY[name], traps(name), {"random_bits": bits, "seed": 11, "counter": 3 * 2**32 - 5000}
    x = x if fmt.has_nan else x[~np.isnan(x)]
    for overflow in overflows(fmt):
        got = fast.encode(fmt, x, Choices(stochastic.Stochastic(**words), Overflow(overflow), Missing.ERROR))
        assert got is not None
        assert np.array_equal(got, encode_reference(fmt, x, "stochastic", overflow, **words)), overflow


@pytest.mark.parametrize("name", others_slow(sorted(ARITHMETIC | set(WIDE)), sorted(ARITHMETIC | set(WIDE))[1::8]))
def test_stochastic_codes_are_the_reference_s(name):
    for bits in (1, 8, stochastic.most_random_bits(EVERY[name])):
        stochastic_check(name, bits)


def test_a_format_that_is_not_the_loops_is_rounded_stochastically_too():
    for name in ("e8m0", "ue4m3", "e4m3nosub"):
        x = np.abs(inputs(name))
        x = x[(x > 1e-3) & (x < 100)].astype(np.float32)
        words, drawn = {"random_bits": 8, "seed": 1}, stochastic.Stochastic(8, 1, 0)
        assert fast.encode(EVERY[name], x, Choices(drawn, Overflow.SATURATE, Missing.ERROR)) is None
        want = encode_reference(EVERY[name], x, "stochastic", **words)
        assert np.array_equal(EVERY[name].encode(x, "stochastic", **words), want)


# What is asked of any array.


@pytest.mark.parametrize(
    ("name", "x", "message"),
    [
        ("e2m1", np.nan, r"x\[3, 5\] is nan, for which e2m1 has no code"),
        ("mxint8", np.nan, r"x\[3, 5\] is nan, for which mxint8 has no code"),
        ("ue4m3", -1.0, r"x\[3, 5\] is -1.0, for which ue4m3 has no code"),
        ("e8m0", 0.0, r"x\[3, 5\] is 0.0, for which e8m0 has no code"),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_a_missing_number_is_named_by_its_place(name, x, message, dtype):
    array = np.ones((40, 40), dtype)
    array[3, 5] = array[7, 1] = x
    with pytest.raises(ValueError, match=message):
        get_format(name).encode(array)
    array[3, 5] = array[7, 1] = 2
    assert get_format(name).decode(get_format(name).encode(array))[3, 4:6].tolist() == [
        1,
        2 if name != "mxint8" else 127 / 64,
    ]


SHAPES = st.lists(st.integers(0, 9), min_size=1, max_size=3).map(tuple)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    shape=SHAPES,
    steps=st.lists(st.sampled_from([1, 2, -1, -3]), min_size=3, max_size=3),
    turned=st.booleans(),
    frozen=st.booleans(),
    dtype=st.sampled_from([np.dtype(np.float32), np.dtype(np.float64), np.dtype(">f4"), np.dtype(np.float16)]),
    name=st.sampled_from(["e4m3", "e2m1", "ue4m3", "f16"]),
    seed=st.integers(0, 99),
)
def test_any_shape_and_stride(shape, steps, turned, frozen, dtype, name, seed):
    x = np.abs(np.random.default_rng(seed).normal(0, 3, shape)).astype(dtype)
    x = x[tuple(slice(None, None, step) for step in steps[: x.ndim])]
    x = x.T if turned else x
    x.setflags(write=not frozen)
    fmt = get_format(name)
    codes = fmt.encode(x)
    assert codes.shape == x.shape and np.array_equal(codes, encode_reference(fmt, x))
    assert np.array_equal(fmt.decode(codes.T), decode_reference(fmt, codes.T))
    words = {"random_bits": 5, "seed": seed}
    assert np.array_equal(fmt.encode(x, "stochastic", **words), encode_reference(fmt, x, "stochastic", **words))


def test_the_number_of_threads_changes_nothing(monkeypatch):
    monkeypatch.setattr(parts, "LEAST_OF_A_THREAD", 100)
    x = np.random.default_rng(8).normal(0, 3, 5003).astype(np.float32)
    seen = []
    for threads in (1, 2, 3, 7):
        monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", threads)
        codes = [get_format(name).encode(x) for name in ("e4m3", "e5m6")]
        codes += [get_format("e8m0").encode(np.abs(x) + 1), get_format("e4m3").encode(x.astype(np.float64))]
        codes += [get_format("e4m3").encode(x, "stochastic", random_bits=8, seed=2, counter=2**32 - 2000)]
        codes += [get_format("e4m3").decode(codes[0]), stochastic.random_words(3, 4, 5003, 9)]
        seen.append(codes)
        assert len(parts.split(5003, 1, lambda start, end: (start, end))) == threads
    assert all(np.array_equal(a, b) for other in seen[1:] for a, b in zip(seen[0], other, strict=True))


def test_small_arrays_and_the_import_compile_nothing():
    script = """
import sys, numpy as np, hwsim
e4m3 = hwsim.get_format("e4m3")
e4m3.decode(e4m3.encode(np.ones(500, np.float32)))
hwsim.quantize(np.ones((4, 64), np.float32), "mxfp8-e4m3")
assert "numba" not in sys.modules
e4m3.encode(np.ones(1 << 20, np.float32))
assert "numba" in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)


# Decoding.


@pytest.mark.parametrize("name", [name for name in EVERY if EVERY[name].container_bits <= 16])
def test_every_code_is_decoded_as_the_reference_does(name):
    codes = np.arange(1 << EVERY[name].container_bits)
    want = decode_reference(EVERY[name], codes)
    got = EVERY[name].decode(codes)
    assert np.array_equal(got.view(np.uint64), want.view(np.uint64))
    single = EVERY[name].decode(codes, np.float32)
    assert single.dtype == np.float32 and np.array_equal(single.astype(np.float64), want, equal_nan=True)
    assert np.array_equal(np.signbit(single), np.signbit(want))


@pytest.mark.parametrize("name", ["f32", "tf32", "e8m13", "i32"])
def test_wide_codes_are_decoded_as_the_reference_does(name):
    fmt = get_format(name)
    codes = np.random.default_rng(9).integers(0, 1 << fmt.bits, 9000, dtype=np.uint32) << np.uint32(fmt.padding)
    if name != "i32":
        codes = np.append(codes, [fmt.canonical_nan, 0x7F800000 | 1 << fmt.padding, 0xFF800000]).astype(np.uint32)
        assert np.array_equal(fmt.decode(codes, np.float32), fmt.decode(codes).astype(np.float32), equal_nan=True)
    assert np.array_equal(fmt.decode(codes).view(np.uint64), decode_reference(fmt, codes).view(np.uint64))


def test_what_decode_refuses():
    codes = np.zeros(300, np.uint8)
    with pytest.raises(TypeError, match="dtype must be float32 or float64, not float16"):
        get_format("e4m3").decode(codes, np.float16)
    with pytest.raises(ValueError, match="dtype must be float64 for i32, which has values that float32 does not hold"):
        get_format("i32").decode(codes, np.float32)
    far = FloatFormat(name="far", exponent_bits=5, fraction_bits=2, bias=150)
    with pytest.raises(ValueError, match="dtype must be float64 for far"):
        far.decode(codes, np.float32)
    codes[200] = 16
    with pytest.raises(ValueError, match=r"codes\[200\] is 16: e2m1 codes are 0 to 15"):
        get_format("e2m1").decode(codes)


# Loops with a fault, that `check` must see.


def table_with(change):
    """`lookup.singles` with its table changed."""
    right = lookup.singles
    return lambda *given: change(right(*given))


def one_guard_bit_less(table):
    jammed = table.entries.reshape(-1, 2)
    entries = np.where(np.arange(len(jammed)) % 2 == 0, jammed[:, 0], jammed[:, 1])
    return table._replace(entries=entries.astype(table.entries.dtype), shift=table.shift + 1)


def sticky_dropped(table):
    return table._replace(entries=np.repeat(table.entries[::2], 2))


@pytest.mark.parametrize("name", ["e4m3", "e2m1", "mxint8", "ue4m3", "e8m0", "binary8p8ue"])
@pytest.mark.parametrize(
    ("mode", "change"), [("rne", one_guard_bit_less), ("rne", sticky_dropped), ("ru", sticky_dropped)]
)
def test_a_faulty_table_is_seen(name, mode, change, monkeypatch):
    x, given = traps(name), (Rounding(mode), Overflow.SATURATE, [fast._by_table])
    check(name, x, *given)
    monkeypatch.setattr(lookup, "singles", table_with(change))
    with pytest.raises(AssertionError):
        check(name, x, *given)


FAULTS = {
    "ties away": ("e4m3", "rne", {"even": 0x7FFFFFFF, "turn": 0}),
    "ties to odd": ("e2m1", "rne", {"even": 0x7FFFFFFF}),
    "ties to zero": ("e5m2", "rna", {"even": 0x80000000}),
    "ru away from zero": ("e4m3", "ru", {"flip": 0}),
    "rto truncates": ("e3m2", "rto", {"even": 0xFFFFFFFF, "turn": 0}),
    "subnormals begin late": ("e5m2", "rne", {"low": 127 - 13}),
    "one code less": ("e4m3", "rz", {"cap": 0x7D}),
    "a negative zero": ("e4m3fnuz", "rne", {"zero_sign": 0xFFFFFFFF}),
    "no negative zero": ("e4m3", "rne", {"zero_sign": 0}),
    "the least number kept": ("hfp8-e4m3", "rne", {"base": 0}),
    "symmetric": ("mxint8", "rne", {"lopsided": 0}),
    "infinity for NaN": ("e5m2", "rne", {"nan": 0x7C}),
    "minus infinity for plus": ("e5m2", "rne", {"plus": 0xFB}),
    "a sign elsewhere": ("e5m6", "rne", {"narrowing": 16}),
    "no padding": ("tf32", "rne", {"padding": 12}),
    "rd overflows as ru": ("e5m2", "rd/ieee", {"lopsided": 0}),
    "ru overflows as rd": ("e5m2", "ru/ieee", {"lopsided": 1}),
    "both signs overflow alike": ("e4m3", "ru/ieee", {"limit_turn": 0}),
    "overflow a code early": ("e4m3", "rd/ieee", {"limit": 0x7E}),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faulty_arithmetic_is_seen(fault, monkeypatch):
    name, policy, other = FAULTS[fault]
    mode, _, overflow = policy.partition("/")
    given = traps(name), Rounding(mode), Overflow(overflow or "saturate"), [fast._by_arithmetic]
    right = fast.encoder_parameters
    with monkeypatch.context() as patch:
        patch.setattr(fast, "encoder_words", lambda *chosen: fast.packed(right(*chosen)._replace(**other)))
        with pytest.raises(AssertionError):
            check(name, *given)
    check(name, *given)


@pytest.mark.parametrize("other", [{"mask": 0x7F000000}, {"seed_low": 12}, {"counter_low": 1}, {"counter_high": 0}])
def test_other_random_words_are_seen(other, monkeypatch):
    stochastic_check("e4m3", 8)
    right = stochastic.Stochastic.for_loops
    monkeypatch.setattr(stochastic.Stochastic, "for_loops", lambda drawn: right(drawn)._replace(**other))
    monkeypatch.setattr(stochastic, "worth", lambda count: False)  # the generator gives the reference its words
    with pytest.raises(AssertionError):
        stochastic_check("e4m3", 8)


def test_every_format_that_ships_is_in_these_tests():
    assert set(formats()) == {*NARROW, *WIDE, "f32", "i32", "f64"} & set(formats())
    assert traps("e2m1").size > loops.TILE and lookup.U is np.uint32
