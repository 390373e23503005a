"""A proof as a record: JSON, and one page of HTML with the claims and, where one is refuted, a case drawn."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Literal

from jinja2 import Template
from markupsafe import Markup
from pydantic import Field

from hwsim.base.files import written
from hwsim.base.text import counted
from hwsim.explain.drawing import page_style, policy, read
from hwsim.explain.frozen import Count, Record, Text
from hwsim.explain.microscope import write_beside
from hwsim.explain.record import Mismatch, Seconds
from hwsim.explain.reports import JUnitCase, JUnitSuite, junit_xml, page_environment

SCHEMA = "hwsim-proof/1"

Outcome = Literal["proved", "compared", "refuted", "undecided", "not proved", "not run"]


class ClaimRow(Record):
    """The outcome of one claim.

    word: `compared` says that some cases are equal, which is no proof; `not proved`, that nothing is shown.
    second: what the second solver says, None where it was not asked. refuting: values of constants that refute it.
    """

    name: Text
    words: Text
    over: Text
    solver: Text
    seconds: Seconds
    word: Outcome
    second: Outcome | None = None
    refuting: dict[Text, int] = Field(default_factory=dict)

    @property
    def disputed(self) -> bool:
        """True if one solver proves what the other refutes."""
        return {self.word, self.second} == {"proved", "refuted"}

    @property
    def holds(self) -> bool:
        """True if it is proved, and nobody refutes it, or compared only, and so said to be."""
        return self.word in ("proved", "compared") and not self.disputed

    @property
    def shown(self) -> str:
        """The values that are not zero, in a line."""
        return ", ".join(f"{name} {number:#x}" for name, number in self.refuting.items() if number) or "all is zero"


class ProofReport(Record):
    """The claims of a design, and their outcomes.

    seconds: from the first claim to the last, with what it takes to state them. memory: the most that the process held,
    in MB. conclusion: what follows where all is proved. failing: what is said where something is open, which is named
    then. trusted: what it takes for granted. example: a case that shows a refuted claim. notes: what a reader should
    know beside the claims. command: what asks again.
    """

    unit: Text
    title: Text
    version: Text
    command: Text
    cuts: tuple[Text, ...] = ()
    contexts: Count = 0
    rows: tuple[ClaimRow, ...]
    seconds: Seconds = 0.0
    memory: Count = 0
    conclusion: Text
    failing: Text = ""
    trusted: tuple[Text, ...] = ()
    example: Mismatch | None = None
    notes: tuple[Text, ...] = ()

    @property
    def proved(self) -> bool:
        """True if there are claims, and every one holds."""
        return any(row.word == "proved" for row in self.rows) and all(row.holds for row in self.rows)

    @property
    def counts(self) -> str:
        """The number of claims that are proved, of how many, and of those that are compared only, in words."""
        compared = [row for row in self.rows if row.word == "compared"]
        proved = len(self.rows) - len(self.open) - len(compared)
        suffix = f", {len(compared)} compared" if compared else ""
        return f"{proved} of {counted(len(self.rows) - len(compared), 'claim')} proved{suffix}"

    @property
    def open(self) -> tuple[ClaimRow, ...]:
        """The claims that are not proved."""
        return tuple(row for row in self.rows if not row.holds)

    @property
    def verdict(self) -> str:
        """The outcome of the proof, in words."""
        if self.proved:
            compared = (
                f"; {row.name}: {row.over}: compared, not proved" for row in self.rows if row.word == "compared"
            )
            return self.conclusion + "".join(compared)
        left = [row.name for row in self.open if row.word == "not proved"]
        if len(left) == len(self.open) and left and not self.failing:
            return f"{self.conclusion}; not proved: {'; '.join(left)}"
        words = [row.word if not row.disputed else "disputed" for row in self.open]
        counts = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words)) or "nothing was claimed"
        return f"{self.failing}: {counts}: {'; '.join(row.name for row in self.open)}" if self.failing else counts


def write_proof_json(path: Path, report: ProofReport) -> None:
    """A proof as JSON."""
    with written(path) as file:
        data = {"schema": SCHEMA, **report.model_dump(mode="json")}
        file.write(json.dumps(data, indent=1).encode() + b"\n")


def write_proof_junit(path: Path, report: ProofReport) -> None:
    """A proof as JUnit XML: a claim that does not hold is a failure, and one that was not run is skipped."""
    cases = []
    for row in report.rows:
        verdict = "" if row.holds else "skipped" if row.word == "not run" else "failure"
        more = "" if row.word != "refuted" else f"where {row.shown}"
        cases.append(JUnitCase(report.unit, row.name, row.seconds, verdict, row.word, row.word, more, row.words))
    properties = {"hwsim": report.version, "again": report.command}
    with written(path) as file:
        file.write(junit_xml(report.title, [JUnitSuite(report.unit, cases, properties, report.verdict)]))


def write_proof_html(path: Path, report: ProofReport) -> None:
    """A proof as one page, which asks nothing of a network; and beside it the microscope, to which mismatches lead."""
    style, script = page_style(), read("copy.js")
    page = _page().render(
        report=report,
        style=Markup(style),
        script=Markup(script),
        policy=policy(style, script),
        microscope=write_beside(path, () if report.example is None else (report.example,)),
    )
    with written(path) as file:
        file.write(page.encode())


@cache
def _page() -> Template:
    return page_environment().get_template("proof.html.j2")
