"""Units that kernels are tested with: presets of some methods, the definition's odd ones, and odder ones."""

from __future__ import annotations

import odd_units
from built_presets import one_of_each
from odd_for_kernels import FOR_KERNELS
from odd_units import ODD

from hwsim.spec import Unit, load_unit, presets


def units(*methods: str) -> list[Unit]:
    """Presets of these methods, one of each arithmetic, and odd units, by their names."""
    every = [load_unit(name) for name in one_of_each(presets())] + [
        *odd_units.units_of({**ODD, **FOR_KERNELS}).values()
    ]
    return [unit for unit in every if unit.sum.method in methods]
