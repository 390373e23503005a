"""`make quick`: a few of the tests of every part and witness, for work by the minute; what it leaves out it says.

`@pytest.mark.quick` marks a test that is among them, with few of its parameters: two, spread over all of them, or as
many as it says, `@pytest.mark.quick(cases=5)`. The Makefile gives pytest no files but those that hold such marks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
CASES = 2
FUNCTION = re.compile(r"^ *def (test_\w+)\(", re.MULTILINE)


def choose(items: list[pytest.Item]) -> list[pytest.Item]:
    """The marked tests, each with as few of its parameters as the mark says."""
    functions: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("quick") and not item.get_closest_marker("slow"):
            functions.setdefault(function_of(item.nodeid), []).append(item)
    chosen = []
    for cases in functions.values():
        mark = cases[0].get_closest_marker("quick")
        count = mark.kwargs.get("cases", CASES) if mark else CASES
        chosen += spread(cases, count)
    return chosen


def spread(cases: list[pytest.Item], count: int) -> list[pytest.Item]:
    """So many of them, the first among them, at equal distances; all where there are no more."""
    return [cases[at * len(cases) // count] for at in range(count)] if count < len(cases) else cases


def function_of(node: str) -> str:
    """The test function of a test: what stands before its parameters."""
    return node.partition("[")[0]


def left_out(nodes: Iterable[str]) -> list[str]:
    """What to say at the end of a run of these tests: how many test functions of each folder it did not run."""
    ran = Counter(_folder(Path(node.partition("::")[0]).relative_to("tests")) for node in set(map(function_of, nodes)))
    every: Counter[str] = Counter()
    for path in TESTS.rglob("test_*.py"):
        every[_folder(path.relative_to(TESTS))] += len(FUNCTION.findall(path.read_text()))
    counts = [f"{folder} {count - ran[folder]} of {count}" for folder, count in sorted(every.items())]
    total = every.total()
    return [
        f"left out: {total - ran.total():,} of {total:,} test functions, and most parameters of the others; "
        "`make test` runs them",
        ", ".join(counts),
    ]


def _folder(path: Path) -> str:
    return path.parts[0].removesuffix(".py")
