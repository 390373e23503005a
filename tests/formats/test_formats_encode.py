"""Every number goes to the code that the witness finds, in every rounding and overflow policy."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from built_presets import others_slow
from formats.formats_peers import CASTS, GFLOAT
from formats.formats_witness import (
    EVERY,
    ROUNDINGS,
    bulk_expected,
    every_policy,
    expected,
    inputs,
    overflows,
    paired_policies,
)
from gfloat import Domain, RoundMode, Signedness, encode_ndarray, round_ndarray
from gfloat import formats as gf

from hwsim.formats import codec, fixed, floats, formats, get_format, reference, rounding
from hwsim.formats import fixed as exponent
from hwsim.formats import rounding as exact

GFLOAT_MODES = {
    "rne": RoundMode.TiesToEven,
    "rna": RoundMode.TiesToAway,
    "rz": RoundMode.TowardZero,
    "ru": RoundMode.TowardPositive,
    "rd": RoundMode.TowardNegative,
}


def check(name, mode, overflow, fmt=None, encoders=(reference.encode_reference,)):
    """Encoders against the witness, in bulk. Raises AssertionError with the first number that differs."""
    x = inputs(name)
    want = bulk_expected(name, x, mode, overflow)
    for encode in encoders:
        got = encode(fmt or EVERY[name], x, mode, overflow).astype(np.int64)
        wrong = np.flatnonzero(got != want)
        assert not len(wrong), (
            f"{len(wrong)} of {len(x)}: {x[wrong[0]].hex()} {mode} {overflow} gave {got[wrong[0]]:#x}, not "
            f"{want[wrong[0]]:#x}"
        )


def binary32(name):
    """The inputs as float32, for casts that start from it."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return inputs(name).astype(np.float32)


def cases():
    """Every format with every rounding and overflow policy; always a part of those pairs in which all of both occur."""
    paired = [(name, *policy) for name in EVERY for policy in paired_policies(name)]
    return others_slow([(name, *policy) for name in EVERY for policy in every_policy(name)], paired[::5])


def test_the_pairs_of_formats_and_policies_are_all_there():
    chosen = {(name, *policy) for name in EVERY for policy in paired_policies(name)}
    for name in EVERY:
        assert {mode for own, mode, _ in chosen if own == name} == set(ROUNDINGS)
        assert {overflow for own, _, overflow in chosen if own == name} == set(overflows(EVERY[name]))
    assert {pair[1:] for pair in chosen} == {policy for name in EVERY for policy in every_policy(name)}


@pytest.mark.quick(cases=6)
@pytest.mark.parametrize(("name", "mode", "overflow"), cases())
def test_encode_is_what_the_witness_finds(name, mode, overflow):
    assert len(inputs(name)) > (40_000 if name in formats() else 15_000)
    check(name, mode, overflow, encoders=(reference.encode_reference, codec.encode))


@pytest.mark.parametrize("name", others_slow(EVERY, [*EVERY][::3]))
def test_the_two_witnesses_agree(name):
    few = np.random.default_rng(2).choice(inputs(name), 30)
    for mode in ROUNDINGS:
        for overflow in overflows(EVERY[name]):
            want = [expected(EVERY[name], float(x), mode, overflow) for x in few]
            assert bulk_expected(name, few, mode, overflow).tolist() == want


@pytest.mark.parametrize("name", CASTS)
def test_encode_of_binary32_is_the_cast_of_ml_dtypes_or_numpy(name):
    dtype, overflow = CASTS[name]
    x = binary32(name)
    x = x[~np.isnan(x)]
    got = EVERY[name].encode(x, overflow=overflow)
    with np.errstate(over="ignore", under="ignore"):
        want = x.astype(dtype)
    nan = np.isnan(want.astype(np.float64))  # whose code they choose by the sign
    assert np.array_equal(got[~nan], want.view(got.dtype)[~nan])
    assert np.array_equal(np.isnan(EVERY[name].decode(got)), nan)


def test_e8m0_is_the_cast_of_ml_dtypes_with_ties_away_and_missing_as_nan():
    x = binary32("e8m0")
    x = np.concatenate([x, -x[:500], np.array([0, -0.0, np.nan, np.inf, -np.inf], np.float32)])
    x = x[~((np.abs(x) > 0) & (np.abs(x) < 2.0**-126))]  # ml_dtypes 0.6.0 rounds 1.25 * 2^-127 up, and 2^-149 too
    got = get_format("e8m0").encode(x, "rna", "nan", "nan")
    assert np.array_equal(got, x.astype(ml_dtypes.float8_e8m0fnu).view(np.uint8))


@pytest.mark.parametrize(("name", "dtype"), [("f16", np.float16), ("f32", np.float32)])
def test_encode_of_binary64_is_the_cast_of_numpy(name, dtype):
    x = inputs(name)
    x = x[~np.isnan(x)]
    got = EVERY[name].encode(x, overflow="infinity")
    with np.errstate(over="ignore", under="ignore"):
        assert np.array_equal(got, x.astype(dtype).view(got.dtype))
        few = x[np.isfinite(x)][:: len(x) // 2000]
        assert EVERY[name].encode([Fraction(v) for v in few], overflow="infinity").tolist() == (
            (few + 0.0).astype(dtype).view(got.dtype).tolist()  # + 0.0: a Fraction has no -0
        )


@pytest.mark.quick(cases=3)
@pytest.mark.parametrize("mode", GFLOAT_MODES)
@pytest.mark.parametrize("name", GFLOAT)
def test_saturating_encode_is_that_of_gfloat(name, mode):
    x = inputs(name)[:60_000]
    x = x[np.isfinite(x)]
    want = encode_ndarray(GFLOAT[name], round_ndarray(GFLOAT[name], x, GFLOAT_MODES[mode], sat=True))
    assert np.array_equal(EVERY[name].encode(x, mode), want)


@pytest.mark.parametrize("name", [name for name in GFLOAT if name not in ("e3m2", "e2m3", "e2m1")])
def test_overflow_by_ieee_754_is_that_of_gfloat(name):
    x = inputs(name)[::5]
    largest = float(EVERY[name].largest)
    x = np.concatenate([x[np.isfinite(x)], largest * np.array([1, 1.01, 1.1, 2, 1e30]), [np.inf]])
    x = np.concatenate([x, -x]) if EVERY[name].signed else x
    for mode, theirs in GFLOAT_MODES.items():
        want = round_ndarray(GFLOAT[name], x, theirs, sat=False)
        got = EVERY[name].encode(x, mode, "ieee")
        nan = np.isnan(want)  # whose code they do not choose
        assert np.array_equal(np.isnan(EVERY[name].decode(got)), nan)
        assert np.array_equal(got[~nan], encode_ndarray(GFLOAT[name], want[~nan])), mode


def near_every_code(fmt):
    """Every number of a small format, every midpoint, past the largest, and a step of binary64 to each side."""
    values = np.unique(fmt.decode(np.arange(1 << fmt.bits)))
    values = values[np.isfinite(values)]
    end = values[-1] + np.array([0.25, 0.5, 0.75, 1, 2]) * (values[-1] - values[-2])
    centres = np.concatenate([values, values[:-1] / 2 + values[1:] / 2, end, -end if fmt.signed else end])
    x = np.concatenate([centres, np.nextafter(centres, -np.inf), np.nextafter(centres, np.inf)])
    return x if fmt.signed else x[x >= 0]


@pytest.mark.parametrize("bits", others_slow(range(3, 9), (3, 8)))
def test_p3109_is_that_of_gfloat(bits):
    # gfloat overflows by IEEE 754, by the rounding, as `ieee` does.
    for name in (f"binary{bits}p{p}{sign}{domain}" for p in range(1, bits + 1) for sign in "su" for domain in "ef"):
        if name.startswith(f"binary{bits}p{bits}s"):
            continue
        fmt = get_format(name)
        sign = Signedness.Signed if fmt.signed else Signedness.Unsigned
        info = gf.format_info_p3109(bits, fmt.precision, sign, Domain.Extended if fmt.infinities else Domain.Finite)
        x = near_every_code(fmt)
        for mode, theirs in GFLOAT_MODES.items():
            want = encode_ndarray(info, round_ndarray(info, x, theirs, sat=True))
            assert np.array_equal(fmt.encode(x, mode), want), (name, mode)
            ends = np.append(x, [np.inf, -np.inf] if fmt.signed else np.inf)
            want = encode_ndarray(info, round_ndarray(info, ends, theirs))
            assert np.array_equal(fmt.encode(ends, mode, "ieee"), want), (name, mode)
            if mode in ("rne", "rna"):
                assert np.array_equal(fmt.encode(ends, mode, "infinity" if fmt.infinities else "nan"), want)


def test_e8m0_is_that_of_gfloat_with_ties_to_even():
    x = inputs("e8m0")
    x = x[x <= 2.0**127]  # without NaN too
    info = gf.format_info_ocp_e8m0
    want = encode_ndarray(info, round_ndarray(info, x, RoundMode.TiesToEven))
    assert np.array_equal(get_format("e8m0").encode(x), want)


# Encoders with a fault, that `check` must see.


def grows_with(mode, decide):
    """The rounding decision with one mode's rule replaced."""
    right = rounding.grows
    return lambda given, rest, steps, negative: (
        decide(rest, (steps & 1) == 1, negative) if given == mode else right(given, rest, steps, negative)
    )


SPLIT = rounding.split


def split_with(change):
    """`split` with what it says of the bits cut off changed."""

    def faulty(sig, shift):
        kept, rest = SPLIT(sig, shift)
        return kept, change(rest)

    return faulty


def binary32_first(x):
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return exact.numbers_of(x).astype(np.float32).astype(np.float64)


def jam_after_eight_bits(sig, shift):
    cut = np.clip(shift - 8, 0, 50)
    return SPLIT(sig >> cut << cut, shift)


def flush_subnormals(fmt, x):
    return np.where(x.exp < fmt.emin, x.exp + 40, np.maximum(x.exp, fmt.emin))


WHERE = {
    "grows": [floats, fixed, exponent],
    "split": [rounding],
    "_binade": [floats],
    "_least": [floats.FloatFormat],
    "numbers_of": [reference],
    "exact": [reference],
}
NEVER = np.zeros_like
FAULTS = {
    "rz floors": ("e4m3", "rz", "grows", grows_with("rz", lambda rest, odd, neg: (rest > 0) & neg)),
    "rd truncates": ("e4m3", "rd", "grows", grows_with("rd", lambda rest, odd, neg: NEVER(neg))),
    "ru ignores the sign": ("e5m2", "ru", "grows", grows_with("ru", lambda rest, odd, neg: rest > 0)),
    "ties up": ("e2m1", "rne", "grows", grows_with("rne", lambda rest, odd, neg: rest >= 2)),
    "ties down": ("e2m1", "rne", "grows", grows_with("rne", lambda rest, odd, neg: rest > 2)),
    "ties to odd": ("e8m0", "rne", "grows", grows_with("rne", lambda rest, odd, neg: (rest > 2) | (rest == 2) & ~odd)),
    "ties to even for rna": ("f16", "rna", "grows", grows_with("rna", lambda r, odd, neg: (r > 2) | (r == 2) & odd)),
    "rto only above half": ("e3m2", "rto", "grows", grows_with("rto", lambda rest, odd, neg: (rest > 2) & ~odd)),
    "sticky dropped above half": ("e4m3", "rne", "split", split_with(lambda rest: np.where(rest == 3, 2, rest))),
    "sticky dropped below half": ("e4m3", "ru", "split", split_with(lambda rest: np.where(rest == 1, 0, rest))),
    "eight bits looked at": ("e4m3", "rne", "split", jam_after_eight_bits),
    "subnormals begin late": ("e5m2", "rne", "_binade", lambda fmt, x: np.maximum(x.exp, fmt.emin + 1)),
    "subnormals begin early": ("e5m2", "rne", "_binade", lambda fmt, x: np.maximum(x.exp, fmt.emin - 1)),
    "no subnormals": ("e4m3", "rne", "_binade", flush_subnormals),
    "the least number is half": ("e4m3nosub", "rne", "_least", property(lambda fmt: (1 << 52, fmt.emin))),
    "by way of binary32": ("e4m3", "rne", "numbers_of", binary32_first),
    "sign lost": ("e4m3", "rz", "exact", lambda x: exact.exact(np.abs(x))),
}


@pytest.mark.quick
@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_encoder_is_seen(monkeypatch, fault):
    name, mode, attribute, replacement = FAULTS[fault]
    check(name, mode, "saturate")
    for place in WHERE[attribute]:
        monkeypatch.setattr(place, attribute, replacement)
    with pytest.raises(AssertionError):
        check(name, mode, "saturate")


@pytest.mark.parametrize(
    ("name", "mode", "other"),
    [
        ("hfp8-e4m3", "rne", {"underflow": "nearby"}),
        ("dlfloat16", "rna", {"underflow": "nearby"}),
        ("e4m3nosub", "rne", {"underflow": "zero"}),
        ("binary8p3se", "rne", {"infinities": False}),
        ("e4m3fnuz", "rz", {"bias": 7}),
        ("e3m4-finite", "rne", {"nan": "ieee", "infinities": True}),
    ],
)
def test_a_format_with_another_key_is_seen(name, mode, other):
    with pytest.raises(AssertionError):
        check(name, mode, "saturate", EVERY[name].model_copy(update=other))


def test_overflow_that_depends_on_the_rounding_is_seen(monkeypatch):
    # IEEE 754 gives the largest number for an overflow under rz: not `infinity`, which says so in every rounding.
    right = floats.FloatFormat._steps_of
    cut = lambda fmt, x, mode: np.minimum(right(fmt, x, mode), fmt.max_magnitude)  # noqa: E731
    monkeypatch.setattr(floats.FloatFormat, "_steps_of", cut)
    check("e5m2", "rz", "saturate")
    with pytest.raises(AssertionError):
        check("e5m2", "rz", "infinity")


def test_a_fraction_cut_without_a_jam_is_seen(monkeypatch):
    just_above = Fraction(17, 16) + Fraction(1, 2**200)
    assert get_format("e4m3").encode(just_above) == expected(get_format("e4m3"), just_above) == 0x39
    right = exact._ratio
    monkeypatch.setattr(exact, "_ratio", lambda *given: [part & -2 if part > 1 else part for part in right(*given)])
    assert get_format("e4m3").encode(just_above) == 0x38


@pytest.mark.parametrize(("name", "mode", "overflow"), cases())
def test_fractions_that_no_float64_holds(name, mode, overflow):
    fmt = EVERY[name]
    some = [float(x) for x in np.random.default_rng(3).choice(inputs(name), 12) if 0 < abs(x) < math.inf]
    nudges = [Fraction(sign, 2**shift) for sign in (-1, 1) for shift in (60, 200, 1300)]
    numbers = [Fraction(value) * (1 + nudge) for value in some for nudge in nudges]
    codes = {x: code for x in numbers if (code := expected(fmt, x, mode, overflow)) is not None}
    assert len(codes) > 24
    assert fmt.encode(list(codes), mode, overflow).tolist() == list(codes.values())
