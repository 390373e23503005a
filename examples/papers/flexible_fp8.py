"""Which split of 8 bits into exponent and fraction loses least, by distribution.

Kuzmin et al. 2022, FP8 Quantization: The Power of the Exponent, arXiv 2208.09225. Of every split of 8 bits and 111
clipping maxima from 0.1 to 1.2 of the largest magnitude, the one of least mean squared error counts. Prints the table
of docs/studies/flexible-fp8.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from paper import figure, numbers, options, share_lost, signal_to_noise, table

from hwsim.quantize import get_rule, quantize, search_format

SPLITS = ("E1M6", "E2M5", "E3M4", "E4M3", "E5M2", "E6M1")
FACTORS = (2, 5, 10, 20, 50, 100, 1000)
DATA: dict[str, Any] = {
    "uniform": "uniform",
    "normal": "normal",
    "log-normal": "log-normal",
    **{f"Student-t, {n} degrees": {"distribution": "student-t", "freedom": n} for n in (8, 4, 2)},
    **{f"1 % outliers, x {n}": {"distribution": "outliers", "fraction": 0.01, "factor": n} for n in FACTORS},
}
OUTLYING = "Normal numbers, 1 % of the channels larger"
DRAWN = {
    "Distributions": ("uniform", "normal", "Student-t, 8 degrees", "Student-t, 4 degrees", "Student-t, 2 degrees"),
    OUTLYING: ("1 % outliers, x 2", "1 % outliers, x 20", "1 % outliers, x 1000"),
}
Floats = NDArray[np.float64]


class Split(NamedTuple):
    """Results of the search for one distribution, in each draw.

    decibels: (draws, splits), of the best clipping maximum. crest: largest magnitude over root mean square.
    integer: dB of INT8, unclipped. lost: share that the best split makes zero.
    """

    decibels: Floats
    crest: Floats
    integer: Floats
    lost: Floats


def searched(entry: Any, draws: int, rows: int, length: int, seed: int) -> Split:
    searches = []
    for trial in range(draws):
        x = numbers(entry, rows, length, seed, trial)
        search = search_format(x)
        power = float(np.square(x.astype(np.float64)).mean())
        curve = 10 * np.log10(power / search.errors[::-1, :, 0])  # fewer exponent bits first
        integer = signal_to_noise(x, quantize(x, get_rule("int8-tensor")).dequantize())
        best = {"element": search.format, "apply": "exact", "scale": float(search.scale.item())}
        zeros = share_lost(x, quantize(x, get_rule("tensor-e4m3"), **best).dequantize())
        searches.append((curve.max(axis=1), float(np.abs(x).max()) / power**0.5, integer, zeros))
    decibels, crests, integers, lost = (np.array(column, np.float64) for column in zip(*searches, strict=True))
    return Split(decibels, crests, integers, lost)


def main(arguments: Sequence[str] | None = None) -> None:
    args = options(__doc__, arguments)
    sizes = args.pick(1, 5, 20), args.pick(4, 16, 64), args.pick(1024, 4096, 4096)
    splits = {name: searched(entry, *sizes, args.seed) for name, entry in DATA.items()}
    rows = []
    for name, split in splits.items():
        mean = split.decibels.mean(axis=0)
        best = int(mean.argmax())
        votes = int((split.decibels.argmax(axis=1) == best).sum())
        values = [*(f"{value:.1f}" for value in (*mean, split.integer.mean())), f"{100 * np.median(split.lost):.1f}"]
        rows.append([name, f"{np.median(split.crest):.1f}", f"{SPLITS[best]} ({votes} of {sizes[0]})", *values])
    header = ["numbers", "largest / rms", "best (in draws)", *SPLITS, "INT8, unclipped", "made zero, %"]
    caption = """Means of the draws, largest / rms and the share that the best split makes zero their medians. E1M6 is
        INT8
        without -128, clipped as the others are."""
    table("Signal to noise in dB, by split", header, rows, caption=caption)

    shown = [
        {"panel": panel, "numbers": name, "format": fmt, "snr": of.mean(), "snr_low": of.min(), "snr_high": of.max()}
        for panel, names in DRAWN.items()
        for name in names
        for fmt, of in zip(SPLITS, splits[name].decibels.T, strict=True)
    ]
    noise = "Signal to quantisation noise (dB)"
    look: dict[str, Any] = {"panel": "panel", "columns": 2}
    title, axes = "Signal to noise by split of 8 bits", ("Format", noise)
    figure(args, "flexible-fp8-splits", title, shown, "format", "snr", "numbers", titles=axes, kind="points", **look)


if __name__ == "__main__":
    main()
