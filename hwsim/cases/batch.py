"""Batches: cases of one length side by side, as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from hwsim.cases.case import Case
from hwsim.compute.products import dot_codes
from hwsim.formats import container_dtype
from hwsim.formats.codes import Codes
from hwsim.spec import Unit


@dataclass(frozen=True, eq=False)
class Batch:
    """n cases of K terms each.

    ids: their names. a, b: codes (n, K), K a multiple of `instruction.fill`. c: codes (n,) of the addend's format, 0
    for a unit without one. scale_a, scale_b: codes (n, blocks) of an element for each block along K, or None for an
    unscaled unit. All in their containers' dtypes.
    """

    ids: Sequence[str]
    a: Codes
    b: Codes
    c: Codes
    scale_a: Codes | None = None
    scale_b: Codes | None = None

    def __len__(self) -> int:
        return len(self.a)

    def cut(self, count: int) -> Batch:
        """The first cases."""
        scales = (None if side is None else side[:count] for side in (self.scale_a, self.scale_b))
        return Batch(self.ids[:count], self.a[:count], self.b[:count], self.c[:count], *scales)

    def case(self, index: int) -> Case:
        """One of the cases."""
        sides = (self.a, self.b, self.scale_a, self.scale_b)
        a, b, x, y = (() if side is None else tuple(side[index].tolist()) for side in sides)
        return Case(self.ids[index], a, b, int(self.c[index]), x, y)

    def cases(self) -> Iterator[Case]:
        """One by one."""
        none: list[list[int]] = [[]] * len(self)
        sides = (none if side is None else side.tolist() for side in (self.scale_a, self.scale_b))
        for name, a, b, c, x, y in zip(
            self.ids, self.a.tolist(), self.b.tolist(), self.c.tolist(), *sides, strict=True
        ):
            yield Case(name, tuple(a), tuple(b), c, tuple(x), tuple(y))


def expected(unit: Unit, batch: Batch) -> Codes:
    """What the unit returns: codes (n,) in the output's container."""
    scales = None if batch.scale_a is None or batch.scale_b is None else (batch.scale_a, batch.scale_b)
    return dot_codes(unit, batch.a, batch.b, batch.c, scales)


def batches(unit: Unit, cases: Iterable[Case], most: int = 4096) -> Iterator[Batch]:
    """Cases in batches, in their order: neighbours of one length together, at most so many."""
    for _, same in groupby(cases, key=lambda case: len(case.a)):
        held: list[Case] = []
        for case in same:
            held.append(case)
            if len(held) == most:
                yield _batch(unit, held)
                held = []
        if held:
            yield _batch(unit, held)


def _batch(unit: Unit, cases: Sequence[Case]) -> Batch:
    operands, scale = unit.operands, unit.scale
    c = np.array([case.c for case in cases], container_dtype(operands.addend) if operands.addend else np.uint8)
    return Batch(
        [case.id for case in cases],
        np.array([case.a for case in cases], container_dtype(operands.a)),
        np.array([case.b for case in cases], container_dtype(operands.b)),
        c,
        None if scale is None else np.array([case.scale_a for case in cases], container_dtype(scale.a.format)),
        None if scale is None else np.array([case.scale_b for case in cases], container_dtype(scale.b.format)),
    )
