"""What a study found, in a sentence, a few numbers and a small table: what its page and its notebook open with."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hwsim.study.report.contents import KeyNumber, TextTable
from hwsim.study.report.scales import spread
from hwsim.words import counted

Point = Mapping[str, Any]
TOTAL, ALONE, SUMMED = "total_snr_db", "quantization_snr_db", "accumulation_snr_db"
WORDS = {TOTAL: "a total SNR", SUMMED: "an SNR of accumulation"}
TELLING = 0.05  # dB: less is no difference that anyone sees
MOST_ROWS = 12
# What tables call the measures, in their order.
MEASURE_TITLES = {
    "total_snr_db": "Total SNR (dB)",
    "quantization_snr_db": "Quantisation SNR (dB)",
    "accumulation_snr_db": "Accumulation SNR (dB)",
    "accumulation_relative_max": "Accumulation, relative error (max)",
    "accumulation_relative_mean": "Accumulation, relative error (mean)",
    "accumulation_bias": "Accumulation, bias",
    "swamped": "Swamped terms",
    "nonfinite": "Results not finite",
}
FIRST = (TOTAL, ALONE, SUMMED, "accumulation_relative_mean")  # of the table that a page opens with


def number(point: Point, name: str) -> float:
    """A point's measure; NaN where it has none."""
    value = point.get(name)
    return math.nan if value is None else float(value)


def measured(point: Point, name: str, times: float = 1.0) -> str:
    """A measure's mean over trials, and half the width of its confidence interval where there is one."""
    mean, low, high = (times * number(point, f"{name}{end}") for end in ("", "_low", "_high"))
    return spread(mean, (high - low) / 2)


def said_once(points: Sequence[Point]) -> Callable[[Point], str]:
    """What tells a point's unit from the others: its label, without the words that all labels begin with."""
    labels = list(dict.fromkeys(str(point["label"]) for point in points))
    common = 0
    if len(labels) > 1:
        parts = [label.split(" ") for label in labels]
        while all(len(one) > common + 1 and one[: common + 1] == parts[0][: common + 1] for one in parts):
            common += 1
    return lambda point: " ".join(str(point["label"]).split(" ")[common:])


@dataclass(frozen=True)
class StudyFindings:
    """What a study found at its largest length.

    verdict: a sentence or two. key: numbers. table: of the best points, best first.
    """

    verdict: str
    key: tuple[KeyNumber, ...]
    table: TextTable


def findings(points: Sequence[Point]) -> StudyFindings:
    """The findings in the points of a study, of which there is at least one.

    Points are compared at the largest length by their total SNR; by that of accumulation where quantisation hides what
    tells them apart, or the numbers need none.
    """
    longest = max(point["length"] for point in points)
    compared = [point for point in points if point["length"] == longest]
    named = _named(compared)
    measure = _measure(compared)
    order = sorted(compared, key=lambda point: _rank(point, measure), reverse=True)
    return StudyFindings(
        _verdict(order, named, measure), _key(order, named, len(points)), _table(order, named, longest)
    )


def _named(points: Sequence[Point]) -> Callable[[Point], str]:
    """The name of a point among those that it is compared with."""
    label, many = said_once(points), len({point["data"] for point in points}) > 1
    return lambda point: label(point) + (f" on {point['data']}" if many else "")


def _measure(points: Sequence[Point]) -> str:
    totals = [number(point, TOTAL) for point in points]
    finite = [one for one in totals if math.isfinite(one)]
    alike = len(points) > 1 and len(finite) == len(totals) and max(finite) - min(finite) < TELLING
    summed = [number(point, SUMMED) for point in points]
    return SUMMED if (alike or not finite) and any(map(math.isfinite, summed)) else TOTAL


def _rank(point: Point, measure: str) -> float:
    value = number(point, measure)
    return -math.inf if math.isnan(value) else value


def _verdict(order: Sequence[Point], named: Callable[[Point], str], measure: str) -> str:
    known = [point for point in order if not math.isnan(number(point, measure))]
    at = f"At K = {order[0]['length']:,}"
    if not known:
        return f"{at} nothing has an SNR: {_not_finite(order) or 'no result was measured'}."
    best, worst = known[0], known[-1]
    told = f"{at} {named(best)} has {WORDS[measure]} of {_decibels(best, measure)}"
    if len(known) > 1:
        ends = number(best, measure), number(worst, measure)
        if ends[0] == ends[1] or ends[0] - ends[1] < TELLING:
            told = f"{at} all {len(known)} have {WORDS[measure]} of {_decibels(best, measure)}"
        else:
            told += f", the best of {len(known)}; {named(worst)} has the worst, {_decibels(worst, measure)}"
    return ". ".join(filter(None, [told, _cost(best, worst, named), _not_finite(order)])) + "."


def _cost(best: Point, worst: Point, named: Callable[[Point], str]) -> str:
    """How many dB accumulation costs of what quantisation leaves; nothing where numbers need none."""
    costs = {named(one): _lost(one) for one in (best, worst)}
    if any(math.isnan(cost) for cost in costs.values()):
        return ""
    told = {name: _tenths(cost) for name, cost in costs.items()}
    alike = len(set(told.values())) == 1
    shown = [next(iter(told.values()))] if alike else [f"{cost} ({name})" for name, cost in told.items()]
    return f"Of what quantisation leaves, accumulation costs {' and '.join(shown)}"


def _tenths(cost: float) -> str:
    return "less than 0.05 dB" if cost < TELLING else f"{cost:.1f} dB"


def _lost(point: Point) -> float:
    """The dB that accumulation costs; NaN where either SNR is not finite."""
    cost = number(point, ALONE) - number(point, TOTAL)
    return cost if math.isfinite(cost) else math.nan


def _decibels(point: Point, measure: str) -> str:
    value = number(point, measure)
    return "infinitely many dB (exact)" if value == math.inf else f"{measured(point, measure)} dB"


def _not_finite(points: Sequence[Point]) -> str:
    found = [point for point in points if number(point, "nonfinite") > 0]
    return f"Some results of {counted(len(found), 'point')} are not finite" if found else ""


def _key(order: Sequence[Point], named: Callable[[Point], str], points: int) -> tuple[KeyNumber, ...]:
    made = []
    for measure, what in ((TOTAL, "Total SNR"), (SUMMED, "Accumulation SNR")):
        known = [point for point in order if not math.isnan(number(point, measure))]
        if not known:
            continue
        best, worst = (choose(known, key=lambda one: number(one, measure)) for choose in (max, min))
        if number(best, measure) == number(worst, measure):
            made.append(KeyNumber(what=what, value=_short(best, measure), of=named(best) if len(known) == 1 else ""))
        else:
            made.append(KeyNumber(what=f"{what}, best", value=_short(best, measure), of=named(best)))
            made.append(KeyNumber(what=f"{what}, worst", value=_short(worst, measure), of=named(worst)))
    alone = [number(point, ALONE) for point in order if math.isfinite(number(point, ALONE))]
    if alone:
        ends = dict.fromkeys(f"{one:.1f}" for one in (min(alone), max(alone)))
        made.append(KeyNumber(what="Quantisation alone", value=f"{' to '.join(ends)} dB"))
    finite = sum(number(point, "nonfinite") > 0 for point in order)
    if finite:
        made.append(KeyNumber(what="Not finite", value=counted(finite, "point"), of="have such results"))
    trials = {point["trials"] for point in order if "trials" in point}
    of = f"{counted(trials.pop(), 'trial')} of each" if len(trials) == 1 else ""
    made.append(KeyNumber(what="Points", value=f"{points:,}", of=of))
    return tuple(made)


def _short(point: Point, measure: str) -> str:
    value = number(point, measure)
    return "exact" if value == math.inf else f"{value:.1f} dB"


def _table(order: Sequence[Point], named: Callable[[Point], str], longest: int) -> TextTable:
    shown = order[:MOST_ROWS]
    heads = {key: MEASURE_TITLES[key] for key in FIRST if any(not math.isnan(number(one, key)) for one in shown)}
    caption = "Means over trials, with half the width of their confidence intervals; the best first."
    if len(order) > len(shown):
        caption += f" The best {len(shown)} of {len(order)}; the table at the end has all."
    return TextTable(
        title=f"At K = {longest:,}",
        header=("Unit", *heads.values()),
        rows=tuple((named(one), *(_cell(one, key) for key in heads)) for one in shown),
        right=tuple(range(1, len(heads) + 1)),
        caption=caption,
    )


def _cell(point: Point, key: str) -> str:
    return "exact" if key.endswith("_db") and number(point, key) == math.inf else measured(point, key)
