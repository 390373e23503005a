"""What tables say of trained networks: means over seeds, gaps seed by seed, and nothing that diverged left out."""

from __future__ import annotations

import math
from statistics import fmean, stdev

import pytest

from hwsim.runners import Rows
from hwsim.training.tables import by_length, compared, curves, final

T3 = 4.302652729911275  # Student's t, two degrees of freedom, 97.5 %
LOSSES = {0: [2.0, 2.2, 2.1], 1: [2.1, 2.3, 2.21]}  # by point: by trial


def rows(losses: dict[int, list[float]] = LOSSES) -> Rows:
    return [
        {"point": point, "trial": trial, "step": step, "loss": 3.0, "validation": loss + (step < 20), "right": 0.25}
        for step in (10.0, 20.0)
        for point, of in losses.items()
        for trial, loss in enumerate(of)
    ]


@pytest.mark.quick
def test_a_gap_is_the_mean_of_the_differences_of_equal_seeds() -> None:
    base, other = final(rows(), ["a", "b"], "a")
    differences = [b - a for a, b in zip(*LOSSES.values(), strict=True)]
    assert (base["label"], base["gap_said"]) == ("a", "-")
    assert other["gap"] == pytest.approx(fmean(differences))
    # Much narrower than that of either mean: seeds differ by more than methods do.
    reach = T3 * stdev(differences) / math.sqrt(3)
    assert other["gap_high"] - other["gap"] == pytest.approx(reach)
    assert other["gap_said"] == f"{fmean(differences):+.3f} ± {reach:.3f}"
    assert other["validation_high"] - other["validation"] == pytest.approx(T3 * stdev(LOSSES[1]) / math.sqrt(3))
    assert other["right_percent"] == "25.0 ± 0.0"


def test_a_run_that_diverged_is_told_and_not_left_out_of_a_mean() -> None:
    base, lost = final(rows({**LOSSES, 1: [2.1, math.nan, 2.2]}), ["a", "b"], "a")
    assert math.isfinite(base["validation"])
    assert lost["gap_said"] == "diverged, 1 of 3" and lost["validation_said"] == "none in 1 of 3"
    assert math.isnan(lost["validation"]) and math.isnan(lost["gap"])
    assert compared(rows({**LOSSES, 1: [math.nan] * 3}), ["a", "b"], "a")[1]["validation_said"] == "-"


def test_curves_have_every_method_at_every_step() -> None:
    found = curves(rows(), ["a", "b"], "a")
    assert [(one["label"], one["step"]) for one in found] == [("a", 10), ("a", 20), ("b", 10), ("b", 20)]
    assert found[0]["validation"] == pytest.approx(found[1]["validation"] + 1)
    assert found[2]["gap"] == found[3]["gap"] == final(rows(), ["a", "b"], "a")[1]["gap"]


def test_errors_by_length_are_of_their_recipe() -> None:
    given = [
        {"point": point, "trial": 0, "length": 64.0 * (1 + point % 2), "total": float(point)} for point in range(4)
    ]
    found = by_length(given, ["a", "b"], 2)
    assert [(one["label"], one["length"], one["total"]) for one in found] == [
        ("a", 64, 0), ("a", 128, 1), ("b", 64, 2), ("b", 128, 3)
    ]  # fmt: skip
