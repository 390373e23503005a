"""Whole dot products through the MX units: what quantisation costs beside what the sum costs."""

from __future__ import annotations

from typing import Any

from hwsim.study.plan import load_study
from hwsim.study.presets.preset import Context
from hwsim.study.report.contents import TextTable

# Label, unit, and fields of it that are changed.
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


def products(context: Context) -> TextTable:
    """A row a unit and distribution: dB of what quantisation, the sum, and both together leave."""
    study = load_study(study_of(context), context.folder)
    results = context.run(study)
    rows = tuple(
        (_label(point), point["data"], *(f"{point[f'{kind}_snr_db']:.1f}" for kind in KINDS))
        for point in results.points
    )
    return TextTable(
        title="Dot products: signal to noise in dB", header=("unit", "numbers", *KINDS), rows=rows, right=(2, 3, 4),
        caption=f"K = {study.lengths[0]:,}; both factors of the same distribution. quantization: the exact product of "
        "the quantised numbers; accumulation: the unit's sum against that; total: the unit's sum against that of "
        "the numbers. inf: no error in any trial.",
    )  # fmt: skip


def study_of(context: Context) -> dict[str, Any]:
    """The study, as a mapping."""
    rows = context.pick(tiny=2, quick=32, full=64)
    return {
        "study": "mx-products", "title": "Dot products through the MX units", "explained": 0,
        "rows": rows, "columns": rows, "trials": context.pick(tiny=1, quick=4, full=16),
        "lengths": [context.pick(tiny=64, quick=4096, full=8192)],
        "units": [
            {"unit": unit, "label": label, "grid": {key: [value] for key, value in fields.items()}} | _scaling(unit)
            for label, unit, fields in UNITS
        ],
        "data": ["normal", {"distribution": "outliers", "factor": 50, "name": "outliers x 50"}],
    }  # fmt: skip


def _scaling(unit: str) -> dict[str, str]:
    return {"scaling": "nvfp4" if "nvf4" in unit else "block"}


def _label(point: dict[str, Any]) -> str:
    """The unit's label; what is varied is in it already."""
    return next(label for label, *_ in UNITS if str(point["label"]).startswith(label))
