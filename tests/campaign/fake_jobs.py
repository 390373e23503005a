"""Jobs that take milliseconds, and do what they are told: pass, fail, end their process, wait to be ended or let go."""

from __future__ import annotations

import hashlib
import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from hwsim.base.errors import ToolMissing
from hwsim.cosim.build import BuildFailed
from hwsim.cosim.campaign.file import Campaign, CampaignFile, KnownFailure
from hwsim.cosim.campaign.job import CampaignJob, Ran
from hwsim.cosim.campaign.plan import JobPlan
from hwsim.cosim.campaign.results import Failure, JobOutcome
from hwsim.cosim.campaign.run import CampaignResult, run_campaign
from hwsim.explain import CodeReading, Mismatch, Row, RunReport, coverage_groups
from hwsim.formats.yamlfile import Document
from hwsim.runners import Lost, Rows, Runner, W, apart

Deed = Literal["passes", "fails", "is short", "breaks", "raises", "dies", "misses a tool", "waits"]
PATIENCE = 120  # seconds that a job waits to be ended, or let go
LET_GO = "let-go"  # a file beside the folder of those that began: jobs wait no longer


def fake_job(name: str, does: Deed, folder: Path, size: int = 0, content: str = "") -> CampaignJob:
    """A job. folder: where each time that it begins leaves a file. size: bytes of its report, at least."""
    return CampaignJob(
        name=name, words=does, inputs={"does": does, "content": content, "size": size}, simulators=(),
        action=partial(done, name, does, folder, size),
    )  # fmt: skip


def done(name: str, does: Deed, folder: Path, size: int) -> Ran:
    folder.mkdir(exist_ok=True, parents=True)
    count = sum(path.name.startswith(f"{name}~") for path in folder.iterdir())
    (folder / f"{name}~{count}").touch()
    match does:
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
            while time.monotonic() < until and not (folder.parent / LET_GO).exists():
                time.sleep(0.02)
    return fake_report(name, does, size), {"case.yaml": "a: 1\n"}


def fake_report(name: str, does: Deed = "passes", size: int = 0) -> RunReport:
    """Ten results of a suite, and bins: `one` of every job, and one of its own."""
    wrong = does == "fails"
    row = Row(
        unit="unit", suite="dot random", driver="here", planned=10, compared=5 if does == "is short" else 10,
        mismatches=int(wrong), notes=(incompressible(size),) if size else (),
    )  # fmt: skip
    told = Mismatch(
        unit="unit", suite="dot random", driver="here", case="random/0", format="f16",
        expected=CodeReading(code="0x0001", value="1"), got=CodeReading(code="0x0002", value="2"), ulp=1,
    )  # fmt: skip
    planned = [("G1", "one", None, ""), ("G1", name, None, ""), ("G1", "never", True, "")]
    return RunReport(
        title=name,
        command="hwsim cosim",
        version="0",
        rows=(row,),
        mismatches=(told,) if wrong else (),
        coverage=coverage_groups(planned, {"one": 2, name: 1}, unit="unit"),
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

    def begun(self, run: int, done: int, jobs: int, taken: int) -> None:
        self.taken = taken

    def ended(self, outcome: JobOutcome, failures: Sequence[Failure], done: int, left: float) -> None:
        self.names.append(outcome.name)
        self.failures += map(str, failures)
        self.left.append(left)
        if self.stop_after is not None and len(self.names) >= self.stop_after:
            raise KeyboardInterrupt


def campaign(folder: Path, known: Sequence[KnownFailure] = ()) -> Campaign:
    """A campaign whose file says nothing that fakes ask for."""
    path = folder / "campaign.yaml"
    path.write_text("campaign: fake\njobs: {none: {fuzz: {to: 0}}}\n")
    file = CampaignFile.model_validate({"campaign": "fake", "jobs": {"none": {"fuzz": {"to": 0}}}})
    return Campaign(path, file, tuple(known), Document(path, {}, {(): 1}))


def fakes(folder: Path, *deeds: Deed, **more: Any) -> list[CampaignJob]:
    """A job for each deed: `job0`, `job1` and so on, which leave files in `begun` of the folder."""
    return [fake_job(f"job{number}", does, folder / "begun", **more) for number, does in enumerate(deeds)]


def run(
    folder: Path, jobs: Sequence[CampaignJob], *, known: Sequence[KnownFailure] = (), told: Told | None = None,
    changed: bool = False, workers: int = 2,
) -> CampaignResult:  # fmt: skip
    """A run of some jobs in `runs` of a folder. workers: processes; 0 for none but this one."""

    def make(lost: Lost) -> Runner:
        return apart(workers, lost) if workers else _here

    plan = JobPlan({job.key: job for job in jobs})
    return run_campaign(campaign(folder, known), plan, folder / "runs", make, told or Told(), changed)


def _here(tasks: Sequence[W], done: Callable[[W, Rows], None]) -> None:
    for task in tasks:
        done(task, task.execute())


def begun(folder: Path) -> dict[str, int]:
    """How often each job began."""
    names = [path.name.partition("~")[0] for path in (folder / "begun").iterdir()]
    return {name: names.count(name) for name in sorted(set(names))}
