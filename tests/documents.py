"""What README.md and docs/ show: pages, fenced blocks, commands with what they print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
STUDIES = ROOT / "docs" / "studies"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted(STUDIES.glob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DATA = "# data\n"  # above a yaml block that holds entries of a study's data


def label(page: Path) -> str:
    """silicon.md and studies/silicon.md are two pages; so are README.md and studies/README.md."""
    return str(page.relative_to(STUDIES.parent)) if STUDIES.parent in page.parents else page.name


class Block(NamedTuple):
    """A fenced block. after: the language and the text of the one that ends just before it, or empty."""

    page: str
    line: int
    language: str
    text: str


def blocks(language: str | None = None) -> list[Block]:
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in FENCE.finditer(text):
            line = text.count("\n", 0, match.start()) + 2
            found.append(Block(label(page), line, match[1], match[2]))
    return [block for block in found if language in (None, block.language)]


def tables(text: str) -> list[list[list[str]]]:
    """The cells of every table in Markdown: header, then rows."""
    found = re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE)
    return [[[cell.strip() for cell in line.strip("|").split(" | ")] for line in one.splitlines()] for one in found]


class Command(NamedTuple):
    """A line of a `sh` block. status: what it must exit with. output: what must be printed, or None."""

    where: str
    words: tuple[str, ...]
    status: int
    output: str | None


def commands(*programs: str) -> list[Command]:
    found = []
    every = blocks()
    for at, block in enumerate(every):
        if block.language != "sh":
            continue
        following = every[at + 1] if at + 1 < len(every) else None
        lines = [line for line in block.text.splitlines() if line.strip()]
        # Output stands in a `text` block right below the only command.
        close = following is not None and following.page == block.page and following.line - block.line == len(lines) + 3
        shown = following.text if following and close and following.language == "text" and len(lines) == 1 else None
        whole = re.sub(r" *\\\n *", " ", block.text)  # a backslash continues a line
        for offset, line in enumerate(line for line in whole.splitlines() if line.strip()):
            stated = re.search(r"#.*exit status (\d+)", line)
            words = tuple(shlex.split(line, comments=True))
            if not programs or words[0] in programs:
                status = int(stated[1]) if stated else 0
                found.append(Command(f"{block.page}:{block.line + offset}", words, status, shown))
    return found


def named(items: list[Command]) -> list[str]:
    return [f"{item.where} {' '.join(item.words[:3])}" for item in items]


def assert_shown(shown: str, printed: str) -> None:
    """The output is what is shown; a line `...` stands for anything, and so does what it is shown without."""
    if not re.search(r"^\.\.\.$", shown, re.MULTILINE):
        assert printed == shown
        return
    at = 0
    for part in filter(None, re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE)):
        part = part.rstrip("\n")
        found = printed.find(part, at)
        assert found >= 0, f"not printed:\n{part}\n\nin:\n{printed[:3000]}"
        at = found + len(part)


def takes_minutes(command: Command) -> bool:
    return command.words[1] == "study" and not {"--preset", "--pareto"}.isdisjoint(command.words)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with every file that the documents show, which is the current one."""
    for block in blocks("yaml"):
        if block.text.startswith(DATA):
            continue
        name = re.match(r"# (\S+\.yaml)\n", block.text)
        assert name, f"{block.page}:{block.line}: a yaml block names its file first"
        file = tmp_path / name[1]
        assert not file.exists() or file.read_text() == block.text, f"{name[1]} is shown in two ways"
        file.write_text(block.text)
    for block in blocks("verilog"):
        name = re.match(r"// (\S+\.s?v)\n", block.text)
        assert name, f"{block.page}:{block.line}: a verilog block names its file first"
        (tmp_path / name[1]).write_text(block.text)
    for name, shape in (("acts.npy", (4, 64)), ("weights.npy", (64, 4))):  # a reader's own
        np.save(tmp_path / name, np.random.default_rng(1).normal(size=shape).astype(np.float32))
    for name, shape in (("x.codes.npy", (4, 64)), ("w.codes.npy", (64, 4)), ("x.scales.npy", (4, 2)),
                        ("w.scales.npy", (2, 4))):  # fmt: skip
        np.save(tmp_path / name, np.random.default_rng(2).integers(0, 127, shape, np.uint8))
    monkeypatch.chdir(tmp_path)
    for variable in ("HWSIM_DEBUG", "COLUMNS", "FORCE_COLOR"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path
