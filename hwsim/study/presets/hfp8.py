"""IBM's 8-bit formats by bias and distribution, and sums in 1-6-9 in chunks (Sun et al. 2019; Wang et al. 2018)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.formats import FloatFormat
from hwsim.study.presets.hfp8_sums import LongSum, ratios
from hwsim.study.presets.preset import Context, Page, Records, load_page
from hwsim.study.presets.rounding import by_format, float_format, lost, saturated, signal_to_noise
from hwsim.study.presets.samples import drawn
from hwsim.study.report.contents import StudyReport

NAME = "hfp8"
IEEE_BIAS = 7  # of 4 exponent bits: IBM counts its bias from here
BIASES = tuple(range(-2, 9))  # as IBM counts


def forward(bias: int) -> FloatFormat:
    """1-4-3 with a bias as IBM counts it: 4 is hwsim's hfp8-e4m3, of bias 11 as IEEE 754 counts."""
    fmt = float_format("hfp8-e4m3")
    return fmt.model_copy(update={"name": f"1-4-3 bias {bias}", "bias": IEEE_BIAS + bias})


FORMATS = {"1-4-3 bias 4": forward(4), "1-4-3 bias 0": forward(0), "1-5-2": float_format("hfp8-e5m2")}


def report(context: Context) -> StudyReport:
    """The report: formats by distribution and bias, then sums by length and chunk."""
    plan = load_page(NAME, context.size)
    given = plan.given
    numbers = {
        name: drawn(entry, given["rows"], given["length"], seed=context.seed) for name, entry in given["data"].items()
    }
    tables = {
        "biases": [
            {"numbers": name, "bias": bias} | _errors(x, forward(bias))
            for name, x in numbers.items()
            for bias in BIASES
        ],
        "errors": [
            {"numbers": name, "format": label} | _errors(x, fmt)
            for name, x in numbers.items()
            for label, fmt in FORMATS.items()
        ],
        "formats": [_described(label, fmt) for label, fmt in FORMATS.items()],
        "sums": _sums(plan, context.seed),
        "products": [one | _summed(one) for one in plan.run(context, "products")],
    }
    return plan.report(context, tables)


def _errors(x: NDArray[np.float32], fmt: FloatFormat) -> dict[str, float]:
    rounded = by_format(x, fmt)
    shares = {"zero": 100 * lost(x, rounded), "saturated": 100 * saturated(x, fmt)}
    return {"snr": signal_to_noise(x, rounded), **shares}


def _described(label: str, fmt: FloatFormat) -> dict[str, Any]:
    values = fmt.decode(np.arange(1, fmt.max_magnitude + 1))
    return {"format": label, "bias": fmt.bias, "largest": values[-1], "smallest": values[0] * 2**fmt.bias}


def _sums(plan: Page, seed: int) -> Records:
    """What each way to sum returns over the exact sum, by length: the mean, the least and the most of the vectors."""
    lengths, made = plan.given["lengths"], []
    for way in (LongSum(*one) for one in plan.given["ways"]):
        shown = way.chunk in (None, 64) and (way.rounding, way.chunk) != ("rna", 64)
        for length, found in zip(lengths, ratios(way, lengths, plan.given["vectors"], seed=seed).T, strict=True):
            ends = {"ratio_low": found.min(), "ratio_high": found.max()}
            made.append({"way": way.label, "length": length, "drawn": shown, "ratio": found.mean(), **ends})
    return made


def _summed(point: dict[str, Any]) -> dict[str, Any]:
    """How a point is summed, and by how many % its results are shifted away from zero."""
    words = "flat" if point["interval"] == "none" else f"chunks of {point['interval']}"
    rounding = ", RNE" if point["entry"] == "RNE" else ""
    return {"sum": words + rounding, "away": -100 * point["accumulation_shrink"]}
