"""Cases through a pipe: text lines without results go out, the same lines with a device's results come back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from hwsim.cases.case import Batch, Case, batches
from hwsim.compute.kernels import AnyKernel
from hwsim.cosim.vectors.answers import UNKNOWN, Malformed
from hwsim.cosim.vectors.block import computed
from hwsim.cosim.vectors.check import SAMPLE, same
from hwsim.cosim.vectors.findings import Findings, Wrong
from hwsim.cosim.vectors.lines import column_formats
from hwsim.cosim.vectors.text import STREAM, case_of_words, header, hexadecimal, text_lines
from hwsim.errors import InputError
from hwsim.spec import Unit

TOGETHER = 1024  # cases that are computed at once


def stream(unit: Unit, made: Iterable[Batch]) -> Iterator[str]:
    """The lines of cases, without results; first the comments that say what they are."""
    yield header(unit, expected=False)
    for batch in made:
        yield text_lines(unit, batch, None)


class Returned(NamedTuple):
    """A case that came back. code: None where bits of it are unknown."""

    case: Case
    code: int | None
    line: int


def judge(lines: Iterable[str], kernel_of: Callable[[Unit], AnyKernel | None]) -> Findings:
    """Compute what cases that came back should have returned, and compare.

    Comment lines must come back too: they say what the unit is. Raises Malformed for lines that cannot be read.
    """
    unit, rest = _unit(lines)
    found, kernel, returned = Findings(unit, "through a pipe", "the pipe"), kernel_of(unit), _returned(unit, rest)
    while some := list(islice(returned, TOGETHER)):
        codes = [
            code
            for batch in batches(unit, [one.case for one in some])
            for code in computed(unit, batch, kernel).tolist()
        ]
        for one, expected in zip(some, codes, strict=True):
            if one.code is not None and same(unit, expected, one.code):
                if len(found.right) < SAMPLE:
                    found.right.append((one.case, expected))
            elif found.add():
                found.first.append(Wrong(one.case, expected, one.code, "", f"line {one.line}"))
        found.compared += len(some)
        found.planned = found.compared
    return found


def _unit(lines: Iterable[str]) -> tuple[Unit, Iterator[tuple[int, str]]]:
    """The unit that comments name, and the lines that follow them, numbered."""
    numbered = enumerate(lines, 1)
    if next(numbered, (1, ""))[1].strip() != f"# {STREAM}":
        raise Malformed(
            f"-:1: must be `# {STREAM}`, which `hwsim vectors -o -` begins with: a device passes comment lines on"
        )
    line = next(numbered, (2, ""))[1]
    try:
        word, _, text = line.removeprefix("# ").partition(" ")
        if word != "unit":
            raise InputError(word)
        return Unit.model_validate(json.loads(text)), numbered
    except (ValueError, RecursionError):
        raise Malformed(
            "-:2: must be `# unit` and the unit's specification, as `hwsim vectors -o -` wrote it"
        ) from None


def _returned(unit: Unit, numbered: Iterable[tuple[int, str]]) -> Iterator[Returned]:
    names = ["id", *column_formats(unit), "result"]
    for number, line in numbered:
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) != len(names):
            raise Malformed(f"-:{number}: must be {len(names)} words ({' '.join(names)}), not {len(words)}")
        try:
            yield Returned(case_of_words(unit, words[:-1]), _result(unit, words[-1]), number)
        except ValueError as error:
            raise Malformed(f"-:{number}: {error}") from None


def _result(unit: Unit, word: str) -> int | None:
    bare = word[2:] if word[:2] in ("0x", "0X") else word
    if UNKNOWN & set(bare):
        return None
    code = hexadecimal(bare)
    if code is None or code >> unit.output.container_bits:
        raise InputError(f"result must be {unit.output.container_bits} bits in hexadecimal, not {word[:24]!r}")
    return code
