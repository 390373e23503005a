"""Cases as text: a line each, of words that any program can read, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hwsim.cases.batch import Batch
from hwsim.formats import Format
from hwsim.formats.codes import Codes
from hwsim.spec import Unit

STREAM = "hwsim vectors 1"


def columns(unit: Unit, *, expected: bool) -> list[str]:
    """What the words of a line are."""
    scales = ["scale_a", "scale_b"] if unit.scale is not None else []
    addend = ["c"] if unit.operands.addend is not None else []
    return ["id", "a", "b", *scales, *addend, *(["result"] if expected else [])]


def column_formats(unit: Unit) -> dict[str, Format]:
    """The formats of the columns that hold codes."""
    operands = unit.operands
    found: dict[str, Any] = {"a": operands.a, "b": operands.b}
    if unit.scale is not None:
        found |= {"scale_a": unit.scale.a.format, "scale_b": unit.scale.b.format}
    if operands.addend is not None:
        found["c"] = operands.addend
    return {**found, "result": unit.output}


def header(unit: Unit, *, expected: bool) -> str:
    """The comment lines that text begins with: the unit, and the columns."""
    spec = json.dumps(unit.model_dump(mode="json", exclude_unset=True), separators=(",", ":"))
    shown = " ".join(columns(unit, expected=expected))
    return (
        f"# {STREAM}\n# unit {spec}\n"
        "# codes in hexadecimal, every element in all its digits, element 0 first\n"
        f"# columns {shown}\n"
    )


def digits(fmt: Format) -> int:
    """Hexadecimal digits of a code."""
    return -(-fmt.container_bits // 4)


def _words(fmt: Format, codes: Codes) -> list[str]:
    """Each row (n, count) of codes as one word."""
    size, wanted = codes.dtype.itemsize, digits(fmt)
    text = codes.astype(codes.dtype.newbyteorder(">")).tobytes().hex()
    rows = [text[at : at + 2 * size * codes.shape[1]] for at in range(0, len(text), 2 * size * codes.shape[1])]
    if wanted == 2 * size:
        return rows
    return ["".join(row[at - wanted : at] for at in range(2 * size, len(row) + 1, 2 * size)) for row in rows]


def _columns(unit: Unit, batch: Batch, results: Codes | None) -> Iterator[list[str]]:
    given: dict[str, Codes | None] = {
        "a": batch.a, "b": batch.b, "scale_a": batch.scale_a, "scale_b": batch.scale_b, "c": batch.c[:, None],
        "result": None if results is None else results[:, None],
    }  # fmt: skip
    formats = column_formats(unit)
    yield list(batch.ids)
    for name in columns(unit, expected=results is not None)[1:]:
        codes = given[name]
        if codes is None:
            raise ValueError(f"the batch has no {name}")
        yield _words(formats[name], codes)


def text_lines(unit: Unit, batch: Batch, results: Codes | None) -> str:
    """A line of words for each case; with its result where there are results."""
    rows = zip(*_columns(unit, batch, results), strict=True)
    return "".join(" ".join(row) + "\n" for row in rows)


def json_lines(unit: Unit, batch: Batch, results: Codes) -> str:
    """A JSON object for each case: codes as integers."""
    lists: dict[str, list[Any]] = {"id": list(batch.ids), "a": batch.a.tolist(), "b": batch.b.tolist()}
    if batch.scale_a is not None and batch.scale_b is not None:
        lists |= {"scale_a": batch.scale_a.tolist(), "scale_b": batch.scale_b.tolist()}
    if unit.operands.addend is not None:
        lists["c"] = batch.c.tolist()
    lists["result"] = results.tolist()
    rows = zip(*lists.values(), strict=True)
    return "".join(json.dumps(dict(zip(lists, row, strict=True)), separators=(",", ":")) + "\n" for row in rows)


def word_codes(fmt: Format, word: str, what: str) -> list[int]:
    """The codes of a word. Raises ValueError for what is no whole number of codes in hexadecimal."""
    size = digits(fmt)
    if len(word) % size:
        raise ValueError(f"{what} must be codes of {size} hexadecimal digits each, not {len(word)} digits")
    try:
        bare = int(word, 16) if word.isalnum() else None
    except ValueError:
        bare = None
    if bare is None:
        raise ValueError(f"{what} must be hexadecimal digits, not {word[:24]!r}")
    found = [int(word[at : at + size], 16) for at in range(0, len(word), size)]
    if max(found) >> fmt.container_bits:
        raise ValueError(f"{what} holds {max(found):#x}, and codes of {fmt.name} have {fmt.container_bits} bits")
    return found
