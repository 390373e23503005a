"""The two FP8 formats, biases against scales, and E4M3 against INT8 (Micikevicius et al. 2022)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from hwsim.formats import FloatFormat, get_format
from hwsim.study.presets.fp8_tensors import Matrix, Tensors, tensors
from hwsim.study.presets.fp8_values import table_of_values
from hwsim.study.presets.preset import Context, Preset
from hwsim.study.presets.rounding import Floats, by_format, by_rule, lost, saturated, signal_to_noise
from hwsim.study.report.contents import Axis, Chart, Series, StudyReport, TextTable

BIASES = tuple(range(4, 16))
PAPER = (7, 8, 9, 10)
QUANTIZED = (("channel-e4m3", "tensor-e4m3"), ("int8-channel", "int8-tensor"))  # weights, inputs
SOURCES = ("Micikevicius et al. 2022, FP8 Formats for Deep Learning, arXiv 2209.05433",)
NOISE = "Signal to quantisation noise (dB)"


class TensorLoss(NamedTuple):
    """Of several tensors: dB of each, and the shares of all their numbers that become zero and that saturate."""

    decibels: tuple[float, ...]
    zero: float
    saturated: float

    @property
    def cell(self) -> str:
        """The mean, the least, and both shares in %."""
        shares = f"{100 * self.zero:.2g}; {100 * self.saturated:.2g}"
        return f"{np.mean(self.decibels):.1f} (least {min(self.decibels):.1f}; {shares})"


def report(context: Context) -> StudyReport:
    """The report: the formats' values, biases against scales, E4M3 against INT8."""
    found = tensors(context.size == "tiny")
    kinds = kinds_of(found)
    biases = {kind: {bias: at_bias(all_of, bias) for bias in BIASES} for kind, all_of in kinds.items()}
    scaled = {kind: by_scale(all_of) for kind, all_of in kinds.items()}
    return StudyReport(
        name=PRESET.name, title=PRESET.title, command=context.command,
        summary=(f"Tensors of {found.source}.",),
        parts=(
            _biases(biases, scaled, context.command), table_of_values(), table_of_biases(biases, scaled),
            table_of_integers(found),
        ),
        sources=SOURCES,
    )  # fmt: skip


def kinds_of(found: Tensors) -> dict[str, list[Matrix]]:
    """The tensors by what they are: weights, what they multiply, residual sums."""
    parts = {"weights": found.weights, "GEMM inputs": found.activations, "residual sums": found.residuals}
    return {kind: [x for group in groups.values() for x in group] for kind, groups in parts.items()}


def with_bias(bias: int) -> FloatFormat:
    """E4M3 with another bias."""
    fmt = get_format("e4m3")
    assert isinstance(fmt, FloatFormat)
    return fmt.model_copy(update={"name": f"e4m3, bias {bias}", "bias": bias})


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


def table_of_biases(biases: dict[str, dict[int, TensorLoss]], scaled: dict[str, TensorLoss]) -> TextTable:
    """A row a bias, a column a kind of tensor."""
    rows = [(f"bias {bias}", *(of[bias].cell for of in biases.values())) for bias in PAPER]
    best = [max(of, key=lambda bias: float(np.mean(of[bias].decibels))) for of in biases.values()]
    cells = (f"{bias}: {of[bias].cell}" for bias, of in zip(best, biases.values(), strict=True))
    rows.append(("best fixed bias", *cells))
    rows.append(("scale per tensor", *(one.cell for one in scaled.values())))
    return TextTable(
        title="E4M3: mean dB (least of the tensors; % that become zero; % that saturate)", header=("", *biases),
        rows=tuple(rows), right=(1, 2, 3),
    )  # fmt: skip


def table_of_integers(found: Tensors) -> TextTable:
    """A row a linear layer: dB of E4M3 and INT8, of weights, of what they multiply, and of the product."""
    rows = []
    for name in found.weights:
        columns: list[list[float]] = [[] for _ in range(6)]
        for weight, x in zip(found.weights[name], found.activations[name], strict=True):
            exact = x.astype(np.float64) @ weight.astype(np.float64)
            for at, (by_channel, by_tensor) in enumerate(QUANTIZED):
                w, y = by_rule(np.ascontiguousarray(weight.T), by_channel).T, by_rule(x, by_tensor)
                of = (signal_to_noise(weight, w), signal_to_noise(x, y), signal_to_noise(exact, y @ w))
                for place, value in enumerate(of):
                    columns[2 * place + at].append(value)
        rows.append((name, *(f"{np.mean(column):.1f} ({min(column):.1f})" for column in columns)))
    header = [f"{what}, {fmt}" for what in ("weights", "inputs", "product") for fmt in ("E4M3", "INT8")]
    return TextTable(
        title="E4M3 against INT8 after training: mean dB of the layers (the least)", header=("layer", *header),
        rows=tuple(rows), right=tuple(range(1, 7)),
        caption="Weights have a scale for each output channel, inputs one for the tensor, from the largest magnitude. "
        "The products are summed in binary64.",
    )  # fmt: skip


def _biases(biases: dict[str, dict[int, TensorLoss]], scaled: dict[str, TensorLoss], command: str) -> Chart:
    series, x = [], tuple(map(float, BIASES))
    for kind, of in biases.items():
        lines = [of[bias].decibels for bias in BIASES]
        series.append(
            Series(
                label="fixed bias", x=x, y=tuple(float(np.mean(one)) for one in lines), panel=kind,
                low=tuple(map(min, lines)), high=tuple(map(max, lines)),
            )
        )  # fmt: skip
        level = float(np.mean(scaled[kind].decibels))
        series.append(Series(label="scale per tensor", x=x, y=(level,) * len(x), dashed=True, panel=kind))
    return Chart(
        name="fp8-formats-biases", title="E4M3 by exponent bias, beside a scale for each tensor", series=tuple(series),
        caption="Means of the tensors; bands: the worst and the best tensor. The paper trains with biases 7 to 10.",
        x=Axis(title="Exponent bias"), y=Axis(title=NOISE), command=command,
    )  # fmt: skip


PRESET = Preset(
    "fp8-formats", "FP8: values, biases and scales, and INT8", "Micikevicius et al. 2022, arXiv 2209.05433", report
)
