"""The six MX formats, their scale rules and block sizes, by distribution (OCP MX 1.0; Rouhani et al. 2023)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hwsim.study.presets.mx_products import products
from hwsim.study.presets.preset import Context, Preset
from hwsim.study.presets.rounding import by_rule, lost, signal_to_noise
from hwsim.study.presets.samples import Entry, drawn
from hwsim.study.report.contents import Axis, Chart, Series, StudyReport, TextTable

RULES = {
    "MXINT8": "mxint8",
    "MXFP8 E4M3": "mxfp8-e4m3",
    "MXFP8 E5M2": "mxfp8-e5m2",
    "MXFP6 E2M3": "mxfp6-e2m3",
    "MXFP6 E3M2": "mxfp6-e3m2",
    "MXFP4 E2M1": "mxfp4-e2m1",
}
NVFP4 = "NVFP4 (not MX)"
DATA: dict[str, Entry] = {
    "normal": "normal",
    "uniform": "uniform",
    "log-normal": "log-normal",
    "Student-t 4": {"distribution": "student-t", "freedom": 4},
    "Student-t 2": {"distribution": "student-t", "freedom": 2},
    "outliers x 50": {"distribution": "outliers", "fraction": 0.01, "factor": 50},
    "outliers x 1000": {"distribution": "outliers", "fraction": 0.01, "factor": 1000},
}
SELECTS = ("floor", "ceil", "even", "rceil")
BLOCKS = (8, 16, 32, 64, 128)
FEW = ("normal", "Student-t 4", "outliers x 50")
"""The distributions that scale rules and block sizes are drawn for."""
TABLED = ("normal", "outliers x 50")
"""And those that they are tabled for."""

SOURCES = (
    "OCP Microscaling Formats (MX) Specification, version 1.0, 2023",
    "Rouhani et al. 2023, Microscaling Data Formats for Deep Learning, arXiv 2310.10537",
)
NOISE = "Signal to quantisation noise (dB)"
Numbers = dict[str, NDArray[np.float32]]


def report(context: Context) -> StudyReport:
    """The report: errors of numbers by format, rule and block size, then those of whole dot products."""
    rows = context.pick(tiny=4, quick=32, full=256)
    length = context.pick(tiny=1024, quick=4096, full=8192)
    numbers = {name: drawn(entry, rows, length) for name, entry in DATA.items()}
    chosen = {name: numbers[name] for name in FEW}
    rules = {select: decibels(chosen, select=select) for select in SELECTS}
    blocks = {size: decibels(chosen, block=(1, size)) for size in BLOCKS}
    by_format = decibels(numbers)
    return StudyReport(
        name=PRESET.name,
        title=PRESET.title,
        command=context.command,
        summary=(
            f"{rows} x {length:,} numbers of each distribution; blocks lie along the rows. Outliers are 1 % of the "
            "columns, in every row the same. Scales follow OCP MX 1.0 (floor, blocks of 32) unless said.",
        ),
        parts=(
            _formats(by_format, context.command),
            _blocks(blocks, context.command),
            _rules(rules, context.command),
            table_of_formats(by_format),
            table_of_rules(rules),
            table_of_blocks(blocks),
            table_of_lost(numbers),
            products(context),
        ),
        sources=SOURCES,
    )


def decibels(numbers: Numbers, select: str = "floor", block: tuple[int, int] = (1, 32)) -> dict[str, dict[str, float]]:
    """dB by format and distribution. NVFP4 keeps its own rule and blocks, and is left out where others change."""
    found = {
        label: {name: signal_to_noise(x, by_rule(x, rule, select=select, block=block)) for name, x in numbers.items()}
        for label, rule in RULES.items()
    }
    if (select, block) == ("floor", (1, 32)) and len(numbers) == len(DATA):
        found[NVFP4] = {name: signal_to_noise(x, by_rule(x, "nvfp4")) for name, x in numbers.items()}
    return found


def table_of_formats(found: dict[str, dict[str, float]]) -> TextTable:
    """A row a format, a column a distribution."""
    rows = tuple((label, *(f"{value:.1f}" for value in values.values())) for label, values in found.items())
    return TextTable(
        title="Signal to quantisation noise in dB, by format", header=("format", *DATA), rows=rows,
        right=tuple(range(1, len(DATA) + 1)),
        caption="Scale rule floor, blocks of 32; NVFP4: blocks of 16, scales in UE4M3 and one for the tensor.",
    )  # fmt: skip


def table_of_rules(found: dict[str, dict[str, dict[str, float]]]) -> TextTable:
    """A row a format and distribution, a column a scale rule."""
    rows = tuple(
        (label, name, *(f"{found[select][label][name]:.1f}" for select in SELECTS))
        for label in RULES
        for name in TABLED
    )
    return TextTable(
        title="Signal to quantisation noise in dB, by scale rule", header=("format", "numbers", *SELECTS), rows=rows,
        right=(2, 3, 4, 5),
    )  # fmt: skip


def table_of_blocks(found: dict[int, dict[str, dict[str, float]]]) -> TextTable:
    """A row a format and distribution, a column a block size."""
    rows = tuple(
        (label, name, *(f"{found[size][label][name]:.1f}" for size in BLOCKS)) for label in RULES for name in TABLED
    )
    return TextTable(
        title="Signal to quantisation noise in dB, by block size", header=("format", "numbers", *map(str, BLOCKS)),
        rows=rows, right=tuple(range(2, 2 + len(BLOCKS))), caption="Scale rule floor.",
    )  # fmt: skip


def table_of_lost(numbers: Numbers) -> TextTable:
    """A row a format: the share of numbers that become zero."""
    rules = RULES | {NVFP4: "nvfp4"}
    rows = tuple(
        (label, *(f"{100 * lost(x, by_rule(x, rule)):.2f}" for x in numbers.values())) for label, rule in rules.items()
    )
    return TextTable(
        title="Numbers that become zero, in %", header=("format", *numbers), rows=rows,
        right=tuple(range(1, len(numbers) + 1)),
    )  # fmt: skip


def _formats(found: dict[str, dict[str, float]], command: str) -> Chart:
    names = tuple(DATA)
    series = tuple(
        Series(label=label, x=names, y=tuple(values[name] for name in names)) for label, values in found.items()
    )
    return Chart(
        name="mx-formats", title="The MX formats by distribution", kind="heatmap", series=series,
        caption="Signal to quantisation noise; scale rule floor, blocks of 32. Higher is better.",
        x=Axis(title="Numbers", categories=names), y=Axis(title="Format"), value=Axis(title="dB"), command=command,
    )  # fmt: skip


def _blocks(found: dict[int, dict[str, dict[str, float]]], command: str) -> Chart:
    sizes = tuple(float(size) for size in BLOCKS)
    series = tuple(
        Series(label=label, x=sizes, y=tuple(found[size][label][name] for size in BLOCKS), panel=name)
        for name in FEW
        for label in RULES
    )
    return Chart(
        name="mx-blocks", title="Block size", series=series, command=command,
        caption="More elements to a scale cost formats with few exponent bits; those with a range of their own gain "
        "a little. MXFP8 E5M2 lies under MXFP6 E3M2.",
        x=Axis(title="Elements to a scale", log=2), y=Axis(title=NOISE),
    )  # fmt: skip


def _rules(found: dict[str, dict[str, dict[str, float]]], command: str) -> Chart:
    series = tuple(
        Series(label=label, x=SELECTS, y=tuple(found[select][label][name] for select in SELECTS), panel=name)
        for name in FEW
        for label in RULES
    )
    return Chart(
        name="mx-rules", title="Scale rule", kind="bars", series=series, command=command,
        caption="floor lets the largest numbers of a block saturate; ceil never does, and wastes a bit of integers. "
        "Blocks of 32.",
        x=Axis(title="Scale rule", categories=SELECTS), y=Axis(title=NOISE),
    )  # fmt: skip


PRESET = Preset(
    "mx",
    "The MX formats: error by distribution, scale rule and block size",
    "Rouhani et al. 2023, arXiv 2310.10537",
    report,
)
