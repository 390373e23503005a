"""Deliberate faults of what trains and of what tables say: each makes a test of these fail."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor
from training import test_training_runs as runs_tests
from training import test_training_tables as tables_tests

from hwsim.training import casts, gradients, learner, mismatch, networks, problems, runs, start, tables
from hwsim.training.method import TrainingMethod

Test = Callable[[], None]


class Fault(NamedTuple):
    """What stands in the place of a module's name, and the test that finds it."""

    place: Any
    name: str
    wrong: Any
    found_by: Test


def loop(recipe: str) -> Test:
    return lambda: runs_tests.test_the_steps_are_those_of_a_loop(recipe)


def outliers() -> None:
    runs_tests.test_outliers_change_activations_and_no_result(runs_tests.TEXT)


def gap_of_means(rows: Any, of_baseline: Any) -> dict[str, Any]:
    """Means first, differences then: intervals of seeds, not of differences."""
    both = [tables.interval([one["validation"] for one in of], 0.95) for of in (rows, of_baseline)]
    gap, reach = both[0].mean - both[1].mean, both[0].high - both[0].mean
    return {"gap": gap, "gap_low": gap - reach, "gap_high": gap + reach, "gap_said": "-"}


@contextlib.contextmanager
def any_seed(_: int) -> Iterator[None]:
    yield


def small_norms(self: networks.TransformerBlock, channels: int, factor: float) -> None:
    """Weights that stay what they are."""
    self.before.weight[:channels] *= factor


def one_error_less(network: Any, x: Tensor, answers: Tensor, weights: Any, errors: Any) -> Tensor:
    """The errors of weights count for nothing."""
    return torch.zeros(len(x), 1)


def same_batches(self: Any, seed: int, step: int, many: int = 1) -> Any:
    return BATCHES(self, seed, 0, many)


BATCHES = problems.DigitPictures.batch_of
FAULTS = {
    "gaps are of means": Fault(
        tables, "_gap", gap_of_means, tables_tests.test_a_gap_is_the_mean_of_the_differences_of_equal_seeds
    ),
    "what diverged is left out": Fault(
        tables, "_measured", lambda rows: {"validation": 2.1, "validation_said": "2.100 ± 0.1"},
        tables_tests.test_a_run_that_diverged_is_told_and_not_left_out_of_a_mean,
    ),
    "the rate stays": Fault(TrainingMethod, "rate_at", lambda self, step, steps: self.rate, loop("none")),
    "no unit computes": Fault(TrainingMethod, "convert", lambda self, network: None, loop("hfp8")),
    "every batch is the first": Fault(
        problems.DigitPictures, "batch_of", same_batches, runs_tests.test_batches_of_a_seed_do_not_depend_on_the_method
    ),
    "no seed is set": Fault(
        runs, "reproducible", any_seed,
        runs_tests.test_a_run_is_the_same_again_and_another_with_another_seed,
    ),
    "nothing diverges": Fault(
        learner, "DIVERGED", float("inf"), runs_tests.test_a_run_that_diverges_says_so_from_then_on
    ),
    "nothing was learned before": Fault(
        start, "_pretrained", lambda course: course.problem.network().state_dict(),
        runs_tests.test_fine_tuning_begins_where_float32_ended,
    ),
    "outliers are results": Fault(networks.TransformerBlock, "scale_channels", small_norms, outliers),
    "answers are compared with themselves": Fault(
        casts, "answers", lambda network, x: torch.zeros(len(x)),
        runs_tests.test_a_direct_cast_is_compared_with_the_same_network,
    ),
    "batch norms stay": Fault(
        casts, "retune", lambda network, batches: 0, runs_tests.test_a_direct_cast_is_compared_with_the_same_network
    ),
    "weights are exact": Fault(
        mismatch, "_of_weights", one_error_less, runs_tests.test_the_expected_mismatch_is_the_bound_by_hand
    ),
    "batches do not grow": Fault(
        runs_tests.Characters, "batch_of",
        (lambda right: lambda self, seed, step, many=1: right(self, seed, step))(runs_tests.Characters.batch_of),
        runs_tests.test_errors_of_gradients_grow_with_k_unless_sums_are_promoted,
    ),
    "quantisation is called accumulation": Fault(
        gradients, "_together", lambda found: {"accumulation": found[0]["quantization"]},
        runs_tests.test_errors_of_gradients_grow_with_k_unless_sums_are_promoted,
    ),
    "settings go together": Fault(
        TrainingMethod, "__post_init__", lambda self: None,
        lambda: runs_tests.test_a_method_that_makes_no_sense_is_refused("outliers of nothing"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = FAULTS[name]
    start._pretrained.cache_clear()
    monkeypatch.setattr(fault.place, fault.name, fault.wrong)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        fault.found_by()


def test_steps_in_float32_have_batches_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    right = problems.DigitPictures.batch_of
    monkeypatch.setattr(
        problems.DigitPictures, "batch_of", lambda self, seed, step: seen.append(step) or right(self, seed, step)
    )
    start._pretrained.cache_clear()
    runs_tests.run_of(replace(runs_tests.SGD, pretrained=3), steps=2).execute()
    assert seen == [0, 1, 2, 3, 4]
