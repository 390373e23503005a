"""What a study's page and its notebook open with: a sentence, numbers and a table that say what the points say."""

from __future__ import annotations

import math
from typing import Any

import pytest

from hwsim.study.findings import findings, short_labels
from hwsim.study.report.contents import spread


def point(label: str, total: float, alone: float = 30.0, summed: float = 60.0, **more: Any) -> dict[str, Any]:
    """A point with its SNRs, each with an interval of 1 dB to both sides."""
    made: dict[str, Any] = {
        "label": label,
        "unit": "u",
        "scaling": "direct",
        "data": "normal",
        "length": 512,
        "trials": 4,
    }
    for name, value in (("total", total), ("quantization", alone), ("accumulation", summed)):
        made |= {f"{name}_snr_db{end}": value + by for end, by in (("", 0), ("_low", -1), ("_high", 1))}
    return made | more


def test_the_best_and_the_worst_are_named_and_what_accumulation_costs() -> None:
    points = [point("u bits=9", 26.0), point("u bits=10", 29.5, summed=62.0), point("u bits=10", 99.0, length=16)]
    found = findings(points)
    assert found.verdict == (
        "At K = 512 bits=10 has a total SNR of 29.5 ± 1.0 dB, the best of 2; bits=9 has the worst, 26.0 ± 1.0 dB. "
        "Accumulation costs 0.5 dB (bits=10) and 4.0 dB (bits=9) of the SNR that quantisation leaves."
    )
    assert [(one.what, one.value, one.of) for one in found.key] == [
        ("Total SNR, highest", "29.5 dB", "bits=10"),
        ("Total SNR, lowest", "26.0 dB", "bits=9"),
        ("Accumulation SNR, highest", "62.0 dB", "bits=10"),
        ("Accumulation SNR, lowest", "60.0 dB", "bits=9"),
        ("Quantisation alone", "30.0 dB", ""),
        ("Points", "3", "4 trials of each"),
    ]
    assert [row[0] for row in found.table.rows] == ["bits=10", "bits=9"]


def test_where_quantisation_hides_the_difference_accumulation_tells() -> None:
    found = findings([point("u bits=12", 29.99, summed=50.0), point("u bits=13", 30.0, summed=70.0)])
    assert found.verdict.startswith(
        "At K = 512 bits=13 has an SNR of accumulation of 70.0 ± 1.0 dB, the best of 2; bits=12"
    )
    assert found.verdict.endswith("Accumulation costs less than 0.05 dB of the SNR that quantisation leaves.")
    assert found.table.rows[0][0] == "bits=13"


def test_the_highest_of_intervals_that_overlap_is_not_called_the_best() -> None:
    found = findings([point("u bits=9", 28.0), point("u bits=10", 29.5)])
    assert found.verdict.startswith(
        "At K = 512 bits=10 has a total SNR of 29.5 ± 1.0 dB, the highest of 2; bits=9 has the lowest, 28.0 ± 1.0 dB; "
        "their intervals overlap. "
    )
    found = findings([point(f"u bits={bits}", total) for bits, total in ((8, 20.0), (9, 28.0), (10, 28.5), (11, 29.5))])
    assert "the highest of 4; bits=8 has the worst, 20.0 ± 1.0 dB; the intervals of 2 others overlap with it" in (
        found.verdict
    )
    once = [point(name, total) | {"trials": 1} for name, total in (("u a", 29.0), ("u b", 26.0))]
    for one in once:
        one |= {f"{name}_snr_db{end}": math.nan for name in ("total", "accumulation") for end in ("_low", "_high")}
    assert "the highest of 2; b has the lowest, 26 dB; one trial has no interval" in findings(once).verdict


def test_points_of_different_data_are_not_ranked_together() -> None:
    points = [point(f"u {name}", total + by, data=data) for name, total in (("a", 20.0), ("b", 30.0))
              for data, by in (("normal", 0.0), ("outliers", 20.0))]  # fmt: skip
    found = findings(points)
    assert found.verdict.startswith("At K = 512 on normal b has a total SNR of 30.0 ± 1.0 dB, the best of 2; a has")
    assert " At K = 512 on outliers b has a total SNR of 50.0 ± 1.0 dB, the best of 2; a has" in found.verdict
    assert "of 4" not in found.verdict
    assert [row[0] for row in found.table.rows] == ["b on normal", "a on normal", "b on outliers", "a on outliers"]
    assert ("Total SNR on outliers, lowest", "40.0 dB", "a") in [(one.what, one.value, one.of) for one in found.key]
    several = findings([point("u", 30.0, data=f"d{number}") for number in range(5)])
    assert several.verdict.count("total SNR") == 3 and several.verdict.endswith("The table has 2 more kinds of data.")


def test_one_point_is_said_alone_and_alike_ones_together() -> None:
    assert findings([point("u", 28.0)]).verdict == (
        "At K = 512 u has a total SNR of 28.0 ± 1.0 dB. Accumulation costs 2.0 dB of the SNR that quantisation leaves."
    )
    alike = findings([point("u a", 30.0), point("u b", 30.0)])
    assert alike.verdict.startswith("At K = 512 all 2 have an SNR of accumulation of 60.0 ± 1.0 dB.")


def test_what_is_exact_or_not_finite_is_said() -> None:
    exact = findings([point("u a", math.inf, math.inf, math.inf), point("u b", 40.0, math.inf, 40.0)])
    assert exact.verdict.startswith("At K = 512 a has a total SNR of infinitely many dB (exact), the best of 2; b has")
    assert exact.table.rows[0][1:] == ("exact", "exact", "exact")
    broken = findings([point("u", math.nan, math.nan, math.nan, nonfinite=3.0)])
    assert broken.verdict == "At K = 512 nothing has an SNR: some results of 1 point are not finite."
    assert ("Not finite", "1 point") in [(one.what, one.value) for one in broken.key]


def test_what_all_labels_begin_with_is_left_out() -> None:
    points = [{"label": "hopper interval=none"}, {"label": "hopper interval=128"}]
    assert [short_labels(points)(one) for one in points] == ["interval=none", "interval=128"]
    # One label, or one that is the beginning of another, stays as it is.
    assert short_labels(points[:1])(points[0]) == "hopper interval=none"
    nested = [{"label": "hopper"}, {"label": "hopper promoted"}]
    assert [short_labels(nested)(one) for one in nested] == ["hopper", "hopper promoted"]


@pytest.mark.parametrize(
    ("value", "half", "text"),
    [
        (81.0123, 0.401, "81.0 ± 0.4"),
        (68.2, 2.94, "68.2 ± 2.9"),
        (28.2, 7.7, "28 ± 8"),
        (2.6e-3, 2.7e-4, "(2.60 ± 0.27)e-3"),
        (-1.3e-4, 7.7e-4, "(−1 ± 8)e-4"),
        (-0.001, 0.2, "0.00 ± 0.20"),
        (1234567.0, 1000.0, "(1.2346 ± 0.0010)e6"),
        (100.0, 1e-9, "100"),
        (5.0, math.nan, "5"),
        (math.inf, 1.0, "∞"),
    ],
)
def test_a_number_has_as_many_digits_as_its_interval_tells(value: float, half: float, text: str) -> None:
    assert spread(value, half) == text
