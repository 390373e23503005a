"""Lint, types, and the direction of imports."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

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


def test_ruff_finds_nothing() -> None:
    run("-m", "ruff", "check", ".")


def test_ruff_would_format_nothing() -> None:
    run("-m", "ruff", "format", "--check", ".")


def test_mypy_finds_nothing(tree: Path) -> None:
    run(
        "-m",
        "mypy",
        "--config-file",
        str(ROOT / "pyproject.toml"),
        "--cache-dir",
        str(ROOT / ".mypy_cache"),
        "-p",
        "hwsim",
        cwd=tree,
    )


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
        numbers.write("import hwsim.model.window\n")
    with pytest.raises(AssertionError, match="Imports point one way"):
        test_imports_point_one_way(tmp_path)


def test_the_page_of_packages_is_the_contract() -> None:
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", (ROOT / "docs" / "architecture.md").read_text(), re.MULTILINE)
    assert [set(re.findall(r"\w+", row)) for row in rows] == [set(layer.split(" | ")) for layer in contract["layers"]]


def test_no_file_or_function_is_too_long() -> None:
    # 400 lines of a file: past that it is two.
    for folder in ("hwsim", "rtl", "tb"):
        for path in (ROOT / folder).rglob("*.py"):
            assert len(path.read_text().splitlines()) <= 400, path
