"""The two FP8 formats, biases against scales, and E4M3 against INT8 (Micikevicius et al. 2022)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from hwsim.formats import FloatFormat
from hwsim.study.intervals import Interval
from hwsim.study.presets.fp8_tensors import Matrix, Tensors, tensors
from hwsim.study.presets.fp8_values import table_of_values
from hwsim.study.presets.preset import Context
from hwsim.study.presets.rounding import Floats, by_format, by_rule, float_format, lost, saturated, signal_to_noise
from hwsim.study.report.contents import Axis, Chart, Series, StudyReport, TextTable
from hwsim.study.report.sweeps import each, grid, series_of

NAME = "fp8-formats"
BIASES = tuple(range(4, 16))
PAPER = (7, 8, 9, 10)
QUANTIZED = (("channel-e4m3", "tensor-e4m3"), ("int8-channel", "int8-tensor"))  # weights, inputs
SOURCES = ("Micikevicius et al. 2022, FP8 Formats for Deep Learning, arXiv 2209.05433",)


class TensorLoss(NamedTuple):
    """Of several tensors: dB of each, and the shares of all their numbers that become zero and that saturate."""

    decibels: tuple[float, ...]
    zero: float
    saturated: float

    @property
    def mean(self) -> float:
        """The mean of the dB."""
        return float(np.mean(self.decibels))

    @property
    def cell(self) -> str:
        """The mean, the least, and both shares in %."""
        shares = f"{100 * self.zero:.2g}; {100 * self.saturated:.2g}"
        return f"{self.mean:.1f} (least {min(self.decibels):.1f}; {shares})"


def report(context: Context) -> StudyReport:
    """The report: the formats' values, biases against scales, E4M3 against INT8."""
    found = tensors(context.size == "tiny")
    kinds = kinds_of(found)
    biases = {kind: {bias: at_bias(all_of, bias) for bias in BIASES} for kind, all_of in kinds.items()}
    scaled = {kind: by_scale(all_of) for kind, all_of in kinds.items()}
    return StudyReport(
        name=NAME,
        title="FP8: values, biases and scales, and INT8",
        command=context.command,
        summary=(f"Tensors of {found.source}.",),
        parts=(
            _chart(biases, scaled),
            table_of_values(),
            _table_of_biases(biases, scaled),
            _table_of_integers(found),
        ),
        sources=SOURCES,
    )


def kinds_of(found: Tensors) -> dict[str, list[Matrix]]:
    """The tensors by what they are: weights, what they multiply, residual sums."""
    parts = {"weights": found.weights, "GEMM inputs": found.activations, "residual sums": found.residuals}
    return {kind: [x for group in groups.values() for x in group] for kind, groups in parts.items()}


def with_bias(bias: int) -> FloatFormat:
    """E4M3 with another bias."""
    return float_format("e4m3").model_copy(update={"name": f"e4m3, bias {bias}", "bias": bias})


def at_bias(all_of: Sequence[Matrix], bias: int) -> TensorLoss:
    """What E4M3 of that bias loses, without a scale."""
    fmt = with_bias(bias)
    above = sum(saturated(x, fmt) * x.size for x in all_of) / sum(x.size for x in all_of)
    return _loss(all_of, lambda x: by_format(x, fmt), above)


def by_scale(all_of: Sequence[Matrix]) -> TensorLoss:
    """What E4M3 loses with a scale for each tensor, which takes its largest number to 448."""
    return _loss(all_of, lambda x: by_rule(x, "tensor-e4m3"), 0.0)


def _loss(all_of: Sequence[Matrix], rounded: Callable[[Matrix], Floats], above: float) -> TensorLoss:
    pairs = [(x, rounded(x)) for x in all_of]
    zero = sum(lost(x, y) * np.count_nonzero(x) for x, y in pairs) / sum(np.count_nonzero(x) for x, _ in pairs)
    return TensorLoss(tuple(signal_to_noise(x, y) for x, y in pairs), float(zero), above)


def _table_of_biases(biases: Mapping[str, Mapping[int, TensorLoss]], scaled: Mapping[str, TensorLoss]) -> TextTable:
    def cell(bias: int | str, kind: str) -> str:
        if bias == "scaled":
            return scaled[kind].cell
        if bias == "best":
            best = max(BIASES, key=lambda one: biases[kind][one].mean)
            return f"{best}: {biases[kind][best].cell}"
        return biases[kind][int(bias)].cell

    rows: dict[str, int | str] = {f"bias {bias}": bias for bias in PAPER}
    return grid(
        "E4M3: mean dB (least of the tensors; % that become zero; % that saturate)",
        ("",),
        rows | {"best fixed bias": "best", "scale per tensor": "scaled"},
        each(biases),
        cell,
    )


def _table_of_integers(found: Tensors) -> TextTable:
    """For each linear layer: dB of E4M3 and INT8, of weights, of what they multiply, and of the product."""

    def noises(name: str) -> Iterator[tuple[float, ...]]:
        for weight, x in zip(found.weights[name], found.activations[name], strict=True):
            exact = x.astype(np.float64) @ weight.astype(np.float64)
            rounded = [
                (by_rule(np.ascontiguousarray(weight.T), by_channel).T, by_rule(x, by_tensor))
                for by_channel, by_tensor in QUANTIZED
            ]
            yield (
                *(signal_to_noise(weight, w) for w, _ in rounded),
                *(signal_to_noise(x, y) for _, y in rounded),
                *(signal_to_noise(exact, y @ w) for w, y in rounded),
            )

    columns = {name: list(zip(*noises(name), strict=True)) for name in found.weights}
    heads = [f"{what}, {fmt}" for what in ("weights", "inputs", "product") for fmt in ("E4M3", "INT8")]
    return grid(
        "E4M3 against INT8 after training: mean dB of the layers (the least)",
        ("layer",),
        columns,
        {head: at for at, head in enumerate(heads)},
        lambda of, at: f"{np.mean(of[at]):.1f} ({min(of[at]):.1f})",
        caption="Weights have a scale for each output channel, inputs one for the tensor, from the largest magnitude. "
        "The products are summed in binary64.",
    )


def _chart(biases: Mapping[str, Mapping[int, TensorLoss]], scaled: Mapping[str, TensorLoss]) -> Chart:
    series: list[Series] = []
    for kind, of in biases.items():
        fixed = [Interval(loss.mean, min(loss.decibels), max(loss.decibels)) for loss in of.values()]
        series.append(series_of("fixed bias", of, fixed, panel=kind))
        level = [scaled[kind].mean] * len(of)
        series.append(series_of("scale per tensor", of, level, dashed=True, panel=kind))
    return Chart(
        name="fp8-formats-biases",
        title="E4M3 by exponent bias, beside a scale for each tensor",
        series=tuple(series),
        caption="Means of the tensors; bands: the worst and the best tensor. The paper trains with biases 7 to 10.",
        x=Axis(title="Exponent bias"),
        y=Axis(title="Signal to quantisation noise (dB)"),
    )
