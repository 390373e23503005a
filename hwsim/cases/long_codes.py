"""Addends of more bits than compiled loops have, drawn as short codes that stand for them.

A short code is a sign, the place of the leading one counted from 1, and `KEPT` bits below it. Where the last of these
is 1 they are repeated down to the last place; otherwise what is below them is zero. Minus zero stands for the end of
the range that has no opposite.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from hwsim.codewords import objects
from hwsim.formats import FixedFormat, Format
from hwsim.formats.codes import Codes, container_dtype
from hwsim.formats.rounding import Ints

LONGEST = 63  # bits of a code that the loops draw as it is
KEPT = 40
SIGN = 1 << 62


def is_long(fmt: Format) -> bool:
    """Whether short codes stand for those of a format."""
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
    more = place - KEPT
    copies = -(-more // KEPT)
    repeated = sum(below << KEPT * copy for copy in range(copies)) >> KEPT * copies - more if below & 1 else 0
    return (1 << KEPT | below) << more | repeated
