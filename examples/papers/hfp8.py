"""IBM's 8-bit formats by bias and distribution, and sums in 1-6-9 in chunks.

Sun et al. 2019, Hybrid 8-bit Floating Point (HFP8) Training and Inference for Deep Neural Networks, NeurIPS; Wang et
al. 2018, arXiv 1812.08011; Agrawal et al. 2019, DLFloat, ARITH. A bias as IBM counts it is what is added to IEEE 754's.
Prints the tables of docs/studies/hfp8.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from paper import Options, Record, figure, numbers, options, pivot, share_lost, signal_to_noise, study, table

import hwsim

BIASES = range(-2, 9)  # as IBM counts
DATA: dict[str, Any] = {
    "weights, deviation 0.02": {"distribution": "normal", "deviation": 0.02},
    "weights, deviation 0.1": {"distribution": "normal", "deviation": 0.1},
    "activations, normal": "normal",
    "activations, ReLU": "non-negative",
    "activations, 1 % x 20": {"distribution": "outliers", "factor": 20},
    "heavy tails, Student-t 2": {"distribution": "student-t", "freedom": 2},
    "log-normal, sigma 2": {"distribution": "log-normal", "sigma": 2},
    "errors, log-normal x 1e-4": {"distribution": "log-normal", "mu": -9.2, "sigma": 2},
}
MEAN_1 = {"distribution": "uniform", "low": 1 - math.sqrt(3), "high": 1 + math.sqrt(3)}  # and deviation 1
NAMES = {"dlfloat16": "1-6-9", "f16": "FP16", "f32": "FP32"}
CHUNKS = ["none", 16, 32, 64, 128, 256, 512]


def forward(bias: int) -> Any:
    """1-4-3 with a bias as IBM counts it: 4 is hwsim's hfp8-e4m3, of bias 11 as IEEE 754 counts."""
    return hwsim.get_format("hfp8-e4m3").model_copy(update={"name": f"1-4-3 bias {bias}", "bias": 7 + bias})


FORMATS = {"1-4-3 bias 4": forward(4), "1-4-3 bias 0": forward(0), "1-5-2": hwsim.get_format("hfp8-e5m2")}


class Way(NamedTuple):
    """A way to sum: the format of every addition, its rounding, and how many numbers a chunk has (0: flat)."""

    format: str
    rounding: str
    chunk: int

    @property
    def label(self) -> str:
        how = f"chunks of {self.chunk}" if self.chunk else "flat"
        return f"{NAMES[self.format]} {self.rounding.upper()}, {how}"

    def unit(self, factors: str) -> dict[str, Any]:
        """A unit that sums so: one FMA after the other, chunks added in the same format."""
        add = {"format": self.format, "rounding": self.rounding}
        unit = {
            "unit": f"sum-{self.format}-{self.rounding}-{self.chunk or 'flat'}",
            "operands": {"a": factors, "b": factors, "addend": self.format},
            "instruction": {"k": self.chunk or 64, "lanes": 1},
            "sum": {"method": "sequential", "product": "fused", **add},
            "result": {**add, "overflow": "nan" if self.format == "dlfloat16" else "infinity"},
        }
        promotion = {"interval": self.chunk, "operation": "add", **add}
        return {**unit, "promotion": promotion} if self.chunk else unit


FEW = (Way("dlfloat16", "rne", 0), Way("dlfloat16", "rna", 0), Way("dlfloat16", "rne", 64), Way("f16", "rne", 0))
WAYS = (*FEW[:2], *(Way("dlfloat16", "rne", n) for n in (16, 32, 64, 128, 256, 512)), FEW[3],
        Way("dlfloat16", "rna", 64), Way("f16", "rne", 64), Way("f32", "rne", 0))  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    args = options(__doc__, arguments)
    rows, length = args.pick(4, 32, 256), args.pick(1024, 4096, 4096)
    drawn = {name: numbers(entry, rows, length, args.seed) for name, entry in DATA.items()}
    errors = [
        {"numbers": name, "format": label} | lost(x, fmt) for name, x in drawn.items() for label, fmt in FORMATS.items()
    ]
    biases = [{"numbers": name, "bias": bias} | lost(x, forward(bias)) for name, x in drawn.items() for bias in BIASES]

    def cell(record: Record) -> str:
        return f"{record['snr']:.1f} ({record['zero']:.2g}; {record['saturated']:.2g})"

    title = "Signal to noise in dB (% that become zero; % that saturate)"
    pivot(title, errors, {"numbers": "numbers"}, "format", cell)
    lines = []
    for label, fmt in FORMATS.items():
        values = fmt.decode(np.arange(1, fmt.max_magnitude + 1))
        lines.append([label, f"{fmt.bias}", f"{values[-1]:g}", f"{values[0] * 2**fmt.bias:g} x 2^-{fmt.bias}"])
    header = ["format", "bias as IEEE 754 counts", "largest", "smallest above 0"]
    table("The formats", header, lines, caption="None has subnormals.")
    sums = long_sums(args)
    title = "Sums of uniform numbers of mean 1, over the exact sum"
    pivot(title, sums, {"sum": "way"}, "length", lambda record: f"{record['ratio']:.3f}")
    products = dot_products(args)

    def shifted(record: Record) -> str:
        return f"{record['accumulation_snr_db']:.1f} ({-100 * record['accumulation_shrink']:+.2g} %)"

    title = "HFP8 dot products: signal to accumulation noise in dB (mean shift away from zero)"
    pivot(
        title,
        [record | {"at": f"{record['data']}, {record['length']}"} for record in products],
        {"sum": "sum"},
        "at",
        shifted,
    )
    figures(args, biases, sums, products)


def lost(x: NDArray[np.float32], fmt: Any) -> Record:
    """dB, and the shares in % that become zero and that saturate, of numbers rounded as they are."""
    rounded = fmt.decode(fmt.encode(x, overflow="saturate"))
    largest = fmt.decode([fmt.max_magnitude])[0]
    above = 100 * float(np.mean(np.abs(x.astype(np.float64)) > largest))
    return {"snr": signal_to_noise(x, rounded), "zero": 100 * share_lost(x, rounded), "saturated": above}


def long_sums(args: Options) -> list[Record]:
    """Sums by each way over the exact sum, by length: the mean, the least and the most of the vectors.

    The numbers are rounded to 1-6-9 first, and are then what is summed; shorter sums are of the first ones.
    """
    lengths = args.pick([512, 8192], [2**n for n in range(8, 15)], [2**n for n in range(6, 17)])
    fmt = hwsim.get_format("dlfloat16")
    codes = fmt.encode(numbers(MEAN_1, args.pick(1, 64, 256), max(lengths), args.seed))
    values, ones = fmt.decode(codes), fmt.encode(np.ones((max(lengths), 1)))
    records = []
    for way in args.pick(FEW, WAYS, WAYS):
        unit = hwsim.load_unit(way.unit("dlfloat16"))
        for length in lengths:
            returned = hwsim.gemm(unit, codes[:, :length], ones[:length])[:, 0]
            sums = returned if returned.dtype.kind == "f" else unit.output.decode(returned)
            exact = np.array([math.fsum(row) for row in values[:, :length].tolist()])
            ratio = sums.astype(np.float64) / exact
            ends = {"ratio": ratio.mean(), "ratio_low": ratio.min(), "ratio_high": ratio.max()}
            records.append(
                {"way": way.label, "length": length, "drawn": way.chunk in (0, 64) and way != WAYS[9], **ends}
            )
    return records


def dot_products(args: Options) -> list[Record]:
    size = args.pick(2, 16, 64)
    lengths = args.pick([64, 512], [256, 1024, 4096, 16384], [2**n for n in range(6, 16)])
    even = {
        **Way("dlfloat16", "rne", 64).unit("hfp8-e4m3"),
        "evidence": "designed",
        "source": ["Wang et al., NeurIPS 2018"],
    }
    chunks = args.pick(["none", 64], CHUNKS, CHUNKS)
    units = [
        {"unit": "hfp8-forward-e4m3-dlfloat16", "label": "HFP8", "grid": {"interval": chunks}},
        {"unit": even, "label": "RNE", "grid": {"interval": ["none", 64]}},
    ]
    normal = {"distribution": "normal", "deviation": 0.1}
    data = [
        {"a": "normal", "b": normal, "name": "both signs"},
        {"a": "non-negative", "b": {**normal, "mean": 0.05}, "name": "drifting"},
    ]
    sizes: dict[str, Any] = {"rows": size, "columns": size, "trials": args.pick(1, 4, 16), "lengths": lengths}
    points = study({"study": "hfp8-products", "explained": 0, **sizes, "units": units, "data": data}, args)
    for point in points:
        words = "flat" if point["interval"] == "none" else f"chunks of {point['interval']}"
        point["sum"] = words + (", RNE" if point["entry"] == "RNE" else "")
    return points


def figures(args: Options, biases: list[Record], sums: list[Record], products: list[Record]) -> None:
    axes = ("Bias as IBM counts (IEEE 754's less 7)", "Signal to quantisation noise (dB)")
    figure(args, "hfp8-biases", "1-4-3 by bias, without a scale", biases, "bias", "snr", "numbers", titles=axes)
    shown, title = [record for record in sums if record["drawn"]], "Sums of uniform numbers of mean 1 and deviation 1"
    axes = ("Length (numbers)", "Returned / exact sum")
    figure(args, "hfp8-sums", title, shown, "length", "ratio", "way", titles=axes, log_x=2)
    shown, title = (
        [record for record in products if record["interval"] != "512"],
        "HFP8 dot products in 1-6-9, flat and in chunks",
    )
    axes, y = ("Length K (products)", "Signal to accumulation noise (dB)"), "accumulation_snr_db"
    figure(args, "hfp8-products", title, shown, "length", y, "sum", titles=axes, panel="data", log_x=2)


if __name__ == "__main__":
    main()
