"""Which split of 8 bits into exponent and fraction loses least, by distribution (Kuzmin et al. 2022)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from hwsim.quantize import search_format
from hwsim.quantize.search import PERCENT
from hwsim.study.presets.preset import Context, load_page
from hwsim.study.presets.rounding import Floats, by_rule, lost, signal_to_noise
from hwsim.study.presets.samples import Entry, drawn
from hwsim.study.report.contents import StudyReport

NAME = "flexible-fp8"
SPLITS = ("E1M6", "E2M5", "E3M4", "E4M3", "E5M2", "E6M1")


@dataclass(frozen=True, kw_only=True)
class Split:
    """What a search found for one distribution, in some draws of it.

    decibels : float64[draws, exponent bits 1 to 6], of the best clipping maximum.
    curve : float64[exponent bits, 111], the first draw's, by clipping maximum. crest : amax / root mean square.
    integer : float64[draws], int8 with amax as its largest. lost : float64[draws], the share of the numbers that the
    split of least error makes zero.
    """

    decibels: Floats
    curve: Floats
    crest: Floats
    integer: Floats
    lost: Floats

    @property
    def mean(self) -> Floats:
        """dB by exponent bits, the mean of the draws."""
        return np.asarray(self.decibels.mean(axis=0))

    @property
    def range(self) -> tuple[Floats, Floats, Floats]:
        """dB by exponent bits: the mean, the least and the most of the draws."""
        return self.mean, self.decibels.min(axis=0), self.decibels.max(axis=0)

    @property
    def best(self) -> int:
        """The exponent bits of most dB."""
        return int(self.mean.argmax()) + 1

    @property
    def votes(self) -> int:
        """How many of the draws have that for their best."""
        return Counter((self.decibels.argmax(axis=1) + 1).tolist())[self.best]


def split(entry: Entry, draws: int, rows: int, length: int, *, seed: int) -> Split:
    """The search in so many draws of rows x length numbers."""
    found = []
    for trial in range(draws):
        x = drawn(entry, rows, length, seed=seed, trial=trial)
        search = search_format(x)
        errors = search.errors[::-1, :, 0]  # fewer exponent bits first
        power = float(np.square(x.astype(np.float64)).mean())
        curve = 10 * np.log10(power / errors)
        crest = float(np.abs(x).max()) / power**0.5
        integer = signal_to_noise(x, by_rule(x, "int8-tensor"))
        best = by_rule(x, "tensor-e4m3", element=search.format, apply="exact", scale=float(search.scale.item()))
        found.append((curve.max(axis=1), curve, crest, integer, lost(x, best)))
    decibels, curves, crests, integers, zeros = (np.array(one, np.float64) for one in zip(*found, strict=True))
    return Split(decibels=decibels, curve=curves[0], crest=crests, integer=integers, lost=zeros)


def report(context: Context) -> StudyReport:
    """The report: dB by exponent bits, the search itself, and a table of the best."""
    plan = load_page(NAME, context.size)
    given = plan.given
    sizes = given["draws"], given["rows"], given["length"]
    splits = {
        name: split(given["data"][name], *sizes, seed=context.seed)
        for name in context.each(list(given["data"]), "search")
    }
    tables = {
        "splits": [
            {"panel": panel, "numbers": label, "format": name, "snr": mean, "snr_low": low, "snr_high": high}
            for panel, shown in given["drawn"].items()
            for label, data in shown.items()
            for name, mean, low, high in zip(SPLITS, *splits[data].range, strict=True)
        ],
        "search": [
            {"numbers": data, "format": name, "percent": percent, "snr": snr}
            for data in given["searched"]
            for name, curve in zip(SPLITS, splits[data].curve, strict=True)
            for percent, snr in zip(PERCENT[::5].tolist(), curve[::5].tolist(), strict=True)
        ],
        "best": [
            {
                "numbers": name,
                "crest": np.median(one.crest),
                "best": SPLITS[one.best - 1],
                "votes": one.votes,
                "draws": len(one.decibels),
                "integer": one.integer.mean(),
                "lost": 100 * np.median(one.lost),
                **dict(zip(SPLITS, one.mean, strict=True)),
            }
            for name, one in splits.items()
        ],
    }
    return plan.report(context, tables, count=given["rows"] * given["length"])
