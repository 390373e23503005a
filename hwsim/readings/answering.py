"""What semantics return for many cases at once: compiled where that can be, else one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.cases.case import Case, block_lengths, term_scales
from hwsim.formats import Format, container_dtype
from hwsim.products import dot_codes
from hwsim.readings import arrays
from hwsim.readings.changes import Candidate, rounded_addend, said
from hwsim.readings.reader import Reader
from hwsim.readings.readings import READINGS, Reading
from hwsim.spec import Unit

Answering = Callable[[Sequence[Case]], list[int]]
FEW, MANY = 8, 2000  # cases that are answered one by one: by a reading, and by another unit


@lru_cache(maxsize=512)
def reader_of(unit: Unit, reading: Reading) -> Reader:
    """A unit's reader, made once."""
    return Reader(unit, reading)


def by_reading(unit: Unit, reading: Reading) -> Answering:
    """What a reading of a unit returns. A case of part of an instruction is filled up with zeros."""

    def answer(case: Case) -> int:
        reader = reader_of(unit, reading)
        zeros = (0,) * (-len(case.a) % reader.unit.instruction.fill)
        scales = [(*side, *(side[-1:] * len(zeros))) for side in term_scales(unit, case)]
        return reader.answer((*case.a, *zeros), (*case.b, *zeros), case.c, *scales)

    def many(cases: Sequence[Case]) -> list[int]:
        if len(cases) <= FEW or arrays.settings(unit) is None:
            return [answer(case) for case in cases]
        found = [-1] * len(cases)
        for length, places in by_length(cases).items():
            if length % unit.instruction.k == 0:
                codes = _all_readings(unit, [cases[place] for place in places])[:, READINGS.index(reading)]
                for place, code in zip(places, codes.tolist(), strict=True):
                    found[place] = code
        # What is not finite, or no whole instruction, is left to the reader.
        return [answer(case) if code < 0 else code for case, code in zip(cases, found, strict=True)]

    return many


def _all_readings(unit: Unit, cases: list[Case]) -> arrays.Ints:
    """int64[n, 40] of cases of one length; -1 where the compiled readings do not tell."""
    made = arrays.products(unit, cases)
    finite = made.finite & arrays.finite_codes(unit, [case.c for case in cases])
    c = np.array([case.c for case in cases], dtype=np.int64)
    c[~finite] = 0
    codes = arrays.evaluated(unit, made, c)
    codes[~finite] = -1
    return codes


def by_length(cases: Sequence[Case]) -> dict[int, list[int]]:
    """The places of cases, by how many terms they have."""
    found: dict[int, list[int]] = {}
    for place, case in enumerate(cases):
        found.setdefault(len(case.a), []).append(place)
    return found


def by_candidate(candidate: Candidate) -> Answering:
    """What another unit returns."""
    unit = candidate.unit

    def one(case: Case) -> int:
        return said(candidate, case.a, case.b, case.c, *term_scales(unit, case))

    def many(cases: Sequence[Case]) -> list[int]:
        if len(cases) <= MANY:
            return [one(case) for case in cases]
        found = [0] * len(cases)
        for places in by_length(cases).values():
            here = [cases[place] for place in places]
            codes = _dots(candidate, here) if _whole(unit, here) else [one(case) for case in here]
            for place, code in zip(places, codes, strict=True):
                found[place] = code
        return found

    return many


def _dots(candidate: Candidate, cases: list[Case]) -> list[int]:
    """The result codes of cases of one length, which is one that the unit takes as it is."""
    unit, fmt = candidate.unit, candidate.addend
    a, b = (_codes(getattr(unit.operands, side), [getattr(case, side) for case in cases]) for side in "ab")
    plain = [case.c if fmt is None else rounded_addend(unit, fmt, case.c) for case in cases]
    c = np.array(plain, dtype=np.uint32)
    scales = None
    if unit.scale is not None:
        scale_a = _codes(unit.scale.a.format, [case.scale_a for case in cases])
        scales = scale_a, _codes(unit.scale.b.format, [case.scale_b for case in cases])
    return [int(code) for code in dot_codes(unit, a, b, c, scales).tolist()]


def _whole(unit: Unit, cases: list[Case]) -> bool:
    """Whether cases of one length fill the unit's groups, and their scales."""
    length = len(cases[0].a)
    if unit.scale is None:
        return length % unit.instruction.fill == 0
    blocks = block_lengths(unit)
    return length % unit.instruction.fill == 0 and not any(length % block for block in blocks)


def _codes(fmt: Format, values: Sequence[object]) -> NDArray[Any]:
    return np.array(values, dtype=container_dtype(fmt))
