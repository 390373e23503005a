"""Where a bias enters: in float32 before the one rounding to the output, as an H200's library and PyTorch's CPU do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import missing
from torch import Tensor, nn
from torch.nn import functional

import hwsim
import hwsim.torch as ht
from hwsim.torch import operators

E4M3 = hwsim.get_format("e4m3")
UNITS = {"fast": "hopper-wgmma-e4m3-f32", "slow": "deepseek-v3-e4m3-f32"}  # of cuBLAS with fast accumulation, without


def captured() -> Any:
    """Results of an H200's torch._scaled_mm, with and without a bias: codes of factors, scales, codes of results."""
    path = Path(os.environ.get("HWSIM_SILICON", "")) / "h200_epilogues.npz"
    if not path.is_file():
        missing("no results of an H200's epilogues: HWSIM_SILICON names their folder")
    return np.load(path)


def layer(of: Any, shape: str, speed: str, output: str) -> tuple[Tensor, Tensor, ht.Recipe]:
    """Factors whose numbers are the captured codes under the captured scales, and the recipe that finds these."""
    scales = of[f"{shape}/s"].view(np.float32)
    factors = [
        torch.from_numpy((E4M3.decode(of[f"{shape}/{side}"]) * float(scale)).astype(np.float32))
        for side, scale in zip("ab", scales, strict=True)
    ]
    rules = {side: {"rule": "tensor", "scale": float(scale)} for side, scale in zip("ab", scales, strict=True)}
    products = {"forward": {"unit": UNITS[speed], **rules}, "input": "none", "weight": "none"}
    return factors[0], factors[1], ht.load_recipe({"recipe": "captured", "products": products, "output": output})


def bits(x: Tensor, dtype: torch.dtype) -> Any:
    return x.to(dtype).view(torch.int16).numpy().view(np.uint16)


def mismatches(speed: str, output: str, dtype: torch.dtype, name: str) -> tuple[int, int]:
    """Results with a bias that differ from the GPU's, and of how many."""
    of, shape = captured(), "epilogue-64x64x512"
    x, weight, recipe = layer(of, shape, speed, output)
    bias = torch.from_numpy(of[f"{shape}/bias{name.removeprefix('b')}"].view(np.int16)).view(dtype).float()
    result = of[f"{shape}/{speed}-tensor-{name}-{str(dtype).removeprefix('torch.')}/d"]
    found = ht.linear(x, weight, bias, recipe=recipe)
    assert torch.equal(found, found.to(dtype).float())  # the layer's output is a number of its format
    return int((bits(found, dtype) != result).sum()), result.size


CAPTURES = [("bf16", torch.bfloat16, "b16"), ("f16", torch.float16, "bf16")]


@pytest.mark.parametrize("speed", list(UNITS))
@pytest.mark.parametrize(("output", "dtype", "name"), CAPTURES)
def test_a_bias_enters_as_on_an_h200(speed: str, output: str, dtype: torch.dtype, name: str) -> None:
    assert mismatches(speed, output, dtype, name) == (0, 4096)


def test_an_output_that_is_rounded_before_the_bias_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = operators.multiplied

    def first(a: Tensor, b: Tensor, addend: Tensor | None, factor: float, layer: Any) -> Tensor:
        found = right(a, b, None, factor, layer)
        return found if addend is None else (found + addend).to(torch.bfloat16).float()

    monkeypatch.setattr("hwsim.torch.functional.multiplied", first)
    assert mismatches("fast", "bf16", torch.bfloat16, "b16")[0] > 1000


@pytest.mark.parametrize("bias", ["bf16", "f32"])
def test_a_bias_enters_as_in_pytorch_on_the_cpu(bias: str) -> None:
    generator = torch.Generator().manual_seed(1)
    x, weight, each = (torch.randn(size, generator=generator) for size in ((64, 2), (32, 2), (32,)))
    x[:, 1] = 0  # one product: its sum has no order
    given = each.bfloat16().float() if bias == "bf16" else each
    with torch.autocast("cpu", torch.bfloat16):
        expected = functional.linear(x, weight, given)
        found = ht.linear(x, weight, given, recipe="bf16-hopper")
    assert found.dtype == torch.bfloat16 and torch.equal(found, expected)


def test_every_addend_enters_there_and_gradients_are_those_of_sums() -> None:
    torch.manual_seed(1)

    class Added(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.up = nn.Conv2d(4, 6, 3, groups=2), nn.ConvTranspose2d(6, 4, 2)
            self.matrix, self.more = nn.Parameter(torch.randn(4, 5)), nn.Parameter(torch.randn(1, 5))

        def forward(self, x: Tensor) -> list[Tensor]:
            y = self.conv(x)
            rows = x.flatten(2).mT
            flat = torch.addmm(self.more, mat1=rows[0], mat2=self.matrix, beta=0.5, alpha=3)
            several = torch.baddbmm(self.more[None], rows, self.matrix.expand(2, 4, 5))
            return [y, self.up(y), flat, several, torch.addmv(self.more[0, 0], rows[0], self.matrix[:, 0])]

    net, x = Added(), torch.randn(2, 4, 6, 6)
    expected = net(x)
    sum(one.square().sum() for one in expected).backward()
    exact = [one.grad.clone() for one in net.parameters() if one.grad is not None]
    net.zero_grad()
    for recipe, most in (("exact", 1e-5), ("bf16-hopper", 0.02)):
        with ht.emulate(net, recipe):
            found = net(x)
        for one, other in zip(found, expected, strict=True):
            assert float((one - other).norm() / other.norm()) < most
            assert recipe == "exact" or torch.equal(one, one.bfloat16().float())
        sum(one.square().sum() for one in found).backward()
        for one, other in zip(net.parameters(), exact, strict=True):
            assert one.grad is not None and float((one.grad - other).norm() / other.norm()) < 2 * most
        net.zero_grad()


def test_an_addend_is_a_number_of_the_output() -> None:
    # 1 + 2^-8 rounded to bfloat16 is 1; with it 2^-8 more would be 1 + 2^-7.
    x, weight, bias = torch.tensor([[2.0**-8]]), torch.ones(1, 1), torch.tensor([1 + 2.0**-8])
    assert ht.linear(x, weight, bias, recipe="bf16-hopper").item() == 1
    assert ht.linear(x, weight, bias, recipe="exact").item() == 1 + 2.0**-7
