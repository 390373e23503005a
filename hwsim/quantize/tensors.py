"""Matrices quantised part by part: what a unit takes of a rule, and what is left to multiply its result by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
    """Whether a unit takes a rule's codes and scales, but for one scale of each row of A, column of B or matrix."""
    if not _same(rule.element, getattr(unit.operands, side)):
        return False
    if unit.scale is None:
        return rule.block in ((1, None), (None, None)) and is_f32(rule.scale_format)
    scale: BlockScale = getattr(unit.scale, side)
    across, along = scale.block if side == "a" else reversed(scale.block)
    return _same(rule.scale_format, scale.format) and rule.block == (across, along)


def multiplies(unit: Unit, rule: Rule) -> bool:
    """Whether a rule that suits a unit leaves a scale that the unit does not take, and its result is multiplied by."""
    return unit.scale is None or rule.tensor_scale is not TensorScale.NONE


def refusal(unit: Unit, side: str, name: str, rule: Rule) -> str:
    """Why a unit does not take a rule's codes and scales, and which it takes."""
    across, along = rule.block
    if along is None:
        where = "one for the whole matrix" if across is None else f"one for every {'row' if side == 'a' else 'column'}"
    else:
        where = "blocks of " + _size((across or 1, along) if side == "a" else (along, across or 1))
    takes = "no scales"
    if unit.scale is not None:
        scale: BlockScale = getattr(unit.scale, side)
        takes = f"scales in {scale.format.name}, blocks of {_size(scale.block)}"
    known = suited(unit, side)
    return (
        f"{name} gives elements in {rule.element.name} and scales in {rule.scale_format.name}, {where}; {unit.name} "
        f"takes {getattr(unit.operands, side).name} and {takes}"
        + (f": {', '.join(known)}" if known else "; no rule suits it")
    )


def _size(block: tuple[int, int]) -> str:
    return f"{block[0]} x {block[1]}"


def _same(one: Format, other: Format) -> bool:
    """Whether two formats have the same codes, whatever they are called."""
    names = {"name", "summary", "source"}
    return type(one) is type(other) and one.model_dump(exclude=names) == other.model_dump(exclude=names)


def quantized(unit: Unit, side: str, stored: StoredArray, rule: Rule, allow_nan: bool) -> MatrixOperand:
    """A factor of a unit, quantised along K, the same as `hwsim.quantize` makes of the whole of it.

    rule: one that `suits`. allow_nan: let the rule say what NaNs and infinities become; else they are a ValueError
    that names the first.
    """
    matrix = _Matrix(stored, rule, side)
    finite, amax = matrix.surveyed(allow_nan)
    codes, scales, g = matrix.by_parts(amax) if finite and stored.array.size else matrix.at_once()
    if unit.scale is None:
        return MatrixOperand(codes, None, scales)
    return MatrixOperand(codes, scales, None if g is None else np.full((1, 1), g))


Made = tuple[Codes, NDArray[Any], np.float32 | None]
At = tuple[int | slice, ...]


class _Matrix:
    """A matrix of numbers, or a batch of them, that is quantised along K."""

    def __init__(self, stored: StoredArray, rule: Rule, side: str):
        self.stored, self.rule = stored, rule
        self.what, self.axis = ("A", -1) if side == "a" else ("B", -2)
        across, along = rule.block
        self.block = (across, along) if side == "a" else (along, across)
        # Of parts that are not all of it, blocks must know the largest magnitude.
        self.one_scale = across is None
        self.told = self.one_scale or rule.tensor_scale is not TensorScale.NONE
        # Rows lie one after the other. They are cut where blocks end, or anywhere under one scale.
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
        """Where the parts are."""
        *batch, rows, columns = self.stored.shape
        count, other = (rows, columns) if self.by_rows else (columns, rows)
        size = max(1, PART // max(other * self.step, 1)) * self.step
        for index in np.ndindex(*batch):
            for first in range(0, count, size):
                cut = slice(first, min(first + size, count))
                yield (*index, cut, slice(None)) if self.by_rows else (*index, slice(None), cut)

    def numbers(self, at: At) -> NDArray[Any]:
        """A part's numbers; binary32 where the rule is."""
        part = numbers(self.stored.kind, self.stored.array[at])
        if self.rule.apply is not Apply.EXACT:
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                part = part.astype(np.float32, copy=False)
        return part

    def refused(self, part: NDArray[Any], at: At) -> ValueError:
        """What is said of the first number that is not finite."""
        where = np.argwhere(~np.isfinite(part))[0].tolist()
        cut = [one.start or 0 for one in at if isinstance(one, slice)]
        place = (
            *(one for one in at if isinstance(one, int)),
            *(i + start for i, start in zip(where, cut, strict=True)),
        )
        value = numbers(self.stored.kind, self.stored.array[place])
        beyond = ", which binary32 does not hold" if np.isfinite(value) else ""
        return ValueError(
            f"{self.stored.name}: {self.what}{list(place)} is {value}{beyond}; under --allow-nan the rule says what "
            "becomes of it"
        )

    def at_once(self) -> Made:
        """All of it in one array."""
        made = quantize(numbers(self.stored.kind, self.stored.array), self.rule, self.axis)
        one = self.one_scale and made.scales.size == 1
        return made.codes, made.scales.reshape(1, 1) if one else made.scales, made.tensor_scale

    def by_parts(self, amax: float) -> Made:
        """One part after the other; all are finite. amax: the largest magnitude."""
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
            made = quantize(_with(part, amax, -2 if self.by_rows else -1) if self.told else part, self.rule, self.axis)
            codes[at] = made.codes[: kept[0], : kept[1]]
            if self.one_scale:
                scales[...] = made.scales
            else:
                into = tuple(self.blocks(one) if isinstance(one, slice) else one for one in at)
                count = scale_shape(kept[0], kept[1], block)
                scales[into] = made.scales[: count[0], : count[1]]
        return codes, scales, made.tensor_scale

    def blocks(self, cut: slice) -> slice:
        """The blocks of a part's numbers."""
        return cut if cut.stop is None else slice(cut.start // self.step, -(-cut.stop // self.step))


def _with(part: NDArray[Any], amax: float, axis: int) -> NDArray[Any]:
    """A part, and one more row or column with the largest magnitude of all parts."""
    size = (1, part.shape[1]) if axis == -2 else (part.shape[0], 1)
    more = np.zeros(size, part.dtype)
    more[0, 0] = amax
    return np.concatenate([part, more], axis)
