"""The geometry of shared scales.

A block is `rows` by `columns` elements of a matrix that share one scale. Of A, shaped (M, K), blocks run along K
in columns; of B, shaped (K, N), in rows: MX has (1, 32) for A and (32, 1) for B.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, PlainValidator, Strict, ValidationError

from hwsim.base.errors import InputError
from hwsim.formats import FieldFormat, Format, formats, get_format, parse
from hwsim.formats.catalog import tables
from hwsim.formats.yamlfile import RuleError, broken_rule

Scalar = TypeVar("Scalar", bound=np.generic)


# What a format that is none of `Kind.of_operands` breaks.
OF_OPERANDS = "must have at most 32 bits, and no negative number of integer or fraction bits"


# What a table breaks that is the format of anything but factors.
NO_TABLE = "must be a float, a fixed format or a power of two"


def reference(value: Any) -> Format:
    """The format that a name, a path, a mapping of keys or a format itself refers to."""
    if isinstance(value, str):
        return get_format(value)
    if isinstance(value, Format):
        return value
    if isinstance(value, dict):
        return _written_out(value)
    raise InputError("must be the name of a format or the path of a format's file")


def _written_out(keys: dict[str, Any]) -> Format:
    """The format that keys inside a specification describe. Raises ValueError."""
    try:
        return parse(keys)
    except ValidationError as error:
        first = error.errors()[0]
        inside, rule = broken_rule(first)
        where = (*first["loc"][1:], *inside)  # without the kind, by which pydantic chose
        raise RuleError(".".join(map(str, where)), f"must be a format: {rule}" if not where else rule) from None


def as_written(fmt: Format) -> Any:
    """A format as a specification writes it: its name, or all of its keys where hwsim does not ship it."""
    if fmt in (formats().get(fmt.name), tables().get(fmt.name)):
        return fmt.name
    keys = fmt.model_dump(mode="json", exclude_defaults=True)
    return {"name": keys.pop("name"), "kind": fmt.kind, **keys}


def field_format(value: Any) -> FieldFormat:
    """The format that a value refers to, which must be no table. Raises RuleError (a ValueError)."""
    fmt = reference(value)
    if not isinstance(fmt, FieldFormat):
        raise RuleError("", f"{NO_TABLE}, not {fmt.name}")
    return fmt


def _operand_format(value: Any) -> FieldFormat:
    fmt = field_format(value)
    if not fmt.of_operands:
        raise RuleError("", f"{OF_OPERANDS}; {fmt.name} has others")
    return fmt


FormatField = Annotated[FieldFormat, PlainValidator(_operand_format), PlainSerializer(as_written)]


Size = Annotated[int, Strict(), Field(ge=1, le=1 << 20)]


class BlockScale(BaseModel):
    """One operand's shared scales.

    block: rows and columns of the matrix that share one scale.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: FormatField
    block: tuple[Size, Size]


def scale_shape(rows: int, columns: int, block: tuple[int, int]) -> tuple[int, int]:
    """The shape of the scales of a matrix of `rows` by `columns`; the last blocks may be cut short."""
    return -(-rows // block[0]), -(-columns // block[1])


def per_term(scales: np.ndarray[Any, np.dtype[Scalar]], length: int, k: int) -> np.ndarray[Any, np.dtype[Scalar]]:
    """Scales of blocks of `length` terms, repeated: (n, ceil(k / length)) -> (n, k)."""
    return np.repeat(scales, length, axis=1)[:, :k]


@lru_cache(maxsize=64)
def one_code(fmt: Format) -> int:
    """The code of scale 1, for terms that fill up a group; in a format without 1, of the scale nearest to it."""
    return int(fmt.encode(1.0, missing="saturate"))
