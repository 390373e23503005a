"""The registry of methods: a unit's method, by the class of its `sum`."""

from __future__ import annotations

from typing import assert_never

from hwsim.model.aligned import Aligned
from hwsim.model.even_odd import EvenOdd
from hwsim.model.exact import Exact
from hwsim.model.method import SumMethod
from hwsim.model.pairwise import Pairwise
from hwsim.model.read_aligned import ReadAligned
from hwsim.model.result import ResultRounding
from hwsim.model.sequential import Sequential
from hwsim.spec import AlignedSum, EvenOddSum, ExactSum, PairwiseSum, ReadAlignedSum, SequentialSum, Unit


def method_of(unit: Unit) -> SumMethod:
    """How a unit sums the terms of a group."""
    match unit.sum:
        case ReadAlignedSum() as rule:
            return ReadAligned(rule, ResultRounding(unit.result))
        case AlignedSum() as rule:
            return Aligned(rule, unit.result.rounding)
        case EvenOddSum() as rule:
            return EvenOdd(rule, unit.result.rounding)
        case ExactSum() as rule:
            return Exact(rule, unit.result.rounding)
        case SequentialSum() as rule:
            return Sequential(rule)
        case PairwiseSum() as rule:
            return Pairwise(rule)
        case _:
            assert_never(unit.sum)
