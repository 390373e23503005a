"""A user's design against the specification: step by step where it names our boundaries, and else from end to end.

From end to end the specification is the model's dot product, run on codes that are not known, with more and more
products that are not zero. What is claimed of so many is shown of every choice of lanes for them: of those that make
one term of the design, of one. What was not shown is said.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from itertools import combinations
from math import comb
from pathlib import Path

from hwsim.cosim.dutdesign import DutDesign
from hwsim.prove.claims import AnyClaim
from hwsim.prove.dutcase import Counterexample, DesignAsRead, counterexample
from hwsim.prove.dutsteps import DesignExamples, StepsOf, choice_of
from hwsim.prove.explore import OutOfTime, until
from hwsim.prove.logic import Decided, Word
from hwsim.prove.placed import Lanes, Placing, RefutedChoice, zeros_count
from hwsim.prove.run import Asked
from hwsim.prove.sampled import refuted_by_a_case
from hwsim.prove.unrolled import BeatResult, beat_result
from hwsim.report.proof import ClaimRow, ProofReport
from hwsim.words import counted

# What a proof of a user's design takes for granted, in words.
TRUSTED = (
    "slang and hwsim's adapter, by which ports are fields; Yosys, which writes both as BTOR2",
    "hwsim's reader of BTOR2, its integers that are not known, and its linear forms (hwsim/prove)",
    "bitwuzla; two-valued logic: a bit that the design leaves undefined is 0 or 1",
    "that the model's sum in a window, or exact sum, depends neither on which lanes of a group its products are in nor "
    "on the codes of products that are zero: `hwsim docs proof`",
)
# And where it is proved step by step, instead of the last.
TRUSTED_STEPS = "that claims which name the same relation may be put together: `hwsim docs proof`"
FIRST_SHARE = 0.2  # of a claim's seconds, in which a first choice of lanes must be proved with any zeros
ZERO_LANE = 5.0  # seconds in which a lane's products of zero are seen to be as +0 times +0
PRODUCTS = 2  # other than zero that are proved, unless another number is asked for


@dataclass(frozen=True)
class DutAsked:
    """What is asked of a design.

    products: how many at most that are not zero; None for the steps that the design's file names, and where it names
    none, for two, and more as far as the seconds of one claim go.
    seconds: for each claim. case: where a case goes that shows a refuted claim. tell: called with each row. at: called
    with what is done next, in words.
    """

    products: int | None = None
    seconds: float = 300.0
    case: Path | None = None
    tell: Callable[[ClaimRow], None] = field(default=lambda row: None)
    at: Callable[[str], None] = field(default=lambda what: None)


def prove_dut(design: DutDesign, asked: DutAsked | None = None, command: str = "") -> ProofReport:
    """Prove what can be of a design. command: what asks the same again.

    Raises as `beat_result` does, NotImplementedYet for a unit that the model does not have, or of whose steps nothing
    is claimed, and SpecError for steps that do not fit the design.
    """
    return _DutProof(design, asked or DutAsked(), command).made()


class _DutProof:
    def __init__(self, design: DutDesign, asked: DutAsked, command: str):
        self.design, self.asked, self.command = design, asked, command
        self.begun, self.spent_before = time.monotonic(), time.thread_time()
        asked.at("Yosys reads the design, and a beat is followed through it")
        self.followed: BeatResult = beat_result(design)
        self.rows: list[ClaimRow] = []
        self.notes: list[str] = []
        if design.held:
            self.notes.append(f"in every beat {design.held}: nothing is said of other operands")
        self.proved = self.zeros = 0  # products other than zero; those beside which any zeros stand
        self.plain_zeros = False  # whether any zeros are as +0 times +0
        self.refuted: RefutedChoice | None = None
        self.shown: Counterexample | None = None  # of what is refuted
        self.by_steps = design.dut.file.steps is not None and asked.products is None

    def made(self) -> ProofReport:
        """All claims, and what follows."""
        for row in self.followed.rows:
            self._add(row)
        if self.followed.hint:
            self.notes.append(self.followed.hint)
        if all(row.holds for row in self.rows):
            if self.by_steps:
                self._steps()
            else:
                self._products()
        if self.shown is not None:
            self.notes += self.shown.notes
        else:
            for one in self._left_out():
                self._add(ClaimRow(name=one, words="nothing is shown of these", over="", solver="none", seconds=0.0,
                                   word="not proved"))  # fmt: skip
        self.notes += [f"not compared: {one}" for one in self.design.unpromised.left_out()]
        return ProofReport(
            unit=self.design.name,
            title=f"Proof of {self.design.name} as {self.design.unit.name}",
            version=version("hwsim"),
            command=self.command or f"hwsim prove --dut {self.design.dut.path}",
            rows=tuple(self.rows),
            seconds=time.monotonic() - self.begun,
            memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            conclusion=f"{self._conclusion}{f', where {self.design.held}' if self.design.held else ''}",
            trusted=(*TRUSTED[:-1], TRUSTED_STEPS) if self.by_steps else TRUSTED,
            example=None if self.shown is None else self.shown.mismatch,
            notes=tuple(self.notes),
        )

    def _add(self, row: ClaimRow) -> None:
        self.rows.append(row)
        self.asked.tell(row)

    def _add_refuted(self, rows: Sequence[ClaimRow], choice: RefutedChoice | None) -> None:
        """Claims that the design's netlist refutes: refuted they are where a simulator shows it, too.

        choice: a case, where one is found.
        """
        doubt = "no case was found whose result is wrong"
        if choice is not None:
            self.asked.at("making the case simpler, and playing it in a simulator")
            self.shown = counterexample(self.design, self.followed, choice, rows[0].name, self.asked.case)
            doubt = self.shown.doubt
        for row in rows:
            if doubt:
                row = row.changed(word="not proved", words=f"{row.words}: the netlist refutes it; {doubt}")
            self._add(row)

    @property
    def _conclusion(self) -> str:
        if self.by_steps and not any(self._left_out()):
            clocked = self.design.dut.file.protocol.kind != "combinational"
            return f"equal for every input{', under any traffic' if clocked else ''}"
        where = ", alone, right after a reset" if self.followed.alone else ""
        if self.proved == self.design.products:
            return f"equal for every beat{where}"
        return f"equal for every beat with at most {counted(self.proved, 'product')} other than zero{where}"

    def _steps(self) -> None:
        """Every claim about the steps that the design's file names."""
        steps = StepsOf(self.design, self.followed, self.asked.seconds).found()
        wrong, refuted, asked = list[AnyClaim](), list[ClaimRow](), Asked(self.asked.seconds)
        for claim in steps.all():
            self.asked.at(f"deciding {claim.name}")
            row = asked.decide(claim)
            if row.word != "refuted":
                self._add(row)
                continue
            refuted.append(row)
            if isinstance(claim, AnyClaim):
                wrong.append(claim)
        examples = DesignExamples(self.design, self.followed, steps, self.asked.seconds)
        if not refuted and examples.drawn is None:
            self._add(examples.row)
            self.proved = self.zeros = self.design.products if all(row.holds for row in self.rows) else 0
            return
        refuted = refuted or [examples.row]
        for claim in wrong:
            if (case := examples.wrong(claim)) is not None:
                self._add_refuted(refuted, choice_of(self.design, case))
                return
        self._add_refuted(refuted, None if examples.drawn is None else choice_of(self.design, examples.drawn))
        if examples.drawn is not None:
            return
        self.notes.append(
            "no dot product was found whose result is wrong: perhaps a signal is not what `steps` in "
            f"{self.design.dut.path} says, or what refutes a step never comes to it"
        )

    def _products(self) -> None:
        """One product other than zero, two, and so on."""
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
                self._add_refuted([row], self.refuted)
                return
            self._add(row)
            if row.word != "proved":
                return
            self.proved = count

    def _zero_products(self) -> None:
        """That any codes whose product is zero are as +0 times +0; nothing is said where that is not seen."""
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
        """That the result is the model's with so many products of any codes, in any lanes.

        Some cases are tried first. The products in the other lanes are any that are zero: where these are not seen to
        be as +0 times +0, each of them. They are +0 times +0 where zeros may count, and where the first choice of lanes
        took so long that all of them would not be done in time.
        """
        begun = time.thread_time()
        self.refuted = refuted_by_a_case(self.design, self.followed, count)
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
        """What becomes of all choices of lanes, one after another, and how many of them are proved.

        Of those that are seen to be alike one is asked.
        """
        choices = comb(self.design.products, count)
        share = FIRST_SHARE if zeros else 1.0
        proved = set[object]()
        for done, lanes in enumerate(combinations(range(self.design.products), count)):
            left = begun + seconds * share - time.thread_time()
            alike = self._placing.alike(lanes) if not zeros and left > 0 else None
            if alike in proved:
                continue
            answer = self._choice(lanes, zeros, left) if left > 0 else Decided("undecided", 0.0)
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
            refuting={} if self.refuted is None else DesignAsRead(self.design, self.followed, self.refuted).named,
        )

    @cached_property
    def _placing(self) -> Placing:
        return Placing(self.design, self.followed)

    def _choice(self, lanes: Lanes, zeros: bool, seconds: float) -> Decided:
        end = time.thread_time() + seconds
        try:
            with until(end):
                placed = self._placing.placed(lanes, zeros)
        except OutOfTime:
            return Decided("undecided", seconds)
        for question in placed.questions:
            left = end - time.thread_time()
            answer = placed.points.decide(question, left) if left > 0 else Decided("undecided", seconds)
            if answer.word != "proved":
                return answer
        return Decided("proved", seconds)

    @property
    def _beside(self) -> str:
        parts = [*(["addend"] if self.design.addend else []), *(["scales"] if self.design.unit.scale else [])]
        return f", any {' and '.join(parts)}," if parts else ""

    def _left_out(self) -> Iterator[str]:
        """What the proof says nothing of."""
        design, protocol = self.design, self.design.dut.file.protocol
        if beside := ", ".join(field.name for field in design.ports.beside):
            yield f"what stands beside the result ({beside})"
        if self.proved < design.products:
            yield f"beats with more than {counted(self.proved, 'product')} other than zero"
        if self.zeros < self.proved < design.products:
            beside = f" beside more than {counted(self.zeros, 'product')}" if self.zeros else ""
            yield f"products of zero other than +0 times +0{beside}"
        scaled = design.unit.scale is not None and not self.by_steps
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
