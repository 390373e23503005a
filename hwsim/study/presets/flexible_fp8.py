"""Which split of 8 bits into exponent and fraction loses least, by distribution (Kuzmin et al. 2022)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from hwsim.quantize import search_format
from hwsim.quantize.search import FRACTION_BITS, PERCENT
from hwsim.study.intervals import Interval
from hwsim.study.presets.preset import Context
from hwsim.study.presets.rounding import Floats, by_rule, lost, signal_to_noise
from hwsim.study.presets.samples import Entry, drawn
from hwsim.study.report.contents import Axis, Chart, StudyReport, TextTable
from hwsim.study.report.sweeps import listing, series_of

NAME = "flexible-fp8"
NAMES = {7 - bits: f"E{7 - bits}M{bits}" for bits in FRACTION_BITS}  # by exponent bits
SPLITS = tuple(NAMES[bits] for bits in sorted(NAMES))
FACTORS = (2, 5, 10, 20, 50, 100, 1000)
TAILS: dict[str, Entry] = {
    "uniform": "uniform",
    "normal": "normal",
    "log-normal": "log-normal",
    "Student-t, 8 degrees": {"distribution": "student-t", "freedom": 8},
    "Student-t, 4 degrees": {"distribution": "student-t", "freedom": 4},
    "Student-t, 2 degrees": {"distribution": "student-t", "freedom": 2},
}
OUTLIERS: dict[str, Entry] = {
    f"1 % outliers, x {factor}": {"distribution": "outliers", "fraction": 0.01, "factor": factor} for factor in FACTORS
}
# By panel: what charts call the distributions.
DRAWN = {
    "Distributions": {
        name: name
        for name in ("uniform", "normal", "Student-t, 8 degrees", "Student-t, 4 degrees", "Student-t, 2 degrees")
    },
    "Normal numbers, 1 % of the channels larger": {
        f"outliers x {factor}": f"1 % outliers, x {factor}" for factor in (2, 20, 1000)
    },
}
SEARCHED = ("normal", "Student-t, 4 degrees")
NOISE = Axis(title="Signal to quantisation noise (dB)")


@dataclass(frozen=True, kw_only=True)
class Split:
    """What a search found for one distribution, in some draws of it.

    decibels : float64[draws, exponent bits 1 to 6], of the best clipping maximum. percent : that maximum, of amax.
    curve : float64[exponent bits, 111], the first draw's, by clipping maximum. crest : amax / root mean square.
    integer : float64[draws], int8 with amax as its largest. lost : float64[draws], the share of the numbers that the
    split of least error makes zero.
    """

    decibels: Floats
    percent: Floats
    curve: Floats
    crest: Floats
    integer: Floats
    lost: Floats

    @property
    def mean(self) -> Floats:
        """dB by exponent bits, the mean of the draws."""
        return np.asarray(self.decibels.mean(axis=0))

    @property
    def best(self) -> int:
        """The exponent bits of most dB."""
        return int(self.mean.argmax()) + 1

    @property
    def votes(self) -> int:
        """How many of the draws have that for their best."""
        return Counter((self.decibels.argmax(axis=1) + 1).tolist())[self.best]


def split(entry: Entry, draws: int, rows: int, length: int) -> Split:
    """The search in so many draws of rows x length numbers."""
    found = []
    for trial in range(draws):
        x = drawn(entry, rows, length, trial=trial)
        search = search_format(x)
        errors = search.errors[::-1, :, 0]  # fewer exponent bits first
        power = float(np.square(x.astype(np.float64)).mean())
        curve = 10 * np.log10(power / errors)
        crest = float(np.abs(x).max()) / power**0.5
        integer = signal_to_noise(x, by_rule(x, "int8-tensor"))
        best = by_rule(x, "tensor-e4m3", element=search.format, apply="exact", scale=float(search.scale.item()))
        found.append((curve.max(axis=1), PERCENT[errors.argmin(axis=1)], curve, crest, integer, lost(x, best)))
    decibels, percent, curves, crests, integers, zeros = (np.array(one, np.float64) for one in zip(*found, strict=True))
    return Split(
        decibels=decibels, percent=percent, curve=curves[0], crest=crests, integer=integers, lost=zeros
    )  # fmt: skip


def report(context: Context) -> StudyReport:
    """The report: dB by exponent bits, the search itself, and a table of the best."""
    draws, rows = context.pick(tiny=(1, 4), quick=(5, 16), full=(20, 64))
    length = context.pick(tiny=1024, quick=4096, full=4096)
    entries = TAILS | OUTLIERS
    splits = {name: split(entries[name], draws, rows, length) for name in context.each(list(entries), "search")}
    return StudyReport(
        name=NAME,
        title="8 bits between exponent and fraction, by distribution",
        command=context.command,
        summary=(
            f"{draws} draws of {rows * length:,} numbers of each distribution. Of every split of 8 bits and 111 "
            "clipping maxima from 0.1 to 1.2 of the largest magnitude, the one of least mean squared error counts.",
        ),
        parts=(*_charts(splits), _table(splits)),
        sources=("Kuzmin et al. 2022, FP8 Quantization: The Power of the Exponent, arXiv 2208.09225",),
    )


def _table(splits: dict[str, Split]) -> TextTable:
    """For every distribution: how far its largest number lies out, the best split and what the others lose."""
    columns: dict[str, Callable[[Split], str]] = {
        "largest / rms": lambda one: f"{np.median(one.crest):.1f}",
        "best (in draws)": lambda one: f"{NAMES[one.best]} ({one.votes} of {len(one.decibels)})",
        **{name: partial(_decibels, bits) for bits, name in enumerate(SPLITS, 1)},
        "INT8, unclipped": lambda one: f"{one.integer.mean():.1f}",
        "made zero, %": lambda one: f"{100 * np.median(one.lost):.1f}",
    }
    made = listing(
        "Signal to noise in dB, by split",
        ("numbers",),
        splits,
        columns,
        caption="Means of the draws, largest / rms and the share that the best split makes zero their medians. E1M6 "
        "is INT8 without -128, clipped as the others are.",
    )
    return replace(made, right=(1, *range(3, len(made.header))))  # the best is a word


def _decibels(exponent_bits: int, one: Split) -> str:
    return f"{one.mean[exponent_bits - 1]:.1f}"


def _charts(splits: dict[str, Split]) -> tuple[Chart, Chart]:
    series = [
        series_of(
            label, SPLITS, map(Interval, one.mean, one.decibels.min(axis=0), one.decibels.max(axis=0)), panel=panel
        )
        for panel, shown in DRAWN.items()
        for label, one in ((label, splits[name]) for label, name in shown.items())
    ]
    percent = PERCENT[::5].tolist()
    return (
        Chart(
            name="flexible-fp8-splits",
            title="Signal to noise by split of 8 bits",
            caption="Each format at its best clipping maximum of 111; bands: least and most of the draws. E1M6 is "
            "INT8. The peak moves towards more exponent bits as tails and outliers grow, and back where outliers alone "
            "count.",
            x=Axis(title="Format", categories=SPLITS),
            y=NOISE,
            series=tuple(series),
        ),
        Chart(
            name="flexible-fp8-search",
            title="The search: signal to noise by clipping maximum",
            caption="One draw; every fifth of the 111 maxima. Splits with few exponent bits gain from clipping; those "
            "with many hardly do.",
            x=Axis(title="Clipping maximum (% of the largest magnitude)"),
            y=NOISE,
            series=tuple(
                series_of(name, percent, splits[data].curve[at, ::5].tolist(), panel=data)
                for data in SEARCHED
                for at, name in enumerate(SPLITS)
            ),
        ),
    )
