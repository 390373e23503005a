"""NVFP4 training, and each of its helps left out.

NVIDIA, Pretraining large language models with NVFP4, 2025, arXiv 2509.25149, sections 4 and 5: 12 billion weights; here
a transformer that reads characters. E2M1 with a UE4M3 scale for 16 numbers and one for the tensor; weights share a
scale in squares of 16 x 16, gradients are rounded stochastically, and both factors of the gradient of weights pass a
random Hadamard transform of 16. The last layer is in BF16. Prints the table of docs/studies/train-nvfp4.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paper import options
from training import CHARACTERS, Method, after_steps, gap_curves, runs, seeds


def recipe(name: str, squares: bool, stochastic: bool, hadamard: bool) -> dict[str, Any]:
    unit = {"unit": "blackwell-mxf4nvf4-e2m1-f32"}
    weights: Any = {"rule": "nvfp4", "block": [16, 16]} if squares else "nvfp4"
    gradients: Any = {"rule": "nvfp4", "rounding": "stochastic"} if stochastic else "nvfp4"
    products = {
        "forward": {**unit, "a": "nvfp4", "b": weights},
        "input": {**unit, "a": gradients, "b": weights},
        "weight": {**unit, "a": gradients, "b": "nvfp4", **({"hadamard": 16} if hadamard else {})},
    }
    return {
        "recipe": name,
        "products": products,
        "output": "bf16",
        "layers": [{"place": "last", "recipe": "bf16-hopper"}],
    }


METHODS = (
    Method("BF16", "bf16-hopper"),
    Method("NVFP4", "nvfp4"),
    Method("without stochastic rounding", recipe("nvfp4-nearest", True, False, True)),
    Method("without Hadamard transform", recipe("nvfp4-plain", True, True, False)),
    Method("weights scaled 1 x 16", recipe("nvfp4-rows", False, True, True)),
    Method("without all three", recipe("nvfp4-bare", False, False, False)),
)


def main(arguments: Sequence[str] | None = None) -> None:
    args = options(__doc__, arguments)
    steps, of = args.pick(2, 60, 2000), seeds(args, (2, 3, 5))
    records = runs(args, CHARACTERS[args.size], METHODS, of, steps, args.pick(1, 15, 50))
    after_steps(f"After {steps} steps", records, "BF16")
    gap_curves(args, "train-nvfp4", records, "BF16")


if __name__ == "__main__":
    main()
