"""Training of one network by one method from one seed: what the loss was on the way."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from hwsim.sources import identity
from hwsim.study.work import Rows, Work
from hwsim.torch import recipes
from hwsim.torch.recipe import SHIPPED
from hwsim.training.method import TrainingMethod, reproducible, set_rate
from hwsim.training.problems import Network, Problem, judged, loss_of

OUTLYING = 4  # channels that a method's outliers are in
DIVERGED = math.log(1e4)  # nats: far above the loss of answers by chance
Record = Callable[[int, float], None]


def key_of(code: str, *parts: Any) -> str:
    """A digest of what rows depend on: code, recipes that ship with hwsim, and what else is said."""
    kept = [(SHIPPED / f"{name}.yaml").read_text("utf-8") for name in recipes()]
    text = json.dumps([identity(code), kept, *parts], sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(frozen=True, kw_only=True)
class TrainingRun(Work):
    """One network that one method trains from one seed.

    A row for each `every` steps: the mean `loss` of the batches since the row before, and `validation` and `right` of
    what it has not seen; `skipped`, the steps until then whose gradients had overflowed. NaN from where the loss is no
    number, or over 9.2 nats.
    """

    code = "hwsim.training.runs"

    point: int
    trial: int
    problem: Problem
    method: TrainingMethod
    steps: int
    every: int
    seed: int

    @property
    def products(self) -> int:
        """Those of every step, in float32 too."""
        return self.problem.products * (self.steps + self.method.pretrained)

    @property
    def work(self) -> int:
        """As many as it sums."""
        return self.products

    @property
    def key(self) -> str:
        """A digest of the method, the problem, the seed, and the code."""
        return key_of(self.code, asdict(self.problem), asdict(self.method), self.point, self.trial, self.steps,
                      self.every, self.seed)  # fmt: skip

    @property
    def count(self) -> int:
        """A row for each `every` steps."""
        return len(self.recorded)

    @property
    def recorded(self) -> list[int]:
        """The numbers of steps after which there is a row."""
        return [*range(self.every, self.steps, self.every), self.steps]

    def check(self) -> None:
        """Nothing: the text and the digits come with packages."""

    def execute(self) -> Rows:
        """Train."""
        if self.method.learners > 1:
            from hwsim.training.learners import trained_together

            return self.rows(trained_together(self))
        return self.rows(trained(self))

    def rows(self, found: dict[int, dict[str, float]]) -> Rows:
        """A row for each number of steps, whether it was reached or not."""
        nothing = dict.fromkeys(("loss", "validation", "right", "skipped"), math.nan)
        of = {"point": self.point, "trial": self.trial}
        return [{**of, "step": float(step), **found.get(step, nothing)} for step in self.recorded]


def started(problem: Problem, method: TrainingMethod, seed: int) -> Network:
    """A network before its first step of a method: new, or trained in float32, maybe with outliers."""
    network = problem.network()
    if method.pretrained:
        rate = method.rate if method.pretrained_rate is None else method.pretrained_rate
        before = TrainingMethod(label="", rate=rate, optimizer=method.optimizer)
        network.load_state_dict(_pretrained(problem, before, method.pretrained, seed))
    if method.outliers != 1:
        network.scale_channels(OUTLYING, method.outliers)
    return network


@lru_cache(maxsize=4)
def _pretrained(problem: Problem, method: TrainingMethod, steps: int, seed: int) -> dict[str, Any]:
    """The state of a network after steps in float32, which a worker's next parts begin with too."""
    with reproducible(seed):
        network = problem.network()
        learn(network, problem, method, steps, seed, lambda step, loss, skipped: None)
        return network.state_dict()


def trained(run: TrainingRun) -> dict[int, dict[str, float]]:
    """The measures of a run, by the number of steps."""
    found: dict[int, dict[str, float]] = {}
    losses: list[float] = []
    with reproducible(run.seed):
        network = started(run.problem, run.method, run.seed)
        run.method.convert(network)

        def record(step: int, loss: float, skipped: int) -> None:
            losses.append(loss)
            if step in run.recorded:
                seen = judged(network, run.problem)
                mean = sum(losses) / len(losses)
                found[step] = {"loss": mean, "validation": seen.loss, "right": seen.right, "skipped": float(skipped)}
                losses.clear()

        # After steps in float32 others follow: a seed's batches do not come again.
        learn(network, run.problem, run.method, run.steps, run.seed, record, run.method.pretrained)
    return found


def learn(
    network: Network,
    problem: Problem,
    method: TrainingMethod,
    steps: int,
    seed: int,
    record: Callable[[int, float, int], None],
    first: int = 0,
) -> None:
    """Take the steps of a method.

    record: is given the number of each step from 1, its loss, and how many steps were skipped. first: the batch to
    begin with. Ends early where the loss is no number any more, or tells of divergence.
    """
    optimizer, scaler = method.steps_of(network, seed), method.scaler()
    network.train()
    for step in range(steps):
        set_rate(optimizer, method.rate_at(step, steps))
        x, expected = problem.batch_of(seed, first + step)
        optimizer.zero_grad()
        loss = loss_of(network(x), expected)
        found = float(loss.detach())
        if not found < DIVERGED:
            return
        scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        scaler.step(optimizer)  # type: ignore[arg-type]
        record(step + 1, found, scaler.skipped)
