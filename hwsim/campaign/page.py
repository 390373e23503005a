"""The page of a run: its failures, how runs went until now, coverage of each unit, and all jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

import hwsim
from hwsim.campaign.store import failed_folder
from hwsim.campaign.summary import RunSummary
from hwsim.campaign.tables import RunTables
from hwsim.campaign.timeleft import worded_seconds
from hwsim.campaign.verdict import RunVerdict
from hwsim.explain.drawing import environment, page_style, policy, read
from hwsim.outputs import written
from hwsim.words import counted

HERE = Path(__file__).parent
MOST_RUNS = 60  # that are drawn
BAR, STEP, HIGH = 8, 11, 90  # pixels


@dataclass(frozen=True)
class CampaignPage:
    """What the page shows. earlier: runs before this one, the first one first. command: what runs it again."""

    name: str
    title: str
    summary: RunSummary
    verdict: RunVerdict
    earlier: tuple[RunSummary, ...]
    tables: RunTables
    command: str

    @property
    def runs(self) -> tuple[RunSummary, ...]:
        """All runs, this one last."""
        return (*self.earlier, self.summary)


@dataclass(frozen=True)
class TrendBar:
    """A rectangle of the picture of runs: how many jobs of a run passed, failed, or failed in a known way."""

    x: int
    y: float
    height: float
    kind: str
    title: str


def trend_bars(runs: Sequence[RunSummary]) -> list[TrendBar]:
    """The bars of the last runs, each as high as it has jobs: passed below, then known failures, then new ones."""
    shown = runs[-MOST_RUNS:]
    most = max((one.jobs for one in shown), default=0) or 1
    bars = []
    for place, one in enumerate(shown):
        top = float(HIGH)
        for kind, count in (("passed", one.passed), ("known", one.known), ("failed", one.failed)):
            height = HIGH * count / most
            top -= height
            if count:
                title = f"run {one.number}, {one.began}: {counted(count, 'job')} {kind}"
                bars.append(TrendBar(place * STEP, round(top, 2), round(height, 2), kind, title))
    return bars


def write_campaign_page(path: Path, page: CampaignPage) -> None:
    """Write the page: one file, which asks nothing of a network."""
    text = campaign_html(page)
    with written(path) as file:
        file.write(text.encode())


def campaign_html(page: CampaignPage) -> str:
    """The page as text. Whatever names are, they are shown, and never become markup."""
    style, script = page_style() + (HERE / "page.css").read_text("utf-8"), read("copy.js") + read("report.js")
    templates = environment(HERE)
    templates.filters |= {"commas": lambda number: f"{number:,}", "counted": counted, "span": worded_seconds}
    return templates.get_template("page.html.j2").render(
        page=page,
        run=page.summary,
        verdict=page.verdict,
        units=page.tables.coverage.units,
        jobs=sorted(page.tables.jobs, key=_job_order),
        bars=trend_bars(page.runs),
        width=STEP * min(len(page.runs), MOST_RUNS),
        high=HIGH,
        bar=BAR,
        folder=failed_folder,
        version=hwsim.__version__,
        style=Markup(style),
        script=Markup(script),
        policy=policy(style, script),
    )


def _job_order(row: dict[str, Any]) -> tuple[bool, str]:
    """Those that failed first."""
    return row["outcome"] == "passed", row["job"]
