"""Studies: the errors of units on data, against exact products (`hwsim docs study`)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hwsim.study.accuracy.bounds import bounds
    from hwsim.study.accuracy.exact import DoubleDouble, difference, exact_product, magnitude
    from hwsim.study.data import draw, parse_data
    from hwsim.study.plan import load_study
    from hwsim.study.results import interval, run

__all__ = [
    "DoubleDouble",
    "bounds",
    "difference",
    "draw",
    "exact_product",
    "interval",
    "load_study",
    "magnitude",
    "parse_data",
    "run",
]

# Imported when they are asked for: the command line completes names of data without what runs studies.
_HOMES = {
    "accuracy.bounds": ("bounds",),
    "accuracy.exact": ("DoubleDouble", "difference", "exact_product", "magnitude"),
    "data": ("draw", "parse_data"),
    "plan": ("load_study",),
    "results": ("interval", "run"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
