"""Files that are written whole, and where what takes long is kept."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest

from hwsim.base.errors import InputError
from hwsim.base.files import MOST_LINE, bounded_lines, cache_folder, contents, replaced, replaced_folder, takes_files


def test_where_results_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HWSIM_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"
    monkeypatch.delenv("HWSIM_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "hwsim"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "hwsim"


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    with replaced(path) as file:
        file.write(b"first")
        assert not path.exists()
    assert path.read_bytes() == b"first"
    with pytest.raises(TypeError), replaced(path) as file:
        file.writelines([b"second", "text"])  # type: ignore[list-item]
    assert path.read_bytes() == b"first"
    assert [entry.name for entry in path.parent.iterdir()] == ["file"]


def test_a_replaced_file_has_the_rights_of_a_new_one(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with replaced(tmp_path / "file") as file:
            file.write(b"")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


def test_a_pipe_is_written_to_as_it_is(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with replaced(pipe) as file:
        file.write(b"through")
    assert os.read(reader, 100) == b"through" and pipe.is_fifo()
    os.close(reader)


def fill(path: Path, name: str, **options: bool) -> None:
    with replaced_folder(path, **options) as folder:
        (folder / name).touch()


def test_a_folder_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder"
    fill(path, "first")
    with pytest.raises(OSError, match="no/such"):
        fill(path, "no/such")
    assert [entry.name for entry in path.iterdir()] == ["first"]
    fill(path, "second")
    assert [entry.name for entry in path.iterdir()] == ["second"]
    assert [entry.name for entry in path.parent.iterdir()] == ["folder"]


def test_a_folder_that_another_process_has_made_stays(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    fill(path, "first")
    fill(path, "second", keep=True)
    assert [entry.name for entry in path.iterdir()] == ["first"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/full"])
def test_what_has_no_end_is_read_to_a_bound(device: str) -> None:
    with pytest.raises(InputError, match=f"^{device}: must have at most 1,000 bytes; it has more$"):
        contents(Path(device), 1000)
    with open(device) as file, pytest.raises(InputError, match=f"^{device}:1: a line must have at most 4,194,304 char"):
        list(bounded_lines(file, device))


def test_what_is_as_long_as_may_be_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 1000)
    assert contents(path, 1000) == b"x" * 1000
    text = "a\n\n" + "x" * (MOST_LINE - 1) + "\nend"
    assert list(bounded_lines(io.StringIO(text), "-")) == io.StringIO(text).readlines()


def full(*_: object) -> NoReturn:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_is_said_of_the_file_that_was_asked_for(tmp_path: Path) -> None:
    for make in (replaced, replaced_folder):
        with pytest.raises(OSError, match="No space left") as said, make(tmp_path / "wanted"):
            full()
        assert said.value.filename == str(tmp_path / "wanted") and not list(tmp_path.iterdir())


def test_a_full_disk_or_a_folder_that_is_none_takes_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert takes_files(tmp_path / "not" / "there" / "yet")
    (tmp_path / "file").write_text("")
    assert not takes_files(tmp_path / "file") and not takes_files(tmp_path / "file" / "inside")
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 1000}))
    assert not takes_files(tmp_path)


@pytest.mark.parametrize("write", [replaced, replaced_folder])
def test_a_folder_that_another_process_has_removed_in_the_meantime_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], AbstractContextManager[Any]]
) -> None:
    target = tmp_path / "made" / "target"

    @contextmanager
    def removed(_scratch: Path) -> Iterator[None]:
        # Another, which found the folder missing too and failed, removes it before anything is in it.
        target.parent.rmdir()
        yield

    monkeypatch.setattr("hwsim.base.files.remove_on_exit", removed)
    with write(target):
        pass
    assert target.exists()
