"""What the suites and the names say of a design with a fault."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path

from faults.seeded import Fault

from hwsim.cosim.dutdesign import dut_design
from hwsim.cosim.dutfile import load_dut
from hwsim.cosim.minimal import Minimizer
from hwsim.cosim.play import command, play_simulated
from hwsim.cosim.suites import Planner
from hwsim.explain.diagnosis import Diagnosis, WrongKind

SEED, STUCK_AFTER = 1, 300.0
CASES = 3000  # random ones: as many as Verilator has
PLACES = ("first", "second")


@dataclass(frozen=True)
class Judgement:
    """What came of a fault. wrong: results of the suites that differ. diagnosis: what is said of them."""

    fault: Fault
    wrong: int
    diagnosis: Diagnosis

    @property
    def offered(self) -> tuple[str, ...]:
        """The names that explain the largest kind that has names."""
        return next((names(kind) for kind in self.diagnosis.kinds if kind.causes), ())

    @property
    def others(self) -> tuple[str, ...]:
        """The likeliest names of the other kinds."""
        return tuple(
            kind.causes[0].name for kind in self.diagnosis.kinds if kind.causes and names(kind) != self.offered
        )

    @property
    def facts(self) -> tuple[str, ...]:
        """What is said of wrong results without a name."""
        return tuple(fact for kind in self.diagnosis.kinds for fact in kind.facts)

    @property
    def verdict(self) -> str:
        """Where the true causes stand, `first` or `second`, the worst of several mistakes.

        `missed`: no result is wrong. `unnamed`: a mistake has no name, which is right where the catalogue has none, and
        `described` where what must be said of it is said. `wrong`: a kind has other names alone.
        """
        if not self.wrong:
            return "missed"
        kinds = [kind.causes[: len(PLACES)] for kind in self.diagnosis.kinds if kind.causes]
        if any(not any(set(cause.mistakes) <= self.fault.names for cause in causes) for causes in kinds):
            return "wrong"
        if not self.fault.bugs:
            said = self.fault.says and any(fact.startswith(self.fault.says) for fact in self.facts)
            return "described" if said else "unnamed"
        places = [
            min(
                (at for causes in kinds for at, cause in enumerate(causes) if set(bug) & set(cause.mistakes)), default=2
            )
            for bug in self.fault.bugs
        ]
        return (*PLACES, "unnamed")[max(places)]


def names(kind: WrongKind) -> tuple[str, ...]:
    """The names of a kind."""
    return tuple(cause.name for cause in kind.causes)


def judged(fault: Fault, folder: Path, cases: int = CASES) -> Judgement:
    """A fault, put through the suites on Icarus, with so many random cases."""
    design = dut_design(load_dut(fault.written(folder)))
    program = command("icarus", design.sources("icarus"), trace=False)
    plays, _ = Planner(design, SEED).plan("icarus", cases)
    played = play_simulated("icarus", program, design, plays, folder / "job", SEED, STUCK_AFTER)
    wrong = sum(one.outcome.count for one in played)
    waivers = design.waivers(date.today())
    minimizer = Minimizer(design, "icarus", "icarus", SEED, folder, folder, STUCK_AFTER, waivers)
    return Judgement(fault, wrong, minimizer.named(played))
