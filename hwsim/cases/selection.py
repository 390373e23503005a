"""Cases of sparse units: those of the dense unit, their factors of b put among others; and those of the selector.

What is not selected must not count: it is drawn, and in half of the cases NaN or infinite where the format has either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.cases.case import Batch, Case, dot, multiplied
from hwsim.cases.drawing import WORD, Stream
from hwsim.formats import FloatFormat, Format
from hwsim.formats.blocks import one_code
from hwsim.formats.codes import all_codes
from hwsim.model.definition import definition_of, selected
from hwsim.spec import SparseUnit, Unit
from hwsim.spec.sparse import Sparsity

SELECTION = "select"  # what the ids of cases of the selector begin with
MOST_CODES = 1 << 8


def ordered(rule: Sparsity, falling: bool) -> list[tuple[int, ...]]:
    """The indices that may be kept together. falling: also those that do not ascend, or are the same."""
    return list(product(range(rule.of), repeat=rule.keep)) if falling else rule.patterns


def placed(unit: SparseUnit, cases: Iterable[Case], stream: Stream, falling: bool = False) -> Iterator[Case]:
    """Cases of the dense unit as cases of the sparse one, under metadata that are drawn; `multiplied` leads back.

    falling: whether half of them keep their factors in any order, which GPUs leave undefined.
    """
    rule, fmt = unit.sparsity, unit.dense.operands.b
    patterns = [pattern for pattern in ordered(rule, falling) if len(set(pattern)) == rule.keep]
    loud, everything = _loud(fmt), all_codes(fmt)
    for number, case in enumerate(cases):
        rising, strange = rule.patterns if number % 4 < 2 else patterns, loud if number % 2 else everything
        groups = len(case.a) // rule.kept
        metadata = tuple(index for _ in range(groups) for index in stream.choice(rising))
        b = [stream.choice(strange) for _ in range(groups * rule.whole)]
        places = selected(rule, range(len(b)), metadata)
        for place, code in zip(places, case.b, strict=True):
            b[place] = code
        yield replace(case, b=tuple(b), metadata=metadata)


def among_zeros(rule: Sparsity, case: Case) -> Case:
    """A case of the dense unit under the first metadata that ascend, beside zeros."""
    metadata = rule.patterns[0] * (len(case.a) // rule.kept)
    b = [0] * rule.whole_of(len(case.a))
    for place, code in zip(selected(rule, range(len(b)), metadata), case.b, strict=True):
        b[place] = code
    return replace(case, b=tuple(b), metadata=metadata)


def placed_batch(unit: SparseUnit, batch: Batch, seed: int) -> Batch:
    """A batch of the dense unit's cases as one of the sparse unit's; its first cases are those of a shorter one.

    Metadata ascend, and b is as of `placed`.
    """
    rule, fmt, width = unit.sparsity, unit.dense.operands.b, batch.a.shape[1]
    groups, count = width // rule.kept, len(batch)
    words = Stream(seed, unit.name, "metadata", batch.ids[0]).words(count * groups * (1 + rule.whole))
    words = words.reshape(count, groups * (1 + rule.whole))
    patterns = np.array(rule.patterns)
    metadata = patterns[words[:, :groups] * len(patterns) >> WORD].reshape(count, -1)
    b = np.empty((count, groups * rule.whole), batch.b.dtype)
    for first, pool in enumerate((np.array(all_codes(fmt)), np.array(_loud(fmt)))):
        b[first::2] = pool[words[first::2, groups:] * len(pool) >> WORD]
    np.put_along_axis(b, _places(rule, metadata), batch.b, axis=1)
    return replace(batch, b=b, metadata=metadata.astype(np.uint8))


def multiplied_batch(unit: SparseUnit, batch: Batch) -> Batch:
    """A batch of the sparse unit's cases as one of its dense unit's: what is selected."""
    assert batch.metadata is not None
    places = _places(unit.sparsity, batch.metadata)
    return replace(batch, b=np.take_along_axis(batch.b, places, axis=1), metadata=None)


def _places(rule: Sparsity, metadata: NDArray[Any]) -> NDArray[np.int64]:
    """Where along K the factors are that indices (n, runs) select: (n, kept)."""
    firsts: NDArray[np.int64] = (np.arange(metadata.shape[1]) // rule.keep * rule.of + metadata) * rule.run
    return (firsts[..., None] + np.arange(rule.run)).reshape(len(metadata), -1)


@lru_cache(maxsize=32)
def _loud(fmt: Format) -> Sequence[int]:
    """The codes of NaN and of infinities; all codes of a format without either."""
    if not isinstance(fmt, FloatFormat) or fmt.container_bits > 16:
        return [fmt.canonical_nan] if isinstance(fmt, FloatFormat) and fmt.canonical_nan else all_codes(fmt)
    codes = np.array(all_codes(fmt))
    found: list[int] = codes[~np.isfinite(fmt.decode(codes))].tolist()
    return found or all_codes(fmt)


def selection_cases(unit: SparseUnit, stream: Stream, falling: bool = False) -> list[Case]:
    """A case for each lane and each choice of indices of its group, whose result names the factor that the lane got.

    a is 1 in the lane and 0 in the others. Of b the lane's group has numbers of which each gives another result, and
    none of these stands in another group. falling: as of `placed`, and also with the same index twice.
    """
    rule, instruction = unit.sparsity, unit.dense.instruction
    lanes, fill = instruction.lanes, instruction.fill
    one, telling = one_code(unit.dense.operands.a), _telling(unit.dense)
    if len(telling) <= rule.whole:
        return []
    cases: list[Case] = []
    for number, (lane, pattern) in enumerate(product(range(lanes), ordered(rule, falling))):
        beat = number % (fill // lanes)
        place, groups = beat * lanes + lane, fill // rule.kept
        own = place // rule.kept
        a = [0] * fill
        a[place] = one
        drawn = stream.sample(telling, len(telling))
        b = [stream.choice(drawn[rule.whole :]) for _ in range(groups * rule.whole)]
        b[own * rule.whole : (own + 1) * rule.whole] = drawn[: rule.whole]
        metadata = [index for _ in range(groups) for index in stream.choice(rule.patterns)]
        metadata[own * rule.keep : (own + 1) * rule.keep] = pattern
        name = f"{SELECTION}/lane {lane}, {indices_words(pattern)}"
        cases.append(Case(name, tuple(a), tuple(b), metadata=tuple(metadata)))
    return cases


def indices_words(pattern: Sequence[int]) -> str:
    """Indices that are kept together, in words."""
    return f"{'index' if len(pattern) == 1 else 'indices'} {' '.join(map(str, pattern))}"


@lru_cache(maxsize=32)
def _telling(unit: Unit) -> list[int]:
    """Codes of b, each of which gives another result beside a one of a."""
    fmt = unit.operands.b
    codes = all_codes(fmt)
    some = codes[:: max(1, len(codes) // MOST_CODES)]
    zeros, definition = (0,) * (unit.instruction.fill - 1), definition_of(unit)
    a = (one_code(unit.operands.a), *zeros)
    results = [dot(definition, Case("", a, (code, *zeros))).code for code in some]
    of: dict[int, int] = {}
    special = set(_loud(fmt)) if isinstance(fmt, FloatFormat) and len(_loud(fmt)) < len(codes) else set[int]()
    for code, result in zip(some, results, strict=True):
        if code not in special:
            of.setdefault(result, code)
    return list(of.values())


def selections(unit: SparseUnit, case: Case) -> Iterator[tuple[int, tuple[int, ...]]]:
    """What a case's metadata select: the number of a group in its beat, and the indices that are kept there."""
    keep = unit.sparsity.keep
    here = unit.dense.instruction.lanes // unit.sparsity.kept
    for number in range(len(case.metadata) // keep):
        yield number % here, case.metadata[number * keep : (number + 1) * keep]


def as_dense(unit: SparseUnit, cases: Iterable[Case]) -> list[Case]:
    """The cases as their dense unit has them."""
    return [multiplied(unit, case) for case in cases]
