"""Tensors in files as a source: vectors of a matrix, chosen at random."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.base.errors import InputError
from hwsim.quantize.tensors import NUMBERS, StoredArray, file_of, numbers, parts, read
from hwsim.study.data.elementary import Floats
from hwsim.study.data.sources import Source
from hwsim.study.data.streams import StreamKey

KEPT = 8  # tensors that stay open


class Tensor(Source):
    """A tensor of a .npy, .npz or .safetensors file, as numbers that are rounded to binary32.

    tensor: `FILE.npy`, `FILE.npz:NAME` or `FILE.safetensors:NAME`. A row is a vector along K where it is A, a column
    where it is B; transpose: the other way round, as weights are mostly kept. A tensor of one axis is one vector.
    A trial takes vectors at random, none twice, and the first K numbers of each.
    """

    tensor: str
    transpose: bool = False

    @property
    def stored(self) -> StoredArray:
        """The tensor, mapped. Raises ValueError for a file that is not there or holds no matrix of floats."""
        path = file_of(self.tensor)
        try:
            status = path.stat()
            return _opened(self.tensor, status.st_mtime_ns, status.st_size)
        except OSError as error:
            raise InputError(f"{path}: {error.strerror or error}") from None

    def matrix(self, side: str) -> NDArray[Any]:
        """The stored elements as [vectors, K]."""
        array = self.stored.array
        if array.ndim == 1:
            return array[np.newaxis, :]
        return array if self.transpose == (side == "b") else array.T

    def vectors(self, place: StreamKey, count: int) -> Floats:
        """Rows of `matrix`. Raises ValueError where it is too small."""
        self.check_size(place.side, place.length, count)
        matrix = self.matrix(place.side)
        chosen = place.stream("vectors").sample(range(len(matrix)), count)
        return numbers(self.stored.kind, matrix[chosen, : place.length]).astype(np.float64)

    def check_size(self, side: str, length: int, count: int) -> None:
        """Raises ValueError where a trial needs more vectors than there are, or longer ones."""
        there, long = self.matrix(side).shape
        vector = "row" if self.transpose == (side == "b") else "column"
        if long < length:
            raise InputError(f"{self.tensor}: each {vector} has {long} numbers, but the length is {length}")
        if there < count:
            many = "one vector" if self.stored.array.ndim == 1 else f"{there} of {_shown(self.stored)}"
            raise InputError(f"{self.tensor}: holds {many}, but a trial takes {count} {vector}s, none twice")

    def check_finite(self) -> None:
        """Raises ValueError for the first number that is not finite in binary32."""
        stored = self.stored
        for at in parts(stored.array):
            with np.errstate(over="ignore"):
                wrong = ~np.isfinite(numbers(stored.kind, stored.array[at]).astype(np.float32))
            if wrong.any():
                index = np.argwhere(wrong)[0].tolist()
                index[0] += at.start
                value = numbers(stored.kind, stored.array[tuple(index)])
                beyond = ", which binary32 does not hold" if np.isfinite(value) else ""
                raise InputError(f"{self.tensor}: {index} is {value}{beyond}; every number must be finite")

    def content(self) -> dict[str, Any]:
        """What is drawn from, wherever it is stored: the shape, and a hash of the numbers in binary32."""
        stored, found = self.stored, hashlib.sha256()
        for at in parts(stored.array):
            with np.errstate(over="ignore"):
                found.update(numbers(stored.kind, stored.array[at]).astype("<f4").tobytes())
        return {"shape": list(stored.shape), "sha256": found.hexdigest(), "transpose": self.transpose}


@lru_cache(KEPT)
def _opened(name: str, _changed: int, _size: int) -> StoredArray:
    stored = read(name)
    if stored.kind not in NUMBERS:
        raise InputError(f"{name}: holds {stored.kind}; it must hold floats, as integers may be codes of any format")
    if stored.array.ndim not in (1, 2):
        raise InputError(f"{name}: is {_shown(stored)}; it must have one axis or two: reshape it, or take one matrix")
    if not stored.array.size:
        raise InputError(f"{name}: is {_shown(stored)}; it holds no number")
    return stored


def _shown(stored: StoredArray) -> str:
    return " x ".join(map(str, stored.shape)) or "a single number"
