"""The errors of gradients by the length of their sums: the tokens of a batch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fnmatch import fnmatchcase

from hwsim.errors import InputError
from hwsim.runners import Rows
from hwsim.torch import measure, restore
from hwsim.training.method import TrainingMethod, reproducible
from hwsim.training.part import TrainingPart
from hwsim.training.problems import loss_of
from hwsim.training.start import started

MEASURES = ("quantization", "accumulation", "total", "shrink")


@dataclass(frozen=True, kw_only=True)
class GradientErrors(TrainingPart):
    """A network after `pretrained` steps in float32, and the errors of its next gradients of weights.

    batches: as how many batches together those are taken. methods: whose recipes compute them; the same otherwise.
    layers: those that count, by a pattern of their names, whose gradients sum as many numbers as each other's.
    A row for each recipe and number of batches, in this order: `length`, the numbers that a gradient sums; and the root
    mean squares over the layers of the relative errors of `hwsim.torch.Measures`, of `shrink` the mean.
    """

    code = "hwsim.training.gradients"

    methods: tuple[TrainingMethod, ...]
    batches: tuple[int, ...]
    layers: str = "*"

    @property
    def products(self) -> int:
        """Those of all steps."""
        return self.problem.products * (self.methods[0].pretrained + len(self.methods) * sum(self.batches))

    @property
    def count(self) -> int:
        """A row for each recipe and number of batches."""
        return len(self.methods) * len(self.batches)

    def execute(self) -> Rows:
        """Train, and measure."""
        rows: Rows = []
        with reproducible(self.seed):
            network = started(self.problem, self.methods[0], self.seed)
            for method in self.methods:
                method.convert(network)
                for many in self.batches:
                    x, expected = self.problem.batch_of(self.seed, self.methods[0].pretrained, many)
                    network.zero_grad()
                    with measure() as measured:
                        loss = method.scaler().scale(loss_of(network(x), expected))
                        loss.backward()  # type: ignore[no-untyped-call]
                    found = [one for one in measured.records if one["product"] == "weight"]
                    found = [one for one in found if fnmatchcase(one["layer"], self.layers)]
                    if not found:
                        raise InputError(f"{method.label}: no layer that units compute is {self.layers!r}")
                    point = self.point + len(rows)
                    rows.append(
                        {"point": point, "trial": self.trial, "length": float(found[0]["k"]), **_together(found)}
                    )
                restore(network)
        return rows


def _together(found: Rows) -> dict[str, float]:
    """Root mean squares over layers; the mean of what has a sign."""
    return {
        name: sum(one[name] for one in found) / len(found)
        if name == "shrink"
        else math.sqrt(sum(one[name] ** 2 for one in found) / len(found))
        for name in MEASURES
    }
