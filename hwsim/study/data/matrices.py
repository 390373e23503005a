"""The data of a study: a named source of numbers for each factor, and the matrices of a trial."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, SerializeAsAny, model_validator

from hwsim.base.errors import InputError
from hwsim.formats.yamlfile import RuleError
from hwsim.study.data.parameters import StudyModel
from hwsim.study.data.sources import CorrelatedSource, Source
from hwsim.study.data.streams import GENERATION, StreamKey
from hwsim.study.data.tensors import Tensor

SIDES = ("a", "b")
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]


class Data(StudyModel):
    """The numbers of A and of B. name: keys what is drawn, with the seed, the length and the trial."""

    name: Name
    a: SerializeAsAny[Source]
    b: SerializeAsAny[Source]

    @model_validator(mode="after")
    def _both_correlated(self) -> Data:
        for side, one, other in (("a", self.a, self.b), ("b", self.b, self.a)):
            if isinstance(one, CorrelatedSource) and one != other:
                raise RuleError(side, "must not be correlated unless the other side is, with the same parameters")
        return self

    @property
    def tensors(self) -> dict[str, Tensor]:
        """The sides whose numbers come from a tensor."""
        sides = {"a": self.a, "b": self.b}
        return {side: source for side, source in sides.items() if isinstance(source, Tensor)}


class Drawn(NamedTuple):
    """The numbers of a trial. a: float32[rows, K]. b: float32[K, columns]."""

    a: NDArray[np.float32]
    b: NDArray[np.float32]


def draw(data: Data, seed: int, trial: int, length: int, rows: int, columns: int) -> Drawn:
    """The numbers of a trial, rounded to nearest, to binary32. All are finite.

    They depend on the arguments alone, bit for bit, on every machine and in every version of Python and NumPy. With
    more rows or columns the first ones stay as they are.
    Raises ValueError for a size below 1, and as `check` does.
    """
    _check_sizes(length=length, rows=rows, columns=columns)
    a = data.a.vectors(StreamKey(seed, data.name, "a", length, trial), rows)
    b = data.b.vectors(StreamKey(seed, data.name, "b", length, trial), columns)
    return Drawn(a.astype(np.float32), np.ascontiguousarray(b.T.astype(np.float32)))


def check(data: Data, lengths: Iterable[int], rows: int, columns: int) -> None:
    """Reads all tensors. Raises ValueError where trials of those sizes could not be drawn.

    That is where a file is missing or holds no matrix of floats, a number is not finite, or there are too few.
    """
    wanted = list(lengths)
    for length in wanted:
        _check_sizes(length=length, rows=rows, columns=columns)
    for side, tensor in data.tensors.items():
        for length in wanted:
            tensor.check_size(side, length, rows if side == "a" else columns)
        tensor.check_finite()


def digest(data: Data) -> str:
    """A hash of all that `draw` depends on besides its other arguments: the name, the parameters, tensors' numbers.

    It does not depend on where tensors are stored. Raises ValueError for a tensor that cannot be read.
    """
    sides = {
        side: source.content() if isinstance(source, Tensor) else source.model_dump()
        for side, source in zip(SIDES, (data.a, data.b), strict=True)
    }
    text = json.dumps({"generation": GENERATION, "name": data.name, **sides}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _check_sizes(**sizes: Any) -> None:
    for name, size in sizes.items():
        if size < 1:
            raise InputError(f"{name} must be at least 1, not {size}")
