"""Formats by table in C: the fields of every code, and the numbers of each sign in order, to be rounded to."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hwsim.formats import TableFormat
from hwsim.formats.listed import SignedLadder, float_of

MOST_SHIFT = 1100  # at which the least number, as long as any, is an integer


def table_rows(fmt: TableFormat) -> list[str]:
    """The fields of every code of a table as an initializer of C, four to a line: exp, sig, sign, class."""
    rows = []
    for text in fmt.written_out:
        sign = int(text.startswith("-"))
        if text in ("nan", "inf", "-inf"):
            rows.append(f"{{0, 0, {sign}, {'U_NAN' if text == 'nan' else 'U_INFINITE'}}}")
            continue
        sig, below = abs(float_of(text)).as_integer_ratio()
        exp = sig.bit_length() - below.bit_length()
        sig = (sig << MOST_SHIFT) // below >> MOST_SHIFT + exp - fmt.fraction_bits
        rows.append(f"{{{exp if sig else fmt.emin}, {sig}, {sign}, {'U_NORMAL' if sig else 'U_ZERO'}}}")
    return [", ".join(rows[first : first + 4]) for first in range(0, len(rows), 4)]


class CodeRun(NamedTuple):
    """Numbers of one sign, one after another from a place on: `code`, `code` + step, and so on."""

    place: int
    code: int
    step: int


class TableSide(NamedTuple):
    """The numbers of one sign from zero up.

    runs: their codes. halves: by place, the bits of the number halfway to the next, where that is not what the mean of
    both numbers' bits says. last: the place of the largest. beyond: the bits of what stands above it; infinity's where
    nothing is too large. infinity: the code of the sign's infinity, or -1. All bits are a binary64's, without its sign.
    """

    runs: list[CodeRun]
    halves: list[tuple[int, int]]
    last: int
    beyond: int
    infinity: int


def table_sides(fmt: TableFormat) -> list[tuple[str, TableSide]]:
    """The numbers from zero up, and from zero down, each with the end of a name."""
    plus, minus = fmt.sides
    return [("plus", _side(plus, fmt.infinity(False))), ("minus", _side(minus, fmt.infinity(True)))]


def _side(side: SignedLadder, infinity: int | None) -> TableSide:
    runs: list[CodeRun] = []
    for place, code in enumerate(side.codes.tolist()):
        last = runs[-1] if runs else None
        if last is not None and place == last.place + 1 and last.step == 0 and abs(code - last.code) < 1 << 15:
            runs[-1] = last._replace(step=code - last.code)
        elif last is None or code != last.code + last.step * (place - last.place) or last.step == 0:
            runs.append(CodeRun(place, code, 0))
    ends = np.append(side.magnitudes, side.beyond).view(np.int64).tolist()
    means = [(low + high) // 2 for low, high in pairwise(ends)]
    halves = [(place, half) for place, half in enumerate(side.halves.view(np.int64).tolist()) if half != means[place]]
    return TableSide(runs, halves, len(side.codes) - 1, ends[-1], -1 if infinity is None else infinity)
