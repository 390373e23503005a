"""Cases as text: a line each, of words that any program can read, and as JSON."""

from __future__ import annotations

import json
from typing import Any

from hwsim.cases.case import Batch, Case, block_lengths
from hwsim.cosim.vectors.lines import column_codes, column_formats
from hwsim.errors import InputError
from hwsim.formats import Format
from hwsim.formats.codes import Codes
from hwsim.spec import Unit

STREAM = "hwsim vectors 1"


def header(unit: Unit, *, expected: bool) -> str:
    """The comment lines that text begins with: the unit, and the columns."""
    spec = json.dumps(unit.model_dump(mode="json", exclude_unset=True), separators=(",", ":"))
    columns = ["id", *column_formats(unit), *(["result"] if expected else [])]
    return (
        f"# {STREAM}\n# unit {spec}\n"
        "# codes in hexadecimal, every element in all its digits, element 0 first\n"
        f"# columns {' '.join(columns)}\n"
    )


def text_lines(unit: Unit, batch: Batch, results: Codes | None) -> str:
    """A line of words for each case; with its result where there are results."""
    formats, codes = column_formats(unit), column_codes(unit, batch)
    columns = [batch.ids, *(_words(formats[name], codes[name]) for name in formats)]
    if results is not None:
        columns.append(_words(unit.output, results[:, None]))
    return "".join(" ".join(row) + "\n" for row in zip(*columns, strict=True))


def _words(fmt: Format, codes: Codes) -> list[str]:
    """Each row (n, count) of codes as one word."""
    wanted = _digits(fmt)
    if codes.dtype == object:
        return ["".join(f"{code:0{wanted}x}" for code in row) for row in codes.tolist()]
    size = codes.dtype.itemsize
    text = codes.astype(codes.dtype.newbyteorder(">")).tobytes().hex()
    rows = [text[at : at + 2 * size * codes.shape[1]] for at in range(0, len(text), 2 * size * codes.shape[1])]
    if wanted == 2 * size:
        return rows
    return ["".join(row[at - wanted : at] for at in range(2 * size, len(row) + 1, 2 * size)) for row in rows]


def _digits(fmt: Format) -> int:
    """Hexadecimal digits of a code."""
    return -(-fmt.container_bits // 4)


def json_lines(unit: Unit, batch: Batch, results: Codes) -> str:
    """A JSON object for each case: codes as integers."""
    columns: dict[str, Any] = {"id": batch.ids}
    columns |= {name: codes.tolist() for name, codes in column_codes(unit, batch).items()}
    if "c" in columns:
        columns["c"] = batch.c.tolist()
    columns["result"] = results.tolist()
    rows = zip(*columns.values(), strict=True)
    return "".join(json.dumps(dict(zip(columns, row, strict=True)), separators=(",", ":")) + "\n" for row in rows)


def case_of_words(unit: Unit, words: list[str]) -> Case:
    """The case that `text_lines` wrote, without its result. Raises ValueError for words that are no case's."""
    formats = column_formats(unit)
    codes = {name: _codes(fmt, word, name) for (name, fmt), word in zip(formats.items(), words[1:], strict=True)}
    terms = len(codes["a"])
    if terms % unit.instruction.fill:
        raise InputError(f"a must have a multiple of {unit.instruction.fill} codes, not {terms}")
    counts = {"b": terms, "c": 1}
    if unit.scale is not None:
        sides = zip(("scale_a", "scale_b"), block_lengths(unit), strict=True)
        counts |= {name: -(-terms // length) for name, length in sides}
    for name, count in counts.items():
        if name in codes and len(codes[name]) != count:
            raise InputError(f"{name} must have {count} codes, not {len(codes[name])}")
    scales = (codes.get(name, ()) for name in ("scale_a", "scale_b"))
    return Case(words[0], codes["a"], codes["b"], codes.get("c", (0,))[0], *scales)


def _codes(fmt: Format, word: str, what: str) -> tuple[int, ...]:
    """The codes of a word. Raises ValueError for what is no whole number of codes in hexadecimal."""
    size = _digits(fmt)
    if len(word) % size:
        raise InputError(f"{what} must be codes of {size} hexadecimal digits each, not {len(word)} digits")
    if hexadecimal(word) is None:
        raise InputError(f"{what} must be hexadecimal digits, not {word[:24]!r}")
    found = tuple(int(word[at : at + size], 16) for at in range(0, len(word), size))
    if max(found) >> fmt.container_bits:
        raise InputError(f"{what} holds {max(found):#x}, and codes of {fmt.name} have {fmt.container_bits} bits")
    return found


def hexadecimal(word: str) -> int | None:
    """The number of hexadecimal digits, or None for a word of anything else."""
    try:
        return int(word, 16) if word.isalnum() else None
    except ValueError:
        return None
