"""What the lines of a vector set's files hold, of batches and of what the definition makes of their cases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.cases.case import Batch, Case, addend_mask, block_lengths
from hwsim.cosim.vectors.layout import Layout, layout
from hwsim.errors import InputError
from hwsim.formats import Class, Format, container_dtype
from hwsim.formats.codes import Codes
from hwsim.model.definition import Definition
from hwsim.model.record import Explanation, Group
from hwsim.spec import AlignedSum, Unit

OPERANDS, EXPECTED, PARTIAL, STAGES = "operands.hex", "expected.hex", "partial.hex", "stages.hex"
MOST_WINDOW = 56  # fraction bits of stage values, so that every element has at most 64 bits
EXPONENT_BITS = 16
SPECIALS = {Class.NAN: 1, Class.INFINITY: 2}

Fields = dict[str, NDArray[Any]]


def layouts(unit: Unit, files: Iterable[str]) -> dict[str, Layout]:
    """The layout of every file of lines that a set has: operands, results, and the others if they are among these."""
    made = {OPERANDS: operand_layout, EXPECTED: result_layout, PARTIAL: partial_layout, STAGES: stage_layout}
    return {name: of(unit) for name, of in made.items() if name in (OPERANDS, EXPECTED, *files)}


# Operands: one description of the columns for lines, text, JSON and arrays.


def column_formats(unit: Unit) -> dict[str, Format]:
    """The formats of the columns that hold operands: a, b, their scales and c, as far as the unit has them."""
    formats: dict[str, Format] = {"a": unit.operands.a, "b": unit.operands.b}
    if unit.scale is not None:
        formats |= {"scale_a": unit.scale.a.format, "scale_b": unit.scale.b.format}
    if unit.operands.addend is not None:
        formats["c"] = unit.operands.addend
    return formats


def column_codes(unit: Unit, batch: Batch) -> dict[str, Codes]:
    """The operands of a batch by column, (cases, count) each."""
    return {name: getattr(batch, name).reshape(len(batch), -1) for name in column_formats(unit)}


def line_groups(unit: Unit) -> int:
    """Groups of one line: one, or an instruction's where groups interleave or start from zero."""
    return unit.instruction.fill // unit.instruction.lanes


def lines_of(unit: Unit, batch: Batch) -> int:
    """Lines of operands that a case of the batch has."""
    return int(batch.a.shape[1]) // unit.instruction.fill


def operand_layout(unit: Unit) -> Layout:
    """A line of operands: a, b, their scales, the addend, and whether the line is a case's first and last.

    Of each side's scales there is at least one, which lines of one block repeat.
    """
    terms = unit.instruction.fill
    counts = {"a": terms, "b": terms, "c": 1}
    if unit.scale is not None:
        sides = zip(("scale_a", "scale_b"), block_lengths(unit), strict=True)
        counts |= {name: max(1, terms // length) for name, length in sides}
    fields = [(name, fmt.container_bits, counts[name], False) for name, fmt in column_formats(unit).items()]
    return layout([*fields, ("first", 1, 1, False), ("last", 1, 1, False)])


def operand_fields(unit: Unit, batch: Batch) -> Fields:
    """The fields of every line of operands, (lines, count) each.

    Only the first line's addend counts: the others carry its complement, which must not.
    """
    per_case, terms, made = lines_of(unit, batch), unit.instruction.fill, operand_layout(unit)
    fields: Fields = dict(column_codes(unit, batch))
    for name in ("a", "b"):
        fields[name] = fields[name].reshape(-1, terms)
    for side, name in enumerate(("scale_a", "scale_b") if unit.scale is not None else ()):
        codes, count = fields[name], made.field(name).count
        first = np.arange(per_case) * terms // block_lengths(unit)[side]
        at = np.minimum(first[:, None] + np.arange(count), codes.shape[1] - 1)
        fields[name] = codes[:, at].reshape(-1, count)
    if "c" in fields:
        c = np.repeat(fields["c"], per_case, axis=1)
        c[:, 1:] ^= np.asarray(addend_mask(unit), c.dtype)
        fields["c"] = c.reshape(-1, 1)
    place_in_case = np.tile(np.arange(per_case), len(batch))[:, None]
    fields["first"] = (place_in_case == 0).astype(np.uint8)
    fields["last"] = (place_in_case == per_case - 1).astype(np.uint8)
    return fields


def case_of(unit: Unit, name: str, lines: Sequence[bytes]) -> Case:
    """The case whose lines of operands these are."""
    rows = [operand_layout(unit).unpacked(line) for line in lines]
    joined = {field: tuple(code for row in rows for code in row[field]) for field in rows[0]}
    scales = []
    for side, field in enumerate(("scale_a", "scale_b") if unit.scale is not None else ()):
        scales.append(joined[field][:: max(1, block_lengths(unit)[side] // unit.instruction.fill)])
    return Case(name, joined["a"], joined["b"], joined.get("c", (0,))[0], *scales)


# Results, partial results and stages.


def result_layout(unit: Unit) -> Layout:
    """A line of expected results."""
    return layout([("result", unit.output.container_bits, 1, False)])


def partial_layout(unit: Unit) -> Layout:
    """A line of partial results, one for each line of operands.

    partial: every group's result. register: the promotion register, or the sum with the late addend, after the line.
    """
    fields = [("partial", unit.result.format.container_bits, line_groups(unit), False)]
    if unit.promotion is not None or unit.late is not None:
        fields.append(("register", unit.output.container_bits, 1, False))
    return layout(fields)


def partial_fields(unit: Unit, definition: Definition, cs: Sequence[int], explained: Sequence[Explanation]) -> Fields:
    """The partial results of some cases, (lines, count) each. cs: the cases' addends."""
    per_line = line_groups(unit)
    codes = [group.code for one in explained for group in one.groups]
    found: Fields = {"partial": np.array(codes, container_dtype(unit.result.format)).reshape(-1, per_line)}
    if unit.promotion is not None or unit.late is not None:
        registers = []
        for c, one in zip(cs, explained, strict=True):
            held = definition.promoter.start(c) if unit.promotion is not None else 0
            added = {at: step.code for at, step in one.promotions.items()}
            added |= {at: step.code for at, step in one.additions.items()}
            for group in range(len(one.groups)):
                held = added.get(group, held)
                if group % per_line == per_line - 1:
                    registers.append(held)
        found["register"] = np.array(registers, container_dtype(unit.output))[:, None]
    return found


def stage_layout(unit: Unit) -> Layout:
    """A line of stage values: of every group of the line what its window holds.

    special: 1 NaN, 2 +Inf, 3 -Inf, which is the group's result whatever the window holds; else 0. any: 0 where every
    term is zero, which leaves max_exp without a meaning. aligned: the terms in units of 2^(max_exp - fraction_bits),
    the addend last where there is one. total: their sum, without the places that `sum.cut` has it lose. result: that,
    rounded.
    Raises ValueError for a unit without such a window.
    """
    match unit.sum:
        case AlignedSum(subgroup=None, fraction_bits=bits):
            pass
        case _:
            raise InputError(
                f"stage values are those of one aligned window, and {unit.name} sums otherwise ({unit.sum.method}); "
                "the partial results are in partial.hex"
            )
    if bits > MOST_WINDOW:
        raise InputError(f"stage values hold windows of up to {MOST_WINDOW} fraction bits, not {bits}")
    terms = unit.instruction.lanes + (unit.sum.addend == "aligned")
    cut = 0 if unit.sum.cut is None else unit.sum.cut.bits + 3  # a sum may be rounded up to the places that are left
    fields = [
        ("special", 2, 1, False),
        ("any", 1, 1, False),
        ("max_exp", EXPONENT_BITS, 1, True),
        ("aligned", bits + 4, terms, True),
        ("total", max(bits + 4 + terms.bit_length(), cut), 1, True),
        ("result", unit.result.format.container_bits, 1, False),
    ]
    return layout(
        (_stage(unit, name, group), bits, count, signed)
        for group in range(line_groups(unit))
        for name, bits, count, signed in fields
    )


def _stage(unit: Unit, name: str, group: int) -> str:
    """The name of a stage's field, with its group's number where a line has several."""
    return f"{name}_{group}" if line_groups(unit) > 1 else name


def stage_fields(unit: Unit, explained: Sequence[Explanation]) -> Fields:
    """The stage values of some cases, (lines, count) each."""
    per_line, terms = line_groups(unit), unit.instruction.lanes + (unit.sum.addend == "aligned")
    rows = [_stages(group, terms) for one in explained for group in one.groups]
    return {
        _stage(unit, name, place): np.array(
            [[value % (1 << 64) for value in row[name]] for row in rows[place::per_line]], np.uint64
        )
        for place in range(per_line)
        for name in rows[0]
    }


def _stages(group: Group, terms: int) -> dict[str, list[int]]:
    special = 0
    if group.special is not None:
        special = SPECIALS[group.special.cls] + (group.special.cls is Class.INFINITY and group.special.sign)
    held = {"special": [special], "any": [0], "max_exp": [0], "aligned": [0] * terms, "total": [0]}
    if not special and group.max_exp is not None:
        aligned = [*group.aligned, *[0] * (terms - len(group.aligned))]
        held |= {"any": [1], "max_exp": [group.max_exp], "aligned": aligned, "total": [group.total]}
    return {**held, "result": [group.code]}
