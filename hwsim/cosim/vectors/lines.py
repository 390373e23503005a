"""Lines of a vector set's files: fields of bits as hexadecimal digits, words and JSON, and arrays."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hwsim.base.errors import InputError
from hwsim.cases.case import Batch, Case, addend_mask, block_lengths, operand_counts, operand_formats
from hwsim.formats import Class, Format, container_dtype
from hwsim.formats.codes import Codes
from hwsim.model.definition import Definition
from hwsim.model.record import Explanation, Group
from hwsim.spec import AlignedSum, SparseUnit, Unit
from hwsim.tb.fields import Layout, side_by_side

OPERANDS, EXPECTED, PARTIAL, STAGES = "operands.hex", "expected.hex", "partial.hex", "stages.hex"
MOST_WINDOW = 56  # fraction bits of stage values, so that every element has at most 64 bits
EXPONENT_BITS = 16
SIGNED = ("max_exp", "aligned", "total")  # values of stages in two's complement
SPECIALS = {Class.NAN: 1, Class.INFINITY: 2}

Fields = dict[str, NDArray[Any]]
Written: TypeAlias = Unit | SparseUnit  # what a set's lines are of; results and stages are a sparse unit's dense one's


def dense(unit: Written) -> Unit:
    """The unit that multiplies."""
    return unit.dense if isinstance(unit, SparseUnit) else unit


def layouts(unit: Written, files: Iterable[str]) -> dict[str, Layout]:
    """The layout of each file of lines in a set: operands, results, and the others if they are among these."""
    kinds = {OPERANDS: operand_layout, EXPECTED: result_layout, PARTIAL: partial_layout, STAGES: stage_layout}
    return {name: of(unit) for name, of in kinds.items() if name in (OPERANDS, EXPECTED, *files)}


# Operands: one description of the columns for lines, text, JSON and arrays.


def column_codes(unit: Written, batch: Batch) -> dict[str, Codes]:
    """The operands of a batch by column, (cases, count) each."""
    return {name: getattr(batch, name).reshape(len(batch), -1) for name in operand_formats(unit)}


def line_groups(unit: Written) -> int:
    """Groups in one line: one, or those of an instruction where groups interleave or start from zero."""
    unit = dense(unit)
    return unit.instruction.fill // unit.instruction.lanes


def lines_of(unit: Written, batch: Batch) -> int:
    """The number of lines of operands that a case of the batch has."""
    return int(batch.a.shape[1]) // dense(unit).instruction.fill


def operand_layout(unit: Written) -> Layout:
    """The layout of a line of operands: a, b, their scales, the addend, and flags for a case's first and last line.

    Of each side's scales there is at least one, which lines of one block repeat.
    """
    counts = operand_counts(unit, dense(unit).instruction.fill)
    fields = [(name, fmt.container_bits, counts[name]) for name, fmt in operand_formats(unit).items()]
    return Layout(side_by_side([*fields, ("first", 1, 1), ("last", 1, 1)]))


def operand_fields(unit: Written, batch: Batch) -> Fields:
    """The fields of every line of operands, (lines, count) each.

    Only the first line's addend counts: the others carry its complement, which must not.
    """
    per_case, layout, fields = lines_of(unit, batch), operand_layout(unit), dict[str, NDArray[Any]]()
    for name, codes in column_codes(unit, batch).items():
        of_products = name in ("a", "b", "metadata")
        fields[name] = codes.reshape(-1, layout.field(name).count) if of_products else codes
    unit = dense(unit)
    terms = unit.instruction.fill
    for side, name in enumerate(("scale_a", "scale_b") if unit.scale is not None else ()):
        codes, count = fields[name], layout.field(name).count
        first = np.arange(per_case) * terms // block_lengths(unit)[side]
        columns = np.minimum(first[:, None] + np.arange(count), codes.shape[1] - 1)
        fields[name] = codes[:, columns].reshape(-1, count)
    if "c" in fields:
        c = np.repeat(fields["c"], per_case, axis=1)
        c[:, 1:] ^= np.asarray(addend_mask(unit), c.dtype)
        fields["c"] = c.reshape(-1, 1)
    place_in_case = np.tile(np.arange(per_case), len(batch))[:, None]
    fields["first"] = (place_in_case == 0).astype(np.uint8)
    fields["last"] = (place_in_case == per_case - 1).astype(np.uint8)
    return fields


def case_of(unit: Written, name: str, lines: Sequence[bytes]) -> Case:
    """The case with these lines of operands."""
    rows = [operand_layout(unit).unpacked(line) for line in lines]
    joined = {field: tuple(code for row in rows for code in row[field]) for field in rows[0]}
    scales, metadata, unit = list[tuple[int, ...]](), joined.get("metadata", ()), dense(unit)
    for side, field in enumerate(("scale_a", "scale_b") if unit.scale is not None else ()):
        scales.append(joined[field][:: max(1, block_lengths(unit)[side] // unit.instruction.fill)])
    scale_a, scale_b = scales or ((), ())
    return Case(name, joined["a"], joined["b"], joined.get("c", (0,))[0], scale_a, scale_b, metadata=metadata)


# Results, partial results and stages.


def result_layout(unit: Written) -> Layout:
    return Layout(side_by_side([("result", dense(unit).output.container_bits, 1)]))


def partial_layout(unit: Written) -> Layout:
    """The layout of a line of partial results, one for each line of operands.

    partial: every group's result. register: the promotion register, or the sum with the late addend, after the line.
    """
    unit = dense(unit)
    fields = [("partial", unit.result.format.container_bits, line_groups(unit))]
    if unit.promotion is not None or unit.late is not None:
        fields.append(("register", unit.output.container_bits, 1))
    return Layout(side_by_side(fields))


def partial_fields(unit: Unit, definition: Definition, cs: Sequence[int], explained: Sequence[Explanation]) -> Fields:
    """The partial results of some cases, (lines, count) each. cs: the cases' addends."""
    per_line = line_groups(unit)
    codes = [group.code for explanation in explained for group in explanation.groups]
    fields: Fields = {"partial": np.array(codes, container_dtype(unit.result.format)).reshape(-1, per_line)}
    if unit.promotion is not None or unit.late is not None:
        registers = []
        for c, explanation in zip(cs, explained, strict=True):
            held = definition.promoter.start(c) if unit.promotion is not None else 0
            added = {index: step.code for index, step in explanation.promotions.items()}
            added |= {index: step.code for index, step in explanation.additions.items()}
            for group in range(len(explanation.groups)):
                held = added.get(group, held)
                if group % per_line == per_line - 1:
                    registers.append(held)
        fields["register"] = np.array(registers, container_dtype(unit.output))[:, None]
    return fields


def stage_layout(unit: Written) -> Layout:
    """The layout of a line of stage values: the window of every group of the line.

    special: 1 NaN, 2 +Inf, 3 -Inf, which is the group's result whatever the window holds; else 0. any: 0 where every
    term is zero, which leaves max_exp without a meaning. aligned: the terms in units of 2^(max_exp - fraction_bits),
    the addend last where there is one. total: their sum, without the places that `sum.cut` has it lose. result: that,
    rounded.
    Raises ValueError for a unit without such a window.
    """
    unit = dense(unit)
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
        ("special", 2, 1),
        ("any", 1, 1),
        ("max_exp", EXPONENT_BITS, 1),
        ("aligned", bits + 4, terms),
        ("total", max(bits + 4 + terms.bit_length(), cut), 1),
        ("result", unit.result.format.container_bits, 1),
    ]
    placed = side_by_side(
        (_stage(unit, name, group), bits, count) for group in range(line_groups(unit)) for name, bits, count in fields
    )
    return Layout(tuple(replace(field, signed=field.name.startswith(SIGNED)) for field in placed))


def _stage(unit: Unit, name: str, group: int) -> str:
    """The name of a stage's field, with its group's number where a line has several."""
    return f"{name}_{group}" if line_groups(unit) > 1 else name


def stage_fields(unit: Unit, explained: Sequence[Explanation]) -> Fields:
    """The stage values of some cases, (lines, count) each."""
    per_line, terms = line_groups(unit), unit.instruction.lanes + (unit.sum.addend == "aligned")
    rows = [_stages(group, terms) for explanation in explained for group in explanation.groups]
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


STREAM = "hwsim vectors 1"


def header(unit: Written, *, expected: bool) -> str:
    """The comment lines that text begins with: the unit, and the columns."""
    spec = json.dumps(unit.model_dump(mode="json", exclude_unset=True), separators=(",", ":"))
    columns = ["id", *operand_formats(unit), *(["result"] if expected else [])]
    return (
        f"# {STREAM}\n# unit {spec}\n"
        "# codes in hexadecimal, every element in all its digits, element 0 first\n"
        f"# columns {' '.join(columns)}\n"
    )


def text_lines(unit: Written, batch: Batch, results: Codes | None) -> str:
    """A line of words for each case; with its result where there are results."""
    formats, codes = operand_formats(unit), column_codes(unit, batch)
    columns = [batch.ids, *(_words(formats[name], codes[name]) for name in formats)]
    if results is not None:
        columns.append(_words(dense(unit).output, results[:, None]))
    return "".join(" ".join(row) + "\n" for row in zip(*columns, strict=True))


def _words(fmt: Format, codes: Codes) -> list[str]:
    """Each row (n, count) of codes as one word."""
    wanted = _digits(fmt)
    if codes.dtype == object:
        return ["".join(f"{code:0{wanted}x}" for code in row) for row in codes.tolist()]
    size = codes.dtype.itemsize
    text = codes.astype(codes.dtype.newbyteorder(">")).tobytes().hex()
    rows = [text[start : start + 2 * size * codes.shape[1]] for start in range(0, len(text), 2 * size * codes.shape[1])]
    if wanted == 2 * size:
        return rows
    return ["".join(row[start - wanted : start] for start in range(2 * size, len(row) + 1, 2 * size)) for row in rows]


def _digits(fmt: Format) -> int:
    return -(-fmt.container_bits // 4)


def json_lines(unit: Written, batch: Batch, results: Codes) -> str:
    """A JSON object for each case: codes as integers."""
    columns: dict[str, Any] = {"id": batch.ids}
    columns |= {name: codes.tolist() for name, codes in column_codes(unit, batch).items()}
    if "c" in columns:
        columns["c"] = batch.c.tolist()
    columns["result"] = results.tolist()
    rows = zip(*columns.values(), strict=True)
    return "".join(json.dumps(dict(zip(columns, row, strict=True)), separators=(",", ":")) + "\n" for row in rows)


def case_of_words(unit: Written, words: list[str]) -> Case:
    """Read back a case that `text_lines` wrote, without its result. Raises ValueError for words that are no case's."""
    formats = operand_formats(unit)
    codes = {name: _codes(fmt, word, name) for (name, fmt), word in zip(formats.items(), words[1:], strict=True)}
    terms, fill = len(codes["a"]), dense(unit).instruction.fill
    if terms % fill:
        raise InputError(f"a must have a multiple of {fill} codes, not {terms}")
    for name, count in operand_counts(unit, terms).items():
        if len(codes[name]) != count:
            raise InputError(f"{name} must have {count} codes, not {len(codes[name])}")
    scale_a, scale_b = (codes.get(name, ()) for name in ("scale_a", "scale_b"))
    metadata = codes.get("metadata", ())
    return Case(words[0], codes["a"], codes["b"], codes.get("c", (0,))[0], scale_a, scale_b, metadata=metadata)


def _codes(fmt: Format, word: str, what: str) -> tuple[int, ...]:
    """The codes in a word. Raises ValueError for a word that is not a whole number of codes in hexadecimal."""
    size = _digits(fmt)
    if len(word) % size:
        raise InputError(f"{what} must be codes of {size} hexadecimal digits each, not {len(word)} digits")
    if hexadecimal(word) is None:
        raise InputError(f"{what} must be hexadecimal digits, not {word[:24]!r}")
    codes = tuple(int(word[start : start + size], 16) for start in range(0, len(word), size))
    if max(codes) >> fmt.container_bits:
        raise InputError(f"{what} holds {max(codes):#x}, and codes of {fmt.name} have {fmt.container_bits} bits")
    return codes


def hexadecimal(word: str) -> int | None:
    """The number that hexadecimal digits mean; None for a word of anything else."""
    try:
        return int(word, 16) if word.isalnum() else None
    except ValueError:
        return None
