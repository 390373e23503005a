"""Networks that are trained: the steps are those of a loop written here, and what is measured is what it says."""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import pytest
import torch
from torch import nn

import hwsim.torch as ht
from hwsim.runners import WorkersLost
from hwsim.training.casts import DirectCast
from hwsim.training.corpus import corpus
from hwsim.training.gradients import GradientErrors
from hwsim.training.method import TrainingMethod, reproducible, without_attention
from hwsim.training.mismatch import expected_mismatch, is_direct
from hwsim.training.problems import Characters, DigitPictures, Problem, loss_of
from hwsim.training.runs import TrainingRun
from hwsim.training.study import problem_of

DIGITS = DigitPictures(width=4, batch=16)
TEXT = Characters(width=16, layers=1, heads=2, context=8, batch=8, validated=64)
SGD = TrainingMethod(label="SGD", optimizer="sgd", rate=0.05)


def run_of(method: TrainingMethod, problem: Problem = DIGITS, steps: int = 4, seed: int = 3) -> TrainingRun:
    return TrainingRun(point=1, trial=2, problem=problem, method=method, steps=steps, every=2, seed=seed)


def loop(problem: Problem, steps: int, seed: int, recipe: str | None = None) -> list[float]:
    """SGD with momentum by hand, at rates that rise over a tenth of the steps and fall as a cosine."""
    torch.manual_seed(seed)
    network = problem.network()
    if recipe:
        ht.convert(network, without_attention(ht.load_recipe(recipe)))
    velocity = [torch.zeros_like(one) for one in network.parameters()]
    losses = []
    for step in range(steps):
        rate = 0.05 * min(1, (step + 1) / max(1, steps / 10)) * (0.1 + 0.45 * (1 + math.cos(math.pi * step / steps)))
        x, expected = problem.batch_of(seed, step)
        network.zero_grad()
        loss = loss_of(network(x), expected)
        loss.backward()
        with torch.no_grad():
            for one, speed in zip(network.parameters(), velocity, strict=True):
                assert one.grad is not None
                speed.mul_(0.9).add_(one.grad)
                one.add_(speed, alpha=-rate)
        losses.append(float(loss.detach()))
    return losses


@pytest.mark.parametrize("recipe", ["none", "hfp8"])
def test_the_steps_are_those_of_a_loop(recipe: str) -> None:
    with reproducible(0):
        expected = loop(DIGITS, 4, 3, None if recipe == "none" else recipe)
    found = run_of(replace(SGD, recipe=recipe)).execute()
    assert [(one["point"], one["trial"], one["step"]) for one in found] == [(1, 2, 2.0), (1, 2, 4.0)]
    assert [one["loss"] for one in found] == [sum(expected[:2]) / 2, sum(expected[2:]) / 2]


@pytest.mark.quick
def test_a_run_is_the_same_again_and_another_with_another_seed() -> None:
    run = run_of(TrainingMethod(label="AdamW"), TEXT)
    first = run.execute()
    torch.manual_seed(99)
    assert run.execute() == first
    other = replace(run, seed=4)
    assert other.execute() != first and other.key != run.key
    assert {replace(run, method=replace(run.method, rate=1e-3)).key, replace(run, steps=6).key}.isdisjoint({run.key})


def test_a_run_that_diverges_says_so_from_then_on() -> None:
    found = run_of(replace(SGD, rate=1e6), steps=6).execute()
    assert len(found) == 3
    assert math.isnan(found[-1]["loss"]) and math.isnan(found[-1]["validation"])


def test_steps_whose_gradients_overflow_are_counted() -> None:
    found = run_of(replace(SGD, recipe="hfp8", loss_scale=2.0**60), steps=4).execute()
    assert [one["skipped"] for one in found] == [2.0, 4.0]
    dynamic = run_of(replace(SGD, loss_scale="dynamic"), steps=4).execute()
    assert dynamic[-1]["skipped"] == 0.0


def test_batches_of_a_seed_do_not_depend_on_the_method() -> None:
    for problem in (TEXT, DIGITS):
        (x, y), (again, _), (other, _) = problem.batch_of(1, 5), problem.batch_of(1, 5), problem.batch_of(1, 6)
        assert torch.equal(x, again) and not torch.equal(x, other) and len(x) == len(y)
    x, y = TEXT.batch_of(1, 5)
    assert torch.equal(x[:, 1:], y[:, :-1])


def test_the_text_is_held_back_in_part_and_has_few_characters() -> None:
    train, validation, characters = corpus()
    assert 0 <= len(train) - 9 * len(validation) < 10
    assert 60 < characters < 100 and int(train.max()) < characters
    assert len(train) + len(validation) > 150_000


@pytest.mark.parametrize("problem", [TEXT, DIGITS], ids=lambda one: one.kind)
def test_outliers_change_activations_and_no_result(problem: Problem) -> None:
    with reproducible(1):
        network = problem.network().double().eval()
    x = problem.unseen()[0][:4]
    x = x if x.dtype == torch.int64 else x.double()
    layers = [one for one in network.modules() if isinstance(one, (nn.Linear, nn.Conv2d))]
    largest: list[float] = []
    for layer in layers:
        layer.register_forward_pre_hook(lambda _, given: largest.append(float(given[0].detach().abs().max())))
    before = network(x)
    network.scale_channels(2, 64.0)
    torch.testing.assert_close(network(x), before)
    assert max(largest[len(layers) :]) > 8 * max(largest[: len(layers)])


def test_fine_tuning_begins_where_float32_ended() -> None:
    ended = run_of(replace(SGD, rate=0.0, pretrained=4, pretrained_rate=0.05), TEXT, steps=1)
    trained = run_of(SGD, TEXT, steps=4).execute()
    assert ended.execute()[0]["validation"] == trained[-1]["validation"]


def test_a_direct_cast_is_compared_with_the_same_network() -> None:
    methods = tuple(replace(SGD, label=one, recipe=one, pretrained=30) for one in ("none", "hfp8", "mxfp4"))
    cast = DirectCast(point=0, trial=1, problem=DIGITS, methods=methods, seed=1)
    none, hfp8, mxfp4 = cast.execute()
    assert (none["mismatch"], hfp8["point"], hfp8["trial"]) == (0.0, 1, 1)
    assert 0 < hfp8["mismatch"] < mxfp4["mismatch"] < 1
    assert math.isnan(mxfp4["estimated"]) and math.isnan(none["estimated"])  # scaled; not rounded at all
    assert hfp8["mismatch"] < hfp8["estimated"] < 1
    # Statistics tuned again are those of the last batches, and no worse than running means of few steps.
    assert none["validation_tuned"] < none["validation"]
    assert none["right"] > 0.5


def test_the_expected_mismatch_is_the_bound_by_hand() -> None:
    torch.manual_seed(2)
    network = nn.Sequential(nn.Flatten(), nn.Linear(6, 3))
    x = torch.randn(5, 1, 2, 3)
    unit = {"unit": "hfp8-forward-e4m3-dlfloat16", "changes": {"a": "e4m3", "b": "e5m2"}, "a": "direct", "b": "direct"}
    recipe = ht.load_recipe({"recipe": "r", "products": {"forward": unit, "input": "none", "weight": "none"}})
    assert is_direct(recipe) and not is_direct(ht.load_recipe("mxfp8"))
    layer = network[1]
    assert isinstance(layer, nn.Linear)
    weight, rows = layer.weight.detach(), x.flatten(1)
    of_weights, of_x = ht.cast(weight, "e5m2") - weight, ht.cast(rows, "e4m3") - rows
    bounds = []
    for row, error in zip(rows, of_x, strict=True):
        logits = layer(row).detach()
        y = int(logits.argmax())
        total = 0.0
        for i in {0, 1, 2} - {y}:
            variance = float((((weight[i] - weight[y]) * error) ** 2).sum())
            variance += float(((row * of_weights[i]) ** 2).sum() + ((row * of_weights[y]) ** 2).sum())
            total += variance / (2 * float(logits[i] - logits[y]) ** 2)
        bounds.append(min(1.0, total))
    assert expected_mismatch(network, x, recipe) == pytest.approx(sum(bounds) / 5, rel=1e-5)


def test_errors_of_gradients_grow_with_k_unless_sums_are_promoted() -> None:
    methods = tuple(TrainingMethod(label=one, recipe=one, pretrained=5) for one in ("hopper-unpromoted", "deepseek-v3"))
    problem = replace(TEXT, context=16, batch=16)
    errors = GradientErrors(point=0, trial=0, problem=problem, methods=methods, batches=(1, 8), seed=1)
    short, long, promoted_short, promoted_long = errors.execute()
    assert [one["length"] for one in (short, long, promoted_short, promoted_long)] == [256, 2048, 256, 2048]
    assert long["accumulation"] > 2 * short["accumulation"]
    assert promoted_long["accumulation"] < long["accumulation"] / 4


@pytest.mark.slow
def test_four_learners_learn_what_one_does() -> None:
    method = replace(SGD, recipe="hfp8", update="residual", loss_scale=1024.0, rate=0.02)
    one = run_of(method, steps=40).execute()
    four = run_of(replace(method, learners=4), steps=40).execute()
    assert len(one) == len(four) == 20
    assert four[-1]["loss"] < 0.7 * four[0]["loss"]
    assert abs(four[-1]["loss"] - one[-1]["loss"]) < 0.3


def test_a_learner_that_is_lost_is_told() -> None:
    with pytest.raises(WorkersLost, match=r"SGD: learner \d ended with 1: .*unknown format 'unknown'"):
        run_of(replace(SGD, learners=2, update="residual", weights="unknown"), steps=1).execute()


def test_a_problem_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown problem 'faces'"):
        problem_of("faces", "tiny")
    with pytest.raises(ValueError, match="colour"):
        DigitPictures(width=4, batch=16, colour="red")


WRONG = {
    "optimiser that is none": ({"optimizer": "adam"}, "'adamw' or 'sgd'"),
    "key that is none": ({"rates": 1.0}, "rates"),
    "learners without residuals": ({"learners": 4}, "several learners have update: residual"),
    "learners of a factor that changes": ({"learners": 4, "update": "residual", "loss_scale": "dynamic"}, "constant"),
    "outliers of nothing": ({"outliers": 50.0}, "outliers are of a network that has been pretrained"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_method_that_makes_no_sense_is_refused(name: str) -> None:
    keys, said = WRONG[name]
    with pytest.raises(ValueError, match=said):
        TrainingMethod(label="wrong", **keys)


def test_nothing_of_a_network_is_changed_by_a_copy_that_is_cast() -> None:
    network = DIGITS.network()
    one = copy.deepcopy(network)
    replace(SGD, recipe="hfp8").convert(one)
    x = DIGITS.unseen()[0][:8]
    network.eval(), one.eval()
    assert not torch.equal(network(x), one(x)) and type(network).__mro__[1] is nn.Module
