"""A trained transformer and a small network for digits on each unit: which error is seen in what they say.

Every matrix product goes through the unit; what stands between the products is binary64, in which the reference is
computed too. Three passes tell the errors apart: quantised factors multiplied exactly (quantisation), exact products
args the unit's error in summing the quantised ones (accumulation), and the unit as it is (both). all-MiniLM-L6-v2
embeds sentences by Lincoln and Darwin; the digits are scikit-learn's. Prints the tables of docs/studies/real-model.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise
from statistics import fmean
from typing import Any, NamedTuple

import minilm
import numpy as np
import torch
from numpy.typing import NDArray
from paper import Options, figure, on_all_cores, options, scientific, table
from torch import Tensor
from torch.nn import functional

import hwsim
from hwsim.study import interval

KINDS = {"quantization": "quantisation", "accumulation": "accumulation", "total": "both"}
SIZES = ("tiny", "quick", "full")
LENGTHS = {"scores": "32", "context": "tokens", "narrower": "1536"}  # K of the transformer's products; 384 of others
NEIGHBOURS = 5
EVEN = {"format": "dlfloat16", "rounding": "rne"}
HFP8_EVEN = {
    "unit": "hfp8-forward-even", "operands": {"a": "hfp8-e4m3", "b": "hfp8-e4m3", "addend": "dlfloat16"},
    "instruction": {"k": 64, "lanes": 1}, "sum": {"method": "sequential", "product": "fused", **EVEN},
    "result": {**EVEN, "overflow": "nan"}, "promotion": {"interval": 64, "operation": "add", **EVEN},
}  # fmt: skip
Forward = Callable[[minilm.Product], Tensor]
Where = tuple[int, str]


class Entry(NamedTuple):
    """A unit and the rules by which activations (A and B) and weights become codes, and the least size that has it."""

    label: str
    unit: Any
    scaling: str
    rules: tuple[str, str, str]
    size: str = "quick"


def same(label: str, unit: str, rule: str, scaling: str = "block", size: str = "quick") -> Entry:
    return Entry(label, unit, scaling, (rule, rule, rule), size)


def tensors(label: str, unit: str, size: str = "quick") -> Entry:
    return Entry(label, unit, "tensor / channel", ("tensor", "tensor", "channel"), size)


UNITS = (
    same("BF16 Hopper", "hopper-mma-bf16-f32", "direct", "direct"),
    tensors("Hopper", "hopper-wgmma-e4m3-f32", "tiny"),
    tensors("Hopper promoted", "deepseek-v3-e4m3-f32", "tiny"),
    Entry("DeepSeek-V3", "deepseek-v3-e4m3-f32-scaled", "1x128 / 128x128",
          ("deepseek-v3-1x128", "deepseek-v3-128x128", "deepseek-v3-128x128")),
    same("HFP8", "hfp8-forward-e4m3-dlfloat16", "direct", "direct", "tiny"),
    Entry("HFP8 ties to even", HFP8_EVEN, "direct", ("direct",) * 3),
    tensors("INT8", "int8-i32"),
    same("MXFP8 E4M3", "mxfp8-e4m3-f32", "mxfp8-e4m3"),
    same("MXFP8 ceil", "mxfp8-e4m3-f32", "mxfp8-e4m3 ceil", "block, ceil"),
    same("MXFP6 E2M3", "mxfp6-e2m3-f32", "mxfp6-e2m3"),
    same("MXFP6 E3M2", "mxfp6-e3m2-f32", "mxfp6-e3m2"),
    same("MXFP4", "mxfp4-e2m1-f32", "mxfp4-e2m1"),
    same("NVFP4", "blackwell-mxf4nvf4-e2m1-f32", "nvfp4", "nvfp4"),
    tensors("E4M3 exact sums", "exact-e4m3-f32", "full"),
    same("Hopper unscaled", "hopper-wgmma-e4m3-f32", "direct", "direct", "full"),
    tensors("Hopper E5M2", "hopper-wgmma-e5m2-f32", "full"),
    tensors("HFP8 scaled", "hfp8-forward-e4m3-dlfloat16", "full"),
    same("MXFP8 E5M2", "mxfp8-e5m2-f32", "mxfp8-e5m2", size="full"),
    same("MXINT8", "mxint8-f32", "mxint8", size="full"),
)  # fmt: skip


class Errors(NamedTuple):
    """Sums over all elements of a product: squares of the exact ones and of each error, magnitudes, shrink."""

    signal: float
    quantization: float
    accumulation: float
    total: float
    magnitude: float
    towards_zero: float

    def relative(self, kind: str) -> float:
        return math.sqrt(getattr(self, kind) / self.signal) if self.signal else 0.0

    @property
    def shrink(self) -> float:
        """How much nearer to zero accumulation leaves sums, of their mean magnitude."""
        return self.towards_zero / self.magnitude if self.magnitude else 0.0


class Measured(NamedTuple):
    """A network's results with each kind of error, and the errors of its products by layer and name."""

    returned: dict[str, Tensor]
    products: dict[Where, Errors]


class Unit:
    """A `minilm.Product` by a unit, with one kind of error or both. errors: summed up where sums alone are wrong."""

    def __init__(self, entry: Entry, kind: str):
        self.unit: Any = hwsim.load_unit(entry.unit)
        self.rules, self.kind, self.errors = entry.rules, kind, dict[Where, Errors]()

    def __call__(self, layer: int, name: str, a: Tensor, b: Tensor) -> Tensor:
        exact, weight = a @ b, name not in ("scores", "context")
        x, y = self.filled(a.numpy(), -1), self.filled(b.numpy(), -2)
        of_a = self.quantized(x, self.rules[0], "a", -1)
        of_b = self.quantized(y, self.rules[2 if weight else 1], "b", -2)
        factor = of_a[3] * of_b[3]
        quantized = torch.from_numpy(of_a[2] @ of_b[2] * factor)
        if self.kind == "quantization":
            return quantized
        results = hwsim.gemm(self.unit, of_a[0], of_b[0], None, of_a[1], of_b[1])
        sums = results.astype(np.float64) if results.dtype.kind == "f" else self.unit.output.decode(results)
        returned = torch.from_numpy(sums * factor)
        if self.kind == "total":
            return returned
        lost = quantized - returned
        squares = ((exact**2).sum(), ((quantized - exact) ** 2).sum(), (lost**2).sum(), ((returned - exact) ** 2).sum(),
                 quantized.abs().sum(), (lost * quantized.sign()).sum())  # fmt: skip
        before = self.errors.get((layer, name), (0.0,) * len(squares))
        self.errors[layer, name] = Errors(*(total + float(more) for total, more in zip(before, squares, strict=True)))
        return exact - lost

    def filled(self, x: NDArray[Any], axis: int) -> NDArray[Any]:
        """With zeros along K up to a whole number of blocks of scales."""
        if self.unit.scale is None:
            return x
        widths = [(0, 0)] * x.ndim
        widths[axis] = 0, -x.shape[axis] % math.lcm(self.unit.scale.a.block[1], self.unit.scale.b.block[0])
        return np.pad(x, widths)

    def quantized(self, x: NDArray[Any], rule: str, side: str, axis: int) -> tuple[Any, Any, NDArray[Any], Any]:
        """Codes, the scales that the unit takes, what both are worth, and what multiplies its results besides."""
        fmt, numbers = getattr(self.unit.operands, side), x.astype(np.float32)
        if rule == "direct":
            codes = fmt.encode(numbers, overflow="saturate")
            return codes, None, fmt.decode(codes), 1.0
        if rule in ("tensor", "channel"):
            block = (None if rule == "tensor" else 1, None)
            quantized = hwsim.quantize(numbers, "deepseek-v3-1x128", axis, element=fmt, block=block)
            return quantized.codes, None, fmt.decode(quantized.codes), quantized.scales.astype(np.float64)
        name, _, select = rule.partition(" ")
        quantized = hwsim.quantize(numbers, name, axis, **({"select": select} if select else {}))
        factor = 1.0 if quantized.tensor_scale is None else float(quantized.tensor_scale)
        scales = (
            quantized.scales if quantized.scales.dtype.kind == "f" else quantized.scale_format.decode(quantized.scales)
        )
        for dimension, size in enumerate(quantized.block[-2:], x.ndim - 2):
            scales = np.repeat(scales, size, axis=dimension).take(range(x.shape[dimension]), axis=dimension)
        return quantized.codes, quantized.scales, fmt.decode(quantized.codes) * scales.astype(np.float64), factor


def measured(entry: Entry, network: str, args: Options) -> Measured:
    """A network of a name on a unit: three passes."""
    torch.set_num_threads(1)
    forward = NETWORKS[network](args)
    products = {kind: Unit(entry, kind) for kind in KINDS}
    with torch.no_grad():
        returned = {kind: forward(product) for kind, product in products.items()}
    return Measured(returned, products["accumulation"].errors)


def sentences(args: Options) -> list[list[int]]:
    """The token numbers of those that have at most so many: the quick form has 12 of the page's 44."""
    return [ids for ids in minilm.tokens(minilm.page()) if len(ids) <= args.pick(0, 19, 512)]


def digits(seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Handwritten digits of 8 x 8 pixels from 0 to 1, and which they are; to train on, and 360 to test."""
    from sklearn.datasets import load_digits

    pixels, labels = (torch.from_numpy(array) for array in load_digits(return_X_y=True))
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))
    pixels, labels = pixels[order] / 16, labels[order]
    return pixels[360:], labels[360:], pixels[:360], labels[:360]


def perceptron(args: Options) -> Forward:
    """Logits of digits that it has not seen, by a network that is trained now, in binary64; weights are binary32's."""
    x, labels, unseen, _ = digits(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    layers = []
    for before, after in pairwise((64, 256, 128, 10)):
        weight = torch.randn(before, after, generator=generator, dtype=torch.float64) * (2 / before) ** 0.5
        layers.append((weight.requires_grad_(), torch.zeros(after, dtype=torch.float64, requires_grad=True)))

    def logits(layers: Sequence[tuple[Tensor, Tensor]], x: Tensor, product: minilm.Product) -> Tensor:
        for layer, (weight, bias) in enumerate(layers):
            x = product(layer, "linear", x if layer == 0 else x.relu(), weight) + bias
        return x

    optimizer = torch.optim.SGD([parameter for layer in layers for parameter in layer], lr=0.05, momentum=0.9)
    for _ in range(15):
        for batch in torch.randperm(len(x), generator=generator).split(64):
            optimizer.zero_grad()
            functional.cross_entropy(logits(layers, x[batch], minilm.exact), labels[batch]).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    single = [(weight.detach().float().double(), bias.detach().float().double()) for weight, bias in layers]
    return partial(logits, single, unseen[: args.pick(96, 360, 360)])


NETWORKS: dict[str, Callable[[Options], Forward]] = {
    "digits": perceptron,
    "sentences": lambda args: partial(minilm.embeddings, sentences(args)),
}


def main(arguments: Sequence[str] | None = None) -> None:
    args = options(__doc__, arguments)
    units = [entry for entry in UNITS if SIZES.index(entry.size) <= SIZES.index(args.size)]

    def all_of(network: str) -> tuple[dict[str, Measured], Tensor]:
        outputs = on_all_cores(measured, [(entry, network, args) for entry in units], args.size != "tiny")
        torch.set_num_threads(1)
        return {entry.label: output for entry, output in zip(units, outputs, strict=True)}, NETWORKS[network](args)(
            minilm.exact
        )

    if args.size != "tiny":
        outputs, reference = all_of("sentences")
        ids, index = sentences(args), minilm.tokens(minilm.page())
        expected, page = neighbours(reference, ids, index), minilm.embeddings(index)
        rows = []
        for entry in units:
            both = outputs[entry.label].returned["total"]
            near = neighbours(both, ids, index, page)
            turned = (functional.normalize(both, dim=-1) - functional.normalize(reference, dim=-1)).square().sum(-1) / 2
            nearest = int((near[:, 0] == expected[:, 0]).sum())
            common = sum(
                len(set(ours) & set(theirs)) for ours, theirs in zip(near.tolist(), expected.tolist(), strict=True)
            )
            cells = [
                scientific(float(turned.mean())),
                f"{nearest} of {len(ids)}",
                f"{common} of {len(ids) * NEIGHBOURS}",
            ]
            rows.append([entry.label, entry.scaling, *reaches(outputs[entry.label], reference), *cells])
        header = ["Unit", "Scaling", "Quantisation", "Accumulation", "Both", "1 - cosine", "Nearest", "Nearest 5"]
        caption = """Error: distance of an embedding from its reference, of the reference's length; mean over the
            sentences,
            with the reach of its 95 % t interval. 1 - cosine: mean, of both errors. Nearest: sentences with the same
            nearest neighbour on the page as in the reference; Nearest 5: of the five nearest, how many are the same.
            Scaling: of activations / of weights."""
        table("Embeddings by unit", header, rows, 2, caption)
        inside(args, outputs)
        by_kind(args, "real-model-embeddings", "Error of sentence embeddings by unit", outputs, reference)
    outputs, reference = all_of("digits")
    labels, rows = digits(args.seed)[3][: len(reference)], []
    for entry in units:
        read = outputs[entry.label].returned["total"].argmax(-1)
        shares = [100 * float((read == of).double().mean()) for of in (labels, reference.argmax(-1))]
        words = [f"{share:.1f} %" for share in shares]
        rows.append([entry.label, entry.scaling, *reaches(outputs[entry.label], reference), *words])
    caption = """Error: distance of the ten logits from their reference, of the reference's length; mean over the
        digits, with
        the reach of its 95 % t interval. Right: digits read right; Same: read as in the reference."""
    header = ["Unit", "Scaling", "Quantisation", "Accumulation", "Both", "Right", "Same"]
    table("Digits by unit", header, rows, 2, caption)
    by_kind(args, "real-model-digits", "Error of the logits of a small network for digits, by unit", outputs, reference)


def neighbours(embeddings: Tensor, ids: Any, index: Any, page: Tensor | None = None) -> Tensor:
    """The places of the nearest five sentences of the page by cosine, themselves left out."""
    itself = torch.tensor([[sentence == other for other in index] for sentence in ids])
    near = functional.normalize(embeddings, dim=-1) @ (minilm.embeddings(index) if page is None else page).T
    return near.masked_fill(itself, -math.inf).argsort(dim=-1, descending=True, stable=True)[:, :NEIGHBOURS]


def distances(returned: Tensor, reference: Tensor) -> list[float]:
    return [float(x) for x in (returned - reference).norm(dim=-1) / reference.norm(dim=-1)]


def reaches(output: Measured, reference: Tensor) -> list[str]:
    intervals = [interval(distances(output.returned[kind], reference), 0.95) for kind in KINDS]
    return [f"{mean:.1e} ± {high - mean:.0e}" if mean else "0" for mean, _, high in intervals]


def together(errors: Iterable[Errors], kind: str) -> float:
    """Root mean square of relative errors: of all layers alike."""
    return math.sqrt(fmean(error.relative(kind) ** 2 for error in errors))


def inside(args: Options, outputs: dict[str, Measured]) -> None:
    """Errors of the transformer's products."""
    by_name: dict[str, dict[str, list[Errors]]] = {}
    for label, output in outputs.items():
        for (_, name), errors in output.products.items():
            by_name.setdefault(label, {}).setdefault(name, []).append(errors)
    rows = []
    for name, plain in by_name["Hopper"].items():
        promoted = by_name["Hopper promoted"][name]
        worst = max(range(len(plain)), key=lambda layer: plain[layer].relative("accumulation"))
        sums, fewer = (together(errors, "accumulation") for errors in (plain, promoted))
        words = f"{scientific(plain[worst].relative('accumulation'))} (layer {worst + 1})"
        shrinks = [scientific(fmean(error.shrink for error in errors)) for errors in (plain, promoted)]
        errors_of = [scientific(error) for error in (together(plain, "quantization"), sums, fewer)]
        rows.append([name, LENGTHS.get(name, "384"), *errors_of, f"{sums / fewer:.1f}", words, *shrinks])
    heads = ["Quantisation", "Accumulation", "Promoted", "Ratio", "Worst layer", "Shrink", "Shrink promoted"]
    caption = """RMS error of a product over its RMS, root mean square over the layers. Ratio: accumulation over
        accumulation
        promoted. Shrink: by how much sums are too near to zero, of their mean magnitude; mean over the layers."""
    title = "Products of the transformer on Hopper, with and without promotion"
    table(title, ["Product", "K", *heads], rows, caption=caption)
    rows = []
    for label, output in outputs.items():
        cells = []
        for kind in ("quantization", "accumulation"):
            (layer, name), errors = max(output.products.items(), key=lambda item: item[1].relative(kind))
            largest = errors.relative(kind)
            worst_of = f"{scientific(largest)} ({layer + 1} {name})" if largest else "0"
            cells += [scientific(together(output.products.values(), kind)), worst_of]
        rows.append([label, *cells, scientific(fmean(errors.shrink for errors in output.products.values()))])
    caption = """RMS error over RMS of a product: root mean square over all products, and the largest with its layer and
        name. Shrink: as above; below zero, sums are too far from zero."""
    header = ["Unit", "Quantisation", "Worst", "Accumulation", "Worst", "Shrink"]
    table("Products of the transformer by unit", header, rows, caption=caption)
    shown = {"quantisation to E4M3": ("Hopper", "quantization"), "accumulation, Hopper": ("Hopper", "accumulation"),
             "accumulation, Hopper promoted": ("Hopper promoted", "accumulation")}  # fmt: skip
    layers = [
        {"what": what, "product": name, "layer": layer + 1, "error": output.relative(kind)}
        for what, (label, kind) in shown.items()
        for (layer, name), output in outputs[label].products.items()
    ]
    look: dict[str, Any] = {"titles": ("Layer", "RMS error / RMS of the product"), "log_y": 10}
    title = "Error of every product of the transformer, by layer"
    figure(args, "real-model-layers", title, layers, "layer", "error", "what", panel="product", columns=4, **look)


def by_kind(args: Options, name: str, title: str, outputs: dict[str, Measured], reference: Tensor) -> None:
    records = []
    for kind, words in KINDS.items():
        for label, output in outputs.items():
            mean, low, high = interval(distances(output.returned[kind], reference), 0.95)
            records.append({"kind": words, "unit": label, "error": mean, "error_low": low, "error_high": high})
    look: dict[str, Any] = {"titles": ("Unit", "Distance / length"), "kind": "points", "log_y": 10}
    figure(args, name, title, records, "unit", "error", "kind", **look)


if __name__ == "__main__":
    main()
