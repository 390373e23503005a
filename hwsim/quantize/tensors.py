"""Matrices quantised part by part for a unit, and the scales that are left to multiply its result by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.errors import InputError
from hwsim.formats import Format, container_dtype
from hwsim.formats.blocks import BlockScale, scale_shape
from hwsim.formats.codes import Codes
from hwsim.quantize import Apply, Rule, TensorScale, quantize, rules
from hwsim.quantize.arrayfiles import StoredArray, numbers
from hwsim.quantize.rule import is_f32
from hwsim.spec import Unit

PART = 1 << 20  # numbers that are quantised at a time


class MatrixOperand(NamedTuple):
    """A factor of a matrix product, ready for `hwsim.gemm`.

    factor: binary32 numbers that the result is to be multiplied by, in a shape that broadcasts with it; or None.
    """

    codes: Codes
    scales: NDArray[Any] | None
    factor: NDArray[np.float32] | None = None


def suited(unit: Unit, side: str) -> list[str]:
    """The names of the rules whose codes and scales a unit takes as its factor a or b."""
    return [name for name, rule in rules().items() if suits(unit, side, rule)]


def suits(unit: Unit, side: str, rule: Rule) -> bool:
    """Whether a unit takes a rule's codes and scales; scales of a row of A, a column of B or a matrix may be left."""
    if not _same(rule.element, getattr(unit.operands, side)):
        return False
    if unit.scale is None:
        return rule.block in ((1, None), (None, None)) and is_f32(rule.scale_format)
    scale: BlockScale = getattr(unit.scale, side)
    across, along = scale.block if side == "a" else reversed(scale.block)
    return _same(rule.scale_format, scale.format) and rule.block == (across, along)


def multiplies(unit: Unit, rule: Rule) -> bool:
    """Whether the result must be multiplied by a scale of the rule that the unit does not take. rule: suits it."""
    return unit.scale is None or rule.tensor_scale is not TensorScale.NONE


def refusal(unit: Unit, side: str, name: str, rule: Rule) -> str:
    """A message that says why a unit does not take a rule's codes and scales, and which rules it takes."""
    across, along = rule.block
    if along is None:
        where = "one for the whole matrix" if across is None else f"one for every {'row' if side == 'a' else 'column'}"
    else:
        where = "blocks of " + _size((across or 1, along) if side == "a" else (along, across or 1))
    takes = "no scales"
    if unit.scale is not None:
        scale: BlockScale = getattr(unit.scale, side)
        takes = f"scales in {scale.format.name}, blocks of {_size(scale.block)}"
    suitable = suited(unit, side)
    return (
        f"{name} gives elements in {rule.element.name} and scales in {rule.scale_format.name}, {where}; {unit.name} "
        f"takes {getattr(unit.operands, side).name} and {takes}"
        + (f": {', '.join(suitable)}" if suitable else "; no rule suits it")
    )


def _size(block: tuple[int, int]) -> str:
    return f"{block[0]} x {block[1]}"


def _same(fmt: Format, other: Format) -> bool:
    """Whether two formats have the same codes, whatever they are called."""
    names = {"name", "summary", "source"}
    return type(fmt) is type(other) and fmt.model_dump(exclude=names) == other.model_dump(exclude=names)


def quantized(unit: Unit, side: str, stored: StoredArray, rule: Rule, allow_nan: bool) -> MatrixOperand:
    """A unit's factor, quantised along K in parts, with the codes and scales of `hwsim.quantize` of the whole matrix.

    rule: one that `suits`. allow_nan: let the rule say what NaNs and infinities become; else they are a ValueError
    that names the first.
    """
    matrix = _Matrix(stored, rule, side)
    finite, amax = matrix.surveyed(allow_nan)
    codes, scales, g = matrix.by_parts(amax) if finite and stored.array.size else matrix.at_once()
    if unit.scale is None:
        return MatrixOperand(codes, None, scales)
    return MatrixOperand(codes, scales, None if g is None else np.full((1, 1), g))


QuantizedParts = tuple[Codes, NDArray[Any], np.float32 | None]  # codes, scales, the tensor's scale
At = tuple[int | slice, ...]


class _Matrix:
    """A matrix of numbers, or a batch of them, that is quantised along K."""

    def __init__(self, stored: StoredArray, rule: Rule, side: str):
        self.stored, self.rule = stored, rule
        self.what, self.axis = ("A", -1) if side == "a" else ("B", -2)
        across, along = rule.block
        self.block = (across, along) if side == "a" else (along, across)
        # Scales of the whole matrix need the largest magnitude of all parts in each part.
        self.one_scale = across is None
        self.needs_largest = self.one_scale or rule.tensor_scale is not TensorScale.NONE
        # Rows are contiguous. They are cut where blocks end, or anywhere under a single scale.
        self.by_rows = self.one_scale or self.block[0] is not None
        self.step = 1 if self.one_scale else self.block[0] or self.block[1] or 1

    def surveyed(self, allow_nan: bool) -> tuple[bool, float]:
        """Whether all numbers are finite, and the largest magnitude. Raises ValueError, as in `quantized`."""
        finite, amax = True, 0.0
        for at in self.parts():
            part = self.numbers(at)
            largest = float(np.max(np.abs(part), initial=0))
            if not np.isfinite(largest):
                finite = False
                if not allow_nan:
                    raise self.refused(part, at)
            amax = max(amax, largest)
        return finite, amax

    def parts(self) -> Iterator[At]:
        """The parts as indices of the array."""
        *batch, rows, columns = self.stored.shape
        count, other = (rows, columns) if self.by_rows else (columns, rows)
        size = max(1, PART // max(other * self.step, 1)) * self.step
        for index in np.ndindex(*batch):
            for first in range(0, count, size):
                cut = slice(first, min(first + size, count))
                yield (*index, cut, slice(None)) if self.by_rows else (*index, slice(None), cut)

    def numbers(self, at: At) -> NDArray[Any]:
        """A part's numbers; in binary32 where the rule computes in it."""
        part = numbers(self.stored.kind, self.stored.array[at])
        if self.rule.apply is not Apply.EXACT:
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                part = part.astype(np.float32, copy=False)
        return part

    def refused(self, part: NDArray[Any], at: At) -> InputError:
        """The error for a part's first number that is not finite."""
        where = np.argwhere(~np.isfinite(part))[0].tolist()
        cut = [index.start or 0 for index in at if isinstance(index, slice)]
        place = (
            *(index for index in at if isinstance(index, int)),
            *(i + start for i, start in zip(where, cut, strict=True)),
        )
        value = numbers(self.stored.kind, self.stored.array[place])
        beyond = ", which binary32 does not hold" if np.isfinite(value) else ""
        return InputError(
            f"{self.stored.name}: {self.what}{list(place)} is {value}{beyond}; under --allow-nan the rule says what "
            "becomes of it"
        )

    def at_once(self) -> QuantizedParts:
        """The whole matrix, quantised in memory."""
        whole = quantize(numbers(self.stored.kind, self.stored.array), self.rule, self.axis)
        single = self.one_scale and whole.scales.size == 1
        return whole.codes, whole.scales.reshape(1, 1) if single else whole.scales, whole.tensor_scale

    def by_parts(self, amax: float) -> QuantizedParts:
        """The matrix quantised part by part; all numbers are finite. amax: their largest magnitude."""
        *batch, rows, columns = self.stored.shape
        block = self.block[0] or rows, self.block[1] or columns
        shape = (1, 1) if self.one_scale else (*batch, *scale_shape(rows, columns, block))
        codes = np.empty(self.stored.shape, container_dtype(self.rule.element))
        scales = np.empty(
            shape, np.float32 if is_f32(self.rule.scale_format) else container_dtype(self.rule.scale_format)
        )
        for at in self.parts():
            part = self.numbers(at)
            kept = part.shape
            result = quantize(
                _with(part, amax, -2 if self.by_rows else -1) if self.needs_largest else part, self.rule, self.axis
            )
            codes[at] = result.codes[: kept[0], : kept[1]]
            if self.one_scale:
                scales[...] = result.scales
            else:
                into = tuple(self.blocks(index) if isinstance(index, slice) else index for index in at)
                count = scale_shape(kept[0], kept[1], block)
                scales[into] = result.scales[: count[0], : count[1]]
        return codes, scales, result.tensor_scale

    def blocks(self, cut: slice) -> slice:
        """The blocks that hold a part's numbers."""
        return cut if cut.stop is None else slice(cut.start // self.step, -(-cut.stop // self.step))


def _with(part: NDArray[Any], amax: float, axis: int) -> NDArray[Any]:
    """A part with a further row or column, which holds the largest magnitude of all parts."""
    size = (1, part.shape[1]) if axis == -2 else (part.shape[0], 1)
    more = np.zeros(size, part.dtype)
    more[0, 0] = amax
    return np.concatenate([part, more], axis)
