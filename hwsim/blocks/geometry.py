"""The geometry of shared scales.

A block is `rows` by `columns` elements of a matrix that share one scale. Of A, shaped (M, K), blocks run along K
in columns; of B, shaped (K, N), in rows: MX has (1, 32) for A and (32, 1) for B.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, PlainValidator

from hwsim.formats import Format, get_format
from hwsim.formats.catalog import formats

Scalar = TypeVar("Scalar", bound=np.generic)


def reference(value: Any) -> Format:
    """A format, from what a specification may hold in its place: a name, a path or a format."""
    if isinstance(value, str):
        return get_format(value)
    if isinstance(value, BaseModel):
        return value  # type: ignore[return-value]
    raise ValueError("must be the name of a format or the path of a format's file")


def as_written(fmt: Format) -> Any:
    """A format as a specification writes it: its name, or all of it where hwsim does not ship it."""
    return fmt.name if formats().get(fmt.name) == fmt else fmt.model_dump(mode="json", exclude_defaults=True)


FormatField = Annotated[Format, PlainValidator(reference), PlainSerializer(as_written)]


class BlockScale(BaseModel):
    """One operand's shared scales.

    block: rows and columns of the matrix that share one scale.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: FormatField
    block: tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]]


def scale_shape(rows: int, columns: int, block: tuple[int, int]) -> tuple[int, int]:
    """The shape of the scales of a matrix of `rows` by `columns`; the last blocks may be cut short."""
    return -(-rows // block[0]), -(-columns // block[1])


def per_term(scales: np.ndarray[Any, np.dtype[Scalar]], length: int, k: int) -> np.ndarray[Any, np.dtype[Scalar]]:
    """Scales of blocks of `length` terms, repeated: (n, ceil(k / length)) -> (n, k)."""
    return np.repeat(scales, length, axis=1)[:, :k]
