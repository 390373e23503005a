"""Readings of a specification, cases that tell them apart, and the readings that explain a device's results.

`semantics` lists what a device may compute, as specified and otherwise; `discrimination` makes cases on which the
40 readings of a window's sum differ, pair by pair, and proves which pairs are equal (coverage, G13);
`told_from_mistakes` makes cases on which any unit differs from what designs compute by mistake; `consistent`
names the semantics that explain results. Every one is a unit that the model and the kernels run, a few with operands or
results edited (`edits`); `silicon` asks GPUs.
"""

from hwsim.readings.consistent import Consistent, consistent
from hwsim.readings.discriminate import Discrimination, ToldPair, discrimination
from hwsim.readings.known import Semantic, semantics
from hwsim.readings.readings import READINGS, Reading, own_reading, supports
from hwsim.readings.toldapart import told_from_mistakes

__all__ = [
    "READINGS",
    "Consistent",
    "Discrimination",
    "Reading",
    "Semantic",
    "ToldPair",
    "consistent",
    "discrimination",
    "own_reading",
    "semantics",
    "supports",
    "told_from_mistakes",
]
