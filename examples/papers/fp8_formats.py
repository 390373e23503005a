"""The two FP8 formats' values, biases against scales, and E4M3 against INT8, on a trained transformer's tensors.

Micikevicius et al. 2022, FP8 Formats for Deep Learning, arXiv 2209.05433. The tensors are those of all-MiniLM-L6-v2 on
a page of text; drawn ones in the size tiny, and where its weights are not installed. Prints the tables of
docs/studies/fp8-formats.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from paper import Options, Record, figure, numbers, options, pivot, share_lost, signal_to_noise, table

import hwsim

BIASES, PAPER_BIASES = range(4, 16), (7, 8, 9, 10)
# Rules of weights and of inputs.
QUANTIZED = {"E4M3": ("channel-e4m3", "tensor-e4m3"), "INT8": ("int8-channel", "int8-tensor")}
# arXiv 2209.05433, Table 1: E4M3, then E5M2.
TABLE_1 = {
    "exponent bias": ("7", "15"),
    "infinities": ("none", "S.11111.00"),
    "NaN": ("S.1111.111", "S.11111.{01, 10, 11}"),
    "zeros": ("S.0000.000", "S.00000.00"),
    "max normal": ("S.1111.110 = 1.75 * 2^8 = 448", "S.11110.11 = 1.75 * 2^15 = 57344"),
    "min normal": ("S.0001.000 = 2^-6", "S.00001.00 = 2^-14"),
    "max subnormal": ("S.0000.111 = 0.875 * 2^-6", "S.00000.11 = 0.75 * 2^-14"),
    "min subnormal": ("S.0000.001 = 2^-9", "S.00000.01 = 2^-16"),
}
Matrix = NDArray[Any]
Groups = dict[str, list[Matrix]]


class Loss(NamedTuple):
    """Losses of several tensors: dB of each, and the shares of all numbers, in %, that become zero and saturate."""

    decibels: list[float]
    zero: float
    saturated: float

    @property
    def mean(self) -> float:
        return float(np.mean(self.decibels))

    @property
    def words(self) -> str:
        return f"{self.mean:.1f} (least {min(self.decibels):.1f}; {self.zero:.2g}; {self.saturated:.2g})"


def main(arguments: Sequence[str] | None = None) -> None:
    args = options(__doc__, arguments)
    weights, inputs, residuals = tensors(args)
    e4m3, e5m2 = (described(name) for name in ("e4m3", "e5m2"))
    rows = [
        [name, e4m3[name], e5m2[name], "same" if (e4m3[name], e5m2[name]) == paper else " / ".join(paper)]
        for name, paper in TABLE_1.items()
    ]
    table("The formats' values", ["", "E4M3", "E5M2", "the paper's Table 1"], rows, 4)
    kinds = {"weights": weights, "GEMM inputs": inputs, "residual sums": residuals}
    biases_against_scales(
        args, {kind: [x for group in groups.values() for x in group] for kind, groups in kinds.items()}
    )
    against_int8(weights, inputs)


def tensors(args: Options) -> tuple[Groups, Groups, Groups]:
    """float32 weights (in, out) and what they multiply (tokens, in), by the name of the layer; and residual sums."""
    rows, features = args.pick((64, 128), (512, 384), (512, 384))
    if args.size != "tiny":
        import minilm

        if minilm.installed():
            print("Tensors of all-MiniLM-L6-v2 on a page of text.\n")
            return trained(minilm)
    print("Tensors of drawn numbers: the size is tiny, or the weights of all-MiniLM-L6-v2 are not installed.\n")
    activation = numbers({"distribution": "outliers", "factor": 20}, rows, features, args.seed)
    residual = numbers({"distribution": "outliers", "factor": 100, "deviation": 4}, rows, features, args.seed)
    weight = numbers({"distribution": "normal", "deviation": 0.05}, features, features, args.seed)
    return {"linear": [weight]}, {"linear": [activation]}, {"residual sums": [residual]}


def trained(minilm: Any) -> tuple[Groups, Groups, Groups]:
    """Every linear layer's tensors, and what each residual connection adds up: its branch, and what it went round."""
    factors: dict[tuple[int, str], tuple[Any, Any]] = {}

    def kept(layer: int, name: str, a: Any, b: Any) -> Any:
        factors.setdefault((layer, name), (a, b))
        return a @ b

    minilm.embeddings(minilm.tokens(minilm.page()), kept)
    weights: Groups = {name: [] for name in minilm.LINEAR}
    inputs: Groups = {name: [] for name in minilm.LINEAR}
    sums = []
    for layer in range(minilm.LAYERS):
        for name in minilm.LINEAR:
            a, b = factors[layer, name]
            inputs[name].append(single(a))
            weights[name].append(single(b))
        for name, before in (("attention out", "query"), ("narrower", "wider")):
            a, b = factors[layer, name]
            sums.append(single(a @ b + minilm.linear(layer, name)[1] + factors[layer, before][0]))
    return weights, inputs, {"residual sums": sums}


def single(x: Any) -> Matrix:
    return np.ascontiguousarray(x.numpy(), np.float32)


def biases_against_scales(args: Options, kinds: dict[str, list[Matrix]]) -> None:
    e4m3 = hwsim.get_format("e4m3")
    rows, curves = [], []
    for kind, all_of in kinds.items():

        def at_bias(bias: int, all_of: list[Matrix] = all_of) -> Loss:
            fmt: Any = e4m3.model_copy(update={"name": f"e4m3, bias {bias}", "bias": bias})
            largest = fmt.decode([fmt.max_magnitude])[0]
            above = sum(np.count_nonzero(np.abs(x.astype(np.float64)) > largest) for x in all_of)
            return loss(all_of, lambda x: fmt.decode(fmt.encode(x, overflow="saturate")), int(above))

        fixed = {bias: at_bias(bias) for bias in BIASES}
        scaled = loss(all_of, lambda x: hwsim.quantize(x, "tensor-e4m3").dequantize(), 0)
        best = max(BIASES, key=lambda bias: fixed[bias].mean)
        shown = {f"bias {bias}": fixed[bias].words for bias in PAPER_BIASES}
        shown |= {"best fixed bias": f"{best}: {fixed[best].words}", "scale per tensor": scaled.words}
        rows += [{"kind": kind, "how": how, "cell": words} for how, words in shown.items()]
        curves += [curve(kind, "fixed bias", bias, fixed[bias]) for bias in BIASES]
        curves += [curve(kind, "scale per tensor", bias, scaled) | {"mean_low": np.nan} for bias in BIASES]
    title = "E4M3: mean dB (least of the tensors; % that become zero; % that saturate)"
    pivot(title, rows, {"": "how"}, "kind", lambda record: str(record["cell"]))
    name, title = "fp8-formats-biases", "E4M3 by exponent bias, beside a scale for each tensor"
    look: dict[str, Any] = {"panel": "kind", "dashed": ["scale per tensor"]}
    axes = ("Exponent bias", "Signal to quantisation noise (dB)")
    figure(args, name, title, curves, "bias", "mean", "how", titles=axes, **look)


def curve(kind: str, how: str, bias: int, of: Loss) -> Record:
    ends = {"mean_low": min(of.decibels), "mean_high": max(of.decibels)}
    return {"kind": kind, "how": how, "bias": bias, "mean": of.mean, **ends}


def loss(all_of: Sequence[Matrix], rounded: Callable[[Matrix], Matrix], above: int) -> Loss:
    pairs = [(x, rounded(x)) for x in all_of]
    there = sum(np.count_nonzero(x) for x, _ in pairs)
    zero = sum(share_lost(x, y) * np.count_nonzero(x) for x, y in pairs) / there
    saturated = 100 * above / sum(x.size for x in all_of)
    return Loss([signal_to_noise(x, y) for x, y in pairs], float(100 * zero), saturated)


def against_int8(weights: Groups, inputs: Groups) -> None:
    rows = []
    for layer in weights:
        row: dict[str, list[float]] = {
            f"{part}, {fmt}": [] for part in ("weights", "inputs", "product") for fmt in QUANTIZED
        }
        for weight, x in zip(weights[layer], inputs[layer], strict=True):
            exact = x.astype(np.float64) @ weight.astype(np.float64)
            for fmt, (by_channel, by_tensor) in QUANTIZED.items():
                w = np.asarray(hwsim.quantize(np.ascontiguousarray(weight.T), by_channel).dequantize(), np.float64).T
                y = np.asarray(hwsim.quantize(x, by_tensor).dequantize(), np.float64)
                row[f"weights, {fmt}"].append(signal_to_noise(weight, w))
                row[f"inputs, {fmt}"].append(signal_to_noise(x, y))
                row[f"product, {fmt}"].append(signal_to_noise(exact, y @ w))
        rows.append({"layer": layer, **row})
    heads = [head for head in rows[0] if head != "layer"]
    lines = [
        [str(row["layer"]), *(f"{np.mean(row[head]):.1f} ({min(row[head]):.1f})" for head in heads)] for row in rows
    ]
    caption = """Weights have a scale for each output channel, inputs one for the tensor, from the largest magnitude.
        The
        products are summed in binary64."""
    table(
        "E4M3 against INT8 after training: mean dB of the layers (the least)", ["layer", *heads], lines, caption=caption
    )


def described(name: str) -> dict[str, str]:
    """Table 1 for a format: codes by their bits, values from what they decode to."""
    fmt: Any = hwsim.get_format(name)
    codes = range(1 << fmt.bits - 1)  # of the positive numbers
    values = fmt.decode(np.array(codes))
    finite = [code for code in codes if np.isfinite(values[code])]
    subnormal = [code for code in finite if 0 < code < 1 << fmt.fraction_bits]
    normal = [code for code in finite if code >= 1 << fmt.fraction_bits]

    def bits(code: int) -> tuple[str, str]:
        exponent, fraction = code >> fmt.fraction_bits, code & (1 << fmt.fraction_bits) - 1
        return f"S.{exponent:0{fmt.exponent_bits}b}", f"{fraction:0{fmt.fraction_bits}b}"

    def listed(some: list[int]) -> str:
        """The codes, which share their exponent."""
        fractions = ", ".join(bits(code)[1] for code in some)
        return "none" if not some else f"{bits(some[0])[0]}.{fractions if len(some) == 1 else f'{{{fractions}}}'}"

    def valued(code: int) -> str:
        """The value as m * 2^e: e is the leading bit's, or of a subnormal that is no power of two 1 - bias."""
        mantissa, exponent = np.frexp(values[code])
        significand, power = 2 * float(mantissa), int(exponent) - 1
        if significand != 1 and code in subnormal:
            significand, power = significand * 2.0 ** (power - (1 - fmt.bias)), 1 - fmt.bias
        return f"{'.'.join(bits(code))} = " + (f"2^{power}" if significand == 1 else f"{significand:g} * 2^{power}")

    return {
        "exponent bias": str(fmt.bias),
        "infinities": listed([code for code in codes if np.isinf(values[code])]),
        "NaN": listed([code for code in codes if np.isnan(values[code])]),
        "zeros": listed([code for code in finite if values[code] == 0]),
        "max normal": f"{valued(normal[-1])} = {values[normal[-1]]:g}",
        "min normal": valued(normal[0]),
        "max subnormal": valued(subnormal[-1]),
        "min subnormal": valued(subnormal[0]),
    }


if __name__ == "__main__":
    main()
