"""Random cases of a unit of several modes as its RTL is put through them: each mode's own, and sums of mixed modes."""

from __future__ import annotations

from cosim.plays import stream

from hwsim.cases.case import Case
from hwsim.cases.random_cases import by_turns, mixed, random_cases
from hwsim.cosim.design import FULL, Play, Suite, Traffic
from hwsim.cosim.unitdesign import ModalDesign, modal_design
from hwsim.spec import ModalUnit, Pipeline, pipeline


def design_of(unit: ModalUnit, built: Pipeline | None = None) -> ModalDesign:
    return modal_design(unit, built or pipeline(unit))


def changing(unit: ModalUnit, each: int, seed: int = 7) -> tuple[list[Case], list[Case]]:
    """So many cases of each mode, by turns; and as many sums whose mode changes from beat to beat.

    Of 16 and more the second eight have several beats.
    """
    drawn = [random_cases(mode, each, seed) for mode in unit.units]
    own = by_turns(unit, drawn)
    return own, mixed(unit, drawn, len(own), stream(seed))


def recorded(design: ModalDesign, cases: list[Case], traffic: Traffic = FULL, *, resets: bool = False) -> Play:
    suite = Suite("suite", tuple(cases), traffic=traffic, shuffled=traffic is not FULL, resets=resets)
    return design.play(suite, stream())
