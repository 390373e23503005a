"""Jobs that take milliseconds, and do what they are told: pass, fail, end their process, wait to be ended or let go."""

from __future__ import annotations

import hashlib
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from hwsim.campaign.file import Campaign, CampaignFile
from hwsim.campaign.job import CampaignJob, Ran
from hwsim.campaign.known import KnownFailure
from hwsim.campaign.matrix import Simulator
from hwsim.campaign.outcome import JobOutcome
from hwsim.campaign.plan import JobPlan
from hwsim.campaign.run import CampaignResult, CampaignRunner, RunProgress
from hwsim.campaign.store import CampaignFolder
from hwsim.campaign.verdict import JudgedFailure
from hwsim.cosim.build import BuildFailed
from hwsim.errors import ToolMissing
from hwsim.explain import CodeReading, Mismatch, Row, RunReport, coverage_groups
from hwsim.formats.yamlfile import Document
from hwsim.runners import Lost, Rows, Runner, W, apart

Deed = Literal["passes", "fails", "is short", "breaks", "raises", "dies", "misses a tool", "waits"]
PATIENCE = 120  # seconds that a job waits to be ended, or let go
LET_GO = "let-go"  # a file beside the folder of those that began: jobs wait no longer


@dataclass(frozen=True, kw_only=True)
class FakeJob(CampaignJob):
    """A job. folder: where each time that it begins leaves a file. size: bytes of its report, at least."""

    code = "hwsim.campaign.job"

    does: Deed = "passes"
    folder: Path = Path("/nowhere")
    size: int = 0
    content: str = ""

    @property
    def words(self) -> str:
        """What it does."""
        return self.does

    @property
    def said(self) -> Mapping[str, Any]:
        """What it does; not where it says that it begins."""
        return {"does": self.does, "content": self.content, "size": self.size}

    @property
    def simulators(self) -> Sequence[Simulator]:
        """None."""
        return ()

    def ran(self) -> Ran:
        """What it is told."""
        self.folder.mkdir(exist_ok=True, parents=True)
        count = sum(path.name.startswith(f"{self.name}~") for path in self.folder.iterdir())
        (self.folder / f"{self.name}~{count}").touch()
        match self.does:
            case "dies":
                os.kill(os.getpid(), signal.SIGKILL)
            case "breaks":
                raise BuildFailed("iverilog failed:\nsyntax error")
            case "raises":
                raise IndexError("as it is")
            case "misses a tool":
                raise ToolMissing("a tool is missing; get it")
            case "waits":
                until = time.monotonic() + PATIENCE
                while time.monotonic() < until and not (self.folder.parent / LET_GO).exists():
                    time.sleep(0.02)
        return self.report(), {"case.yaml": "a: 1\n"}

    def report(self) -> RunReport:
        """Ten results of a suite, and bins: `one` of every job, and one of its own."""
        wrong = self.does == "fails"
        row = Row(
            unit="unit", suite="dot random", driver="here", planned=10, compared=5 if self.does == "is short" else 10,
            mismatches=int(wrong), notes=(incompressible(self.size),) if self.size else (),
        )  # fmt: skip
        told = Mismatch(
            unit="unit", suite="dot random", driver="here", case="random/0", format="f16",
            expected=CodeReading(code="0x0001", value="1"), got=CodeReading(code="0x0002", value="2"), ulp=1,
        )  # fmt: skip
        planned = [("G1", "one", None, ""), ("G1", self.name, None, ""), ("G1", "never", True, "")]
        return RunReport(
            title=self.name,
            command="hwsim cosim",
            version="0",
            rows=(row,),
            mismatches=(told,) if wrong else (),
            coverage=coverage_groups(planned, {"one": 2, self.name: 1}, unit="unit"),
        )


def incompressible(size: int) -> str:
    """So many characters, of which half as many bytes stay when they are compressed."""
    return "".join(hashlib.sha256(b"%d" % at).hexdigest() for at in range(-(-size // 64)))[:size]


@dataclass
class Told:
    """A watcher that remembers. stop_after: jobs after which it interrupts the run."""

    stop_after: int | None = None
    names: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    taken: int = 0
    left: list[float] = field(default_factory=list)

    def begun(self, run: int, progress: RunProgress, taken: int) -> None:
        """Remember what was taken."""
        self.taken = taken

    def ended(self, outcome: JobOutcome, failures: Sequence[JudgedFailure], progress: RunProgress) -> None:
        """Remember the job."""
        self.names.append(outcome.name)
        self.failures += map(str, failures)
        self.left.append(progress.left)
        if self.stop_after is not None and len(self.names) >= self.stop_after:
            raise KeyboardInterrupt


def campaign(folder: Path, known: Sequence[KnownFailure] = ()) -> Campaign:
    """A campaign whose file says nothing that fakes ask for."""
    path = folder / "campaign.yaml"
    path.write_text("campaign: fake\njobs: {none: {fuzz: {to: 0}}}\n")
    file = CampaignFile.model_validate({"campaign": "fake", "jobs": {"none": {"fuzz": {"to": 0}}}})
    return Campaign(path, file, tuple(known), Document(path, {}, {(): 1}))


def fakes(folder: Path, *deeds: Deed, **more: Any) -> list[FakeJob]:
    """A job for each deed: `job0`, `job1` and so on, which leave files in `begun` of the folder."""
    return [FakeJob(name=f"job{at}", does=does, folder=folder / "begun", **more) for at, does in enumerate(deeds)]


def run(
    folder: Path, jobs: Sequence[CampaignJob], *, known: Sequence[KnownFailure] = (), told: Told | None = None,
    changed: bool = False, workers: int = 2,
) -> CampaignResult:  # fmt: skip
    """A run of some jobs in `runs` of a folder. workers: processes; 0 for none but this one."""

    def make(lost: Lost) -> Runner:
        return apart(workers, lost) if workers else _here

    plan = JobPlan({job.key: job for job in jobs})
    place = CampaignFolder(folder / "runs", "fake")
    return CampaignRunner(campaign(folder, known), plan, place, make, told or Told(), changed).run()


def _here(tasks: Sequence[W], done: Callable[[W, Rows], None]) -> None:
    for task in tasks:
        done(task, task.execute())


def begun(folder: Path) -> dict[str, int]:
    """How often each job began."""
    names = [path.name.partition("~")[0] for path in (folder / "begun").iterdir()]
    return {name: names.count(name) for name in sorted(set(names))}
