"""The steps of a method: what becomes of a batch, of its loss, and of the weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor

from hwsim.training.method import TrainingMethod
from hwsim.training.problems import Network, Problem, judged, loss_of

DIVERGED = math.log(1e4)  # nats: far above the loss of answers by chance
Found = dict[int, dict[str, float]]


@dataclass(frozen=True, kw_only=True)
class Course:
    """What is to be learned, how, in how many steps, and from which seed.

    recorded: after which of the steps, counted from 1, a network is judged.
    """

    problem: Problem
    method: TrainingMethod
    steps: int
    seed: int
    recorded: tuple[int, ...] = ()


class Learner(Protocol):
    """Who takes the steps: a process by itself, or one of several."""

    @property
    def skipped(self) -> int:
        """The steps whose gradients had overflowed."""

    def set_rate(self, rate: float) -> None:
        """Let the next step have this rate of learning."""

    def share(self, x: Tensor) -> Tensor:
        """What it learns of a batch."""

    def mean(self, loss: float) -> float:
        """The loss of the whole batch, from that of its share."""

    def step(self, loss: Tensor) -> None:
        """Compute gradients, and take the step."""


class SingleLearner:
    """A process by itself, with the optimiser and the loss scaling of a method."""

    def __init__(self, network: Network, method: TrainingMethod, seed: int):
        self._optimizer, self._scaler = method.steps_of(network, seed), method.scaler()

    @property
    def skipped(self) -> int:
        """The steps whose gradients had overflowed."""
        return self._scaler.skipped

    def set_rate(self, rate: float) -> None:
        """Let the next step have this rate of learning."""
        set_rate(self._optimizer, rate)

    def share(self, x: Tensor) -> Tensor:
        """All of it."""
        return x

    def mean(self, loss: float) -> float:
        """The loss."""
        return loss

    def step(self, loss: Tensor) -> None:
        """Compute gradients, and take the step unless one of them overflows."""
        self._optimizer.zero_grad()
        self._scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        self._scaler.step(self._optimizer)  # type: ignore[arg-type]


def set_rate(optimizer: Any, rate: float) -> None:
    """Let an optimiser's next step have this rate."""
    for group in optimizer.param_groups:
        group["lr"] = rate


def learn(network: Network, course: Course, learner: Learner) -> Found:
    """Take the steps of a course, and say how well the network does after those that are recorded.

    For each there are `loss`, the mean of the batches since the one before, `validation` and `right` of what it has not
    seen, and `skipped`. Ends early where the loss is no number any more, or tells of divergence. A seed's batches go on
    behind those that the method's steps in float32 had.
    """
    problem, method = course.problem, course.method
    found: Found = {}
    losses: list[float] = []
    network.train()
    for step in range(1, course.steps + 1):
        learner.set_rate(method.rate_at(step - 1, course.steps))
        x, expected = map(learner.share, problem.batch_of(course.seed, method.pretrained + step - 1))
        loss = loss_of(network(x), expected)
        losses.append(learner.mean(float(loss.detach())))
        if not losses[-1] < DIVERGED:
            break
        learner.step(loss)
        if step in course.recorded:
            seen, mean = judged(network, problem), sum(losses) / len(losses)
            skipped = float(learner.skipped)
            found[step] = {"loss": mean, "validation": seen.loss, "right": seen.right, "skipped": skipped}
            losses.clear()
    return found
