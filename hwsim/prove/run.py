"""All claims of a unit, decided one after the other."""

from __future__ import annotations

import gc
import resource
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path

from hwsim.cases.drawing import Stream
from hwsim.cases.selection import selection_cases
from hwsim.cosim.casefile import write_unit_case
from hwsim.cosim.design import AMARANTH
from hwsim.cosim.diagnose import first_difference
from hwsim.explain.mismatches import explain_command, wrong_result
from hwsim.explain.proof import ClaimRow, ProofReport
from hwsim.explain.record import Mismatch
from hwsim.prove.abstract import Control
from hwsim.prove.accumulation import AccumulationClaims, PromotionClaims, after_claims
from hwsim.prove.additions import entering_claim
from hwsim.prove.circuits import Elaborated
from hwsim.prove.claims import AnyClaim, Claim, DatapathClaims, Decidable, LateClaim
from hwsim.prove.composition import Unmet
from hwsim.prove.control import broken_promise, control_claims
from hwsim.prove.example import DatapathExamples, PlayedClaim, WrongCase
from hwsim.prove.methods import ModalClaims, method_claims, provable
from hwsim.prove.readback import ReadBack
from hwsim.prove.selection import SELECT, selection_claims
from hwsim.prove.shown import Noted, closure, composition, not_composed, ports
from hwsim.prove.styles import style_claims
from hwsim.prove.terms import second_opinion
from hwsim.rtl import supports
from hwsim.rtl.hierarchy import PLAIN, Style
from hwsim.spec import AnyUnit, Pipeline, SparseUnit, Specified, Unit, modes_of

# What a proof takes for granted, in words.
TRUSTED = (
    "what of the model no proof runs: the order and padding of K in `dot`, which is compared on cases, and caches; "
    "kernels and C; what `hwsim.formats` and `hwsim.spec` say of formats and specifications",
    "Amaranth's elaboration of each step, and Yosys, which writes it as BTOR2",
    "hwsim's reader of BTOR2 and its integers that are not known (hwsim/prove)",
    "bitwuzla; linear forms (hwsim/prove/linear.py); two-valued logic",
    "that claims which name the same relation may be put together: `hwsim docs proof`",
)
CONCLUSION = "equal for every input, under any traffic"
STEPS = "the model's open, step and close are composed of functions, each of which a step of the RTL is proved to be"
SELECTS = "and a sparse unit's file does what its dense one's does with the factors that the model selects"
READING = "Amaranth and Yosys make circuits of the unit's steps"
NO_STEPS = "no further claim about a step was asked: what the model calls is not what they are about"
CYCLES = 4  # beyond a unit's latency: how far a run is looked for that breaks what control promises


class UnitClaims:
    """The claims about a unit, and about the file that is written with some options.

    Raises NotImplementedYet for a unit that the RTL does not have, or that no proof covers.
    """

    def __init__(self, unit: Specified, pipeline: Pipeline, style: Style = PLAIN):
        supports(unit).demand()
        provable(unit).demand()
        self.written, pipeline = (pipeline, style), pipeline.model_copy(update={"register_ready": False})
        self.unit, self.pipeline = unit, pipeline
        self.one = modes_of(unit)[0]  # what all modes have in common is as one of them has it
        self.rtl = Elaborated(unit, pipeline)

    @cached_property
    def datapath(self) -> DatapathClaims:
        """The claims about the datapath's steps."""
        return method_claims(self.unit, self.pipeline.cuts, self.rtl.datapath)

    @cached_property
    def after(self) -> PromotionClaims | AccumulationClaims | None:
        """The claims about the adder behind its groups' sums; None if it has none."""
        return after_claims(self.one, self.pipeline.cuts, self.rtl.adder)

    @cached_property
    def followed(self) -> Control:
        """The control of the unit around any datapath."""
        return Control(self.unit, self.pipeline, self.rtl)

    @cached_property
    def control(self) -> list[Claim]:
        """The claims about its control."""
        return control_claims(self.followed)

    @cached_property
    def file(self) -> ReadBack:
        """Its Verilog, read back."""
        return ReadBack(self.rtl, self.rtl.file)

    @cached_property
    def played(self) -> PlayedClaim:
        """The claim about whole dot products."""
        return PlayedClaim(self.file)

    def steps(self) -> Iterator[Decidable]:
        """Yield the claims about the model's run and about each step; they end at a call that no claim is about."""
        yield ports(self.unit, self.file.fields)
        try:
            yield from composition(self.unit, self.datapath, self.after)
            yield from self.datapath.claims()
            if self.after is not None:
                if (enters := entering_claim(self.one, self.after.what, self.after.calls)) is not None:
                    yield enters
                yield from self.after.claims()
            yield closure(self.datapath, self.after)
        except Unmet as unmet:
            yield not_composed(unmet)

    def all(self) -> Iterator[Decidable]:
        """Yield all claims: of the model's run and the steps, control, the plain file, the file, and comparisons."""
        yield from self.steps()
        yield from self.control
        yield from self.file.claims()
        yield from style_claims(self.unit, *self.written)
        yield self.played


class SparseClaims(UnitClaims):
    """The claims about a sparse unit: its dense unit's, and that its file does what the dense one's does with what is
    selected.

    Raises NotImplementedYet for a unit that the RTL does not have, or whose dense unit no proof covers.
    """

    def __init__(self, unit: SparseUnit, pipeline: Pipeline, style: Style = PLAIN):
        supports(unit).demand()
        self.sparse, self.options = unit, (pipeline, style)
        super().__init__(unit.dense, pipeline.model_copy(update={"register_ready": False}))

    def all(self) -> Iterator[Decidable]:
        """Yield all claims: those of the dense unit, of the selection, and of the file that options write."""
        yield from super().all()
        yield from selection_claims(self.sparse, self.pipeline)
        yield from style_claims(self.sparse, *self.options)

    def selects(self) -> str:
        """The first selection in which the RTL leaves the model's, in words."""
        for case in selection_cases(self.sparse, Stream(1, self.sparse.name, "prove"), falling=True):
            with AMARANTH:
                difference = first_difference(self.sparse, case)
            if difference is not None:
                return f"{case.id}: {difference}"
        return "no selection was found in which the selector by itself is wrong"


def _claims(unit: AnyUnit, pipeline: Pipeline, style: Style) -> UnitClaims:
    return SparseClaims(unit, pipeline, style) if isinstance(unit, SparseUnit) else UnitClaims(unit, pipeline, style)


def claims_of(unit: AnyUnit, pipeline: Pipeline) -> Iterator[Decidable]:
    """Yield the claims about a unit.

    Raises NotImplementedYet for one that the RTL does not have, or that no proof covers.
    """
    yield from _claims(unit, pipeline, PLAIN).all()


@dataclass
class ProofOptions:
    """Options for deciding claims.

    seconds: for each. second: whether z3 is asked, too. only: what the name of a claim must contain to be run; every
    other is listed. case: where a case goes that shows a refuted claim. tell: called with each row as it is made. at:
    called with what is done next, in words.
    """

    seconds: float = 60.0
    second: bool = False
    only: str = ""
    case: Path | None = None
    tell: Callable[[ClaimRow], None] = field(default=lambda row: None)
    at: Callable[[str], None] = field(default=lambda what: None)

    def decide(self, claim: Decidable) -> ClaimRow:
        """Decide one claim, and return its row."""
        listed = {"name": claim.name, "words": claim.words, "solver": claim.solver}
        if self.only not in claim.name:
            return ClaimRow(**listed, over="", seconds=0.0, word="not run")
        answer = claim.decide(self.seconds)
        opinion = None
        if self.second and isinstance(claim, Claim | LateClaim):
            opinion = second_opinion(claim.claim, claim.assumptions, self.seconds)
        return ClaimRow(
            **listed,
            over=claim.over,
            seconds=answer.seconds,
            word=answer.word,
            second=opinion,
            refuting=dict(answer.model or {}),
        )

    def decided(
        self, name: str, cuts: Sequence[str], claims: Iterable[Decidable], command: str
    ) -> tuple[ProofReport, list[Decidable]]:
        """A report of claims, each told when it is decided, and those that are not proved. name: of the design."""
        begun, rows, wrong = time.monotonic(), list[ClaimRow](), list[Decidable]()
        with seldom_collected():
            for claim in claims:
                self.at(f"deciding {claim.name}")
                row = self.decide(claim)
                rows.append(row)
                self.tell(row)
                self.at(f"after {row.name}: writing the next claim down")
                if row.word not in ("proved", "compared", "not run"):
                    wrong.append(claim)
        report = ProofReport(
            unit=name,
            title=f"Proof of {name}",
            version=version("hwsim"),
            command=command,
            cuts=tuple(cuts),
            rows=tuple(rows),
            seconds=time.monotonic() - begun,
            memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            conclusion=CONCLUSION,
            trusted=TRUSTED,
        )
        return report, wrong


def prove(
    unit: AnyUnit,
    pipeline: Pipeline,
    asked: ProofOptions | None = None,
    called: str = "",
    command: str = "",
    style: Style = PLAIN,
) -> ProofReport:
    """Decide every claim of a unit.

    style: of its file. called: the unit's name in a command. command: one that asks the same again. Raises as
    `UnitClaims` does.
    """
    asked = asked or ProofOptions()
    asked.at(READING)
    claims = _claims(unit, pipeline, style)
    report, wrong = asked.decided(
        unit.name, pipeline.cuts, claims.all(), command or f"hwsim prove {called or unit.name}"
    )
    of_sparse = f"; {SELECTS}" if isinstance(unit, SparseUnit) else ""
    report = report.changed(contexts=pipeline.contexts, conclusion=f"{CONCLUSION}: {STEPS}{of_sparse}")
    if wrong:
        asked.at("looking for a case that shows what is refuted")
    return with_example(report, claims, wrong, called or unit.name, asked.case) if wrong else report


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Collect garbage seldom: a proof makes millions of objects that stay, and each collection goes through all."""
    before = gc.get_threshold()
    gc.set_threshold(500_000, 50, 50)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def with_example(
    report: ProofReport, claims: UnitClaims, wrong: list[Decidable], called: str, path: Path | None
) -> ProofReport:
    """The report with a case, or a run of cycles, that shows a claim to be wrong."""
    alone = any(isinstance(claim, Noted) for claim in wrong)
    control = set[str]() if alone else {claim.name for claim in claims.control}
    notes = [NO_STEPS] if alone else []
    if any(claim.name in control for claim in wrong):
        notes.append(_run_of_cycles(claims))
    if isinstance(claims, SparseClaims) and any(claim.name.startswith(SELECT) for claim in wrong):
        notes.append(claims.selects())
    others = ("file:", "options:", SELECT)
    datapath = [claim for claim in wrong if claim.name not in control and not claim.name.startswith(others)]
    if not datapath:
        return report.changed(notes=tuple(notes))
    wrong_case = None if alone else _found(claims, [claim for claim in datapath if isinstance(claim, AnyClaim)])
    if wrong_case is None and claims.played in wrong:
        wrong_case = claims.played.wrong
    if wrong_case is None:
        notes.append("no dot product was found whose result shows what is refuted")
        return report.changed(notes=tuple(notes))
    if isinstance(claims.unit, Unit):
        return report.changed(notes=tuple(notes), example=_drawn(claims.unit, wrong_case, called, path))
    return report.changed(notes=(*notes, wrong_case.in_words))  # cases are files of units of one mode


def _found(claims: UnitClaims, wrong: Sequence[AnyClaim]) -> WrongCase | None:
    """A dot product whose result shows one of these claims to be wrong, in the mode that it is of."""
    modes = claims.datapath.modes if isinstance(claims.datapath, ModalClaims) else {"": claims.datapath}
    for name, mode in modes.items():
        mine = [claim for claim in wrong if claim.name.startswith(f"{name}: " if name else "")]
        examples = DatapathExamples(mode, claims.after) if mine else None
        for claim in mine:
            if examples is not None and (wrong_case := examples.of(claim)):
                return wrong_case
    return None


def _run_of_cycles(claims: UnitClaims) -> str:
    """The shortest run from a reset in which control breaks a promise, in words."""
    control = claims.followed
    broken = broken_promise(control, control.latency + CYCLES)
    if broken is None:
        return f"control: no promise is broken within {control.latency + CYCLES} cycles after a reset"
    inputs = [", ".join(f"{name} {number:#x}" for name, number in cycle.items() if number) for cycle in broken.inputs]
    cycles = "; ".join(f"cycle {place}: {words or 'nothing'}" for place, words in enumerate(inputs, 1))
    return f"control: {broken.name} is broken {broken.cycle} cycles after a reset, with these inputs: {cycles}"


def _drawn(unit: Unit, found: WrongCase, called: str, path: Path | None) -> Mismatch:
    """A case as reports draw it, with the first stage that differs; written where a path is given."""
    with AMARANTH:
        difference = first_difference(unit, found.case)
    if path is not None:
        write_unit_case(path, unit, found.case, found.expected, found.got)
    return wrong_result(
        unit, found.case, found.expected, found.got, suite=found.claim, driver="proof",
        stage="" if difference is None else str(difference), group=None if difference is None else difference.beat,
        explain=explain_command(unit, called, found.case),
        again="" if path is None else shlex.join(["hwsim", "cosim", called, "--case", str(path)]),
    )  # fmt: skip
