"""What becomes of each mutant of a unit: which vectors kill it, which proof does, and which mutants change nothing."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, get_args

from hwsim.cases.batch import Batch
from hwsim.cases.drawing import Stream
from hwsim.prove.methods import plain_window
from hwsim.qualify.claimed import BY_FORM, MutatedClaims, Refuted
from hwsim.qualify.datapaths import UnitNetlists
from hwsim.qualify.groups import groups
from hwsim.qualify.mutants import Mutant
from hwsim.qualify.played import played
from hwsim.qualify.steps import MutatedSteps, part_of
from hwsim.rtl.accumulate import INSIDE, smaller_promotion
from hwsim.spec import NotImplementedYet, Unit
from hwsim.vectors.make import made_batches
from hwsim.vectors.plan import SUITES, Wanted

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
