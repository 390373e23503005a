"""What claims are made of: conditions as terms, and the steps of a datapath as circuits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hwsim.prove.btor import Circuit
from hwsim.prove.circuits import connected
from hwsim.prove.explore import Path
from hwsim.prove.logic import Term, both, implies, negated, true
from hwsim.prove.symbolic import Truth, as_integer

SPECIAL = ("nan", "positive", "negative")
ROUNDS = ("magnitude", "normalize", "round")  # the steps that round a total


def holds(truth: object) -> Term:
    """A condition as a term."""
    return truth.term if isinstance(truth, Truth) else true() if truth else negated(true())


def exactly(number: object, low: int, high: int) -> Term:
    """That an integer is from low to high."""
    return both(holds(as_integer(number) >= low), holds(as_integer(number) <= high))


def each(found: Sequence[Path[Term]]) -> Term:
    """What holds on every path."""
    return both(*(implies(path.condition, path.result) for path in found))


def is_each(found: object, runs: Sequence[Path[Any]]) -> Term:
    """That a code that was found is, on every path, the one there."""
    return each([Path(run.condition, holds(found == run.result)) for run in runs])


def joined(steps: Mapping[str, Circuit], *names: str) -> Circuit:
    """Some steps of a datapath, and those inside of trees that they end, as one circuit."""
    return connected([circuit for name, circuit in steps.items() if name.split(".")[0] in names])


def adding(steps: Mapping[str, Circuit], name: str) -> tuple[Circuit, Circuit, Circuit]:
    """The steps of the adder that is called so: those that align, that sum and that round, however they are cut."""
    of_adder = {at.removeprefix(f"{name}."): circuit for at, circuit in steps.items() if at.startswith(f"{name}.")}
    of_adder |= {"round": steps[name]}
    return joined(of_adder, "distance", "align"), joined(of_adder, "sum"), joined(of_adder, *ROUNDS)


@dataclass(frozen=True)
class FrontCircuits:
    """The first steps of a datapath; products: both together."""

    decode: Circuit
    multiply: Circuit
    products: Circuit


@dataclass(frozen=True)
class StepCircuits(FrontCircuits):
    """The steps of a datapath with one plain window, joined where no relation stands between them."""

    maximum: Circuit
    align: Circuit
    sum: Circuit
    round: Circuit

    @classmethod
    def joined(cls, steps: Mapping[str, Circuit]) -> StepCircuits:
        """Those of steps, by their names and in their order."""

        def part(*names: str) -> Circuit:
            return joined(steps, *names)

        return cls(
            steps["decode"], steps["multiply"], part("decode", "multiply"), part("maximum"), part("distance", "align"),
            part("sum"), part(*ROUNDS),
        )  # fmt: skip


@dataclass(frozen=True)
class WindowsCircuits(FrontCircuits):
    """The steps of a datapath with windows of other kinds.

    combine, cut, late: of two windows, of places of the sum that are lost, and of a late addend.
    """

    maximum: Circuit
    align: Circuit
    sum: Circuit
    combine: Circuit | None
    cut: Circuit | None
    late: Circuit | None
    round: Circuit

    @classmethod
    def joined(cls, steps: Mapping[str, Circuit]) -> WindowsCircuits:
        """Those of steps, by their names and in their order."""
        names = {name.split(".")[0] for name in steps}
        combine, cut, late = (joined(steps, name) if name in names else None for name in ("combine", "cut", "late"))
        return cls(
            joined(steps, "decode"), joined(steps, "multiply"), joined(steps, "decode", "multiply"),
            joined(steps, "maximum"), joined(steps, "distance", "align"), joined(steps, "sum"), combine, cut, late,
            joined(steps, *ROUNDS),
        )  # fmt: skip


@dataclass(frozen=True)
class ExactCircuits(FrontCircuits):
    """The steps of an exact sum; magnitude, code: those that round together are, where a sum gets a sign for itself."""

    align: Circuit
    sum: Circuit
    round: Circuit
    magnitude: Circuit | None
    code: Circuit

    @classmethod
    def joined(cls, steps: Mapping[str, Circuit]) -> ExactCircuits:
        """Those of steps, by their names and in their order."""

        def part(*names: str) -> Circuit:
            return joined(steps, *names)

        magnitude = part("magnitude") if "magnitude" in steps else None
        return cls(
            part("decode"), part("multiply"), part("decode", "multiply"), part("align"), part("scale", "sum"),
            part(*ROUNDS), magnitude, part("normalize", "round"),
        )  # fmt: skip
