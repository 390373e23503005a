"""What docs/campaign.md shows of many runs: each query runs in DuckDB, and answers what the page says that it does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
from campaign.fake_jobs import fakes, run
from documents import blocks

QUERIES = [block.text for block in blocks("sql") if block.page == "campaign.md"]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four runs: a job that passes, one that is mended after two, one that fails in the last, one in the first."""
    folder = tmp_path_factory.mktemp("queries")
    for deeds in (
        ("passes", "fails", "passes", "is short"),
        ("passes", "fails", "passes", "passes"),
        ("passes", "passes", "passes", "passes"),
        ("passes", "passes", "fails", "passes"),
    ):
        run(folder, fakes(folder, *deeds), workers=0)  # type: ignore[arg-type]
    return folder


@pytest.fixture
def runs(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of the runs, as the current one."""
    monkeypatch.chdir(kept)


def answer(number: int) -> tuple[list[str], list[tuple[Any, ...]]]:
    found = duckdb.sql(QUERIES[number])
    return found.columns, found.fetchall()


def test_suites_that_were_mended(runs: None) -> None:
    columns, rows = answer(0)
    assert columns == ["job", "suite", "driver", "failed_last"]
    assert rows == [("job1", "dot random", "here", 2), ("job3", "dot random", "here", 1)]


def test_bins_that_nothing_hit(runs: None) -> None:
    assert answer(1) == (["unit", "group", "name"], [("unit", "G1", "never")])
    assert len(QUERIES) == 2
