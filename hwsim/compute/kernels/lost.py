"""Lost bits: what becomes of a term's bits below the window. All that these kernels know of `sum.lost`."""

from __future__ import annotations

from typing import assert_never

from hwsim.base.compiled import compiled
from hwsim.spec.keys import Lost

TRUNCATE, FLOOR, CEIL, JAM, NEAREST_EVEN, NEAREST_AWAY, ONES_COMPLEMENT = range(7)


def lost_number(lost: Lost) -> int:
    """The rule as compiled code takes it."""
    match lost:
        case "truncate":
            return TRUNCATE
        case "floor":
            return FLOOR
        case "ceil":
            return CEIL
        case "jam":
            return JAM
        case "rne":
            return NEAREST_EVEN
        case "rna":
            return NEAREST_AWAY
        case "ones-complement":
            return ONES_COMPLEMENT
        case _:
            assert_never(lost)


# The rules that `lanes` and `strips` have too.
IN_VECTORS = (TRUNCATE, FLOOR, CEIL, JAM)


@compiled
def loses(sig: int, shift: int) -> bool:
    """True if a 1 of a magnitude is below its last `shift` places. sig below 2^62."""
    down = min(max(shift, 0), 63)
    return sig != (sig >> down) << down


@compiled
def cut(sig: int, shift: int, negative: bool, lost: int) -> int:
    """A magnitude, sig * 2^-shift, as an integer with its sign: its lost bits by that rule. sig below 2^62."""
    # Without branches, which a processor would mispredict. What is shifted by 63 is as far away as what is farther.
    down, up = min(max(shift, 0), 63), max(-shift, 0)
    kept = sig >> down
    rest, half = sig - (kept << down), 1 << max(down - 1, 0)
    kept <<= up
    if lost == JAM:
        kept |= int(rest != 0)
    elif lost == FLOOR:
        kept += int(rest != 0 and negative)
    elif lost == CEIL:
        kept += int(rest != 0 and not negative)
    elif lost == NEAREST_EVEN:
        kept += int(rest > half or (rest == half and (kept & 1) == 1))
    elif lost == NEAREST_AWAY:
        kept += int(rest >= half)
    elif lost == ONES_COMPLEMENT:
        kept += int(sig != 0 and negative)
    return -kept if negative else kept
