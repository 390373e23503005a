"""The six MX formats, their scale rules and block sizes, by distribution (OCP MX 1.0; Rouhani et al. 2023)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

from hwsim.study.plan import load_study
from hwsim.study.presets.lookup import entry_of
from hwsim.study.presets.preset import Context
from hwsim.study.presets.rounding import by_rule, lost, signal_to_noise
from hwsim.study.presets.samples import Entry, drawn
from hwsim.study.report.contents import Axis, Chart, StudyReport, TextTable
from hwsim.study.report.sweeps import curves, each, grid

NAME = "mx"
RULES = {
    "MXINT8": "mxint8",
    "MXFP8 E4M3": "mxfp8-e4m3",
    "MXFP8 E5M2": "mxfp8-e5m2",
    "MXFP6 E2M3": "mxfp6-e2m3",
    "MXFP6 E3M2": "mxfp6-e3m2",
    "MXFP4 E2M1": "mxfp4-e2m1",
}
NVFP4 = {"NVFP4 (not MX)": "nvfp4"}
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
DRAWN = ("normal", "Student-t 4", "outliers x 50")  # for scale rules and block sizes
TABLED = ("normal", "outliers x 50")
# Of whole dot products: label, unit, and its fields that are changed.
UNITS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("MXINT8, exact sums", "mxint8-f32", {}),
    ("MXFP8 E4M3, 25 bits", "mxfp8-e4m3-f32", {}),
    ("MXFP8 E4M3, 13 bits", "mxfp8-e4m3-f32", {"fraction_bits": 13}),
    ("MXFP8 E5M2, 25 bits", "mxfp8-e5m2-f32", {}),
    ("MXFP6 E2M3, 25 bits", "mxfp6-e2m3-f32", {}),
    ("MXFP6 E3M2, 25 bits", "mxfp6-e3m2-f32", {}),
    ("MXFP4 E2M1, 25 bits", "mxfp4-e2m1-f32", {}),
    ("NVFP4, 35 bits", "blackwell-mxf4nvf4-e2m1-f32", {}),
)
KINDS = ("quantization", "accumulation", "total")
NOISE = Axis(title="Signal to quantisation noise (dB)")
SOURCES = (
    "OCP Microscaling Formats (MX) Specification, version 1.0, 2023",
    "Rouhani et al. 2023, Microscaling Data Formats for Deep Learning, arXiv 2310.10537",
)
Noise = Callable[..., float]


def report(context: Context) -> StudyReport:
    """The report: errors of numbers by format, rule and block size, then those of whole dot products."""
    rows = context.pick(tiny=4, quick=32, full=256)
    length = context.pick(tiny=1024, quick=4096, full=8192)
    numbers = {name: drawn(entry, rows, length) for name, entry in DATA.items()}

    @cache
    def noise(rule: str, name: str, **changes: Any) -> float:
        return signal_to_noise(numbers[name], by_rule(numbers[name], rule, **changes))

    def zeros(rule: str, name: str) -> str:
        return f"{100 * lost(numbers[name], by_rule(numbers[name], rule)):.2f}"

    return StudyReport(
        name=NAME,
        title="The MX formats: error by distribution, scale rule and block size",
        command=context.command,
        summary=(
            f"{rows} x {length:,} numbers of each distribution; blocks lie along the rows. Outliers are 1 % of the "
            "columns, in every row the same. Scales follow OCP MX 1.0 (floor, blocks of 32) unless said.",
        ),
        parts=(
            *_charts(noise),
            *_tables(noise),
            grid("Numbers that become zero, in %", ("format",), RULES | NVFP4, each(DATA), zeros),
            _products(context),
        ),
        sources=SOURCES,
    )


def _charts(noise: Noise) -> tuple[Chart, ...]:
    formats, names = RULES | NVFP4, tuple(DATA)
    return (
        Chart(
            name="mx-formats",
            title="The MX formats by distribution",
            kind="heatmap",
            series=curves(formats, names, lambda _, label, name: noise(formats[label], name)),
            caption="Signal to quantisation noise; scale rule floor, blocks of 32. Higher is better.",
            x=Axis(title="Numbers", categories=names),
            y=Axis(title="Format"),
            value=Axis(title="dB"),
        ),
        Chart(
            name="mx-blocks",
            title="Block size",
            series=curves(RULES, BLOCKS, lambda name, label, size: noise(RULES[label], name, block=(1, size)), DRAWN),
            caption="More elements to a scale cost formats with few exponent bits; those with a range of their own "
            "gain a little. MXFP8 E5M2 lies under MXFP6 E3M2.",
            x=Axis(title="Elements to a scale", log=2),
            y=NOISE,
        ),
        Chart(
            name="mx-rules",
            title="Scale rule",
            kind="bars",
            series=curves(RULES, SELECTS, lambda name, label, select: noise(RULES[label], name, select=select), DRAWN),
            caption="floor lets the largest numbers of a block saturate; ceil never does, and wastes a bit of "
            "integers. Blocks of 32.",
            x=Axis(title="Scale rule", categories=SELECTS),
            y=NOISE,
        ),
    )


def _tables(noise: Noise) -> tuple[TextTable, ...]:
    decibels, both = "Signal to quantisation noise in dB", each(product(RULES, TABLED))
    return (
        grid(
            f"{decibels}, by format",
            ("format",),
            RULES | NVFP4,
            each(DATA),
            lambda rule, name: f"{noise(rule, name):.1f}",
            caption="Scale rule floor, blocks of 32; NVFP4: blocks of 16, scales in UE4M3 and one for the tensor.",
        ),
        grid(
            f"{decibels}, by scale rule",
            ("format", "numbers"),
            both,
            each(SELECTS),
            lambda row, select: f"{noise(RULES[row[0]], row[1], select=select):.1f}",
        ),
        grid(
            f"{decibels}, by block size",
            ("format", "numbers"),
            both,
            each(BLOCKS),
            lambda row, size: f"{noise(RULES[row[0]], row[1], block=(1, size)):.1f}",
            caption="Scale rule floor.",
        ),
    )


def _products(context: Context) -> TextTable:
    """A row for each unit and distribution: dB of what quantisation, the sum, and both together leave."""
    rows = context.pick(tiny=2, quick=32, full=64)
    study = {
        "study": "mx-products",
        "title": "Dot products through the MX units",
        "explained": 0,
        "rows": rows,
        "columns": rows,
        "trials": context.pick(tiny=1, quick=4, full=16),
        "lengths": [context.pick(tiny=64, quick=4096, full=8192)],
        "units": [
            {
                "unit": unit,
                "label": label,
                "grid": {key: [value] for key, value in fields.items()},
                "scaling": "nvfp4" if "nvf4" in unit else "block",
            }
            for label, unit, fields in UNITS
        ],
        "data": ["normal", {"distribution": "outliers", "factor": 50, "name": "outliers x 50"}],
    }
    results = context.run(load_study(study, context.folder))
    return grid(
        "Dot products: signal to noise in dB",
        ("unit", "numbers"),
        {(entry_of(results, point), point["data"]): point for point in results.points},
        each(KINDS),
        lambda point, kind: f"{point[f'{kind}_snr_db']:.1f}",
        caption=f"K = {results.study.lengths[0]:,}; both factors of the same distribution. quantization: the exact "
        "product of the quantised numbers; accumulation: the unit's sum against that; total: the unit's sum against "
        "that of the numbers. inf: no error in any trial.",
    )
