"""Studies that train networks: a page's file says what is trained and how, and what the report shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import yaml

import hwsim.torch  # noqa: F401  first: it says what to install where PyTorch is missing
from hwsim.errors import InputError
from hwsim.formats.catalog import nearest
from hwsim.runners import Rows
from hwsim.study.part import StudyPart
from hwsim.study.parts import StudyInParts
from hwsim.study.presets.preset import SEED, Context, Records, Size, load_page
from hwsim.study.report.contents import StudyReport
from hwsim.training.casts import DirectCast
from hwsim.training.gradients import GradientErrors
from hwsim.training.method import TrainingMethod
from hwsim.training.problems import PROBLEMS, Problem
from hwsim.training.runs import TrainingRun
from hwsim.training.tables import by_length, compared, curves, final

PAGES = "hwsim.training.pages"
MOST_NETWORKS = 1000  # of one study


def report(name: str, context: Context) -> StudyReport:
    """The report of a study that trains. What was trained is kept in the context's folder, and is not trained again.

    Raises ToolMissing where scikit-learn, which ships the digits, is not installed.
    """
    page = load_page(name, context.size, PAGES)
    tables: dict[str, Records] = {}
    words: dict[str, int] = {}
    for planned in _studies(name, context.size, context.seed):
        planned.problem.unseen()  # raises here, and not in every worker, where its package is missing
        tables |= planned.tables(context.run_parts(planned.parted))
        words |= planned.problem.words
    return page.report(context, tables, **words)


def plan(name: str, size: Size, seed: int = SEED) -> list[StudyInParts]:
    """What a study would train."""
    return [planned.parted for planned in _studies(name, size, seed)]


def _studies(name: str, size: Size, seed: int) -> list[_Planned]:
    return [_Planned(study, keys, size, seed) for study, keys in load_page(name, size, PAGES).data["studies"].items()]


def problem_of(kind: str, size: Size) -> Problem:
    """The problem of a kind, of one size, as `problems.yaml` has it. Raises ValueError for a kind that is none."""
    if kind not in PROBLEMS:
        raise InputError(nearest("problem", kind, PROBLEMS))
    return PROBLEMS[kind](**load_page("problems", size, __package__).data[kind])


class _Planned:
    """One study of a page.

    keys: `kind`, runs, casts or gradients; `problem`, the kind of one; `seeds`, how many; `methods`, each the keys of a
    TrainingMethod over those of `all`; `baseline`, the label that gaps are from; and `steps` and `every`, or `batches`
    and maybe `layers`.
    """

    def __init__(self, name: str, keys: dict[str, Any], size: Size, seed: int):
        self.name, self.keys = name, keys
        # The seeds of networks: those of two studies of other seeds have none in common.
        self._first_seed = 1 + (seed - 1) * MOST_NETWORKS
        self.problem = problem_of(keys["problem"], size)
        common = keys.get("all", {})
        self.methods = tuple(TrainingMethod(**{**common, **one}) for one in keys["methods"])
        self.labels = [one.label for one in self.methods]
        if len(set(self.labels)) < len(self.labels):
            raise InputError(f"{name}: labels of methods must differ")

    @property
    def parted(self) -> StudyInParts:
        """What is to be run."""
        said = yaml.safe_dump(
            {**self.keys, "problem": asdict(self.problem)}, sort_keys=False, allow_unicode=True, width=120
        )
        return StudyInParts(self.name, said, self._parts(), self._summary)

    def _parts(self) -> Sequence[StudyPart]:
        """Parts of all seeds; what takes longest comes first."""
        keys, problem, trials = self.keys, self.problem, range(self.keys["seeds"])
        match keys["kind"]:
            case "runs":
                made = [
                    TrainingRun(
                        point=point, trial=trial, problem=problem, method=method, steps=keys["steps"],
                        every=keys["every"], seed=self._first_seed + trial,
                    )
                    for trial in trials
                    for point, method in enumerate(self.methods)
                ]  # fmt: skip
                return sorted(made, key=lambda one: -one.work)
            case "casts":
                return [
                    DirectCast(
                        point=0, trial=trial, problem=problem, methods=self.methods, seed=self._first_seed + trial
                    )
                    for trial in trials
                ]
            case "gradients":
                batches, layers = tuple(keys["batches"]), keys.get("layers", "*")
                return [
                    GradientErrors(
                        point=0,
                        trial=trial,
                        problem=problem,
                        methods=self.methods,
                        batches=batches,
                        layers=layers,
                        seed=self._first_seed + trial,
                    )
                    for trial in trials
                ]
            case kind:
                raise InputError(f"{self.name}: kind must be runs, casts or gradients, not {kind!r}")

    def _summary(self, rows: Rows) -> Rows:
        return next(iter(self.tables(rows).values()))

    def tables(self, rows: Rows) -> dict[str, Records]:
        """Records by the names of tables: that of the study, and more."""
        match self.keys["kind"]:
            case "runs":
                ends = final(rows, self.labels, self.keys["baseline"])
                return {self.name: ends, f"{self.name}, curves": curves(rows, self.labels, self.keys["baseline"])}
            case "casts":
                return {self.name: compared(rows, self.labels, self.keys["baseline"])}
            case _:
                return {self.name: by_length(rows, self.labels, len(self.keys["batches"]))}
