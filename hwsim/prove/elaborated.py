"""A unit's RTL as circuits. Each is elaborated once, however many claims ask for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from hwsim.prove.btor import Circuit
from hwsim.prove.circuits import circuits, surroundings
from hwsim.rtl import datapath, promotion, supports, top_name, unit_rtlil, verilog_of
from hwsim.rtl.accumulate import accumulation
from hwsim.spec import Pipeline, Specified


def datapath_circuits(unit: Specified, cuts: Sequence[str]) -> dict[str, Circuit]:
    """The steps of a unit's datapath, each by itself, by their names."""
    return circuits({step.name: step for step in datapath(unit, cuts).steps})


def adder_circuits(unit: Specified, cuts: Sequence[str]) -> dict[str, Circuit]:
    """The steps of what adds its groups' sums up, each by itself, by their names."""
    return circuits({step.name: step for step in promotion(unit, cuts).steps})


class Elaborated:
    """A unit's RTL. Whoever changes the RTL makes another one of it.

    Raises NotImplementedYet for a unit that the RTL cannot build; what it has raises ToolMissing, and FlowFailed with
    what Yosys said.
    """

    def __init__(self, unit: Specified, pipeline: Pipeline):
        supports(unit).demand()
        self.unit, self.pipeline = unit, pipeline
        self.after = accumulation(unit)

    @cached_property
    def datapath(self) -> Mapping[str, Circuit]:
        """The steps of its datapath, each by itself, by their names."""
        return datapath_circuits(self.unit, self.pipeline.cuts)

    @cached_property
    def adder(self) -> Mapping[str, Circuit]:
        """The steps of what adds its groups' sums up; none where nothing does."""
        return {} if self.after is None else adder_circuits(self.unit, self.pipeline.cuts)

    @cached_property
    def whole(self) -> str:
        """All of it, as RTLIL."""
        return unit_rtlil(self.unit, self.pipeline)

    @cached_property
    def around(self) -> Circuit:
        """It without its datapath and what adds its sums up, whose ports it has instead."""
        parts = ["datapath"] if self.after is None else ["datapath", self.after.part]
        return surroundings(self.whole, top_name(self.unit), parts, "unit.")

    @cached_property
    def cut_out(self) -> Mapping[str, Circuit]:
        """What is not around: the datapath, and what adds its sums up, with their registers."""
        components = {"datapath": datapath(self.unit, self.pipeline.cuts)}
        if self.after is not None:
            components[self.after.part] = promotion(self.unit, self.pipeline.cuts)
        return circuits(components)

    @cached_property
    def file(self) -> str:
        """Its Verilog, as `hwsim.rtl.verilog` writes it."""
        return verilog_of(self.whole, self.unit, self.pipeline)
