"""Stochastic rounding: the generator's published vectors, the count of outcomes over every random word, and streams."""

import math
from fractions import Fraction

import numpy as np
import pytest
from built_presets import others_slow
from formats.formats_peers import GFLOAT
from formats.formats_witness import (
    BELOW,
    EVERY,
    below_least,
    code_of,
    expected,
    flushes,
    inputs,
    largest_rung,
    overflows,
    rung_value,
)
from gfloat import RoundMode, encode_ndarray, round_ndarray
from gfloat import formats as gf

from hwsim.formats import ExponentFormat, FixedFormat, get_format, stochastic
from hwsim.formats.stochastic import most_random_bits, random_words, threefry2x32

ONES = 0xFFFFFFFF


@pytest.mark.parametrize(
    ("key", "counter", "words"),
    [  # Random123 1.14, tests/kat_vectors, threefry2x32 20
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((ONES, ONES), (ONES, ONES), (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_the_generator_gives_its_published_words(key, counter, words):
    assert threefry2x32(key, counter) == words
    arrays = threefry2x32(key, tuple(np.array([word, word]) for word in counter))
    assert [array.tolist() for array in arrays] == [[word, word] for word in words]


def test_the_words_of_a_seed_are_the_generator_s():
    for seed, counter in [(0, 0), (0x0370734413198A2E, 0x85A308D3243F6A88), (5, 2**32 - 2), (1, 2**64 - 2)]:
        for bits in (1, 7, 32):
            want = [
                threefry2x32((seed & ONES, seed >> 32), (at % 2**64 & ONES, at % 2**64 >> 32))[0] >> 32 - bits
                for at in range(counter, counter + 4)
            ]
            assert random_words(seed, counter, 4, bits).tolist() == want


# Every outcome, over every random word.


def between_codes(fmt, parts, negative):
    """(rung, lower Fraction, gap) for the gaps of a format, a sample of a wide one's; and parts of each gap."""
    end = largest_rung(fmt, negative)
    first = BELOW + min(set(range(1 << fmt.bits)) - set(fmt.nan)) if isinstance(fmt, ExponentFormat) else 0
    all_of_them = list(range(first, end + (not isinstance(fmt, FixedFormat))))
    some = all_of_them if len(all_of_them) < 300 else [*all_of_them[:40], *all_of_them[:: len(all_of_them) // 150]]
    for rung in [*some, *all_of_them[-3:]]:
        lower, upper = rung_value(fmt, rung), rung_value(fmt, rung + 1)
        if rung == 0 and flushes(fmt):
            lower = below_least(fmt)
        for part in range(parts):
            yield rung, lower + (upper - lower) * Fraction(part, parts), part


def counts(fmt, numbers, bits, overflow, monkeypatch):
    """For each number, how many of all random words take it to each code: a dict."""
    every = np.tile(np.arange(1 << bits), len(numbers))
    monkeypatch.setattr(stochastic, "random_words", lambda seed, counter, count, bits: every)
    x = np.repeat(np.array([float(x) for x in numbers]), 1 << bits)
    codes = fmt.encode(x, "stochastic", overflow, random_bits=bits, seed=0).reshape(len(numbers), -1)
    return [dict(zip(*map(np.ndarray.tolist, np.unique(row, return_counts=True)), strict=True)) for row in codes]


SMALL = ["e4m3", "e5m2", "e2m1", "e3m2", "mxint8", "e8m0", "ue4m3", "e4m3fnuz", "e3m4", "hfp8-e4m3", "hfp8-e5m2"]
SMALL += ["e4m3nosub", "e5m0nosub", "e5m0zero", "e4m3inf", "binary8p3se", "binary8p1ue", "fixed5", "dlfloat16", "e5m6"]


@pytest.mark.parametrize("bits", [1, 3])
@pytest.mark.parametrize("name", others_slow(SMALL, SMALL[::4]))
def test_outcomes_over_every_random_word_are_as_many_as_the_part_says(name, bits, monkeypatch):
    fmt = EVERY[name]
    parts = 4 << bits  # two bits below the random ones, that are dropped
    signs = (False, True) if not isinstance(fmt, ExponentFormat) and fmt.signed else (False,)
    overflow = overflows(fmt)[-1]
    for negative in signs:
        cases = [case for case in between_codes(fmt, parts, negative) if case[1]]
        numbers = [-x if negative else x for _, x, _ in cases]
        end = largest_rung(fmt, negative) + 1
        beyond = expected(fmt, -math.inf if negative else math.inf, "rne", overflow)
        beyond = fmt.canonical_nan if overflow == "nan" else beyond
        for (rung, _, part), found in zip(cases, counts(fmt, numbers, bits, overflow, monkeypatch), strict=True):
            up = part * (1 << bits) // parts
            low, high = (beyond if r >= end else code_of(fmt, r, negative) for r in (rung, rung + 1))
            want = {low: (1 << bits) - up, high: up} if low != high else {low: 1 << bits}
            assert found == {code: n for code, n in want.items() if n}


@pytest.mark.parametrize("bits", [4, 8, 20])
@pytest.mark.parametrize(
    ("name", "info"),
    [
        *((name, GFLOAT[name]) for name in ("e4m3", "e5m2", "e3m2", "e2m1", "f16", "bf16")),
        ("e5m2fnuz", gf.format_info_p3109(8, 3, domain=gf.Domain.Finite)),
        ("binary8p3se", gf.format_info_p3109(8, 3)),
        ("binary8p1ue", gf.format_info_p3109(8, 1, gf.Signedness.Unsigned)),
    ],
)
def test_codes_are_those_of_gfloat_with_the_same_words(name, info, bits):
    # gfloat calls it StochasticFastest. binary32 inputs: its sum of part and word, in float64, is then exact.
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        x = inputs(name)[:80_000].astype(np.float32).astype(np.float64)
    x = x[np.isfinite(x)]
    words = random_words(7, 1000, len(x), bits)
    want = encode_ndarray(info, round_ndarray(info, x, RoundMode.StochasticFastest, True, words, bits))
    got = EVERY[name].encode(x, "stochastic", random_bits=bits, seed=7, counter=1000)
    assert np.array_equal(got, want)
    nearest = EVERY[name].encode(x)
    assert np.count_nonzero(got != nearest) > len(x) // 100


def test_fractions_that_no_float64_holds():
    e4m3 = get_format("e4m3")
    words = random_words(3, 0, 400, 32)
    for part in (
        Fraction(1, 3),
        Fraction(1, 2**33),
        1 - Fraction(1, 2**40),
        Fraction(2**31, 2**32) - Fraction(1, 2**200),
    ):
        x = 1 + part / 8
        want = np.where(math.floor(part * 2**32) + words >= 2**32, 0x39, 0x38)
        got = e4m3.encode([x] * 400, "stochastic", random_bits=32, seed=3)
        assert got.tolist() == want.tolist()


# The generator's words in use: seeds are fixed, and the bounds are proved for independent draws.


# Streams.


def test_an_array_in_parts_gives_the_same_codes():
    x = np.random.default_rng(1).normal(0, 3, 1000)
    x[[5, 500]] = np.nan, np.inf
    e4m3 = get_format("e4m3")
    whole = e4m3.encode(x, "stochastic", random_bits=6, seed=2, counter=10)
    parts = [
        e4m3.encode(x[at : at + 77], "stochastic", random_bits=6, seed=2, counter=10 + at) for at in range(0, 1000, 77)
    ]
    assert np.array_equal(np.concatenate(parts), whole)
    matrix = e4m3.encode(np.asfortranarray(x.reshape(20, 50)), "stochastic", random_bits=6, seed=2, counter=10)
    assert np.array_equal(matrix, whole.reshape(20, 50))
    assert e4m3.encode(x[77], "stochastic", random_bits=6, seed=2, counter=87) == whole[77]
    other = e4m3.encode(x, "stochastic", random_bits=6, seed=3, counter=10)
    assert np.count_nonzero(other != whole) > 200


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"seed": 1}, ValueError, "random_bits must be given for rounding='stochastic'"),
        ({"random_bits": 8}, ValueError, "seed must be given for rounding='stochastic'"),
        ({"random_bits": 0, "seed": 1}, ValueError, "random_bits must be 1 to 32 for e4m3, not 0"),
        ({"random_bits": 33, "seed": 1}, ValueError, "random_bits must be 1 to 32 for e4m3, not 33"),
        ({"random_bits": 8.0, "seed": 1}, TypeError, "random_bits must be an integer, not float"),
        ({"random_bits": True, "seed": 1}, TypeError, "random_bits must be an integer, not bool"),
        ({"random_bits": 8, "seed": -1}, ValueError, r"seed must be 0 to 2\^64 - 1, not -1"),
        ({"random_bits": 8, "seed": 2**64}, ValueError, r"seed must be 0 to 2\^64 - 1, not 18446744073709551616"),
        ({"random_bits": 8, "seed": 1, "counter": -1}, ValueError, r"counter must be 0 to 2\^64 - 1, not -1"),
    ],
)
def test_what_a_draw_needs(given, error, message):
    with pytest.raises(error, match=message):
        get_format("e4m3").encode([], "stochastic", **given)


def test_random_bits_of_another_rounding():
    for given in ({"random_bits": 8}, {"seed": 0}, {"counter": 1}):
        with pytest.raises(
            ValueError, match="random_bits, seed and counter are of rounding='stochastic', not of 'rne'"
        ):
            get_format("e4m3").encode(1.0, **given)


def test_a_wide_format_takes_fewer_random_bits():
    assert most_random_bits(get_format("f32")) == 28
    with pytest.raises(ValueError, match="random_bits must be 1 to 28 for f32, not 29"):
        get_format("f32").encode(1.0, "stochastic", random_bits=29, seed=0)
