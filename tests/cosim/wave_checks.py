"""Save files of waveforms, read back against the waveforms' own hierarchy."""

from __future__ import annotations

import re
from pathlib import Path

from hwsim.cosim.play import SAVED, signals_of


def groups_of(saved: str) -> dict[str, list[str]]:
    """The groups of a save file, as GTKWave reads them."""
    found: dict[str, list[str]] = {}
    inside = ""
    for line in saved.splitlines():
        if line.startswith("-"):
            inside = "" if inside else line[1:]
            assert inside or line[1:] in found
            found.setdefault(inside or line[1:], [])
        elif line[0] not in "@[":
            found[inside].append(line)
    assert not inside
    return found


def check(folder: Path, stages: tuple[str, ...]) -> None:
    """Every signal of a save file is one that its waveform declares, and every stage that has any has a group."""
    declared = list(signals_of(folder / "dump.vcd"))
    groups = groups_of((folder / SAVED).read_text())
    saved = [path for members in groups.values() for path in members]
    assert sorted(saved) == sorted(each.path for each in declared if "$" not in each.name)
    assert {"ports", "control", *stages} <= set(groups)
    for stage in stages:
        begins = stage.replace(".", "_")
        assert all(re.search(rf"[._]{begins}(_|$|\.|\[)", path) for path in groups[stage])
