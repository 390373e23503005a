"""What the compiled loops are told of formats and of random words, as integers."""

from __future__ import annotations

from typing import Any, NamedTuple

TILE = 1024  # elements at a time: their bits, codes and what lies between stay in the first cache


class Target(NamedTuple):
    """A format and how numbers are rounded to it, as uint32s. `hwsim.formats.target` makes them.

    first: 23 less the format's fraction_bits. fraction_bits: those. low: emin + 127.
    even, turn, flip: what a magnitude's lost bits, at the top of a word, must be above to take it to the next code:
    `even`, with `turn` exclusive-ored where the code below is odd, and `flip` where the number is negative.
    base: 2^fraction_bits in a format without subnormals, whose first binade lacks a number at fraction 0.
    cap: the last of the steps. limit: the last that does not become `over`.
    narrowing: 32 less the container's bits. padding: the container's. zero_sign: all ones where there is a -0.
    fixed: 1 of two's complement; lopsided: 1 where that has a step more below zero.
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


class Words(NamedTuple):
    """Random words: the bits that count (a mask; 0 for none, and nothing is random), and seed and counter in halves."""

    mask: int
    seed_low: int
    seed_high: int
    counter_low: int
    counter_high: int
