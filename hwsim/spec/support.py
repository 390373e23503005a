"""Whether an implementation has a unit, and what it lacks, in words."""

from __future__ import annotations

from dataclasses import dataclass


class NotImplementedYet(ValueError):
    """A valid specification asks for something that this version of hwsim does not have."""


@dataclass(frozen=True)
class Support:
    """What one implementation says of one unit; true where it has the unit.

    unit: its name. where: what is said of it after what it lacks, as `is not implemented yet`.
    lacks: the settings that it does not have, as keys of the specification with their values.
    """

    unit: str
    where: str
    lacks: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return not self.lacks

    @property
    def reason(self) -> str:
        """What is said of the first setting that is lacking; nothing of a unit that is supported."""
        return f"unit {self.unit}: {self.lacks[0]} {self.where}" if self.lacks else ""

    def demand(self) -> None:
        """Raise NotImplementedYet with the reason for a unit that is not supported."""
        if self.lacks:
            raise NotImplementedYet(self.reason)
