"""hwsim fuzz: what it prints and writes, and its exit status."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.cli_run import Run, fails

from hwsim.cosim.fuzz import run as campaign
from hwsim.cosim.fuzz import trial
from hwsim.cosim.fuzz.draw import DrawnUnit
from hwsim.cosim.fuzz.findings import SimplerFinding
from hwsim.cosim.fuzz.run import FuzzPlan
from hwsim.cosim.fuzz.trial import SideMismatch
from hwsim.spec import Support

COMMAND = ("fuzz", "--units", "1", "--cases", "30", "--seed", "2")


def test_what_differs_is_written_and_tried_again(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def as_it_is(drawn: DrawnUnit, found: SideMismatch, plan: FuzzPlan) -> SimplerFinding:
        return SimplerFinding(drawn, found, 0)

    # Simulators, commands and a kernel of the unit's own take a minute; the command of docs/tests.md runs them.
    monkeypatch.setattr(trial, "COMMANDS", {})
    monkeypatch.setattr(trial.Trial, "kernel", property(lambda self: trial.kernel_of(self.unit).general))
    monkeypatch.setattr("hwsim.cli.fuzz.handed", dict)
    monkeypatch.setattr(trial, "in_rtl", lambda unit: Support(unit.name, "is left out", ("hardware",)))
    right = trial.multiply_pairs
    with monkeypatch.context() as broken:
        broken.setattr(trial, "multiply_pairs", lambda *given: right(*given) ^ 1)
        broken.setattr(campaign, "simplified", as_it_is)  # making it simpler takes seconds, and has tests of its own
        done = run(*COMMAND, "-o", "found")
        assert done.status == 1
        assert "kernels: another result" in done.out + done.err
        assert "refused by RTL: hardware 1" in done.out
        assert "1 unit, " in done.out
        assert (here / "found" / "0-kernels.yaml").exists()
        again = run("fuzz", "--again", "found/0-kernels.yaml")
        assert again.status == 1
        assert "kernels: another result" in again.out
        assert "expected 0x" in again.out
    mended = run("fuzz", "--again", "found/0-kernels.yaml")
    assert (mended.status, mended.out) == (0, "fuzz-2-0: all equal\n")
    assert run(*COMMAND, "-o", "found").status == 1, "what an earlier run has found is told again"


def test_what_is_no_finding_is_refused(run: Run, here: Path) -> None:
    fails(run("fuzz", "--again", "none.yaml"), "none.yaml")
    (here / "bad.yaml").write_text("seed: 1\n")
    fails(run("fuzz", "--again", "bad.yaml"), "bad.yaml.*unit")
