"""The common part of these scripts: their options, plans that are run, tables in Markdown, and figures."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hwsim.study import draw, load_study, parse_data, run

Record = dict[str, Any]
T = TypeVar("T")
# Okabe and Ito, "Color Universal Design" (2008); more series than colours also differ in their markers.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#e69f00", "#56b4e9", "#9b8f00"]
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"]


@dataclass(frozen=True)
class Options:
    """The options of a script. size: `tiny` takes seconds, `quick` minutes, `full` as long as it needs."""

    seed: int
    size: str
    figures: Path | None

    def pick(self, tiny: T, quick: T, full: T) -> T:
        """The one of this size."""
        return {"tiny": tiny, "quick": quick, "full": full}[self.size]


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """The command line that all scripts have; a script may add options of its own."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--seed", type=int, default=1, help="of everything random; the page has 1")
    parser.add_argument("--size", choices=["tiny", "quick", "full"], default="quick", help="the page has quick")
    parser.add_argument("--figures", type=Path, metavar="DIR", help="draw figures there, as SVG")
    return parser


def options_of(parser: argparse.ArgumentParser, args: argparse.Namespace) -> Options:
    """The options that all scripts have. Ends the program where they are wrong."""
    if not 1 <= args.seed <= 1_000_000:
        parser.error(f"--seed must be 1 to 1,000,000, not {args.seed}")
    return Options(args.seed, args.size, args.figures)


def options(description: str | None, arguments: Sequence[str] | None = None) -> Options:
    parser = parser_of(description)
    return options_of(parser, parser.parse_args(arguments))


def study(plan: str | Mapping[str, Any], args: Options, **changes: Any) -> list[Record]:
    """Run a plan as `hwsim study` does. A record for each point: its summary, and MEASURE_most, the largest of a trial.

    `entry` is the label of its unit; a field of the grid has its own name.
    """
    planned = load_study(plan, changes={**changes, "seed": args.seed})
    with TemporaryDirectory() as folder:
        results = run(planned, Path(folder) / planned.name)
    records = [{name.removeprefix("axis."): value for name, value in point.items()} for point in results.points]
    labels = sorted((entry.label for entry in planned.units), key=len, reverse=True)
    for record in records:
        record["results"] = planned.rows * planned.columns
        record["entry"] = next(label for label in labels if record["label"].startswith(label))
    for measure in results.measures:
        most = results.rows[measure].to_numpy().reshape(len(records), planned.trials).max(axis=1)
        for record, value in zip(records, most.tolist(), strict=True):
            record[f"{measure}_most"] = value
    return records


def numbers(entry: Any, rows: int, length: int, seed: int, trial: int = 0) -> NDArray[np.float32]:
    """float32 (rows, length) of a distribution, in the words of a study's `data`. Outlier channels are columns."""
    return draw(parse_data(entry, Path()), seed, trial, length, rows, 1).a


def signal_to_noise(exact: NDArray[Any], rounded: NDArray[Any]) -> float:
    """10 log10(sum of squares / sum of squared errors), in dB; infinite where there is no error."""
    exact = np.asarray(exact, np.float64)
    noise, signal = (float(np.square(x, order="C").sum()) for x in (exact - rounded, exact))
    return 10 * math.log10(signal / noise) if noise and signal else math.inf if signal else -math.inf


def share_lost(exact: NDArray[Any], rounded: NDArray[Any]) -> float:
    """The share of the numbers other than zero that have become zero."""
    there = exact != 0
    return float(np.count_nonzero(there & (rounded == 0)) / max(1, np.count_nonzero(there)))


def on_all_cores(function: Callable[..., T], calls: Sequence[tuple[Any, ...]], together: bool = True) -> list[T]:
    """The results of a function for each tuple of arguments, in processes of their own where there are several."""
    if len(calls) < 2 or not together:
        return [function(*call) for call in calls]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        return list(pool.map(function, *zip(*calls, strict=True)))


def percent(share: float) -> str:
    """A share with three digits, in %: 7.45, 0.0552, 1,230."""
    if math.isnan(share):
        return "-"
    return f"{100 * share:,.0f}" if abs(share) >= 10 else f"{100 * share:.3g}"


def scientific(error: float) -> str:
    return f"{error:.1e}" if error else "0"


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1, caption: str = "") -> None:
    """Print a table in Markdown. left: how many columns are words, set to the left."""
    dashes = [" --- " if column < words else " ---: " for column in range(len(header))]
    lines = [_line(header), f"|{'|'.join(dashes)}|", *map(_line, rows), *(["", _plain(caption)] if caption else [])]
    print(f"## {title}\n", *lines, "", sep="\n", flush=True)


def pivot(
    title: str,
    records: Iterable[Record],
    rows: Mapping[str, str],
    column: str,
    cell: Callable[[Record], str],
    head: str = "{}",
    caption: str = "",
) -> None:
    """Print a table with a column for each value of a field. rows: from heads to the fields whose words name a row."""
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    heads: dict[str, None] = {}
    for record in records:
        name = head.format(record[column])
        heads[name] = None
        cells.setdefault(tuple(str(record[field]) for field in rows.values()), {})[name] = cell(record)
    lines = [[*words, *(row.get(name, "") for name in heads)] for words, row in cells.items()]
    table(title, [*rows, *heads], lines, len(rows), caption)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_plain, cells))} |"


def _plain(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>|~])", r"\\\1", " ".join(text.split()))


def figure(
    args: Options, name: str, title: str, records: Sequence[Record], x: str, y: str, series: str, *,
    titles: tuple[str, str], kind: str = "lines", panel: str = "", columns: int = 3, log_x: int = 0, log_y: int = 0,
    dashed: Sequence[str] = (), reference: float | None = None,
) -> None:  # fmt: skip
    """Draw DIR/NAME.svg where `--figures DIR` is given.

    kind: `lines` of numbers, `points` of words side by side, or a `heatmap` of x and series. An interval y_low to
    y_high of a record is a thin line. titles: of x and y. dashed: series that are theory. reference: a value of y.
    """
    if args.figures is None:
        return
    import altair as alt

    def rows(some: Iterable[Record]) -> Any:
        return alt.Chart(alt.InlineData(values=[{key: record.get(key) for key in fields} for record in some]))

    low, high, fields = f"{y}_low", f"{y}_high", (x, y, f"{y}_low", f"{y}_high", series)
    shown = [record for record in records if math.isfinite(record[y]) and (record[y] > 0 or not log_y)]
    labels, words = (list(dict.fromkeys(record[key] for record in shown)) for key in (series, x))
    scale_x, scale_y = (alt.Scale(type="log", base=base) if base else alt.Scale(zero=False) for base in (log_x, log_y))
    ticks = alt.Axis(values=words) if len(words) <= 12 else alt.Axis()
    place: Any = alt.X(f"{x}:Q", title=titles[0], scale=scale_x, axis=ticks)
    if kind != "lines":
        place = alt.X(f"{x}:N", sort=words, title=titles[0], axis=alt.Axis(labelAngle=-35, labelLimit=0))
    legend = alt.Legend(title=None, orient="bottom", columns=3, labelLimit=0)
    looks = {"color": alt.Color, "shape": alt.Shape, "strokeDash": alt.StrokeDash}
    ranges = {
        "color": COLOURS,
        "shape": SHAPES,
        "strokeDash": [[6, 4] if label in dashed else [1, 0] for label in labels],
    }
    look = {
        key: of(f"{series}:N", scale=alt.Scale(domain=labels, range=ranges[key]), legend=legend)
        for key, of in looks.items()
    }

    def heatmap(some: Sequence[Record]) -> Any:
        base = rows(some).encode(x=place, y=alt.Y(f"{series}:N", sort=labels, title=None, axis=alt.Axis(labelLimit=0)))
        ends = [choose(record[y] for record in shown) for choose in (min, max)]
        middle = math.sqrt(ends[0] * ends[1]) if log_y else sum(ends) / 2
        ink = alt.condition(f"datum['{y}'] < {middle!r}", alt.value("white"), alt.value("black"))
        scale = alt.Scale(scheme="viridis", type="log" if log_y else "linear")
        cells = base.mark_rect().encode(color=alt.Color(f"{y}:Q", title=titles[1], scale=scale))
        number = base.mark_text(fontSize=10).encode(text=alt.Text(f"{y}:Q", format=".3~g"), color=ink)
        return (cells + number).properties(width=alt.Step(48), height=alt.Step(26))

    def curves(some: Sequence[Record]) -> Any:
        channels: dict[str, Any] = {
            "x": place,
            "y": alt.Y(f"{y}:Q", title=titles[1], scale=scale_y),
            "color": look["color"],
        }
        if kind == "points":
            channels["xOffset"] = alt.XOffset(f"{series}:N", sort=labels)
        chart = rows(some).mark_point(filled=True, size=50, opacity=1).encode(**channels, shape=look["shape"])
        if kind == "lines":
            chart = rows(some).mark_line().encode(**channels, strokeDash=look["strokeDash"]) + chart
        least = min(record[y] for record in shown) / 10 if log_y else -math.inf
        ends = [
            {**record, low: max(record[low], least)} for record in some if math.isfinite(record.get(low) or math.nan)
        ]
        if ends:
            spread = {**channels, "y": alt.Y(f"{low}:Q", title=titles[1], scale=scale_y), "y2": f"{high}:Q"}
            chart = rows(ends).mark_rule(opacity=0.6).encode(**spread) + chart
        if reference is not None:
            line = alt.Chart(alt.InlineData(values=[{"value": reference}]))
            chart += line.mark_rule(strokeDash=[2, 2]).encode(y="value:Q")
        return chart.properties(width=380 if panel else 560, height=260 if panel else 340)

    drawn = heatmap if kind == "heatmap" else curves
    panels = list(dict.fromkeys(record[panel] for record in shown)) if panel else []
    each = [drawn([record for record in shown if record[panel] == name]).properties(title=name) for name in panels]
    whole = alt.concat(*each, columns=columns).resolve_scale(y="shared") if panel else drawn(shown)
    args.figures.mkdir(parents=True, exist_ok=True)
    whole.properties(title=title).save(str(args.figures / f"{name}.svg"))
