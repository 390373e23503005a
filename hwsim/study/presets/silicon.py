"""The same matrix product on every matrix unit of real hardware: where two generations differ, and by how much."""

from __future__ import annotations

import math
from pathlib import Path

from hwsim.study.data import draw, parse_data
from hwsim.study.presets.generations import Compared, Pair, UnitError, compare, groups
from hwsim.study.presets.preset import Context
from hwsim.study.report.contents import Axis, Chart, Series, StudyReport, TextTable
from hwsim.study.report.sweeps import grid, listing

NAME = "silicon"
NORMAL, ONE_SIGNED = "normal", {"distribution": "non-negative", "kind": "half-normal", "name": "half-normal"}
SEED = 1
EQUAL = 200.0  # dB: what a heatmap shows in the place of an infinite SNR
SHOWN = ("e4m3 to f32", "e5m2 to f32", "f16 to f32", "bf16 to f32", "tf32 to f32")
SOURCES = (
    "Khattak and Mikaitis, results captured from V100, A100, A2, Ada, H100, H200 and B200 GPUs",
    "MMA-Sim, a simulator of matrix units: what no capture settles, and all of AMD's units",
    "Each unit's own sources: hwsim units NAME",
)


def report(context: Context) -> StudyReport:
    """The report: pairs of each group of formats on zero-mean data, and each unit's own error."""
    length = context.pick(tiny=64, quick=4096, full=16384)
    size = context.pick(tiny=4, quick=64, full=128)
    normal, one_signed = (_compared(entry, length, size) for entry in (NORMAL, ONE_SIGNED))
    return StudyReport(
        name=NAME,
        title="The same matrix product on every GPU",
        command=context.command,
        summary=(
            f"A ({size} x {length:,}) times B ({length:,} x {size}), rounded once to the operands' format, so that all "
            "units of a group multiply the same numbers (CDNA3's fnuz formats have all of them; E8M0 and UE4M3 scales "
            "are 1). Units whose specifications say the same stand together: their difference is zero by definition.",
            "An ulp is one of the result's format at the root mean square of the exact sums. Nearest: results that are "
            "the exact sum rounded to nearest. Shrink: the mean error towards zero over the mean magnitude of the "
            "sums. Pairs, of normal data: share of results that differ in bits; largest difference in ulp; SNR of one "
            "over the difference.",
        ),
        parts=(
            *(_heatmap(normal[name]) for name in SHOWN),
            listing(
                "Units and different results",
                ("factors and result",),
                {name: (one, one_signed[name]) for name, one in normal.items()},
                {
                    "units": lambda both: str(both[0].group.units),
                    "specifications": lambda both: str(len(both[0].group.members)),
                    "different results, normal": lambda both: str(both[0].different),
                    "half-normal": lambda both: str(both[1].different),
                },
            ),
            _table_of_errors(normal, one_signed),
            *(_table_of_pairs(normal[name]) for name in SHOWN),
        ),
        sources=SOURCES,
    )


def _compared(entry: str | dict[str, str], length: int, size: int) -> dict[str, Compared]:
    """All groups on data of one kind, by their names."""
    drawn = draw(parse_data(entry, Path()), SEED, 0, length, size, size)
    return {group.name: compare(group, drawn) for group in groups()}


def _table_of_errors(normal: dict[str, Compared], one_signed: dict[str, Compared]) -> TextTable:
    """Each unit's own error on both kinds of data."""
    rows: dict[tuple[str, str], tuple[UnitError, UnitError]] = {
        (name, member.short): (normal[name].errors[at], one_signed[name].errors[at])
        for name in SHOWN
        for at, member in enumerate(normal[name].group.members)
    }
    return TextTable(
        title="Each unit against the exact sum",
        header=(
            "formats",
            "units",
            "SNR, dB",
            "nearest, %",
            "largest, ulp",
            "half-normal: SNR, dB",
            "nearest, %",
            "shrink, %",
        ),
        rows=tuple(
            (
                *words,
                _decibels(one.snr),
                f"{100 * one.nearest:.1f}",
                _ulps(one.ulp),
                _decibels(other.snr),
                f"{100 * other.nearest:.1f}",
                f"{round(100 * other.shrink, 4) + 0.0:.4f}",
            )
            for words, (one, other) in rows.items()
        ),
        right=tuple(range(2, 8)),
    )


def _table_of_pairs(one: Compared) -> TextTable:
    """Every pair once: share of results that differ, largest difference, SNR."""
    numbered = {label: at for at, label in enumerate(_labels(one))}
    return grid(
        f"Pairs, {one.group.name}",
        (one.group.name,),
        dict(list(numbered.items())[:-1]),
        dict(list(numbered.items())[1:]),
        lambda i, j: "" if j <= i else _cell(one.pairs[i, j]),
    )


def _heatmap(one: Compared) -> Chart:
    labels = _labels(one)
    equal = any(math.isinf(pair.snr) for pair in one.pairs.values())
    series = []
    for i, label in enumerate(labels):
        others = {str(j + 1): one.pairs[min(i, j), max(i, j)] for j in range(len(labels)) if j != i}
        values = tuple(EQUAL if math.isinf(pair.snr) else pair.snr for pair in others.values())
        series.append(Series(label=label, x=tuple(others), y=values, notes=tuple(map(_cell, others.values()))))
    return Chart(
        name=f"silicon-{one.group.a}",
        title=f"How alike units are, {one.group.name}",
        kind="heatmap",
        x=Axis(title="Unit (the row of that number)", categories=tuple(str(i + 1) for i in range(len(labels)))),
        y=Axis(title="Unit"),
        value=Axis(title="SNR (dB)"),
        series=tuple(series),
        caption="SNR of one unit's results over their difference from another's, on the same codes of normal data. "
        f"{f'{EQUAL:g}: equal bit for bit. ' if equal else ''}Units named together have one specification.",
    )


def _labels(one: Compared) -> list[str]:
    """The units of a group, numbered; those of one specification by their generations, where the instruction is one."""
    return [f"{i + 1} {member.short}" for i, member in enumerate(one.group.members)]


def _cell(pair: Pair) -> str:
    if not pair.share:
        return "equal"
    return f"{100 * pair.share:.1f} %; {_ulps(pair.ulp)} ulp; {_decibels(pair.snr)} dB"


def _ulps(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _decibels(value: float) -> str:
    return "exact" if math.isinf(value) else f"{value:.1f}"
