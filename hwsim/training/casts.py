"""Trained networks whose products go through units afterwards: what they answer then, and what was to be expected."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

from torch import Tensor, nn

from hwsim.runners import Rows
from hwsim.torch import load_recipe, retune
from hwsim.training.method import NONE, TrainingMethod, reproducible
from hwsim.training.mismatch import expected_mismatch, is_direct
from hwsim.training.part import TrainingPart
from hwsim.training.problems import Characters, Network, answers, judged
from hwsim.training.start import started

TUNED = 20  # batches that statistics of batch norms are tuned by


@dataclass(frozen=True, kw_only=True)
class DirectCast(TrainingPart):
    """One network, trained in float32 from one seed, and what each recipe does to it.

    methods: `pretrained` steps, maybe `outliers`, the same in all; and the recipes.
    A row for each: `validation`, `right`; `mismatch`, the share of answers that are not those in float32; the same with
    `_tuned` of batch norms tuned again; and `estimated`, of recipes without scales, what `expected_mismatch` says.
    What does not apply is NaN.
    """

    code = "hwsim.training.casts"

    methods: tuple[TrainingMethod, ...]

    @property
    def products(self) -> int:
        """Those of the steps in float32, and of what the network answers."""
        return self.problem.products * (self.methods[0].pretrained + 4 * len(self.methods))

    @property
    def count(self) -> int:
        """A row for each recipe."""
        return len(self.methods)

    def execute(self) -> Rows:
        """Train, and look at every recipe."""
        with reproducible(self.seed):
            network = started(self.problem, self.methods[0], self.seed)
            before = answers(network, self.problem.probes())
            return [
                {"point": self.point + at, "trial": self.trial, **self._row(network, before, one)}
                for at, one in enumerate(self.methods)
            ]

    def _row(self, network: Network, before: Tensor, method: TrainingMethod) -> dict[str, float]:
        one = copy.deepcopy(network)
        method.convert(one)
        row = self._judged(one, before, "")
        if any(isinstance(module, nn.BatchNorm2d) for module in one.modules()):
            retune(one, (self.problem.batch_of(self.seed, -1 - at)[0] for at in range(TUNED)))
            row |= self._judged(one, before, "_tuned")
        else:
            row |= dict.fromkeys(("validation_tuned", "right_tuned", "mismatch_tuned"), math.nan)
        return row | {"estimated": self._estimated(network, method)}

    def _estimated(self, network: Network, method: TrainingMethod) -> float:
        if isinstance(self.problem, Characters) or method.recipe == NONE:
            return math.nan
        recipe = load_recipe(method.recipe)
        return expected_mismatch(network, self.problem.probes(), recipe) if is_direct(recipe) else math.nan

    def _judged(self, network: Network, before: Tensor, ending: str) -> dict[str, float]:
        seen = judged(network, self.problem)
        found = {"validation": seen.loss, "right": seen.right}
        found["mismatch"] = float((answers(network, self.problem.probes()) != before).float().mean())
        return {f"{key}{ending}": value for key, value in found.items()}
