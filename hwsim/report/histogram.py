"""Histograms of magnitudes by powers of two, a row for each series: how large errors are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.report.drawing import GLYPH, Bar, Drawing, Words, power

WIDE, HIGH, GAP, FOOT = 22, 44, 12, 20
MOST = 28  # columns; what is smaller is in the first


def histogram(series: Mapping[str, NDArray[Any]]) -> Drawing:
    """How many magnitudes of each series are zero, or from 2^e to below 2^(e+1): a column for each e."""
    exponents = {name: np.frexp(np.ravel(sizes)[np.ravel(sizes) > 0])[1] - 1 for name, sizes in series.items()}
    every = np.concatenate([*exponents.values(), np.empty(0, int)])
    last = int(every.max()) if every.size else 0
    first = max(int(every.min()) if every.size else 0, last - MOST + 1)
    left = max(map(len, series), default=0) * GLYPH + 12
    bars, words = list[Bar](), list[Words]()
    for row, (name, sizes) in enumerate(series.items()):
        foot = (row + 1) * (HIGH + GAP)
        counts = [int(np.count_nonzero(np.ravel(sizes) == 0)), *_counts(exponents[name], first, last)]
        words.append(Words(f"{left - 10:g}", foot - 4, name, "label", "end"))
        bars.append(Bar(left, foot, (len(counts) + 0.5) * WIDE, 1, "rule"))
        for column, count in enumerate(counts):
            high = HIGH * count / max(*counts, 1)
            said = "0" if column == 0 else f"from {power(first + column - 1)}"
            bars.append(Bar(_place(left, column), foot - high, WIDE - 2, high, "kept", f"{name}: {count:,} {said}"))
    end = len(series) * (HIGH + GAP) + FOOT
    words += [Words(f"{_place(left, 0) + 10:g}", end - 4, "0", "axis", "middle")]
    for column in range(0, last - first + 1, 4):
        words.append(Words(f"{_place(left, column + 1) + 10:g}", end - 4, power(first + column), "axis", "middle"))
    label = f"Histogram of {', '.join(series)}, by powers of two"
    return Drawing(left + (last - first + 3) * WIDE, end + 4, label, tuple(bars), tuple(words))


def _place(left: float, column: int) -> float:
    """Where a column begins; that of zeros stands apart."""
    return left + (column + 0.5 * (column > 0)) * WIDE


def _counts(exponents: NDArray[Any], first: int, last: int) -> list[int]:
    found = np.bincount(np.maximum(exponents, first) - first, minlength=last - first + 1)
    return [int(count) for count in found]
