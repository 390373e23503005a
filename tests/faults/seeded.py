"""Sixty faults in six designs: each a change of the text at one place, with the names of its true cause.

A fault is written before it is known what a run says of it. Several names of one cause are the same function in that
design, as a shifter without its stage of 16 places is one whose distance is taken modulo 16, where none is 32 or more.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml

DESIGNS = Path(__file__).with_name("designs")


@dataclass(frozen=True)
class Fault:
    """A change of a design's text. cause: the true one. names: of it; none where the catalogue has none.

    old: what stands there once. new: what takes its place.
    """

    design: str
    cause: str
    names: tuple[str, ...]
    old: str
    new: str

    @property
    def id(self) -> str:
        """For a test."""
        return f"{self.design}: {self.cause}"

    def written(self, folder: Path) -> Path:
        """The design with the fault, in a folder; its file."""
        data = yaml.safe_load((DESIGNS / f"{self.design}.yaml").read_text())
        (source,) = data["sources"]
        text = (DESIGNS / source).read_text()
        assert text.count(self.old) == 1, f"{self.id}: {self.old!r} must stand once in {source}"
        (folder / source).write_text(text.replace(self.old, self.new))
        data |= {"unit": str(DESIGNS / data["unit"])}
        path = folder / "dut.yaml"
        path.write_text(yaml.safe_dump(data, sort_keys=False))
        return path


def _read(name: str) -> list[Fault]:
    data = yaml.safe_load(Path(__file__).with_name(name).read_text())
    return [
        Fault(design, one.get("cause") or one["causes"][0], tuple(one["causes"]), one["old"], one["new"])
        for design, faults in data.items()
        for one in faults
    ]


FAULTS = _read("seeded.yaml")
UNSEEN = _read("unseen.yaml")  # written after the catalogue
