"""What goes wrong beside the designs: killed workers, full disks, kills of everything, two at once, Ctrl-C."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from campaign.fake_jobs import LET_GO, Deed, Told, begun, fakes, run
from patience import LIMIT, wait_until

from hwsim.base.arrays import read_table
from hwsim.base.errors import InputError

TESTS = Path(__file__).parents[1]
MANY: tuple[Deed, ...] = ("passes",) * 10
SIZE = 60_000  # bytes of an outcome that cannot be compressed by much


def driver(folder: Path, *words: str) -> subprocess.Popen[str]:
    """The driver in a session of its own. It writes no bytecode: where sizes are limited, Python 3.11 keeps it cut."""
    command = [sys.executable, "-m", "campaign.driver", *(w for w in words if w.startswith("--")), str(folder)]
    return subprocess.Popen(
        [*command, *(w for w in words if not w.startswith("--"))], cwd=folder, text=True, start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(TESTS), "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def names(folder: Path) -> list[str]:
    table = read_table(folder / "runs" / "runs" / "0001" / "jobs.parquet")
    found: list[str] = table["job"].to_pylist()
    return found


def count_of_begun(folder: Path) -> int:
    return sum(begun(folder).values()) if (folder / "begun").exists() else 0


def kept(folder: Path) -> int:
    return len(list((folder / "runs" / "runs" / "0001" / "outcomes").glob("*.json.gz")))


def test_a_job_that_ends_its_worker_is_lost_alone(tmp_path: Path) -> None:
    told = Told()
    result = run(tmp_path, fakes(tmp_path, "passes", "dies", "passes", "passes"), told=told)
    assert [(one.job, one.kind) for one in result.results.verdict.new] == [("job1", "lost")]
    assert "its process ended 3 times before it was done, the last time by SIGKILL" in told.failures[0]
    assert begun(tmp_path) == {"job0": 1, "job1": 3, "job2": 1, "job3": 1}
    assert names(tmp_path) == ["job0", "job1", "job2", "job3"]


@pytest.mark.parametrize("points", [(2,), pytest.param((0, 1, 0, 2, 3, 1, 0, 4), marks=pytest.mark.slow)])
def test_a_kill_of_everything_at_any_point_loses_nothing_that_was_done(points: tuple[int, ...], tmp_path: Path) -> None:
    deeds: tuple[Deed, ...] = (*MANY[1:], "waits")  # so that there is a run to kill, however fast the others are
    jobs = fakes(tmp_path, *deeds)
    for after in points:
        before, running = count_of_begun(tmp_path), driver(tmp_path, "0", *deeds)
        wait_until(lambda before=before, after=after, running=running: (  # type: ignore[misc]
            count_of_begun(tmp_path) >= before + after or kept(tmp_path) == len(deeds) - 1 or running.poll() is not None
        ))  # fmt: skip
        assert running.poll() is None
        os.killpg(running.pid, signal.SIGKILL)
        running.communicate(timeout=LIMIT)
    done, tried = kept(tmp_path), count_of_begun(tmp_path)
    (tmp_path / LET_GO).touch()
    result = run(tmp_path, jobs)
    assert result.results.summary.passed == len(deeds) and result.results.number == 1
    assert names(tmp_path) == sorted(job.name for job in jobs)
    # Only what was in flight is done again: two jobs at a time, which may begin while they are killed.
    assert 0 <= count_of_begun(tmp_path) - (tried + len(deeds) - done) <= 2
    assert len(deeds) <= count_of_begun(tmp_path) <= len(deeds) + 2 * len(points)


@pytest.mark.slow
def test_a_worker_that_somebody_kills_costs_what_it_did(tmp_path: Path) -> None:
    running = driver(tmp_path, "0", "waits", "passes")
    try:
        wait_until(lambda: kept(tmp_path) == 1 and begun(tmp_path).get("job0") == 1)
        for again in (2, 3):
            os.kill(_child_that_waits(running.pid), signal.SIGKILL)
            wait_until(lambda again=again: begun(tmp_path)["job0"] == again)  # type: ignore[misc]
        os.kill(_child_that_waits(running.pid), signal.SIGKILL)
        assert running.communicate(timeout=LIMIT)[0] == "1\n"
    finally:
        running.kill()
        running.communicate()
    assert begun(tmp_path) == {"job0": 3, "job1": 1}
    outcomes = read_table(tmp_path / "runs" / "runs" / "0001" / "jobs.parquet")["outcome"].to_pylist()
    assert outcomes == ["lost", "passed"]


def _child_that_waits(parent: int) -> int:
    """The youngest process of a program's session that its server of forks has begun."""
    found: list[int] = []

    def there() -> bool:
        children = [int(pid) for pid in os.listdir("/proc") if pid.isdecimal() and _grandparent(int(pid)) == parent]
        found[:] = sorted(children)[-1:]
        return bool(found)

    wait_until(there)
    return found[0]


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError):
        return 0


def _grandparent(pid: int) -> int:
    return _parent(_parent(pid))


@pytest.mark.slow
def test_a_disk_that_is_full_ends_the_run_in_a_way_that_can_go_on(tmp_path: Path) -> None:
    running = driver(tmp_path, "--most=20000", str(SIZE), *MANY[:3])
    said = running.communicate(timeout=LIMIT)[1]
    assert running.returncode != 0
    assert f"[Errno {errno.EFBIG}]" in said.splitlines()[-1] and ".json.gz" in said.splitlines()[-1]
    assert kept(tmp_path) == 0
    assert run(tmp_path, fakes(tmp_path, *MANY[:3], size=SIZE)).results.summary.passed == 3
    assert begun(tmp_path) == {"job0": 2, "job1": 1, "job2": 1}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a small file system")
def test_a_small_file_system_that_is_full_keeps_what_was_written(tmp_path: Path) -> None:
    small = tmp_path / "runs"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(small)], capture_output=True).returncode:
        pytest.skip("this machine makes no file systems")
    try:
        with pytest.raises(OSError, match=r"No space left on device.*json\.gz"):
            run(tmp_path, fakes(tmp_path, *MANY, size=SIZE), workers=1)
        assert 0 < (done := kept(tmp_path)) < len(MANY)
        assert subprocess.run(["mount", "-o", "remount,size=64m", str(small)]).returncode == 0
        assert run(tmp_path, fakes(tmp_path, *MANY, size=SIZE)).results.summary.passed == len(MANY)
        # What did not fit was done once more, and nothing else.
        assert begun(tmp_path)[f"job{done}"] == 2 and sum(begun(tmp_path).values()) == len(MANY) + 1
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_a_second_campaign_in_one_folder_is_refused_and_an_interrupted_one_leaves_no_process(tmp_path: Path) -> None:
    running = driver(tmp_path, "0", "waits", "waits")
    try:
        wait_until(lambda: count_of_begun(tmp_path) == 2)
        with pytest.raises(InputError, match="another campaign runs in this folder; wait for its end"):
            run(tmp_path, fakes(tmp_path, "passes"), workers=0)
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=LIMIT)
        wait_until(lambda: not _session(running.pid))
    finally:
        running.kill()
        running.communicate()
    assert run(tmp_path, fakes(tmp_path, "passes"), workers=0).results.summary.passed == 1


def _session(leader: int) -> list[int]:
    """The processes of a session."""
    found = []
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(words[3]) == leader and words[0] != "Z":
            found.append(int(pid))
    return found
