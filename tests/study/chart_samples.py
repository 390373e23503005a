"""Charts, tables and points of a study, made up: every kind of chart, and names that try to be markup."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from hwsim.study.report import Axis, Chart, KeyNumber, Reference, StudyReport, TextTable

COMMAND = "hwsim study --unit hopper-wgmma-e4m3-f32 --grid interval=none,128 --length 512 -o out"
NASTY = "<script>alert(1)</script>{{ 7*7 }}&amp;\"'</style>"
LENGTHS = (512, 1024, 4096)
WORDS = ("normal", "uniform", "student-t, 2 degrees of freedom")


def grown(label: str, first: float, **more: Any) -> list[dict[str, Any]]:
    """A series with an interval, of which each value is another."""
    values = {length: first * (at + 1) ** 1.5 for at, length in enumerate(LENGTHS)}
    return [{"series": label, "x": x, "y": y, "low": 0.75 * y, "high": 1.5 * y, **more} for x, y in values.items()]


def lines() -> Chart:
    worst = [{"series": "Worst case", "x": x, "y": y} for x, y in zip(LENGTHS, (0.01, 0.02, 0.08), strict=True)]
    return Chart(
        name="lines", title="Error by length", caption="Mean over trials.", command=COMMAND,
        x=Axis(title="Length K (products)", log=2), y=Axis(title="Relative error (max)", log=10),
        rows=[*grown("Hopper", 1e-4), *grown("Promoted every 128", 3e-5), *worst], theory={"Worst case": "Hopper"},
        references=(Reference(value=0.03, label="3 %"), Reference(value=1024, label="K = 1024", axis="x")),
    )  # fmt: skip


def panels() -> Chart:
    pairs = [
        (data, one, value) for data in ("normal", "outliers", "uniform") for one, value in (("Hopper", 10), ("Ada", 20))
    ]
    rows = [row for data, one, value in pairs for row in grown(one, value, panel=data)]
    x, y = Axis(title="Length K (products)", log=2), Axis(title="SNR (dB)")
    return Chart(name="panels", title="SNR by data", command=COMMAND, x=x, y=y, rows=rows)


def many() -> Chart:
    rows = [{"series": f"unit {at}", "x": x, "y": at + x / 1000} for at in range(20) for x in LENGTHS]
    x, y = Axis(title="Length K (products)", log=2), Axis(title="SNR (dB)")
    return Chart(name="many", title="Twenty units", command=COMMAND, x=x, y=y, rows=rows)


def points() -> Chart:
    front = [{"series": "Front", "x": x, "y": y} for x, y in ((100, 0.1), (300, 0.01), (900, 0.001))]
    rest = [
        {"series": "Others", "x": x, "y": y, "name": name, "note": f"of {name}"}
        for x, y, name in ((100, 0.1, "a"), (300, 0.01, "b"), (400, 0.2, "d"), (900, 0.001, "c"), (500, 0.0, "e"))
    ]
    return Chart(
        name="points", title="Accuracy against area", kind="points", command=COMMAND, x=Axis(title="Area (gates)"),
        y=Axis(title="Relative error", log=10), rows=[*front, *rest], front="Front",
    )  # fmt: skip


def worded() -> Chart:
    rows = [{"series": f"unit {at}", "x": word, "y": at + 1.5 * place, "low": at - 0.5, "high": at + 5}
            for at in range(3) for place, word in enumerate(WORDS)]  # fmt: skip
    x, y = Axis(title="Data", categories=WORDS), Axis(title="SNR (dB)")
    return Chart(name="worded", title="SNR by data", kind="points", command=COMMAND, x=x, y=y, rows=rows)


def nasty() -> Chart:
    rows = [{"series": NASTY, "x": NASTY, "y": 1, "note": NASTY}, {"series": NASTY, "x": "b", "y": 2, "note": ""},
            {"series": "__proto__", "x": "b", "y": 3, "note": ""}]  # fmt: skip
    return Chart(
        name="nasty", title=NASTY, kind="points", caption=NASTY, command=NASTY, x=Axis(title=NASTY),
        y=Axis(title=NASTY), rows=rows, references=(Reference(value=2, label=NASTY),),
    )  # fmt: skip


CHARTS = {make.__name__: make for make in (lines, panels, many, points, worded, nasty)}


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
        parts=(table(), lines(), worded(), replace(points(), command="hwsim study others.yaml")),
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
