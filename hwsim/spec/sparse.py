"""Sparse units: a keeps some of its factors, metadata says which, and a dense unit multiplies these by factors of b.

What a does not keep takes no part at all: it is no term of a sum, and no zero beside an infinity of b.

Indices that are kept together ascend: GPUs leave undefined what others do, and arrays that have others are refused.
Hardware and the definition take every index by itself, as it is: in whatever order, and also if two are the same. One
that is not below `of`, where that is no power of two, is misuse, and takes the last run.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from hwsim.base.errors import InputError
from hwsim.formats import codes_of
from hwsim.formats.codes import Codes, element
from hwsim.formats.yamlfile import RuleError
from hwsim.spec.arguments import shape_error
from hwsim.spec.keys import EvidenceWord, Positive, SpecPart
from hwsim.spec.modes import Specified
from hwsim.spec.unit import Unit


class Sparsity(SpecPart):
    """Which factors a keeps: of every `of` runs of `run` neighbours along K, `keep`."""

    keep: Positive
    of: Positive
    run: Positive = 1

    @model_validator(mode="after")
    def _rules(self) -> Self:
        if self.keep >= self.of:
            raise RuleError("keep", f"must be less than of ({self.of}), not {self.keep}")
        return self

    def __str__(self) -> str:
        return f"{self.keep} of {self.of}{'' if self.run == 1 else f' runs of {self.run}'}"

    @property
    def kept(self) -> int:
        """Factors that a keeps of `whole` ones."""
        return self.keep * self.run

    @property
    def whole(self) -> int:
        """Factors of b beside `kept` ones of a."""
        return self.of * self.run

    @property
    def index_bits(self) -> int:
        """Bits of an index."""
        return (self.of - 1).bit_length()

    def whole_of(self, kept: int) -> int:
        """Factors of b beside so many kept ones of a, which are a multiple of `kept`."""
        return kept // self.kept * self.whole

    @property
    def patterns(self) -> list[tuple[int, ...]]:
        """The indices that may be kept together: each that ascends, in order."""
        return list(combinations(range(self.of), self.keep))


class SparseUnit(SpecPart):
    """A dense unit behind a selection. `dense` says all that the unit returns for what is selected."""

    unit: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")
    summary: str = ""
    evidence: EvidenceWord = "designed"
    source: tuple[str, ...] = ()
    dense: Unit
    sparsity: Sparsity

    @model_validator(mode="after")
    def _rules(self) -> Self:
        if self.dense.scale is not None:
            raise RuleError("dense", "must have no scales: no rule says which kept factors would share one")
        if self.dense.instruction.k % self.sparsity.kept:
            rule = f"keeps {self.sparsity.kept} at a time, which must divide dense.instruction.k"
            raise RuleError("sparsity", f"{rule} ({self.dense.instruction.k})")
        return self

    @property
    def name(self) -> str:
        """The unit's name."""
        return self.unit

    @property
    def in_whole_beats(self) -> bool:
        """True if all that is kept together is in one beat, in order: a beat's metadata then select among its own b."""
        instruction = self.dense.instruction
        return instruction.order == "sequential" and instruction.lanes % self.sparsity.kept == 0


# A unit as hardware has it: dense, of one mode or of several, or sparse.
AnyUnit: TypeAlias = Specified | SparseUnit


def dense_of(unit: AnyUnit) -> Specified:
    """The unit that multiplies what a sparse one selects; a dense unit is that itself."""
    return unit.dense if isinstance(unit, SparseUnit) else unit


class Compressed(NamedTuple):
    """What a sparse unit takes of a matrix: codes (M, kept), and for each run of them its index, uint8."""

    codes: Codes
    metadata: NDArray[np.uint8]


def compressed(unit: SparseUnit, a: Any, prune: bool) -> Compressed:
    """`hwsim.compress`."""
    rule, fmt = unit.sparsity, unit.dense.operands.a
    codes = codes_of(fmt, a, "a")
    if codes.ndim != 2 or codes.shape[1] % rule.whole:
        raise shape_error("a", f"(M, K), K a multiple of {rule.whole}", codes.shape)
    runs = codes.reshape(len(codes), -1, rule.of, rule.run)
    size = np.abs(np.asarray(fmt.decode(runs), np.float64)).max(axis=3)
    size = np.where(np.isnan(size), np.inf, size)
    many = np.count_nonzero(size, axis=2) > rule.keep
    if many.any() and not prune:
        i, group = np.argwhere(many)[0].tolist()
        raise InputError(
            f"a[{i}, {group * rule.whole}:{(group + 1) * rule.whole}] has more than {rule.keep} "
            f"{'numbers' if rule.run == 1 else f'runs of {rule.run}'} other than zero of {rule.of}; "
            "with prune=True it keeps the largest"
        )
    # The largest, the first of equals; what a sparse matrix lacks is filled up with its first zeros.
    chosen = np.sort(np.argsort(-size, axis=2, kind="stable")[:, :, : rule.keep], axis=2)
    kept = np.take_along_axis(runs, chosen[..., None], axis=2)
    return Compressed(kept.reshape(len(codes), -1), chosen.reshape(len(codes), -1).astype(np.uint8))


def checked_metadata(unit: SparseUnit, metadata: Any, shape: tuple[int, int]) -> NDArray[np.int64]:
    """Indices (n, runs) of kept runs. shape: of a's codes, (n, kept).

    Raises ValueError for another shape, and for indices out of range, or that do not ascend among those kept together.
    """
    rule = unit.sparsity
    if shape[1] % rule.kept:
        raise shape_error("a", f"(n, K), K a multiple of the {rule.kept} that are kept together", shape)
    given = np.asarray(metadata)
    if given.dtype.kind not in "iu":
        raise TypeError(f"metadata must be integers, not {given.dtype.name}")
    wanted = shape[0], shape[1] // rule.run
    if given.shape != wanted:
        raise shape_error(
            "metadata", f"{wanted}, an index for each {'factor' if rule.run == 1 else 'run'} of a", given.shape
        )
    indices = given.astype(np.int64)
    wrong = (indices < 0) | (indices >= rule.of)
    if wrong.any():
        raise InputError(f"{element('metadata', indices, wrong)}: indices are 0 to {rule.of - 1}")
    together = indices.reshape(shape[0], -1, rule.keep)
    falls = (np.diff(together, axis=2) <= 0).any(axis=2)
    if falls.any():
        i, group = np.argwhere(falls)[0].tolist()
        raise InputError(
            f"metadata[{i}, {group * rule.keep}:{(group + 1) * rule.keep}] is "
            f"{', '.join(map(str, together[i, group].tolist()))}: indices that are kept together must ascend; what "
            "hardware does with others is undefined"
        )
    return indices


def gathered(unit: SparseUnit, a: Any, b: Any, metadata: Any, of_b: str) -> tuple[Codes, Codes, NDArray[np.int64]]:
    """Codes of a and b, and for each factor of a the index along K of b's that it is multiplied by.

    of_b: the axes of b, `(K, N)` or `(n, K)`. Raises ValueError for shapes that do not fit, and as `checked_metadata`.
    """
    rule, operands = unit.sparsity, unit.dense.operands
    codes_a, codes_b = codes_of(operands.a, a, "a"), codes_of(operands.b, b, "b")
    if codes_a.ndim != 2:
        raise shape_error("a", "(M, K) without a batch, with metadata", codes_a.shape)
    indices = checked_metadata(unit, metadata, (codes_a.shape[0], codes_a.shape[1]))
    k = codes_a.shape[1] // rule.kept * rule.whole
    axis = 0 if of_b == "(K, N)" else 1
    if codes_b.ndim != 2 or codes_b.shape[axis] != k or (axis and len(codes_b) != len(codes_a)):
        raise shape_error("b", f"{of_b}, with K {k}, of which a keeps {codes_a.shape[1]}", codes_b.shape)
    if not k:
        raise InputError("K, the number of products, must be at least 1, not 0")
    firsts = (np.arange(indices.shape[1]) // rule.keep * rule.of + indices) * rule.run
    return codes_a, codes_b, (firsts[..., None] + np.arange(rule.run)).reshape(codes_a.shape)
