"""Capture what matrix products of PyTorch, and so of cuBLAS, return on this GPU.

Needed are this file and a PyTorch that finds an NVIDIA GPU, for FP8 one of compute capability 8.9 or later. For every
call, pair of formats, kind of numbers and length K a whole product of SIZE x K and K x SIZE is computed. Some rows of
A, as many columns of B and the results where they meet are written, as codes. What this PyTorch or GPU lacks is left
out, and said.
README.md beside this file describes RESULTS.npz. Exit status: 0; 2 bad usage; 3 no PyTorch, no GPU, or it failed.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any, NoReturn

SIZE = 1024
STRIDE = 41  # every so many rows of A and columns of B are written: at many places of a library's tiles
BLOCK = 128  # numbers that share a scale, along K; and along the columns of B
SHORT, MIDDLE, LONG = 128, 1024, 4096
NUMBERS = ("normal", "steps", "codes")
FP8 = [("e4m3", "e4m3", k) for k in (SHORT, MIDDLE, LONG)] + [("e5m2", "e4m3", MIDDLE), ("e4m3", "e5m2", MIDDLE)]
WIDER = ("f16", "bf16", "tf32")


class Products:
    """Computes products, and keeps what is written of them.

    arrays: codes, by name. calls: what there is to say of each product. The modules are arguments so that a rehearsal
    can give others.
    """

    def __init__(self, torch: Any, numpy: Any, seed: int) -> None:
        self.torch, self.numpy = torch, numpy
        self.generator = numpy.random.default_rng(seed)
        self.kept = slice(0, SIZE, STRIDE)
        self.arrays: dict[str, Any] = {}
        self.calls: list[dict[str, Any]] = []
        self.formats = {
            "e4m3": (torch.float8_e4m3fn, torch.uint8),
            "e5m2": (torch.float8_e5m2, torch.uint8),
            "f16": (torch.float16, torch.int16),
            "bf16": (torch.bfloat16, torch.int16),
            "tf32": (torch.float32, torch.int32),
            "f32": (torch.float32, torch.int32),
        }

    def compute(self) -> None:
        """Every product there is."""
        torch = self.torch
        one = torch.ones((), device="cuda")
        for left, right, k in FP8:
            for numbers in NUMBERS:
                name, a, b = self._factors(left, right, numbers, k)
                for call, fast in (("fp8-fast", True), ("fp8-promoted", False)):
                    options = {"scale_a": one, "scale_b": one, "out_dtype": torch.float32, "use_fast_accum": fast}
                    self._ask(call, name, torch._scaled_mm, a, b.t(), options)
                if (left, right) == FP8[0][:2] and k > BLOCK:
                    self._blocks(name, a, b)
        for fmt in WIDER:
            for numbers in ("normal", "far"):
                name, a, b = self._factors(fmt, fmt, numbers, MIDDLE)
                self._ask("matmul", name, torch.mm, a, b.t(), {} if fmt == "tf32" else {"out_dtype": torch.float32})

    def _blocks(self, name: str, a: Any, b: Any) -> None:
        """A product with a scale for 1 x BLOCK numbers of A and for BLOCK x BLOCK of B, as DeepSeek-V3 has them."""
        blocks = a.shape[1] // BLOCK
        scale_a, scale_b = self._scales(SIZE, blocks), self._scales(SIZE // BLOCK, blocks)
        of_columns = scale_b.repeat_interleave(BLOCK, 0)
        self.arrays[f"{name}/scale_a"] = self._codes(scale_a[self.kept], "f32")
        self.arrays[f"{name}/scale_b"] = self._codes(of_columns[self.kept].t(), "f32")
        # A's are stored column by column. B's rows are multiples of four long, which `blocks` is.
        options = {"scale_a": scale_a.t().contiguous().t(), "scale_b": scale_b.t(), "out_dtype": self.torch.float32}
        self._ask("fp8-blocks", name, self.torch._scaled_mm, a, b.t(), options)

    def _factors(self, left: str, right: str, numbers: str, k: int) -> tuple[str, Any, Any]:
        """The name of a pair of factors, A (SIZE, k) and B transposed, which are kept."""
        name = f"{left}-{right}-{numbers}-{k}"
        a, b = self._matrix(left, numbers, k), self._matrix(right, numbers, k)
        self.arrays[f"{name}/a"] = self._codes(a[self.kept], left)
        self.arrays[f"{name}/b"] = self._codes(b[self.kept].t(), right)
        return name, a, b

    def _matrix(self, fmt: str, numbers: str, k: int) -> Any:
        """Numbers (SIZE, k).

        normal: normally distributed. far, steps: those times powers of two, of each number, or of BLOCK numbers along
        k, so that sums of blocks are far apart. codes: any finite codes.
        """
        torch, (dtype, codes) = self.torch, self.formats[fmt]
        if numbers == "codes":
            words = self.generator.integers(0, 256, (SIZE, k)).astype("uint8")
            words[(words & 0x7F) >= (0x7F if fmt == "e4m3" else 0x7C)] = 0
            return torch.tensor(words).cuda().view(dtype)
        drawn = self.generator.standard_normal((SIZE, k))
        if numbers == "far":
            drawn *= 2.0 ** self.generator.integers(-8, 5, (SIZE, k))
        if numbers == "steps":
            drawn *= (2.0 ** self.generator.integers(-6, 6, (1, k // BLOCK))).repeat(BLOCK, 1)
        made = torch.tensor(drawn, dtype=torch.float32).cuda().to(dtype)
        return (made.view(codes) & ~0x1FFF).view(dtype) if fmt == "tf32" else made

    def _scales(self, rows: int, columns: int) -> Any:
        drawn = 2.0 ** self.generator.uniform(-3, 3, (rows, columns))
        return self.torch.tensor(drawn, dtype=self.torch.float32).cuda()

    def _codes(self, tensor: Any, fmt: str) -> Any:
        codes = tensor.contiguous().view(self.formats[fmt][1]).cpu().numpy()
        return codes.view(f"u{codes.dtype.itemsize}")

    def _ask(self, call: str, name: str, function: Any, a: Any, b: Any, options: dict[str, Any]) -> None:
        torch = self.torch
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            try:
                result = function(a, b, **options)
                torch.cuda.synchronize()
            except (RuntimeError, ValueError, TypeError) as error:
                print(f"{call} {name}: left out: {str(error).splitlines()[0]}", file=sys.stderr)
                return
        kernels = [event.key for event in profile.key_averages() if "gemm" in event.key or "nvjet" in event.key]
        self.arrays[f"{name}/{call}"] = self._codes(result[self.kept, self.kept], "f32")
        left, right, numbers, k = name.split("-")
        said = {"call": call, "a": left, "b": right, "numbers": numbers, "k": int(k), "kernels": kernels}
        self.calls.append(said)
        print(f"{call} {name}: {', '.join(kernels)}", file=sys.stderr)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", metavar="RESULTS.npz")
    parser.add_argument("--seed", type=int, default=1, help="of the numbers (1)")
    arguments = parser.parse_args()
    try:
        import numpy
        import torch
    except ImportError as error:
        fail(str(error))
    if not torch.cuda.is_available():
        fail("PyTorch finds no GPU")
    torch.backends.cuda.matmul.allow_tf32 = True
    products = Products(torch, numpy, arguments.seed)
    products.compute()
    facts = {
        "gpu": torch.cuda.get_device_name(),
        "capability": "{}.{}".format(*torch.cuda.get_device_capability()),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "seed": arguments.seed,
        "calls": products.calls,
    }
    try:
        numpy.savez_compressed(arguments.results, facts=numpy.array(json.dumps(facts)), **products.arrays)
    except OSError as error:
        fail(str(error))
    print(f"{arguments.results}: {len(products.calls)} products of {facts['gpu']}", file=sys.stderr)


def fail(message: str) -> NoReturn:
    """End with status 3."""
    print(f"error: {message}", file=sys.stderr)
    sys.exit(3)


if __name__ == "__main__":
    main()
