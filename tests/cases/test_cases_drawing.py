"""Random numbers that stay the same: where they come from, and that they are alike."""

import hashlib
from collections import Counter

import pytest

from hwsim.cases.drawing import AHEAD, FEW, MORE, Stream, key_of
from hwsim.formats.stochastic import threefry2x32


def word_at(seed, names, place):
    """A word from the definition, in Python's integers."""
    text = "\0".join([str(seed), *(f"{type(name).__name__}:{name}" for name in names)])
    digest = hashlib.sha256(text.encode()).digest()
    key = (int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:8], "little"))
    return threefry2x32(key, (place, 0))[0]


def test_words_are_threefry_at_a_counter():
    drawn = Stream(3, "hopper", 5)
    words = [*drawn.words(FEW + 1).tolist(), *(drawn.word() for _ in range(4)), *drawn.words(2).tolist()]
    assert words == [word_at(3, ("hopper", 5), place) for place in range(FEW + 7)]


def test_words_that_are_drawn_together_are_those_at_their_places():
    drawn, places = Stream(3, "ahead"), range(2 * MORE)
    assert [drawn.word() for _ in places] == [word_at(3, ("ahead",), place) for place in places]
    # Of those that are drawn ahead of their turn, none is returned before an array's, or twice.
    apart = Stream(3, "ahead")
    for _ in range(AHEAD + 1):
        apart.word()
    first = 2 * AHEAD
    assert apart.words(FEW + 1).tolist() == [word_at(3, ("ahead",), place) for place in range(first, first + FEW + 1)]
    after = [apart.word() for _ in range(AHEAD)][-1]
    assert after == word_at(3, ("ahead",), first + FEW + 1)


def test_names_and_numbers_do_not_mix():
    assert len({key_of(1, "2"), key_of(1, 2), key_of(12), key_of(1, "2", ""), key_of(1)}) == 5


def test_single_draws_stay_in_their_ranges_and_reach_their_ends():
    drawn = Stream(1, "range")
    seen = Counter(drawn.randrange(7) for _ in range(7000))
    assert set(seen) == set(range(7))
    assert all(850 < count < 1150 for count in seen.values())
    assert {drawn.randint(-1, 1) for _ in range(100)} == {-1, 0, 1}
    far = [drawn.randrange(3 << 62) for _ in range(300)]
    assert 0 <= min(far) < 1 << 60 and (3 << 62) - (1 << 60) < max(far) < 3 << 62
    assert len({number & 0xFFFF for number in far}) > 250
    assert all(0 <= drawn.random() < 1 for _ in range(AHEAD + 1))


def test_samples_and_shuffles_are_permutations_all_alike():
    drawn, seen, shuffled = Stream(1, "order"), Counter(), Counter()
    for _ in range(2400):
        seen[tuple(drawn.sample("abcd", 4))] += 1
        items = list("abcd")
        drawn.shuffle(items)
        shuffled["".join(items)] += 1
    for found in (seen, shuffled):
        assert len(found) == 24
        assert all(55 < count < 150 for count in found.values())


def test_arrays_stay_in_their_ranges_and_reach_their_ends():
    drawn = Stream(1, "arrays")
    assert drawn.integers(7, 8, (2, 3)).tolist() == [[7] * 3] * 2
    assert Counter(drawn.integers(-2, 3, (4000,)).tolist()).keys() == {-2, -1, 0, 1, 2}
    assert drawn.integers(0, 1 << 32, (4000,)).max() > 0.99 * 2**32
    shares = drawn.uniforms(4000)
    assert 0 <= shares.min() < 0.01 < 0.99 < shares.max() < 1


def test_what_cannot_be_drawn_is_refused():
    drawn = Stream(1)
    with pytest.raises(ValueError, match="stop must be at least 1, not 0"):
        drawn.randrange(0)
    with pytest.raises(IndexError, match="nothing"):
        drawn.choice([])
    with pytest.raises(ValueError, match="a sample of 3"):
        drawn.sample([1, 2], 3)
