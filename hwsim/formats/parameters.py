"""What the compiled loops take of formats and of random words, as integers."""

from __future__ import annotations

from typing import Any, NamedTuple

TILE = 1024  # elements at a time: their bits, codes and what lies between stay in the first cache
ONES = (1 << 32) - 1


class Steps(NamedTuple):
    """A format as steps, counted from zero; uint32s except `low`, which must be at least 1 for the loops.

    fraction_bits: at most 22, so that a binary32 number is cut by at least one bit. low: emin + 127.
    base: 2^fraction_bits in a format without subnormals, whose first binade has no number at fraction 0.
    cap: the last of the steps; below zero `lopsided` more, modulo 2^32. limit: the last that does not become `over`;
    below zero with `limit_turn` exclusive-ored.
    padding: the container's. zero_sign: all ones where there is a -0.
    fixed: 1 of two's complement.
    """

    fraction_bits: int
    low: int
    cap: int
    base: int = 0
    limit: int = ONES
    limit_turn: int = 0
    over: int = 0
    padding: int = 0
    zero_sign: int = 0
    fixed: int = 0
    lopsided: int = 0


class EncoderParameters(NamedTuple):
    """A format and how numbers are rounded to it, as uint32s. `hwsim.formats.fast` makes them.

    first: 23 less the format's fraction_bits. fraction_bits to lopsided: as in `Steps`.
    even, turn, flip: what a magnitude's lost bits, at the top of a word, must be above to take it to the next code:
    `even`, with `turn` exclusive-ored where the code below is odd, and `flip` where the number is negative.
    narrowing: 32 less the container's bits.
    nan, plus, minus: the codes of NaN and the infinities. lacks_nan: 1 where a NaN is an error.
    """

    first: Any
    fraction_bits: Any
    low: Any
    even: Any
    turn: Any
    flip: Any
    base: Any
    cap: Any
    limit: Any
    limit_turn: Any
    over: Any
    narrowing: Any
    padding: Any
    zero_sign: Any
    fixed: Any
    lopsided: Any
    nan: Any
    plus: Any
    minus: Any
    lacks_nan: Any


class RandomWords(NamedTuple):
    """Where random words come from: a mask of the bits used (0 for no randomness), seed and counter in halves."""

    mask: int
    seed_low: int
    seed_high: int
    counter_low: int
    counter_high: int


NOTHING_RANDOM = RandomWords(0, 0, 0, 0, 0)
