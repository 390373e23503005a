"""Case files: text that the capture program reads. `hwsim docs capture` describes them."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from hwsim.files import contents
from hwsim.outputs import written
from hwsim.readings.silicon.case import CaptureCase, CaseFile, Section
from hwsim.readings.silicon.instructions import INSTRUCTIONS, GpuInstruction
from hwsim.readings.silicon.lines import CheckedLines

HEAD = "hwsim-capture-cases 1"


def checksum(data: bytes) -> str:
    """CRC-32 in 8 hexadecimal digits: enough to tell files that were mixed up."""
    return f"{zlib.crc32(data):08x}"


def text_of(generator: str, seed: int, sections: Iterable[Section]) -> Iterator[str]:
    """A case file, line by line."""
    yield f"{HEAD}\ngenerator {generator}\nseed {seed}\n"
    for section in sections:
        instruction = section.instruction
        yield f"instruction {instruction.name}\nunit {section.unit}\ncases {len(section.cases)}\n"
        for index, case in enumerate(section.cases):
            yield _line(instruction, index, case)
    yield "end\n"


def _line(instruction: GpuInstruction, index: int, case: CaptureCase) -> str:
    factor, accumulator = instruction.digits
    c = "-" if case.c is None else f"{case.c:0{accumulator}x}"
    a, b = ("".join(f"{code:0{factor}x}" for code in codes) for codes in (case.a, case.b))
    return f"{index} {case.tag} {len(case.a)} {c} {a} {b}\n"


def write_cases(path: Path, generator: str, seed: int, sections: Sequence[Section]) -> str:
    """Write a case file atomically. Returns its checksum."""
    crc = 0
    with written(path) as file:
        for text in text_of(generator, seed, sections):
            data = text.encode()
            crc = zlib.crc32(data, crc)
            file.write(data)
    return f"{crc:08x}"


def read_cases(path: Path) -> CaseFile:
    """Read a case file. Raises ValueError, naming file and line, for a file that is malformed or not complete."""
    data = contents(path)
    lines = CheckedLines(path, data)
    lines.expect(HEAD, "this is no case file")
    generator = lines.field("generator")
    seed = lines.number("seed")
    sections = []
    while not lines.ends():
        instruction = _instruction(lines)
        unit = lines.field("unit")
        count = lines.number("cases")
        sections.append(Section(instruction, unit, [_case(lines, instruction, index) for index in range(count)]))
    return CaseFile(generator, seed, tuple(sections), checksum(data))


def _instruction(lines: CheckedLines) -> GpuInstruction:
    name = lines.field("instruction")
    if name not in INSTRUCTIONS:
        raise lines.error(f"unknown instruction {name!r}")
    return INSTRUCTIONS[name]


def _case(lines: CheckedLines, instruction: GpuInstruction, index: int) -> CaptureCase:
    words = lines.next("a case").split(" ")
    if len(words) != 6 or words[0] != str(index):
        raise lines.error(f"must be case {index}: ID TAG K C A B")
    _, tag, k, c, a, b = words
    factor, accumulator = instruction.digits
    if not k.isascii() or not k.isdigit() or int(k) == 0 or int(k) % instruction.k:
        raise lines.error(f"K must be a multiple of {instruction.k}, not {k}")
    if c == "-" and not instruction.switch:
        raise lines.error(f"the addend of {instruction.name} cannot be switched off")
    return CaptureCase(
        tag=tag,
        a=lines.codes("a", a, int(k), factor),
        b=lines.codes("b", b, int(k), factor),
        c=None if c == "-" else lines.codes("c", c, 1, accumulator)[0],
    )
