"""What claims are made of: conditions as terms, and the steps of a datapath as circuits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hwsim.prove.btor import Circuit
from hwsim.prove.circuits import circuits, connected
from hwsim.prove.explore import Path
from hwsim.prove.logic import Term, both, implies, negated, true
from hwsim.prove.symbolic import Truth, as_integer
from hwsim.rtl.datapath import datapath
from hwsim.spec import Unit

SPECIAL = ("nan", "positive", "negative")


def holds(truth: object) -> Term:
    """A condition as a term."""
    return truth.term if isinstance(truth, Truth) else true() if truth else negated(true())


def exactly(number: object, low: int, high: int) -> Term:
    """That an integer is from low to high."""
    return both(holds(as_integer(number) >= low), holds(as_integer(number) <= high))


def each(found: Sequence[Path[Term]]) -> Term:
    """What holds on every path."""
    return both(*(implies(path.condition, path.result) for path in found))


@dataclass(frozen=True)
class StepCircuits:
    """The steps of a datapath, joined where no relation stands between them."""

    decode: Circuit
    multiply: Circuit
    products: Circuit
    maximum: Circuit
    align: Circuit
    sum: Circuit
    round: Circuit

    @classmethod
    def of(cls, unit: Unit, cuts: Sequence[str]) -> StepCircuits:
        """Those of a unit, as these cuts divide its trees."""
        return cls.joined(circuits({step.name: step for step in datapath(unit, cuts).steps}))

    @classmethod
    def joined(cls, steps: Mapping[str, Circuit]) -> StepCircuits:
        """Those of steps, by their names and in their order."""

        def part(*names: str) -> Circuit:
            return connected([circuit for name, circuit in steps.items() if name.split(".")[0] in names])

        return cls(
            steps["decode"], steps["multiply"], part("decode", "multiply"), part("maximum"), part("distance", "align"),
            part("sum"), part("magnitude", "normalize", "round"),
        )  # fmt: skip
