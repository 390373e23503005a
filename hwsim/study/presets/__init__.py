"""Studies that papers have made, by name."""

from __future__ import annotations

from functools import partial
from importlib import import_module

from hwsim.study.presets.context import Context, Preset, Size
from hwsim.study.report import Report

__all__ = ["PRESETS", "Context", "Preset", "Size"]

# The module that makes each report: imported when it is asked for.
_TITLES = {
    "deepseek-2pct": "What a 14-bit accumulator loses at K = 4096, and what promotion brings back",
    "snr-vector-length": "FP8 dot products by length: scales, chunks and accumulators",
    "fp8-formats": "E4M3 and E5M2, exponent biases against scales, E4M3 against INT8",
    "hfp8": "1-4-3 with a bias of its own, and chunks in 1-6-9",
    "flexible-fp8": "How many of eight bits the exponent should have",
    "mx": "The MX formats, their scale rules and block sizes",
    "silicon": "The same matrix product on every GPU",
    "real-model": "A trained transformer on each unit",
}


def _report(module: str, context: Context) -> Report:
    made: Report = import_module(f"hwsim.study.presets.{module}").report(context)
    return made


PRESETS = {
    name: Preset(name, title, partial(_report, name.replace("-", "_"))) for name, title in _TITLES.items()
}
