"""The areas of other projects' units, with their source: they are shown beside a study's units."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from importlib.resources import files

import yaml
from pydantic import BaseModel, ConfigDict, Field


class ReferenceUnit(BaseModel):
    """A unit that was synthesised as ours are. operands: what its factors may be; lanes: products a cycle."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    what: str
    operands: tuple[str, ...]
    lanes: int = Field(ge=1)
    gates: int = Field(ge=1)
    flipflops: int | None = None
    depth: int | None = None
    comb: int | None = None
    megahertz: float | None = None

    @property
    def gates_per_lane(self) -> float:
        """Gates for each product a cycle."""
        return self.gates / self.lanes


class References(BaseModel):
    """All reference units, and how they were measured."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    units: tuple[ReferenceUnit, ...]

    def of(self, operands: Collection[str]) -> tuple[ReferenceUnit, ...]:
        """The reference units that multiply one of these formats."""
        return tuple(unit for unit in self.units if set(unit.operands) & set(operands))


@cache
def references() -> References:
    """The units in references.yaml."""
    return References.model_validate(yaml.safe_load(files("hwsim.study.area").joinpath("references.yaml").read_text()))
