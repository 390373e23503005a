"""Lint, types, and the direction of imports."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from hwsim.base.files import cache_folder

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as a wheel lays it out, with rtl and tb inside: what tools that read files must see."""
    root = tmp_path_factory.mktemp("tree")
    package = root / "hwsim"
    package.mkdir()
    for source in [*(ROOT / "hwsim").iterdir(), ROOT / "rtl", ROOT / "tb"]:
        if source.name != "__pycache__":
            (package / source.name).symlink_to(source)
    return root


def run(*command: str, cwd: Path = ROOT, path: Path | None = None) -> None:
    environment = {**os.environ, **({"PYTHONPATH": str(path)} if path else {})}
    done = subprocess.run([sys.executable, *command], cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.quick
def test_ruff_finds_nothing() -> None:
    run("-m", "ruff", "check", ".")


@pytest.mark.quick
def test_ruff_would_format_nothing() -> None:
    run("-m", "ruff", "format", "--check", ".")


def test_mypy_finds_nothing(tree: Path) -> None:
    run(
        "-m",
        "mypy",
        "--config-file",
        str(ROOT / "pyproject.toml"),
        "--cache-dir",
        str(cache_folder() / "mypy"),  # which a clean checkout shares
        "-p",
        "hwsim",
        cwd=tree,
    )


@pytest.mark.quick
def test_imports_point_one_way(tree: Path) -> None:
    config = str(ROOT / "pyproject.toml")
    run(
        "-c",
        "from importlinter.cli import lint_imports_command; lint_imports_command()",
        "--config",
        config,
        "--no-cache",
        cwd=tree,
        path=tree,
    )


def test_a_backward_import_is_found(tree: Path, tmp_path: Path) -> None:
    # The check must be able to fail: a copy in which the RTL imports the model.
    package = tmp_path / "hwsim"
    package.mkdir()
    for source in (tree / "hwsim").iterdir():
        (package / source.name).symlink_to(source.resolve())
    (package / "rtl").unlink()
    (package / "rtl").mkdir()
    for source in (ROOT / "rtl").glob("*.py"):
        (package / "rtl" / source.name).write_text(source.read_text())
    with (package / "rtl" / "numbers.py").open("a") as numbers:
        numbers.write("import hwsim.model.terms\n")
    with pytest.raises(AssertionError, match="Imports point one way"):
        test_imports_point_one_way(tmp_path)


@pytest.mark.quick
def test_the_page_of_packages_is_the_contract() -> None:
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", (ROOT / "docs" / "architecture.md").read_text(), re.MULTILINE)
    assert [set(re.findall(r"\w+", row)) for row in rows] == [set(layer.split(" | ")) for layer in contract["layers"]]


# Modules that import each other in a circle still, a set for each circle. The aim is none.
CIRCLES: list[set[str]] = []


def imports_of(package: str, folder: Path) -> dict[str, list[str]]:
    """What every module of a package in a folder imports of it, also within functions, but not for types alone."""
    program = (
        "import json, grimp; "
        f"graph = grimp.build_graph({package!r}, exclude_type_checking_imports=True, cache_dir=None); "
        "print(json.dumps({name: sorted(graph.find_modules_directly_imported_by(name)) for name in graph.modules}))"
    )
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    imports: dict[str, list[str]] = json.loads(done.stdout)
    return imports


def circles(imports: dict[str, list[str]]) -> list[set[str]]:
    """The sets of modules that reach each other by imports."""
    reached = {name: reachable(name, imports) for name in imports}
    parts = {frozenset(other for other in there if name in reached[other]) for name, there in reached.items()}
    return sorted((set(part) for part in parts if part), key=min)


def reachable(name: str, imports: dict[str, list[str]]) -> set[str]:
    """The modules that importing a module leads to; itself where it is on a circle."""
    there: set[str] = set()
    left = [name]
    while left:
        for other in imports[left.pop()]:
            if other not in there:
                there.add(other)
                left.append(other)
    return there


def test_no_modules_import_each_other_in_a_circle(tree: Path) -> None:
    imports = imports_of("hwsim", tree)
    assert len(imports) > 200 and "hwsim.rtl.aligned" in imports
    assert circles(imports) == sorted(CIRCLES, key=min), "a circle that is new; or mended: strike it out of CIRCLES"


def test_circles_within_functions_are_found_and_those_for_types_alone_are_none(tmp_path: Path) -> None:
    package = tmp_path / "ring"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "first.py").write_text("def work():\n    from ring import second\n")
    (package / "second.py").write_text("import ring.third\n")
    (package / "third.py").write_text("from ring.first import work\nfrom ring import fourth\n")
    (package / "fourth.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ring import third\n"
    )
    assert circles(imports_of("ring", tmp_path)) == [{"ring.first", "ring.second", "ring.third"}]


def test_no_two_classes_have_one_name() -> None:
    places: dict[str, list[str]] = {}
    for folder in ("hwsim", "rtl", "tb"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for name in re.findall(r"^class (\w+)", path.read_text(), re.MULTILINE):
                places.setdefault(name, []).append(str(path.relative_to(ROOT)))
    assert len(places) > 200
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_no_randomness_but_the_projects_own() -> None:
    # Neither NumPy nor Python promises the numbers of its generators for the next version.
    for folder in ("hwsim", "rtl", "tb"):
        for path in (ROOT / folder).rglob("*.py"):
            assert not re.search(
                r"default_rng|np\.random|^import random|^from random ", path.read_text(), re.MULTILINE
            ), path
