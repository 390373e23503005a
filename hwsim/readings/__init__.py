"""Readings of a specification, cases that tell them apart, and the readings that explain a device's results.

`semantics` lists what a device may compute, as specified and otherwise; `discrimination` makes cases on which the
40 readings of a window's sum differ, pair by pair, and proves which pairs are equal (coverage, G13); `consistent`
names the semantics that explain results. Every one is a unit that the model and the kernels run, a few with operands or
results edited (`edits`); `silicon` asks GPUs.
"""

from hwsim.readings.consistent import Consistent, consistent
from hwsim.readings.discriminate import Discrimination, PairOfReadings, discrimination
from hwsim.readings.known import Semantic, semantics
from hwsim.readings.readings import READINGS, Reading, own_reading, supports

__all__ = [
    "READINGS",
    "Consistent",
    "Discrimination",
    "PairOfReadings",
    "Reading",
    "Semantic",
    "consistent",
    "discrimination",
    "own_reading",
    "semantics",
    "supports",
]
