"""Records for people, from the rows of trained networks: means over seeds, with their intervals and what they say."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from hwsim.runners import Rows
from hwsim.study.intervals import interval

CONFIDENCE = 0.95
KEYS = ("point", "trial", "step")


def final(rows: Rows, labels: Sequence[str], baseline: str) -> Rows:
    """How every method ended: a record of each, with its `gap`, the loss above that of the baseline, seed by seed."""
    last = max(row["step"] for row in rows)
    ends = [row for row in rows if row["step"] == last]
    return [
        {"label": labels[point], **_measured(of), **_gap(of, _of(ends, labels.index(baseline)))}
        for point, of in _by_point(ends)
    ]


def curves(rows: Rows, labels: Sequence[str], baseline: str) -> Rows:
    """The losses on the way, with their gaps: a record for each method and number of steps."""
    steps = sorted({row["step"] for row in rows})
    at = {step: [row for row in rows if row["step"] == step] for step in steps}
    made = []
    for point in sorted({row["point"] for row in rows}):
        for step in steps:
            of, of_baseline = _of(at[step], point), _of(at[step], labels.index(baseline))
            made.append({"label": labels[point], "step": int(step), **_measured(of), **_gap(of, of_baseline)})
    return made


def compared(rows: Rows, labels: Sequence[str], baseline: str) -> Rows:
    """What every recipe did to trained networks: a record of each, with its `gap` as of `final`."""
    return [
        {"label": labels[point], **_measured(of), **_gap(of, _of(rows, labels.index(baseline)))}
        for point, of in _by_point(rows)
    ]


def by_length(rows: Rows, labels: Sequence[str], lengths: int) -> Rows:
    """Errors of gradients: a record for each recipe and length."""
    return [{"label": labels[point // lengths], **_measured(of)} for point, of in _by_point(rows)]


def _by_point(rows: Rows) -> Iterable[tuple[int, Rows]]:
    return [(point, _of(rows, point)) for point in sorted({row["point"] for row in rows})]


def _of(rows: Rows, point: int) -> Rows:
    """The rows of a point, by trial."""
    return sorted((row for row in rows if row["point"] == point), key=lambda row: int(row["trial"]))


def _measured(rows: Rows) -> dict[str, Any]:
    """Of each measure its mean `m`, `m_low` and `m_high`, and `m_said`, with the reach of its interval.

    A measure of which a seed has no number has none: one run that diverged is not left out in silence.
    """
    made: dict[str, Any] = {"trials": len(rows)}
    for name in rows[0]:
        if name in KEYS:
            continue
        values = [row[name] for row in rows]
        missing = sum(map(math.isnan, values))
        of = interval(values, CONFIDENCE) if not missing else interval([math.nan], CONFIDENCE)
        said = "-" if missing == len(values) else f"none in {missing} of {len(values)}"
        made |= {name: of.mean, f"{name}_low": of.low, f"{name}_high": of.high}
        made[f"{name}_said"] = said if missing else _said(of.mean, of.high)
        made[f"{name}_percent"] = said if missing else _said(100 * of.mean, 100 * of.high, digits=1)
    return made


def _gap(rows: Rows, of_baseline: Rows) -> dict[str, Any]:
    gaps = [one["validation"] - other["validation"] for one, other in zip(rows, of_baseline, strict=True)]
    if any(map(math.isnan, gaps)):
        lost = sum(map(math.isnan, gaps))
        return {
            **dict.fromkeys(("gap", "gap_low", "gap_high"), math.nan),
            "gap_said": f"diverged, {lost} of {len(gaps)}",
            "share_said": "-",
        }
    of = interval(gaps, CONFIDENCE)
    if rows == of_baseline:
        return {"gap": 0.0, "gap_low": 0.0, "gap_high": 0.0, "gap_said": "-", "gap_share": 0.0, "share_said": "-"}
    baseline = interval([one["validation"] for one in of_baseline], CONFIDENCE).mean
    made = {"gap": of.mean, "gap_low": of.low, "gap_high": of.high, "gap_share": of.mean / baseline}
    percent = _said(100 * of.mean / baseline, 100 * of.high / baseline, "+", digits=2)
    return {**made, "gap_said": _said(of.mean, of.high, "+"), "share_said": percent}


def _said(mean: float, high: float, sign: str = "", digits: int = 3) -> str:
    reach = "" if math.isnan(high) else f" ± {high - mean:.{digits}f}"
    return f"{mean:{sign}.{digits}f}{reach}"
