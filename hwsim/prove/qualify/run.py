"""What becomes of each mutant of a unit: which vectors kill it, which proof does, and which mutants change nothing."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, get_args

from amaranth.back import rtlil

from hwsim.cases.case import Batch
from hwsim.cases.drawing import Stream
from hwsim.cosim.vectors.make import made_batches
from hwsim.cosim.vectors.plan import SUITES, Wanted
from hwsim.prove.accumulation import PromotionClaims
from hwsim.prove.aligned import AlignedClaims
from hwsim.prove.claims import AnyClaim, OfSolver, StepCircuits
from hwsim.prove.linear import constants
from hwsim.prove.methods import plain_window
from hwsim.prove.qualify.machine import Held, Joined, MutantMachine, groups, is_nan, plain_zero, played, read_aiger
from hwsim.prove.qualify.mutants import AIGER, SELECT, Mutant, Netlist, absorbed, netlists, of_one_lane, written
from hwsim.prove.qualify.steps import MutatedSteps, part_of
from hwsim.prove.terms import Term, Word, ask, substituted, value, width
from hwsim.rtl.accumulate import INSIDE, smaller_promotion
from hwsim.rtl.methods import datapath, promotion
from hwsim.rtl.numbers import as_float
from hwsim.rtl.step import DatapathStep
from hwsim.spec import NotImplementedYet, Unit, unpromised

READ = """read_rtlil {name}.il
hierarchy -top top
proc -noopt -norom
"""
# Steps whose lanes are proved to be one term.
BY_LANE = ("decode", "multiply", "distance", "align")


class UnitNetlists:
    """The steps of a unit's datapath, and of its promotion's adder, without registers between them.

    cuts: which divide the trees of maximum and sum. seed: of the bits that control mutants.
    Raises NotImplementedYet for a unit that the RTL cannot build, ToolMissing, and FlowFailed with what Yosys said.
    """

    def __init__(self, unit: Unit, cuts: Sequence[str], seed: int):
        self.unit = unit
        steps: list[DatapathStep] = list(datapath(unit, cuts).steps)
        if unit.promotion is not None:
            steps += promotion(unit, cuts).steps
        files = {f"{step.name}.il": rtlil.convert(step, name="top") for step in steps}
        self.steps = netlists({step.name: READ.format(name=step.name) for step in steps}, files, seed)

    def mutants(self) -> Iterator[Mutant]:
        """Those of one lane and of all that lanes share, by step."""
        for netlist in self.steps:
            if netlist.name in BY_LANE:
                yield from of_one_lane(netlist, self.unit.instruction.lanes)
            else:
                yield from netlist.mutants

    def absorbed(self, mutant: Mutant) -> bool:
        """Whether a mutant changes nothing of its own cell."""
        return absorbed(next(netlist for netlist in self.steps if netlist.name == mutant.step), mutant)

    def machine(self, mutants: Sequence[Mutant]) -> MutantMachine:
        """All steps as one circuit, with mutants in it."""
        return _UnitJoin(self.unit, self.steps, mutants).machine()


class _UnitJoin:
    """What is between the steps of a unit, beat for beat: as its control has it, which is not mutated."""

    def __init__(self, unit: Unit, steps: Sequence[Netlist], mutants: Sequence[Mutant]):
        self.unit = unit
        numbers: dict[str, list[int]] = {netlist.name: [] for netlist in steps}
        for number, mutant in enumerate(mutants):
            numbers[mutant.step].append(number)
        parts = [(netlist, [mutants[number] for number in numbers[netlist.name]]) for netlist in steps]
        graphs = dict(zip(numbers, map(read_aiger, written(parts, "aag", AIGER)), strict=True))
        first = {name: len(bits) for name, bits in graphs["decode"].inputs.items() if name != SELECT}
        self.promotes = unit.promotion is not None
        if self.promotes:
            first["register"] = len(graphs["promote.decode"].inputs["i__register"])
        self.joined = Joined({**first, SELECT: len(mutants)})
        select = self.joined.inputs[SELECT]
        values: dict[str, tuple[int, ...]] = {f"o{name[1:]}": bits for name, bits in self.joined.inputs.items()}
        group: dict[str, tuple[int, ...]] = {}
        for netlist in steps:
            if netlist.name == "promote.decode":
                group = values
                values = {"o__register": self.joined.inputs["register"], "o__partial": group["o__code"]}
            chosen = tuple(select[number] for number in numbers[netlist.name])
            graph = graphs[netlist.name]
            given = {name: values[f"o{name[1:]}"] for name in graph.inputs if name != SELECT}
            values = self.joined.put(graph, {**given, SELECT: chosen})
        self.group, self.last = (group or values), values

    def machine(self) -> MutantMachine:
        """The circuit, what it keeps from beat to beat, and its results."""
        joined = self.joined
        states = [Held("i__carried__code", self.group["o__code"])]
        if self.promotes:
            states.append(Held("register", self.last["o__code"]))
        return MutantMachine(joined, tuple(states), *_result(joined, self.unit, self.last))


def _result(joined: Joined, unit: Unit, last: Mapping[str, tuple[int, ...]]) -> tuple[tuple[int, ...], int | None]:
    """The result's bits, and whether it is NaN where any NaN is as good."""
    fmt = as_float(unit.result.format if unit.promotion is None else unit.promotion.format)
    (says_nan,) = last.get("o__nan", (0,))
    padded = (*[0] * fmt.padding, *last["o__code"])
    result = tuple(
        joined.choose(says_nan, unit.nan >> place & 1, literal) if says_nan else literal
        for place, literal in enumerate(padded)
    )
    good = unpromised(unit)
    nan = None if good.nans is None else is_nan(joined, fmt, padded)
    return result if good.zeros is None else plain_zero(joined, fmt, result), nan


# That a sum is a sum is decided of linear forms, which mutants do not have.
BY_FORM = {"sum": "sum", "promote.sum": "promotion: sum"}


@dataclass(frozen=True)
class Refuted:
    """A claim that does not hold with a mutant, and values of constants that refute it."""

    claim: str
    words: str
    model: Mapping[str, int]


class MutatedClaims:
    """The claims about a unit's steps, of circuits whose mutants are chosen later."""

    def __init__(self, steps: MutatedSteps):
        self.steps = steps

    def _claims(self) -> Iterator[AnyClaim]:
        unit, all_steps = self.steps.unit, self.steps.unchosen
        datapath = {name: step for name, step in all_steps.items() if not name.startswith("promote")}
        yield from AlignedClaims(unit, (), StepCircuits.joined(datapath)).claims()
        if unit.promotion is not None:
            adder = {name: step for name, step in all_steps.items() if name.startswith("promote")}
            yield from PromotionClaims(unit, unit.promotion, (), adder).claims()

    @cached_property
    def _of_step(self) -> dict[str, list[OfSolver]]:
        """Claims by the steps whose mutants change them, the quickest first."""
        selects = {term.id(): name for name, term in self.steps.selects.items()}
        found: dict[str, list[OfSolver]] = {name: [] for name in self.steps.selects}
        for claim in self._claims():
            if isinstance(claim, OfSolver):
                whole = [claim.claim, *claim.assumptions]
                for name in {selects[one.id()] for term in whole for one in constants(term) if one.id() in selects}:
                    found[name].append(claim)
        return {name: sorted(claims, key=lambda claim: len(claim.show)) for name, claims in found.items()}

    def decide(self, mutant: Mutant, seconds: float) -> tuple[Word, Refuted | None]:
        """Whether all claims that a mutant changes hold with it; the first that does not."""
        words: set[Word] = set()
        by = self._chosen(mutant)
        for claim in self._of_step[mutant.step]:
            known = [substituted(term, by) for term in claim.assumptions]
            found = ask(substituted(claim.claim, by), known, seconds, claim.show)
            if found.word == "refuted":
                return "refuted", Refuted(claim.name, claim.words, found.model or {})
            words.add(found.word)
        if part_of(mutant.step) in BY_FORM or not words or "undecided" in words:
            return "undecided", None
        return "proved", None

    def _chosen(self, mutant: Mutant) -> dict[Term, Term]:
        by = {}
        for name, term in self.steps.selects.items():
            place = self.steps.mutants[name].index(mutant) if name == mutant.step else None
            by[term] = value(0 if place is None else 1 << place, width(term))
        return by


Fate = Literal["smoke", "standard", "proof", "equivalent", "open"]
FATES: tuple[Fate, ...] = get_args(Fate)
Progress = Callable[[int, int, str], None]


# All steps at once: what the solver decides at all it decides soon, of a datapath and of an adder.
WHOLE_SECONDS = {False: 2.0, True: 10.0}
WHOLE = "result", "all steps, one after another, give the same code"


def silent(done: int, planned: int, what: str) -> None:
    """No progress is shown."""


@dataclass(frozen=True)
class MutantRow:
    """What became of a mutant.

    smoke, standard: killed by those vectors, `case` being one that tells. proof: `refuted` is a claim that does not
    hold with it, and no vector told. equivalent: what follows cannot tell it from what it was. open: none of these.
    """

    mutant: Mutant
    fate: Fate
    case: str = ""
    refuted: Refuted | None = None


@dataclass(frozen=True)
class Qualification:
    """What was asked of a unit's vectors and proofs. of: how many mutants there are."""

    unit: str
    cuts: tuple[str, ...]
    seed: int
    of: int
    rows: tuple[MutantRow, ...]

    def count(self, fate: Fate, step: str | None = None) -> int:
        """How many mutants, of a step or of all, became that."""
        return sum(row.fate == fate and step in (None, row.mutant.step) for row in self.rows)

    @property
    def steps(self) -> list[str]:
        """The steps that have mutants, in order."""
        return list(dict.fromkeys(row.mutant.step for row in self.rows))

    @property
    def decided(self) -> bool:
        """Whether each mutant is killed, or shown to be none."""
        return not self.count("open")


@dataclass
class CaseNames:
    """Names of cases by their numbers, kept as batches hold them."""

    starts: list[int] = field(default_factory=list)
    ids: list[Sequence[str]] = field(default_factory=list)
    count: int = 0

    def noted(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """The batches, whose names are kept."""
        for batch in batches:
            self.starts.append(self.count)
            self.ids.append(batch.ids)
            self.count += len(batch)
            yield batch

    def __getitem__(self, number: int) -> str:
        at = bisect_right(self.starts, number) - 1
        return self.ids[at][number - self.starts[at]]


class Qualifier:
    """Asks of each mutant of a unit's steps what becomes of it.

    cuts: as `hwsim rtl` has them; they divide the trees of maximum and sum. seconds: for each question to the solver.
    cases: of each suite. Raises NotImplementedYet for a unit that the RTL, or no proof, has; ToolMissing, and
    FlowFailed with what Yosys said.
    """

    def __init__(
        self, unit: Unit, cuts: Sequence[str], seed: int, seconds: float, progress: Progress = silent,
        cases: Mapping[str, int] = SUITES,
    ):  # fmt: skip
        plain_window(unit, "is no plain window, and `hwsim qualify` has others not yet").demand()
        if unit.promotion is not None and smaller_promotion(unit, cuts) is None:
            inside = ", ".join(cut for cut in cuts if cut in INSIDE)
            raise NotImplementedYet(f"`hwsim qualify` has no registers inside of a promotion's adder yet: not {inside}")
        self.unit, self.cuts, self.seed, self.seconds, self.progress = unit, tuple(cuts), seed, seconds, progress
        self.cases = cases
        progress(0, 0, "reading the steps")
        self.netlists = UnitNetlists(unit, cuts, seed)
        self.all = list(self.netlists.mutants())

    def qualify(self, count: int | None = None) -> Qualification:
        """What becomes of so many mutants, drawn at random, or of all."""
        chosen = self.all
        if count is not None and count < len(self.all):
            places = Stream(self.seed, self.unit.name, "qualify").sample(range(len(self.all)), count)
            chosen = [self.all[place] for place in sorted(places)]
        fates = {mutant: MutantRow(mutant, "equivalent") for mutant in chosen if self.netlists.absorbed(mutant)}
        left = [mutant for mutant in chosen if mutant not in fates]
        for suite in ("smoke", "standard"):
            left = self._played(suite, left, fates)
        self._proved(left, fates)
        rows = tuple(fates[mutant] for mutant in chosen)
        return Qualification(self.unit.name, self.cuts, self.seed, len(self.all), rows)

    def _played(
        self, suite: Literal["smoke", "standard"], mutants: Sequence[Mutant], fates: dict[Mutant, MutantRow]
    ) -> list[Mutant]:
        """Note the mutants that vectors kill, and those that no result depends on; the others."""
        total = self.cases[suite]
        self.progress(0, 0, f"building circuits of {len(mutants):,} mutants")
        machine, names = self.netlists.machine(mutants), CaseNames()
        unseen = set(machine.unseen().tolist())
        made = groups(self.unit, names.noted(made_batches(Wanted(self.unit, suite, cases=total))))
        # Mutants that short cases kill need not be played through long ones.
        ordered = sorted(made, key=lambda group: len(group.beats)) if suite == "smoke" else made
        done = 0

        def tell(cases: int) -> None:
            nonlocal done
            done += cases
            self.progress(done, total, f"playing {suite} vectors")

        killer = played(machine, ordered, tell)
        left = []
        for number, mutant in enumerate(mutants):
            if killer[number] >= 0:
                fates[mutant] = MutantRow(mutant, suite, names[int(killer[number])])
            elif number in unseen:
                fates[mutant] = MutantRow(mutant, "equivalent")
            else:
                left.append(mutant)
        return left

    def _proved(self, mutants: Sequence[Mutant], fates: dict[Mutant, MutantRow]) -> None:
        if not mutants:
            return
        self.progress(0, len(mutants), "asking the solver")
        questions = _Questions(MutatedSteps(self.unit, self.netlists.steps, mutants), self.seconds)
        for done, mutant in enumerate(mutants):
            fates[mutant] = questions.row(mutant)
            self.progress(done + 1, len(mutants), "asking the solver")


class _Questions:
    """What the solver says of mutants that no vector kills."""

    def __init__(self, steps: MutatedSteps, seconds: float):
        self.steps, self.seconds = steps, seconds

    @cached_property
    def _claims(self) -> MutatedClaims:
        return MutatedClaims(self.steps)

    def row(self, mutant: Mutant) -> MutantRow:
        """One mutant's."""
        found, part = self.steps.equal(mutant, self.seconds), part_of(mutant.step)
        if found.word == "proved":
            return MutantRow(mutant, "equivalent")
        if found.word == "refuted" and part in BY_FORM:
            # The step that is not mutated gives the sum, for all terms: another one is not the sum.
            model: Mapping[str, int] = found.model or {}
            return MutantRow(
                mutant, "proof", refuted=Refuted(BY_FORM[part], "the total is the sum of all terms", model)
            )
        if mutant.step.startswith("promote") and self.steps.equal_adder(mutant, self.seconds).word == "proved":
            return MutantRow(mutant, "equivalent")
        whole = self.steps.equal_whole(mutant, min(self.seconds, WHOLE_SECONDS[mutant.step.startswith("promote")]))
        if whole.word == "proved":
            return MutantRow(mutant, "equivalent")
        if whole.word == "refuted":
            return MutantRow(mutant, "proof", refuted=Refuted(*WHOLE, whole.model or {}))
        word, refuted = self._claims.decide(mutant, self.seconds)
        match word:
            case "proved":
                return MutantRow(mutant, "equivalent")
            case "refuted":
                return MutantRow(mutant, "proof", refuted=refuted)
            case "undecided":
                return MutantRow(mutant, "open")
