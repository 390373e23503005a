"""The report of a model's measured products: errors by layer and by step, drawn, and a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from hwsim.base.files import refuse_strangers
from hwsim.study.report import Axis, Chart, StudyReport, TextTable, write_charts, write_page
from hwsim.study.report.contents import decibels, scientific, table

Records = Sequence[Mapping[str, Any]]
KINDS = {"quantization": "quantisation", "accumulation": "accumulation"}
PANELS = {"forward": "forward", "input": "gradient of the input", "weight": "gradient of the weight"}
RMS = Axis(title="RMS error / RMS of the product", log=10)


def report_of(records: Records, summary: Records, title: str) -> StudyReport:
    """The report of what was measured: `records` of each product, and `summary`, their means by layer and product."""
    steps = sorted({record["step"] for record in records})
    layers = tuple(dict.fromkeys(_named(record) for record in summary))
    by_layer = Chart(
        name="layers",
        title="Error of every product, by layer",
        kind="points",
        rows=_by_layer(summary),
        x=Axis(title="Layer", categories=layers),
        y=RMS,
        caption=f"Mean over {len(steps)} measured steps. A point that is missing is an error of zero.",
    )
    caption, x = "Mean over the layers.", Axis(title="Step")
    by_step = [
        Chart(
            name="steps", title="Error of products, by step", rows=_by_step(records, steps), x=x, y=RMS, caption=caption
        )
    ]
    return StudyReport(
        name="measured",
        title=title,
        command="",
        verdict=_verdict(summary),
        parts=(by_layer, *(by_step if len(steps) > 1 else ()), _products(summary, len(steps))),
    )


def write_report(report: StudyReport, folder: Path) -> list[Path]:
    """Write figures, as SVG and PNG, and report.html. Returns their paths. Raises ToolMissing, OSError."""
    refuse_strangers(folder / "report.html")  # before there are figures in a folder of somebody else's
    figures = write_charts(report, folder)
    write_page(report, folder / "report.html")
    return [*figures, folder / "report.html"]


def _named(record: Mapping[str, Any]) -> str:
    return record["layer"] or "model"


def _by_layer(summary: Records) -> Records:
    return [
        {"x": _named(record), "panel": PANELS[record["product"]], "series": words, "y": record[kind]}
        for kind, words in KINDS.items()
        for record in summary
    ]


def _by_step(records: Records, steps: Sequence[int]) -> Records:
    errors: dict[tuple[str, str, int], list[float]] = {}
    for product in PANELS:
        for kind in KINDS:
            for record in records:
                if record["product"] == product:
                    errors.setdefault((product, kind, record["step"]), []).append(record[kind])
    order = {step: place for place, step in enumerate(steps)}
    return [
        {"panel": PANELS[product], "series": KINDS[kind], "x": step, "y": fmean(values)}
        for (product, kind, step), values in sorted(errors.items(), key=lambda item: order[item[0][2]])
    ]


def _products(summary: Records, steps: int) -> TextTable:
    def share(measure: str) -> Callable[[Any], str]:
        return lambda record: f"{100 * max(record[f'{measure}_a'], record[f'{measure}_b']):.2f}"

    columns: dict[str, Callable[[Any], str]] = {
        "Layer": _named,
        "Product": lambda record: PANELS[record["product"]],
        "M x K x N": lambda record: f"{record['m']} x {record['k']} x {record['n']}",
        "Quantisation": lambda record: scientific(record["quantization"]),
        "Accumulation": lambda record: scientific(record["accumulation"]),
        "SNR dB": lambda record: decibels(record["snr_db"]),
        "Shrink": lambda record: scientific(record["shrink"]),
        "Saturated %": share("saturated"),
        "To zero %": share("underflowed"),
    }
    caption = (
        f"RMS error over RMS of the exact product, mean over {steps} measured steps. Shrink: how much nearer to zero "
        "sums are than exact ones, of their mean magnitude. Saturated, to zero: of the factor where more numbers are."
    )
    return table("Products by layer", columns, summary, 2, caption)


def _verdict(summary: Records) -> str:
    worst = {kind: max(summary, key=lambda record: float(record[kind])) for kind in KINDS}
    parts = [
        f"{words} is largest in {_named(worst[kind])}, {PANELS[worst[kind]['product']]}: {worst[kind][kind]:.2e}"
        for kind, words in KINDS.items()
    ]
    return f"Error of {'; of '.join(parts)}."
