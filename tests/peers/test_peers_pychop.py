"""Numbers of P3109's formats and MX blocks are those of pychop and gfloat."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from built_presets import others_slow
from formats.test_formats_encode import near_every_code
from peers.peers_rows import blocks, version_of

import hwsim
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


ELEMENTS = ["mxfp8-e4m3", "mxfp8-e5m2", "mxfp6-e3m2", "mxfp6-e2m3", "mxfp4-e2m1", "mxint8"]


@pytest.mark.parametrize("name", ELEMENTS)
def test_gfloats_blocks(name: str) -> None:
    version_of("gfloat")
    import gfloat.block
    import gfloat.formats

    x = blocks(70, 32, 1)
    fmt = getattr(gfloat.formats, f"format_info_{name.replace('-', '_')}")
    rows = [list(gfloat.block.quantize_block(fmt, row, gfloat.block.compute_scale_amax)) for row in x.astype(float)]
    # Its MXINT8 has the code -128, and its logarithm is that of binary64, which is right for binary32 numbers.
    got = hwsim.quantize(x, name, symmetric=False)
    assert x.size > 2000 and np.array_equal(got.dequantize(), np.array(rows))


@pytest.mark.parametrize("name", others_slow(ELEMENTS, list(ELEMENTS)[::2]))
def test_pychops_blocks(name: str) -> None:
    version_of("pychop")
    from pychop import mx_quantize

    x = blocks(2000, 32, 1, -20, 60)
    peer: Any = np.asarray(mx_quantize(x, format=name.replace("-", "_")))
    got = hwsim.quantize(x, name, symmetric=False).dequantize()
    amax = np.abs(x).max(axis=1)
    # Its defect: floor(log2(amax)) in binary32 is one too high just below some powers of two.
    high = np.floor(np.log2(amax)) != np.frexp(amax)[1] - 1
    assert high.any() and (~high).sum() > 1500
    assert np.array_equal(peer[~high], got[~high])
    assert (peer[high] != got[high]).any(axis=1).all()


@pytest.mark.parametrize(
    ("name", "overflow"), [("e4m3", "saturate"), ("e5m2", "infinity"), ("e4m3fnuz", "nan"), ("e5m2fnuz", "nan")]
)
def test_pytorchs_casts_of_finite_numbers(name: str, overflow: str) -> None:
    # E4M3 saturates from 2.13, the others never; so kernels clamp before they cast.
    saturates = version_of("torch") >= (2, 13)
    import torch

    dtype = getattr(torch, f"float8_{name}{'fn' if name == 'e4m3' else ''}")
    x = blocks(400, 32, 2, -30, 16)
    want = torch.from_numpy(x).to(dtype).view(torch.uint8).numpy()
    got = hwsim.get_format(name).encode(x, overflow=overflow if saturates or name != "e4m3" else "nan")
    assert np.array_equal(got, want)
