"""Unit specifications: what a unit returns (`Unit`) and how hardware builds it (`Pipeline`)."""

from hwsim.spec.catalog import as_yaml, load_unit, presets
from hwsim.spec.implementation import Pipeline, pipeline, steps
from hwsim.spec.keys import Lost, Rounding
from hwsim.spec.sums import (
    AlignedSum,
    EvenOddSum,
    ExactSum,
    LateAdd,
    LateInWindow,
    PairwiseSum,
    RoundedSum,
    SequentialSum,
    Sum,
    WindowSum,
)
from hwsim.spec.support import NotImplementedYet, Support, implemented
from hwsim.spec.unit import Unit

__all__ = [
    "AlignedSum",
    "EvenOddSum",
    "ExactSum",
    "LateAdd",
    "LateInWindow",
    "Lost",
    "NotImplementedYet",
    "PairwiseSum",
    "Pipeline",
    "RoundedSum",
    "Rounding",
    "SequentialSum",
    "Sum",
    "Support",
    "Unit",
    "WindowSum",
    "as_yaml",
    "implemented",
    "load_unit",
    "pipeline",
    "presets",
    "steps",
]
