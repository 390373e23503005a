"""The capture program in tests: how it is built and run, and case files for it."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from computed_once import computed_once
from patience import LIMIT

import hwsim

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "capture"
STANDIN = Path(__file__).with_name("standin.py")
SHARED = ("main", "cases", "results", "measure")  # files of both builds
OBJECTS = (*SHARED, "standin", "layout")
PROGRAM = "program"
WARNINGS = ("-Wall", "-Wextra", "-Werror")

FP8_PAIRS = [f"{a}.{b}" for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")]
INSTRUCTIONS = [
    *(f"wgmma.m64n8k32.{d}.{pair}" for d in ("f32", "f16") for pair in FP8_PAIRS),
    "wgmma.m64n8k16.f32.f16.f16",
    "wgmma.m64n8k16.f16.f16.f16",
    "wgmma.m64n8k16.f32.bf16.bf16",
    "wgmma.m64n8k8.f32.tf32.tf32",
    *(f"mma.m16n8k32.{d}.{pair}" for d in ("f32", "f16") for pair in FP8_PAIRS),
    "mma.m16n8k16.f32.f16.f16",
    "mma.m16n8k8.f32.f16.f16",
    "mma.m16n8k16.f16.f16.f16",
    "mma.m16n8k8.f16.f16.f16",
    "mma.m16n8k16.f32.bf16.bf16",
    "mma.m16n8k8.f32.bf16.bf16",
    "mma.m16n8k8.f32.tf32.tf32",
    "mma.m16n8k4.f32.tf32.tf32",
]
BITS = {"e4m3": 8, "e5m2": 8, "f16": 16, "bf16": 16, "tf32": 32, "f32": 32}


class Words(NamedTuple):
    """An instruction's name, taken apart."""

    family: str
    k: int
    d: str
    a: str
    b: str


def words(name: str) -> Words:
    family, shape, d, a, b = name.split(".")
    return Words(family, int(shape.rpartition("k")[2]), d, a, b)


class Case(NamedTuple):
    a: list[int]
    b: list[int]
    c: int | None


class Build(NamedTuple):
    """The program on the stand-in, and the object files that it is linked from."""

    program: Path
    compiler: str
    objects: dict[str, Path]


def build_in(folder: Path, compiler: str) -> Build:
    """The program, put there with its object files, which are compiled once for all tests."""
    for name, content in _compiled(compiler, _sources()).items():
        (folder / name).write_bytes(content)
    (folder / PROGRAM).chmod(0o755)
    return Build(folder / PROGRAM, compiler, {name: folder / f"{name}.o" for name in OBJECTS})


def quick_compiler(folder: Path, compiler: str) -> str:
    """A compiler for `capture/run --standin` that has the program already."""
    program, script = build_in(folder, compiler).program, folder / "compiler"
    script.write_text(f"""#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\nexec cp '{program}' "$2"\n""")
    script.chmod(0o755)
    return str(script)


@computed_once("base")
def _compiled(compiler: str, sources: str) -> dict[str, bytes]:
    """The program and its object files, by name. sources: a digest of what they are made of."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        objects = {name: folder / f"{name}.o" for name in OBJECTS}
        running = [
            subprocess.Popen([compiler, "-std=c++17", "-O1", *WARNINGS, "-c", SOURCE / f"{name}.cpp", "-o", path])
            for name, path in objects.items()
        ]
        assert [one.wait() for one in running] == [0] * len(running)
        subprocess.run([compiler, "-o", folder / PROGRAM, *objects.values()], check=True)
        return {path.name: path.read_bytes() for path in folder.iterdir()}


def _sources() -> str:
    files = sorted(path for path in SOURCE.iterdir() if path.suffix in (".cpp", ".hpp"))
    return hashlib.sha256(b"".join(path.name.encode() + b"\0" + path.read_bytes() for path in files)).hexdigest()


def environment(fault: str = "", **others: str) -> dict[str, str]:
    return {**os.environ, "HWSIM_STANDIN": f"{sys.executable} {STANDIN} {fault}", **others}


def capture(
    program: Path, cases: Path, results: Path, fault: str = "", **others: str
) -> subprocess.CompletedProcess[str]:
    command = [str(program), str(cases), str(results)]
    return subprocess.run(command, env=environment(fault, **others), capture_output=True, text=True, timeout=LIMIT)


def unit_file(folder: Path, name: str) -> Path:
    """A unit for an instruction, in which every pair of products is a group: an exchange of two k shows."""
    one = words(name)
    path = folder / f"{name}.yaml"
    path.write_text(
        f"unit: {name}\n"
        f"operands: {{a: {one.a}, b: {one.b}, addend: {one.d}}}\n"
        f"instruction: {{k: {one.k}, lanes: 2}}\n"
        "sum: {method: aligned, fraction_bits: 13}\n"
        f"result: {{format: {one.d}, rounding: rz}}\n"
    )
    return path


def random_case(name: str, draw: random.Random) -> Case:
    one = words(name)
    k = one.k * draw.choice([1, 1, 2, 5])
    a, b, c = (
        [draw.getrandbits(BITS[fmt]) & (0xFFFFE000 if fmt == "tf32" else ~0) for _ in range(count)]
        for fmt, count in ((one.a, k), (one.b, k), (one.d, 1))
    )
    return Case(a, b, None if one.family == "wgmma" and draw.random() < 0.3 else c[0])


def moderate_case(name: str, draw: random.Random) -> Case:
    """Finite, of numbers of like size: every term leaves its mark on the result."""
    one = words(name)
    exponent = {"e4m3": (3, 7), "e5m2": (2, 15), "f16": (10, 15), "bf16": (7, 127), "tf32": (23, 127)}

    def code(fmt: str) -> int:
        low, bias = exponent[fmt]
        fraction = draw.getrandbits(low) & (0x7FE000 if fmt == "tf32" else ~0)
        return draw.getrandbits(1) << (BITS[fmt] - 1) | bias + draw.randint(-2, 2) << low | fraction

    k = one.k * draw.choice([1, 1, 2, 5])
    return Case([code(one.a) for _ in range(k)], [code(one.b) for _ in range(k)], 0)


def case_lines(name: str, unit: str | Path, cases: Sequence[Case]) -> list[str]:
    one = words(name)

    def text(codes: list[int], fmt: str) -> str:
        return "".join(f"{code:0{BITS[fmt] // 4}x}" for code in codes)

    return [
        f"instruction {name}",
        f"unit {unit}",
        f"cases {len(cases)}",
        *(
            f"{at} any {len(case.a)} {'-' if case.c is None else text([case.c], one.d)} "
            f"{text(case.a, one.a)} {text(case.b, one.b)}"
            for at, case in enumerate(cases)
        ),
    ]


def case_file(path: Path, *sections: list[str]) -> Path:
    lines = [
        "hwsim-capture-cases 1",
        "generator a test",
        "seed 1",
        *(line for part in sections for line in part),
        "end",
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def expected(name: str, unit: str | Path, case: Case) -> str:
    one = words(name)
    a, b = (np.array([codes], dtype=f"uint{BITS[one.a]}") for codes in (case.a, case.b))
    c = np.array([case.c or 0], dtype=f"uint{BITS[one.d]}")
    code = hwsim.dot(unit, a, b, c).view(f"uint{BITS[one.d]}")[0]
    return f"{int(code):0{BITS[one.d] // 4}x}"


class Section(NamedTuple):
    name: str
    unit: Path
    cases: list[Case]

    @property
    def lines(self) -> list[str]:
        return case_lines(self.name, self.unit, self.cases)

    @property
    def results(self) -> list[str]:
        rows = [f"{at} {expected(self.name, self.unit, case)}" for at, case in enumerate(self.cases)]
        return [f"instruction {self.name}", f"results {len(rows)}", *rows]


def after_head(path: Path) -> list[str]:
    return path.read_text().splitlines()[8:]


ONE = "3f800000"
GOOD = [
    "instruction mma.m16n8k4.f32.tf32.tf32",
    "unit any",
    "cases 2",
    f"0 tag 4 {ONE} {ONE * 4} {ONE * 4}",
    f"1 tag 8 {ONE} {ONE * 8} {ONE * 8}",
]
