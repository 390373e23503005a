"""Captured results as files: a folder for each GPU, with an NPZ file for each instruction and a manifest."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from hwsim.cases.captured import captured_cases
from hwsim.cases.capturedfile import folders
from hwsim.cases.case import Case
from hwsim.errors import InputError
from hwsim.files import contents
from hwsim.formats.invalid import validated
from hwsim.formats.yamlfile import read
from hwsim.npz import npz
from hwsim.outputs import written_texts
from hwsim.quantize.arrayfiles import members
from hwsim.readings.silicon.case import CaptureCase, CaseFile, as_case
from hwsim.readings.silicon.instructions import INSTRUCTIONS, GpuInstruction
from hwsim.readings.silicon.results import FACTS, ResultFile, SectionResults
from hwsim.spec import Unit

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


def _packed(one: SectionResults) -> bytes:
    """The arrays of an instruction: the codes of all cases, concatenated."""
    section, (factor, accumulator) = one.section, one.section.instruction.digits
    tags = list(dict.fromkeys(case.tag for case in section.cases))
    narrow, wide = np.dtype(f"uint{4 * factor}"), np.dtype(f"uint{4 * accumulator}")
    arrays: dict[str, Any] = {
        "tags": np.array(tags),
        "tag": np.array([tags.index(case.tag) for case in section.cases], dtype=np.uint8),
        "k": np.array([len(case.a) for case in section.cases], dtype=np.uint16),
        "a": np.array([code for case in section.cases for code in case.a], dtype=narrow),
        "b": np.array([code for case in section.cases for code in case.b], dtype=narrow),
        "c": np.array([case.c or 0 for case in section.cases], dtype=wide),
        "c_off": np.array([case.c is None for case in section.cases]),
        "d": np.array(one.codes, dtype=wide),
        "unstable": np.array(one.unstable, dtype=np.uint32),
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
    found = captured_cases(unit, folder)
    for manifest in (path for one in folders(folder) for path in sorted(one.glob(f"*/{MANIFEST}"))):
        gpu = manifest.parent
        for name, entry in _manifest(gpu)[1].items():
            if entry.unit == unit.name:
                stored = _load(gpu, name, entry)
                cases = [(as_case(stored.cases[at]), at) for at in stored.stable]
                found += [(replace(case, id=f"{gpu.name}/{at:05}-{case.id}"), stored.codes[at]) for case, at in cases]
    return found


def _load(path: Path, name: str, entry: _Entry) -> Captured:
    file = path / f"{name}.npz"
    data = contents(file)
    if hashlib.sha256(data).hexdigest() != entry.sha256:
        raise InputError(f"{file} is not the file that was imported: its sha256 is not the manifest's")
    arrays = dict(zip(COLUMNS, members(file, COLUMNS, data), strict=True))
    if (wrong := _wrong(arrays, INSTRUCTIONS[name])) is not None:
        raise InputError(f"{file}: {wrong}, which `hwsim capture import` writes no file with")
    tags = arrays["tags"].tolist()
    a, b, d = (arrays[key].tolist() for key in "abd")
    ends = list(accumulate(arrays["k"].tolist()))
    columns = zip(
        *(arrays["tag"].tolist(), [0, *ends[:-1]], ends, arrays["c"].tolist(), arrays["c_off"].tolist()),
        strict=True,
    )
    cases = [
        CaptureCase(tags[tag], tuple(a[first:end]), tuple(b[first:end]), None if off else c)
        for tag, first, end, c, off in columns
    ]
    return Captured(INSTRUCTIONS[name], entry.unit, cases, d, frozenset(arrays["unstable"].tolist()))


def _wrong(arrays: dict[str, NDArray[Any]], instruction: GpuInstruction) -> str | None:
    """What `_packed` would not have written: arrays of other kinds or lengths, or codes of other formats."""
    for name, array in arrays.items():
        kind = {"tags": "U", "c_off": "b"}.get(name, "u")
        if array.ndim != 1 or array.dtype.kind != kind:
            return f"{name} is an array of {array.dtype}, shape {array.shape}"
    count, terms = len(arrays["d"]), int(arrays["k"].sum())
    for name in ("tag", "k", "c", "c_off", "a", "b"):
        if len(arrays[name]) != (wanted := terms if name in "ab" else count):
            return f"{name} has {len(arrays[name])} elements, not {wanted}"
    if count and not (arrays["k"].min() > 0 and (arrays["k"] % instruction.k == 0).all()):
        return f"k is no multiple of {instruction.k}"
    bits = [4 * digits for digits in instruction.digits]
    most = {"tag": len(arrays["tags"]), "unstable": count, "a": 1 << bits[0], "b": 1 << bits[0]}
    for name, end in {**most, "c": 1 << bits[1], "d": 1 << bits[1]}.items():
        if len(arrays[name]) and int(arrays[name].max()) >= end:
            return f"{name} holds {int(arrays[name].max())}"
    return None
