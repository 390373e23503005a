"""gfloat and pychop as programs: MX blocks by the OCP's rule; and PyTorch's casts of elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from built_presets import others_slow
from peers.peers_draws import blocks, version_of

import hwsim

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
