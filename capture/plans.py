"""Capture how this GPU's library makes whole products: splits of K, scales, bias and roundings, shape by shape.

Needed are this file and a PyTorch that finds an NVIDIA GPU, for FP8 one of compute capability 8.9 or later. For every
shape and call a whole product is computed; some rows of A, as many columns of B and the results where they meet are
written, as codes. What this PyTorch or GPU lacks is left out, and said. `hwsim plan profile RESULTS.npz` then finds the
plan of each.
README.md beside this file describes RESULTS.npz. Exit status: 0; 2 bad usage; 3 no PyTorch, no GPU, or it failed.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from typing import Any, NoReturn

KEPT = 12  # rows of A and columns of B that are written, at equal distances
LAYERS = ((4096, 4096), (14336, 4096), (7168, 576), (7168, 2112), (2048, 7168), (32768, 512))  # K, N
ROWS = (16, 64, 128, 512, 2048)
SHAPES = [(m, n, k) for k, n in LAYERS for m in ROWS]
SHAPE = re.compile("[1-9][0-9]*x[1-9][0-9]*x[1-9][0-9]*")


class Calls:
    """Computes products, and keeps what is written of them. A rehearsal gives other modules."""

    def __init__(self, torch: Any, numpy: Any, seed: int) -> None:
        self.torch, self.numpy = torch, numpy
        self.generator = numpy.random.default_rng(seed)
        self.arrays: dict[str, Any] = {}
        self.calls: list[dict[str, Any]] = []
        self.words = {1: torch.uint8, 2: torch.int16, 4: torch.int32}
        self.outputs = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "e4m3": torch.float8_e4m3fn}

    def compute(self, m: int, n: int, k: int) -> None:
        """Every call of one shape."""
        torch, base = self.torch, f"{m}x{n}x{k}"
        rows, columns = slice(0, m, max(1, m // KEPT)), slice(0, n, max(1, n // KEPT))
        a, b = self._normal(m, k), self._normal(n, k)
        a8, b8 = a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn)
        beside = {
            "tensor": (self._scales(()), self._scales(())),
            "row": (self._scales((m, 1)), self._scales((1, n))),
        }
        bias = self._normal(1, n)[0]
        self._keep(f"{base}/e4m3", a8[rows], b8[columns])
        for scaling, (scale_a, scale_b) in beside.items():
            for fast in (True, False):
                for output, biased in (("f32", "none"), ("bf16", "none"), ("bf16", "bf16"), ("e4m3", "none")):
                    added = bias.to(torch.bfloat16) if biased == "bf16" else None
                    options = {
                        "scale_a": scale_a, "scale_b": scale_b, "bias": added, "out_dtype": self.outputs[output],
                        "use_fast_accum": fast,
                    }  # fmt: skip
                    keys = {
                        "operation": "scaled_mm",
                        "scaling": scaling,
                        "fast": fast,
                        "bias": biased,
                        "output": output,
                    }
                    numbers = {
                        "scale_a": scale_a[rows] if scaling == "row" else scale_a,
                        "scale_b": scale_b[:, columns] if scaling == "row" else scale_b,
                        "bias": None if added is None else added[columns].float(),
                    }
                    self._ask(base, "e4m3", keys, (rows, columns), torch._scaled_mm, (a8, b8.t()), options, numbers)
        for fmt in ("bf16", "f16"):
            wide_a, wide_b = a8.float().to(self.outputs[fmt]), b8.float().to(self.outputs[fmt])
            self._keep(f"{base}/{fmt}", wide_a[rows], wide_b[columns])
            for output in (fmt, "f32"):
                keys = {"operation": "mm", "output": output}
                options = {"out_dtype": self.outputs[output]} if output != fmt else {}
                self._ask(base, fmt, keys, (rows, columns), torch.mm, (wide_a, wide_b.t()), options, {})

    def _normal(self, m: int, n: int) -> Any:
        return self.torch.tensor(self.generator.standard_normal((m, n)), dtype=self.torch.float32).cuda()

    def _scales(self, shape: tuple[int, ...]) -> Any:
        return self.torch.tensor(2.0 ** self.generator.uniform(-3, 3, shape), dtype=self.torch.float32).cuda()

    def _codes(self, tensor: Any) -> Any:
        codes = tensor.contiguous().view(self.words[tensor.element_size()]).cpu().numpy()
        return codes.view(f"u{codes.dtype.itemsize}")

    def _keep(self, name: str, a: Any, b: Any) -> None:
        self.arrays[f"{name}/a"], self.arrays[f"{name}/b"] = self._codes(a), self._codes(b.t())

    def _ask(
        self,
        base: str,
        fmt: str,
        keys: dict[str, Any],
        kept: Any,
        function: Any,
        factors: Any,
        options: Any,
        numbers: Any,
    ) -> None:
        torch, name = self.torch, f"{base}/{len(self.calls)}"
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            try:
                result = function(*factors, **options)
                torch.cuda.synchronize()
            except (RuntimeError, ValueError, TypeError) as error:
                print(f"{base} {fmt} {keys}: left out: {str(error).splitlines()[0]}", file=sys.stderr)
                return
        words = ("gemm", "nvjet", "splitK", "cutlass")
        kernels = [event.key for event in profile.key_averages() if any(word in event.key for word in words)]
        self.arrays[f"{name}/d"] = self._codes(result[kept])
        for key, value in numbers.items():
            if value is not None:
                self.arrays[f"{name}/{key}"] = self._codes(value)
        self.calls.append({"name": name, "factors": f"{base}/{fmt}", "a": fmt, "b": fmt, "kernels": kernels, **keys})
        print(f"{base} {fmt} {keys['output']}: {', '.join(kernels)}", file=sys.stderr)


def shapes_of(text: str) -> list[tuple[int, int, int]]:
    """Shapes MxNxK, with commas between them."""
    parts = text.split(",")
    if wrong := [part for part in parts if not SHAPE.fullmatch(part)]:
        raise argparse.ArgumentTypeError(f"shapes are MxNxK, with commas between them, not {wrong[0]!r}")
    return [(int(m), int(n), int(k)) for m, n, k in (part.split("x") for part in parts)]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", metavar="RESULTS.npz")
    parser.add_argument("--shapes", type=shapes_of, default=SHAPES, help="MxNxK,... (layers of language models)")
    parser.add_argument("--seed", type=int, default=1, help="of the numbers (1)")
    arguments = parser.parse_args()
    try:
        import numpy
        import torch
    except ImportError as error:
        fail(str(error))
    if not torch.cuda.is_available():
        fail("PyTorch finds no GPU")
    calls = Calls(torch, numpy, arguments.seed)
    for shape in arguments.shapes:
        calls.compute(*shape)
    facts = {
        "gpu": torch.cuda.get_device_name(),
        "capability": "{}.{}".format(*torch.cuda.get_device_capability()),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "seed": arguments.seed,
        "calls": calls.calls,
    }
    try:
        numpy.savez_compressed(arguments.results, facts=numpy.array(json.dumps(facts)), **calls.arrays)
    except OSError as error:
        fail(str(error))
    print(f"{arguments.results}: {len(calls.calls)} products of {facts['gpu']}", file=sys.stderr)


def fail(message: str) -> NoReturn:
    """End with status 3."""
    print(f"error: {message}", file=sys.stderr)
    sys.exit(3)


if __name__ == "__main__":
    main()
