"""Random bits for stochastic rounding, from a counter: no state, and any place of the stream can be read directly."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.base.errors import InputError, InputTypeError
from hwsim.formats.kind import Kind, RandomWords
from hwsim.formats.parts import split, worth
from hwsim.formats.rounding import Draw, Ints

NAME = "stochastic"
MOST_BITS = 32
EXACT_BITS = 52  # of a number's significand that are never a jam of what follows

WORD = (1 << 32) - 1
PARITY = 0x1BD11BDA
ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)
ROUNDS = 20


def threefry2x32(key: tuple[Any, Any], counter: tuple[Any, Any]) -> tuple[Any, Any]:
    """Two random words of 32 bits for a key and a counter: Threefry-2x32 with 20 rounds.

    key, counter: two words each, the low one first; ints or int64 arrays, in [0, 2^32).
    Adds, rotates and exclusive ors of 32 bits. (Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1,
    2, 3, SC 2011; Random123.)
    """
    keys = (*key, PARITY ^ key[0] ^ key[1])
    low, high = (counter[0] + keys[0]) & WORD, (counter[1] + keys[1]) & WORD
    for turn in range(ROUNDS):
        low = (low + high) & WORD
        rotation = ROTATIONS[turn % 8]
        high = ((high << rotation) & WORD | high >> (32 - rotation)) ^ low
        if turn % 4 == 3:
            injection = turn // 4 + 1
            low = (low + keys[injection % 3]) & WORD
            high = (high + keys[(injection + 1) % 3] + injection) & WORD
    return low, high


def random_words(seed: int, counter: int, count: int, bits: int) -> Ints:
    """A word of random bits for each of `count` numbers.

    The word at a place is the top `bits` of the first word of `threefry2x32`, whose key is the seed and whose counter
    is `counter` + place, modulo 2^64. bits: at most 32. seed, counter: in [0, 2^64).
    """
    if worth(count):
        return _compiled_words(Stochastic(bits, seed, counter).for_loops(), count).astype(np.int64) >> (32 - bits)
    places = np.arange(count, dtype=np.uint64) + np.uint64(counter)
    low, high = (places & np.uint64(WORD)).astype(np.int64), (places >> np.uint64(32)).astype(np.int64)
    word, _ = threefry2x32((seed & WORD, seed >> 32), (low, high))
    return np.asarray(word, dtype=np.int64) >> (32 - bits)


def _compiled_words(random: RandomWords, count: int) -> NDArray[np.uint32]:
    """`count` words from the counter on; bits outside the mask are zero."""
    from hwsim.formats import loops  # the compiler is imported when it is first used

    out = np.empty(count, np.uint32)
    split(count, 1, lambda start, end: loops.complements(random, start, out[start:end]))
    return np.invert(out, out=out)


class Stochastic(NamedTuple):
    """Stochastic rounding: the random bits for each number, and the stream's place for the first number."""

    random_bits: int
    seed: int
    counter: int

    def draw(self, count: int) -> Draw:
        """The words for `count` numbers."""
        return Draw(self.random_bits, random_words(self.seed, self.counter, count, self.random_bits))

    def for_loops(self) -> RandomWords:
        """The settings as the compiled loops take them."""
        mask = WORD << 32 - self.random_bits & WORD
        return RandomWords(mask, self.seed & WORD, self.seed >> 32, self.counter & WORD, self.counter >> 32)


def checked_stochastic(fmt: Kind, random_bits: int | None, seed: int | None, counter: int) -> Stochastic:
    """The arguments of stochastic rounding to a format.

    Raises ValueError for what is missing or out of range, TypeError for what is no integer.
    """
    return Stochastic(
        _checked("random_bits", random_bits, 1, _some_random_bits(fmt), f" for {fmt.name}"),
        _checked("seed", seed, 0, (1 << 64) - 1),
        _checked("counter", counter, 0, (1 << 64) - 1),
    )


def most_random_bits(fmt: Kind) -> int:
    """The most random bits: at most a word's, and, with a significand's, at most the exact bits of a number.

    None are left by binary64.
    """
    return max(min(MOST_BITS, EXACT_BITS - fmt.precision), 0)


def _some_random_bits(fmt: Kind) -> int:
    most = most_random_bits(fmt)
    if most == 0:
        raise InputError(f"rounding must not be {NAME} for {fmt.name}, which has every number's bits")
    return most


def _checked(key: str, value: int | None, least: int, most: int, where: str = "") -> int:
    if value is None:
        raise InputError(f"{key} must be given for rounding='{NAME}'")
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise InputTypeError(f"{key} must be an integer, not {type(value).__name__}")
    if not least <= value <= most:
        shown = most if most < 1 << 32 else f"2^{most.bit_length()} - 1"
        raise InputError(f"{key} must be {least} to {shown}{where}, not {value}")
    return int(value)
