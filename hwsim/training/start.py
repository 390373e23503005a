"""A network before its first step by units."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from hwsim.training.learner import Course, SingleLearner, learn
from hwsim.training.method import TrainingMethod, reproducible
from hwsim.training.problems import Network, Problem

OUTLYING = 4  # channels that a method's outliers are in


def started(problem: Problem, method: TrainingMethod, seed: int) -> Network:
    """A network before its first step of a method: new, or trained in float32, maybe with outliers."""
    network = problem.network()
    if method.pretrained:
        before = Course(problem=problem, method=method.in_float32, steps=method.pretrained, seed=seed)
        network.load_state_dict(_pretrained(before))
    if method.outliers != 1:
        network.scale_channels(OUTLYING, method.outliers)
    return network


@lru_cache(maxsize=4)
def _pretrained(course: Course) -> dict[str, Any]:
    """The state of a network after steps in float32, which a worker's next parts begin with too."""
    with reproducible(course.seed):
        network = course.problem.network()
        learn(network, course, SingleLearner(network, course.method, course.seed))
        return network.state_dict()
