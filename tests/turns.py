"""`make test` runs every short test, and of the long ones a twelfth: by the commit, so that twelve in a row run all.

`tests/turns.txt` names the test functions that take seconds, with one parameter or with all of them. A test's turn
depends on its name and on its function's place there alone: it is the same on every machine, and the turns together are
all tests, each in one. `python tests/turns.py RUN.xml` writes that file again from what `make test
ARGS='tests --junitxml=RUN.xml'` measured.
"""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[1]
LONG = Path(__file__).with_name("turns.txt")
TURNS = 12
SECONDS, TOGETHER = 0.7, 1.0  # a function of which a test takes as long, or all tests do, is a long one
# What ruff and mypy say of any file; and every captured result.
ALWAYS = ("tests/test_quality.py", "tests/model/test_model_silicon.py")


def add_option(parser: pytest.Parser) -> None:
    parser.addoption(
        "--turn",
        metavar="K",
        help=f"of the long tests, one of {TURNS} parts: 1 to {TURNS}, or `commit`: by their number",
    )


def keep_turn(config: pytest.Config, items: list[pytest.Item], long: Iterable[str]) -> None:
    """Deselect tests of long functions in other turns; all are kept where no turn is named."""
    if (turn := turn_of(config)) is None:
        return
    places = {function: place for place, function in enumerate(long)}
    met: dict[str, int] = defaultdict(int)
    others = set()
    for item in items:
        function = item.nodeid.partition("[")[0]
        if function in places and not item.get_closest_marker("soak"):
            if (places[function] + met[function]) % TURNS != turn - 1:
                others.add(item)
            met[function] += 1
    config.hook.pytest_deselected(items=[item for item in items if item in others])
    items[:] = [item for item in items if item not in others]


def turn_of(config: pytest.Config) -> int | None:
    """The turn that a run was told; a usage error where there is no such one."""
    said = config.getoption("--turn")
    if said is None:
        return None
    if said == "commit":
        return _commits() % TURNS + 1
    if said.isdecimal() and 1 <= int(said) <= TURNS:
        return int(said)
    raise pytest.UsageError(f"--turn {said}: expected a number from 1 to {TURNS}, or commit")


def _commits() -> int:
    """How many commits led to this one; none where git does not know it."""
    command = ["git", "rev-list", "--count", "--first-parent", "HEAD"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return 0
    return int(done.stdout) if done.returncode == 0 else 0


def long_functions() -> list[str]:
    """The long test functions, as pytest names them, the longest first."""
    return [line.split()[1] for line in LONG.read_text().splitlines() if line and not line.startswith("#")]


def said_of(turn: int) -> str:
    """What to say at the end of a run of one turn."""
    return (
        f"turn {turn} of {TURNS}: of {len(long_functions())} test functions that take long, {TURNS - 1} tests of "
        f"{TURNS} were left out; the turn goes by the commit, and `make test ARGS=tests` runs all"
    )


def measured(run: Path) -> list[tuple[float, str]]:
    """What all tests of each function took in a run that is told in a JUnit file: of those that take long."""
    took: dict[str, list[float]] = defaultdict(list)
    for case in ElementTree.parse(run).iter("testcase"):
        took[_function(case.attrib)].append(float(case.attrib["time"]))
    long = [
        (sum(times), name)
        for name, times in took.items()
        if (max(times) >= SECONDS or sum(times) >= TOGETHER) and not name.startswith(ALWAYS)
    ]
    return sorted(long, reverse=True)


def _function(case: dict[str, Any]) -> str:
    """A test function, as pytest names it, by what JUnit has: its module and class with dots, and its name."""
    parts = case["classname"].split(".")
    ends = next(end for end in range(1, len(parts) + 1) if (ROOT / Path(*parts[:end])).with_suffix(".py").is_file())
    return "::".join(["/".join(parts[:ends]) + ".py", *parts[ends:], case["name"].partition("[")[0]])


def main(run: str) -> None:
    lines = [f"{took:5.1f} {name}" for took, name in measured(Path(run))]
    head = ["# Test functions that take long, and the seconds of all their tests: tests/turns.py."]
    LONG.write_text("\n".join([*head, *lines, ""]))


if __name__ == "__main__":
    main(sys.argv[1])
