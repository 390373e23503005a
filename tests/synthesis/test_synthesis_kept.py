"""Figures are kept by all that they were made from, and by nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from hwsim.rtl.synthesis import Generic
from hwsim.rtl.synthesis import flows as module
from hwsim.rtl.synthesis.flows import kept

PARTS = ("script", "module top; endmodule")


class Maker:
    def __init__(self) -> None:
        self.times = 0

    def __call__(self, folder: Path) -> Generic:
        self.times += 1
        return Generic(self.times, 2, 3)


def test_the_same_parts_are_made_once(cache: Path) -> None:
    maker = Maker()
    assert [kept(Generic, ["pytest"], PARTS, maker) for _ in range(3)] == [Generic(1, 2, 3)] * 3
    assert (maker.times, len(list(cache.iterdir()))) == (1, 1)


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    "parts", [("script2", PARTS[1]), (PARTS[0], PARTS[1] + " "), ("scrip", "t" + PARTS[1]), ("".join(PARTS),)]
)
def test_other_parts_are_made_anew(parts: tuple[str, ...]) -> None:
    maker = Maker()
    kept(Generic, ["pytest"], PARTS, maker)
    assert kept(Generic, ["pytest"], parts, maker).gates == 2


@pytest.mark.usefixtures("cache")
def test_another_version_of_a_tool_makes_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    maker = Maker()
    kept(Generic, ["pytest"], PARTS, maker)
    monkeypatch.setattr(module, "version", lambda name: "0.1")
    assert kept(Generic, ["pytest"], PARTS, maker).gates == 2


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"figures": {"gates": 1}}', b'{"figures": {"gats": 1}}'])
def test_a_spoiled_file_is_made_anew(cache: Path, content: bytes) -> None:
    maker = Maker()
    kept(Generic, ["pytest"], PARTS, maker)
    (path,) = cache.iterdir()
    path.write_bytes(content)
    assert kept(Generic, ["pytest"], PARTS, maker).gates == 2
    assert kept(Generic, ["pytest"], PARTS, maker).gates == 2


def test_a_changed_figure_is_made_anew(cache: Path) -> None:
    maker = Maker()
    kept(Generic, ["pytest"], PARTS, maker)
    (path,) = cache.iterdir()
    path.write_text(path.read_text().replace('"gates": 1', '"gates": 9'))
    assert kept(Generic, ["pytest"], PARTS, maker).gates == 2


def test_a_failure_is_not_kept(cache: Path) -> None:
    def fail(folder: Path) -> Generic:
        raise OSError

    with pytest.raises(OSError):  # noqa: PT011
        kept(Generic, ["pytest"], PARTS, fail)
    assert not cache.exists()
