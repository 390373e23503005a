"""Directed cases: for a unit's every boundary, operands that are solved for, not hoped for."""

from __future__ import annotations

from collections.abc import Callable

from hwsim.cases import (
    directed_addend,
    directed_align,
    directed_beats,
    directed_promotion,
    directed_round,
    directed_scale,
    directed_special,
    directed_sum,
)
from hwsim.cases.bench import Bench
from hwsim.cases.case import Case
from hwsim.spec import Unit

GENERATORS: tuple[Callable[[Bench], None], ...] = (
    directed_align.distance,
    directed_align.lane,
    directed_align.lost,
    directed_align.lost_addend,
    directed_align.many,
    directed_align.edge,
    directed_addend.distance,
    directed_addend.extreme,
    directed_sum.normalize,
    directed_sum.growth,
    directed_sum.carry,
    directed_sum.cancel,
    directed_sum.residue,
    directed_round.tie,
    directed_round.ends,
    directed_special.classes,
    directed_special.zero,
    directed_special.zero_times,
    directed_special.subnormal,
    directed_special.nan,
    directed_special.infinity,
    directed_scale.codes,
    directed_scale.nan,
    directed_scale.far,
    directed_scale.blocks,
    directed_scale.beats,
    directed_beats.chain,
    directed_beats.special,
    directed_promotion.interval,
    directed_promotion.register,
    directed_promotion.cancel,
    directed_promotion.tie,
    directed_promotion.apart,
    directed_promotion.overflow,
)


def directed(unit: Unit, seed: int) -> list[Case]:
    """The directed cases of a unit of method `aligned`; the same for the same unit and seed.

    A case's id is its group and a name in it. seed: of choices between operands that serve as well: lanes, signs that
    cancel out, what idle lanes hold. A boundary that no operands of the unit reach has no case.
    Raises NotImplementedYet for a unit that the cycle-level model does not have.
    """
    bench = Bench(unit, seed)
    for generate in GENERATORS:
        bench.start(f"{generate.__module__}.{generate.__name__}")
        generate(bench)
    return bench.cases
