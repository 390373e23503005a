"""`hwsim doctor`."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from hwsim.cli.app import app
from hwsim.cli.examination import SIMULATORS, Examined, Finding, State, examine
from hwsim.cli.output import print_table, say

NO_SIMULATOR = 3


@app.command()
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print the same as JSON.")] = False,
) -> None:
    """Say what hwsim can use on this machine, and how to get what is missing.

    \b
    hwsim doctor
    hwsim doctor --json

    \b
    Exit status: 0 hwsim cosim can run on a simulator at least; 3 what it needs is missing or broken. What other
    commands need, such as the extras of hwsim, does not matter.
    """
    examined = examine()
    if as_json:
        data = {"simulators": examined.simulators, "found": [asdict(finding) for finding in examined.findings]}
        typer.echo(json.dumps(data, indent=1))
    else:
        print_table(["", "for", "", "version", "where, or why not"], map(_row, examined.findings))
        _say_how(examined)
    if not examined.simulators:
        raise typer.Exit(NO_SIMULATOR)


def _row(finding: Finding) -> list[str]:
    where = ": ".join(filter(None, (finding.place, finding.why)))
    return [finding.what, finding.use, finding.state, finding.version, where]


def _say_how(examined: Examined) -> None:
    """Print what gets each missing thing, and on which simulators co-simulation runs."""
    lacking = [one for one in examined.findings if one.state is not State.OK and one.get]
    if lacking:
        say()
        print_table(["to get", "run"], [[one.what, one.get] for one in lacking])
    say()
    if examined.simulators:
        say(f"hwsim cosim runs on {' and '.join(examined.simulators)}")
        return
    for simulator in SIMULATORS:
        say(f"hwsim cosim cannot run on {simulator}: {', '.join(one.what for one in examined.lacking(simulator))}")
