"""`--part 3/16`: a third sixteenth of the tests that are chosen, for runs that are longer than one likes to wait.

A test belongs to a part by its name alone, so that all parts together are all tests, whenever each is run, and a part
is the same on every machine. Its tests come from all over, and so parts take about as long as each other.
"""

from __future__ import annotations

import re
from zlib import crc32

import pytest


def add_option(parser: pytest.Parser) -> None:
    parser.addoption("--part", metavar="K/N", help="of the chosen tests, the K-th of N parts, by name")


def keep_part(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect all tests of other parts; all are kept where no part is named."""
    if not (text := config.getoption("--part")):
        return
    part, parts = part_of(text)
    others = [item for item in items if crc32(item.nodeid.encode()) % parts != part - 1]
    left_out = set(others)
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=others)


def part_of(text: str) -> tuple[int, int]:
    """The two numbers of `3/16`; a usage error where they are none, or name no part."""
    if (found := re.fullmatch(r"(\d+)/(\d+)", text)) and 1 <= int(found[1]) <= int(found[2]):
        return int(found[1]), int(found[2])
    raise pytest.UsageError(f"--part {text}: expected K/N with K from 1 to N, as in 3/16")
