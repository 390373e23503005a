"""What a preset is, and what it is given to make its report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from hwsim.study.report.parts import Report

T = TypeVar("T")
Size = Literal["tiny", "quick", "full"]


@dataclass(frozen=True, kw_only=True)
class Context:
    """The place, the size and the means of one run of a preset.

    folder : where its studies and files go. size : `tiny` takes seconds, `quick` minutes, `full` as long as it needs.
    command : what made the report, for its figures. run : carries a study out, in the folder.
    progress : is told of work that is done.
    """

    folder: Path
    size: Size
    command: str
    run: Callable[[Any], Any]
    progress: Any = None

    def pick(self, *, tiny: T, quick: T, full: T) -> T:
        """What goes with the size."""
        return {"tiny": tiny, "quick": quick, "full": full}[self.size]


class Preset(NamedTuple):
    """A study that a paper made: its name, its title, the paper, and what makes the report."""

    name: str
    title: str
    source: str
    report: Callable[[Context], Report]
