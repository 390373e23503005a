"""Unit specifications: what a unit returns (`Unit`) and how hardware builds it (`Pipeline`)."""

from hwsim.spec.catalog import (
    SpecifiedLike,
    UnitLike,
    as_yaml,
    families,
    load_specified,
    load_unit,
    matching,
    modal_presets,
    presets,
)
from hwsim.spec.implementation import Pipeline, pipeline, steps
from hwsim.spec.keys import Lost, Rounding
from hwsim.spec.modes import ModalUnit, Mode, Specified, modes_of
from hwsim.spec.sums import (
    AlignedReadingSum,
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
from hwsim.spec.support import NotImplementedYet, Support, described, implemented, of_modes, wide_codes
from hwsim.spec.unit import Unit, Unpromised, unpromised

__all__ = [
    "AlignedReadingSum",
    "AlignedSum",
    "EvenOddSum",
    "ExactSum",
    "LateAdd",
    "LateInWindow",
    "Lost",
    "ModalUnit",
    "Mode",
    "NotImplementedYet",
    "PairwiseSum",
    "Pipeline",
    "RoundedSum",
    "Rounding",
    "SequentialSum",
    "Specified",
    "SpecifiedLike",
    "Sum",
    "Support",
    "Unit",
    "UnitLike",
    "Unpromised",
    "WindowSum",
    "as_yaml",
    "described",
    "families",
    "implemented",
    "load_specified",
    "load_unit",
    "matching",
    "modal_presets",
    "modes_of",
    "of_modes",
    "pipeline",
    "presets",
    "steps",
    "unpromised",
    "wide_codes",
]
