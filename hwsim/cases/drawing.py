"""Random numbers that are the same on every machine, for good, and the kinds of cases that are drawn from them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import MutableSequence, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hwsim.base.arrays import objects
from hwsim.base.errors import InputError
from hwsim.formats import FixedFormat, Format
from hwsim.formats.codes import Codes, container_dtype
from hwsim.formats.rounding import Ints
from hwsim.formats.stochastic import random_words

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
        offset = self._place - self._drawn_from
        if not 0 <= offset < len(self._drawn):
            count = MORE if self._place else AHEAD
            self._drawn, self._drawn_from, offset = random_words(self.key, self._place, count, WORD), self._place, 0
        self._ahead = self._drawn[offset : offset + AHEAD][::-1].tolist()
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
            index = self.randrange(last + 1)
            items[last], items[index] = items[index], items[last]

    def sample(self, items: Sequence[T], k: int) -> list[T]:
        """k different ones of the items, in a random order. Raises ValueError where there are fewer."""
        if k > len(items):
            raise InputError(f"a sample of {k} needs as many items, not {len(items)}")
        pool = list(items)
        for index in range(k):
            place = index + self.randrange(len(pool) - index)
            pool[index], pool[place] = pool[place], pool[index]
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


# Any numbers, near one another, spread over the window, cancelling, few, straddling the window's end, beside a large
# addend, or with zeros, NaNs and infinities.
KINDS = ("any", "near", "spread", "cancel", "sparse", "straddle", "addend", "special")

# Significands of leading products: any, powers of two, the largest of their binades, the smallest of subnormal factors.
ANY, POWER, LARGEST, SMALLEST = range(4)
# Addends by exponent: anywhere or zero, near the products, above them, at either end of the range, zero.
ANYWHERE, NEAR, ABOVE, LEAST, MOST, ZERO = range(6)


class CaseKind(NamedTuple):
    """Directed cases of one kind. Shares are probabilities; distances are in binades, from the leading products down.

    Each group has some leading products of one exponent, and further ones below them in other lanes.
    least, most, end: shares of cases whose leading products are near the least, or the largest exponent that products
    have, or near the least of the result's format; the others are around the middle.
    leads: how few and how many leading products there are. crowd: of groups that are half full of them, or so.
    one_sign: whether they all have one sign. shape: their significands. cancel: of cases whose first lead cancels.
    half: of groups with a power of two at half an ulp of the result; with `floor` of its least numbers.
    rest: how few and how many further products there are. full: of groups in which they take all lanes.
    near, edge: of further products at most 2 below, and at the window's end; the others are anywhere down to 2, to 6,
    to the window's end or below it. reach: how far above that end the edge begins, in lengths of a product's fraction.
    floor: whether that end is of a max_exp 1 or 2 above the leading products, which are just below where the result's
    normal numbers begin, or its subnormal ones.
    deep: of further products whose exponent is among the eight least that products have.
    subnormal: of products with a subnormal factor where there can be one.
    zeros: of the lanes that are left, those of zero times a number of any exponent. empty: of cases of zeros alone.
    special: of cases with NaN or infinity in them.
    addend: where the addend is, by its exponent.
    """

    least: float = 0.1
    most: float = 0.1
    end: float = 0.0
    leads: tuple[int, int] = (1, 2)
    crowd: float = 0.0
    one_sign: bool = False
    shape: int = ANY
    cancel: float = 0.0
    half: float = 0.0
    rest: tuple[int, int] = (1, 4)
    full: float = 0.0
    near: float = 0.0
    edge: float = 0.0
    reach: int = 1
    floor: bool = False
    deep: float = 0.0
    subnormal: float = 0.05
    zeros: float = 0.0
    empty: float = 0.0
    special: float = 0.0
    addend: int = ANYWHERE


DIRECTED: dict[str, CaseKind] = {
    # A power of two, perhaps half an ulp of the result, and a little at the window's end: a borrow, a tie.
    "rounding": CaseKind(one_sign=True, shape=POWER, half=0.75, edge=1.0, reach=0),
    "tie": CaseKind(one_sign=True, shape=POWER, half=0.8, rest=(1, 1), edge=1.0, reach=0, addend=ZERO),
    "edge": CaseKind(edge=1.0),
    "ladder": CaseKind(leads=(1, 1), full=1.0),
    "opposite": CaseKind(leads=(1, 2), cancel=1.0, edge=0.5),
    "below": CaseKind(leads=(0, 2), addend=ABOVE),
    "few": CaseKind(least=0.3, leads=(0, 1), rest=(0, 1), subnormal=0.3, addend=LEAST),
    "subnormal": CaseKind(shape=SMALLEST, edge=1.0, reach=2, subnormal=0.5),
    "growth": CaseKind(crowd=1.0, one_sign=True, edge=1.0),
    # Zeros of any exponent beside small numbers; zeros alone.
    "zeros": CaseKind(least=0.9, leads=(1, 1), near=0.5, zeros=0.7),
    "empty": CaseKind(empty=1.0, addend=ZERO),
    # Where the result's format ends below, and above.
    "floor": CaseKind(
        end=1.0, floor=True, leads=(2, 2), one_sign=True, shape=POWER, rest=(1, 1), edge=1.0, reach=0, addend=ZERO
    ),
    # Half an ulp of the result's least numbers and, far below, the least products: lost where max_exp has a floor.
    "halfway": CaseKind(end=1.0, floor=True, leads=(0, 0), half=1.0, rest=(1, 1), deep=1.0, subnormal=0.7, addend=ZERO),
    "tiny": CaseKind(end=1.0, rest=(0, 4), empty=0.3, addend=LEAST),
    "vanishing": CaseKind(end=1.0, rest=(0, 4), addend=ZERO),
    "overflow": CaseKind(most=0.9, crowd=0.5, one_sign=True, near=0.5, addend=MOST),
    "specials": CaseKind(rest=(1, 8), special=1.0),
}


LONGEST = 63  # bits of a code that the loops draw as it is
KEPT = 40
SIGN = 1 << 62


def is_long(fmt: Format) -> bool:
    """True if short codes stand for those of a format."""
    return isinstance(fmt, FixedFormat) and fmt.bits > LONGEST


def short_places(fmt: Format) -> list[int]:
    """The first short code of zero, and of each place of the leading one from the lowest."""
    return [place << KEPT for place in range(fmt.bits)]


def drawn_codes(fmt: Format, drawn: Ints) -> Codes:
    """The codes of a format that were drawn, in its container."""
    if not is_long(fmt):
        return drawn.astype(container_dtype(fmt))
    codes: NDArray[Any] = objects([_code(fmt, code) for code in drawn.tolist()])
    return codes.astype(container_dtype(fmt))


def _code(fmt: Format, short: int) -> int:
    """The code that a short one stands for."""
    magnitude, end = short & SIGN - 1, 1 << fmt.bits
    place, below = divmod(magnitude, 1 << KEPT)
    if not magnitude:
        return end >> 1 if short & SIGN else 0
    value = 1 if place == 0 else _long(place - 1, below)
    return end - value if short & SIGN else value


def _long(place: int, below: int) -> int:
    """The integer whose leading one stands at a place, counted from 0, with these bits below it."""
    if place <= KEPT:
        return (1 << KEPT | below) >> KEPT - place
    zeros = place - KEPT
    copies = -(-zeros // KEPT)
    repeated = sum(below << KEPT * copy for copy in range(copies)) >> KEPT * copies - zeros if below & 1 else 0
    return (1 << KEPT | below) << zeros | repeated
