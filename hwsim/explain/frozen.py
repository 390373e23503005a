"""What all records of reports have in common: they are frozen, and every text in them is fit for XML, HTML and JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from hwsim.base.errors import InputError

# What XML 1.0 and HTML cannot hold: controls, halves of surrogate pairs, noncharacters. A terminal's colours go.
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
UNFIT = re.compile("[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd\U00010000-\U0001fffd\U00020000-\U0010fffd]")


def fit(data: Any) -> Any:
    """A text, and every text of a mapping or a list, with U+FFFD in the place of what documents cannot hold."""
    if isinstance(data, str):
        return UNFIT.sub("\ufffd", COLOURS.sub("", data).replace("\r\n", "\n"))
    if isinstance(data, dict):
        return {fit(key): fit(value) for key, value in data.items()}
    return [fit(item) for item in data] if isinstance(data, list) else data


Text = Annotated[str, BeforeValidator(fit)]


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
