"""Results that tests share are computed once, and again where anything that they depend on is another."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import computed_once as module
import pytest
from computed_once import computed_once

from hwsim.spec import load_unit

# Two workers at once: each asks for the same, and notes what it computes itself.
WORKER = """
import os, sys, time
from pathlib import Path
sys.path.insert(0, {tests!r})
import computed_once as module
module.FOLDER = Path({folder!r})
sys.path.insert(0, {folder!r})
import shared
print(shared.slow(int(sys.argv[1])))
"""
SHARED = """
import os
from pathlib import Path
from computed_once import computed_once

@computed_once("base")
def slow(number):
    with open(Path(__file__).with_name("log"), "a") as log:
        log.write(f"{number}\\n")
    return number * number
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    return tmp_path


def test_workers_compute_alike_things_once(tmp_path: Path) -> None:
    (tmp_path / "shared.py").write_text(SHARED)
    script = WORKER.format(tests=str(Path(__file__).parent), folder=str(tmp_path))
    numbers = (12, 12, 12, 7)
    workers = [
        subprocess.Popen([sys.executable, "-c", script, str(number)], stdout=subprocess.PIPE, text=True)
        for number in numbers
    ]
    assert [worker.communicate()[0] for worker in workers] == [f"{number**2}\n" for number in numbers]
    assert sorted((tmp_path / "log").read_text().split()) == ["12", "7"]


def test_other_arguments_units_and_sources_are_computed_anew(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def asked(unit: object, lanes: int = 1) -> int:
        calls.append(unit)
        return len(calls)

    unit, other = load_unit("hopper-wgmma-e4m3-f32"), load_unit("hopper-wgmma-e5m2-f32")
    first = computed_once("spec")(asked)
    assert [first(unit), first(unit), first(other), first(unit, 2), first(unit)] == [1, 1, 2, 3, 1]
    again = computed_once("spec")(asked)  # another process would read what is on disk
    assert [again(unit), again(other)] == [1, 2]
    monkeypatch.setattr(module, "_sources", lambda packages: "changed")
    assert again(unit) == 4


def test_a_package_stands_for_what_it_may_import() -> None:
    def names(*packages: str) -> set[str]:
        return {path.stem for path in module._folders(packages)}

    assert names("formats") >= {"formats", "base"} and "spec" not in names("formats")
    assert names("model") >= {"model", "spec", "quantize"} and "kernels" not in names("model")
    assert names() >= {"cli", "study", "rtl", "tb"}
    with pytest.raises(ValueError, match="no packages of hwsim: vector"):
        names("vector")
    with pytest.raises(TypeError, match="an argument must be"):
        computed_once("spec")(lambda value: value)({1, 2})
