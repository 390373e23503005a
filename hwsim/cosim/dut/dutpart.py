"""What the parts of DUT.yaml are made of: frozen mappings without unknown keys, and the words in them."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, Strict

MOST_CYCLES = 4096  # of a latency, and of a schedule
# A port, with fields and indices behind its name.
SELECTED = r"[A-Za-z_][A-Za-z0-9_$]*(?:\.[A-Za-z_][A-Za-z0-9_$]*|\[\d+(?::\d+)?\])*"
Positive = Annotated[int, Strict(), Field(ge=1)]
Whole = Annotated[int, Strict(), Field(ge=0)]
Parameter = Annotated[int, Strict()] | str
Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_$]*$")]
Slice = Annotated[str, Field(pattern=f"^{SELECTED}$")]
Bit = Slice  # of one bit, which only its port knows


class DutPart(BaseModel):
    """A part of the file: frozen, with no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")
