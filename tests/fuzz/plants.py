"""Faults planted in hwsim's reader of YAML files, one for each number of an input: the fuzzer must find them all."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hwsim.base.errors import InputError
from hwsim.formats import yamlfile

Reader = Callable[[Path], Any]
ORIGINAL = yamlfile.read


def raises(path: Path) -> Any:
    """A ValueError that is no InputError."""
    raise ValueError("an accident")


def takes_all_memory(path: Path) -> Any:
    """More than there may be."""
    return bytearray(1 << 40)


def writes_outside(path: Path) -> Any:
    """A file beside the input's folder, where a folder for scratch files is not."""
    with Path("../../../beside").open("w"):
        return ORIGINAL(path)


def writes_into_the_home(path: Path) -> Any:
    """A file where a user's settings are."""
    (Path.home() / ".hwsim").write_text("x")
    return ORIGINAL(path)


def leaves_a_scratch_file(path: Path) -> Any:
    """A file in the system's folder for them."""
    os.close(tempfile.mkstemp()[0])
    return ORIGINAL(path)


def writes_the_input(path: Path) -> Any:
    """A longer input."""
    with path.open("a") as file:
        file.write(" ")
    return ORIGINAL(path)


def runs_a_shell(path: Path) -> Any:
    """A command of a shell, by the function that takes a line for it."""
    os.system("true")
    return ORIGINAL(path)


def names_no_file(path: Path) -> Any:
    """A message that says neither where nor what."""
    raise InputError("it is wrong")


def says_raw_words(path: Path) -> Any:
    """A message in the words of a library."""
    raise InputError(f"{path}: Unable to extract tag using discriminator 'kind'")


def warns(path: Path) -> Any:
    """A line on the standard error that passes Python's streams by."""
    subprocess.run(["/bin/sh", "-c", "echo overflow encountered >&2"], check=False)
    raise InputError(f"{path}: is wrong")


def crashes(path: Path) -> Any:
    """The end of the process."""
    os.abort()


def computes_for_ever(path: Path) -> Any:
    """Work that does not end."""
    while True:
        pass


def waits_for_ever(path: Path) -> Any:
    """Something waited for that does not come."""
    while True:
        time.sleep(1)


# What is planted for an input, by its number, and what must be found. Those that end the process come last.
PLANTS: tuple[tuple[Reader, str], ...] = (
    (raises, "exit status 70"),
    (takes_all_memory, "exit status 70"),
    (writes_outside, "outside: opened to write"),
    (writes_into_the_home, "file home/.hwsim is left"),
    (leaves_a_scratch_file, "file tmp/"),
    (writes_the_input, "has changed"),
    (runs_a_shell, "outside: os.system"),
    (names_no_file, "the message names no file"),
    (says_raw_words, "raw words: discriminator"),
    (warns, "2 lines of error"),
    (crashes, "ended the process, with status -6"),
    (computes_for_ever, "still at work after 2 seconds"),
    (waits_for_ever, "still at work after 2 seconds"),
)


def by_number() -> None:
    """Plant them. A worker calls this as it starts."""

    def read(path: Path) -> Any:
        found = re.search(r"-(\d+)/in/here", os.getcwd())
        number = int(found[1]) if found else 0
        return PLANTS[number][0](path) if number < len(PLANTS) else ORIGINAL(path)

    for module in list(sys.modules.values()):
        if getattr(module, "read", None) is ORIGINAL and module is not yamlfile:
            module.read = read  # type: ignore[attr-defined]
