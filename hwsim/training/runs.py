"""Training of one network by one method from one seed: what the loss was on the way."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hwsim.runners import Rows
from hwsim.training.learner import Course, Found, SingleLearner, learn
from hwsim.training.learners import trained_together
from hwsim.training.method import TrainingMethod, reproducible
from hwsim.training.part import TrainingPart
from hwsim.training.start import started


@dataclass(frozen=True, kw_only=True)
class TrainingRun(TrainingPart):
    """One network that one method trains from one seed.

    A row for each `every` steps: the mean `loss` of the batches since the row before, and `validation` and `right` of
    what it has not seen; `skipped`, the steps until then whose gradients had overflowed. NaN from where the loss is no
    number, or over 9.2 nats.
    """

    code = "hwsim.training.runs"

    method: TrainingMethod
    steps: int
    every: int

    @property
    def products(self) -> int:
        """Those of every step, in float32 too."""
        return self.problem.products * (self.steps + self.method.pretrained)

    @property
    def count(self) -> int:
        """A row for each `every` steps."""
        return len(self.recorded)

    @property
    def recorded(self) -> tuple[int, ...]:
        """The numbers of steps after which there is a row."""
        return *range(self.every, self.steps, self.every), self.steps

    def execute(self) -> Rows:
        """Train."""
        course = Course(
            problem=self.problem, method=self.method, steps=self.steps, seed=self.seed, recorded=self.recorded
        )
        return self.rows(trained(course) if self.method.learners == 1 else trained_together(course))

    def rows(self, found: Found) -> Rows:
        """A row for each number of steps, whether it was reached or not."""
        nothing = dict.fromkeys(("loss", "validation", "right", "skipped"), math.nan)
        of = {"point": self.point, "trial": self.trial}
        return [{**of, "step": float(step), **found.get(step, nothing)} for step in self.recorded]


def trained(course: Course) -> Found:
    """What a network does on its course, by the number of steps."""
    with reproducible(course.seed):
        network = started(course.problem, course.method, course.seed)
        course.method.convert(network)
        return learn(network, course, SingleLearner(network, course.method, course.seed))
