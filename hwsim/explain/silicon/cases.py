"""Cases for GPUs, designed to tell the answers to open questions apart, and the file that carries them to a GPU."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from itertools import chain, combinations, count, cycle, islice, product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hwsim.base.errors import InputError
from hwsim.base.files import contents, written
from hwsim.cases.bins.lowaddends import low_addend_rows, of_scaled_sums
from hwsim.cases.case import Case, Rows, block_lengths
from hwsim.cases.drawing import key_of
from hwsim.cases.random_cases import draw
from hwsim.explain.candidate import Candidate, results
from hwsim.explain.discriminate import PairSearch
from hwsim.explain.questions import QUESTIONS, Question
from hwsim.formats import Format, get_format
from hwsim.spec import Unit

HEX = re.compile(r"[0-9a-f]*\Z")


class CheckedLines:
    """The lines of a file, read in order. Every line ends with LF, and the last line is `end`."""

    def __init__(self, path: Path, data: bytes):
        self.path, self.number_of = path, 0
        try:
            self._lines = data.decode("ascii").split("\n")
        except UnicodeDecodeError as error:
            self.number_of = data.count(b"\n", 0, error.start) + 1
            raise self.error("holds something else than ASCII text") from None
        # After the last line's end there is nothing, or a line that was cut off.
        self._rest = self._lines.pop()

    def error(self, message: str) -> InputError:
        """The error `FILE:LINE: MESSAGE`, for the line read last."""
        return InputError(f"{self.path}:{self.number_of}: {message}")

    def next(self, wanted: str) -> str:
        """Read the next line. Raises ValueError at the end of the file."""
        self.number_of += 1
        if self.number_of > len(self._lines):
            cut = ", in the middle of a line" if self._rest else ""
            raise self.error(f"the file ends here{cut}, where {wanted} should be: it is not whole")
        return self._lines[self.number_of - 1]

    def expect(self, line: str, otherwise: str) -> None:
        """Read the next line, which must be `line`."""
        got = self.next(repr(line))
        if got != line:
            raise self.error(f"{otherwise}: the line must be {line!r}, not {got[:60]!r}")

    def field(self, key: str) -> str:
        """The value of the next line, `KEY VALUE`."""
        line = self.next(f"{key!r}")
        name, _, value = line.partition(" ")
        if name != key or not value:
            raise self.error(f"must be '{key} ...', not {line[:60]!r}")
        return value

    def number(self, key: str) -> int:
        """The number of the next line, `KEY NUMBER`."""
        value = self.field(key)
        if not (value.isascii() and value.isdigit()):
            raise self.error(f"{key} must be a number, not {value!r}")
        return int(value)

    def peek(self) -> str:
        """The first word of the next line, which is not read yet."""
        return self._lines[self.number_of].partition(" ")[0] if self.number_of < len(self._lines) else ""

    def ends(self) -> bool:
        """True if the next line is `end`; if so, reads it, and nothing may follow."""
        if self.peek() != "end":
            return False
        self.expect("end", "the file must end")
        if self.number_of != len(self._lines) or self._rest:
            self.number_of += 1
            raise self.error("nothing may follow 'end'")
        return True

    def codes(self, name: str, text: str, count: int, digits: int) -> tuple[int, ...]:
        """Codes of `digits` hexadecimal digits each, without separators."""
        if len(text) != count * digits or not HEX.match(text):
            raise self.error(f"{name} must be {count * digits} hexadecimal digits in lower case, not {text[:40]!r}")
        return tuple(int(text[i : i + digits], 16) for i in range(0, len(text), digits))


FP8 = ("e4m3", "e5m2")
SCALES = ("scale_a", "scale_b")
NARROW = (*FP8, "e3m2", "e2m3", "e2m1")
# Pairs of factors with FP6 or FP4, and results.
NARROWER = [one for one in product(NARROW, NARROW, ("f32", "f16")) if not {*one[:2]} <= {*FP8}]
LISTED = "`hwsim capture kit` writes README.md, which lists them"
# Formats that PTX names otherwise.
OWN_NAMES = {"ue8m0": "e8m0", "s8": "int8", "u8": "uint8", "s32": "i32"}


@dataclass(frozen=True)
class GpuInstruction:
    """One instruction, by the name that case files give it: FAMILY.mMnNkK.D.A.B, then .KIND and .BLOCKSx.SCALE, if any.

    a, b, d: names of the formats of the factors and of addend and result. k: products of one instruction.
    switch: whether the addend can be switched off. kind: of PTX, where that is part of the name.
    blocks: of k, each of which has a scale of a and one of b; 0 without scales. scale: the format of both.
    """

    family: str
    shape: str
    d: str
    a: str
    b: str
    kind: str = ""
    blocks: int = 0
    scale: str = ""

    @property
    def name(self) -> str:
        scales = [f"{self.blocks}x", self.scale] if self.blocks else []
        return ".".join([self.family, self.shape, self.d, self.a, self.b, *filter(None, [self.kind]), *scales])

    @property
    def k(self) -> int:
        return int(self.shape.rpartition("k")[2])

    @property
    def switch(self) -> bool:
        return self.family != "mma"

    @property
    def factors(self) -> tuple[Format, Format]:
        return _format(self.a), _format(self.b)

    @property
    def accumulator(self) -> Format:
        return _format(self.d)

    @property
    def scale_format(self) -> Format | None:
        return _format(self.scale) if self.blocks else None

    @cached_property
    def formats(self) -> dict[str, Format]:
        """The formats of a case's operands, and of d, the result."""
        scale = self.scale_format
        operands = dict(zip("abcd", (*self.factors, self.accumulator, self.accumulator), strict=True))
        return operands | ({"scale_a": scale, "scale_b": scale} if scale else {})

    @cached_property
    def digits(self) -> dict[str, int]:
        """Hexadecimal digits of a code of each of the formats."""
        return {name: -(-fmt.container_bits // 4) for name, fmt in self.formats.items()}

    def count(self, operand: str, k: int) -> int:
        """The codes of an operand in a case of so many products."""
        return 1 if operand in "cd" else k if operand in "ab" else k // self.k * self.blocks


def _format(name: str) -> Format:
    return get_format(OWN_NAMES.get(name, name))


def _fp8(family: str, shape: str) -> list[GpuInstruction]:
    return [GpuInstruction(family, shape, d, a, b) for d, a, b in product(("f32", "f16"), FP8, FP8)]


# Kinds of FP4 alone, with blocks and scales. E8M0 scales of 16 are tcgen05's: mma.sync has them since PTX ISA 9.1.
FP4 = (("mxf4", 2, "ue8m0"), ("mxf4nvf4", 2, "ue8m0"), ("mxf4nvf4", 4, "ue8m0"), ("mxf4nvf4", 4, "ue4m3"))


def _scaled(family: str, shape: str) -> list[GpuInstruction]:
    """The block-scaled instructions. shape: M and N."""
    short, long = f"{shape}k32", f"{shape}k64"
    return [
        *(GpuInstruction(family, short, "f32", a, b, "mxf8f6f4", 1, "ue8m0") for a, b in product(NARROW, NARROW)),
        *(
            GpuInstruction(family, long, "f32", "e2m1", "e2m1", *kind)
            for kind in FP4
            if family == "tcgen05" or kind != FP4[2]
        ),
    ]


INSTRUCTIONS = {
    instruction.name: instruction
    for instruction in (
        *_fp8("wgmma", "m64n8k32"),
        GpuInstruction("wgmma", "m64n8k16", "f32", "f16", "f16"),
        GpuInstruction("wgmma", "m64n8k16", "f16", "f16", "f16"),
        GpuInstruction("wgmma", "m64n8k16", "f32", "bf16", "bf16"),
        GpuInstruction("wgmma", "m64n8k8", "f32", "tf32", "tf32"),
        *_fp8("mma", "m16n8k32"),
        GpuInstruction("mma", "m16n8k16", "f32", "f16", "f16"),
        GpuInstruction("mma", "m16n8k8", "f32", "f16", "f16"),
        GpuInstruction("mma", "m16n8k16", "f16", "f16", "f16"),
        GpuInstruction("mma", "m16n8k8", "f16", "f16", "f16"),
        GpuInstruction("mma", "m16n8k16", "f32", "bf16", "bf16"),
        GpuInstruction("mma", "m16n8k8", "f32", "bf16", "bf16"),
        GpuInstruction("mma", "m16n8k8", "f32", "tf32", "tf32"),
        GpuInstruction("mma", "m16n8k4", "f32", "tf32", "tf32"),
        *(GpuInstruction("mma", "m16n8k32", d, a, b) for a, b, d in NARROWER),
        *_scaled("mma", "m16n8"),
        GpuInstruction("tcgen05", "m128n16k16", "f32", "f16", "f16"),
        GpuInstruction("tcgen05", "m128n16k16", "f16", "f16", "f16"),
        GpuInstruction("tcgen05", "m128n16k16", "f32", "bf16", "bf16"),
        GpuInstruction("tcgen05", "m128n16k8", "f32", "tf32", "tf32"),
        *(GpuInstruction("tcgen05", "m128n16k32", "s32", a, b) for a, b in product(("s8", "u8"), repeat=2)),
        *(GpuInstruction("tcgen05", "m128n16k32", d, a, b) for a, b, d in product(NARROW, NARROW, ("f32", "f16"))),
        *_scaled("tcgen05", "m128n16"),
    )
}


def instruction_of(unit: Unit, name: str | None = None) -> GpuInstruction:
    """The instruction whose results a unit describes.

    name: the instruction's name; without it, the instruction follows from the family in the unit's name
    (`hopper-wgmma-...`), the unit's formats, its k and its blocks. Raises ValueError for a unit that no instruction
    fits.
    """
    if name is not None and name not in INSTRUCTIONS:
        close = get_close_matches(name, INSTRUCTIONS, 3, 0.5)
        hint = f"did you mean {', '.join(close)}?" if close else LISTED
        raise InputError(f"unknown instruction {name!r}: {hint}")
    candidates = [INSTRUCTIONS[name]] if name is not None else list(INSTRUCTIONS.values())
    fitting = [instruction for instruction in candidates if fits(instruction, unit)]
    if name is None:
        family = next((family for family in ("wgmma", "tcgen05") if family in unit.name), "mma")
        # Block-scaled units are mma's and tcgen05's, and named after neither.
        fitting = [one for one in fitting if one.family == family or (one.blocks and family == "mma")]
    if fitting:
        return fitting[0]
    operands, names = unit.operands, LISTED if name is None else name
    wanted = f"{operands.a.name} x {operands.b.name} + {_name(operands.addend)}, k {unit.instruction.k}{_scales(unit)}"
    raise InputError(f"unit {unit.name} ({wanted}) is none of the instructions that can be captured: {names}")


def _name(fmt: Format | None) -> str:
    return fmt.name if fmt else "nothing"


def _scales(unit: Unit) -> str:
    if unit.scale is None:
        return ""
    sides = zip((unit.scale.a, unit.scale.b), block_lengths(unit), strict=True)
    return ", scales " + " and ".join(f"{side.format.name} of {length}" for side, length in sides)


def fits(instruction: GpuInstruction, unit: Unit) -> bool:
    """True if a unit has an instruction's formats, k and blocks: it may describe the instruction's results."""
    operands, scale, scaled = unit.operands, unit.scale, instruction.scale_format
    return (
        (
            scaled is None
            if scale is None
            else (scale.a.format, scale.b.format) == (scaled, scaled)
            and block_lengths(unit) == (instruction.k // instruction.blocks,) * 2
        )
        and unit.promotion is None
        and (operands.a, operands.b) == instruction.factors
        and operands.addend == instruction.accumulator
        and (instruction.d != "s32" or unit.result.overflow == "wrap")
        and unit.output.container_bits == instruction.accumulator.container_bits
        and unit.instruction.k == instruction.k
    )


@dataclass(frozen=True, slots=True)
class CaptureCase:
    """A dot product for a GPU to compute.

    tag: the rule that it was designed for, or its kind. a, b: codes of whole instructions. c: the addend's code;
    None where the addend is switched off. scale_a, scale_b: codes of the scales, block by block; empty without scales.
    """

    tag: str
    a: tuple[int, ...]
    b: tuple[int, ...]
    c: int | None
    scale_a: tuple[int, ...] = ()
    scale_b: tuple[int, ...] = ()


def as_case(case: CaptureCase) -> Case:
    """The case that a unit computes; an addend that is switched off is +0."""
    return Case(case.tag, case.a, case.b, case.c or 0, case.scale_a, case.scale_b)


def captured(tag: str, case: Case) -> CaptureCase:
    """A case as a GPU takes it."""
    return CaptureCase(tag, case.a, case.b, case.c, case.scale_a, case.scale_b)


@dataclass(frozen=True)
class Section:
    """The cases of one instruction. unit: the name of the unit that describes it."""

    instruction: GpuInstruction
    unit: str
    cases: Sequence[CaptureCase]


@dataclass(frozen=True)
class CaseFile:
    """The content of a case file. checksum: CRC-32 of its bytes, which the results repeat."""

    generator: str
    seed: int
    sections: tuple[Section, ...]
    checksum: str


HEAD = "hwsim-capture-cases 1"


def checksum(data: bytes) -> str:
    """CRC-32 in 8 hexadecimal digits: enough to tell files that were mixed up."""
    return f"{zlib.crc32(data):08x}"


def text_of(generator: str, seed: int, sections: Iterable[Section]) -> Iterator[str]:
    yield f"{HEAD}\ngenerator {generator}\nseed {seed}\n"
    for section in sections:
        instruction = section.instruction
        yield f"instruction {instruction.name}\nunit {section.unit}\ncases {len(section.cases)}\n"
        for index, case in enumerate(section.cases):
            yield _line(instruction, index, case)
    yield "end\n"


def _line(instruction: GpuInstruction, index: int, case: CaptureCase) -> str:
    c = "-" if case.c is None else _hex(case.c, instruction.digits["c"])
    sides = ("a", "b", *SCALES)[: 4 if instruction.blocks else 2]
    words = ["".join(_hex(code, instruction.digits[side]) for code in getattr(case, side)) for side in sides]
    return " ".join([str(index), case.tag, str(len(case.a)), c, *words]) + "\n"


def _hex(code: int, digits: int) -> str:
    return f"{code:0{digits}x}"


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
    words, shape = lines.next("a case").split(" "), "ID TAG K C A B" + (" SA SB" if instruction.blocks else "")
    if len(words) != len(shape.split(" ")) or words[0] != str(index):
        raise lines.error(f"must be case {index}: {shape}")
    _, tag, k, c, *sides = words
    if not k.isascii() or not k.isdigit() or int(k) == 0 or int(k) % instruction.k:
        raise lines.error(f"K must be a multiple of {instruction.k}, not {k}")
    if c == "-" and not instruction.switch:
        raise lines.error(f"the addend of {instruction.name} cannot be switched off")
    named = dict(zip(("a", "b", *SCALES), sides, strict=False)) | ({} if c == "-" else {"c": c})
    codes = {name: _codes(lines, instruction, name, text, int(k)) for name, text in named.items()}
    return CaptureCase(tag, codes["a"], codes["b"], *codes.get("c", (None,)), *(codes.get(x, ()) for x in SCALES))


def _codes(lines: CheckedLines, instruction: GpuInstruction, name: str, text: str, k: int) -> tuple[int, ...]:
    codes = lines.codes(name, text, instruction.count(name, k), instruction.digits[name])
    bits = instruction.formats[name].container_bits
    if wide := [code for code in codes if code >> bits]:
        raise lines.error(f"{name} must be codes of {bits} bits, not {wide[0]:#x}")
    return codes


QUOTA = 24  # cases on which a pair of candidates differs, where there are so many; 16 are promised
TRIES = 4000  # stimuli after which pairs that none told apart are given up
MOST_TRIES = 40_000
AT_ONCE = 64  # stimuli that are computed together

Kinds = tuple[str, ...]
# Kinds of cases on which the answers to each question differ, by its name.
KINDS: dict[str, Kinds] = {
    "window": ("tie", "tie", "tie", "edge", "ladder"),
    "lost": ("tie", "tie", "tie", "edge", "ladder"),
    "result": ("tie", "edge", "near"),
    "groups": ("edge", "ladder", "spread"),
    "chain": ("edge", "ladder", "spread"),
    "conversion": ("subnormal", "edge"),
    "subnormals": ("subnormal", "few"),
    "addend": ("near", "addend", "edge"),
    "addend-bits": ("addend", "below"),
    "zeros": ("empty", "cancel", "zeros"),
    "zero-terms": ("zeros",),
    "cancelled": ("cancel",),
    "low-addend": ("cancel", "addend", "near"),
    "late-window": ("near", "addend", "edge"),
    "floor": ("floor", "halfway", "halfway", "floor", "halfway", "halfway", "tiny"),
    "zero-sum": ("empty", "cancel"),
    "tiny": ("tiny", "vanishing", "empty"),
    "overflow": ("overflow", "specials"),
    "nan": ("specials",),
    "special-codes": ("specials",),
}
# Over how many instructions cases go, in turn, where that is not one.
TIMES = {"chain": (2, 4), "addend": (1, 1, 2)}
RANDOM: Kinds = ("any", "near", "spread", "sparse", "straddle", "addend", "zeros", "rounding")

# What fills a section up: for what share, kinds, and over how many instructions.
FILLERS: tuple[tuple[str, float, Kinds, tuple[int, ...]], ...] = (
    ("random", 0.5, RANDOM, (1,)),
    ("far", 0.15, ("spread", "straddle", "edge"), (1,)),
    ("cancelling", 0.15, ("cancel", "opposite"), (1,)),
    ("chained", 0.1, RANDOM, (2, 4)),
    ("dense", 0.1, ("near", "ladder", "growth"), (1,)),
)
OFF = 8  # every eighth filling case has its addend switched off, where the instruction can


@dataclass(frozen=True)
class Designed:
    """The cases of one rule.

    apart: for each pair of candidates, by index, the number of cases on which they differ. tried: stimuli tried.
    """

    rule: Question
    candidates: tuple[Candidate, ...]
    cases: tuple[CaptureCase, ...]
    apart: dict[tuple[int, int], int]
    tried: int

    @property
    def alike(self) -> list[frozenset[str]]:
        """Sets of two or more candidates that no stimulus tells apart."""
        classes = [{index} for index in range(len(self.candidates))]
        for (i, j), differ in self.apart.items():
            if not differ:
                classes[i] |= classes[j]
                for member in classes[i]:
                    classes[member] = classes[i]
        sets = {frozenset(self.candidates[index].name for index in members) for members in classes if len(members) > 1}
        return sorted(sets, key=sorted)

    @property
    def least(self) -> int:
        """The fewest cases that tell any pair apart, of the pairs that are told apart."""
        return min((differ for differ in self.apart.values() if differ), default=0)


def design_rule(
    instruction: GpuInstruction,
    unit: Unit,
    rule: Question,
    seed: int,
    quota: int = QUOTA,
    tick: Callable[[], None] = lambda: None,
) -> Designed:
    """Cases on which the candidates of a rule differ: `quota` for each pair, where so many are found."""
    among = rule.candidates(unit)
    pairs = list(combinations(range(len(among)), 2))
    search, kept, tried = PairSearch(pairs, quota), list[CaptureCase](), 0
    drawn = stimuli(instruction, unit, seed, rule.name, KINDS[rule.name], TIMES.get(rule.name, (1,)))
    if rule.name == "low-addend" and of_scaled_sums(unit):
        # Random ones hardly ever meet what tells the published rules apart.
        laid = Rows(unit)
        low_addend_rows(laid)
        drawn = chain((captured(rule.name, case) for case in laid.cases.values()), drawn)
    for case, codes in _answered(drawn, among):
        wanted = search.need > 0 if tried < TRIES else (search.need > 0) & (search.need < quota)
        if not wanted.any():
            break
        tried += 1
        # One by one, so that the cases that are kept do not depend on how many are computed at once.
        kept += [case for _ in search.keep(codes)]
        if tried % AT_ONCE == 0:
            tick()
    codes = _answers(among, kept)
    apart = {(i, j): int((codes[:, i] != codes[:, j]).sum()) for i, j in pairs}
    return Designed(rule, among, tuple(kept), apart, tried)


def _answered(
    drawn: Iterator[CaptureCase], among: Sequence[Candidate]
) -> Iterator[tuple[CaptureCase, NDArray[np.int64]]]:
    """The first stimuli, each with the results of all candidates: codes (1, candidates)."""
    for _ in range(0, MOST_TRIES, AT_ONCE):
        some = list(islice(drawn, AT_ONCE))
        yield from zip(some, _answers(among, some)[:, None], strict=True)


def _answers(among: Sequence[Candidate], cases: Sequence[CaptureCase]) -> NDArray[np.int64]:
    """The results of candidates, codes (cases, candidates). A GPU takes whole instructions."""
    plain = [as_case(case) for case in cases]
    columns = [results(candidate, plain, whole=True) for candidate in among]
    return np.array(columns, dtype=np.int64).reshape(len(among), len(cases)).T


def stimuli(
    instruction: GpuInstruction, unit: Unit, seed: int, tag: str, kinds: Kinds, instructions: tuple[int, ...] = (1,)
) -> Iterator[CaptureCase]:
    """Cases of these kinds without end. instructions: over how many of them a case goes, in turn."""
    key = key_of(seed, instruction.name, unit.name, tag)
    for first, times in zip(count(0, AT_ONCE), cycle(instructions)):
        for case in draw(unit, key, first, AT_ONCE, times * instruction.k, kinds).cases():
            yield captured(tag, case)


def fillers(instruction: GpuInstruction, unit: Unit, total: int, seed: int) -> Iterator[CaptureCase]:
    """`total` cases that are designed for no rule."""
    shares = [int(share * total) for _, share, _, _ in FILLERS]
    shares[0] += total - sum(shares)
    for (tag, _, kinds, instructions), share in zip(FILLERS, shares, strict=True):
        drawn = stimuli(instruction, unit, seed, tag, kinds, instructions)
        for index, case in enumerate(islice(drawn, share)):
            off = instruction.switch and index % OFF == 0
            yield replace(case, c=None) if off else case


def design(
    instruction: GpuInstruction,
    unit: Unit,
    total: int,
    seed: int,
    rules: tuple[Question, ...] = QUESTIONS,
    quota: int = QUOTA,
    tick: Callable[[], None] = lambda: None,
) -> tuple[Section, list[Designed]]:
    """At least `total` cases for an instruction: those designed for its rules, then `fillers`.

    tick: called now and then. The same cases for the same instruction, unit and seed.
    """
    designed = [design_rule(instruction, unit, rule, seed, quota, tick) for rule in rules]
    cases = [case for rule in designed for case in rule.cases]
    cases += fillers(instruction, unit, max(0, total - len(cases)), seed)
    return Section(instruction, unit.name, cases), designed
