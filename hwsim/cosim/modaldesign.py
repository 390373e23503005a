"""Our own RTL of a unit of several modes, as a design: one device, and the unit of each mode that it claims to be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hwsim.cases.case import Case
from hwsim.cases.drawing import Stream
from hwsim.cases.modal import one_mode, plain
from hwsim.cosim.design import Compared, Play, Suite, Tick
from hwsim.cosim.ports import port_map
from hwsim.cosim.unitdesign import UnitDesign, unit_design
from hwsim.rtl import supports
from hwsim.spec import ModalUnit, Pipeline, Unit
from hwsim.spec import pipeline as usual_pipeline

MOST_COVERED = 8  # modes whose coverage a run counts: solving cases for the bins of one takes some ten seconds


@dataclass(frozen=True, kw_only=True)
class ModalDesign(UnitDesign):
    """The RTL that hwsim generates of a unit of several modes. modes: of each mode the design that is it alone."""

    modal: ModalUnit
    modes: tuple[UnitDesign, ...]

    @property
    def solved(self) -> bool:
        """Whether each mode's cases are those for all bins of coverage, which are counted; else the directed ones."""
        return len(self.modes) <= MOST_COVERED

    def play(self, suite: Suite, stream: Stream, tick: Tick) -> Play:
        """As of any unit; bits of the ports that the mode of a beat does not use are ones, and must not count."""
        play = super().play(suite, stream, tick)
        unused = [self._unused(mode) for mode in self.modal.units]
        pairs = zip(play.script.payloads, play.beats, strict=True)
        payloads = [payload | unused[beat.mode] for payload, beat in pairs]
        return replace(play, script=replace(play.script, payloads=payloads))

    def _unused(self, mode: Unit) -> int:
        """Ones where the codes of a mode's factors are narrower than the port's."""
        word = 0
        for field in self.ports.input.fields:
            if field.name in {"a", "b"}:
                used = (mode.operands.a if field.name == "a" else mode.operands.b).container_bits
                word |= field.place([(1 << field.bits) - (1 << used)] * field.count)
        return word

    def case_of(self, case: Case) -> tuple[Unit, str, Case | None]:
        """The unit of the case's mode; a case of several modes is of no unit alone."""
        number = one_mode(case)
        if number is None:
            return self.unit, self.called, None
        unit, alone = plain(self.modal, case)
        return unit, self.modes[number].called, replace(alone, id=case.id)

    def in_modes(self, compared: Sequence[Compared]) -> Iterator[tuple[UnitDesign, list[Compared]]]:
        """Each mode's design with the cases of that mode, where its coverage is counted."""
        for number, design in enumerate(self.modes if self.solved else ()):
            own: list[Compared] = [
                (name, [plain(self.modal, case)[1] for case in cases if one_mode(case) == number])
                for name, cases in compared
            ]
            yield design, own


def modal_design(unit: ModalUnit, pipeline: Pipeline, called: str = "") -> ModalDesign:
    """Our RTL of a unit of several modes. called: what a command line calls the unit; its name unless given.

    Raises NotImplementedYet for a unit that the RTL cannot build.
    """
    supports(unit).demand()
    called = called or unit.name
    modes = tuple(
        unit_design(mode, pipeline, f"{called}:{name}") for name, mode in zip(unit.modes, unit.units, strict=True)
    )
    first, ports = modes[0], port_map(unit, pipeline)
    usual = pipeline == usual_pipeline(unit)
    return ModalDesign(
        name=unit.name,
        folder=unit.name,
        words=(called,),
        ends=() if usual else ("--cuts", ",".join(pipeline.cuts), "--contexts", str(pipeline.contexts)),
        width=ports.input.width,
        unit=first.unit,
        called=called,
        title=f"hwsim's RTL of {unit.name}",
        ports=ports,
        products=first.products,
        latency=first.latency,
        drawn_for=first.unit,
        interface=first.interface,
        pipeline=pipeline,
        built=unit,
        modal=unit,
        modes=modes,
    )
