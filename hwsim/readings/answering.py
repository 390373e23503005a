"""The results of a reading or a changed unit for many cases: by compiled code where possible, else one by one."""

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
from hwsim.readings.changes import Candidate, candidate_result, rounded_addend
from hwsim.readings.reader import Reader
from hwsim.readings.readings import READINGS, Reading
from hwsim.spec import Unit

Answering = Callable[[Sequence[Case]], list[int]]
FEW, MANY = 8, 2000  # at most so many cases are answered one by one: by a reading, and by another unit


@lru_cache(maxsize=512)
def reader_of(unit: Unit, reading: Reading) -> Reader:
    """A unit's reader, kept for later calls."""
    return Reader(unit, reading)


def by_reading(unit: Unit, reading: Reading) -> Answering:
    """A function that returns a reading's results. Cases are filled up with zeros to whole groups or instructions."""

    def answer(case: Case) -> int:
        reader = reader_of(unit, reading)
        zeros = (0,) * (-len(case.a) % reader.unit.instruction.fill)
        scales = [(*side, *(side[-1:] * len(zeros))) for side in term_scales(unit, case)]
        return reader.answer((*case.a, *zeros), (*case.b, *zeros), case.c, *scales)

    def many(cases: Sequence[Case]) -> list[int]:
        if len(cases) <= FEW or arrays.settings(unit) is None:
            return [answer(case) for case in cases]
        results = [-1] * len(cases)
        for length, places in by_length(cases).items():
            if length % unit.instruction.k == 0:
                codes = _all_readings(unit, [cases[place] for place in places])[:, READINGS.index(reading)]
                for place, code in zip(places, codes.tolist(), strict=True):
                    results[place] = code
        # The reader answers cases with results that are not finite, and parts of instructions.
        return [answer(case) if code < 0 else code for case, code in zip(cases, results, strict=True)]

    return many


def _all_readings(unit: Unit, cases: list[Case]) -> arrays.Ints:
    """Result codes, int64[n, 40], of cases of equal length; -1 where the compiled readings have no result."""
    products = arrays.products(unit, cases)
    finite = products.finite & arrays.finite_codes(unit, [case.c for case in cases])
    c = np.array([case.c for case in cases], dtype=np.int64)
    c[~finite] = 0
    codes = arrays.evaluated(unit, products, c)
    codes[~finite] = -1
    return codes


def by_length(cases: Sequence[Case]) -> dict[int, list[int]]:
    """The indices of cases, by their number of terms."""
    indices: dict[int, list[int]] = {}
    for place, case in enumerate(cases):
        indices.setdefault(len(case.a), []).append(place)
    return indices


def by_candidate(candidate: Candidate) -> Answering:
    """A function that returns a candidate's results."""
    unit = candidate.unit

    def answer(case: Case) -> int:
        return candidate_result(candidate, case.a, case.b, case.c, *term_scales(unit, case))

    def many(cases: Sequence[Case]) -> list[int]:
        if len(cases) <= MANY:
            return [answer(case) for case in cases]
        results = [0] * len(cases)
        for places in by_length(cases).values():
            here = [cases[place] for place in places]
            codes = _dots(candidate, here) if _whole(unit, here) else [answer(case) for case in here]
            for place, code in zip(places, codes, strict=True):
                results[place] = code
        return results

    return many


def _dots(candidate: Candidate, cases: list[Case]) -> list[int]:
    """The result codes of cases of equal length, which need no filling up."""
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
    """Whether cases of equal length fill the unit's groups and the scales' blocks."""
    length = len(cases[0].a)
    if unit.scale is None:
        return length % unit.instruction.fill == 0
    blocks = block_lengths(unit)
    return length % unit.instruction.fill == 0 and not any(length % block for block in blocks)


def _codes(fmt: Format, values: Sequence[object]) -> NDArray[Any]:
    return np.array(values, dtype=container_dtype(fmt))
