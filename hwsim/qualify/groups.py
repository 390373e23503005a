"""Cases of a unit as words of bits, 64 cases to a word, beat for beat."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwsim.cases.batch import Batch, expected
from hwsim.cases.case import Case, beats
from hwsim.formats import Format
from hwsim.formats.codes import Codes
from hwsim.model.clock import Beat
from hwsim.qualify.machine import TOGETHER, BeatWords, CaseGroup, Words, words_of
from hwsim.rtl.numbers import as_float
from hwsim.spec import Unit, unpromised

CARRIED, REGISTER = "i__carried__code", "register"


@dataclass(frozen=True)
class _Some:
    """Cases of one length, with their numbers and results."""

    batch: Batch
    numbers: NDArray[np.int64]
    results: Codes

    def part(self, taken: slice) -> _Some:
        batch = self.batch
        scales = (None if side is None else side[taken] for side in (batch.scale_a, batch.scale_b))
        cut = Batch((), batch.a[taken], batch.b[taken], batch.c[taken], *scales)
        return _Some(cut, self.numbers[taken], self.results[taken])

    def joined(self, other: _Some) -> _Some:
        sides = zip(self._arrays, other._arrays, strict=True)
        batch = Batch((), *(None if one is None else np.concatenate([one, two]) for one, two in sides))  # type: ignore[arg-type]
        numbers, results = np.concatenate([self.numbers, other.numbers]), np.concatenate([self.results, other.results])
        return _Some(batch, numbers, results)

    @property
    def _arrays(self) -> tuple[Codes | None, ...]:
        batch = self.batch
        return batch.a, batch.b, batch.c, batch.scale_a, batch.scale_b


def _expected(unit: Unit, batch: Batch) -> Codes:
    """What the model returns, -0 as +0 where that is as good."""
    return unpromised(unit).plain_zeros(expected(unit, batch))


def groups(unit: Unit, made: Iterable[Batch]) -> Iterator[CaseGroup]:
    """Cases in groups of one length, with the results that the model computes.

    In their order, but that those of a length wait until a group of them is full, or no case is left.
    """
    waiting: dict[int, _Some] = {}
    number = 0
    for batch in made:
        some = _Some(batch, np.arange(number, number + len(batch)), _expected(unit, batch))
        number += len(batch)
        terms = batch.a.shape[1]
        some = waiting.pop(terms).joined(some) if terms in waiting else some
        whole = len(some.numbers) // TOGETHER * TOGETHER
        for first in range(0, whole, TOGETHER):
            yield _group(unit, some.part(slice(first, first + TOGETHER)))
        if whole < len(some.numbers):
            waiting[terms] = some.part(slice(whole, None))
    for _, some in sorted(waiting.items()):
        yield _group(unit, some)


def _group(unit: Unit, some: _Some) -> CaseGroup:
    """A group's beats: what `beats` takes from where, it takes for all cases at once."""
    batch = some.batch
    places = (tuple(range(batch.a.shape[1])),) * 2
    blocks = (() if side is None else tuple(range(side.shape[1])) for side in (batch.scale_a, batch.scale_b))
    pattern = list(beats(unit, Case("", *places, 0, *blocks)))
    per_promotion = unit.promotion_beats
    made, promoted = [], False
    for at, beat in enumerate(pattern):
        opens = at % per_promotion == 0 if per_promotion else beat.first
        loads = set() if opens else {CARRIED}
        stores = {CARRIED}
        if per_promotion and promoted:
            loads.add(REGISTER)
        if per_promotion and (beat.last or at % per_promotion == per_promotion - 1):
            stores.add(REGISTER)
            promoted = True
        made.append(BeatWords(_words(unit, batch, beat, not opens), frozenset(loads), frozenset(stores)))
    return CaseGroup(made, some.results.astype(np.uint64), some.numbers)


def _words(unit: Unit, batch: Batch, beat: Beat, chain: bool) -> dict[str, Words]:
    """One beat's inputs. beat: whose codes are places in the cases."""
    operands, scale = unit.operands, unit.scale
    formats: dict[str, Format] = {"a": operands.a, "b": operands.b}
    if scale is not None:
        formats |= {"scale_a": scale.a.format, "scale_b": scale.b.format}
    found: dict[str, Words] = {}
    for name, fmt in formats.items():
        codes = getattr(batch, name)
        for at, place in enumerate(getattr(beat, name)):
            found[f"i__{name}__{at}"] = words_of(codes[:, place], fmt.container_bits)
    every = np.uint64((1 << len(batch.a)) - 1)
    found["i__chain"] = np.array([every if chain else 0], np.uint64)
    found[CARRIED] = np.zeros(as_float(unit.result.format).bits, np.uint64)
    addend = operands.addend
    if unit.promotion is not None:
        fmt = as_float(unit.promotion.format)
        register = words_of(batch.c, fmt.container_bits) if addend is not None else np.zeros(fmt.container_bits)
        found[REGISTER] = register[fmt.padding :].astype(np.uint64)
    elif addend is not None:
        c = words_of(batch.c, addend.container_bits)
        found["i__c"] = c if beat.first else ~c & every
    return found
