"""Processes that learn together, and experts that exchange activations: two of them here, in the soak four, by gloo."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from built_presets import others_slow
from pytorch import distributed_program as program

import hwsim.torch as ht
from hwsim.formats import get_format
from hwsim.quantize import quantize, split_residual


@pytest.fixture(scope="module", params=others_slow([2, 4], []))
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("learners")
    script = Path(__file__).with_name("distributed_program.py")
    command = [sys.executable, str(script), str(folder), str(request.param)]
    with subprocess.Popen(command, start_new_session=True) as running:
        try:
            assert running.wait(300) == 0
        finally:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(request.param)]


def test_learners_update_their_shares_and_have_the_same_weights(found: list[dict[str, Any]]) -> None:
    weights = [one["learned"] for one in found]
    assert all(one == weights[0] for one in weights)
    narrow, sums = get_format("hfp8-e4m3"), get_format("dlfloat16")
    net = program.network()
    params = list(net.parameters())
    row = np.concatenate([one.detach().numpy().ravel() for one in params])
    codes, lost = split_residual(row)
    generator = torch.Generator().manual_seed(2)
    for _ in range(3):
        start = 0
        for one in params:
            part = narrow.decode(codes[start : start + one.numel()]).astype(np.float32)
            one.data.copy_(torch.from_numpy(part).reshape(one.shape))
            start += one.numel()
        x, y = torch.randn(8, 16, generator=generator), torch.randn(8, 3, generator=generator)
        total = None
        for rank in range(len(found)):
            net.zero_grad()
            mine = slice(rank * 8 // len(found), (rank + 1) * 8 // len(found))
            (net(x[mine]) - y[mine]).square().mean().backward()
            sent = sums.decode(sums.encode(np.concatenate([one.grad.numpy().ravel() for one in params])))
            total = sent if total is None else sums.decode(sums.encode(total + sent))
        assert total is not None
        whole = (narrow.decode(codes) + get_format("f16").decode(lost)).astype(np.float32)
        step = np.float32(0.1) * (total / len(found)).astype(np.float32)
        codes, lost = split_residual(whole - step)
    np.testing.assert_array_equal(np.float32(weights[0]), narrow.decode(codes).astype(np.float32))


def test_experts_get_codes_and_return_bfloat16(found: list[dict[str, Any]]) -> None:
    base = np.arange(len(found) * 128, dtype=np.float32).reshape(len(found), 128) / np.float32(7)
    rows = [quantize(base + np.float32(rank), "deepseek-v3-1x128").dequantize(np.float32) for rank in range(len(found))]
    # The gradient comes to the experts in codes, and back in bfloat16.
    gradient = quantize(np.linspace(1, 2, 128, dtype=np.float32)[None], "deepseek-v3-1x128").dequantize(np.float32)
    for rank, one in enumerate(found):
        there, back = one["exchanged"]
        np.testing.assert_array_equal(np.float32(there), [theirs[rank] for theirs in rows])
        factors = np.arange(1, len(found) + 1, dtype=np.float32)[:, None]
        expected = torch.from_numpy(gradient * factors).to(torch.bfloat16).float().numpy()
        np.testing.assert_allclose(np.float32(back), expected, rtol=1e-6)


def test_ddp_means_the_gradients_of_converted_models(found: list[dict[str, Any]]) -> None:
    total = torch.zeros(sum(one.numel() for one in program.network().parameters()))
    for rank in range(len(found)):
        net = program.network()
        ht.convert(net, "mxfp8")
        x = torch.randn(16, 16, generator=torch.Generator().manual_seed(3))[rank * 4 : rank * 4 + 4]
        net(x).square().mean().backward()
        total += torch.cat([one.grad.ravel() for one in net.parameters() if one.grad is not None])
    for one in found:
        torch.testing.assert_close(torch.tensor(one["parallel"]), total / len(found), rtol=1e-5, atol=1e-7)
