"""A matrix of jobs: every combination of its axes, less what `exclude` names, with what `include` adds."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Strict, model_validator

from hwsim.cosim.design import SuiteKind
from hwsim.errors import InputError
from hwsim.formats.yamlfile import RuleError
from hwsim.fuzz.findings import MOST_CASES

MOST_SEED = 2**32 - 1
MOST_RANGE = 100_000  # seeds of `1..N`
AXES = ("unit", "mode", "design", "pipeline", "seed", "simulator", "cases")

Simulator = Literal["verilator", "icarus"]
Seed = Annotated[int, Strict(), Field(ge=0, le=MOST_SEED)]
Cases = Annotated[int, Strict(), Field(ge=1, le=MOST_CASES)]
Seconds = Annotated[int, Strict(), Field(ge=1)]
Named = Annotated[str, Field(min_length=1)]


class CampaignModel(BaseModel):
    """A part of a campaign's file: frozen, with no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def listed(value: Any) -> Any:
    """A list, of one value where it is not a list."""
    return value if isinstance(value, (list, tuple)) else [value]


def _seeds(value: Any) -> Any:
    """Seeds, where a range is written `1..20`; both ends are of it."""
    found = list[Any]()
    for one in listed(value):
        first, dots, last = one.partition("..") if isinstance(one, str) else ("", "", "")
        if not (dots and first.isdecimal() and last.isdecimal()):
            found.append(one)
            continue
        if not 0 <= int(last) - int(first) < MOST_RANGE:
            raise RuleError("", f"must be FIRST..LAST of 1 to {MOST_RANGE:,} seeds, not {one!r}")
        found += range(int(first), int(last) + 1)
    return found


# Tables are of all formats: jobs of their own, which `tables` asks for.
SUITES = tuple(kind for kind in SuiteKind if kind is not SuiteKind.TABLES)


def _suites(value: Any) -> Any:
    for name in listed(value):
        if name not in SUITES:
            raise RuleError("", f"must be of {', '.join(SUITES)}, not {name!r}")
    return listed(value)


def _steps(value: Any) -> Any:
    """Steps by their names; of `none`, none."""
    if value == "none":
        return []
    return [step.strip() for step in value.split(",") if step.strip()] if isinstance(value, str) else value


class PipelineKeys(CampaignModel):
    """How a unit is built. cuts, contexts: as `hwsim cosim --cuts` and `--contexts`; the usual ones unless given."""

    cuts: Annotated[tuple[str, ...], BeforeValidator(_steps)] | None = None
    contexts: Annotated[int, Strict(), Field(ge=1)] | None = None
    register_ready: bool = False

    @property
    def label(self) -> str:
        """What names of jobs call it; empty where all is as usual."""
        cuts = "" if self.cuts is None else "+".join(self.cuts) or "none"
        return "-".join(
            [
                *([cuts] if cuts else []),
                *([f"x{self.contexts}"] if self.contexts is not None else []),
                *(["ready"] if self.register_ready else []),
            ]
        )


def _pipeline(value: Any) -> Any:
    return {} if value == "usual" else value


Built = Annotated[PipelineKeys, BeforeValidator(_pipeline)]
Suites = Annotated[tuple[SuiteKind, ...], BeforeValidator(_suites), Field(min_length=1)]


class Combination(CampaignModel):
    """Values of some axes, and of keys that are no axis."""

    unit: Named | None = None
    mode: Named | None = None
    design: Named | None = None
    pipeline: Built | None = None
    seed: Seed | None = None
    simulator: Simulator | None = None
    cases: Cases | None = None
    suites: Suites | None = None
    stuck_after: Seconds | None = None
    coverage: bool | None = None

    @property
    def said(self) -> dict[str, Any]:
        """The keys that were given."""
        return {key: getattr(self, key) for key in self.model_fields_set}

    @model_validator(mode="after")
    def _says_something(self) -> Combination:
        if not self.model_fields_set:
            raise RuleError("", "must have a key at least")
        return self


class JobMatrix(CampaignModel):
    """Axes, whose values are combined. exclude: parts of combinations that are left out; one must match something.

    include: as GitHub's workflows have it. Its keys are added to each combination whose own values they do not change;
    where there is none, it is a combination itself.
    """

    unit: Annotated[tuple[Named, ...], BeforeValidator(listed)] = ()
    mode: Annotated[tuple[Named, ...], BeforeValidator(listed)] = ()
    design: Annotated[tuple[Named, ...], BeforeValidator(listed)] = ()
    pipeline: Annotated[tuple[Built, ...], BeforeValidator(listed)] = ()
    seed: Annotated[tuple[Seed, ...], BeforeValidator(_seeds)] = (1,)
    simulator: Annotated[tuple[Simulator, ...], BeforeValidator(listed)] = ("verilator", "icarus")
    cases: Annotated[tuple[Cases, ...], BeforeValidator(listed)] = ()
    exclude: tuple[Combination, ...] = ()
    include: tuple[Combination, ...] = ()

    @model_validator(mode="after")
    def _has_something(self) -> JobMatrix:
        if not (self.unit or self.design or self.include):
            raise RuleError("", "must have unit or design, an axis of one at least")
        if self.unit and self.design:
            raise RuleError("design", "must be a matrix of its own: a job is of a unit or of a design")
        return self

    def combinations(self, excluded_nothing: Callable[[int], InputError]) -> Iterator[Combination]:
        """All combinations, in the order of the axes. excluded_nothing: what to raise for an `exclude` without use."""
        names = [name for name in AXES if getattr(self, name)]
        values = itertools.product(*(getattr(self, name) for name in names)) if self.unit or self.design else ()
        kept = [dict(zip(names, one, strict=True)) for one in values]
        for at, out in enumerate(self.exclude):
            left = [one for one in kept if not _has(one, out.said)]
            if len(left) == len(kept):
                raise excluded_nothing(at)
            kept = left
        grown, new = [dict(one) for one in kept], list[dict[str, Any]]()
        for more in self.include:
            said = more.said
            fitting = [at for at, one in enumerate(kept) if _fits(one, said)]
            for at in fitting:
                grown[at] |= said
            new += [] if fitting else [said]
        yield from (Combination.model_construct(set(one), **one) for one in [*grown, *new])


def _fits(one: dict[str, Any], more: dict[str, Any]) -> bool:
    """Whether keys change none of a combination's own values."""
    return all(one.get(key, value) == value for key, value in more.items())


def _has(one: dict[str, Any], part: dict[str, Any]) -> bool:
    return all(one.get(key) == value for key, value in part.items())
