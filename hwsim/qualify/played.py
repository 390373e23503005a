"""Groups of cases played until each mutant is killed, or no case is left."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from hwsim.kernels.tiles import threads
from hwsim.qualify.machine import CaseGroup, MutantMachine


class WrongCircuit(RuntimeError):
    """A circuit without mutants does not return what the model does: no mutant of it says anything."""


def played(machine: MutantMachine, cases: Iterable[CaseGroup], progress: Callable[[int], None]) -> NDArray[np.int64]:
    """For each mutant, the number of a case that kills it, or -1.

    Raises WrongCircuit where the circuit itself does not return what is expected.
    """
    killer: NDArray[np.int64] = np.full(machine.mutants, -1, np.int64)
    alive: NDArray[np.int64] = np.arange(machine.mutants)
    with ThreadPoolExecutor(threads()) as pool:
        for group in cases:
            codes, tells = machine.play(group, alive, pool)
            for mutant in np.flatnonzero(tells).tolist():
                word = int(tells[mutant])
                killer[mutant] = group.numbers[(word & -word).bit_length() - 1]
            wrong = codes != group.expected
            if wrong.any():
                at = int(np.flatnonzero(wrong)[0])
                raise WrongCircuit(
                    f"case {group.numbers[at]}: the circuit returns {codes[at]:#x}, the model {group.expected[at]:#x}"
                )
            alive = alive[killer[alive] < 0]
            progress(len(group.numbers))
    return killer
