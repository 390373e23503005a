"""The specification of the results of a dot-product unit, bit for bit, with its rules checked.

Registers and cycles are in `hwsim.spec.implementation.Pipeline`. The arithmetic that these settings choose is in
`hwsim docs arithmetic`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import model_validator

from hwsim.markup import facts, titled
from hwsim.spec.fields import vary
from hwsim.spec.parts import UnitKeys
from hwsim.spec.rules import check


class Unit(UnitKeys):
    """A dot-product unit. `hwsim units NAME` prints one as YAML."""

    @model_validator(mode="after")
    def _rules(self) -> Self:
        check(self)
        return self

    def _repr_html_(self) -> str:
        """What a notebook shows: the keys, by their parts."""
        parts = self.model_dump(mode="json", exclude_defaults=True)
        rows = ((part, _said(value)) for part, value in parts.items() if part not in ("unit", "summary"))
        return titled(self.name, self.summary, facts(rows))

    def replace(self, changes: Mapping[str, Any] | None = None, /, **fields: Any) -> Self:
        """This unit with other keys, checked as a file's are.

        changes, fields: from a key's path in the unit's file (`sum.fraction_bits`) or a short name (`fraction_bits`,
        `lost`, `result`, `rounding`, `a`, `b`, `method`, `accumulator`, `lanes`, `interval`) to its value there. The
        unit's name says what is other.
        Raises SpecError for what is no key, naming the nearest, and for a value that breaks a rule.
        """
        return vary(self, {**(changes or {}), **fields})


def _said(value: Any) -> str:
    """A value of a key in a line; formats by their names."""
    if isinstance(value, Mapping):
        return str(value["name"]) if "kind" in value else ", ".join(f"{key} {_said(one)}" for key, one in value.items())
    if isinstance(value, (list, tuple)):
        return (
            " x ".join(map(_said, value)) if all(isinstance(one, int) for one in value) else "; ".join(map(str, value))
        )
    return "none" if value is None else str(value)
