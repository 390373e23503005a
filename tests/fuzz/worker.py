"""A process that runs inputs through hwsim's command line, one after another, each in a folder of its own.

It reads keys of inputs from its standard input, a line each, and writes what was found, a line of JSON each.
"""

from __future__ import annotations

import functools
import json
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import typer.main
from fuzz import inputs, judge, watch
from fuzz.inputs import FuzzInput, Key, Pool

from hwsim.base.errors import InputError
from hwsim.base.files import cache_folder
from hwsim.cli import main
from hwsim.cli.app import FIRST, MORE
from hwsim.cli.output import print_error

READY = "ready"  # what a worker says when it has started
MEMORY = 4 << 30  # bytes of address space
OPEN_FILES = 256
LARGEST = 1 << 28  # bytes of a file that is written


class Worker:
    """Runs inputs. prepared: the valid ones. scratch: where folders of inputs are made."""

    def __init__(self, prepared: Path, scratch: Path):
        self.prepared, self.scratch = prepared, scratch
        self.pool: Pool = inputs.pool_of(prepared)
        self.cache = cache_folder()
        self.watch = watch.Watch((self.cache, scratch / "streams"))
        self.streams = scratch / "streams"
        self.streams.mkdir(parents=True)

    def run(self, key: Key) -> dict[str, Any]:
        """What an input comes to."""
        outer = self.scratch / f"{key.target}-{key.index}"
        folder = outer / "in" / "here"
        for path in (folder, outer / "tmp", outer / "home"):
            path.mkdir(parents=True)
        made = inputs.make(key, self.prepared, folder, self.pool)
        before, started = watch.contents(outer), time.process_time()
        with self._environment(outer, made), self.watch.around(outer) as outside:
            status, out, err = self._ended(made, folder)
            extra = _held(made, folder)
        after = watch.contents(outer)
        prefix = "in/here/"
        ended = judge.Ended(
            status, out, err,
            {name.removeprefix(prefix): digest for name, digest in before.items()},
            {name.removeprefix(prefix): digest for name, digest in after.items()},
            outside,
        )  # fmt: skip
        names = dict.fromkeys((made.subject.name, *(Path(name).name for name in before if "." in name)))
        found = [*judge.faults(ended, made.target, (*names, "/in/here/", *made.target.names)), *extra]
        shutil.rmtree(outer)
        return {
            "status": status, "faults": found, "seconds": round(time.process_time() - started, 3),
            "said": err[-3000:], "command": " ".join(made.words) or made.target.calls, "base": made.base,
            "subject": str(made.subject),
        }  # fmt: skip

    @contextmanager
    def _environment(self, outer: Path, made: FuzzInput) -> Iterator[None]:
        """A home and a folder for scratch files of its own, which must stay empty."""
        kept, here = dict(os.environ), os.getcwd()
        own = {
            "HOME": str(outer / "home"),
            "TMPDIR": str(outer / "tmp"),
            "HWSIM_CACHE": str(self.cache),
            "COLUMNS": "",
            "XDG_CACHE_HOME": str(self.cache.parent),
        }
        os.environ.pop("HWSIM_SILICON", None)
        os.environ.update({**own, **made.target.environment, **({"PATH": ""} if made.target.hidden else {})})
        tempfile.tempdir = None
        os.chdir(outer / "in" / "here")
        try:
            yield
        finally:
            os.chdir(here)
            os.environ.clear()
            os.environ.update(kept)

    def _ended(self, made: FuzzInput, folder: Path) -> tuple[int, str, str]:
        """The status of a command, and what it printed, also what libraries printed past Python's streams."""
        given = folder / "stdin"
        opened = [
            os.open(given if given.exists() else os.devnull, os.O_RDONLY),
            os.open(self.streams / "out", os.O_RDWR | os.O_CREAT | os.O_TRUNC),
            os.open(self.streams / "err", os.O_RDWR | os.O_CREAT | os.O_TRUNC),
        ]
        for number, descriptor in enumerate(opened):
            os.dup2(descriptor, number)
            os.close(descriptor)
        sys.stdin = open(0, closefd=False)  # noqa: SIM115 (of the process)
        status = _called(made.target.calls, folder / made.subject) if made.target.calls else main(made.words)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        out, err = ((self.streams / name).read_text(errors="replace") for name in ("out", "err"))
        return status, out, err


def _held(made: FuzzInput, folder: Path) -> list[str]:
    """What is not true of an input that must be; an accident of a reader of Python's is a fault, too."""
    try:
        return made.target.holds(folder, made.words) if made.target.holds else []
    except Exception as error:
        return [f"read by Python: {type(error).__name__}: {error}"[:300]]


def _called(function: str, path: Path) -> int:
    """Call a function of Python with a file. Returns the status that a command would end with."""
    module, _, name = function.partition(":")
    try:
        getattr(import_module(module), name)(path)
    except (InputError, OSError) as error:
        print_error(str(error))
        return 2
    except Exception as error:
        print_error(f"{path}: this is a defect of hwsim: {type(error).__name__}: {error}")
        return 70
    return 0


def serve(prepared: Path, scratch: Path, plant: str) -> None:
    """Answer requests until there are none."""
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    sys.dont_write_bytecode = True
    # Half of a short command's time is typer's, which builds all commands again for each; all must be there before.
    for name in {*FIRST.values(), *MORE.values()}:
        import_module(f"hwsim.cli.{name}")
    typer.main.get_command = functools.cache(typer.main.get_command)
    worker = Worker(prepared, scratch)
    bound()
    if plant:
        module, _, name = plant.partition(":")
        make: Callable[[], None] = getattr(import_module(module), name)
        make()
    print(READY, file=answers, flush=True)
    for line in requests:
        print(json.dumps(worker.run(Key.parsed(line.strip()))), file=answers, flush=True)


def bound() -> None:
    """Bound what a runaway input can take."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST, LARGEST))
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    serve(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "")
