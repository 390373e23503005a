"""Even and odd lanes in windows of their own, in hardware."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hwsim.spec import EvenOddSum, Specified

from .latewindow import general_datapath
from .step import Datapath


def lacks(rule: EvenOddSum) -> Iterator[str]:
    """The settings of such a sum that the RTL does not have: none."""
    yield from ()


def datapath(unit: Specified, cuts: Sequence[str]) -> Datapath:
    """A group's sum: two windows, and one for both sums."""
    return general_datapath(unit, cuts)
