"""Groups in their order: what each starts from, and what becomes of its result. Every element by itself.

`strips` does the same for many columns at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hwsim.compiled import compiled
from hwsim.kernels.floats import round_to, sum_in
from hwsim.kernels.rules import LATER, NAN_EXP
from hwsim.kernels.window import group_sum

PLAIN, PROMOTED, PROMOTED_SCALED, ADDED_LATE, LATE_WINDOW = range(5)


class Chain(NamedTuple):
    """What becomes of a group's result.

    kind: it is the next one's addend; or it goes into a register every `every` groups and at the end; or its window
    takes a late addend in. restart: groups after which the partial sum is +0 again; 0 for never.
    emin_c, emin: of the addend's and the result's formats. flush_below: magnitudes in the register below that are zeros
    when they are added to. native: the register is binary32, to nearest even.
    """

    kind: int
    every: int
    restart: int
    emin_c: int
    emin: int
    flush_below: float
    native: int


@compiled
def committed(chain: Any, register: Any, partial: Any, scale_a: Any, scale_b: Any, target: Any) -> Any:
    """The register with a partial sum."""
    if chain.kind == PROMOTED_SCALED:
        scale = round_to(scale_a * scale_b, target)
        return round_to(sum_in(partial * scale, register, target.mode, False), target)
    if abs(register) < chain.flush_below:
        register = np.copysign(0.0, register)
    return round_to(sum_in(register, partial, target.mode, False), target)


@compiled
def run_scalar(
    rule: Any, chain: Any, result: Any, target: Any, places: Any, scales: Any, blocks: Any, a: Any, b: Any,
    values: Any, columns: Any,
) -> None:  # fmt: skip
    """Every element by itself.

    result, target: of the roundings of groups and of the register. places: the index along K of each group's lanes,
    (groups, lanes). scales: how they enter: 0 for none, 1 at products, 2 at subgroups, 3 at promotions. blocks: the
    products of a block, of a and b. a, b: each a Side, words (m, K) and (n, K). values: (m, n), the addends, which
    become the results. columns: (m,), where the columns of a row begin in b.
    """
    lanes = rule.lanes
    x, y = np.zeros(lanes, np.uint32), np.zeros(lanes, np.uint32)
    shifts = np.zeros(lanes, np.int64)
    words_a, words_b = np.zeros(lanes, np.uint32), np.zeros(lanes, np.uint32)
    sigs, exps, signs = np.zeros(lanes, np.int64), np.zeros(lanes, np.int64), np.zeros(lanes, np.int64)
    count = places.shape[0]
    for i in range(a.words.shape[0]):
        for j in range(values.shape[1]):
            start = values[i, j]
            partial, register = start, start
            emin = chain.emin_c
            if chain.kind != PLAIN and chain.kind != LATE_WINDOW:
                partial = 0.0
            if chain.kind == PROMOTED or chain.kind == PROMOTED_SCALED:
                register = round_to(start, target)
            row = j + columns[i]
            for g in range(count):
                if chain.restart and g % chain.restart == 0:
                    partial, emin = 0.0, chain.emin
                for lane in range(lanes):
                    k = places[g, lane]
                    x[lane], y[lane] = a.words[i, k], b.words[row, k]
                    if scales == 1:
                        p, q = np.int64(a.scales[i, k // blocks[0]]), np.int64(b.scales[row, k // blocks[1]])
                        shifts[lane] = NAN_EXP if p == NAN_EXP or q == NAN_EXP else p + q
                    elif scales == 2:
                        words_a[lane] = np.uint32(a.scales[i, k // blocks[0]])
                        words_b[lane] = np.uint32(b.scales[row, k // blocks[1]])
                with_c = rule.addend == 1 or (rule.addend == LATER and (g > 0 or chain.restart > 0))
                if chain.kind == LATE_WINDOW:
                    odd = group_sum(rule, x, y, shifts, words_a, words_b, register, emin, False, sigs, exps, signs)
                    register, emin = round_to(odd, result), chain.emin
                    continue
                odd = group_sum(rule, x, y, shifts, words_a, words_b, partial, emin, with_c, sigs, exps, signs)
                partial, emin = round_to(odd, result), chain.emin
                if chain.kind == PLAIN:
                    continue
                if g % chain.every == chain.every - 1 or g == count - 1:
                    first = (g - g % chain.every) * lanes
                    scale_a = scale_b = 1.0
                    if scales == 3:
                        scale_a, scale_b = a.scales[i, first // blocks[0]], b.scales[row, first // blocks[1]]
                    register = committed(chain, register, partial, scale_a, scale_b, target)
            values[i, j] = partial if chain.kind == PLAIN else register
