"""A study's result in a sentence, a few numbers and a small table, with which its page and its notebook open."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hwsim.base.text import counted
from hwsim.study.report.contents import KeyNumber, TextTable, spread

Point = Mapping[str, Any]
TOTAL, ALONE, SUMMED = "total_snr_db", "quantization_snr_db", "accumulation_snr_db"
WORDS = {TOTAL: "a total SNR", SUMMED: "an SNR of accumulation"}
TELLING = 0.05  # dB: less is no difference that anyone sees
MOST_ROWS = 12
MOST_VERDICTS = 3  # one a kind of data
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


def short_labels(points: Sequence[Point]) -> Callable[[Point], str]:
    """Return a function that names a point's unit: its label, without the words that all labels begin with."""
    labels = list(dict.fromkeys(str(point["label"]) for point in points))
    common = 0
    if len(labels) > 1:
        parts = [label.split(" ") for label in labels]
        while all(len(words) > common + 1 and words[: common + 1] == parts[0][: common + 1] for words in parts):
            common += 1
    return lambda point: " ".join(str(point["label"]).split(" ")[common:])


@dataclass(frozen=True)
class StudyFindings:
    """A study's result at its largest length.

    verdict: a sentence or two of each kind of data. key: numbers. table: of the best points, best first, by data.
    """

    verdict: str
    key: tuple[KeyNumber, ...]
    table: TextTable


def findings(points: Sequence[Point]) -> StudyFindings:
    """The findings in the points of a study, of which there is at least one.

    Points of the same data are compared at the largest length by their total SNR; by that of accumulation where
    quantisation hides what tells them apart, or the numbers need none. SNRs of different data are not compared.
    """
    longest = max(point["length"] for point in points)
    compared = [point for point in points if point["length"] == longest]
    label, by_data = short_labels(compared), dict[Any, list[Point]]()
    for point in compared:
        by_data.setdefault(point["data"], []).append(point)
    ranked = {data: _ranked(of) for data, of in by_data.items()}
    verdicts = [
        _verdict(order, label, measure, f" on {data}" * (len(ranked) > 1)) for data, (order, measure) in ranked.items()
    ]
    if len(verdicts) > MOST_VERDICTS:
        verdicts[MOST_VERDICTS:] = [f"The table has {counted(len(verdicts) - MOST_VERDICTS, 'more kind', 'of data')}."]
    orders = {data: order for data, (order, _) in ranked.items()}
    return StudyFindings(" ".join(verdicts), _key(orders, label, len(points)), _table(orders, label, longest))


def _ranked(points: Sequence[Point]) -> tuple[list[Point], str]:
    """Points of the same data, the best first, and the measure that they are compared by."""
    measure = _measure(points)
    return sorted(points, key=lambda point: _rank(point, measure), reverse=True), measure


def _measure(points: Sequence[Point]) -> str:
    totals = [number(point, TOTAL) for point in points]
    finite = [total for total in totals if math.isfinite(total)]
    alike = len(points) > 1 and len(finite) == len(totals) and max(finite) - min(finite) < TELLING
    summed = [number(point, SUMMED) for point in points]
    return SUMMED if (alike or not finite) and any(map(math.isfinite, summed)) else TOTAL


def _rank(point: Point, measure: str) -> float:
    value = number(point, measure)
    return -math.inf if math.isnan(value) else value


def _verdict(order: Sequence[Point], named: Callable[[Point], str], measure: str, where: str) -> str:
    """A sentence or two on points of the same data, the best first. where: words for that data, if there are others."""
    known = [point for point in order if not math.isnan(number(point, measure))]
    where_at = f"At K = {order[0]['length']:,}{where}"
    if not known:
        return f"{where_at} nothing has an SNR: {_not_finite(order, 'some') or 'no result was measured'}."
    best, worst = known[0], known[-1]
    sentence = f"{where_at} {named(best)} has {WORDS[measure]} of {_decibels(best, measure)}"
    if len(known) > 1:
        ends = number(best, measure), number(worst, measure)
        if ends[0] == ends[1] or ends[0] - ends[1] < TELLING:
            sentence = f"{where_at} all {len(known)} have {WORDS[measure]} of {_decibels(best, measure)}"
        else:
            highest = "best" if _apart(best, known[1], measure) else "highest"
            lowest = "worst" if _apart(known[-2], worst, measure) else "lowest"
            sentence += f", the {highest} of {len(known)}; {named(worst)} has the {lowest}, {_decibels(worst, measure)}"
            if highest == "highest":
                sentence += f"; {_unsure(known, measure)}"
    return ". ".join(filter(None, [sentence, _cost(best, worst, named), _not_finite(order)])) + "."


def _apart(above: Point, below: Point, measure: str) -> bool:
    """True if the intervals of two points do not overlap; an exact point has none, and is above all that are not."""
    if number(above, measure) == math.inf:
        return number(below, measure) < math.inf
    return number(above, f"{measure}_low") > number(below, f"{measure}_high")


def _unsure(known: Sequence[Point], measure: str) -> str:
    """The reason why the highest is not called the best."""
    best = known[0]
    if math.isnan(number(best, f"{measure}_low")):
        return "one trial has no interval" if best.get("trials") == 1 else "there are no intervals"
    overlapping = sum(not _apart(best, point, measure) for point in known[1:])
    return "their intervals overlap" if len(known) == 2 else f"the intervals of {overlapping} others overlap with it"


def _cost(best: Point, worst: Point, named: Callable[[Point], str]) -> str:
    """A sentence on the dB that accumulation costs; empty where numbers need no quantisation."""
    costs = {named(point): _lost(point) for point in (best, worst)}
    if any(math.isnan(cost) for cost in costs.values()):
        return ""
    amounts = {name: _tenths(cost) for name, cost in costs.items()}
    alike = len(set(amounts.values())) == 1
    shown = [next(iter(amounts.values()))] if alike else [f"{cost} ({name})" for name, cost in amounts.items()]
    return f"Accumulation costs {' and '.join(shown)} of the SNR that quantisation leaves"


def _tenths(cost: float) -> str:
    return "less than 0.05 dB" if cost < TELLING else f"{cost:.1f} dB"


def _lost(point: Point) -> float:
    cost = number(point, ALONE) - number(point, TOTAL)
    return cost if math.isfinite(cost) else math.nan


def _decibels(point: Point, measure: str) -> str:
    value = number(point, measure)
    return "infinitely many dB (exact)" if value == math.inf else f"{measured(point, measure)} dB"


def _not_finite(points: Sequence[Point], some: str = "Some") -> str:
    nonfinite = [point for point in points if number(point, "nonfinite") > 0]
    return f"{some} results of {counted(len(nonfinite), 'point')} are not finite" if nonfinite else ""


def _key(orders: Mapping[Any, Sequence[Point]], named: Callable[[Point], str], points: int) -> tuple[KeyNumber, ...]:
    numbers, order = list[KeyNumber](), [point for of in orders.values() for point in of]
    for measure, title in ((TOTAL, "Total SNR"), (SUMMED, "Accumulation SNR")):
        for data, of in list(orders.items())[:MOST_VERDICTS]:
            numbers += _ends(of, named, measure, title + f" on {data}" * (len(orders) > 1))
    alone = [number(point, ALONE) for point in order if math.isfinite(number(point, ALONE))]
    if alone:
        ends = dict.fromkeys(f"{snr:.1f}" for snr in (min(alone), max(alone)))
        numbers.append(KeyNumber(what="Quantisation alone", value=f"{' to '.join(ends)} dB"))
    finite = sum(number(point, "nonfinite") > 0 for point in order)
    if finite:
        numbers.append(KeyNumber(what="Not finite", value=counted(finite, "point"), of="have such results"))
    trials = {point["trials"] for point in order if "trials" in point}
    share = f"{counted(trials.pop(), 'trial')} of each" if len(trials) == 1 else ""
    numbers.append(KeyNumber(what="Points", value=f"{points:,}", of=share))
    return tuple(numbers)


def _ends(order: Sequence[Point], named: Callable[[Point], str], measure: str, title: str) -> Iterator[KeyNumber]:
    """The highest and the lowest of points of the same data."""
    known = [point for point in order if not math.isnan(number(point, measure))]
    if not known:
        return
    highest, lowest = (choose(known, key=lambda point: number(point, measure)) for choose in (max, min))
    if number(highest, measure) == number(lowest, measure):
        yield KeyNumber(what=title, value=_short(highest, measure), of=named(highest) if len(known) == 1 else "")
    else:
        yield KeyNumber(what=f"{title}, highest", value=_short(highest, measure), of=named(highest))
        yield KeyNumber(what=f"{title}, lowest", value=_short(lowest, measure), of=named(lowest))


def _short(point: Point, measure: str) -> str:
    value = number(point, measure)
    return "exact" if value == math.inf else f"{value:.1f} dB"


def _table(orders: Mapping[Any, Sequence[Point]], named: Callable[[Point], str], longest: int) -> TextTable:
    many = len(orders) > 1
    order = [point for of in orders.values() for point in of]
    shown = [point for of in orders.values() for point in of[: max(1, MOST_ROWS // len(orders))]][:MOST_ROWS]
    heads = {key: MEASURE_TITLES[key] for key in FIRST if any(not math.isnan(number(point, key)) for point in shown)}
    caption = "Means over trials, with half the width of their confidence intervals; the highest first."
    if many:
        caption += " SNRs of different data are not ranked together."
    if len(order) > len(shown):
        caption += f" {len(shown)} of {len(order)}; the table at the end has all."
    return TextTable(
        title=f"At K = {longest:,}",
        header=("Unit", *heads.values()),
        rows=tuple((named(row) + f" on {row['data']}" * many, *(_cell(row, key) for key in heads)) for row in shown),
        right=tuple(range(1, len(heads) + 1)),
        caption=caption,
    )


def _cell(point: Point, key: str) -> str:
    return "exact" if key.endswith("_db") and number(point, key) == math.inf else measured(point, key)
