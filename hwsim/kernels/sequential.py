"""`sum.method: sequential`: one rounded addition after the other."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from hwsim.compiled import compiled
from hwsim.kernels.additions import Additions, AdditionsKernel, additions_lack
from hwsim.kernels.floats import RoundingTarget, round_in, sum_in
from hwsim.kernels.fma import FmaKernel, carrier_of
from hwsim.kernels.values import Carried
from hwsim.spec import SequentialSum, Unit


def lacks(unit: Unit, rule: SequentialSum) -> Iterator[str]:
    """What this kernel does not hold, as keys with their values."""
    if rule.subgroup is not None:
        yield "sum.subgroup"
    if carrier_of(unit, rule) is None:
        yield from additions_lack(unit, rule)


def kernel(unit: Unit, rule: SequentialSum) -> AdditionsKernel | FmaKernel:
    """The kernel of a unit of this method that lacks nothing."""
    if (carrier := carrier_of(unit, rule)) is not None:
        return FmaKernel(unit, carrier)
    return AdditionsKernel(unit, rule, additions)


@lru_cache(maxsize=64)
def additions(mode: int, exact: bool, fused: bool) -> Additions:
    """The loop for a mode. exact: of sums. fused: products are not rounded."""

    @compiled
    def chains(
        sums: Carried, a: Carried, b: Carried, first: int, last: int, lanes: int, bare: bool, t: RoundingTarget
    ) -> None:
        for i in range(sums.shape[0]):
            total = sums[i]
            for k in range(first, last):
                x, row = a[i, k], b[k]
                for j in range(total.shape[0]):
                    product = x * row[j]
                    if not fused:
                        product = round_in(product, t, mode)
                    total[j] = round_in(sum_in(total[j], product, mode, exact), t, mode)

    return chains
