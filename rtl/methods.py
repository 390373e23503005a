"""The methods that the RTL has, by the class of the specification's sum: a file each, of the method's name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hwsim.spec import AlignedSum, EvenOddSum, ExactSum, PairwiseSum, SequentialSum, Specified, Sum

from . import aligned, even_odd, exact, pairwise, sequential
from .step import Datapath


@dataclass(frozen=True)
class HardwareMethod:
    """One method in hardware.

    lacks: the settings of a sum that it does not have, in the specification's words. datapath: of a unit and its cuts,
    from the operands and what is carried from the group before, to a result's code and what is carried on.
    """

    lacks: Callable[[Any], Iterable[str]]
    datapath: Callable[[Specified, Sequence[str]], Datapath]


METHODS: Mapping[type, HardwareMethod] = {
    AlignedSum: HardwareMethod(aligned.lacks, aligned.datapath),
    SequentialSum: HardwareMethod(sequential.lacks, sequential.datapath),
    PairwiseSum: HardwareMethod(pairwise.lacks, pairwise.datapath),
    EvenOddSum: HardwareMethod(even_odd.lacks, even_odd.datapath),
    ExactSum: HardwareMethod(exact.lacks, exact.datapath),
}


def lacks_of_method(rule: Sum) -> tuple[str, ...]:
    """What of a sum the RTL does not have: the whole method, or settings of it."""
    method = METHODS.get(type(rule))
    return (f"sum.method: {rule.method}",) if method is None else tuple(method.lacks(rule))
