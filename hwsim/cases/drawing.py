"""Random numbers that are the same on every machine, for good: Threefry-2x32 at a counter, keyed by a seed and names.

Neither Python's `random` nor NumPy's generators promise that their methods return the same numbers in the next
version; test vectors that are made again must be the same bytes.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import MutableSequence, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hwsim.errors import InputError
from hwsim.formats.stochastic import random_words

Ints = NDArray[np.int64]
T = TypeVar("T")

AHEAD = 256  # words that are set aside together for single numbers
MORE = 16 * AHEAD  # and drawn together, once a stream has needed more than the first of those
FEW = 16  # and so few are taken from those
WORD = 32
WORDS = 1 << WORD


def key_of(seed: int, *names: str | int) -> int:
    """The key of 64 bits for a seed and names: the first 8 bytes of a SHA-256 of them, the low one first."""
    text = "\0".join([str(seed), *(f"{type(name).__name__}:{name}" for name in names)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


class Stream:
    """A sequence of 32-bit words of its own for each seed and list of names, and what is drawn from it.

    The word at a place is the first word of `hwsim.formats.stochastic.threefry2x32`, whose key is `key_of` the seed
    and names and whose counter is the place.
    """

    def __init__(self, seed: int, *names: str | int):
        self.key = key_of(seed, *names)
        self._place = 0
        self._ahead: list[int] = []
        self._drawn, self._drawn_from = np.empty(0, np.int64), 0

    def words(self, count: int) -> Ints:
        """The next words."""
        if count <= FEW:
            return np.array([self.word() for _ in range(count)], dtype=np.int64)
        taken = random_words(self.key, self._place, count, WORD)
        self._place += count
        return taken

    def word(self) -> int:
        """The next word, of those that are drawn ahead."""
        if not self._ahead:
            self._set_aside()
        return self._ahead.pop()

    def _set_aside(self) -> None:
        at = self._place - self._drawn_from
        if not 0 <= at < len(self._drawn):
            count = MORE if self._place else AHEAD
            self._drawn, self._drawn_from, at = random_words(self.key, self._place, count, WORD), self._place, 0
        self._ahead = self._drawn[at : at + AHEAD][::-1].tolist()
        self._place += AHEAD

    # One at a time, as `random.Random` has them.

    def random(self) -> float:
        """A multiple of 2^-32 in [0, 1)."""
        return self.word() / WORDS

    def randrange(self, stop: int) -> int:
        """An integer in [0, stop); stop at least 1. Of more than 2^32 it takes as many words as their bits need."""
        if stop < 1:
            raise InputError(f"stop must be at least 1, not {stop}")
        drawn, bits = self.word(), WORD
        while stop > 1 << bits:
            drawn, bits = drawn << WORD | self.word(), bits + WORD
        return drawn * stop >> bits

    def randint(self, first: int, last: int) -> int:
        """An integer from first to last, both included."""
        return first + self.randrange(last - first + 1)

    def choice(self, items: Sequence[T]) -> T:
        """One of the items. Raises IndexError where there is none."""
        if not items:
            raise IndexError("nothing to choose from")
        return items[self.randrange(len(items))]

    def shuffle(self, items: MutableSequence[Any]) -> None:
        """Bring the items into a random order."""
        for last in range(len(items) - 1, 0, -1):
            other = self.randrange(last + 1)
            items[last], items[other] = items[other], items[last]

    def sample(self, items: Sequence[T], k: int) -> list[T]:
        """k different ones of the items, in a random order. Raises ValueError where there are fewer."""
        if k > len(items):
            raise InputError(f"a sample of {k} needs as many items, not {len(items)}")
        pool = list(items)
        for at in range(k):
            other = at + self.randrange(len(pool) - at)
            pool[at], pool[other] = pool[other], pool[at]
        return pool[:k]

    # Arrays, as `numpy.random.Generator` has them.

    def integers(self, low: int, high: int, shape: tuple[int, ...]) -> Ints:
        """Integers in [low, high), at most 2^32 of them."""
        words = self.words(math.prod(shape)).reshape(shape).astype(np.uint64)
        return (words * np.uint64(high - low) >> np.uint64(WORD)).astype(np.int64) + low

    def uniforms(self, count: int) -> NDArray[np.float64]:
        """Multiples of 2^-32 in [0, 1)."""
        return np.asarray(self.words(count) / WORDS)


def normals(stream: Stream, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Numbers that are very nearly normal, of mean 0 and variance 1, within 6 of zero; multiples of 2^-16.

    Sums of twelve uniform integers, so that no logarithm can differ from one machine to another.
    """
    total = stream.integers(0, 1 << 16, (12, *shape)).sum(axis=0)
    return np.asarray((total - 6 * ((1 << 16) - 1)) / (1 << 16))
