"""Compare a device's results with a vector set, from a file or through a pipe."""

from __future__ import annotations

import json
import mmap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from hwsim.base.errors import InputError
from hwsim.base.files import ascii_lines, bounded_lines, digest_of
from hwsim.base.text import counted
from hwsim.cases.bins.plan import GROUPS, labels
from hwsim.cases.case import Batch, Case, batches, multiplied, operand_formats
from hwsim.compute.kernels import AnyKernel
from hwsim.cosim.vectors.lines import (
    EXPECTED,
    OPERANDS,
    STREAM,
    Written,
    case_of,
    case_of_words,
    dense,
    header,
    hexadecimal,
    operand_layout,
    result_layout,
    text_lines,
)
from hwsim.cosim.vectors.make import MANIFEST, TEXT, VERSION, computed
from hwsim.explain import CodeReading, CoverageGroup, FaultKind, Kills, Mismatch, Row, RunReport, coverage_groups
from hwsim.explain.diagnosis import Progress, diagnose
from hwsim.explain.facts import Observation
from hwsim.explain.mismatches import explain_command, fault_kinds, wrong_result
from hwsim.formats.yamlfile import read, shown, validated
from hwsim.spec import SparseUnit, Unit, load_sparse, unpromised
from hwsim.spec.catalog import written_out
from hwsim.tb.fields import Layout

CHECKED = 1 << 16  # lines that are read at once


class _Read(BaseModel):
    """A model of the keys that are read; other keys are ignored."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")


class StoredFile(_Read):
    sha256: str


class StoredGroup(_Read):
    """The number of bins of a coverage group that the cases hit."""

    bins: int
    reachable: int
    hit: int


class StoredCoverage(_Read):
    cases: int
    groups: dict[str, StoredGroup]
    missed: list[str]
    unreachable: dict[str, dict[str, list[str]]]
    bins: dict[str, dict[str, int]]


class StoredKills(_Read):
    cases: int
    killed: dict[str, str]
    equivalent: dict[str, str]
    open: list[str]
    alive: list[str] = []
    tried: int = 0


class StoredManifest(_Read):
    """The part of manifest.yaml that is read to use a set."""

    generator: Literal["hwsim vectors"]
    suite: str
    seed: int
    cases: int = Field(ge=1)
    lines: int = Field(ge=1)
    files: dict[str, StoredFile]
    coverage: StoredCoverage | None = None
    mistakes: StoredKills | None = None
    unit: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Stored:
    """A set. written: the unit whose lines it has; unit: that, or of a sparse one its dense unit."""

    folder: Path
    manifest: StoredManifest
    written: Written

    @property
    def unit(self) -> Unit:
        return dense(self.written)

    @property
    def cases(self) -> int:
        return self.manifest.cases

    @cached_property
    def expected(self) -> HexLines:
        return HexLines(self.folder / EXPECTED, result_layout(self.unit), self.cases)

    @cached_property
    def operands(self) -> HexLines:
        return HexLines(self.folder / OPERANDS, operand_layout(self.written), self.manifest.lines)

    @cached_property
    def names(self) -> Sequence[str] | None:
        """The cases' names, in order; None where the set has no cases.txt."""
        path = self.folder / TEXT
        if not path.exists():
            return None
        with path.open(encoding="ascii", errors="surrogateescape") as file:
            lines = ascii_lines(bounded_lines(file, str(path)), str(path))
            names = [line.partition(" ")[0].strip() for line in lines if not line.startswith("#")]
        if len(names) != self.cases:
            raise InputError(f"{path} must name {self.cases:,} cases, not {len(names):,}; make the set again")
        return names

    def name(self, case: int) -> str:
        return f"case {case}" if self.names is None else self.names[case]

    @cached_property
    def _first_lines(self) -> Any:
        """The first line of each case, and the line after the last."""
        if self.operands.count == self.cases:
            return range(self.cases + 1)
        layout = self.operands.layout
        offset = layout.field("first").offset
        column = self.operands.bytes()[:, layout.digits - 1 - offset // 4]
        nibbles = np.where(column >= ord("a"), column - ord("a") + 10, column - ord("0"))
        return np.append(np.flatnonzero(nibbles >> offset % 4 & 1), self.operands.count)

    def case(self, number: int) -> Case:
        """A case as the unit that multiplies has it."""
        return multiplied(self.written, self.written_case(number))

    def written_case(self, number: int) -> Case:
        """A case as its lines have it."""
        lines = range(int(self._first_lines[number]), int(self._first_lines[number + 1]))
        return case_of(self.written, self.name(number), [self.operands[line] for line in lines])


class HexLines:
    """A file of lines of equal length, read from disk on demand."""

    def __init__(self, path: Path, layout: Layout, count: int):
        self.path, self.layout, self.count = path, layout, count
        self.length = layout.digits + 1
        if path.stat().st_size != count * self.length:
            raise InputError(
                f"{path} must have {count} lines of {layout.digits} digits, which {path.stat().st_size} bytes are not"
            )
        with path.open("rb") as file:
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def check(self) -> None:
        """Raise ValueError where a line holds anything but hexadecimal digits."""
        for first in range(0, self.count, CHECKED):
            lines = self._data[first * self.length : (first + CHECKED) * self.length]
            ends = lines[self.length - 1 :: self.length]
            if (
                lines.translate(None, b"0123456789abcdefABCDEF\n")
                or ends.strip(b"\n")
                or lines.count(b"\n") != len(ends)
            ):
                raise InputError(f"{self.path} must have lines of hexadecimal digits alone; make the set again")

    def __getitem__(self, line: int) -> bytes:
        return self._data[line * self.length : line * self.length + self.layout.digits]

    def bytes(self) -> Any:
        """All bytes, (lines, digits + 1)."""
        return np.frombuffer(self._data, np.uint8).reshape(self.count, self.length)


def stored(folder: str | Path) -> Stored:
    """Read a set's manifest, and check that the operands and expected results are as they were written.

    Raises ValueError for a folder that holds no set, one of another version, and files that were changed.
    """
    path = Path(folder)
    if not (path / MANIFEST).is_file():
        raise InputError(f"{path} holds no vector set: there is no {MANIFEST}")
    document = read(path / MANIFEST)
    if document.data.get("generator") != "hwsim vectors":
        raise InputError(f"{path / MANIFEST} is not a manifest that `hwsim vectors` wrote")
    if (version := document.data.get("version")) != VERSION:
        raise InputError(f"{path / MANIFEST}: version must be {VERSION}, not {shown(version)}; make the set again")
    manifest = validated(StoredManifest, document)
    unit: Written
    if "sparsity" in manifest.unit:
        unit = load_sparse(manifest.unit)
    else:
        unit = written_out(manifest.unit, document, ("unit",))
    for name in (OPERANDS, EXPECTED):
        if name not in manifest.files:
            raise InputError(f"{document.where(('files',))}: files must name {name}")
        if not (path / name).is_file():
            raise InputError(f"{path / name} is missing")
        if digest_of(path / name) != manifest.files[name].sha256:
            raise InputError(f"{path / name} is not as it was written: its SHA-256 is not that of {MANIFEST}")
    known = Stored(path, manifest, unit)
    for lines in (known.expected, known.operands):
        lines.check()
    return known


MOST_DIGITS = 20  # of a case's number
COMMENTS = ("#", "//")
UNKNOWN = frozenset("xXzZ?")


class Malformed(InputError):
    """A file of results cannot be read; the message names the line."""


class Answer(NamedTuple):
    """A device's result for a case: its code, or None where bits of it are unknown. line: its line's number, from 1."""

    case: int
    code: int | None
    line: int
    text: str


class Answers:
    """Reads results from lines: `CODE`, in the order of the cases, or `ID ... CODE`, in any order.

    ID: a case's name or its number, from 0. CODE: hexadecimal, with or without 0x, all digits or fewer. What follows #
    or // is left out, so is what else stands between ID and CODE; `@ADDRESS`, as $writememh has it, goes on there.
    where: the file's name, for messages. seen: of each case whether its result was read.
    """

    def __init__(self, known: Stored, where: str):
        self.known, self.where = known, where
        self.seen = bytearray(known.cases)
        self._next = 0
        self._ordered: bool | None = None

    def read(self, lines: Iterable[str]) -> Iterator[Answer]:
        """Yield the results. Raises Malformed for a line without one, an unknown or repeated case, and one too many."""
        for number, line in enumerate(lines, 1):
            text = line
            for mark in COMMENTS:
                text = text.partition(mark)[0]
            words = text.split()
            if len(words) == 1 and words[0].startswith("@"):
                self._next = self._hex(number, words[0][1:])
            elif words:
                yield self._answer(number, words)

    def _answer(self, line: int, words: list[str]) -> Answer:
        ordered = len(words) == 1
        if self._ordered not in (None, ordered):
            raise self._wrong(
                line, f"{'an id is missing' if ordered else 'there is an id'}, unlike on the lines before"
            )
        self._ordered = ordered
        case = self._next if ordered else self._case(line, words[0])
        if case >= self.known.cases:
            raise self._wrong(line, f"a result too many: there are {self.known.cases:,} cases")
        if self.seen[case]:
            raise self._wrong(line, f"{self.known.name(case)} was there before")
        self.seen[case] = 1
        self._next = case + 1
        return Answer(case, self._code(line, words[-1]), line, words[-1])

    def _case(self, line: int, word: str) -> int:
        if word.isdecimal():
            return int(word) if len(word) < MOST_DIGITS else self.known.cases
        if self._places is None:
            raise self._wrong(line, f"{word!r} is no number, and the set has no cases.txt that would know the name")
        if word not in self._places:
            raise self._wrong(line, f"there is no case {word!r}")
        return self._places[word]

    @cached_property
    def _places(self) -> dict[str, int] | None:
        names = self.known.names
        return None if names is None else {name: case for case, name in enumerate(names)}

    def _code(self, line: int, word: str) -> int | None:
        bare = word[2:] if word[:2] in ("0x", "0X") else word
        if UNKNOWN & set(bare) and set(bare) <= UNKNOWN | set("0123456789abcdefABCDEF_"):
            return None
        code, bits = self._hex(line, bare), self.known.unit.output.container_bits
        if code >> bits:
            raise self._wrong(line, f"{word} has more than the {bits} bits of a result")
        return code

    def _hex(self, line: int, word: str) -> int:
        try:
            if word[:1] in "+-":
                raise InputError(word)
            return int(word, 16)
        except ValueError:
            raise self._wrong(line, f"{word[:40]!r} is not hexadecimal") from None

    def _wrong(self, line: int, what: str) -> Malformed:
        return Malformed(f"{self.where}:{line}: {what}")


EXPLAINED = 400  # wrong results that are kept, for explanations to be tried on; as many right ones beside them
TOLD = 10  # wrong results that are reported


class Wrong(NamedTuple):
    """A wrong result. got: None where bits of it are unknown, and `text` is the word read. place: where it stood."""

    case: Case
    expected: int
    got: int | None
    text: str
    place: str


@dataclass
class Findings:
    """The findings of a comparison: what was compared, who answered, and what is wrong.

    wrong: of `compared` results. first: the first of those. right: some right results, by case and code. hints: what
    they have in common beyond the arithmetic, and what was not compared. sparse: the unit whose dense one `unit` is;
    cases are what that multiplies.
    """

    unit: Unit
    suite: str
    driver: str
    planned: int = 1
    seed: int | None = None
    compared: int = 0
    wrong: int = 0
    first: list[Wrong] = field(default_factory=list)
    right: list[tuple[Case, int]] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    coverage: tuple[CoverageGroup, ...] = ()
    kills: tuple[Kills, ...] = ()
    sparse: SparseUnit | None = None

    @property
    def named(self) -> Written:
        """The unit that was compared."""
        return self.sparse or self.unit

    def add(self) -> bool:
        """Count a wrong result; True if it is among the first, which are kept."""
        self.wrong += 1
        return self.wrong <= EXPLAINED

    @property
    def row(self) -> Row:
        return Row(
            unit=self.named.name,
            suite=self.suite,
            driver=self.driver,
            planned=self.planned,
            compared=self.compared,
            mismatches=self.wrong,
            notes=tuple(self.hints),
        )

    def kinds(self, progress: Progress | None = None) -> tuple[FaultKind, ...]:
        """The kinds of wrong results, with an explanation of each; none where nothing is wrong."""
        known = [Observation(wrong.case, wrong.got) for wrong in self.first if wrong.got is not None]
        right = self.right[:: max(1, len(self.right) // EXPLAINED)][:EXPLAINED]
        return fault_kinds(diagnose(self.unit, [*known, *(Observation(*result) for result in right)], progress))

    def mismatches(self, again: str, called: str) -> list[Mismatch]:
        """The first wrong results. again: the command that compares again. called: the unit's name in a command."""
        return [
            wrong_result(
                self.unit,
                wrong.case,
                wrong.expected,
                CodeReading(code=wrong.text or "unknown", value="unknown bits") if wrong.got is None else wrong.got,
                suite=self.suite,
                driver=self.driver,
                where=wrong.place,
                again=again,
                explain=explain_command(self.unit, called, wrong.case),
            )
            for wrong in self.first[:TOLD]
        ]

    def report(self, again: str, called: str, progress: Progress | None = None) -> RunReport:
        """The report of all findings. again: the command that compares again. called: the unit's name in a command.

        progress: called with what is being done, as finding names takes its time.
        """
        return RunReport(
            title=f"Check of the results in {self.driver}: {self.suite} of {self.named.name}",
            command=again,
            version=version("hwsim"),
            seed=self.seed,
            units=(self.named.model_dump(mode="json", exclude_unset=True),),
            rows=(self.row,),
            coverage=self.coverage,
            kills=self.kills,
            mismatches=tuple(self.mismatches(again, called)),
            kinds=self.kinds(progress),
        )


SAMPLE = 2_000  # right results of which some stand beside the wrong ones


def check(known: Stored, lines: Iterable[str], where: str) -> Findings:
    """Compare results with a set. where: the file of results. Raises Malformed for lines that cannot be read."""
    sparse = known.written if isinstance(known.written, SparseUnit) else None
    findings = Findings(known.unit, known.manifest.suite, where, known.cases, known.manifest.seed, sparse=sparse)
    answers, order, right, line = Answers(known, where), _Order(known), list[Answer](), 0
    step = max(1, known.cases // SAMPLE)
    for answer in answers.read(lines):
        expected, line = int(known.expected[answer.case], 16), answer.line
        findings.compared += 1
        is_right = answer.code is not None and same(known.unit, expected, answer.code)
        order.add(expected, answer, is_right)
        if is_right:
            right += [answer] if answer.case % step == 0 else []
        elif findings.add():
            place = f"line {line} of {where}"
            findings.first.append(Wrong(known.case(answer.case), expected, answer.code, answer.text, place))
    if findings.wrong:
        findings.right = [(known.case(answer.case), int(known.expected[answer.case], 16)) for answer in right]
    if findings.compared < known.cases:
        findings.hints.append(
            f"missing: {counted(known.cases - findings.compared, 'result')}, the first of them that of "
            f"{known.name(answers.seen.index(0))}; the last one that came is at line {line}"
        )
    findings.hints += order.hints()
    findings.hints += [f"not compared: {what}" for what in unpromised(known.unit).left_out()]
    findings.coverage = _coverage(known)
    if (held := known.manifest.mistakes) is not None:
        findings.kills = (Kills.model_validate({**held.model_dump(), "unit": known.unit.name}),)
    return findings


def same(unit: Unit, expected: int, got: int) -> bool:
    """True if a result is the expected one, as far as the unit promises it."""
    return unpromised(unit).same(expected, got)


class _Order:
    """Detects results that are complete but in another order, by sums that no order changes, or off by one case."""

    FEW = 8  # wrong results that could be by chance what they are

    def __init__(self, known: Stored):
        self.known, self.wrong = known, 0
        self.sums = [0, 0, 0]
        self.first: Answer | None = None
        self.shifts = {-1: 0, 1: 0}

    def add(self, expected: int, answer: Answer, right: bool) -> None:
        got = -1 if answer.code is None else answer.code
        for power in range(3):
            self.sums[power] += expected ** (power + 1) - got ** (power + 1)
        if right:
            return
        self.wrong += 1
        self.first = self.first or answer
        for shift in self.shifts:
            case = answer.case + shift
            if answer.code is not None and 0 <= case < self.known.cases:
                self.shifts[shift] += int(self.known.expected[case], 16) == answer.code

    def hints(self) -> list[str]:
        """Lines on what all wrong results, or most, have in common."""
        if self.first is None:
            return []
        if not any(self.sums) and self.first.code is not None:
            line = self.first.line
            return [f"the results are the expected ones in another order; the first out of place is at line {line}"]
        which = {
            1: "the next case's: one is missing before line",
            -1: "the case before's: one is doubled before line",
        }
        return [
            f"{count:,} of {counted(self.wrong, 'wrong result')} are {which[shift]} {self.first.line + 1}, it seems"
            for shift, count in self.shifts.items()
            if count * 10 >= self.wrong * 9 and self.wrong >= self.FEW
        ]


def _coverage(known: Stored) -> tuple[CoverageGroup, ...]:
    held = known.manifest.coverage
    if held is None:
        return ()
    planned: list[tuple[str, str, bool | None, str]] = []
    hits: dict[str, int] = {}
    for group in GROUPS:
        for name, count in held.bins.get(group, {}).items():
            planned.append((group, name, None, ""))
            hits[name] = count
        for reason, names in held.unreachable.get(group, {}).items():
            planned += [(group, name, False, reason) for name in names]
    words = labels(known.unit, (name for _, name, _, _ in planned))
    return coverage_groups(planned, hits, unit=known.unit.name, **words)


TOGETHER = 1024  # cases that are computed at once


def stream(unit: Written, made: Iterable[Batch]) -> Iterator[str]:
    """Yield the lines of cases, without results; first the comments that name the unit and the columns."""
    yield header(unit, expected=False)
    for batch in made:
        yield text_lines(unit, batch, None)


class Returned(NamedTuple):
    """A case that came back through the pipe. code: None where bits of it are unknown."""

    case: Case
    code: int | None
    line: int


def judge(lines: Iterable[str], kernel_of: Callable[[Unit], AnyKernel | None]) -> Findings:
    """Compute the results of cases that came back, and compare them with those that came with them.

    Comment lines must come back too: they say what the unit is. Raises Malformed for lines that cannot be read.
    """
    written, rest = _unit(lines)
    unit, returned = dense(written), _returned(written, rest)
    sparse = written if isinstance(written, SparseUnit) else None
    findings, kernel = Findings(unit, "through a pipe", "the pipe", sparse=sparse), kernel_of(unit)
    while some := list(islice(returned, TOGETHER)):
        codes = [
            code
            for batch in batches(unit, [result.case for result in some])
            for code in computed(unit, batch, kernel).tolist()
        ]
        for result, expected in zip(some, codes, strict=True):
            if result.code is not None and same(unit, expected, result.code):
                if len(findings.right) < SAMPLE:
                    findings.right.append((result.case, expected))
            elif findings.add():
                findings.first.append(Wrong(result.case, expected, result.code, "", f"line {result.line}"))
        findings.compared += len(some)
        findings.planned = findings.compared
    return findings


def _unit(lines: Iterable[str]) -> tuple[Written, Iterator[tuple[int, str]]]:
    """The unit that the comments hold, and the lines that follow them, numbered."""
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
        keys = json.loads(text)
        return load_sparse(keys) if "sparsity" in keys else Unit.model_validate(keys), numbered
    except (ValueError, RecursionError):
        raise Malformed(
            "-:2: must be `# unit` and the unit's specification, as `hwsim vectors -o -` wrote it"
        ) from None


def _returned(unit: Written, numbered: Iterable[tuple[int, str]]) -> Iterator[Returned]:
    names = ["id", *operand_formats(unit), "result"]
    for number, line in numbered:
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) != len(names):
            raise Malformed(f"-:{number}: must be {len(names)} words ({' '.join(names)}), not {len(words)}")
        try:
            case = multiplied(unit, case_of_words(unit, words[:-1]))
            yield Returned(case, _result(dense(unit), words[-1]), number)
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
