"""Our own RTL as a design, of a unit of one mode, of several, or sparse: it promises what it does in every cycle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from hwsim.cases.bins.declare import interface_bins
from hwsim.cases.case import Case, multiplied
from hwsim.cases.drawing import Stream
from hwsim.cases.random_cases import one_mode, plain
from hwsim.cosim.bench import PUBLIC, TOP, bench, port_map
from hwsim.cosim.build import HdlSources, bulk_build, bulk_build_in
from hwsim.cosim.design import AMARANTH, Compared, DotDesign, Play, Suite, interleave
from hwsim.cosim.diagnose import first_difference
from hwsim.cosim.trace import record, record_handshake
from hwsim.rtl import PLAIN, Style, pipeline_options, style_options, supports, verilog
from hwsim.spec import AnyUnit, ModalUnit, Pipeline, SparseUnit, Unit, steps
from hwsim.spec import pipeline as usual_pipeline


@dataclass(frozen=True, kw_only=True)
class UnitDesign(DotDesign):
    """The RTL that hwsim generates for a unit.

    built: what it is generated of: the unit, or one of several modes, of which `unit` is the first, or a sparse one,
    whose dense unit `unit` is.
    """

    pipeline: Pipeline
    built: AnyUnit
    style: Style
    cycles: ClassVar[bool] = True

    @cached_property
    def verilog(self) -> str:
        """The RTL."""
        with AMARANTH:
            return verilog(self.built, self.pipeline, self.style)

    @property
    def steps(self) -> tuple[str, ...]:
        """The names of the steps of the unit's datapath."""
        return tuple(steps(self.unit))

    def sources(self, simulator: str) -> HdlSources:
        """The RTL in its bench."""
        return HdlSources(TOP, bench(self.ports) + self.verilog, PUBLIC)

    def library(self, folder: Path | None = None) -> Path:
        """The RTL for the bulk driver. folder: where it is built, and not kept; in the cache unless given."""
        if folder is not None:
            return bulk_build_in(folder, self.verilog, self.ports)
        return bulk_build(self.verilog, self.ports)

    def play(self, suite: Suite, stream: Stream) -> Play:
        """The play of a suite, with the promise of the cycle-level model for every cycle."""
        if suite.resets:
            return record_handshake(suite, self.built, self.pipeline, self.ports, stream)
        order = interleave(self.built, suite.cases, self.pipeline.contexts, stream if suite.shuffled else None)
        return record(suite, self.built, self.pipeline, self.ports, order, stream)

    def stage(self, case: Case | None) -> tuple[str, int | None]:
        """The first stage at which the RTL's arithmetic leaves the model's; else the control is at fault."""
        if case is None:
            return "control (no result was due)", None
        with AMARANTH:
            difference = first_difference(self.built, case)
        if difference is not None:
            return str(difference), difference.beat
        return "control: alone, the case is right in every stage; see registers, contexts and handshake", None


def options(unit: AnyUnit, pipeline: Pipeline, style: Style) -> tuple[str, ...]:
    """The options of a command line for a pipeline and a style, where they are not the usual ones."""
    usual = pipeline == usual_pipeline(unit)
    return (*(() if usual else pipeline_options(pipeline)), *style_options(style))


def unit_design(unit: Unit, pipeline: Pipeline, called: str = "", style: Style = PLAIN) -> UnitDesign:
    """Our RTL of a unit. called: the unit's name on a command line; its own name unless given.

    Raises NotImplementedYet for a unit that the RTL cannot build.
    """
    supports(unit).demand()
    ports = port_map(unit, pipeline, style)
    return UnitDesign(
        name=unit.name,
        folder=unit.name,
        words=(called or unit.name,),
        ends=options(unit, pipeline, style),
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
        style=style,
    )


MOST_COVERED = 8  # modes whose coverage a run counts: solving cases for the bins of one takes some ten seconds


@dataclass(frozen=True, kw_only=True)
class ModalDesign(UnitDesign):
    """The RTL that hwsim generates for a unit of several modes. modes: for each mode the design of that mode alone."""

    modal: ModalUnit
    modes: tuple[UnitDesign, ...]

    @property
    def solved(self) -> bool:
        """True if each mode's cases are solved for all bins of coverage, which are counted; else they are directed."""
        return len(self.modes) <= MOST_COVERED

    def play(self, suite: Suite, stream: Stream) -> Play:
        """The play of a suite. Bits of the ports that the mode of a beat does not use are ones, and must not count."""
        play = super().play(suite, stream)
        unused = [self._unused(mode) for mode in self.modal.units]
        pairs = zip(play.script.payloads, play.beats, strict=True)
        payloads = [payload | unused[beat.mode] for payload, beat in pairs]
        return replace(play, script=replace(play.script, payloads=payloads))

    def _unused(self, mode: Unit) -> int:
        """A payload with ones where the codes of a mode's factors are narrower than the port's."""
        word = 0
        for field in self.ports.input.fields:
            if field.name in {"a", "b"}:
                used = (mode.operands.a if field.name == "a" else mode.operands.b).container_bits
                word |= field.place([(1 << field.bits) - (1 << used)] * field.count)
        return word

    def case_of(self, case: Case) -> tuple[Unit, str, Case | None]:
        """The unit of the case's mode, its name on a command line, and the case there; None for several modes."""
        number = one_mode(case)
        if number is None:
            return self.unit, self.called, None
        unit, alone = plain(self.modal, case)
        return unit, self.modes[number].called, replace(alone, id=case.id)

    def in_modes(self, compared: Sequence[Compared]) -> Iterator[tuple[UnitDesign, list[Compared]]]:
        """Yield each mode's design with the cases of that mode, where its coverage is counted."""
        for number, design in enumerate(self.modes if self.solved else ()):
            in_mode: list[Compared] = [
                (name, [plain(self.modal, case)[1] for case in cases if one_mode(case) == number])
                for name, cases in compared
            ]
            yield design, in_mode


def modal_design(unit: ModalUnit, pipeline: Pipeline, called: str = "", style: Style = PLAIN) -> ModalDesign:
    """Our RTL of a unit of several modes. called: the unit's name on a command line; its own name unless given.

    Raises NotImplementedYet for a unit that the RTL cannot build.
    """
    supports(unit).demand()
    called = called or unit.name
    modes = tuple(
        unit_design(mode, pipeline, f"{called}:{name}", style)
        for name, mode in zip(unit.modes, unit.units, strict=True)
    )
    ports = port_map(unit, pipeline, style)
    fields: dict[str, Any] = {
        "name": unit.name, "folder": unit.name, "words": (called,), "ends": options(unit, pipeline, style),
        "width": ports.input.width, "called": called, "title": f"hwsim's RTL of {unit.name}", "ports": ports,
        "built": unit, "modal": unit, "modes": modes,
    }  # fmt: skip
    return ModalDesign(**{**vars(modes[0]), **fields})


@dataclass(frozen=True, kw_only=True)
class SparseDesign(UnitDesign):
    """The RTL that hwsim generates for a sparse unit. Its cases are the dense unit's, put among other factors of b."""

    sparse: SparseUnit

    def case_of(self, case: Case) -> tuple[Unit, str, Case | None]:
        """The dense unit, its name, and what it multiplies of the case."""
        return self.unit, self.unit.name, multiplied(self.sparse, case)


def sparse_design(unit: SparseUnit, pipeline: Pipeline, called: str = "", style: Style = PLAIN) -> SparseDesign:
    """Our RTL of a sparse unit. called: the unit's name on a command line; its own name unless given.

    Raises NotImplementedYet for a unit that the RTL cannot build.
    """
    supports(unit).demand()
    called, ports = called or unit.name, port_map(unit, pipeline, style)
    fields: dict[str, Any] = {
        "name": unit.name, "folder": unit.name, "words": (called,), "ends": options(unit, pipeline, style),
        "width": ports.input.width, "called": called, "title": f"hwsim's RTL of {unit.name}", "ports": ports,
        "built": unit, "sparse": unit,
    }  # fmt: skip
    return SparseDesign(**{**vars(unit_design(unit.dense, pipeline, style=style)), **fields})


def design_of(unit: AnyUnit, built: Pipeline, called: str, style: Style = PLAIN) -> UnitDesign:
    """Our RTL of a unit, of one mode, of several, or sparse. called: its name on a command line. style: of its Verilog.

    Raises NotImplementedYet for a unit that the RTL cannot build.
    """
    if isinstance(unit, ModalUnit):
        return modal_design(unit, built, called, style)
    if isinstance(unit, SparseUnit):
        return sparse_design(unit, built, called, style)
    return unit_design(unit, built, called, style)
