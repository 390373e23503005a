"""Parts in processes of their own: what ends one of them, whatever it is, ends no other, and nothing runs twice."""

from __future__ import annotations

import os
import signal
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from hwsim.base.errors import ToolMissing
from hwsim.runners import Rows, WorkPart, apart


class Unsendable(Exception):
    """Takes two words, and so cannot be made of one again."""

    def __init__(self, first: str, second: str):
        super().__init__(f"{first} {second}")


@dataclass(frozen=True)
class Told(WorkPart):
    """Does what it is told. folder: where it leaves a file each time it begins."""

    code = "hwsim.runners"
    number: int
    does: str
    folder: Path

    work = 1
    key = ""

    def check(self) -> None:
        """Nothing."""

    def execute(self) -> Rows:
        """Its number, and its process."""
        begun = len(list(self.folder.glob(f"{self.number}-*")))
        (self.folder / f"{self.number}-{begun}").touch()
        match self.does:
            case "dies":
                os.kill(os.getpid(), signal.SIGKILL)
            case "dies once":
                if not begun:
                    os._exit(7)
            case "misses a tool":
                raise ToolMissing("none here")
            case "raises what cannot be sent":
                raise Unsendable("as", "it is")
        return [
            {"number": self.number, "process": os.getpid(), "says": os.environ.get("SAYS"), "most": "x" * 1_000_000}
        ]


def run(folder: Path, *does: str) -> tuple[Rows, list[tuple[int, str]]]:
    rows, lost = Rows(), list[tuple[int, str]]()

    def tell(part: WorkPart, why: str) -> None:
        assert isinstance(part, Told)
        lost.append((part.number, why))

    parts = [Told(number, one, folder) for number, one in enumerate(does)]
    apart(2, tell)(parts, lambda part, made: rows.extend({**one, "part": part.number} for one in made))
    return rows, lost


def begun(folder: Path) -> Counter[int]:
    return Counter(int(path.name.partition("-")[0]) for path in folder.iterdir())


def test_each_part_has_a_process_and_this_ones_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for said in ("first", "second"):
        monkeypatch.setenv("SAYS", said)
        (folder := tmp_path / said).mkdir()
        rows, lost = run(folder, "works", "works", "works")
        assert sorted(row["number"] for row in rows) == sorted(row["part"] for row in rows) == [0, 1, 2]
        assert len({row["process"] for row in rows} | {os.getpid()}) == 4
        assert {row["says"] for row in rows} == {said} and not lost


def test_a_part_that_ends_its_process_again_and_again_is_lost_and_the_others_are_done_once(tmp_path: Path) -> None:
    rows, lost = run(tmp_path, "works", "dies", "works", "dies once", "works")
    assert sorted(row["number"] for row in rows) == [0, 2, 3, 4]
    assert lost == [(1, "its process ended 3 times before it was done, the last time by SIGKILL")]
    assert begun(tmp_path) == {0: 1, 1: 3, 2: 1, 3: 2, 4: 1}


@pytest.mark.quick
def test_what_a_part_raises_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(ToolMissing, match="none here"):
        run(tmp_path, "misses a tool", "works")
    with pytest.raises(RuntimeError, match="Unsendable: as it is"):
        run(tmp_path, "raises what cannot be sent")
