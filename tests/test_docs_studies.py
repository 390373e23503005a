"""What the pages say of studies: papers have a script, a page and figures; studies that are shown can be planned.

What scripts print is tested in tests/papers.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer.main
import yaml
from documents import DATA, ROOT, STUDIES, Command, blocks, commands, takes_minutes

from hwsim.cli import main
from hwsim.cli.commands import app
from hwsim.study.data import parse_data
from hwsim.study.plan import load_study

STUDIED = [command for command in commands("hwsim") if takes_minutes(command)]


@pytest.mark.parametrize("command", STUDIED, ids=[f"{item.where} {' '.join(item.words[2:4])}" for item in STUDIED])
def test_a_study_that_is_shown_can_be_run(command: Command, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = typer.main.get_command(app)
    context = program.commands["study"].make_context("study", list(command.words[2:]))  # type: ignore[attr-defined]
    assert context.params["output"] is not None
    assert main([*command.words[1:], "--dry-run"]) == 0, capsys.readouterr().err
    assert "products" in capsys.readouterr().out


def test_every_paper_has_a_page_and_every_page_its_script_and_figures() -> None:
    pages = {page.stem: page.read_text(encoding="utf-8") for page in STUDIES.glob("*.md")}
    shown = {item.where.split(":")[0]: item.words[1] for item in commands("python") if "papers" in item.words[1]}
    scripts = {path.stem.replace("_", "-") for path in (ROOT / "examples" / "papers").glob("*.py")}
    named = set(pages) - {"README", "pareto"}
    assert named == scripts - {"minilm", "paper", "training"}
    for name in named:
        assert shown[f"studies/{name}.md"] == f"examples/papers/{name.replace('-', '_')}.py"
        assert re.search(rf"^!\[[^\]]+\]\(figures/{name}[\w-]*\.svg\)$", pages[name], re.MULTILINE), name
        assert f"]({name}.md)" in pages["README"]
    figures = set(re.findall(r"\(figures/(\S+)\)", "\n".join(pages.values())))
    assert figures == {path.name for path in (STUDIES / "figures").iterdir()}


def test_studies_that_are_shown_load(files: Path) -> None:
    studies = [block.text.split()[1] for block in blocks("yaml") if re.search(r"^study:", block.text, re.MULTILINE)]
    assert studies and all(load_study(files / name).units for name in studies)


def test_data_that_are_shown_are_understood() -> None:
    entries = [entry for block in blocks("yaml") if block.text.startswith(DATA) for entry in yaml.safe_load(block.text)]
    names = [parse_data(entry, Path()).name for entry in entries]
    assert names and len(set(names)) == len(names)
