"""Results of GPUs, as the capture program writes them and as the repository keeps them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal, assert_never

import numpy as np
import yaml
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from hwsim.base.arrays import npz
from hwsim.base.errors import InputError
from hwsim.base.files import contents, written_texts
from hwsim.cases.captured import captured_cases, folders
from hwsim.cases.case import Case
from hwsim.compute.gemm import gemm
from hwsim.compute.profiling import GpuFacts, facts_of
from hwsim.explain.candidate import changed
from hwsim.explain.silicon.cases import (
    INSTRUCTIONS,
    SCALES,
    CaptureCase,
    CaseFile,
    CheckedLines,
    GpuInstruction,
    Section,
    as_case,
)
from hwsim.formats import codes_of
from hwsim.formats.codes import container_dtype
from hwsim.formats.yamlfile import read, validated
from hwsim.quantize.tensors import members
from hwsim.spec import Unit, load_unit

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
    for captured in results:
        instruction = captured.section.instruction
        yield f"instruction {instruction.name}\n"
        if captured.skipped:
            yield f"skipped {captured.skipped}\n"
            continue
        yield f"results {len(captured.codes)}\n"
        for index, code in enumerate(captured.codes):
            yield f"{index} {code:0{instruction.digits['d']}x}\n"
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
            code = lines.codes("the result", word, 1, section.instruction.digits["d"])[0]
        codes.append(code)
        if not stable:
            unstable.append(index)
    return SectionResults(section, tuple(codes), tuple(unstable))


MANIFEST = "manifest.yaml"
COLUMNS = ("tags", "tag", "k", "a", "b", "c", "c_off", "d", "unstable")  # of an instruction's file
NOTE = "# Written by `hwsim capture import`: what a GPU returned. `hwsim docs silicon` says how to read it.\n"


@dataclass(frozen=True)
class Captured:
    """The results of one instruction. unit: the unit that its cases were designed with.

    codes: a result for each case. unstable: the cases whose result changed from one run to the next.
    """

    instruction: GpuInstruction
    unit: str
    cases: Sequence[CaptureCase]
    codes: Sequence[int]
    unstable: frozenset[int] = frozenset()

    @property
    def stable(self) -> list[int]:
        """The numbers of the cases whose result never changed."""
        return [number for number in range(len(self.codes)) if number not in self.unstable]


def folder_name(gpu: str) -> str:
    """The folder's name for a GPU: h100-80gb-hbm3 for `NVIDIA H100 80GB HBM3`."""
    words = re.findall(r"[a-z0-9]+", gpu.lower().removeprefix("nvidia"))
    return "-".join(words) or "unknown"


def store(folder: Path, cases: CaseFile, results: ResultFile, replace: bool = False) -> tuple[Path, list[str]]:
    """Write results into the GPU's folder inside `folder`, and its manifest.

    Returns the GPU's folder and the instructions that were written; instructions that the GPU lacks are left out.
    Raises ValueError for results that exist already, unless they are to be replaced, and for a file without results.
    """
    path = folder / folder_name(results.facts["gpu"])
    manifest: dict[str, Any] = _manifest(path)[0] if (path / MANIFEST).exists() else {"instructions": {}}
    sections = [section for section in results.sections if not section.skipped]
    if not sections:
        raise InputError(f"no instruction was captured on {results.facts['gpu']}: nothing to import")
    names = [section.section.instruction.name for section in sections]
    present = [name for name in names if name in manifest["instructions"]]
    if present and not replace:
        raise InputError(f"{path} holds results of {', '.join(present)} already; say --replace to take the new ones")
    files: dict[str, bytes] = {}
    for section in sections:
        name = section.section.instruction.name
        data = _packed(section)
        files[f"{name}.npz"] = data
        manifest["instructions"][name] = {
            "unit": section.section.unit,
            "cases": len(section.codes),
            "unstable": len(section.unstable),
            **{key: results.facts[key] for key in FACTS},
            "generator": cases.generator,
            "seed": cases.seed,
            "case_file_crc32": cases.checksum,
            "sha256": hashlib.sha256(data).hexdigest(),
        }
    manifest["instructions"] = dict(sorted(manifest["instructions"].items()))
    files[MANIFEST] = (NOTE + yaml.safe_dump(manifest, sort_keys=False, width=110)).encode()
    written_texts(path, files)
    return path, names


def _packed(results: SectionResults) -> bytes:
    """The arrays of an instruction: the codes of all cases, concatenated."""
    section = results.section
    tags = list(dict.fromkeys(case.tag for case in section.cases))
    types = {name: container_dtype(fmt) for name, fmt in section.instruction.formats.items()}
    sides = {
        side: np.array([code for case in section.cases for code in getattr(case, side)], dtype=types[side])
        for side in ("a", "b", *SCALES)
        if side in types
    }
    arrays: dict[str, Any] = {
        "tags": np.array(tags),
        "tag": np.array([tags.index(case.tag) for case in section.cases], dtype=np.uint8),
        "k": np.array([len(case.a) for case in section.cases], dtype=np.uint16),
        **sides,
        "c": np.array([case.c or 0 for case in section.cases], dtype=types["c"]),
        "c_off": np.array([case.c is None for case in section.cases]),
        "d": np.array(results.codes, dtype=types["d"]),
        "unstable": np.array(results.unstable, dtype=np.uint32),
    }
    return npz(arrays, compressed=True)


class _Entry(BaseModel):
    """Keys of an instruction that are read; others are left as they are."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    unit: str
    sha256: str


class _Captures(BaseModel):
    """Keys of a manifest that are read."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    instructions: dict[str, _Entry]


def _manifest(path: Path) -> tuple[dict[str, Any], dict[str, _Entry]]:
    """A folder's manifest, all of it, and what is read of its instructions."""
    file = path / MANIFEST
    if not file.is_file():
        raise InputError(f"{path} holds no captured results: there is no {MANIFEST}")
    document = read(file)
    entries = validated(_Captures, document).instructions
    for name in entries:
        if name not in INSTRUCTIONS:
            where = document.where(("instructions", name))
            raise InputError(f"{where}: instructions.{name} is no instruction that can be captured")
    return document.data, entries


def load(path: Path, only: Iterable[str] = ()) -> list[Captured]:
    """The captured results of one GPU's folder. only: names of units or instructions; all unless given.

    Raises ValueError for a folder without results, for a file that was changed after its import, and for a name
    without results in the folder.
    """
    (_, entries), wanted = _manifest(path), set(only)
    stored = [_load(path, name, entry) for name, entry in entries.items() if not wanted or {name, entry.unit} & wanted]
    missing = wanted - {captured.unit for captured in stored} - {captured.instruction.name for captured in stored}
    if missing:
        known = ", ".join(entry.unit for entry in entries.values())
        raise InputError(f"{path} has no results of {', '.join(sorted(missing))}; it has {known}")
    return stored


def known_cases(unit: Unit, folder: str | Path | None = None) -> list[tuple[Case, int]]:
    """Every case of a unit that a GPU was asked, and the code that it returned each time.

    From `hwsim.cases.captured`, and from what `hwsim capture import` wrote. folder: holds either, or both; without it,
    the folders that the environment's HWSIM_SILICON names.
    """
    collected = captured_cases(unit, folder)
    for manifest in (path for source in folders(folder) for path in sorted(source.glob(f"*/{MANIFEST}"))):
        gpu = manifest.parent
        for name, entry in _manifest(gpu)[1].items():
            if entry.unit == unit.name:
                stored = _load(gpu, name, entry)
                cases = [(as_case(stored.cases[index]), index) for index in stored.stable]
                collected += [
                    (replace(case, id=f"{gpu.name}/{index:05}-{case.id}"), stored.codes[index]) for case, index in cases
                ]
    return collected


def _load(path: Path, name: str, entry: _Entry) -> Captured:
    file = path / f"{name}.npz"
    data = contents(file)
    if hashlib.sha256(data).hexdigest() != entry.sha256:
        raise InputError(f"{file} is not the file that was imported: its sha256 is not the manifest's")
    instruction = INSTRUCTIONS[name]
    columns = (*COLUMNS, *(SCALES if instruction.blocks else ()))
    arrays = dict(zip(columns, members(file, columns, data), strict=True))
    if (wrong := _wrong(arrays, instruction)) is not None:
        raise InputError(f"{file}: {wrong}, which `hwsim capture import` writes no file with")
    tags, lengths = arrays["tags"].tolist(), arrays["k"].tolist()
    sides = [_cut(arrays, instruction, side, lengths) for side in ("a", "b", *SCALES)]
    c = [None if off else code for code, off in zip(arrays["c"].tolist(), arrays["c_off"].tolist(), strict=True)]
    cases = [
        CaptureCase(tags[tag], a, b, addend, scale_a, scale_b)
        for tag, addend, a, b, scale_a, scale_b in zip(arrays["tag"].tolist(), c, *sides, strict=True)
    ]
    return Captured(instruction, entry.unit, cases, arrays["d"].tolist(), frozenset(arrays["unstable"].tolist()))


def _cut(
    arrays: dict[str, NDArray[Any]], instruction: GpuInstruction, side: str, lengths: Sequence[int]
) -> list[tuple[int, ...]]:
    """One operand's codes, case by case. lengths: the products of each case."""
    if side not in arrays:
        return [()] * len(lengths)
    codes, ends = arrays[side].tolist(), list(accumulate(instruction.count(side, k) for k in lengths))
    return [tuple(codes[first:end]) for first, end in zip([0, *ends[:-1]], ends, strict=True)]


def _wrong(arrays: dict[str, NDArray[Any]], instruction: GpuInstruction) -> str | None:
    """A fault of arrays that `_packed` would not write: other kinds, lengths or formats; None without one."""
    for name, array in arrays.items():
        kind = {"tags": "U", "c_off": "b"}.get(name, "u")
        if array.ndim != 1 or array.dtype.kind != kind:
            return f"{name} is an array of {array.dtype}, shape {array.shape}"
    count, terms = len(arrays["d"]), int(arrays["k"].sum())
    parts = {name: instruction.count(name, terms) for name in ("a", "b", *SCALES) if name in arrays}
    for name in ("tag", "k", "c", "c_off", *parts):
        if len(arrays[name]) != (wanted := parts.get(name, count)):
            return f"{name} has {len(arrays[name])} elements, not {wanted}"
    if count and not (arrays["k"].min() > 0 and (arrays["k"] % instruction.k == 0).all()):
        return f"k is no multiple of {instruction.k}"
    most = {name: 1 << fmt.container_bits for name, fmt in instruction.formats.items()}
    for name, end in {"tag": len(arrays["tags"]), "unstable": count, **most}.items():
        if len(arrays[name]) and int(arrays[name].max()) >= end:
            return f"{name} holds {int(arrays[name].max())}"
    return None


HOPPER = "9.0"
PROMOTED, SCALED = "deepseek-v3-e4m3-f32", "deepseek-v3-e4m3-f32-scaled"


class LibraryCall(BaseModel):
    """A product that was asked for. a, b: formats. numbers: what kind of them. kernels: the library's, by name."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    call: Literal["fp8-fast", "fp8-promoted", "fp8-blocks", "matmul"]
    a: Literal["e4m3", "e5m2", "f16", "bf16", "tf32"]
    b: Literal["e4m3", "e5m2", "f16", "bf16", "tf32"]
    numbers: str
    k: int
    kernels: list[str]

    @property
    def inputs(self) -> str:
        """The name of what it multiplies: several calls may multiply the same."""
        return f"{self.a}-{self.b}-{self.numbers}-{self.k}"

    @property
    def unit(self) -> Unit:
        """The unit that says what Hopper's kernels for this call return."""
        operands = {"operands": {"a": self.a, "b": self.b}}
        match self.call:
            case "fp8-fast" | "matmul":
                factors = self.a if self.a == self.b else f"{self.a}x{self.b}"
                return load_unit(f"hopper-wgmma-{factors}-f32")
            case "fp8-promoted":
                return changed(load_unit(PROMOTED), operands)
            case "fp8-blocks":
                # One scale for each of the columns that were kept, which are of several blocks.
                unit = changed(load_unit(SCALED), operands)
                return changed(unit, {"scale": {"b": {"format": "f32", "block": [128, 1]}}})
            case _:
                assert_never(self.call)


class _Facts(GpuFacts):
    """The facts about the GPU and its software, and the calls, that the file states."""

    calls: list[LibraryCall]


@dataclass(frozen=True)
class LibraryProduct:
    """A product and what the library returned. a: codes (rows, K). b: codes (K, columns). returned: (rows, columns).

    scale_a, scale_b: codes (rows, K / 128) and (K / 128, columns), or None.
    """

    call: LibraryCall
    a: NDArray[Any]
    b: NDArray[Any]
    scale_a: NDArray[Any] | None
    scale_b: NDArray[Any] | None
    returned: NDArray[Any]

    def equal(self, unit: Unit | None = None) -> int:
        """The number of results of which a unit says the same; without one, the call's own unit."""
        unit = unit or self.call.unit
        product = gemm(unit, self.a, self.b, None, self.scale_a, self.scale_b)
        return int((codes_of(unit.output, product) == self.returned).sum())


@dataclass(frozen=True)
class LibraryProducts:
    """The products of one GPU's library. software: PyTorch's version and CUDA's."""

    gpu: str
    software: str
    seed: int
    products: list[LibraryProduct]


def read_products(path: Path) -> LibraryProducts:
    """The products of a file.

    Raises OSError, and InputError for a file that `capture/gemm.py` does not write, or of a GPU without known units.
    """
    facts = facts_of(path, _Facts, "capture/gemm.py")
    if facts.capability != HOPPER:
        raise InputError(
            f"{path}: products of {facts.gpu}, of compute capability {facts.capability}; which units its library's "
            f"kernels are made of is known for {HOPPER} alone"
        )
    software = f"PyTorch {facts.torch}, CUDA {facts.cuda}"
    return LibraryProducts(facts.gpu, software, facts.seed, [_product(path, call) for call in facts.calls])


def _product(path: Path, call: LibraryCall) -> LibraryProduct:
    scales = ("scale_a", "scale_b") if call.call == "fp8-blocks" else ()
    names = [f"{call.inputs}/{name}" for name in ("a", "b", call.call, *scales)]
    arrays = members(path, names)
    rows, columns = arrays[2].shape[:1], arrays[2].shape[1:]
    blocks = (call.k // 128,)
    shapes = [(*rows, call.k), (call.k, *columns), (*rows, *columns), (*rows, *blocks), (*blocks, *columns)]
    for name, array, shape in zip(names, arrays, shapes, strict=False):
        if array.shape != shape or array.dtype.kind != "u":
            raise InputError(f"{path}: {name} must be codes {shape}, not {array.dtype} {array.shape}")
    a, b, returned = arrays[:3]
    scale_a, scale_b = arrays[3:] if scales else (None, None)
    return LibraryProduct(call, np.ascontiguousarray(a), np.ascontiguousarray(b), scale_a, scale_b, returned)
