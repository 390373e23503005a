"""The order in which a unit takes its products."""

from __future__ import annotations

import numpy as np

from hwsim.kernels.integers import Int64s
from hwsim.spec import Unit


def lane_indices(unit: Unit, k: int) -> Int64s:
    """The index along K of each group's lanes: (groups, lanes). k: a multiple of `instruction.fill`."""
    instruction = unit.instruction
    if instruction.order == "sequential":
        return np.arange(k, dtype=np.int64).reshape(-1, instruction.lanes)
    groups = [instruction.indices(group) for group in range(instruction.groups)]
    first = np.arange(0, k, instruction.k, dtype=np.int64)
    return (first[:, None, None] + np.array(groups, dtype=np.int64)).reshape(-1, instruction.lanes)
