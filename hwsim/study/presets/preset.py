"""What a preset is given to make its report, and its page: the YAML file of its name, filled from records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, get_args

import yaml

from hwsim.runners import Rows
from hwsim.study.parts import StudyInParts
from hwsim.study.plan import Study, load_study, points
from hwsim.study.report.contents import KeyNumber, StudyReport
from hwsim.study.report.declared import Record, part, pick, said
from hwsim.study.results import Results

SEED = 1  # of every preset, and of a study that names none
Size = Literal["tiny", "quick", "full"]
Records = list[dict[str, Any]]


def one_by_one(items: Sequence[str], _what: str) -> Iterator[str]:
    """The items, and nothing shown."""
    return iter(items)


@dataclass(frozen=True, kw_only=True)
class Context:
    """The place, the size and the means of one run of a preset.

    folder: where its studies and files go. size: `tiny` takes seconds, `quick` minutes, `full` as long as it needs.
    seed: of everything that it draws.
    command: what made the report, for its figures. run: carries a study out, in a folder of its own under `folder`.
    run_parts: carries out a study that is no grid of units, in the same way.
    each: gives the items of long work one by one, and shows how far it is, under that name.
    """

    folder: Path
    size: Size
    command: str
    run: Callable[[Study], Results]
    run_parts: Callable[[StudyInParts], Rows]
    each: Callable[[Sequence[str], str], Iterator[str]] = one_by_one
    seed: int = SEED


@dataclass(frozen=True)
class Page:
    """A preset's file, of one size: where it has {tiny: ..., quick: ..., full: ...}, the value of that.

    given: what its module takes from it, and its texts too. The file's other keys are `title`, `summary`, `sources`,
    `studies`, and `parts`, as `hwsim.study.report.declared` has them; `picks`, names of records of the tables;
    `verdict`, what was found, and `key`, the numbers that the page opens with: these name picks, as {best[snr]:.1f}.
    """

    name: str
    data: Mapping[str, Any]

    @property
    def given(self) -> dict[str, Any]:
        """The values under `given`."""
        return dict(self.data["given"])

    def run(self, context: Context, study: str) -> Records:
        """The records of one of its studies: see `records`."""
        made = load_study(self.data["studies"][study], context.folder, changes={"seed": context.seed})
        return records(context.run(made))

    def report(self, context: Context, tables: Mapping[str, Sequence[Record]], **words: Any) -> StudyReport:
        """The report. words: what its texts say besides `given`."""
        picks = {name: pick(one, tables) for name, one in self.data["picks"].items()}
        words = {**self.given, **words, **picks}
        return StudyReport(
            name=self.name,
            title=said(self.data["title"], words),
            command=context.command,
            verdict=said(self.data["verdict"], words),
            key=tuple(KeyNumber(**{name: said(text, words) for name, text in one.items()}) for one in self.data["key"]),
            summary=tuple(said(text, words) for text in self.data["summary"]),
            parts=tuple(part(one, tables, words) for one in self.data["parts"]),
            sources=tuple(self.data["sources"]),
        )


def load_page(name: str, size: Size, package: str = "hwsim.study.presets") -> Page:
    """A preset's file, of one size. package: that it comes with."""
    text = files(package).joinpath(f"{name}.yaml").read_text("utf-8")
    return Page(name, _of_size(yaml.safe_load(text), size))


def _of_size(value: Any, size: Size) -> Any:
    if isinstance(value, list):
        return [_of_size(one, size) for one in value]
    if not isinstance(value, dict):
        return value
    if set(value) == set(get_args(Size)):
        return _of_size(value[size], size)
    return {key: _of_size(one, size) for key, one in value.items()}


def records(results: Results) -> Records:
    """A record for each point of a study: its summary, and by the names of its grid what they are of it.

    `entry` is the label of the unit's entry, `results` how many a trial has, and MEASURE_most the largest of a measure
    over the trials, where the summary has their mean.
    """
    study = results.study
    made = [
        {**summary, **point.axes, "entry": point.axes["unit"], "results": study.rows * study.columns}
        for summary, point in zip(results.points, points(study), strict=True)
    ]
    for measure in results.measures:
        largest = results.rows[measure].to_numpy().reshape(len(made), study.trials).max(axis=1)
        for one, value in zip(made, largest.tolist(), strict=True):
            one[f"{measure}_most"] = value
    return made
