"""A case that shows where a user's design is wrong: made simple, named, and played in a simulator.

The design as it was read answers for itself here: its result is a term, which is worked out for many cases at once.
What a simulator returns of the simplest one says whether the design was read as simulators read it.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hwsim.cases.case import Case, block_lengths
from hwsim.cases.random_cases import random_cases
from hwsim.codewords import objects
from hwsim.cosim.build import BuildFailed
from hwsim.cosim.casefile import write_unit_case
from hwsim.cosim.dutdesign import DutDesign
from hwsim.cosim.minimal import interpretation
from hwsim.cosim.run import CosimOptions, run
from hwsim.cosim.shrink import Shrinker, Shrunk
from hwsim.cosim.suites import Filter, expected_codes
from hwsim.errors import InputError, ToolMissing
from hwsim.formats import Format
from hwsim.formats.blocks import one_code
from hwsim.leftovers import scratch_folder
from hwsim.prove.evaluated import Evaluated
from hwsim.prove.placed import RefutedChoice
from hwsim.prove.unrolled import BeatResult
from hwsim.readings.diagnosis import diagnose
from hwsim.readings.shape import Observation
from hwsim.report import FaultKind, Mismatch
from hwsim.report.cases import explain_command, explained_case, wrong_result
from hwsim.report.faults import fault_kinds
from hwsim.report.text import all_fault_lines
from hwsim.words import counted

SEED, NAMED = 1, 400  # of cases that a name must explain
SIMULATORS = ("icarus", "verilator")


@dataclass(frozen=True)
class DesignAsRead:
    """What a design returns, as it was read. refuted: what stood beside the beat, where that counts."""

    design: DutDesign
    followed: BeatResult
    refuted: RefutedChoice

    def codes(self, cases: Sequence[Case]) -> np.ndarray:
        """The results of some cases of one beat: integers[cases]."""
        known: dict[str, list[int]] = {}
        for name, terms in self.followed.beat.items():
            for at, term in enumerate(terms):
                known[term.symbol()] = [case.c if name == "c" else getattr(case, name)[at] for case in cases]
        for term in self.followed.undefined:
            known[term.symbol()] = [self.refuted.model.get(term.symbol(), 0)] * len(cases)
        return objects(Evaluated(known).of(self.followed.result))

    @property
    def named(self) -> dict[str, int]:
        """The codes of the case that refutes, by field and place, but for zeros."""
        case = self.case()
        sides = {side: getattr(case, side) for side in ("a", "b", "scale_a", "scale_b")}
        found = {f"{side}[{at}]": code for side, codes in sides.items() for at, code in enumerate(codes) if code}
        return {**found, "c": case.c}

    def case(self) -> Case:
        """The case that refutes."""
        unit, products = self.design.unit, self.design.products
        model = self.refuted.model

        def code(fmt: Format, name: str, otherwise: int = 0) -> int:
            return model[name] << fmt.padding if name in model else otherwise

        def side(name: str, fmt: Format) -> tuple[int, ...]:
            slots = {lane: f"{name}.{at}" for at, lane in enumerate(self.refuted.lanes)}
            return tuple(code(fmt, slots.get(lane, f"zero.{name}.{lane}")) for lane in range(products))

        scales: dict[str, tuple[int, ...]] = {}
        if unit.scale is not None:
            sides = (("scale_a", unit.scale.a.format), ("scale_b", unit.scale.b.format))
            for (name, fmt), length in zip(sides, block_lengths(unit), strict=True):
                blocks = range(max(1, products // length))
                scales[name] = tuple(code(fmt, f"{name}.{at}", one_code(fmt)) for at in blocks)
        c = 0 if unit.operands.addend is None else code(unit.operands.addend, "c")
        return self.design.held.put(
            Case("counterexample", side("a", unit.operands.a), side("b", unit.operands.b), c, **scales)
        )


@dataclass(frozen=True)
class Counterexample:
    """A case as a report has it, what else is to be said of it, and why it refutes nothing; empty where it does."""

    mismatch: Mismatch
    notes: tuple[str, ...]
    doubt: str


def counterexample(
    design: DutDesign, followed: BeatResult, refuted: RefutedChoice, claim: str, path: Path | None
) -> Counterexample:
    """The simplest case, played in a simulator. path: where the case is written, if anywhere."""
    read = DesignAsRead(design, followed, refuted)
    first = read.case()
    shrunk = Shrinker(design, read.codes).shrink([first])
    if shrunk is None:  # only beside what stood beside it, or in bits that the design leaves undefined
        (expected,), (got,) = expected_codes(design.unit, [first]), read.codes([first]).tolist()
        shrunk = Shrunk(first, expected, got, 1, 1)
    unit, case = design.unit, shrunk.case
    again, notes = "", [f"the case is the simplest of {counted(shrunk.tried, 'case')} tried"]
    if path is not None:
        again = shlex.join(["hwsim", "cosim", *design.words, "--case", str(path)])
    with scratch_folder() if path is None else nullcontext(path.parent) as folder:
        written = folder / "case.yaml" if path is None else path
        write_unit_case(written, unit, case, shrunk.expected, shrunk.got)
        said, doubt = _played(design, shrunk, written)
    notes.append(said)
    notes += all_fault_lines(_kinds(design, read, case))
    mismatch = wrong_result(
        unit, case, shrunk.expected, shrunk.got, suite=claim, driver="proof",
        meaning=interpretation(explained_case(unit, case), shrunk.got),
        again=again, explain=explain_command(unit, design.called, case),
    )  # fmt: skip
    return Counterexample(mismatch, tuple(notes), doubt)


def _kinds(design: DutDesign, read: DesignAsRead, case: Case) -> tuple[FaultKind, ...]:
    """The kinds of wrong results of the design, with the names that explain them."""
    drawn = design.held.drawn(random_cases(design.drawn_for, NAMED, SEED))
    cases = [case, *(one for _, one in Filter(design).take(drawn) if len(one.a) == design.products)]
    seen = [Observation(*one) for one in zip(cases, read.codes(cases).tolist(), strict=True)]
    return fault_kinds(diagnose(design.unit, seen))


DIFFER = "the netlist and the simulator differ"


def _played(design: DutDesign, shrunk: Shrunk, path: Path) -> tuple[str, str]:
    """What a simulator says of a case that was written, and why it refutes nothing; empty where it does."""
    said = []
    for simulator in SIMULATORS:
        try:
            if unfit := design.unfit_for(simulator):
                raise InputError(unfit)
            report = run(CosimOptions((design,), (simulator,), case=path, folder=path.with_suffix("")))
        except (ToolMissing, InputError, BuildFailed) as error:
            said.append(f"{simulator}: {str(error).splitlines()[0]}")
            continue
        page = path.with_suffix("") / "report.html"
        if report.passed:
            other = "it returns what is expected, so that it does not read the design as Yosys does"
            return f"played on {simulator}: {other}; {page}", DIFFER
        got = report.mismatches[0].got.code if report.mismatches else "no result"
        same = got == f"{shrunk.got:#0{len(got)}x}"
        return f"played on {simulator}: {'it returns the same' if same else f'it returns {got}'}; {page}", ""
    return f"not played: {'; '.join(said)}", "no simulator has played the case"
