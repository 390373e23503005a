"""Every pair of codes, each through one lane."""

from __future__ import annotations

from collections.abc import Iterator

from hwsim.formats import ExponentFormat, Format
from hwsim.spec import Unit
from hwsim.vectors.case import Case, block_lengths

MOST_BITS = 8


def pair_cases(unit: Unit) -> Iterator[Case]:
    """A case for every pair of codes of the factors, in a lane that moves on; the other lanes hold zeros.

    Formats of more than 8 bits have too many pairs: of those every 2^(bits - 8)-th code.
    """
    lanes = unit.instruction.fill
    scales: tuple[tuple[int, ...], ...] = ((), ())
    count = lanes
    if unit.scale is not None:
        longest = max(lanes, *block_lengths(unit))
        count = longest
        ones = [_one(side.format) for side in (unit.scale.a, unit.scale.b)]
        scales = tuple((one,) * (longest // length) for one, length in zip(ones, block_lengths(unit), strict=True))
    codes = [_codes(fmt) for fmt in (unit.operands.a, unit.operands.b)]
    for number, (a, b) in enumerate((a, b) for a in codes[0] for b in codes[1]):
        lane = number % lanes
        before, after = (0,) * lane, (0,) * (count - lane - 1)
        yield Case(f"{a:#x}x{b:#x}", (*before, a, *after), (*before, b, *after), 0, *scales)


def _codes(fmt: Format) -> list[int]:
    step = 1 << max(0, fmt.bits - MOST_BITS)
    return [code << fmt.padding for code in range(0, 1 << fmt.bits, step)]


def _one(fmt: Format) -> int:
    """The code of a scale of 1, or of the nearest to it."""
    assert isinstance(fmt, ExponentFormat)
    return min(max(fmt.bias, fmt.min_code), fmt.max_code)
