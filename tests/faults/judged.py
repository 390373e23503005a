"""What the suites and the names say of a design with a fault."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path

from faults.seeded import Fault

from hwsim.cosim.dut.dutfile import load_dut
from hwsim.cosim.dutdesign import dut_design
from hwsim.cosim.minimal import Minimizer
from hwsim.cosim.observed import looked_closer, observed
from hwsim.cosim.play import play_simulated
from hwsim.cosim.simulate import command
from hwsim.cosim.suites import Planner
from hwsim.readings.diagnosis import Diagnosis, diagnose

SEED, STUCK_AFTER = 1, 300.0
CASES = 3000  # random ones: as many as Verilator has


@dataclass(frozen=True)
class Judgement:
    """What came of a fault. wrong: results of the suites that differ. diagnosis: what is said of them."""

    fault: Fault
    wrong: int
    diagnosis: Diagnosis

    @property
    def offered(self) -> tuple[str, ...]:
        """The names that explain the largest kind."""
        return tuple(cause.name for kind in self.diagnosis.kinds[:1] for cause in kind.causes)

    @property
    def others(self) -> tuple[str, ...]:
        """Names of other kinds, which one fault should not have."""
        return tuple(cause.name for kind in self.diagnosis.kinds[1:] for cause in kind.causes[:1])

    @property
    def verdict(self) -> str:
        """Where the true cause stands, `first` or `second`; `missed`, `unnamed`, or `wrong`: others are offered.

        `unnamed` is right where the catalogue has no name.
        """
        if not self.wrong:
            return "missed"
        for place, name in zip(("first", "second"), self.offered, strict=False):
            if name in self.fault.names:
                return place
        return "wrong" if self.offered or self.others else "unnamed"


def judged(fault: Fault, folder: Path, cases: int = CASES) -> Judgement:
    """A fault, put through the suites on Icarus, with so many random cases."""
    design = dut_design(load_dut(fault.written(folder)))
    program = command("icarus", design.sources("icarus"), trace=False)
    plays, _ = Planner(design, SEED).plan("icarus", cases, lambda: None)
    played = play_simulated("icarus", program, design, plays, folder / "job", SEED, STUCK_AFTER)
    wrong = sum(one.outcome.count for one in played)
    waivers = design.waivers(date.today())
    minimizer = Minimizer(design, "icarus", "icarus", SEED, folder, folder, STUCK_AFTER, waivers)
    seen = observed(design, played)
    return Judgement(fault, wrong, diagnose(design.unit, [*seen, *looked_closer(design, seen, minimizer.answers)]))
