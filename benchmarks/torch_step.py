"""A training step of a transformer layer on units, against the same step in PyTorch's float32, side by side.

python benchmarks/torch_step.py [RECIPE ...] [--tokens 2048] [--width 512] [--rounds 5]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch
from torch import nn

import hwsim.torch as ht

RECIPES = ("hopper-unpromoted", "fp8-tensorwise", "deepseek-v3", "mxfp8", "nvfp4", "bf16-hopper", "hfp8", "exact")


def step_of(net: nn.Module, x: torch.Tensor) -> Callable[[], None]:
    """A step: forward, backward, and an update of the weights."""
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)

    def step() -> None:
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()

    return step


def seconds(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recipes", nargs="*", default=RECIPES)
    parser.add_argument("--tokens", type=int, default=2048)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    torch.manual_seed(0)
    net = nn.TransformerEncoderLayer(asked.width, 8, 4 * asked.width, dropout=0.0, batch_first=True)
    x = torch.randn(-(-asked.tokens // 128), min(asked.tokens, 128), asked.width)
    step = step_of(net, x)
    print(f"a transformer layer, {x.shape[0] * x.shape[1]} tokens of {asked.width}, {torch.get_num_threads()} threads")
    for name in asked.recipes:
        with ht.emulate(net, name):
            step()  # compiles what is not compiled yet
        plain, units = [], []
        for _ in range(asked.rounds):
            plain.append(seconds(step))
            with ht.emulate(net, name):
                units.append(seconds(step))
        best = min(plain), min(units)
        print(f"{name:20} float32 {best[0]:8.3f} s, units {best[1]:8.3f} s, {best[1] / best[0]:5.1f} times", flush=True)


if __name__ == "__main__":
    main()
