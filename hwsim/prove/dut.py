"""A user's design against the specification, from end to end, and a case that shows a refuted claim."""

from __future__ import annotations

import resource
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from itertools import combinations
from math import comb
from pathlib import Path

import numpy as np

from hwsim.base.arrays import objects
from hwsim.base.errors import InputError, ToolMissing
from hwsim.base.processes import scratch_folder
from hwsim.base.text import counted
from hwsim.cases.case import Case, block_lengths
from hwsim.cases.random_cases import random_cases
from hwsim.cosim.build import BuildFailed
from hwsim.cosim.casefile import write_unit_case
from hwsim.cosim.dutdesign import DutDesign
from hwsim.cosim.minimal import interpretation
from hwsim.cosim.run import CosimOptions, run
from hwsim.cosim.shrink import Shrinker, Shrunk
from hwsim.cosim.suites import Filter, expected_codes
from hwsim.cosim.wiring import operands_of
from hwsim.explain import FaultKind, Mismatch
from hwsim.explain.diagnosis import diagnose
from hwsim.explain.facts import Observation
from hwsim.explain.mismatches import explain_command, explained_case, fault_kinds, wrong_result
from hwsim.explain.proof import ClaimRow, ProofReport
from hwsim.explain.reports import all_fault_lines
from hwsim.formats import Format
from hwsim.formats.blocks import one_code
from hwsim.prove.dutselection import NAME, SelectedBeat
from hwsim.prove.products import Lanes, Placing, RefutedChoice, zeros_count
from hwsim.prove.terms import Decided, Evaluated, Word
from hwsim.prove.unrolled import BeatResult, beat_result

SEED, NAMED = 1, 400  # of cases that a name must explain
SIMULATORS = ("icarus", "verilator")


NOTHING = RefutedChoice((), {})


@dataclass(frozen=True)
class DesignAsRead:
    """A design as it was read, of which results can be computed.

    refuted: the refuting choice, with the values of what stood beside the beat, where these count.
    """

    design: DutDesign
    followed: BeatResult
    refuted: RefutedChoice = NOTHING

    def codes(self, cases: Sequence[Case]) -> np.ndarray:
        """The results of some cases of one beat: integers[cases]."""
        known: dict[str, list[int]] = {}
        cases = self.design.driven(cases)
        for name, terms in self.followed.beat.items():
            for index, term in enumerate(terms):
                known[term.symbol()] = [case.c if name == "c" else getattr(case, name)[index] for case in cases]
        for term in self.followed.undefined:
            known[term.symbol()] = [self.refuted.model.get(term.symbol(), 0)] * len(cases)
        return objects(Evaluated(known).of(self.followed.result))

    @property
    def named(self) -> dict[str, int]:
        """The codes of the case that refutes, by field and place, but for zeros."""
        case = self.case()
        sides = {side: getattr(case, side) for side in ("a", "b", "scale_a", "scale_b")}
        factors = {
            f"{side}[{index}]": code for side, codes in sides.items() for index, code in enumerate(codes) if code
        }
        return {**factors, "c": case.c}

    def case(self) -> Case:
        """The case that refutes."""
        unit, products = self.design.unit, self.design.products
        model = self.refuted.model

        def code(fmt: Format, name: str, otherwise: int = 0) -> int:
            return model[name] << fmt.padding if name in model else otherwise

        def side(name: str, fmt: Format) -> tuple[int, ...]:
            slots = {lane: f"{name}.{index}" for index, lane in enumerate(self.refuted.lanes)}
            return tuple(code(fmt, slots.get(lane, f"zero.{name}.{lane}")) for lane in range(products))

        scales: dict[str, tuple[int, ...]] = {}
        if unit.scale is not None:
            sides = (("scale_a", unit.scale.a.format), ("scale_b", unit.scale.b.format))
            for (name, fmt), length in zip(sides, block_lengths(unit), strict=True):
                blocks = range(max(1, products // length))
                scales[name] = tuple(code(fmt, f"{name}.{index}", one_code(fmt)) for index in blocks)
        c = 0 if unit.operands.addend is None else code(unit.operands.addend, "c")
        return self.design.held.put(
            Case("counterexample", side("a", unit.operands.a), side("b", unit.operands.b), c, **scales)
        )


@dataclass(frozen=True)
class Counterexample:
    """A case as a report has it, notes on it, and the doubt that it refutes anything; no doubt is empty."""

    mismatch: Mismatch
    notes: tuple[str, ...]
    doubt: str


def counterexample(read: DesignAsRead, first: Case, claim: str, path: Path | None) -> Counterexample:
    """Return the simplest case like the first, played in a simulator. path: where the case is written, if anywhere."""
    design = read.design
    shrunk = Shrinker(design, read.codes).shrink([first])
    if shrunk is None:  # only beside what stood beside it, or in bits that the design leaves undefined
        (expected,), (got,) = expected_codes(design.unit, [first]), read.codes([first]).tolist()
        shrunk = Shrunk(first, expected, got, 1, 1)
    unit, case = design.unit, shrunk.case
    (driven,) = design.driven([case])
    again, notes = "", [f"the case is the simplest of {counted(shrunk.tried, 'case')} tried"]
    if driven.metadata:
        b, metadata = (", ".join(map(str, of)) for of in (map(hex, driven.b), driven.metadata))
        notes.append(f"as it was played b has {b}, and metadata are {metadata}")
    if path is not None:
        again = shlex.join(["hwsim", "cosim", *design.words, "--case", str(path)])
    with scratch_folder() if path is None else nullcontext(path.parent) as folder:
        written = folder / "case.yaml" if path is None else path
        write_unit_case(written, design.dut.sparse or unit, driven, shrunk.expected, shrunk.got)
        verdict, doubt = _played(design, shrunk, written)
    notes.append(verdict)
    notes += all_fault_lines(_kinds(design, read, case))
    mismatch = wrong_result(
        unit, case, shrunk.expected, shrunk.got, suite=claim, driver="proof",
        meaning=interpretation(explained_case(unit, case), shrunk.got),
        again=again, explain=explain_command(unit, design.called, driven),
    )  # fmt: skip
    return Counterexample(mismatch, tuple(notes), doubt)


def _kinds(design: DutDesign, read: DesignAsRead, case: Case) -> tuple[FaultKind, ...]:
    """The kinds of wrong results of the design, with the names that explain them."""
    drawn = design.held.drawn(random_cases(design.drawn_for, NAMED, SEED))
    cases = [case, *(item for _, item in Filter(design).take(drawn) if len(item.a) == design.products)]
    seen = [Observation(*item) for item in zip(cases, read.codes(cases).tolist(), strict=True)]
    return fault_kinds(diagnose(design.unit, seen))


DIFFER = "the netlist and the simulator differ"


def _played(design: DutDesign, shrunk: Shrunk, path: Path) -> tuple[str, str]:
    """Return a simulator's verdict on a written case, and why the case refutes nothing; empty where it does."""
    reasons = []
    for simulator in SIMULATORS:
        try:
            if unfit := design.unfit_for(simulator):
                raise InputError(unfit)
            report = run(CosimOptions((design,), (simulator,), case=path, folder=path.with_suffix("")))
        except (ToolMissing, InputError, BuildFailed) as error:
            reasons.append(f"{simulator}: {str(error).splitlines()[0]}")
            continue
        page = path.with_suffix("") / "report.html"
        if report.passed:
            verdict = "it returns what is expected, so that it does not read the design as Yosys does"
            return f"played on {simulator}: {verdict}; {page}", DIFFER
        got = report.mismatches[0].got.code if report.mismatches else "no result"
        same = got == f"{shrunk.got:#0{len(got)}x}"
        return f"played on {simulator}: {'it returns the same' if same else f'it returns {got}'}; {page}", ""
    return f"not played: {'; '.join(reasons)}", "no simulator has played the case"


SAMPLES, SAMPLE_SEED = 400, 2


def refuted_by_a_case(design: DutDesign, followed: BeatResult, count: int) -> RefutedChoice | None:
    """Return the first of some random cases in which a design, as it was read, does not return the model's result.

    count: products of a case that are not zero, at most.
    """
    every = design.held.drawn(random_cases(design.drawn_for, SAMPLES, SAMPLE_SEED))
    drawn = [case for _, case in Filter(design).take(every)]
    choices = list(_choices(design, count, drawn))
    cases = [DesignAsRead(design, followed, choice).case() for choice in choices]
    got = DesignAsRead(design, followed).codes(cases).tolist()
    for choice, want, code in zip(choices, expected_codes(design.unit, cases), got, strict=True):
        if not design.unpromised.same(want, code):
            return choice
    return None


def _choices(design: DutDesign, count: int, drawn: list[Case]) -> Iterator[RefutedChoice]:
    """Yield some products of each case of one beat, other ones in each; its addend, and their blocks' scales."""
    formats = {name: fmt for name, (_, fmt) in operands_of(design.dut).items()}
    products = design.products
    for number, case in enumerate(drawn):
        if len(case.a) != products:
            continue
        lanes: Lanes = tuple(sorted({(number + place * (1 + number // products)) % products for place in range(count)}))
        model = {
            f"{side}.{index}": getattr(case, side)[lane] for side in ("a", "b") for index, lane in enumerate(lanes)
        }
        model["c"] = case.c
        if design.unit.scale is not None:
            for name, length in zip(("scale_a", "scale_b"), block_lengths(design.unit), strict=True):
                model |= {f"{name}.{lane // length}": getattr(case, name)[lane // length] for lane in lanes}
        fields = {name: formats.get(name.partition(".")[0]) for name in model}
        yield RefutedChoice(
            lanes, {name: model[name] >> fmt.padding for name, fmt in fields.items() if fmt is not None}
        )


# What a proof of a user's design takes for granted, in words.
TRUSTED = (
    "slang and hwsim's adapter, by which ports are fields; Yosys, which writes both as BTOR2",
    "hwsim's reader of BTOR2, its integers that are not known, and its linear forms (hwsim/prove)",
    "bitwuzla; two-valued logic: a bit that the design leaves undefined is 0 or 1",
    "that `max` and `any` of the model's two folds are a maximum and a disjunction",
    "that the model's sum in a window, or exact sum, depends neither on which lanes of a group its products are in nor "
    "on the codes of products that are zero: `hwsim docs proof`",
)
FIRST_SHARE = 0.2  # of a claim's seconds, in which a first choice of lanes must be proved with any zeros
ZERO_LANE = 5.0  # seconds in which a lane's products of zero are seen to be as +0 times +0
WHOLE_SHARE = 0.4  # of a claim's seconds, for all products at once before a few of them
PRODUCTS = 2  # other than zero that are proved, unless another number is asked for


@dataclass(frozen=True)
class DutProofOptions:
    """The options of a design's proof.

    products: how many at most that are not zero; None for all at once, and where these are left undecided for two, and
    more as far as the seconds of one claim go.
    seconds: for each claim. case: where a case goes that shows a refuted claim. tell: called with each row. at: called
    with what is done next, in words.
    """

    products: int | None = None
    seconds: float = 300.0
    case: Path | None = None
    tell: Callable[[ClaimRow], None] = field(default=lambda row: None)
    at: Callable[[str], None] = field(default=lambda what: None)


def prove_dut(design: DutDesign, asked: DutProofOptions | None = None, command: str = "") -> ProofReport:
    """Prove as much as can be of a design. command: the command that asks the same again.

    Raises as `beat_result` does, and NotImplementedYet for a unit that the model does not have.
    """
    return _DutProof(design, asked or DutProofOptions(), command).made()


class _DutProof:
    def __init__(self, design: DutDesign, asked: DutProofOptions, command: str):
        self.design, self.asked, self.command = design, asked, command
        self.begun, self.spent_before = time.monotonic(), time.thread_time()
        asked.at("Yosys reads the design, and a beat is followed through it")
        self.read: BeatResult = beat_result(design)
        sparse = design.dut.sparse
        self.selected = None if sparse is None else SelectedBeat(sparse, self.read)
        self.followed = self.read if self.selected is None else self.selected.dense
        self.rows: list[ClaimRow] = []
        self.notes: list[str] = []
        if design.held:
            self.notes.append(f"in every beat {design.held}: nothing is said of other operands")
        self.proved = self.zeros = 0  # products other than zero; those beside which any zeros stand
        self.plain_zeros = False  # whether any zeros are as +0 times +0
        self.refuted: RefutedChoice | None = None
        self.shown: Counterexample | None = None  # of what is refuted

    def made(self) -> ProofReport:
        """Return the report of all claims, and of what follows from them."""
        for row in self.read.rows:
            self._add(row)
        if self.read.hint:
            self.notes.append(self.read.hint)
        if all(row.holds for row in self.rows) and (self.selected is None or self._selection(self.selected)):
            self._products()
        if self.shown is not None:
            self.notes += self.shown.notes
        else:
            for part in self._left_out():
                self._add(ClaimRow(name=part, words="nothing is shown of these", over="", solver="none", seconds=0.0,
                                   word="not proved"))  # fmt: skip
        self.notes += [f"not compared: {part}" for part in self.design.unpromised.left_out()]
        return ProofReport(
            unit=self.design.name,
            title=f"Proof of {self.design.name} as {self.design.unit.name}",
            version=version("hwsim"),
            command=self.command or f"hwsim prove --dut {self.design.dut.path}",
            rows=tuple(self.rows),
            seconds=time.monotonic() - self.begun,
            memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            conclusion=f"{self._conclusion}{f', where {self.design.held}' if self.design.held else ''}",
            trusted=TRUSTED,
            example=None if self.shown is None else self.shown.mismatch,
            notes=tuple(self.notes),
        )

    def _add(self, row: ClaimRow) -> None:
        self.rows.append(row)
        self.asked.tell(row)

    @property
    def _as_read(self) -> DesignAsRead:
        return DesignAsRead(self.design, self.read, self.refuted or NOTHING)

    def _add_refuted(self, rows: Sequence[ClaimRow], case: Case | None) -> None:
        """Add claims that the design's netlist refutes; they are refuted only where a simulator shows it, too.

        case: one that refutes them, where one is found.
        """
        doubt = "no case was found whose result is wrong"
        if case is not None:
            self.asked.at("making the case simpler, and playing it in a simulator")
            self.shown = counterexample(self._as_read, case, rows[0].name, self.asked.case)
            doubt = self.shown.doubt
        for row in rows:
            if doubt:
                row = row.changed(word="not proved", words=f"{row.words}: the netlist refutes it; {doubt}")
            self._add(row)

    @property
    def _conclusion(self) -> str:
        where = ", alone, right after a reset" if self.followed.alone else ""
        if self.proved == self.design.products:
            return f"equal for every beat{where}"
        return f"equal for every beat with at most {counted(self.proved, 'product')} other than zero{where}"

    def _selection(self, selected: SelectedBeat) -> bool:
        """True if the claim is proved that what metadata do not select does not count; it has its row then."""
        self.asked.at("deciding what metadata select")
        begun, rule = time.thread_time(), selected.unit.sparsity
        wrong, solver = self._wrongly_selected(), "cases"
        word: Word = "refuted"
        if wrong is None:
            word, beats = selected.decide(self.asked.seconds)
            wrong, solver = self._wrong_of([self.design.keep(case) for case in beats]), "terms, or bitwuzla"
        over = f"any factors, each of the {counted(len(rule.patterns), 'choice')} of ascending metadata in each of "
        row = ClaimRow(
            name=NAME, words="of b and metadata the result depends on what these select alone",
            over=f"{over}{counted(len(selected.groups), 'group')}",
            solver=solver, seconds=time.thread_time() - begun, word=word,
        )  # fmt: skip
        if word == "refuted":
            self._add_refuted([row], wrong)
        else:
            self._add(row)
        return row.holds

    def _wrongly_selected(self) -> Case | None:
        """The first wrong one of the cases whose results name the factor that a lane got, and of random ones."""
        drawn = self.design.held.drawn(random_cases(self.design.drawn_for, SAMPLES, SAMPLE_SEED))
        every = [case for _, case in Filter(self.design).take([*self.design.selected, *drawn])]
        return self._wrong_of([case for case in every if len(case.a) == self.design.products])

    def _wrong_of(self, cases: Sequence[Case]) -> Case | None:
        if not cases:
            return None
        got = self._as_read.codes(cases).tolist()
        wants = expected_codes(self.design.unit, cases)
        same = self.design.unpromised.same
        return next((case for case, want, code in zip(cases, wants, got, strict=True) if not same(want, code)), None)

    def _products(self) -> None:
        """Decide all products at once unless a number is asked for; else one other than zero, two, and so on."""
        if self.asked.products is None and self._whole():
            return
        wanted = min(PRODUCTS if self.asked.products is None else self.asked.products, self.design.products)
        last = self.design.products if self.asked.products is None else wanted
        for count in range(1, last + 1):
            left = self.asked.seconds
            if count > wanted:
                left -= time.thread_time() - self.spent_before
                if left < 1:
                    return
            self.asked.at(f"deciding {counted(count, 'product')} other than zero")
            row = self._row(count, left)
            if count > wanted and row.word == "undecided":
                self.notes.append(f"{row.name}: undecided in {row.seconds:.0f} s: {row.over}")
                return
            if row.word == "refuted":
                self._add_refuted([row], None if self.refuted is None else self._as_read.case())
                return
            self._add(row)
            if row.word != "proved":
                return
            self.proved = count

    def _whole(self) -> bool:
        """True if the claim of all products is decided in its share of the time; it has its row then."""
        self.asked.at("deciding all products at once")
        count, begun = self.design.products, time.thread_time()
        self.refuted = refuted_by_a_case(self.design, self.read, count)
        if self.refuted is not None:
            return False  # of fewer products it may be simpler
        word, done = self._choices(count, False, begun, WHOLE_SHARE * self.asked.seconds)
        if word == "proved":
            self.proved = self.zeros = count
            self._add(self._of_choices(count, False, begun, word, done))
        elif word == "undecided":
            spent = time.thread_time() - begun
            self.notes.append(f"{counted(count, 'product')} at once: undecided in {spent:.0f} s")
        return word == "proved"

    def _zero_products(self) -> None:
        """Add the claim that any codes whose product is zero are as +0 times +0, where that is seen."""
        begun, lanes = time.thread_time(), range(self.design.products)
        if zeros_count(self.design.unit) or not all(self._placing.zero_is_plain(lane, ZERO_LANE) for lane in lanes):
            return
        self.plain_zeros = True
        row = ClaimRow(
            name="products of zero", words="are as +0 times +0", over="any codes of these, and all else in the beat",
            solver="bitwuzla", seconds=time.thread_time() - begun, word="proved",
        )  # fmt: skip
        self._add(row)

    def _row(self, count: int, seconds: float) -> ClaimRow:
        """Return the row of the claim that the result is the model's with so many products of any codes, in any lanes.

        Some cases are tried first. The products in the other lanes are any that are zero: where these are not seen to
        be as +0 times +0, each of them. They are +0 times +0 where zeros may count, and where the first choice of lanes
        took so long that all of them would not be done in time.
        """
        begun = time.thread_time()
        self.refuted = refuted_by_a_case(self.design, self.read, count)
        if self.refuted is not None:
            return self._of_choices(count, False, begun, "refuted", 0, solver="cases")
        if count == 1:
            self._zero_products()
        if not zeros_count(self.design.unit) and not self.plain_zeros and self.zeros == count - 1:
            word, done = self._choices(count, True, begun, seconds)
            if word != "undecided":
                self.zeros = count if word == "proved" else self.zeros
                return self._of_choices(count, True, begun, word, done)
        word, done = self._choices(count, False, begun, seconds)
        self.zeros = count if word == "proved" and self.plain_zeros else self.zeros
        return self._of_choices(count, self.plain_zeros, begun, word, done)

    def _choices(self, count: int, zeros: bool, begun: float, seconds: float) -> tuple[Word, int]:
        """Decide all choices of lanes, one after another; return the verdict, and how many of them are proved.

        Of choices that are seen to be alike one is asked.
        """
        choices = comb(self.design.products, count)
        share = FIRST_SHARE if zeros else 1.0
        proved = set[object]()
        for done, lanes in enumerate(combinations(range(self.design.products), count)):
            left = begun + seconds * share - time.thread_time()
            alike = self._placing.alike(lanes) if not zeros and left > 0 else None
            if alike in proved:
                continue
            answer = self._placing.decide(lanes, zeros, left) if left > 0 else Decided("undecided", 0.0)
            if answer.word == "refuted":
                self.refuted = RefutedChoice(lanes, answer.model or {})
            if answer.word != "proved":
                return answer.word, done
            if alike is not None:
                proved.add(alike)
            if zeros and not done and (time.thread_time() - begun) * choices > seconds:
                return ("proved", 1) if choices == 1 else ("undecided", 1)
            share = 1.0
        return "proved", choices

    def _of_choices(
        self, count: int, zeros: bool, begun: float, word: Word, done: int, solver: str = "bitwuzla"
    ) -> ClaimRow:
        choices = comb(self.design.products, count)
        which = f"{done} of {choices}" if word == "undecided" else str(choices)
        others = "any codes whose product is zero" if zeros else "+0 times +0"
        rest = f"; in the other lanes {others}" if count < self.design.products else ""
        return ClaimRow(
            name=counted(count, "product"),
            words="the result is the model's",
            over=f"any codes{self._beside} in {which} {'choice' if choices == 1 else 'choices'} of lanes{rest}",
            solver=solver,
            seconds=time.thread_time() - begun,
            word=word,
            refuting={} if self.refuted is None else self._as_read.named,
        )

    @cached_property
    def _placing(self) -> Placing:
        return Placing(self.design, self.followed)

    @property
    def _beside(self) -> str:
        parts = [*(["addend"] if self.design.addend else []), *(["scales"] if self.design.unit.scale else [])]
        return f", any {' and '.join(parts)}," if parts else ""

    def _left_out(self) -> Iterator[str]:
        """Yield the things of which the proof says nothing."""
        design, protocol = self.design, self.design.dut.file.protocol
        if beside := ", ".join(field.name for field in design.ports.extra):
            yield f"what stands beside the result ({beside})"
        if self.proved < design.products:
            yield f"beats with more than {counted(self.proved, 'product')} other than zero"
        if self.zeros < self.proved < design.products:
            beside = f" beside more than {counted(self.zeros, 'product')}" if self.zeros else ""
            yield f"products of zero other than +0 times +0{beside}"
        scaled = design.unit.scale is not None and self.proved < design.products
        if scaled and any(len(self.followed.beat[name]) > 1 for name in ("scale_a", "scale_b")):
            yield "scales other than 1 of blocks whose products are all zero"
        if self.followed.alone:
            yield "beats that follow others, or are not the first after a reset"
        if design.chains:
            yield "sums of more than one beat"
        for held in protocol.holding:
            yield f"cycles in which {held} is {'low' if held.active == 'high' else 'high'}"
        if design.dut.file.contexts > 1:
            yield "contexts other than 0"
