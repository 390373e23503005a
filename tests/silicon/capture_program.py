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
OBJECTS = (*SHARED, "standin", "emulated", "layout")
PROGRAM = "program"
WARNINGS = ("-Wall", "-Wextra", "-Werror")

NARROW = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")
FP8_PAIRS = [f"{a}.{b}" for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")]
HOPPER = [
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
PAIRS = [(a, b) for a in NARROW for b in NARROW]
GEFORCE = [
    *(f"mma.m16n8k32.{d}.{a}.{b}" for a, b in PAIRS if f"{a}.{b}" not in FP8_PAIRS for d in ("f32", "f16")),
    *(f"mma.m16n8k32.f32.{a}.{b}.mxf8f6f4.1x.ue8m0" for a, b in PAIRS),
    "mma.m16n8k64.f32.e2m1.e2m1.mxf4.2x.ue8m0",
    "mma.m16n8k64.f32.e2m1.e2m1.mxf4nvf4.2x.ue8m0",
    "mma.m16n8k64.f32.e2m1.e2m1.mxf4nvf4.4x.ue4m3",
]
TCGEN05 = [
    "tcgen05.m128n16k16.f32.f16.f16",
    "tcgen05.m128n16k16.f16.f16.f16",
    "tcgen05.m128n16k16.f32.bf16.bf16",
    "tcgen05.m128n16k8.f32.tf32.tf32",
    *(f"tcgen05.m128n16k32.s32.{a}.{b}" for a in ("s8", "u8") for b in ("s8", "u8")),
    *(f"tcgen05.m128n16k32.{d}.{a}.{b}" for a, b in PAIRS for d in ("f32", "f16")),
    *(f"tcgen05.m128n16k32.f32.{a}.{b}.mxf8f6f4.1x.ue8m0" for a, b in PAIRS),
    "tcgen05.m128n16k64.f32.e2m1.e2m1.mxf4.2x.ue8m0",
    "tcgen05.m128n16k64.f32.e2m1.e2m1.mxf4nvf4.2x.ue8m0",
    "tcgen05.m128n16k64.f32.e2m1.e2m1.mxf4nvf4.4x.ue8m0",
    "tcgen05.m128n16k64.f32.e2m1.e2m1.mxf4nvf4.4x.ue4m3",
]
INSTRUCTIONS = [*HOPPER, *GEFORCE, *TCGEN05]
BITS = {"e4m3": 8, "e5m2": 8, "f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "ue8m0": 8, "ue4m3": 7}
BITS |= {"e3m2": 6, "e2m3": 6, "e2m1": 4, "s8": 8, "u8": 8, "s32": 32}
# The formats that PTX names otherwise.
OWN_NAMES = {"ue8m0": "e8m0", "s8": "int8", "u8": "uint8", "s32": "i32"}


class Words(NamedTuple):
    """An instruction's name, taken apart."""

    family: str
    k: int
    d: str
    a: str
    b: str
    kind: str = ""
    blocks: int = 0
    scale: str = ""


def words(name: str) -> Words:
    family, shape, d, a, b, *scaled = name.split(".")
    kind, blocks, scale = scaled or ("", "0x", "")
    return Words(family, int(shape.rpartition("k")[2]), d, a, b, kind, int(blocks[:-1]), scale)


class Case(NamedTuple):
    a: list[int]
    b: list[int]
    c: int | None
    scale_a: list[int] = []  # noqa: RUF012
    scale_b: list[int] = []  # noqa: RUF012


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
    """A unit for an instruction, in which every pair of products is a group: an exchange of two k shows.

    Under scales of FP4 two pairs are a group.
    """
    one = words(name)
    path = folder / f"{name}.yaml"
    a, b, d, scale = (OWN_NAMES.get(name, name) for name in (one.a, one.b, one.d, one.scale))
    length = one.k // max(1, one.blocks)
    scales = f"{{a: {{format: {scale}, block: [1, {length}]}}, b: {{format: {scale}, block: [{length}, 1]}}, at: "
    pairs = ", subgroup: {lanes: 2, method: exact, exponent: scales, cancelled: count}" if one.blocks > 1 else ""
    path.write_text(
        f"unit: {name}\n"
        f"operands: {{a: {a}, b: {b}, addend: {d}}}\n"
        f"scale: {scales + ('subgroup}' if pairs else 'product}') if one.blocks else 'none'}\n"
        f"instruction: {{k: {one.k}, lanes: {4 if pairs else 2}}}\n"
        + (
            "sum: {method: exact}\nresult: {format: i32, rounding: rz, overflow: wrap}\n"
            if d == "i32"
            else f"sum: {{method: aligned, fraction_bits: 13{pairs}}}\nresult: {{format: {d}, rounding: rz}}\n"
        )
    )
    return path


def random_case(name: str, draw: random.Random) -> Case:
    one = words(name)
    k = one.k * draw.choice([1, 1, 2, 5])
    a, b, c = (
        [draw.getrandbits(BITS[fmt]) & (0xFFFFE000 if fmt == "tf32" else ~0) for _ in range(count)]
        for fmt, count in ((one.a, k), (one.b, k), (one.d, 1))
    )
    scales = ([draw.getrandbits(BITS[one.scale]) for _ in range(k // one.k * one.blocks)] for _ in "ab")
    return Case(a, b, None if one.family != "mma" and draw.random() < 0.3 else c[0], *scales)


def moderate_case(name: str, draw: random.Random) -> Case:
    """Finite, of numbers of like size: every term leaves its mark on the result."""
    one = words(name)
    exponent = {"e4m3": (3, 7), "e5m2": (2, 15), "f16": (10, 15), "bf16": (7, 127), "tf32": (23, 127)}
    exponent |= {"e3m2": (2, 3), "e2m3": (3, 1), "e2m1": (1, 1)}

    def code(fmt: str) -> int:
        if fmt not in exponent:
            return draw.getrandbits(8)
        low, bias = exponent[fmt]
        fraction = draw.getrandbits(low) & (0x7FE000 if fmt == "tf32" else ~0)
        return draw.getrandbits(1) << (BITS[fmt] - 1) | max(0, bias + draw.randint(-2, 2)) << low | fraction

    k = one.k * draw.choice([1, 1, 2, 5])
    near = {"ue8m0": (0x7C, 0x82), "ue4m3": (0x28, 0x48), "": (0, 0)}[one.scale]
    scales = ([draw.randint(*near) for _ in range(k // one.k * one.blocks)] for _ in "ab")
    return Case([code(one.a) for _ in range(k)], [code(one.b) for _ in range(k)], 0, *scales)


def case_lines(name: str, unit: str | Path, cases: Sequence[Case]) -> list[str]:
    one = words(name)

    def text(codes: list[int], fmt: str) -> str:
        return "".join(f"{code:0{-(-BITS[fmt] // 4)}x}" for code in codes)

    def scales(case: Case) -> str:
        return f" {text(case.scale_a, one.scale)} {text(case.scale_b, one.scale)}" if one.blocks else ""

    return [
        f"instruction {name}",
        f"unit {unit}",
        f"cases {len(cases)}",
        *(
            f"{at} any {len(case.a)} {'-' if case.c is None else text([case.c], one.d)} "
            f"{text(case.a, one.a)} {text(case.b, one.b)}{scales(case)}"
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
    a, b = (np.array([codes], dtype=f"uint{max(8, BITS[one.a])}") for codes in (case.a, case.b))
    c = np.array([case.c or 0], dtype=f"uint{BITS[one.d]}")
    scales = [np.array([codes], dtype=np.uint8) for codes in (case.scale_a, case.scale_b) if one.blocks]
    code = hwsim.dot(unit, a, b, c, *scales).view(f"uint{BITS[one.d]}")[0]
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
