"""Faults in designs: each a change of the text, with the names of its true causes.

Sixty in six designs, each at one place (`FAULTS`); more that were written after the catalogue (`UNSEEN`); and those of
designs written as one writes a first version (`FOREIGN`), some with several mistakes at once. A fault is written before
it is known what a run says of it. Several names of one cause are the same function in that design, as a shifter without
its stage of 16 places is one whose distance is taken modulo 16, where none is 32 or more.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

DESIGNS = Path(__file__).with_name("designs")


@dataclass(frozen=True)
class Fault:
    """Changes of a design's text. cause: the true one, in words.

    bugs: the names of each mistake in it; none where the catalogue has none. edits: what stands once in the design, and
    what takes its place. says: what must be said of it where it has no name.
    """

    design: str
    cause: str
    bugs: tuple[tuple[str, ...], ...]
    edits: tuple[tuple[str, str], ...]
    says: str = ""

    @property
    def id(self) -> str:
        """For a test."""
        return f"{self.design}: {self.cause}"

    @property
    def names(self) -> frozenset[str]:
        """Every true name."""
        return frozenset(name for bug in self.bugs for name in bug)

    def written(self, folder: Path) -> Path:
        """The design with the fault, in a folder; its file."""
        data = yaml.safe_load((DESIGNS / f"{self.design}.yaml").read_text())
        (source,) = data["sources"]
        text = (DESIGNS / source).read_text()
        for old, new in self.edits:
            assert text.count(old) == 1, f"{self.id}: {old!r} must stand once in {source}"
            text = text.replace(old, new)
        copy = folder / Path(source).name
        copy.write_text(text)
        data |= {"unit": str(DESIGNS / data["unit"]), "sources": [copy.name]}
        path = folder / "dut.yaml"
        path.write_text(yaml.safe_dump(data, sort_keys=False))
        return path


def _fault(design: str, one: dict[str, Any]) -> Fault:
    bugs = one.get("bugs") or ([one["causes"]] if one["causes"] else [])
    edits = one.get("edits") or [(one["old"], one["new"])]
    named = tuple(tuple(bug) for bug in bugs)
    return Fault(
        design, one.get("cause") or named[0][0], named, tuple((old, new) for old, new in edits), one.get("says", "")
    )


def _read(name: str) -> list[Fault]:
    data = yaml.safe_load(Path(__file__).with_name(name).read_text())
    return [_fault(design, one) for design, faults in data.items() for one in faults]


FAULTS = _read("seeded.yaml")
UNSEEN = _read("unseen.yaml")  # written after the catalogue
FOREIGN = _read("foreign.yaml")
