"""`sum.method: pairwise`: a tree of rounded additions for each group of lanes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from hwsim.compiled import compiled
from hwsim.kernels.additions import Additions, AdditionsKernel, additions_lack
from hwsim.kernels.floats import RoundingTarget, round_in, sum_in
from hwsim.kernels.values import Carried
from hwsim.spec import PairwiseSum, Unit


def lacks(unit: Unit, rule: PairwiseSum) -> Iterator[str]:
    """What this kernel does not hold, as keys with their values."""
    if rule.subgroup is not None:
        yield "sum.subgroup"
    yield from additions_lack(unit, rule)


def kernel(unit: Unit, rule: PairwiseSum) -> AdditionsKernel:
    """The kernel of a unit of this method that lacks nothing."""
    return AdditionsKernel(unit, rule, additions)


@lru_cache(maxsize=64)
def additions(mode: int, exact: bool, fused: bool) -> Additions:
    """The trees for a mode, whose roots go to the sums. exact: of sums. fused: products are not rounded."""

    @compiled
    def trees(
        sums: Carried, a: Carried, b: Carried, first: int, last: int, lanes: int, bare: bool, t: RoundingTarget
    ) -> None:
        level, above = np.empty((lanes, sums.shape[1]), sums.dtype), np.empty((lanes, sums.shape[1]), sums.dtype)
        for i in range(sums.shape[0]):
            for group in range(first, last, lanes):
                for lane in range(lanes):
                    x, row, leaf = a[i, group + lane], b[group + lane], level[lane]
                    for j in range(row.shape[0]):
                        product = x * row[j]
                        leaf[j] = product if fused else round_in(product, t, mode)
                count = lanes
                while count > 1:
                    for pair in range(count // 2):
                        left, right, node = level[2 * pair], level[2 * pair + 1], above[pair]
                        for j in range(node.shape[0]):
                            node[j] = round_in(sum_in(left[j], right[j], mode, exact), t, mode)
                    if count % 2:
                        above[count // 2] = level[count - 1]
                    level, above, count = above, level, (count + 1) // 2
                root, total = level[0], sums[i]
                if bare and group == first:
                    for j in range(total.shape[0]):
                        total[j] = round_in(root[j], t, mode)
                else:
                    for j in range(total.shape[0]):
                        total[j] = round_in(sum_in(root[j], total[j], mode, exact), t, mode)

    return trees
