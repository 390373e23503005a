"""Partial results and stage values, line for line with the operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.formats import Class
from hwsim.model.definition import Definition
from hwsim.model.record import Explanation, Group
from hwsim.spec import AlignedSum, Unit
from hwsim.vectors.layout import Layout, layout, line_groups

MOST_WINDOW = 56  # fraction bits of stage values, so that every element has at most 64 bits
EXPONENT_BITS = 16
SPECIALS = {Class.NAN: 1, Class.INFINITY: 2}


def stage_layout(unit: Unit) -> Layout:
    """A line of stage values: of every group of the line what its window holds.

    special: 1 NaN, 2 +Inf, 3 -Inf, which is the group's result whatever the window holds; else 0. any: 0 where every
    term is zero, which leaves max_exp without a meaning. aligned: the terms in units of 2^(max_exp - fraction_bits),
    the addend last where there is one. total: their sum. result: the sum, rounded.
    Raises ValueError for a unit without such a window.
    """
    match unit.sum:
        case AlignedSum(subgroup=None, fraction_bits=bits):
            pass
        case _:
            raise ValueError(
                f"stage values are those of one aligned window, and {unit.name} sums otherwise ({unit.sum.method}); "
                "the partial results are in partial.hex"
            )
    if bits > MOST_WINDOW:
        raise ValueError(f"stage values hold windows of up to {MOST_WINDOW} fraction bits, not {bits}")
    terms = unit.instruction.lanes + (unit.sum.addend == "aligned")
    fields = []
    for group in range(line_groups(unit)):
        names = [f"{name}_{group}" if line_groups(unit) > 1 else name for name in FIELDS]
        widths = (2, 1, EXPONENT_BITS, bits + 4, bits + 4 + terms.bit_length(), unit.result.format.container_bits)
        counts = (1, 1, 1, terms, 1, 1)
        signed = (False, False, True, True, True, False)
        fields += list(zip(names, widths, counts, signed, strict=True))
    return layout(fields)


FIELDS = ("special", "any", "max_exp", "aligned", "total", "result")


def stage_fields(unit: Unit, explained: Sequence[Explanation]) -> dict[str, NDArray[Any]]:
    """The stage values of some cases, (lines, count) each."""
    made = stage_layout(unit)
    per_line = line_groups(unit)
    groups = [group for one in explained for group in one.groups]
    rows = [_values(group, made.field(made.fields[3].name).count) for group in groups]
    found: dict[str, NDArray[Any]] = {}
    for place in range(per_line):
        for at, name in enumerate(FIELDS):
            field = f"{name}_{place}" if per_line > 1 else name
            column = [row[at] for row in rows[place::per_line]]
            found[field] = np.array(column, np.int64).reshape(len(column), -1)
    return found


def _values(group: Group, terms: int) -> tuple[int, int, int, list[int], int, int]:
    special = 0
    if group.special is not None:
        special = SPECIALS[group.special.cls] + (group.special.cls is Class.INFINITY and group.special.sign)
    if special or group.max_exp is None:
        return special, 0, 0, [0] * terms, 0, group.code
    aligned = [*group.aligned, *[0] * (terms - len(group.aligned))]
    return special, 1, group.max_exp, aligned, group.total, group.code


def partial_fields(
    unit: Unit, definition: Definition, cs: Sequence[int], explained: Sequence[Explanation]
) -> dict[str, NDArray[Any]]:
    """The partial results of some cases, (lines, count) each. cs: the cases' addends."""
    per_line = line_groups(unit)
    codes = [group.code for one in explained for group in one.groups]
    found: dict[str, NDArray[Any]] = {"partial": np.array(codes, np.int64).reshape(-1, per_line)}
    if unit.promotion is not None or unit.late is not None:
        registers = []
        for c, one in zip(cs, explained, strict=True):
            held = definition.promoter.start(c) if unit.promotion is not None else 0
            for line in range(len(one.groups) // per_line):
                for group in range(line * per_line, (line + 1) * per_line):
                    if group in one.promotions:
                        held = one.promotions[group].code
                    if group in one.additions:
                        held = one.additions[group].code
                registers.append(held)
        found["register"] = np.array(registers, np.int64)[:, None]
    return found
