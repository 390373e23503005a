"""Result files: text that the capture program writes. `hwsim docs capture` describes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hwsim.files import contents
from hwsim.readings.silicon.case import CaseFile, Section
from hwsim.readings.silicon.lines import CheckedLines

HEAD = "hwsim-capture-results 1"
FACTS = ("gpu", "capability", "driver", "cuda-driver", "cuda-runtime", "compiler")


@dataclass(frozen=True)
class SectionResults:
    """The results of a section. codes: a result for each case. unstable: the cases whose result changed.

    skipped: why the machine has no such instruction, or empty.
    """

    section: Section
    codes: tuple[int, ...] = ()
    unstable: tuple[int, ...] = ()
    skipped: str = ""


@dataclass(frozen=True)
class ResultFile:
    """The content of a result file. facts: of the GPU and its software, by FACTS. checksum: the case file's."""

    checksum: str
    facts: dict[str, str]
    sections: tuple[SectionResults, ...]


def result_lines(cases: CaseFile, facts: dict[str, str], results: Iterator[SectionResults]) -> Iterator[str]:
    """A result file, line by line: what the capture program writes."""
    yield f"{HEAD}\ncases {cases.checksum}\n"
    for key in FACTS:
        yield f"{key} {facts[key]}\n"
    for one in results:
        instruction = one.section.instruction
        yield f"instruction {instruction.name}\n"
        if one.skipped:
            yield f"skipped {one.skipped}\n"
            continue
        yield f"results {len(one.codes)}\n"
        for index, code in enumerate(one.codes):
            yield f"{index} {code:0{instruction.digits[1]}x}\n"
    yield "end\n"


def read_results(path: Path, cases: CaseFile) -> ResultFile:
    """The results of a case file.

    Raises ValueError, naming file and line, for a file that is malformed, not complete, or of other cases.
    """
    lines = CheckedLines(path, contents(path))
    lines.expect(HEAD, "this is no result file")
    checksum = lines.field("cases")
    if checksum != cases.checksum:
        raise lines.error(f"these are the results of other cases: checksum {checksum}, not {cases.checksum}")
    facts = {key: lines.field(key) for key in FACTS}
    sections = tuple(_section(lines, section) for section in cases.sections)
    if not lines.ends():
        lines.next("'end'")
        raise lines.error("must be 'end': the case file has no further instruction")
    return ResultFile(checksum, facts, sections)


def _section(lines: CheckedLines, section: Section) -> SectionResults:
    name = lines.field("instruction")
    if name != section.instruction.name:
        raise lines.error(f"must be instruction {section.instruction.name}, as in the case file, not {name}")
    if lines.peek() == "skipped":
        return SectionResults(section, skipped=lines.field("skipped"))
    count = lines.number("results")
    if count != len(section.cases):
        raise lines.error(f"must be {len(section.cases)} results, one for each case, not {count}")
    codes, unstable = [], []
    for index in range(count):
        words = lines.next(f"result {index} of {name}").split(" ")
        stable = len(words) == 2
        if not stable and (len(words) != 4 or words[1] != "unstable"):
            raise lines.error(f"must be '{index} CODE' or '{index} unstable CODE CODE'")
        if words[0] != str(index):
            raise lines.error(f"must be result {index}, not {words[0][:20]}: results are missing, repeated or mixed up")
        for word in words[1:] if stable else words[2:]:
            code = lines.codes("the result", word, 1, section.instruction.digits[1])[0]
        codes.append(code)
        if not stable:
            unstable.append(index)
    return SectionResults(section, tuple(codes), tuple(unstable))
