"""The key `flags` of a design's file: where its status flags are, and what IEEE 754 leaves open of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import model_validator

from hwsim.cosim.dut.dutpart import DutPart, Slice
from hwsim.errors import InputError
from hwsim.model.flags import FLAG_NAMES, FlagName, FlagRules


class FlagPorts(DutPart):
    """A bit of a port for each flag that is compared.

    tininess: when a result counts as tiny: as it is before rounding, or after it. signaling: which NaN operands raise
    invalid: those that signal (`invalid`), none (`quiet`), or `all`.
    """

    invalid: Slice | None = None
    divide_by_zero: Slice | None = None
    overflow: Slice | None = None
    underflow: Slice | None = None
    inexact: Slice | None = None
    nan: Slice | None = None
    tininess: Literal["before", "after"] = "after"
    signaling: Literal["invalid", "quiet", "all"] = "invalid"

    @model_validator(mode="after")
    def _some(self) -> FlagPorts:
        if not any(True for _ in flagged(self)):
            raise InputError(f"must name a flag ({', '.join(FLAG_NAMES)})")
        return self

    @property
    def rules(self) -> FlagRules:
        """What IEEE 754 leaves open."""
        return FlagRules(self.tininess, self.signaling)


def flagged(ports: FlagPorts | None) -> Iterator[tuple[FlagName, str]]:
    """The flags that a design has, with the bit of each."""
    for name in FLAG_NAMES:
        port = None if ports is None else getattr(ports, name)
        if port is not None:
            yield name, port
