"""The distributions are what they are called: by their functions, moments and tails, and caught where they are not."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from study.data import study_data_witness as witness
from study.data.study_data_checks import (
    HEAVY,
    KNOWN,
    assert_all_apart,
    assert_correlated,
    assert_distribution,
    assert_normal,
    assert_outliers,
    assert_signs_apart,
    sample,
)

from hwsim.cases.drawing import Stream
from hwsim.formats.stochastic import random_words
from hwsim.study.data import draws as bits
from hwsim.study.data import draws as distributions
from hwsim.study.data import draws as elementary
from hwsim.study.data import draws as streams
from hwsim.study.data import sources
from hwsim.study.data.sources import DISTRIBUTIONS

SIDES = ("a", "b")


@pytest.mark.parametrize("side", SIDES)
def test_normal_numbers_are_normal_far_into_the_tails(side: str) -> None:
    assert_normal(side)


@pytest.mark.parametrize("entry", KNOWN)
def test_a_distribution_is_the_one_it_is_called(entry: str) -> None:
    for side in SIDES:
        assert_distribution(entry, KNOWN[entry].cdf, side)
        witness.assert_moments(sample(entry, 1 << 16, side), *KNOWN[entry].moments)


@pytest.mark.parametrize("entry", HEAVY)
def test_a_heavy_tail_is_as_heavy_as_it_must_be(entry: str) -> None:
    for side in SIDES:
        assert_distribution(entry, HEAVY[entry], side)


def test_a_rectified_number_is_zero_or_half_normal() -> None:
    x = sample("non-negative", 20000)
    positive = x[x > 0]
    assert (x >= 0).all()
    assert abs(len(positive) - 10000) < 5 * np.sqrt(5000)
    assert witness.kolmogorov(positive, witness.half_normal_cdf) < 1.95


def test_every_distribution_is_tested() -> None:
    tested = {entry.partition(":")[0] for entry in (*KNOWN, *HEAVY)}
    assert tested | {"outliers", "softmax", "correlated"} == set(DISTRIBUTIONS)


def test_a_softmax_adds_to_one_along_k() -> None:
    x = sample("softmax:deviation=2", 64 * 512).reshape(64, 512)
    assert (x > 0).all()
    np.testing.assert_allclose(x.sum(axis=1), 1, rtol=1e-6)
    # What is left of a softmax but for a constant is the logits.
    logits = np.log(x) - np.log(x).mean(axis=1, keepdims=True)
    witness.assert_moments(logits.reshape(-1) / 2 / np.sqrt(511 / 512), 0.0, 1.0, 3.0)


def test_outliers_are_channels_that_stay() -> None:
    assert_outliers()


@pytest.mark.parametrize("correlation", [0.5, -0.25, 0.9, 1, -1, 0])
def test_pairs_that_are_multiplied_are_correlated(correlation: float) -> None:
    assert_correlated(correlation)


def test_signs_and_magnitudes_are_apart() -> None:
    assert_signs_apart()


def test_all_that_differs_is_drawn_apart() -> None:
    assert_all_apart()


def test_the_words_that_are_farthest_out_give_finite_numbers() -> None:
    for word in (0, (1 << 32) - 1):
        drawn = bits._bits(_Words(word), 1)  # type: ignore[arg-type]
        assert 0 < drawn.unit[0] < 1
        for value in (distributions.normal(drawn), distributions.exponential(drawn), elementary.log(drawn.half)):
            assert np.isfinite(value).all() and value[0] != 0
    assert abs(distributions.normal(bits._bits(_Words(0), 1))[0]) > 8.2  # type: ignore[arg-type]


class _Words:
    """A stream of one word."""

    def __init__(self, word: int):
        self.word = word

    def words(self, count: int) -> Any:
        return np.full(count, self.word, dtype=np.int64)


def _tail_dropped(inverse: Any) -> Any:
    return lambda p: np.maximum(inverse(p), -4.0)


def _one_word(make: Any) -> Any:
    def drawn(stream: Stream, count: int) -> bits.Bits:
        words = random_words(stream.key, 0, count + 1, 32)
        high, low = words[:-1], words[1:]  # the same word again, for the next number
        unit = ((high << 21) | (low >> 12 << 1) | 1) * 2.0**-53
        return bits.Bits(unit, (low & 1).astype(bool), (low & 2).astype(bool))

    return drawn


def _sign_of_the_magnitude(make: Any) -> Any:
    def drawn(stream: Stream, count: int) -> bits.Bits:
        found = make(stream, count)
        return bits.Bits(found.unit, found.unit > 0.5, found.unit > 0.5)

    return drawn


def _without(key: str) -> Callable[[Any], Any]:
    """Streams that do not depend on a key."""

    def mutate(_: Any) -> Any:
        def stream(self: streams.StreamKey, *keys: str | int) -> Stream:
            given: dict[str, Any] = {"seed": self.seed, "name": self.name, "side": "", "trial": "", "length": ""}
            rest = list(keys)
            if len(keys) == 4:
                given["side"], given["length"], given["trial"], rest = keys[0], keys[1], keys[2], [keys[3]]
            given[key] = 0
            return Stream(given["seed"], *(str(value) for value in (*given.values(), *rest)))

        return stream

    return mutate


def test_the_streams_that_mutants_are_made_of_are_good(monkeypatch: pytest.MonkeyPatch) -> None:
    # But for the key that a mutant leaves out.
    monkeypatch.setattr(streams.StreamKey, "_stream", _without("nothing")(None))
    assert_all_apart()


def _blind(self: streams.StreamKey, part: str) -> Stream:
    return self.stream(part)


normal_a = functools.partial(assert_normal, "a")
MUTANTS: dict[str, tuple[Any, str, Callable[[Any], Any], Callable[[], None]]] = {
    "a tail that ends at four deviations": (distributions, "inverse_normal", _tail_dropped, normal_a),
    "no negative numbers": (bits.Bits, "signed", lambda _: lambda self, size: size, normal_a),
    "a tail that is too long": (distributions, "inverse_normal", lambda f: lambda p: f(p * 0.99), normal_a),
    "a logarithm that is off by a hundredth": (
        elementary, "log", lambda f: lambda x: f(x) * 1.01, normal_a
    ),
    "words that are used twice": (bits, "_bits", _one_word, normal_a),
    "a sign that follows from the magnitude": (bits, "_bits", _sign_of_the_magnitude, assert_signs_apart),
    "A and B of one stream": (streams.StreamKey, "_stream", _without("side"), assert_all_apart),
    "all trials of one stream": (streams.StreamKey, "_stream", _without("trial"), assert_all_apart),
    "all lengths of one stream": (streams.StreamKey, "_stream", _without("length"), assert_all_apart),
    "all seeds of one stream": (streams.StreamKey, "_stream", _without("seed"), assert_all_apart),
    "all names of one stream": (streams.StreamKey, "_stream", _without("name"), assert_all_apart),
    "channels that move": (streams.StreamKey, "lasting", lambda _: _blind, assert_outliers),
    "a channel too few": (
        distributions, "largest", lambda f: lambda words, count: f(words, count - 1), assert_outliers
    ),
    "nothing shared": (streams.StreamKey, "shared", lambda _: _blind, functools.partial(assert_correlated, 0.5)),
    "a part shared by all trials": (
        streams.StreamKey, "shared", lambda _: lambda self, part: self._stream(part),
        functools.partial(assert_correlated, 0.9),
    ),
    "an exponential number less": (
        distributions, "student_t_parts", lambda f: lambda n: f(n) - 1,
        functools.partial(assert_distribution, "student-t:freedom=4", witness.student_cdf(4), "a"),
    ),
    "chi-squared that is not divided": (
        distributions, "student_t", lambda f: lambda n, *bits: f(n, *bits) / np.sqrt(n),
        functools.partial(assert_distribution, "student-t:freedom=2", witness.student_cdf(2), "a"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutants_are_caught(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, name, mutate, verdict = MUTANTS[mutant]
    monkeypatch.setattr(where, name, mutate(getattr(where, name)))
    with pytest.raises(AssertionError):
        verdict()


def test_the_far_end_of_the_sources_is_inside_binary32() -> None:
    # The largest number of each word that can be: limits of parameters hold whatever is drawn.
    extreme = 2.0**60
    farthest = (
        sources.NormalSource(mean=extreme, deviation=extreme),
        sources.LaplaceSource(scale=extreme),
        sources.StudentTSource(freedom=1, scale=extreme),
        sources.StudentTSource(freedom=100, scale=extreme),
        sources.LogNormalSource(mu=40, sigma=5),
        sources.LogNormalSource(mu=-40, sigma=5),
        sources.NonNegativeSource(kind="exponential", scale=extreme),
    )
    for source in farthest:
        for ends in ((0, 0), ((1 << 32) - 1, 0), (0, (1 << 32) - 1)):
            several = [bits._bits(_Words(ends[0]), 1)]  # type: ignore[arg-type]
            several += [bits._bits(_Words(ends[1]), 1) for _ in source.parts[1:]]  # type: ignore[arg-type]
            with np.errstate(all="raise"):
                value = np.float32(source.numbers(*several)[0])
            assert np.isfinite(value) and value != 0, source
