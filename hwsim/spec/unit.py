"""The specification of the results of a dot-product unit, bit for bit, with its rules checked.

Registers and cycles are in `hwsim.spec.implementation.Pipeline`. The arithmetic that these settings choose is in
docs/arithmetic.md.
"""

from __future__ import annotations

from typing import Self

from pydantic import model_validator

from hwsim.spec.parts import UnitKeys
from hwsim.spec.rules import check


class Unit(UnitKeys):
    """A dot-product unit. `hwsim units NAME` prints one as YAML."""

    @model_validator(mode="after")
    def _rules(self) -> Self:
        check(self)
        return self
