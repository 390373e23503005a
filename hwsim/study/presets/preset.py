"""What a preset is given to make its report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

if TYPE_CHECKING:
    from hwsim.study.plan import Study
    from hwsim.study.results import Results

T = TypeVar("T")
Size = Literal["tiny", "quick", "full"]


def one_by_one(items: Sequence[str], _what: str) -> Iterator[str]:
    """The items, and nothing shown."""
    return iter(items)


@dataclass(frozen=True, kw_only=True)
class Context:
    """The place, the size and the means of one run of a preset.

    folder: where its studies and files go. size: `tiny` takes seconds, `quick` minutes, `full` as long as it needs.
    command: what made the report, for its figures. run: carries a study out, in a folder of its own under `folder`.
    each: gives the items of long work one by one, and shows how far it is, under that name.
    """

    folder: Path
    size: Size
    command: str
    run: Callable[[Study], Results]
    each: Callable[[Sequence[str], str], Iterator[str]] = one_by_one

    def pick(self, *, tiny: T, quick: T, full: T) -> T:
        """What goes with the size."""
        return {"tiny": tiny, "quick": quick, "full": full}[self.size]
