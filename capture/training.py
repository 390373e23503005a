"""Train a small network on this GPU's tensor cores, and write what its weights are after every step.

Needed are this file and a PyTorch that finds an NVIDIA GPU of compute capability 9.0 or later. All that stands between
the matrix products is exact, or one rounding of IEEE 754, on any machine: ReLU, gradients of squared errors, steps of
gradient descent by powers of two. So whoever computes the products as the GPU does has the same weights, to the last
bit: `tests/pytorch/test_torch_silicon.py` trains the same network on units. RESULTS.json has a digest for each step.
Exit status: 0; 2 bad usage; 3 no PyTorch, no GPU, or it failed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable
from typing import Any, NoReturn

TOKENS, WIDTHS, STEPS = 512, (128, 256, 256, 128), 10
GRADIENT, RATE = 2.0**-9, 2.0**-5
RECIPES = ("fp8-tensorwise", "hopper-unpromoted", "bf16-hopper")

# A layer of a recipe: x (tokens, in) and a weight (out, in) to the result, and to what makes of the result's gradient
# those of x and of the weight.
Back = Callable[[Any], tuple[Any, Any]]
Layer = Callable[[Any, Any], tuple[Any, Back]]


def numbers(shape: tuple[int, int], seed: int, most: float) -> Any:
    """Numbers of binary32, evenly from -most to most, a power of two: the same with every NumPy."""
    import numpy

    raw = numpy.random.Philox(seed).random_raw(shape[0] * shape[1]) >> numpy.uint64(40)
    return ((raw.astype(numpy.float32) - numpy.float32(2**23)) * numpy.float32(most / 2**23)).reshape(shape)


def train(torch: Any, layer: Layer, device: str, steps: int = STEPS) -> tuple[list[str], list[float]]:
    """Digests of the weights, and the losses, after every step."""

    def tensor(shape: tuple[int, int], seed: int, most: float) -> Any:
        return torch.tensor(numbers(shape, seed, most)).to(device)

    pairs = list(zip(WIDTHS[1:], WIDTHS[:-1]))  # noqa: B905 (a GPU's Python may be older)
    weights = [tensor(pair, 100 + at, 2.0**-3) for at, pair in enumerate(pairs)]
    digests, losses = [], []
    for step in range(steps):
        x = tensor((TOKENS, WIDTHS[0]), step, 2.0)
        target = torch.maximum(x, x.roll(1, 1))
        backs, inputs = [], x
        for at, weight in enumerate(weights):
            made, back = layer(inputs, weight)
            backs.append((made, back))
            inputs = made.relu() if at + 1 < len(weights) else made
        error = inputs - target
        losses.append(float(error.double().square().mean()))
        gradient = error * GRADIENT
        for at in reversed(range(len(weights))):
            made, back = backs[at]
            if at + 1 < len(weights):
                gradient = torch.where(made > 0, gradient, torch.zeros_like(gradient))
            gradient, of_weight = back(gradient)
            weights[at] = weights[at] - of_weight * RATE
        bits = b"".join(weight.cpu().numpy().tobytes() for weight in weights)
        digests.append(hashlib.sha256(bits).hexdigest()[:16])
    return digests, losses


class Cores:
    """Layers on a GPU's tensor cores, by PyTorch and cuBLAS."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.one = torch.ones((), device="cuda")
        self.formats = {"e4m3": (torch.float8_e4m3fn, 448.0), "e5m2": (torch.float8_e5m2, 57344.0)}

    def layer(self, recipe: str) -> Layer:
        """The layer of a recipe."""
        if recipe == "bf16-hopper":
            return self._bf16
        return lambda x, weight: self._whole(x, weight, recipe == "hopper-unpromoted")

    def _bf16(self, x: Any, weight: Any) -> tuple[Any, Back]:
        torch = self.torch

        def product(a: Any, b: Any) -> Any:
            return torch.mm(a.bfloat16(), b.bfloat16(), out_dtype=torch.float32).bfloat16().float()

        return product(x, weight.t()), lambda g: (product(g, weight), product(g.t(), x))

    def _whole(self, x: Any, weight: Any, fast: bool) -> tuple[Any, Back]:
        def back(g: Any) -> tuple[Any, Any]:
            return self._tensorwise(g, weight, "e5m2", fast), self._tensorwise(g.t(), x, "e5m2", fast)

        return self._tensorwise(x, weight.t(), "e4m3", True), back

    def _tensorwise(self, a: Any, b: Any, fmt: str, fast: bool) -> Any:
        (of_a, scale_a), (of_b, scale_b) = self._quantized(a, fmt), self._quantized(b, "e4m3")
        of_b = of_b.t().contiguous().t()
        options = {"scale_a": self.one, "scale_b": self.one, "out_dtype": self.torch.float32, "use_fast_accum": fast}
        found = self.torch._scaled_mm(of_a.contiguous(), of_b, **options)
        return (found * (scale_a * scale_b)).bfloat16().float()

    def _quantized(self, x: Any, fmt: str) -> tuple[Any, Any]:
        """Codes and their scale: the largest magnitude over the format's largest number; 1 where all are zero."""
        torch, (dtype, most) = self.torch, self.formats[fmt]
        # By a tensor, because PyTorch multiplies by the reciprocal of a number instead of dividing by it.
        scale = x.abs().max() / torch.full((), most, device="cuda")
        scale = torch.where(scale == 0, torch.ones_like(scale), scale)
        return (x / scale).clamp(-most, most).to(dtype), scale


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", metavar="RESULTS.json")
    arguments = parser.parse_args()
    try:
        import torch
    except ImportError as error:
        fail(str(error))
    if not torch.cuda.is_available():
        fail("PyTorch finds no GPU")
    cores, trained = Cores(torch), {}
    for recipe in RECIPES:
        try:
            digests, losses = train(torch, cores.layer(recipe), "cuda")
        except (RuntimeError, ValueError, TypeError) as error:
            print(f"{recipe}: left out: {str(error).splitlines()[0]}", file=sys.stderr)
            continue
        trained[recipe] = digests
        print(f"{recipe}: loss {losses[0]:.4f}, after {len(losses)} steps {losses[-1]:.4f}", file=sys.stderr)
    facts = {
        "gpu": torch.cuda.get_device_name(),
        "capability": "{}.{}".format(*torch.cuda.get_device_capability()),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "weights": trained,
    }
    try:
        with open(arguments.results, "w") as file:
            file.write(json.dumps(facts, indent=1) + "\n")
    except OSError as error:
        fail(str(error))


def fail(message: str) -> NoReturn:
    """End with status 3."""
    print(f"error: {message}", file=sys.stderr)
    sys.exit(3)


if __name__ == "__main__":
    main()
