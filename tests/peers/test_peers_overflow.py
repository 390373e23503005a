"""Every P3109 format of up to 8 bits in every rounding and saturation mode, as pychop has them."""

from __future__ import annotations

import numpy as np
import pytest
from built_presets import others_slow
from formats.test_formats_encode import near_every_code
from peers.peers_draws import version_of

from hwsim.formats import FloatFormat, p3109

ROUNDINGS = {
    "rne": "nearest_even", "rna": "nearest_away", "rz": "toward_zero", "ru": "toward_positive",
    "rd": "toward_negative", "rto": "to_odd",
}  # fmt: skip
POLICIES = {"ieee": "none", "saturate": "finite", "propagate": "propagate"}  # OvfInf, SatFinite, SatPropagate


def pairs(fmt: FloatFormat, mode: str, overflow: str) -> tuple[list[int], list[int]]:
    """Codes of numbers about every code and every midpoint, of what is too large, and of infinities: ours, theirs."""
    from pychop import P3109Format, p3109_encode

    x = np.concatenate([near_every_code(fmt), [1e300, np.inf]])
    x = np.concatenate([x, -x]) if fmt.signed else x[x >= 0]
    domain = "extended" if fmt.infinities else "finite"
    other = P3109Format(fmt.bits, fmt.precision, signed=fmt.signed, domain=domain)
    theirs = p3109_encode(x, other, rounding=ROUNDINGS[mode], saturate=POLICIES[overflow])
    return fmt.encode(x, mode, overflow).tolist(), theirs.tolist()


@pytest.mark.parametrize("bits", others_slow(range(3, 9), [3, 5, 7]))
def test_p3109_is_that_of_pychop(bits: int) -> None:
    version_of("pychop")
    for precision in range(1, bits + 1):
        for signed in (True, False) if precision < bits else (False,):
            for extended in (True, False):
                fmt = p3109(precision, bits, signed, extended)
                for mode in ROUNDINGS:
                    for overflow in POLICIES:
                        ours, theirs = pairs(fmt, mode, overflow)
                        differ = mode == "rto" and overflow == "ieee" and extended and not signed
                        assert (ours == theirs) != differ, (fmt.name, mode, overflow)


def test_to_odd_goes_where_the_code_is_odd_and_in_pychop_to_infinity() -> None:
    # P3109's ToOdd, interim report 3.2: of an unsigned format the largest number, whose code is odd.
    version_of("pychop")
    fmt = p3109(3, signed=False)
    ours, theirs = pairs(fmt, "rto", "ieee")
    assert {(one, other) for one, other in zip(ours, theirs, strict=True) if one != other} == {(0xFD, 0xFE)}
    assert (fmt.max_code, fmt.infinity_magnitude) == (0xFD, 0xFE)
