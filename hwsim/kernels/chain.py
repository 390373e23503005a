"""Groups in their order: what each starts from, and what becomes of its result. Every element by itself.

`strips` does the same for many columns at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hwsim.compiled import compiled, inlined
from hwsim.kernels.codes import Floats
from hwsim.kernels.extents import exponent_range
from hwsim.kernels.floats import RoundingTarget, round_to, sum_in
from hwsim.kernels.group import group_sum
from hwsim.kernels.groupterms import NAN_EXP, GroupTerms, Lanes
from hwsim.kernels.integers import Int64s
from hwsim.kernels.packed import WindowOperand
from hwsim.kernels.windows import ALIGNED, LATER, WindowNumbers
from hwsim.spec import LateAdd, LateInWindow, Unit

# What becomes of a group's result: the next one's addend; a part of a register (promotions, with scales or without,
# and late addends); or, of a window that a late addend joins, the next one's late addend.
PLAIN, PROMOTED, PROMOTED_SCALED, ADDED_LATE, LATE_WINDOW = range(5)
NEVER = 0


class ChainNumbers(NamedTuple):
    """What becomes of a group's result, as numbers for compiled code.

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


def chain_numbers(unit: Unit) -> ChainNumbers:
    """What becomes of the results of a unit's groups."""
    emin = exponent_range(unit.result.format)[0]
    emin_c = emin if unit.operands.addend is None else exponent_range(unit.operands.addend)[0]
    restart = NEVER if unit.restart is None else unit.restart
    numbers = ChainNumbers(PLAIN, unit.instruction.groups, restart, emin_c, emin, 0.0, 0)
    promotion = unit.promotion
    if promotion is not None:
        return numbers._replace(
            kind=PROMOTED_SCALED if promotion.operation == "fma" else PROMOTED,
            every=restart,
            native=int((promotion.format.name, promotion.rounding) == ("f32", "rne")),
        )
    if isinstance(unit.late, LateInWindow):
        # Such an addend is c first, and then a result: it does not start again.
        return numbers._replace(kind=LATE_WINDOW, restart=NEVER)
    if isinstance(unit.late, LateAdd):
        below = 2.0**unit.late.format.emin if unit.late.flush else 0.0
        native = (unit.late.format.name, unit.late.rounding, unit.late.flush) == ("f32", "rne", False)
        return numbers._replace(kind=ADDED_LATE, flush_below=below, native=int(native))
    return numbers


@compiled
def committed(
    chain: ChainNumbers, register: float, partial: float, scale_a: float, scale_b: float, target: RoundingTarget
) -> float:
    """The register with a partial sum."""
    if chain.kind == PROMOTED_SCALED:
        scale = round_to(scale_a * scale_b, target)
        return round_to(sum_in(partial * scale, register, target.mode, False), target)
    if abs(register) < chain.flush_below:
        register = np.copysign(0.0, register)
    return round_to(sum_in(register, partial, target.mode, False), target)


# How scales enter: not at all, or at products, subgroups or promotions.
NO_SCALES, AT_PRODUCTS, AT_SUBGROUPS, AT_PROMOTIONS = range(4)


class GroupRules(NamedTuple):
    """All that a unit says of its groups, for compiled code.

    result, register: the roundings of groups' results and of the register. scales: how they enter. blocks: how many
    products along K share a scale, of a and of b.
    """

    window: WindowNumbers
    chain: ChainNumbers
    result: RoundingTarget
    register: RoundingTarget
    scales: int
    blocks: tuple[int, int]


@inlined
def rooms(lanes: int) -> tuple[Lanes, GroupTerms]:
    """Room for a group."""
    group = Lanes(
        np.zeros(lanes, np.uint32), np.zeros(lanes, np.uint32), np.zeros(lanes, np.int64),
        np.zeros(lanes, np.uint32), np.zeros(lanes, np.uint32),
    )  # fmt: skip
    return group, GroupTerms(np.zeros(lanes, np.int64), np.zeros(lanes, np.int64), np.zeros(lanes, np.int64))


@inlined
def load(rules: GroupRules, group: Lanes, places: Int64s, a: WindowOperand, b: WindowOperand, i: int, j: int) -> None:
    """Bring the factors and scales of row i of a and row j of b into a group's lanes."""
    scales, blocks = rules.scales, rules.blocks
    for lane in range(places.shape[0]):
        k = places[lane]
        group.a[lane], group.b[lane] = a.words[i, k], b.words[j, k]
        if scales == AT_PRODUCTS:
            p, q = np.int64(a.scales[i, k // blocks[0]]), np.int64(b.scales[j, k // blocks[1]])
            group.scales[lane] = NAN_EXP if p == NAN_EXP or q == NAN_EXP else p + q
        elif scales == AT_SUBGROUPS:
            group.scale_a[lane] = np.uint32(a.scales[i, k // blocks[0]])
            group.scale_b[lane] = np.uint32(b.scales[j, k // blocks[1]])


@inlined
def promotion_scales(
    rules: GroupRules, g: int, a: WindowOperand, b: WindowOperand, i: int, j: int
) -> tuple[float, float]:
    """The scales of the promotion that group g of row i of a and row j of b ends; ones where there are none."""
    if rules.scales != AT_PROMOTIONS:
        return 1.0, 1.0
    first = (g - g % rules.chain.every) * rules.window.lanes
    return a.scales[i, first // rules.blocks[0]], b.scales[j, first // rules.blocks[1]]


@compiled
def run_scalar(
    rules: GroupRules, places: Int64s, a: WindowOperand, b: WindowOperand, values: Floats, columns: Int64s
) -> None:
    """Every element by itself.

    places: the index along K of each group's lanes, (groups, lanes). a, b: words (m, K) and (n, K). values: (m, n), the
    addends, which become the results. columns: (m,), where the columns of a row begin in b.
    """
    rule, chain, count = rules.window, rules.chain, places.shape[0]
    group, terms = rooms(rule.lanes)
    for i in range(a.words.shape[0]):
        for j in range(values.shape[1]):
            start = values[i, j]
            partial, register = start, start
            emin = chain.emin_c
            if chain.kind != PLAIN and chain.kind != LATE_WINDOW:
                partial = 0.0
            if chain.kind == PROMOTED or chain.kind == PROMOTED_SCALED:
                register = round_to(start, rules.register)
            row = j + columns[i]
            for g in range(count):
                if chain.restart and g % chain.restart == 0:
                    partial, emin = 0.0, chain.emin
                load(rules, group, places[g], a, b, i, row)
                with_c = rule.addend == ALIGNED or (rule.addend == LATER and (g > 0 or chain.restart > 0))
                addend = register if chain.kind == LATE_WINDOW else partial
                result = round_to(group_sum(rule, group, terms, addend, emin, with_c), rules.result)
                emin = chain.emin
                if chain.kind == LATE_WINDOW:
                    register = result
                    continue
                partial = result
                if chain.kind == PLAIN:
                    continue
                if g % chain.every == chain.every - 1 or g == count - 1:
                    scale_a, scale_b = promotion_scales(rules, g, a, b, i, row)
                    register = committed(chain, register, partial, scale_a, scale_b, rules.register)
            values[i, j] = partial if chain.kind == PLAIN else register
