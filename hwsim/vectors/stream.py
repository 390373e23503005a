"""Cases through a pipe: text lines without results go out, the same lines with a device's results come back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hwsim.cases.batch import Batch, batches
from hwsim.cases.case import Case, block_lengths
from hwsim.kernels import AnyKernel
from hwsim.spec import Unit
from hwsim.vectors.answers import UNKNOWN, Malformed
from hwsim.vectors.block import computed
from hwsim.vectors.check import same
from hwsim.vectors.text import STREAM, column_formats, columns, header, text_lines, word_codes

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


@dataclass
class Judged:
    """What came back. first: the first wrong ones, with the expected code. right: some right ones."""

    unit: Unit
    compared: int = 0
    wrong: int = 0
    first: list[tuple[Returned, int]] = field(default_factory=list)
    right: list[tuple[Case, int]] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether something came back, and all of it was right."""
        return self.compared > 0 and self.wrong == 0


def judge(lines: Iterable[str], kernel_of: Callable[[Unit], AnyKernel | None], kept: int = 20_000) -> Judged:
    """Compute what cases that came back should have returned, and compare.

    Comment lines must come back too: they say what the unit is. Raises Malformed for lines that cannot be read.
    """
    unit, rest = _unit(lines)
    judged, kernel = Judged(unit), kernel_of(unit)
    for some in _together(_returned(unit, rest)):
        at = 0
        for batch in batches(unit, [one.case for one in some]):
            expected = computed(unit, batch, kernel).tolist()
            for one, code in zip(some[at : at + len(batch)], expected, strict=True):
                _count(judged, one, code, kept)
            at += len(batch)
    return judged


def _count(judged: Judged, one: Returned, expected: int, kept: int) -> None:
    judged.compared += 1
    if one.code is not None and same(judged.unit, expected, one.code):
        if len(judged.right) < kept // 10:
            judged.right.append((one.case, expected))
        return
    judged.wrong += 1
    if len(judged.first) < kept:
        judged.first.append((one, expected))


def _together(returned: Iterable[Returned]) -> Iterator[Sequence[Returned]]:
    held: list[Returned] = []
    for one in returned:
        held.append(one)
        if len(held) == TOGETHER:
            yield held
            held = []
    if held:
        yield held


def _unit(lines: Iterable[str]) -> tuple[Unit, Iterator[tuple[int, str]]]:
    """The unit that comments name, and the lines that follow them, numbered."""
    numbered = enumerate(lines, 1)
    head = next(numbered, None)
    if head is None or head[1].strip() != f"# {STREAM}":
        raise Malformed(
            f"-:1: must be `# {STREAM}`, which `hwsim vectors -o -` begins with: a device passes comment lines on"
        )
    line = next(numbered, (2, ""))[1]
    try:
        word, _, text = line.removeprefix("# ").partition(" ")
        if word != "unit":
            raise ValueError(word)
        return Unit.model_validate(json.loads(text)), numbered
    except ValueError:
        raise Malformed(
            "-:2: must be `# unit` and the unit's specification, as `hwsim vectors -o -` wrote it"
        ) from None


def _returned(unit: Unit, numbered: Iterable[tuple[int, str]]) -> Iterator[Returned]:
    names, formats = columns(unit, expected=True), column_formats(unit)
    for number, line in numbered:
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) != len(names):
            raise Malformed(f"-:{number}: must be {len(names)} words ({' '.join(names)}), not {len(words)}")
        codes: dict[str, Any] = {}
        try:
            for name, word in zip(names[1:-1], words[1:-1], strict=True):
                codes[name] = word_codes(formats[name], word, name)
            _fits(unit, codes)
            code = None
            if not UNKNOWN & set(words[-1]):
                code = _result(unit, words[-1])
        except ValueError as error:
            raise Malformed(f"-:{number}: {error}") from None
        c = codes["c"][0] if "c" in codes else 0
        scales = (tuple(codes.get(name, ())) for name in ("scale_a", "scale_b"))
        yield Returned(Case(words[0], tuple(codes["a"]), tuple(codes["b"]), c, *scales), code, number)


def _result(unit: Unit, word: str) -> int:
    bare = word[2:] if word[:2] in ("0x", "0X") else word
    try:
        code = int(bare, 16) if bare.isalnum() else -1
    except ValueError:
        code = -1
    if code < 0 or code >> unit.output.container_bits:
        raise ValueError(f"result must be {unit.output.container_bits} bits in hexadecimal, not {word[:24]!r}")
    return code


def _fits(unit: Unit, codes: dict[str, list[int]]) -> None:
    terms = len(codes["a"])
    wanted = {"b": terms}
    if unit.scale is not None:
        for name, length in zip(("scale_a", "scale_b"), block_lengths(unit), strict=True):
            wanted[name] = -(-terms // length)
    if unit.operands.addend is not None:
        wanted["c"] = 1
    if not terms or terms % unit.instruction.fill:
        raise ValueError(f"a must have a multiple of {unit.instruction.fill} codes, not {terms}")
    for name, count in wanted.items():
        if len(codes[name]) != count:
            raise ValueError(f"{name} must have {count} codes, not {len(codes[name])}")
