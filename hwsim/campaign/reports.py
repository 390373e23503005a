"""What a run leaves for people and for CI: a page, JUnit XML, and of each job that failed its own page and files."""

from __future__ import annotations

import shlex
from pathlib import Path

from hwsim.campaign.file import Campaign
from hwsim.campaign.junit import CampaignJunit
from hwsim.campaign.outcome import JobOutcome
from hwsim.campaign.page import CampaignPage, write_campaign_page
from hwsim.campaign.store import CampaignRun, failed_folder
from hwsim.campaign.summary import RunSummary, summaries
from hwsim.campaign.tables import RunTables
from hwsim.campaign.verdict import RunVerdict
from hwsim.explain.reports import write_html
from hwsim.outputs import written, written_texts

PAGE, JUNIT, COPY = "report.html", "results.xml", "campaign.yaml"


def write_failed(run: Path, outcome: JobOutcome) -> None:
    """Write the page of a job that failed, its files, and why it broke. run: the run's folder."""
    folder = run / failed_folder(outcome.name)
    texts = {Path(name).name: text for name, text in outcome.files.items()}
    if outcome.breakage is not None:
        texts["why.txt"] = f"{outcome.name}: {outcome.breakage.kind}\n{outcome.breakage.said}\n"
    written_texts(folder, texts)
    if outcome.report is not None:
        write_html(folder / PAGE, outcome.report)


def write_campaign_reports(
    campaign: Campaign, folder: Path, run: CampaignRun, summary: RunSummary, verdict: RunVerdict, tables: RunTables
) -> None:
    """Write the page and JUnit XML of a run, and the file that it was run from. folder: the campaign's."""
    earlier = [one for one in summaries(folder) if one.number < summary.number]
    page = CampaignPage(
        campaign.name, campaign.file.title, summary, verdict, tuple(earlier), tables, campaign_command(campaign, folder)
    )
    write_campaign_page(run.folder / PAGE, page)
    CampaignJunit(campaign.name, tables).write(run.folder / JUNIT)
    with written(run.folder / COPY) as file:
        file.write(campaign.path.read_bytes())


def campaign_command(campaign: Campaign, folder: Path) -> str:
    """The command that runs it again, or goes on."""
    return shlex.join(["hwsim", "campaign", str(campaign.path), "-o", str(folder)])
