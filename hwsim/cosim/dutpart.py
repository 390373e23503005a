"""What the parts of a user's design file share: their base, and kinds of words."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, Strict

Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_$]*$")]
Parameter = Annotated[int, Strict()] | str


class DutPart(BaseModel):
    """A part of the file: frozen, with no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")
