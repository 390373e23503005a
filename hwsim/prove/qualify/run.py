"""The fate of each mutant of a unit: which vectors kill it, which proof does, and which mutants change nothing."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from hwsim.cases.case import Batch
from hwsim.cases.drawing import Stream
from hwsim.cosim.vectors.make import made_batches
from hwsim.cosim.vectors.plan import SUITES, Wanted
from hwsim.prove.methods import provable
from hwsim.prove.qualify.machine import played
from hwsim.prove.qualify.mutants import Mutant
from hwsim.prove.qualify.steps import UnitNetlists
from hwsim.prove.qualify.survivors import Refuted, Survivors
from hwsim.prove.terms import Word
from hwsim.rtl import supports
from hwsim.spec import AnyUnit, Unit, dense_of, modes_of

Fate = Literal["smoke", "standard", "proof", "equivalent", "open"]
FATES: tuple[Fate, ...] = get_args(Fate)
Progress = Callable[[int, int, str], None]


def silent(done: int, planned: int, what: str) -> None:
    """Show no progress."""


@dataclass(frozen=True)
class MutantRow:
    """The fate of a mutant.

    smoke, standard: killed by those vectors, `case` being one that tells. proof: `refuted` is a claim that does not
    hold with it, and no vector told. equivalent: what follows cannot tell it from what it was. open: none of these.
    """

    mutant: Mutant
    fate: Fate
    case: str = ""
    refuted: Refuted | None = None


@dataclass(frozen=True)
class Qualification:
    """The qualification of a unit's vectors and proofs. of: how many mutants there are."""

    unit: str
    cuts: tuple[str, ...]
    seed: int
    of: int
    rows: tuple[MutantRow, ...]

    def count(self, fate: Fate, step: str | None = None) -> int:
        """The number of mutants, of a step or of all, with that fate."""
        return sum(row.fate == fate and step in (None, row.mutant.step) for row in self.rows)

    @property
    def steps(self) -> list[str]:
        """The steps that have mutants, in order."""
        return list(dict.fromkeys(row.mutant.step for row in self.rows))

    @property
    def decided(self) -> bool:
        """True if each mutant is killed, or shown to change nothing."""
        return not self.count("open")


@dataclass
class CaseNames:
    """Names of cases by their numbers, kept as batches hold them."""

    starts: list[int] = field(default_factory=list)
    ids: list[Sequence[str]] = field(default_factory=list)
    count: int = 0

    def noted(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yield the batches, and keep the names of their cases."""
        for batch in batches:
            self.starts.append(self.count)
            self.ids.append(batch.ids)
            self.count += len(batch)
            yield batch

    def __getitem__(self, number: int) -> str:
        index = bisect_right(self.starts, number) - 1
        return self.ids[index][number - self.starts[index]]


class Qualifier:
    """A check of what becomes of each mutant of a unit's steps.

    unit: of one mode, of several, or sparse. cuts: as `hwsim rtl` has them; they divide trees of maximum and sum, and
    additions. seconds: for each question to the solver. cases: of each suite, and of each mode. Raises
    NotImplementedYet for a unit that the RTL does not have, or that no proof covers; ToolMissing, and FlowFailed with
    what Yosys said.
    """

    def __init__(
        self, unit: AnyUnit, cuts: Sequence[str], seed: int, seconds: float, progress: Progress = silent,
        cases: Mapping[str, int] = SUITES,
    ):  # fmt: skip
        supports(unit).demand()
        provable(dense_of(unit)).demand()
        self.unit, self.cuts, self.seed, self.seconds, self.progress = unit, tuple(cuts), seed, seconds, progress
        self.cases = cases
        progress(0, 0, "reading the steps")
        self.netlists = UnitNetlists(unit, cuts, seed)
        self.all = list(self.netlists.mutants())

    def qualify(self, count: int | None = None) -> Qualification:
        """Find the fates of so many mutants, drawn at random, or of all."""
        chosen = self.all
        if count is not None and count < len(self.all):
            places = Stream(self.seed, self.unit.name, "qualify").sample(range(len(self.all)), count)
            chosen = [self.all[place] for place in sorted(places)]
        fates = {mutant: MutantRow(mutant, "equivalent") for mutant in chosen if self.netlists.absorbed(mutant)}
        left = [mutant for mutant in chosen if mutant not in fates]
        for suite in ("smoke", "standard"):
            for number, mode in enumerate(modes_of(dense_of(self.unit))):
                left = self._played(suite, number, mode, left, fates)
        self._proved(left, fates)
        rows = tuple(fates[mutant] for mutant in chosen)
        return Qualification(self.unit.name, self.cuts, self.seed, len(self.all), rows)

    def _played(
        self, suite: Literal["smoke", "standard"], number: int, mode: Unit, mutants: Sequence[Mutant],
        fates: dict[Mutant, MutantRow],
    ) -> list[Mutant]:  # fmt: skip
        """Note the mutants that a mode's vectors kill, and those that no result depends on; return the others."""
        total = self.cases[suite]
        self.progress(0, 0, f"building circuits of {len(mutants):,} mutants")
        machine, names = self.netlists.machine(mutants, mode), CaseNames()
        unseen = set(machine.unseen().tolist())
        batches = names.noted(made_batches(Wanted(mode, suite, cases=total)))
        case_groups = self.netlists.groups(mode, batches, machine, number)
        # Mutants that short cases kill need not be played through long ones.
        ordered = sorted(case_groups, key=lambda group: len(group.beats)) if suite == "smoke" else case_groups
        done = 0

        def tell(cases: int) -> None:
            nonlocal done
            done += cases
            self.progress(done, total, f"playing {suite} vectors of {mode.name}")

        killer = played(machine, ordered, tell)
        left = []
        for place, mutant in enumerate(mutants):
            if killer[place] >= 0:
                fates[mutant] = MutantRow(mutant, suite, names[int(killer[place])])
            elif place in unseen:
                fates[mutant] = MutantRow(mutant, "equivalent")
            else:
                left.append(mutant)
        return left

    def _proved(self, mutants: Sequence[Mutant], fates: dict[Mutant, MutantRow]) -> None:
        if not mutants:
            return
        self.progress(0, len(mutants), "asking the solver")
        survivors = Survivors(self.netlists, self.cuts, mutants, self.seconds)
        for done, mutant in enumerate(mutants):
            word, refuted = survivors.decide(mutant)
            fates[mutant] = MutantRow(mutant, FATE[word], refuted=refuted)
            self.progress(done + 1, len(mutants), "asking the solver")


FATE: Mapping[Word, Fate] = {"proved": "equivalent", "refuted": "proof", "undecided": "open"}
