"""The wheel has what hwsim needs where there is no checkout, and what its messages point to."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = ("hwsim", "rtl", "tb", "docs", "capture", "pyproject.toml", "setup.py", "README.md", "LICENSE")
PROGRAM = "hwsim/compute/c/any_unit-0123456789abcdef.wasm"
INSIDE = ("rtl", "tb", "docs", "capture")  # folders beside hwsim/ that are installed in it
LEFT_OUT = re.compile(r"__pycache__|\.pyc$|^docs/(studies/)?figures/|^docs/site/")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> ZipFile:
    """A wheel of a copy: a build keeps files that are no more, and leaves some beside the sources."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder)
    # As `make wheel` leaves it there.
    (folder / PROGRAM).write_bytes(b"\0asm")
    command = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", "built", "."]
    done = subprocess.run([sys.executable, "-m", "pip", *command], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (built,) = (folder / "built").iterdir()
    return ZipFile(built)


def shipped() -> dict[str, Path]:
    """The files that a wheel must have, by their paths in it."""
    folders = {"hwsim": "hwsim", **{name: f"hwsim/{name}" for name in INSIDE}}
    return {
        f"{inside}/{path.relative_to(ROOT / name)}": path
        for name, inside in folders.items()
        for path in (ROOT / name).rglob("*")
        if path.is_file() and not LEFT_OUT.search(str(path.relative_to(ROOT)))
    }


def test_the_wheel_has_every_file_of_the_package_and_no_other(wheel: ZipFile) -> None:
    files = shipped()
    assert len(files) > 400
    assert {name for name in wheel.namelist() if ".dist-info/" not in name} == {*files, PROGRAM}
    for name, path in files.items():
        assert wheel.read(name) == path.read_bytes(), name


def test_the_capture_program_can_be_executed_as_it_is_installed(wheel: ZipFile) -> None:
    assert wheel.getinfo("hwsim/capture/run").external_attr >> 16 & 0o111


def texts() -> dict[str, str]:
    """The texts of the package, by path: messages are among them."""
    return {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for folder in ("hwsim", "rtl", "tb")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and path.suffix not in {".pyc", ".js", ".xz"}
    }


def test_every_page_that_a_message_names_is_in_the_wheel(wheel: ZipFile) -> None:
    named = {page for text in texts().values() for page in re.findall(r"hwsim docs (?!lists them)([a-z][\w/-]*)", text)}
    assert {"dut", "study", "vectors", "silicon", "arithmetic"} <= named
    inside = set(wheel.namelist())
    for page in named - {"capture", "studies/"}:  # what a message adds after it
        assert f"hwsim/docs/{page}.md" in inside, page
    assert "hwsim/capture/README.md" in inside


def test_no_message_names_a_file_that_a_wheel_does_not_have() -> None:
    for name, text in texts().items():
        found = re.findall(r"(?<![\w.])(?:docs/[\w/-]+\.md|capture/README\.md|CONTRIBUTING\.md|CHANGELOG\.md)", text)
        assert not found, f"{name}: {found}; say `hwsim docs PAGE`"


def test_the_container_is_built_of_what_a_wheel_is() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert {line.removeprefix("!") for line in lines if line.startswith("!")} == set(SOURCES)


def test_the_container_has_the_packages_that_co_simulation_needs() -> None:
    text = (ROOT / "Containerfile").read_text()
    needed = set(re.findall(r"\bneed ([\w+-]+)$", (ROOT / ".ci" / "system-packages").read_text(), re.MULTILINE))
    assert {"g++", "iverilog", "perl", "python3-venv"} <= needed
    (installed,) = re.findall(r"install --yes --no-install-recommends (g\+\+ [^\\]*) \\", text)
    assert set(installed.split()) == needed | {"make", "libpython3.11"}
    assert re.search(r"^USER [1-9]\d*$", text, re.MULTILINE), "a user who is not root"


def test_every_extra_has_its_row_in_the_page_of_installation() -> None:
    extras = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    rows = re.findall(r"^\| `(\w+)` \|.*\| \d+ \|$", (ROOT / "docs" / "install.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(extras)
