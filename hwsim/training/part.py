"""A part of a study that trains: one seed's work, known by all that it says."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

from hwsim.sources import identity
from hwsim.study.part import StudyPart
from hwsim.torch import recipes
from hwsim.torch.recipe import SHIPPED
from hwsim.training.problems import Problem


@dataclass(frozen=True, kw_only=True)
class TrainingPart(StudyPart):
    """What one seed trains.

    point, trial: of its rows; of several points the first. seed: of weights, batches and random bits.
    """

    point: int
    trial: int
    problem: Problem
    seed: int

    @property
    def work(self) -> int:
        """As many as it sums."""
        return self.products

    @property
    def key(self) -> str:
        """A digest of every field, of the recipes that ship with hwsim, and of the code."""
        kept = [(SHIPPED / f"{name}.yaml").read_text("utf-8") for name in recipes()]
        text = json.dumps([identity(self.code), kept, asdict(self)], sort_keys=True, default=repr)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def check(self) -> None:
        """Nothing: the text and the digits come with packages."""
