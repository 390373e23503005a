"""An encoder layer of all-MiniLM-L6-v2 through the RTL of a matrix engine: all six products of weights.

Each product is quantised to MXFP8, goes through the Verilog of mx8.yaml, simulated by Verilator, and is compared with
hwsim.gemm and hwsim.torch, bit for bit. The rest of the layer is PyTorch's, in binary64.
`python examples/engines/minilm_layer.py --help` says what it takes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

import hwsim
from hwsim.cosim.engine.bulk import EngineBulk, product
from hwsim.spec.engine import Engine, load_engine
from hwsim.torch import functional

sys.path.insert(0, str(Path(__file__).parents[1] / "papers"))
import minilm

ENGINE = Path(__file__).with_name("mx8.yaml")
SENTENCE = "A matrix engine multiplies what it is given, and no bit of its sums may be another."
RULE = {"rule": "mxfp8-e4m3", "select": "rceil"}


class RtlProducts:
    """Products of the first layer through an engine's RTL; those of attention, and of other layers, are exact."""

    def __init__(self, engine: Engine, bench: EngineBulk, columns: int | None):
        self.engine, self.bench, self.columns = engine, bench, columns
        way = {"unit": engine.unit.name, "a": RULE, "b": RULE}
        self.recipe = {"recipe": "mx8", "products": dict.fromkeys(("forward", "input", "weight"), way), "output": "f32"}
        self.rows: list[tuple[str, str, int, int, float]] = []

    def __call__(self, layer: int, name: str, a: Tensor, b: Tensor) -> Tensor:
        """A @ B, as minilm.embeddings asks for it."""
        if layer or name not in minilm.LINEAR:
            return a @ b
        whole, x, weight = a @ b, a.float(), b.float()[:, : self.columns]
        of_a, of_b = (hwsim.quantize(each.numpy(), "mxfp8-e4m3", axis, select="rceil")
                      for each, axis in ((x, -1), (weight, -2)))  # fmt: skip
        made = product(self.engine, of_a.codes, of_b.codes, scale_a=of_a.scales, scale_b=of_b.scales, bench=self.bench)
        if made.codes is None or made.outcome.count:
            raise SystemExit(f"{name}: the RTL differs from its model: {made.outcome.mismatches[:3]}")
        found = made.codes.astype(np.uint32)
        by_gemm = hwsim.gemm(self.engine.unit, of_a, of_b).view(np.uint32)
        by_torch = functional.linear(x, weight.T, recipe=self.recipe).numpy().view(np.uint32)
        apart = int((found != by_gemm).sum() + (found != by_torch).sum())
        self.rows.append((name, " x ".join(map(str, (*x.shape, weight.shape[1]))), made.outcome.cycles, apart,
                          made.products / made.outcome.seconds / 1e6))  # fmt: skip
        whole[:, : self.columns] = torch.from_numpy(found.view(np.float32)).double()
        return whole


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the layer; 1 where a product differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", type=Path, default=ENGINE, help="of an MX unit in E4M3 that returns f32")
    parser.add_argument("--sentence", default=SENTENCE, help="what is embedded")
    parser.add_argument("--columns", type=int, help="through the RTL so many columns of each product alone")
    args = parser.parse_args(arguments)
    engine = load_engine(args.engine)
    sentences = minilm.tokens([args.sentence])
    with EngineBulk(engine) as bench:
        products = RtlProducts(engine, bench, args.columns)
        found = minilm.embeddings(sentences, products)
    print(f"{engine.name}: {engine.rows} x {engine.columns} elements of {engine.unit.name}\n")
    print("| product | M x K x N | cycles | differ from gemm or torch | million products a second |")
    print("|---|---|---|---|---|")
    for name, shape, cycles, apart, rate in products.rows:
        print(f"| {name} | {shape} | {cycles:,} | {apart} | {rate:.1f} |")
    similar = float((found * minilm.embeddings(sentences)).sum())
    print(f"\nsimilarity of the embedding to that of exact products: {similar:.6f}")
    return int(any(apart for *_, apart, _ in products.rows))


if __name__ == "__main__":
    raise SystemExit(main())
