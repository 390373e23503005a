"""Our own RTL as a design: it promises what it does in every cycle, as the cycle-level model says."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from hwsim.cases.bins.interface import interface_bins
from hwsim.cases.case import Case
from hwsim.cases.drawing import Stream
from hwsim.cosim.bench import PUBLIC, TOP, bench
from hwsim.cosim.build import HdlSources, bulk_build, bulk_build_in
from hwsim.cosim.design import AMARANTH, DotDesign, Play, Suite, Tick
from hwsim.cosim.diagnose import first_difference
from hwsim.cosim.ports import port_map
from hwsim.cosim.trace import record, record_handshake
from hwsim.cosim.traffic import interleave
from hwsim.rtl import supports, verilog
from hwsim.spec import Pipeline, Specified, Unit, steps
from hwsim.spec import pipeline as usual_pipeline


@dataclass(frozen=True, kw_only=True)
class UnitDesign(DotDesign):
    """The RTL that hwsim generates of a unit.

    built: what it is generated of: the unit, or one of several modes, of which `unit` is the first.
    """

    pipeline: Pipeline
    built: Specified
    cycles: ClassVar[bool] = True

    @cached_property
    def verilog(self) -> str:
        """The RTL."""
        with AMARANTH:
            return verilog(self.built, self.pipeline)

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps of the unit's datapath."""
        return tuple(steps(self.unit))

    def sources(self, simulator: str) -> HdlSources:
        """The RTL in its bench."""
        return HdlSources(TOP, bench(self.ports) + self.verilog, PUBLIC)

    def library(self, folder: Path | None = None) -> Path:
        """The RTL for the bulk driver. folder: where it is built, and not kept; in the cache unless given."""
        if folder is not None:
            return bulk_build_in(folder, self.verilog, self.ports)
        return bulk_build(self.verilog, self.ports)

    def play(self, suite: Suite, stream: Stream, tick: Tick) -> Play:
        """A suite with what the cycle-level model says of every cycle."""
        if suite.resets:
            return record_handshake(suite, self.built, self.pipeline, self.ports, stream)
        order = interleave(self.built, suite.cases, self.pipeline.contexts, stream if suite.shuffled else None)
        return record(suite, self.built, self.pipeline, self.ports, order, stream, tick)

    def stage(self, case: Case | None) -> tuple[str, int | None]:
        """The first stage at which the RTL's arithmetic leaves the model's; else the control is at fault."""
        if case is None:
            return "control (no result was due)", None
        with AMARANTH:
            difference = first_difference(self.built, case)
        if difference is not None:
            return str(difference), difference.beat
        return "control: alone, the case is right in every stage; see registers, contexts and handshake", None


def _options(pipeline: Pipeline) -> tuple[str, ...]:
    """What a command line says of a pipeline."""
    ready = ("--register-ready",) if pipeline.register_ready else ()
    return ("--cuts", ",".join(pipeline.cuts), "--contexts", str(pipeline.contexts), *ready)


def unit_design(unit: Unit, pipeline: Pipeline, called: str = "") -> UnitDesign:
    """Our RTL of a unit. called: what a command line calls the unit; its name unless given.

    Raises NotImplementedYet for a unit that the RTL cannot build.
    """
    supports(unit).demand()
    usual, ports = pipeline == usual_pipeline(unit), port_map(unit, pipeline)
    return UnitDesign(
        name=unit.name,
        folder=unit.name,
        words=(called or unit.name,),
        ends=() if usual else _options(pipeline),
        width=ports.input.width,
        unit=unit,
        called=called or unit.name,
        title=f"hwsim's RTL of {unit.name}",
        ports=ports,
        products=unit.instruction.lanes,
        latency=pipeline.latency,
        drawn_for=unit,
        interface=interface_bins(unit, pipeline),
        pipeline=pipeline,
        built=unit,
    )
