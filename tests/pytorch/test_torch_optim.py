"""Optimisers of the papers: what they keep, in which format, and that nothing is lost where nothing may be."""

from __future__ import annotations

import copy
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.optim import SGD

import hwsim.torch as ht
from hwsim.base.errors import InputError
from hwsim.formats import get_format
from hwsim.quantize import LossScaling, split_residual, update_residual


def weight(*shape: int, seed: int = 1) -> nn.Parameter:
    return nn.Parameter(torch.randn(*shape, generator=torch.Generator().manual_seed(seed)))


def gradients(steps: int, like: Tensor) -> list[Tensor]:
    generator = torch.Generator().manual_seed(2)
    return [torch.randn(like.shape, generator=generator) for _ in range(steps)]


def test_adamw_with_wide_moments_is_torchs() -> None:
    one, other = weight(30, 7), weight(30, 7)
    ours = ht.AdamW([one], lr=0.01, betas=(0.8, 0.95), weight_decay=0.1, moments="f32")
    theirs = torch.optim.AdamW([other], lr=0.01, betas=(0.8, 0.95), weight_decay=0.1)
    for gradient in gradients(20, one):
        one.grad, other.grad = gradient.clone(), gradient.clone()
        ours.step()
        theirs.step()
    torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


def test_moments_are_numbers_of_bfloat16_and_weights_have_masters() -> None:
    wide, narrow = weight(50), nn.Parameter(weight(50).detach().to(torch.bfloat16))
    optimizer = ht.AdamW([wide, narrow], lr=1e-4)
    first = np.zeros(50, np.float32)
    for gradient in gradients(5, wide):
        wide.grad, narrow.grad = gradient.clone(), gradient.to(torch.bfloat16)
        optimizer.step()
        first = np.float32(0.9) * first + np.float32(1 - 0.9) * gradient.numpy()
        first = torch.from_numpy(first).to(torch.bfloat16).float().numpy()
    state = optimizer.state[wide]
    assert state["first"].dtype == state["second"].dtype == torch.bfloat16
    np.testing.assert_allclose(state["first"].float().numpy(), first, rtol=2**-7)
    master = optimizer.state[narrow]["master"]
    assert master.dtype == torch.float32 and torch.equal(master.to(torch.bfloat16), narrow)
    assert not torch.equal(master, narrow.float())
    with pytest.raises(InputError, match="moments must be one of f32, bf16, f16, not 'f8'"):
        ht.AdamW([wide], moments="f8")  # type: ignore[arg-type]


@pytest.mark.parametrize("moments", ["bf16", "f16", "f32"])
def test_what_adamw_keeps_is_taken_up_bit_for_bit(moments: Any, tmp_path: Path) -> None:
    wide, narrow = weight(50), nn.Parameter(weight(50).detach().to(torch.bfloat16))
    first = ht.AdamW([wide, narrow], lr=1e-2, moments=moments)

    def moved(optimizer: torch.optim.Optimizer, parameters: list[nn.Parameter], steps: int) -> list[nn.Parameter]:
        for gradient in gradients(steps, parameters[0]):
            for one in parameters:
                one.grad = gradient.to(one.dtype)
            optimizer.step()
        return parameters

    moved(first, [wide, narrow], 3)
    torch.save(first.state_dict(), tmp_path / "adamw.pt")
    others = [copy.deepcopy(wide), copy.deepcopy(narrow)]
    second = ht.AdamW(others, lr=1e-4)
    second.load_state_dict(torch.load(tmp_path / "adamw.pt"))
    assert second.state[others[1]]["master"].dtype == torch.float32
    third = copy.deepcopy(first)
    thirds = third.param_groups[0]["params"]
    for mine, again, copied in zip(
        moved(first, [wide, narrow], 5), moved(second, others, 5), moved(third, thirds, 5), strict=True
    ):
        assert torch.equal(mine, again) and torch.equal(mine, copied)
        for name, value in first.state[mine].items():
            kept = second.state[again][name]
            assert name == "step" or (kept.dtype == value.dtype and torch.equal(kept, value))


def test_what_is_rounded_off_is_not_lost() -> None:
    one = weight(64)
    begin = one.detach().clone().numpy()
    optimizer = ht.NarrowWeights(SGD([one], lr=1.0))
    codes, lost = split_residual(begin)
    for gradient in gradients(6, one):
        one.grad = gradient * 0.01
        optimizer.step()
        codes, lost = update_residual(codes, lost, -(gradient * 0.01).numpy())
        np.testing.assert_array_equal(one.detach().numpy(), get_format("hfp8-e4m3").decode(codes).astype(np.float32))
    # Steps that are far below half an ulp move a weight in the end with a residual, and never without.
    moved = {}
    for update in ("residual", "nearest", "stochastic"):
        still = nn.Parameter(torch.ones(256))
        optimizer = ht.NarrowWeights(SGD([still], lr=1.0), update=update, seed=3)  # type: ignore[arg-type]
        for _ in range(64):
            still.grad = torch.full((256,), 2.0**-8)
            optimizer.step()
        moved[update] = still.detach().mean().item()
    assert moved["residual"] == 0.75 and moved["nearest"] == 1.0
    assert moved["stochastic"] == pytest.approx(0.75, abs=0.03) and moved["stochastic"] != 0.75


def test_narrow_weights_are_repeated_by_their_seed_and_go_on() -> None:
    def run(seed: int, cut: int) -> Tensor:
        one = weight(40)
        optimizer = ht.NarrowWeights(SGD([one], lr=0.1), "e4m3", "stochastic", seed=seed)
        for at, gradient in enumerate(gradients(8, one)):
            if at == cut:
                kept = optimizer.state_dict()
                optimizer = ht.NarrowWeights(SGD([one], lr=0.1), "e4m3", "stochastic", seed=seed)
                optimizer.load_state_dict(kept)
            one.grad = gradient
            optimizer.step()
        return one.detach()

    assert torch.equal(run(1, 99), run(1, 4)) and not torch.equal(run(1, 99), run(2, 99))
    kept = ht.NarrowWeights(SGD([weight(3)], lr=0.1)).state_dict()
    file = io.BytesIO()
    torch.save(kept, file)
    file.seek(0)
    assert torch.equal(torch.load(file)["lost"][0], kept["lost"][0])  # PyTorch loads tensors unasked, and no arrays
    wide, narrow = weight(3), weight(3, seed=2)
    before = wide.detach().clone()
    ht.NarrowWeights(SGD([wide, narrow], lr=0.1), "e2m1", "nearest", only=lambda one: one is narrow)
    assert torch.equal(wide, before)
    with pytest.raises(InputError, match="update must be nearest, stochastic or residual"):
        ht.NarrowWeights(SGD([wide], lr=0.1), update="floor")  # type: ignore[arg-type]


def test_the_loss_is_scaled_and_a_step_that_overflows_is_skipped() -> None:
    one = nn.Parameter(torch.ones(2))
    optimizer = SGD([one], lr=1.0)
    scaler = ht.LossScaler(LossScaling(scale=1024, window=2))
    scaler.scale((one * torch.tensor([0.25, 0.5])).sum()).backward()
    assert one.grad is not None and one.grad.tolist() == [256, 512]
    assert scaler.step(optimizer) and one.tolist() == [0.75, 0.5]
    one.grad = torch.tensor([1.0, float("inf")])
    assert not scaler.step(optimizer) and one.tolist() == [0.75, 0.5] and scaler.scaling.scale == 512
    assert scaler.skipped == 1
    other = ht.LossScaler(LossScaling(window=2))
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()
    for _ in range(2):
        one.grad = torch.zeros(2)
        scaler.step(optimizer)
    assert scaler.scaling.scale == 1024


def test_statistics_are_those_of_what_the_products_now_return() -> None:
    torch.manual_seed(1)
    net = nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.Dropout(0.9), nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4))
    batches = [torch.randn(8, 2, 8, 8) for _ in range(3)]
    net.train()
    for batch in batches:
        net(batch)
    net[3].eval()
    training = [one.training for one in net.modules()]
    with ht.emulate(net, "mxfp4"):
        assert ht.retune(net, batches) == 2
        first = torch.stack([net[0](batch).transpose(0, 1).flatten(1).mean(1) for batch in batches]).mean(0)
    torch.testing.assert_close(net[1].running_mean, first, rtol=1e-4, atol=1e-5)
    assert [one.training for one in net.modules()] == training and net[1].momentum == 0.1
    with pytest.raises(InputError, match="batches must hold at least one"):
        ht.retune(net, [])
    assert ht.retune(nn.Linear(2, 2), []) == 0
