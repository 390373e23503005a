"""A study's folder: results that are damaged, of another study or of other code, and what is no study's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from study.study_cases import SHORT, Done, alone, content, study

from hwsim.base.files import written
from hwsim.study.results import read_results, run
from hwsim.study.task import Task


def test_results_that_other_code_made_are_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A version may stay the same while the code changes.
    first = run(study(**SHORT), tmp_path, alone)
    monkeypatch.setattr("hwsim.study.results.code_identity", lambda _: "changed")
    with pytest.raises(ValueError, match=r"holds results of this study that other code of hwsim made; .*--overwrite"):
        run(study(**SHORT), tmp_path, alone)
    again = run(study(**SHORT), tmp_path, alone, overwrite=True)
    assert again.rows.equals(first.rows) and not again.finished_before


def test_what_follows_from_the_results_is_written_again(tmp_path: Path) -> None:
    run(study(**SHORT), tmp_path, alone)
    kept = {name: (tmp_path / name).read_bytes() for name in ("summary.parquet", "study.yaml")}
    for name in kept:
        (tmp_path / name).unlink()
    assert run(study(**SHORT), tmp_path, alone).finished_before
    assert kept == {name: (tmp_path / name).read_bytes() for name in kept}


def test_damaged_results_are_named_and_stay(tmp_path: Path) -> None:
    first = content(run(study(**SHORT), tmp_path, alone))
    results = tmp_path / "results.parquet"
    results.write_bytes(results.read_bytes()[:100])
    for overwrite in (False, True):
        with pytest.raises(ValueError, match=r"results.parquet: is damaged, or was changed; move it"):
            run(study(**SHORT), tmp_path, alone, overwrite=overwrite)
    for name in ("results.parquet", "summary.parquet", "study.yaml"):
        (tmp_path / name).unlink()
    assert content(run(study(**SHORT), tmp_path, alone)) == first


def test_another_studys_folder_is_refused_and_replaced_when_asked(tmp_path: Path) -> None:
    folder, small, other = tmp_path / "s", study(**SHORT), study(**SHORT, seed=8)
    first = content(run(small, folder, alone))
    with written(folder / "report.html") as file:
        file.write(b"of the first")
    with pytest.raises(ValueError, match=r"holds the results of another study.*--overwrite"):
        run(other, folder, alone)
    assert content(read_results(folder)) == first
    second = content(run(other, folder, alone, overwrite=True))
    assert second != first and not (folder / "report.html").exists()
    assert second == content(run(other, tmp_path / "fresh", alone))


def test_an_interrupted_studys_folder_is_its_own(tmp_path: Path) -> None:
    def stopped(_tasks: Any, _done: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(study(**SHORT), tmp_path / "s", stopped)
    with pytest.raises(ValueError, match="holds the results of another study"):
        run(study(**SHORT, seed=8), tmp_path / "s", alone)


def test_folders_that_hold_something_else_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text("mine")
    (tmp_path / "notes.txt").write_text("mine")
    for overwrite in (False, True):
        with pytest.raises(ValueError, match=r"holds notes\.txt, which are no study's results; name a new folder"):
            run(study(**SHORT), tmp_path, alone, overwrite=overwrite)
    with pytest.raises(ValueError, match="must be a folder"):
        run(study(**SHORT), tmp_path / "notes.txt", alone)
    with pytest.raises(OSError, match="Not a directory"):
        run(study(**SHORT), tmp_path / "notes.txt" / "deeper", alone)


def test_two_runs_into_one_folder_do_not_meet(tmp_path: Path) -> None:
    def second(_tasks: Sequence[Task], _done: Done) -> None:
        with pytest.raises(ValueError, match="another process is writing"):
            run(study(**SHORT), tmp_path / "s", alone)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(study(**SHORT), tmp_path / "s", second)
