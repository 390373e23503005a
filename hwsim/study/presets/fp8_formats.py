"""The two FP8 formats, biases against scales, and E4M3 against INT8 (Micikevicius et al. 2022)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from hwsim.formats import FloatFormat
from hwsim.study.presets.fp8_tensors import Matrix, Tensors, tensors
from hwsim.study.presets.fp8_values import values
from hwsim.study.presets.preset import Context, Records, load_page
from hwsim.study.presets.rounding import Floats, by_format, by_rule, float_format, lost, saturated, signal_to_noise
from hwsim.study.report.contents import StudyReport
from hwsim.study.report.declared import Record

NAME = "fp8-formats"
BIASES = tuple(range(4, 16))
PAPER = (7, 8, 9, 10)
# Rules of weights and of inputs.
QUANTIZED = {"E4M3": ("channel-e4m3", "tensor-e4m3"), "INT8": ("int8-channel", "int8-tensor")}


class TensorLoss(NamedTuple):
    """Of several tensors: dB of each, and the shares of all their numbers that become zero and that saturate."""

    decibels: tuple[float, ...]
    zero: float
    saturated: float

    @property
    def mean(self) -> float:
        """The mean of the dB."""
        return float(np.mean(self.decibels))


def report(context: Context) -> StudyReport:
    """The report: the formats' values, biases against scales, E4M3 against INT8."""
    found = tensors(context.size == "tiny", context.seed)
    curves, biases = [], []
    for kind, all_of in kinds_of(found).items():
        fixed, scaled = {bias: at_bias(all_of, bias) for bias in BIASES}, by_scale(all_of)
        curves += [{"kind": kind, "how": "fixed bias", "bias": bias, **_shown(loss)} for bias, loss in fixed.items()]
        level = {"kind": kind, "how": "scale per tensor", "mean": scaled.mean}
        curves += [level | {"bias": bias} for bias in BIASES]
        best = max(BIASES, key=lambda one: fixed[one].mean)
        rows = {f"bias {bias}": fixed[bias] for bias in PAPER}
        rows |= {"best fixed bias": fixed[best], "scale per tensor": scaled}
        biases += [
            {"kind": kind, "how": how, "best": f"{best}: " if how.startswith("best") else "", **_shown(loss)}
            for how, loss in rows.items()
        ]
    tables: dict[str, Sequence[Record]] = {
        "curves": curves,
        "values": values(),
        "biases": biases,
        "layers": _layers(found),
    }
    return load_page(NAME, context.size).report(context, tables, source=found.source)


def _shown(loss: TensorLoss) -> dict[str, float]:
    """The mean, least and most dB, and both shares in %."""
    return {
        "mean": loss.mean,
        "mean_low": min(loss.decibels),
        "mean_high": max(loss.decibels),
        "zero": 100 * loss.zero,
        "saturated": 100 * loss.saturated,
    }


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


def _layers(found: Tensors) -> Records:
    """For each kind of layer: dB of E4M3 and INT8, of weights, of what they multiply, and of the product."""
    decibels: dict[tuple[str, str, str], list[float]] = {}
    for layer, weights in found.weights.items():
        for what in ("weights", "inputs", "product"):
            decibels |= {(layer, what, fmt): [] for fmt in QUANTIZED}
        for weight, x in zip(weights, found.activations[layer], strict=True):
            exact = x.astype(np.float64) @ weight.astype(np.float64)
            for fmt, (by_channel, by_tensor) in QUANTIZED.items():
                w, y = by_rule(np.ascontiguousarray(weight.T), by_channel).T, by_rule(x, by_tensor)
                decibels[layer, "weights", fmt].append(signal_to_noise(weight, w))
                decibels[layer, "inputs", fmt].append(signal_to_noise(x, y))
                decibels[layer, "product", fmt].append(signal_to_noise(exact, y @ w))
    return [
        {"layer": layer, "what": what, "format": fmt, "mean": np.mean(of), "least": min(of)}
        for (layer, what, fmt), of in decibels.items()
    ]
