"""One FP8 layer on two GPUs: what of their difference is the instruction, the split of K, the scales, the epilogue.

A layer of x (activations) and w (weights) in E4M3, scaled by tensor, with a bias, returned in f32 and in bf16. The
first GPU's product is that of cuBLAS on an H100; one thing at a time is another GPU's, shape's or library's. Prints the
tables of docs/studies/two-gpus.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from paper import figure, numbers, options, percent, scientific, table

import hwsim
from hwsim.quantize import quantize

HOPPER, BLACKWELL = "hopper-wgmma-e4m3-f32", "blackwell-tcgen05-e4m3-f32"
ADA, PROMOTED = "ada-mma-e4m3-f32", "deepseek-v3-e4m3-f32"
BOTH = [{"operation": "multiply", "by": ["scale_a", "scale_b"]}]
TURNS = [{"operation": "multiply", "by": side} for side in ("scale_b", "scale_a")]
BIAS = [{"operation": "add", "of": "bias"}]
FUSED = [{"operation": "multiply-add", "by": ["scale_a", "scale_b"], "of": "bias"}]
TWO, NINE = {"parts": 2, "step": 128}, {"parts": 9, "step": 128}
DATA: dict[str, Any] = {"normal": "normal", "outliers": {"distribution": "outliers", "fraction": 0.01, "factor": 50}}


class Change(NamedTuple):
    """What is other than on the first GPU."""

    what: str
    name: str
    unit: str = HOPPER
    split: Any = None
    steps: Any = (*BOTH, *BIAS)
    through: str = ""


FIRST = Change("nothing", "an H100, one sum")
CHANGES = (
    Change("instruction", "B200's (25 bits, not 13)", BLACKWELL),
    Change("instruction", "Ada's (groups of 16, not 32)", ADA),
    Change("instruction", "promoted every 128 products (`use_fast_accum=False`)", PROMOTED),
    Change("split", "two parts of K (M = 16 on an H100)", split=TWO),
    Change("split", "nine parts", split=NINE),
    Change("scales", "one after another (as of rows), not their product", steps=(*TURNS, *BIAS)),
    Change("epilogue", "scales and bias in one rounding", steps=FUSED),
    Change("epilogue", "rounded to f16 before", through="f16"),
    Change("all", "B200's instruction, two parts, scales one after another", BLACKWELL, TWO, (*TURNS, *BIAS)),
)


def main(arguments: Sequence[str] | None = None) -> None:
    args = options(__doc__, arguments)
    m, k, n = args.pick((8, 1280, 8), (256, 4096, 256), (512, 16384, 512))
    shown = []
    for name, entry in DATA.items():
        layer = Layer(entry, m, k, n, args.seed)
        first = {fmt: layer.product(FIRST, fmt) for fmt in ("f32", "bf16")}
        rows = [layer.row(change, first) for change in (FIRST, *CHANGES)]
        title = f"What differs, {name}: {m} x {n}, K = {k:,}"
        header = ["what is other", "how", "f32: differ, %", "bf16: differ, %", "rms of the change", "rms error, bf16"]
        words = [[row["what"], row["how"], *map(percent, row["shares"]), *map(scientific, row["rms"])] for row in rows]
        table(title, header, words, 2, "Rms over that of the exact results of the same codes.")
        shown += [{"how": row["how"], "data": name, "share": row["shares"][1]} for row in rows[1:]]
    figure(
        args, "two-gpus", "Results in bf16 that differ when one thing is another GPU's", shown, "how", "share", "data",
        titles=("", "share that differs"), kind="points", log_y=10,
    )  # fmt: skip


class Layer:
    """A layer's codes, scales and exact results."""

    def __init__(self, entry: Any, m: int, k: int, n: int, seed: int):
        x, w = numbers(entry, m, k, seed), numbers("normal", n, k, seed, 1)
        a, b = quantize(x, "tensor-e4m3"), quantize(w, "tensor-e4m3")
        self.a, self.b = a.codes, b.codes.T
        self.bias = numbers("normal", 1, n, seed, 2)[0] * np.float32(8)
        self.scale_a, self.scale_b = (np.float32(side.scales.reshape(-1)[0]) for side in (a, b))
        fmt = hwsim.get_format("e4m3")
        sums = fmt.decode(self.a) @ fmt.decode(self.b)  # of 4,096 products float64 is as good as exact
        self.exact = sums * float(self.scale_a) * float(self.scale_b) + self.bias

    def product(self, change: Change, fmt: str) -> NDArray[np.float64]:
        """Results, as numbers."""
        formats = [] if fmt == "f32" else [*filter(None, [change.through]), fmt]
        steps = [*change.steps, *({"operation": "round", "format": each} for each in formats)]
        plan = {"split": change.split, "epilogue": steps}
        beside = {"scale_a": self.scale_a, "scale_b": self.scale_b, "bias": self.bias}
        found = hwsim.gemm(change.unit, self.a, self.b, plan=plan, **beside)
        return np.asarray(found if found.dtype == np.float32 else hwsim.get_format(fmt).decode(found), np.float64)

    def row(self, change: Change, first: dict[str, NDArray[np.float64]]) -> dict[str, Any]:
        """What a change does to f32 and bf16 results, and to their error."""
        found = {fmt: self.product(change, fmt) for fmt in first}
        shares = [float(np.mean(found[fmt] != first[fmt])) for fmt in ("f32", "bf16")]
        size = float(np.sqrt(np.mean(self.exact**2)))
        gaps = (found["f32"] - first["f32"], found["bf16"] - self.exact)
        rms = [float(np.sqrt(np.mean(gap**2))) / size for gap in gaps]
        return {"what": change.what, "how": change.name, "shares": shares, "rms": rms}


if __name__ == "__main__":
    main()
