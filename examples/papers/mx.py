"""The six MX formats by distribution, scale rule and block size, beside NVFP4.

OCP Microscaling Formats (MX) Specification, version 1.0; Rouhani et al. 2023, Microscaling Data Formats for Deep
Learning, arXiv 2310.10537. Prints the tables of docs/studies/mx.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paper import Record, figure, numbers, options, pivot, share_lost, signal_to_noise, study, table

import hwsim

FORMATS = {
    "MXINT8": "mxint8",
    "MXFP8 E4M3": "mxfp8-e4m3",
    "MXFP8 E5M2": "mxfp8-e5m2",
    "MXFP6 E2M3": "mxfp6-e2m3",
    "MXFP6 E3M2": "mxfp6-e3m2",
    "MXFP4 E2M1": "mxfp4-e2m1",
    "NVFP4 (not MX)": "nvfp4",
}
DATA: dict[str, Any] = {
    "normal": "normal",
    "uniform": "uniform",
    "log-normal": "log-normal",
    "Student-t 4": {"distribution": "student-t", "freedom": 4},
    "Student-t 2": {"distribution": "student-t", "freedom": 2},
    "outliers x 50": {"distribution": "outliers", "fraction": 0.01, "factor": 50},
    "outliers x 1000": {"distribution": "outliers", "fraction": 0.01, "factor": 1000},
}
SELECTS, BLOCKS = ("floor", "ceil", "even", "rceil"), (8, 16, 32, 64, 128)
DRAWN = ("normal", "Student-t 4", "outliers x 50")  # in figures of rules and block sizes
TABLED = ("normal", "outliers x 50")
UNITS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("MXINT8, exact sums", "mxint8-f32", {}),
    ("MXFP8 E4M3, 25 bits", "mxfp8-e4m3-f32", {}),
    ("MXFP8 E4M3, 13 bits", "mxfp8-e4m3-f32", {"grid": {"fraction_bits": [13]}}),
    ("MXFP8 E5M2, 25 bits", "mxfp8-e5m2-f32", {}),
    ("MXFP6 E2M3, 25 bits", "mxfp6-e2m3-f32", {}),
    ("MXFP6 E3M2, 25 bits", "mxfp6-e3m2-f32", {}),
    ("MXFP4 E2M1, 25 bits", "mxfp4-e2m1-f32", {}),
    ("NVFP4, 35 bits", "blackwell-mxf4nvf4-e2m1-f32", {"scaling": "nvfp4"}),
)


def main(arguments: Sequence[str] | None = None) -> None:
    args = options(__doc__, arguments)
    rows, length = args.pick(4, 32, 256), args.pick(1024, 4096, 8192)
    drawn = {name: numbers(entry, rows, length, args.seed) for name, entry in DATA.items()}

    def errors(label: str, name: str, **changes: Any) -> Record:
        x = drawn[name]
        back = hwsim.quantize(x, FORMATS[label], **changes).dequantize()
        return {"format": label, "numbers": name, "snr": signal_to_noise(x, back), "zeros": 100 * share_lost(x, back)}

    def decibels(record: Record) -> str:
        return f"{record['snr']:.1f}"

    formats = [errors(label, name) for label in FORMATS for name in DATA]
    caption = "Scale rule floor, blocks of 32; NVFP4: blocks of 16, scales in UE4M3 and one for the tensor."
    title = "Signal to quantisation noise in dB, by format"
    pivot(title, formats, {"format": "format"}, "numbers", decibels, caption=caption)
    pairs = [(label, name) for label in FORMATS if label != "NVFP4 (not MX)" for name in DRAWN]
    selects = [errors(*of, select=select) | {"select": select} for of in pairs for select in SELECTS]
    blocks = [errors(*of, block=(1, size)) | {"block": size} for of in pairs for size in BLOCKS]
    of_numbers = {"format": "format", "numbers": "numbers"}
    shown = [record for record in selects if record["numbers"] in TABLED]
    pivot("Signal to quantisation noise in dB, by scale rule", shown, of_numbers, "select", decibels)
    shown, title = (
        [record for record in blocks if record["numbers"] in TABLED],
        "Signal to quantisation noise in dB, by block size",
    )
    pivot(title, shown, of_numbers, "block", decibels, caption="Scale rule floor.")
    title = "Numbers that become zero, in %"
    pivot(title, formats, {"format": "format"}, "numbers", lambda record: f"{record['zeros']:.2f}")

    size, k = args.pick(2, 32, 64), args.pick(64, 4096, 8192)
    plan: dict[str, Any] = {"study": "mx-products", "explained": 0, "rows": size, "columns": size, "lengths": [k]}
    units = [{"label": label, "unit": unit, "scaling": "block", **more} for label, unit, more in UNITS]
    data = ["normal", {"distribution": "outliers", "factor": 50, "name": "outliers x 50"}]
    products = study({**plan, "trials": args.pick(1, 4, 16), "units": units, "data": data}, args)
    kinds = ("quantization", "accumulation", "total")
    lines = [
        [record["entry"], record["data"], *(f"{record[f'{kind}_snr_db']:.1f}" for kind in kinds)] for record in products
    ]
    caption = f"""K = {k:,}; both factors of the same distribution. quantisation: the exact product of the quantised
        numbers;
        accumulation: the unit's sum against that; total: the unit's sum against that of the numbers. inf: no error in
        any trial."""
    header = ["unit", "numbers", "quantisation", "accumulation", "total"]
    table("Dot products: signal to noise in dB", header, lines, 2, caption)

    look: dict[str, Any] = {"y": "snr", "series": "format"}
    noise = "Signal to quantisation noise (dB)"
    axes = ("Elements to a scale", noise)
    figure(args, "mx-blocks", "Block size", blocks, "block", titles=axes, panel="numbers", log_x=2, **look)
    axes = ("Scale rule", noise)
    figure(args, "mx-rules", "Scale rule", selects, "select", titles=axes, kind="points", panel="numbers", **look)


if __name__ == "__main__":
    main()
