"""The kernel of a unit, by its method."""

from __future__ import annotations

from importlib import import_module

from hwsim.kernels.kernel import Kernel
from hwsim.spec import Unit

# Imported when a unit needs them: compiled code takes a while to load.
MODULES = {"aligned": "aligned", "even-odd": "aligned", "sequential": "chain", "pairwise": "chain", "exact": "exact"}


def kernel_of(unit: Unit) -> Kernel:
    """The kernel that computes a unit. Raises Unsuited where no kernel's integers hold what it needs."""
    module = import_module(f"hwsim.kernels.{MODULES[unit.sum.method]}")
    made: Kernel = module.kernel(unit)
    return made
