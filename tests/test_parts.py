"""Parts of a run: together they are all tests, each in one of them, wherever else the run is cut."""

from __future__ import annotations

import pytest
from parts import part_of

pytest_plugins = ["pytester"]
OPTION = """
from parts import add_option, keep_part

def pytest_addoption(parser):
    add_option(parser)

def pytest_collection_modifyitems(config, items):
    keep_part(config, items)
"""
SUITE = """
import pytest

@pytest.mark.parametrize("number", range(50))
def test_of_a_number(number):
    assert number >= 0
"""


def names(pytester: pytest.Pytester, *arguments: str) -> list[str]:
    passed, _, _ = pytester.inline_run(*arguments).listoutcomes()
    return [report.nodeid for report in passed]


def test_all_parts_together_are_all_tests(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(OPTION)
    pytester.makepyfile(SUITE)
    parts = [names(pytester, "--part", f"{part}/3") for part in (1, 2, 3)]
    everything = names(pytester)
    assert len(everything) == 50
    assert all(parts)
    assert sorted(name for part in parts for name in part) == sorted(everything)


@pytest.mark.parametrize("text", ["0/3", "4/3", "1/0", "3", "a/b", "-1/3", "1/3/5"])
def test_what_is_no_part_is_refused(text: str) -> None:
    with pytest.raises(pytest.UsageError, match="expected K/N"):
        part_of(text)
