"""Rounding to a fixed format, of numbers in float64."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hwsim.compiled import inlined
from hwsim.formats import FixedFormat
from hwsim.kernels.floats import MODES, Target

# A rounded number must have at most so many bits, in units of the format, for its last ones to be right.
HELD_BITS = 51


class Fixed(NamedTuple):
    """The range of a fixed format. turn: what its codes repeat after, to wrap; 0 to saturate."""

    low: float
    high: float
    turn: float


ANY = Fixed(0.0, 0.0, 0.0)


def fixed_target_of(fmt: FixedFormat, rounding: str, overflow: str) -> tuple[Target, Fixed]:
    """A rounding to the format's unit, without an end, for `round_in`; and the format's range."""
    unit = 2.0**-fmt.fraction_bits
    half = unit * 2.0 ** (fmt.bits - 1)
    everywhere = {"floor": unit, "ceiling": unit, "unit": 1.0, "shift": 1.5 * 2.0**52, "most": np.inf, "over": np.inf}
    rest = dict.fromkeys(("infinite", "least", "tie_plus", "tie_minus", "none", "zero"), 0.0)
    target = Target(**everywhere, **rest, mode=MODES[rounding], drop=0, positive=0)
    return target, Fixed(-half, half - unit, 2 * half if overflow == "wrap" else 0.0)


@inlined
def within(x: Any, f: Any) -> Any:
    """A multiple of the format's unit, brought into its range."""
    if f.turn > 0:
        return x - f.turn * np.floor(x / f.turn + 0.5)
    return min(max(x, f.low), f.high)
