"""A killed process leaves neither children nor half-written files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from patience import wait_until

from hwsim.base.processes import kill_on_exit, remove_on_exit

# A process with a child and a grandchild, a folder and a file that are half made; the child says who they are.
WORK = """
import os, sys
from pathlib import Path
from hwsim.base import processes
from hwsim.base.files import replaced, replaced_folder

with replaced_folder(Path("a folder 'of' $names")) as folder, replaced(Path("file")) as file:
    (folder / "part").write_text("half")
    file.write(b"half")
    file.flush()
    child = ["sh", "-c", "sleep 1000 & echo $$ $! > pids; wait"]
    processes.run(child, Path("log"), os.environ)
"""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM])
def test_what_a_killed_process_started_ends_and_goes(ending: signal.Signals, tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", WORK], cwd=tmp_path)
    pids = tmp_path / "pids"
    wait_until(lambda: pids.exists() and len(pids.read_text().split()) == 2)
    started = [int(pid) for pid in pids.read_text().split()]
    assert all(map(alive, started)) and len(list(tmp_path.glob(".*"))) == 2
    process.send_signal(ending)
    process.wait()
    wait_until(lambda: not any(map(alive, started)) and not list(tmp_path.glob(".*")))
    assert {path.name for path in tmp_path.iterdir()} == {"pids", "log"}


def test_what_is_done_is_left_alone(tmp_path: Path) -> None:
    script = """
from pathlib import Path
from hwsim.base.files import replaced
from hwsim.base.processes import kill_on_exit, remove_on_exit
import os, signal, sys
for number in range(100):
    with replaced(Path(f"file{number}")) as file:
        file.write(b"whole")
with remove_on_exit(Path("kept")):
    Path("kept").write_text("whole")
with kill_on_exit(int(sys.argv[1])):
    pass
with remove_on_exit(Path("gone")):
    Path("gone").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    other = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    try:
        subprocess.run([sys.executable, "-c", script, str(other.pid)], cwd=tmp_path, check=False)
        wait_until(lambda: not (tmp_path / "gone").exists())
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*(f"file{n}" for n in range(100)), "kept"])
        assert alive(other.pid)
    finally:
        other.kill()
        other.wait()


def test_a_forked_process_has_a_watch_of_its_own(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    with remove_on_exit(mine):
        mine.write_text("half")
        if (child := os.fork()) == 0:
            with remove_on_exit(tmp_path / "childs"), kill_on_exit(1 << 22):
                (tmp_path / "childs").write_text("half")
                os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(child, 0)
        wait_until(lambda: not (tmp_path / "childs").exists())
        assert mine.exists()
