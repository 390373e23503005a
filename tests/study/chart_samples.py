"""Charts, tables and points of a study, made up: every kind of chart, and names that try to be markup."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from hwsim.study.report import Axis, Chart, KeyNumber, Reference, Series, StudyReport, TextTable

COMMAND = "hwsim study --unit hopper-wgmma-e4m3-f32 --grid interval=none,128 --length 512 -o out"
NASTY = "<script>alert(1)</script>{{ 7*7 }}&amp;\"'</style>"
LENGTHS = (512, 1024, 4096)
WORDS = ("normal", "uniform", "student-t, 2 degrees of freedom")


def grown(label: str, first: float, **more: Any) -> Series:
    """A series with an interval, of which each value is another."""
    y = tuple(first * (at + 1) ** 1.5 for at in range(3))
    low, high = tuple(one * 0.75 for one in y), tuple(one * 1.5 for one in y)
    return Series(label=label, x=LENGTHS, y=y, low=low, high=high, **more)


def lines() -> Chart:
    theory = Series(label="Worst case", x=LENGTHS, y=(0.01, 0.02, 0.08), dashed=True, like="Hopper")
    return Chart(
        name="lines", title="Error by length", caption="Mean over trials.", command=COMMAND,
        x=Axis(title="Length K (products)", log=2), y=Axis(title="Relative error (max)", log=10),
        series=(grown("Hopper", 1e-4), grown("Promoted every 128", 3e-5), theory),
        references=(Reference(value=0.03, label="3 %"), Reference(value=1024, label="K = 1024", axis="x")),
    )  # fmt: skip


def panels() -> Chart:
    series = tuple(grown(one, value, panel=data) for data in ("normal", "outliers", "uniform")
                   for one, value in (("Hopper", 10), ("Ada", 20)))  # fmt: skip
    x, y = Axis(title="Length K (products)", log=2), Axis(title="SNR (dB)")
    return Chart(name="panels", title="SNR by data", command=COMMAND, x=x, y=y, series=series)


def many() -> Chart:
    series = tuple(Series(label=f"unit {at}", x=LENGTHS, y=(at, at + 1.5, at + 3)) for at in range(20))
    x, y = Axis(title="Length K (products)", log=2), Axis(title="SNR (dB)")
    return Chart(name="many", title="Twenty units", command=COMMAND, x=x, y=y, series=series)


def points() -> Chart:
    front = Series(label="Front", x=(100, 300, 900), y=(0.1, 0.01, 0.001), front=True)
    rest = Series(label="Others", x=(100, 300, 400, 800, 900), y=(0.1, 0.01, 0.2, 0.02, 0.001), names=tuple("abdec"),
                  notes=("of a", "", "of d", "of e", ""))  # fmt: skip
    return Chart(
        name="points", title="Accuracy against area", kind="points", command=COMMAND, x=Axis(title="Area (gates)"),
        y=Axis(title="Relative error", log=10), series=(front, rest),
    )  # fmt: skip


def worded() -> Chart:
    series = tuple(Series(label=f"unit {at}", x=WORDS, y=(at + 1, at + 2.5, at + 4), low=(at + 0.5,) * 3,
                          high=(at + 5,) * 3) for at in range(3))  # fmt: skip
    x, y = Axis(title="Data"), Axis(title="SNR (dB)")
    return Chart(name="worded", title="SNR by data", kind="points", command=COMMAND, x=x, y=y, series=series)


def heatmap() -> Chart:
    series = tuple(Series(label=f"row {at}", x=WORDS, y=(10.0**-at, 0.5 * 10.0**-at, math.inf if at == 1 else 0.02))
                   for at in range(3))  # fmt: skip
    return Chart(
        name="heatmap", title="Error by format", kind="heatmap", command=COMMAND, x=Axis(title="Data"),
        y=Axis(title="Format"), value=Axis(title="Relative error", log=10), series=series,
    )  # fmt: skip


def nasty() -> Chart:
    series = (
        Series(label=NASTY, x=(NASTY, "b"), y=(1, 2), notes=(NASTY, "")),
        Series(label="__proto__", x=("b",), y=(3,)),
    )
    return Chart(
        name="nasty", title=NASTY, kind="points", caption=NASTY, command=NASTY, x=Axis(title=NASTY),
        y=Axis(title=NASTY), series=series, references=(Reference(value=2, label=NASTY),),
    )  # fmt: skip


CHARTS = {make.__name__: make for make in (lines, panels, many, points, worded, heatmap, nasty)}


def table() -> TextTable:
    rows = (("Hopper", "81.2", "1.2e-4"), ("Ada", "101.25", "∞"), ("FP32", "9", "0.5"))
    return TextTable(
        title="Errors", header=("Unit", "SNR (dB)", "Error"), rows=rows, right=(1, 2), caption="Of 8 trials."
    )


def report() -> StudyReport:
    return StudyReport(
        name="sample", title="Accumulator width", command=COMMAND, summary=("How many bits?", "Thirteen."),
        verdict="Thirteen bits are enough.",
        key=(KeyNumber(what="Largest error", value="0.5", of="FP32"), KeyNumber(what="Points", value="3")),
        parts=(table(), lines(), worded(), replace(heatmap(), command="hwsim study others.yaml")),
        sources=("DeepSeek-V3 technical report",),
    )  # fmt: skip


def nasty_report() -> StudyReport:
    words = TextTable(title=NASTY, header=(NASTY, "n"), rows=((NASTY, "1"), ("a", "2")), caption=NASTY)
    return StudyReport(
        name="nasty", title=NASTY, command=NASTY, verdict=NASTY, key=(KeyNumber(what=NASTY, value=NASTY, of=NASTY),),
        summary=(NASTY,), parts=(nasty(), words), sources=(NASTY,),
    )  # fmt: skip


@dataclass
class StudySaid:
    study: str = "sample"
    name: str = "sample"
    title: str = "A sample"
    trials: int = 4
    confidence: float = 0.9


@dataclass
class Found:
    points: list[dict[str, Any]]
    study: StudySaid


def found(lengths: tuple[int, ...] = LENGTHS, data: tuple[str, ...] = ("normal", "outliers"), bits: int = 2) -> Found:
    """Results as a study has them: a point for each of some units, sources and lengths."""
    told = []
    for at in range(bits):
        for source in data:
            for length in lengths:
                number = 1e-3 * 2.0**-at * length / 512 * (2 if source == "outliers" else 1)
                point = {"point": len(told), "label": f"Hopper fraction_bits={9 + at}, direct", "unit": f"u{at}",
                         "scaling": "direct", "data": source, "length": length, "axis.fraction_bits": str(9 + at),
                         "bound_worst": 8 * number, "trials": 4}  # fmt: skip
                measured = {"accumulation_normalized_max": number, "total_snr_db": -20 * math.log10(number),
                            "accumulation_relative_max": number * 3, "nonfinite": 0.0}  # fmt: skip
                for name, value in measured.items():
                    point |= {
                        name: value,
                        f"{name}_low": value - abs(value) / 8,
                        f"{name}_high": value + abs(value) / 8,
                    }
                told.append(point)
    return Found(told, StudySaid())
