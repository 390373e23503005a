"""What processes do together; each writes what it found. Run by test_torch_distributed.py."""

from __future__ import annotations

import json
import multiprocessing
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim import SGD

import hwsim.torch as ht


def network() -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(16, 12), nn.ReLU(), nn.Linear(12, 3))


def learned(rank: int, world: int) -> list[float]:
    """Three steps of HFP8's update; each learner has a share of the data."""
    net = network()
    optimizer = ht.ShardedResidual(net.parameters(), lambda share: SGD(share, lr=0.1))
    generator = torch.Generator().manual_seed(2)
    for _ in range(3):
        x, y = torch.randn(8, 16, generator=generator), torch.randn(8, 3, generator=generator)
        mine = slice(rank * 8 // world, (rank + 1) * 8 // world)
        optimizer.zero_grad()
        (net(x[mine]) - y[mine]).square().mean().backward()
        optimizer.step()
    return torch.cat([one.detach().ravel() for one in net.parameters()]).tolist()


def exchanged(rank: int, world: int) -> tuple[list[list[float]], list[list[float]]]:
    """Rows to every process and back, the way of experts: what came, and the gradient of what was sent."""
    x = (torch.arange(world * 128.0).reshape(world, 128) / 7 + rank).requires_grad_()
    there = ht.dispatch(x, [1] * world, [1] * world, "deepseek-v3-1x128")
    back = ht.combine(there * (rank + 1), [1] * world, [1] * world, "deepseek-v3-1x128")
    (back * torch.linspace(1, 2, 128)).sum().backward()
    assert x.grad is not None
    return there.tolist(), x.grad.tolist()


def parallel(rank: int, world: int) -> list[float]:
    """Gradients by DDP of a converted model."""
    net = network()
    ht.convert(net, "mxfp8")
    model = DistributedDataParallel(net)
    x = torch.randn(4 * world, 16, generator=torch.Generator().manual_seed(3))[rank * 4 : rank * 4 + 4]
    model(x).square().mean().backward()
    return torch.cat([one.grad.ravel() for one in net.parameters() if one.grad is not None]).tolist()


def main(folder: Path, rank: int, world: int) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=world)
    found = {"learned": learned(rank, world), "exchanged": exchanged(rank, world), "parallel": parallel(rank, world)}
    (folder / f"{rank}.json").write_text(json.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    # Forked, because each import of PyTorch takes seconds.
    of_rank = multiprocessing.get_context("fork").Process
    count = int(sys.argv[2])
    learners = [of_rank(target=main, args=(Path(sys.argv[1]), rank, count)) for rank in range(count)]
    for one in learners:
        one.start()
    for one in learners:
        one.join()
    sys.exit(any(one.exitcode for one in learners))
