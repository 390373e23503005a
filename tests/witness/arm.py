"""Arm's dot products as QEMU executes them, beside hwsim's presets: result by result, and exactly where two differ."""

from __future__ import annotations

import struct
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml
from model.model_witness import Witness
from numpy.typing import NDArray
from witness.emulators import UNPACKED, build_guest, emulator

from hwsim.cases.bins.covering import directed
from hwsim.cases.case import Batch, Case, batches
from hwsim.cases.drawing import DIRECTED, KINDS, Stream, key_of
from hwsim.cases.random_cases import draw
from hwsim.compute.products import dot_codes
from hwsim.formats import get_format
from hwsim.spec import Unit, load_unit
from hwsim.spec.catalog import as_yaml

Codes = NDArray[Any]
SOURCE = Path(__file__).with_name("arm_guest.c")
VERSION = "11.1"  # the first that has FPMR
RECORDS = 2048  # of one batch: the guest's RECORDS
CPU = "max,sve-default-vector-length=16,sme-default-vector-length=16"
FP8 = {"e5m2": 0, "e4m3": 1}
EBF = 1 << 13  # of FPCR
ONE = 127  # in E8M0


class Layout(NamedTuple):
    """Which elements of vectors a and b each result multiplies: a row of places for each result.

    case: the number of the case whose factors a and whose addend a result has. own: the results that have all operands
    of one case.
    """

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    case: NDArray[np.int64]
    own: NDArray[np.int64]


def groups(results: int, k: int, step: int | None = None, first: int = 0) -> Layout:
    """Each result has k neighbours of its own, from `first` on, `step` from those of the next."""
    every = np.arange(results)
    places = first + (step or k) * every[:, None] + np.arange(k)
    return Layout(places, places, every, every)


def products(rows: int, k: int, segments: int = 1) -> Layout:
    """Of each segment every row of a with every row of b, k long."""
    segment, row, column = (part.ravel() for part in np.indices((segments, rows, rows)))
    a, b = (segment * rows + side for side in (row, column))
    return Layout(*(side[:, None] * k + np.arange(k) for side in (a, b)), a, np.flatnonzero(a == b))


class Instruction(NamedTuple):
    """number: in the guest's table. preset: whose arithmetic it has; {} stands for FP8 factors. fpcr: beside 0."""

    name: str
    number: int
    preset: str
    layout: Layout
    fpcr: int = 0


INSTRUCTIONS = (
    Instruction("fdot-4-way", 0, "arm-fdot-{}-f32", groups(4, 4)),
    Instruction("fdot-2-way", 1, "arm-fdot-{}-f16", groups(8, 2)),
    Instruction("fmlallbb", 2, "arm-fmlall-{}-f32", groups(4, 1, 4, 0)),
    Instruction("fmlallbt", 3, "arm-fmlall-{}-f32", groups(4, 1, 4, 1)),
    Instruction("fmlalltb", 4, "arm-fmlall-{}-f32", groups(4, 1, 4, 2)),
    Instruction("fmlalltt", 5, "arm-fmlall-{}-f32", groups(4, 1, 4, 3)),
    Instruction("fmlalb", 6, "arm-fmlal-{}-f16", groups(8, 1, 2, 0)),
    Instruction("fmlalt", 7, "arm-fmlal-{}-f16", groups(8, 1, 2, 1)),
    Instruction("fmmla-8-way", 8, "arm-fmmla-{}-f32", products(2, 8)),
    Instruction("fmmla-4-way", 9, "arm-fmmla-{}-f16", products(2, 4, 2)),
    Instruction("fmopa-4-way", 34, "arm-fdot-{}-f32", products(4, 4)),
    Instruction("fmopa-2-way", 48, "arm-fdot-{}-f16", products(8, 2)),
    Instruction("bfdot", 10, "arm-bfdot-bf16-f32", groups(4, 2)),
    Instruction("bfmmla", 11, "arm-bfmmla-bf16-f32", products(2, 4)),
    Instruction("bfmopa", 33, "arm-bfdot-bf16-f32", products(4, 2)),
    Instruction("bfdot", 10, "arm-bfdot-bf16-f32-ebf", groups(4, 2), EBF),
    Instruction("bfmmla", 11, "arm-bfmmla-bf16-f32-ebf", products(2, 4), EBF),
    Instruction("bfmopa", 33, "arm-bfdot-bf16-f32-ebf", products(4, 2), EBF),
    Instruction("bfmlalb", 12, "arm-bfmlal-bf16-f32", groups(4, 1, 2, 0)),
    Instruction("bfmlalt", 13, "arm-bfmlal-bf16-f32", groups(4, 1, 2, 1)),
    Instruction("fdot-f16", 14, "arm-fdot-f16-f32", groups(4, 2)),
    Instruction("fmopa-f16", 32, "arm-fdot-f16-f32", products(4, 2)),
    Instruction("fmlal", 15, "arm-fmlal-f16-f32", groups(4, 1)),
)


class Setting(NamedTuple):
    """An instruction with FPMR's fields. a, b: FP8 formats, empty of wider ones."""

    instruction: Instruction
    a: str = ""
    b: str = ""
    saturates: bool = False
    lscale: int = 0

    @property
    def preset(self) -> str:
        """The name of the preset whose arithmetic this has, but for saturation and scale."""
        return self.instruction.preset.format(self.a if self.a == self.b else f"{self.a}x{self.b}")

    @property
    def fpmr(self) -> int:
        """The register."""
        if not self.a:
            return 0
        return FP8[self.a] | FP8[self.b] << 3 | self.saturates << 14 | self.lscale << 16

    @property
    def unit(self) -> Unit:
        """The preset, with OSM as its overflow and LSCALE as an E8M0 scale of a."""
        return _unit(self.preset, self.saturates, self.lscale > 0)

    @property
    def words(self) -> str:
        """The instruction and what differs from the preset."""
        osm, lscale = " OSM=1" * self.saturates, f" LSCALE={self.lscale}" * (self.lscale > 0)
        return f"{self.instruction.name}{osm}{lscale}{' EBF=1' * (self.instruction.fpcr == EBF)}"


@cache
def _unit(preset: str, saturates: bool, scaled: bool) -> Unit:
    keys = yaml.safe_load(as_yaml(load_unit(preset)))
    if saturates:
        keys["result"]["overflow"] = "propagate"
    if scaled:
        k = keys["instruction"]["k"]
        keys["scale"] = {"a": {"format": "e8m0", "block": [1, k]}, "b": {"format": "e8m0", "block": [k, 1]}}
    return Unit.model_validate(keys)


def settings(stream: Stream | None = None) -> Iterator[Setting]:
    """Every instruction with every pair of formats; with a stream also saturating, or scaled, at random."""
    for instruction in INSTRUCTIONS:
        if "{}" not in instruction.preset:
            yield Setting(instruction)
            continue
        for a in FP8:
            for b in FP8:
                saturates = stream is not None and stream.randrange(3) == 0
                most = 1 << (7 if instruction.preset.endswith("f32") else 4)
                lscale = stream.randrange(most) if stream is not None and stream.randrange(3) == 0 else 0
                yield Setting(instruction, a, b, saturates, lscale)


class Emulator:
    """QEMU with the guest program. Raises ToolMissing where either is not at hand."""

    def __init__(self, folder: Path = UNPACKED):
        self.program, self.version = emulator("qemu-aarch64", VERSION)
        self.guest = build_guest(SOURCE, folder / "arm_guest")

    def run(self, number: int, a: Codes, b: Codes, c: Codes, fpmr: int = 0, fpcr: int = 0) -> Codes:
        """What an instruction writes: as c, uint8[n, bytes]. a, b: uint8[n, 16]."""
        parts = []
        for start in range(0, len(a), RECORDS):
            part = np.concatenate([side[start : start + RECORDS] for side in (a, b, c)], axis=1)
            parts += [struct.pack("<IIQQ", number, len(part), fpmr, fpcr), part.tobytes()]
        done = subprocess.run(
            [self.program, "-cpu", CPU, self.guest], input=b"".join(parts), capture_output=True, check=True
        )
        return np.frombuffer(done.stdout, np.uint8).reshape(c.shape)


@dataclass
class Difference:
    """A case on which the two differ, and what exact rationals say: `hwsim`, `emulator` or `neither` is right."""

    unit: str
    instruction: str
    a: list[int]
    b: list[int]
    c: int
    hwsim: int
    emulator: int
    exact: int
    right: str


@dataclass
class Count:
    """What was compared: results by preset and by instruction, and those that differ by whose fault it is.

    converted, unlike: numbers that were converted between formats, and of these those that differ.
    """

    results: Counter[str] = field(default_factory=Counter)
    instructions: Counter[str] = field(default_factory=Counter)
    faults: Counter[tuple[str, str]] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)
    converted: Counter[str] = field(default_factory=Counter)
    unlike: Counter[str] = field(default_factory=Counter)

    def wrong(self, of: str) -> int:
        """The number of differences in which `hwsim`, the `emulator` or `both` are wrong."""
        return sum(count for (_, whose), count in self.faults.items() if whose == of)


KEPT = 20  # differences of one preset that are told


def compare(emulated: Emulator, setting: Setting, batch: Batch, stream: Stream, count: Count) -> None:
    """Compare the results of cases of one instruction each; elements of vectors that have no case are drawn."""
    unit, instruction, layout = setting.unit, setting.instruction, setting.instruction.layout
    elements = {1: np.uint8, 2: np.uint16, 4: np.uint32}
    width, wide = batch.a.dtype.itemsize, elements[batch.c.dtype.itemsize]
    rows = -(-len(batch) // len(layout.own))
    number = np.arange(rows * len(layout.own)) % len(batch)
    vectors = []
    for codes, places in ((batch.a, layout.a[layout.own]), (batch.b, layout.b[layout.own])):
        vector = stream.integers(0, 1 << 8 * width, (rows, 16 // width)).astype(elements[width])
        vector[:, places] = codes[number].reshape(rows, *places.shape)
        vectors.append(vector)
    addends = np.ascontiguousarray(batch.c[number].astype(wide).reshape(rows, -1)[:, layout.case])
    bytes_ = [array.view(np.uint8).reshape(rows, -1) for array in (*vectors, addends)]
    got = emulated.run(instruction.number, *bytes_, setting.fpmr, instruction.fpcr).view(wide).ravel()
    sides = zip(vectors, (layout.a, layout.b), strict=True)
    a, b = (vector[:, places].reshape(addends.size, -1) for vector, places in sides)
    c = addends.ravel()
    one = np.full((len(c), 1), ONE, np.uint8)
    scales = None if unit.scale is None else (one - np.uint8(setting.lscale), one)
    want = dot_codes(unit, a, b, c, scales, again=True).astype(wide)
    count.results[setting.preset] += len(c)
    count.instructions[setting.words.partition(" LSCALE")[0]] += len(c)
    differ = want != got
    if unit.result.nan == "any":
        differ &= ~(_is_nan(unit, want) & _is_nan(unit, got))
    for index in np.flatnonzero(differ).tolist():
        given = a[index].tolist(), b[index].tolist(), int(c[index])
        codes = int(want[index]), int(got[index])
        told = exactly(unit, setting, *given, *codes)
        wrong = {"hwsim": "emulator", "emulator": "hwsim", "neither": "both"}[told.right]
        count.faults[setting.preset, wrong] += 1
        if count.faults[setting.preset, wrong] <= KEPT:
            count.differences.append(told)


def _is_nan(unit: Unit, codes: Codes) -> NDArray[np.bool_]:
    return np.isnan(codes.view({2: np.float16, 4: np.float32}[codes.dtype.itemsize]))


def exactly(unit: Unit, setting: Setting, a: list[int], b: list[int], c: int, hwsim: int, emulated: int) -> Difference:
    """A case computed in exact rationals, without hwsim."""
    scales = ([ONE - setting.lscale], [ONE]) if unit.scale is not None else ([], [])
    exact = Witness(yaml.safe_load(as_yaml(unit))).dot(a, b, c, *scales)
    right = "hwsim" if exact == hwsim else "emulator" if exact == emulated else "neither"
    return Difference(setting.preset, setting.words, a, b, c, hwsim, emulated, exact, right)


EVERY_KIND = (*KINDS, *DIRECTED)


def drawn(setting: Setting, seed: int, first: int, results: int) -> Batch:
    """Random and directed cases of every kind, one after the other; each is of one instruction."""
    unit, layout = setting.unit, setting.instruction.layout
    count = -(-results // len(layout.a)) * len(layout.own)
    return draw(unit, key_of(seed, setting.preset, "witness"), first, count, layout.a.shape[1], EVERY_KIND)


def ends(setting: Setting, stream: Stream, results: int) -> Batch:
    """Cases whose factors are at the ends of their formats, and whose addends cancel some of the products.

    Sums of these need all the bits that sums can have.
    """
    unit, layout = setting.unit, setting.instruction.layout
    rows, k = -(-results // len(layout.a)) * len(layout.own), layout.a.shape[1]
    sides, numbers = [], []
    for fmt in (unit.operands.a, unit.operands.b):
        few = np.array([fmt.max_code, fmt.max_code, fmt.max_code - 1, 1, 2, 0])
        codes = few[stream.integers(0, len(few), (rows, k))] | stream.integers(0, 2, (rows, k)) << fmt.bits - 1
        sides.append(codes.astype(np.uint8 if fmt.bits == 8 else np.uint16))
        numbers.append(np.asarray(fmt.decode(sides[-1]), np.float64))
    addend = unit.operands.addend
    taken = stream.integers(0, 2, (rows, k))
    c = addend.encode(-(numbers[0] * numbers[1] * taken).sum(axis=1), "rne", "saturate") if addend else np.zeros(rows)
    return Batch(range(rows), *sides, c)  # type: ignore[arg-type]


def _filled(codes: Codes, k: int) -> Codes:
    return np.pad(codes, ((0, 0), (0, k - codes.shape[1])))


def one_by_one(unit: Unit, k: int, cases: list[Case]) -> Iterator[Batch]:
    """Cases of any length as cases of one instruction, of k products, each of which adds to the result before it."""
    for batch in batches(unit, sorted(cases, key=lambda case: len(case.a))):
        c = batch.c
        for start in range(0, batch.a.shape[1], k):
            a, b = (_filled(side[:, start : start + k], k) for side in (batch.a, batch.b))
            part = Batch(batch.ids, a, b, c)
            yield part
            c = dot_codes(unit, a, b, c, None, again=True).astype(c.dtype)


EVERY = "arm-*"
CHUNK = 120_000  # results of one setting at a time


def campaign(emulated: Emulator, seed: int, results: int, pattern: str, count: Count) -> Iterator[None]:
    """Compare so many results, about, of each instruction and pair of formats whose preset fits a pattern; yields now
    and then.

    First the directed cases of every preset by every instruction that has its arithmetic, and conversions; then cases
    that are drawn, with saturation and scales at random.
    """
    stream = Stream(seed, "witness")
    if pattern == EVERY:
        conversions(emulated, stream, count)
        yield
    for setting in settings():
        if fnmatchcase(setting.preset, pattern):
            for batch in one_by_one(setting.unit, setting.instruction.layout.a.shape[1], directed(setting.unit, seed)):
                compare(emulated, setting, batch, stream, count)
            yield
    start, every = 0, sum(fnmatchcase(setting.preset, pattern) for setting in settings())
    while count.results.total() < results * every:
        for setting in settings(stream):
            if fnmatchcase(setting.preset, pattern):
                compare(emulated, setting, drawn(setting, seed, start, CHUNK), stream, count)
                compare(emulated, setting, ends(setting, stream, CHUNK // 10), stream, count)
                yield
        start += CHUNK


def as_json(emulated: Emulator, seed: int, count: Count, seconds: float) -> dict[str, Any]:
    """What was compared, and every kept difference."""
    return {
        "emulator": "qemu-aarch64", "version": emulated.version, "seed": seed, "results": count.results.total(),
        "seconds": round(seconds, 1), "units": dict(sorted(count.results.items())),
        "instructions": dict(sorted(count.instructions.items())),
        "converted": dict(sorted(count.converted.items())), "converted_unlike": count.unlike.total(),
        "wrong": {of: count.wrong(of) for of in ("hwsim", "emulator", "both")},
        "differences": [asdict(difference) for difference in count.differences],
    }  # fmt: skip


def words(difference: Difference) -> str:
    """A difference in a line."""
    a, b = (" ".join(f"{code:02x}" for code in side) for side in (difference.a, difference.b))
    codes = ", ".join(f"{name} {getattr(difference, name):x}" for name in ("hwsim", "emulator", "exact"))
    return f"{difference.unit} ({difference.instruction}): a {a}, b {b}, c {difference.c:x}: {codes}"


# Conversions: FCVTN by the number of its source, with F8D, OSC and NSCALE; F1CVTL with F8S1 and LSCALE.
FCVTN = {"f32": (16, 8, 128), "f16": (17, 16, 16)}  # number, results of a pair of vectors, and where NSCALE ends
F1CVTL = 18


def narrowed(emulated: Emulator, source: str, target: str, codes: Codes, nscale: int, saturates: bool) -> Codes:
    """FCVTN of codes of f32 or f16 to FP8."""
    number, results, _ = FCVTN[source]
    vectors = codes.reshape(-1, results).view(np.uint8).reshape(-1, 2, 16)
    fpmr = FP8[target] << 6 | saturates << 15 | (nscale & 0xFF) << 24
    got = emulated.run(number, vectors[:, 0], vectors[:, 1], np.zeros((len(vectors), 16), np.uint8), fpmr)
    return np.ascontiguousarray(got[:, :results]).ravel()


def widened(emulated: Emulator, source: str, lscale: int) -> Codes:
    """F1CVTL of every code of an FP8 format to f16."""
    vectors = np.zeros((32, 16), np.uint8)
    vectors[:, :8] = np.arange(256, dtype=np.uint8).reshape(32, 8)
    got = emulated.run(F1CVTL, vectors, vectors, vectors, FP8[source] | lscale << 16)
    return np.ascontiguousarray(got).view(np.uint16).ravel()


def converted(source: str, target: str, codes: Codes, scale: int, overflow: str) -> Codes:
    """The same by `Format.encode`, of each number times 2^scale; its NaNs are the target's canonical one."""
    numbers = np.ldexp(np.asarray(get_format(source).decode(codes), np.float64), scale)
    return get_format(target).encode(numbers, "rne", overflow, "nan")


def conversions(emulated: Emulator, stream: Stream, count: Count) -> None:
    """Every number of f16, some of f32, to FP8 with every NSCALE; every FP8 number to f16 with every LSCALE."""
    words = stream.words(1 << 14).astype(np.uint32)
    near = words & 0x807FFFFF | stream.integers(97, 157, words.shape).astype(np.uint32) << 23
    given = {"f16": np.arange(1 << 16, dtype=np.uint16), "f32": np.concatenate([words, near])}
    for source, target, saturates in product(FCVTN, FP8, (False, True)):
        most = FCVTN[source][2]
        for nscale in range(-most, most):
            got = narrowed(emulated, source, target, given[source], nscale, saturates)
            want = converted(source, target, given[source], nscale, "saturate" if saturates else "ieee")
            _count_converted(f"fcvtn-{source}-{target}", target, got, want, count)
    for source, lscale in product(FP8, range(16)):
        want = converted(source, "f16", np.arange(256, dtype=np.uint8), -lscale, "ieee")
        _count_converted(f"f1cvtl-{source}-f16", "f16", widened(emulated, source, lscale), want, count)


def _count_converted(name: str, target: str, got: Codes, want: Codes, count: Count) -> None:
    numbers = [get_format(target).decode(codes) for codes in (got, want)]
    count.converted[name] += len(got)
    count.unlike[name] += int(((got != want) & ~(np.isnan(numbers[0]) & np.isnan(numbers[1]))).sum())
