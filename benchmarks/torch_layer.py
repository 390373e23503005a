"""A linear layer of PyTorch on units, forward and backward, against its three products by `hwsim.gemm` alone.

python benchmarks/torch_layer.py [RECIPE ...]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import hwsim
import hwsim.torch as ht
from hwsim.torch.products import UnitProduct, coded

M, K, N = 2048, 512, 512
RECIPES = ("hopper-unpromoted", "fp8-tensorwise", "deepseek-v3", "mxfp8", "nvfp4", "bf16-hopper", "int8", "hfp8")
ROUNDS = 7


def bare(product: UnitProduct, a: Any, b: Any) -> Callable[[], Any]:
    """A product of codes that are there already."""
    of_a = coded(product.a, product.unit, "a", np.ascontiguousarray(a), 0)
    of_b = coded(product.b, product.unit, "b", np.ascontiguousarray(b), 0)
    return lambda: hwsim.gemm(product.unit, of_a.codes, of_b.codes, None, of_a.scales, of_b.scales)


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    torch.manual_seed(0)
    x, w, g = torch.randn(M, K, requires_grad=True), torch.randn(N, K, requires_grad=True), torch.randn(M, N)
    print(f"a linear layer of {M} x {K} x {N}, three products, {torch.get_num_threads()} threads, best of {ROUNDS}")
    for name in sys.argv[1:] or RECIPES:
        products = ht.load_recipe(name).products
        numbers = [tensor.detach().numpy() for tensor in (x, w, g)]
        pairs = ((numbers[0], numbers[1].T), (numbers[2], numbers[1]), (numbers[2].T, numbers[0]))
        three = (products.forward, products.input, products.weight)
        alone = [bare(product, *pair) for product, pair in zip(three, pairs, strict=True) if product is not None]

        def layer(recipe: str = name) -> None:
            x.grad = w.grad = None
            ht.linear(x, w, recipe=recipe).backward(g)

        def gemms(work: list[Callable[[], Any]] = alone) -> None:
            for call in work:
                call()

        layer()
        gemms()
        best = [min(times) for times in zip(*((seconds(gemms), seconds(layer)) for _ in range(ROUNDS)), strict=True)]
        rates = [3 * M * K * N / shortest / 1e9 for shortest in best]
        print(f"{name:20} gemm {rates[0]:6.2f} G/s, layer {rates[1]:6.2f} G/s, {rates[1] / rates[0]:4.0%}", flush=True)


if __name__ == "__main__":
    main()
