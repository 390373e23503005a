"""What all parts of a report have in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field

from hwsim.errors import InputError

Count = Annotated[int, Field(ge=0)]


class Record(BaseModel):
    """Frozen, and with no other keys than those named."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def changed(self, **changes: Any) -> Self:
        """The same with other values, which are checked as the first ones were."""
        return type(self).model_validate(dict(self) | changes)


def named_once(names: Iterable[Any], what: str) -> None:
    """Raise InputError where a name comes twice."""
    seen = set()
    for name in names:
        if name in seen:
            raise InputError(f"{what} must have names of their own, not {name} more than once")
        seen.add(name)
