"""Number formats as validated data.

Three kinds: `FloatFormat` (sign, exponent, fraction), `FixedFormat` (two's complement) and
`ExponentFormat` (a power of two, as MX shared scales are). `hwsim.formats.kind.Kind` is what all of them answer.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from hwsim.formats.exponent import ExponentFormat
from hwsim.formats.fixed import FixedFormat
from hwsim.formats.floats import FloatFormat

__all__ = ["ExponentFormat", "FixedFormat", "FloatFormat", "Format", "parse"]

Format = FloatFormat | FixedFormat | ExponentFormat
_adapter: TypeAdapter[Format] = TypeAdapter(Annotated[Format, Field(discriminator="kind")])


def parse(data: dict[str, Any]) -> Format:
    """The format that a mapping describes. Raises pydantic's ValidationError."""
    return _adapter.validate_python(data)
