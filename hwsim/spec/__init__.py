"""Unit specifications: what a unit returns (`Unit`) and how hardware builds it (`Pipeline`)."""

from hwsim.spec.catalog import UnitLike, as_yaml, families, load_unit, matching, presets
from hwsim.spec.implementation import Pipeline, pipeline, steps
from hwsim.spec.keys import Lost, Rounding
from hwsim.spec.sums import (
    AlignedSum,
    EvenOddSum,
    ExactSum,
    LateAdd,
    LateInWindow,
    PairwiseSum,
    ReadAlignedSum,
    RoundedSum,
    SequentialSum,
    Sum,
    WindowSum,
)
from hwsim.spec.support import NotImplementedYet, Support, described, implemented, ordered_scales, wide_codes
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
    "ReadAlignedSum",
    "RoundedSum",
    "Rounding",
    "SequentialSum",
    "Sum",
    "Support",
    "Unit",
    "UnitLike",
    "WindowSum",
    "as_yaml",
    "described",
    "families",
    "implemented",
    "load_unit",
    "matching",
    "ordered_scales",
    "pipeline",
    "presets",
    "steps",
    "wide_codes",
]
