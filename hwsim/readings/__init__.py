"""Known readings of a specification that differ, cases that tell them apart, and which of them explain a device.

`semantics` lists what a device of a unit may do, as specified and otherwise; `discrimination` makes cases on which the
40 readings of a window's sum differ, pair by pair, and proves the pairs that are equal (coverage, G13); `consistent`
names what explains results.
"""

from hwsim.readings.consistent import Consistent, consistent
from hwsim.readings.discriminate import Discrimination, PairOfReadings, discrimination
from hwsim.readings.known import Semantic, semantics
from hwsim.readings.readings import READINGS, Reading, own_reading

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
]
