"""Newcomers' paths: the tutorials, as the scripts that their pages are, from a wheel in an environment of its own.

Each page's files are written to an empty folder, and its commands and Python run in their order, nothing else.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from documents import FENCE, ROOT

# Pages, and the extras that they name. To a first verdict, and vectors into a SystemVerilog testbench, is one page.
PATHS = {
    "silicon-teams": (),
    "tutorial-unit": ("study", "synthesis", "prove"),
    "tutorial-torch": ("torch", "study"),
}
MINUTES = 30  # a person's ten, on a machine that does something else, and what is compiled


def script(page: str) -> str:
    """A page's commands as a script that ends where one has another status than the page says."""
    lines = ["set -u"]
    for language, text in FENCE.findall((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")):
        if language == "python":
            lines.append(f"python - <<'END_OF_PYTHON' || exit 9\n{text}END_OF_PYTHON")
        elif language == "sh":
            for line in re.sub(r" *\\\n *", " ", text).splitlines():
                stated = re.search(r"#.*exit status (\d+)", line)
                lines.append(f"{line}\n[ $? = {stated[1] if stated else 0} ] || exit 9")
    return "\n".join(lines) + "\n"


def write_files(page: str, folder: Path) -> None:
    """The files that a page shows, each named in its first line."""
    for language, text in FENCE.findall((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")):
        if language in ("yaml", "verilog"):
            name = re.match(r"(?:#|//) (\S+)\n", text)
            assert name, text
            (folder / name[1]).write_text(text)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy, out = tmp_path_factory.mktemp("source") / "hwsim", tmp_path_factory.mktemp("wheel")
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(copy)], check=True)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(out), str(copy)]
    subprocess.run(command, check=True)
    (built,) = out.iterdir()
    return built


@pytest.mark.slow  # each page's commands run in this process in test_docs.py
@pytest.mark.simulator
@pytest.mark.parametrize("page", PATHS)
def test_a_path_is_walked_from_a_wheel(page: str, wheel: Path, tmp_path: Path) -> None:
    own, folder = tmp_path / "environment", tmp_path / "walk"
    venv.create(own, with_pip=True)
    extras = f"[{','.join(PATHS[page])}]" if PATHS[page] else ""
    subprocess.run([own / "bin/python", "-m", "pip", "install", "--quiet", f"{wheel}{extras}"], check=True)
    folder.mkdir()
    write_files(page, folder)
    (folder / "walk.sh").write_text(script(page))
    assert shutil.which("bash")
    variables = {"PATH": f"{own}/bin:/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run(
        ["bash", "-x", "walk.sh"], cwd=folder, env=variables, capture_output=True, text=True, timeout=60 * MINUTES
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
