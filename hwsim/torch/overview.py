"""The report of a model's measured products: errors by layer and by step, drawn, and a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from hwsim.outputs import refuse_strangers
from hwsim.study.report import StudyReport, write_charts, write_page
from hwsim.study.report.declared import part

Records = Sequence[Mapping[str, Any]]
KINDS = {"quantization": "quantisation", "accumulation": "accumulation"}
PANELS = {"forward": "forward", "input": "gradient of the input", "weight": "gradient of the weight"}
RMS = {"title": "RMS error / RMS of the product", "log": 10}
LAYERS = {
    "chart": "layers",
    "title": "Error of every product, by layer",
    "kind": "points",
    "from": "layers",
    "series": "{kind}",
    "panel": "{panel}",
    "shows": "error",
    "x": {"field": "layer", "title": "Layer", "categories": "layers"},
    "y": RMS,
    "caption": "Mean over {steps} measured steps. A point that is missing is an error of zero.",
}
STEPS = {
    "chart": "steps",
    "title": "Error of products, by step",
    "from": "steps",
    "series": "{kind}",
    "panel": "{panel}",
    "shows": "error",
    "x": {"field": "step", "title": "Step"},
    "y": RMS,
    "caption": "Mean over the layers.",
}
TABLE = {
    "table": "Products by layer",
    "from": "products",
    "rows": {"Layer": "{layer}", "Product": "{product}"},
    "columns": [
        ["M x K x N", "{m} x {k} x {n}"],
        ["Quantisation", "{quantization:error}"],
        ["Accumulation", "{accumulation:error}"],
        ["SNR dB", "{snr_db:decibels}"],
        ["Shrink", "{shrink:error}"],
        ["Saturated %", "{saturated:.2f}"],
        ["To zero %", "{underflowed:.2f}"],
    ],
    "caption": "RMS error over RMS of the exact product, mean over {steps} measured steps. Shrink: how much nearer to "
    "zero sums are than exact ones, of their mean magnitude. Saturated, to zero: of the factor where more numbers are.",
}


def report_of(records: Records, summary: Records, title: str) -> StudyReport:
    """The report of what was measured: `records` of each product, and `summary`, their means by layer and product."""
    steps = sorted({one["step"] for one in records})
    tables = {"layers": _by_layer(summary), "steps": _by_step(records, steps), "products": _products(summary)}
    layers = tuple(dict.fromkeys(_named(one) for one in summary))
    words = {"layers": layers, "steps": len(steps)}
    chosen: list[Mapping[str, Any]] = [LAYERS, *([STEPS] if len(steps) > 1 else []), TABLE]
    return StudyReport(
        name="measured",
        title=title,
        command="",
        verdict=_verdict(summary),
        key=(),
        summary=(),
        parts=tuple(part(one, tables, words) for one in chosen),
        sources=(),
    )


def write_report(report: StudyReport, folder: Path) -> list[Path]:
    """Write figures, as SVG and PNG, and report.html. Returns their paths. Raises ToolMissing, OSError."""
    refuse_strangers(folder / "report.html")  # before there are figures in a folder of somebody else's
    figures = write_charts(report, folder)
    write_page(report, folder / "report.html")
    return [*figures, folder / "report.html"]


def _named(one: Mapping[str, Any]) -> str:
    return one["layer"] or "model"


def _by_layer(summary: Records) -> Records:
    return [
        {"layer": _named(one), "panel": PANELS[one["product"]], "kind": words, "error": one[kind]}
        for kind, words in KINDS.items()
        for one in summary
    ]


def _by_step(records: Records, steps: Sequence[int]) -> Records:
    return [
        {
            "step": step,
            "panel": panel,
            "kind": words,
            "error": fmean(one[kind] for one in records if (one["step"], one["product"]) == (step, product)),
        }
        for product, panel in PANELS.items()
        if any(one["product"] == product for one in records)
        for kind, words in KINDS.items()
        for step in steps
        if any((one["step"], one["product"]) == (step, product) for one in records)
    ]


def _products(summary: Records) -> Records:
    return [
        {
            **one,
            "layer": _named(one),
            "product": PANELS[one["product"]],
            "saturated": 100 * max(one["saturated_a"], one["saturated_b"]),
            "underflowed": 100 * max(one["underflowed_a"], one["underflowed_b"]),
        }
        for one in summary
    ]


def _verdict(summary: Records) -> str:
    worst = {kind: max(summary, key=lambda one: float(one[kind])) for kind in KINDS}
    said = [
        f"{words} is largest in {_named(worst[kind])}, {PANELS[worst[kind]['product']]}: {worst[kind][kind]:.2e}"
        for kind, words in KINDS.items()
    ]
    return f"Error of {'; of '.join(said)}."
