"""Charts and tables are checked where they enter, and taken as they are meant."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from study.chart_samples import CHARTS, heatmap, lines, report, table

from hwsim.study.report import Axis, Chart, Reference, Series, StudyReport, TextTable, markdown
from hwsim.study.report.palette import looks

X = Axis(title="x")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Axis(title=" "), "axis title must be words"),
        (lambda: Axis(title="x", log=3), "log must be 2, 10 or None, not 3"),
        (lambda: Axis(title="x", log=2, zero=True), "has no zero"),
        (lambda: Axis(title="x", categories=("a", "a")), "categories must be different"),
        (lambda: Axis(title="x", categories="ab"), "is a tuple, not one string"),  # type: ignore[arg-type]
        (lambda: Series(label="", x=(1,), y=(1,)), "series label must be words"),
        (lambda: Series(label="s", x=(1, 2), y=(1,)), "y has 1 entries, x 2"),
        (lambda: Series(label="s", x=(1,), y=(1,), notes=("a", "b")), "notes has 2 entries, x 1"),
        (lambda: Series(label="s", x=(1, "a"), y=(1, 2)), "all numbers or all words"),
        (lambda: Series(label="s", x=(1,), y=(1,), low=(0,)), "low and high go together"),
        (lambda: Series(label="s", x=(1,), y=(1,), low=(2,), high=(3,)), "1.0 is not between low 2.0 and high 3.0"),
        (lambda: Reference(value=math.inf, label="r"), "a finite value on x or y"),
        (lambda: replace(lines(), name="a/b"), "letters, digits, dots, dashes and underscores, not 'a/b'"),
        (lambda: replace(lines(), series=()), "has at least one series"),
        (lambda: replace(lines(), series=lines().series[:1] * 2), "two series of a panel are called 'Hopper'"),
        (lambda: replace(lines(), series=lines().series[2:]), "a series is like 'Hopper', which is not there"),
        (lambda: replace(lines(), kind="pie"), "kind must be one of lines, points, heatmap, not 'pie'"),
        (lambda: replace(lines(), kind="heatmap"), "a heatmap has words on the x axis"),
        (lambda: replace(CHARTS["worded"](), kind="lines"), "words on the x axis have points"),
        (lambda: replace(lines(), columns=0), "columns must be at least 1"),
        (lambda: replace(heatmap(), value=None), "a heatmap, and nothing else, has a value axis"),
        (lambda: replace(lines(), value=X), "a heatmap, and nothing else, has a value axis"),
        (lambda: replace(CHARTS["worded"](), x=Axis(title="x", categories=("normal",))), "'uniform' is not among the"),
        (lambda: TextTable(title="t", header=("a",), rows=(("1", "2"),)), "row 0 has 2 cells, the header 1"),
        (lambda: TextTable(title="t", header=("a",), rows=(), right=(1,)), "right must name columns 0 to 0"),
        (lambda: replace(report(), parts=(lines(), lines())), "two charts of one name among lines, lines"),
        (lambda: StudyReport(name="r", title="t", command="c", summary="abc"), "not one string"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused(make: Any, said: str) -> None:
    with pytest.raises((ValueError, TypeError)) as error:
        make()
    assert said in str(error.value)


def test_numbers_of_any_kind_become_plain_ones() -> None:
    made = Series(label="s", x=np.array([512, 1024]), y=[np.float32(0.5), math.nan], low=[0, 0], high=np.ones(2))  # type: ignore[arg-type]
    assert made.x == (512.0, 1024.0) and type(made.x[0]) is float and made.low == (0.0, 0.0)
    assert [type(one) for one in made.y] == [float, float] and math.isnan(made.y[1])


def test_no_two_of_many_series_look_alike() -> None:
    def chart(series: list[Series]) -> Chart:
        return Chart(name="c", title="t", x=X, y=X, series=tuple(series))

    measured = [Series(label=f"m{at}", x=(1,), y=(1,)) for at in range(64)]
    found = looks(chart(measured))
    assert len({(look.colour, look.shape) for look in found.values()}) == 64
    theory = [Series(label=f"t{at}", x=(1,), y=(1,), dashed=True, like="m0") for at in range(4)]
    both = looks(chart(measured[:3] + theory))
    assert {both[f"t{at}"].colour for at in range(4)} == {both["m0"].colour}
    assert len({tuple(both[f"t{at}"].dash) for at in range(4)}) == 4
    assert all(look.shape == "stroke" for name, look in both.items() if name[0] == "t")


def test_a_table_is_markdown_that_reads_as_it_was_written() -> None:
    assert markdown(table()) == (
        "| Unit | SNR (dB) | Error |\n| --- | ---: | ---: |\n| Hopper | 81.2 | 1.2e-4 |\n| Ada | 101.25 | ∞ |\n"
        "| FP32 | 9 | 0.5 |\n\nOf 8 trials.\n"
    )
    wild = TextTable(title="t", header=("a|b",), rows=(("<b> *x* `y`\nz",),))
    assert markdown(wild) == "| a\\|b |\n| --- |\n| \\<b\\> \\*x\\* \\`y\\` z |\n"
