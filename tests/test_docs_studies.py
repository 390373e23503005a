"""What the pages say of studies: presets exist and have a page with its figure, other studies can be planned.

`hwsim study --preset ...` and `--pareto ...` take minutes: one preset runs in its tiny size, and what presets find is
tested in tests/study and tests/training.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer.main
import yaml
from documents import DATA, STUDIES, Command, blocks, commands, takes_minutes

from hwsim.cli import arguments as complete
from hwsim.cli import main
from hwsim.cli.commands import app
from hwsim.study.data import parse_data
from hwsim.study.plan import load_study

STUDIED = [command for command in commands("hwsim") if takes_minutes(command)]
CHEAPEST = "mx"  # of the presets in their tiny size: some seconds, two of them in the processor


@pytest.mark.parametrize("command", STUDIED, ids=[f"{item.where} {' '.join(item.words[2:4])}" for item in STUDIED])
def test_a_study_that_is_shown_can_be_run(command: Command, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = typer.main.get_command(app)
    context = program.commands["study"].make_context("study", list(command.words[2:]))  # type: ignore[attr-defined]
    assert context.params["output"] is not None
    if context.params["preset"] is not None:
        assert context.params["preset"] in complete.studies()
        return
    assert main([*command.words[1:], "--dry-run"]) == 0, capsys.readouterr().err
    assert "products" in capsys.readouterr().out


def test_a_preset_ends_as_the_documents_say(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (command,) = [item for item in STUDIED if item.words[2:4] == ("--preset", CHEAPEST)]
    assert main([*command.words[1:], "--size", "tiny"]) == 0, capsys.readouterr().err
    folder = files / command.words[command.words.index("-o") + 1]
    drawn = {path.name for path in (folder / "figures").iterdir()}
    linked = set(re.findall(r"\(figures/(\S+)\)", (STUDIES / f"{CHEAPEST}.md").read_text(encoding="utf-8")))
    assert linked and linked <= drawn
    assert "<html" in (folder / "report.html").read_text(encoding="utf-8")


def test_every_preset_has_a_page_and_every_page_its_figure() -> None:
    pages = {page.stem: page.read_text(encoding="utf-8") for page in STUDIES.glob("*.md")}
    assert set(pages) - set(complete.studies()) == {"README", "pareto", "scope"}
    shown = [(item.where.split(":")[0], " ".join(item.words)) for item in STUDIED if "--preset" in item.words]
    for name in complete.studies():
        assert (f"studies/{name}.md", f"hwsim study --preset {name} -o {name}") in shown
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
