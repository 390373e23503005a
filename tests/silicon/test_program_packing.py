"""The capture program: operands stand in registers and shared memory where the PTX ISA says."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from built_presets import others_slow
from silicon.capture_program import (
    BITS,
    INSTRUCTIONS,
    SOURCE,
    WARNINGS,
    Build,
    Section,
    after_head,
    capture,
    case_file,
    words,
)

DUMP = r"""
#include <cstdio>
#include "fragments.hpp"
#include "instructions.hpp"
using namespace capture;
int main() {
    for (const Instruction& one : INSTRUCTIONS) {
        const char* name = one.name.data();
        if (one.family == Family::wgmma) {
            std::printf("%s descriptor %llx\n", name, static_cast<unsigned long long>(descriptor(0x12340)));
            for (int row = 0; row < 64; ++row)
                for (int word = 0; word < ROW_WORDS; ++word)
                    std::printf("%s core %d %d %d\n", name, row, word, core_word(row, word));
            continue;
        }
        for (int lane = 0; lane < 32; ++lane) {
            for (int place = 0; place < one.words() / 2; ++place)
                std::printf("%s a %d %d %d\n", name, lane, place, a_word(lane, place));
            for (int place = 0; place < one.words() / 4; ++place)
                std::printf("%s b %d %d %d\n", name, lane, place, b_word(lane, place));
        }
    }
}
"""


@pytest.fixture(scope="module")
def packing(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], list[list[int]]]:
    """By instruction and side: rows of what the packing functions take and give."""
    folder = tmp_path_factory.mktemp("packing")
    (folder / "dump.cpp").write_text(DUMP)
    command = [compiler, "-std=c++17", *WARNINGS, f"-I{SOURCE}", "-o", str(folder / "dump"), str(folder / "dump.cpp")]
    subprocess.run(command, check=True)
    text = subprocess.run([folder / "dump"], check=True, capture_output=True, text=True).stdout
    found: dict[tuple[str, str], list[list[int]]] = {}
    for line in text.splitlines():
        name, side, *numbers = line.split()
        found.setdefault((name, side), []).append(
            [int(number, 16 if side == "descriptor" else 10) for number in numbers]
        )
    return found


def places(k: int, bits: int, side: str, lane: int) -> list[tuple[int, int]]:
    """(row or column, k) of the elements a0, a1, ... or b0, b1, ... of a lane.

    PTX ISA 9.0, "Matrix Fragments for mma.m16n8k4", "... mma.m16n8k8", "... mma.m16n8k16 with floating point type" and
    "... mma.m16n8k32": the formulas for row and col.
    """
    group, thread = lane >> 2, lane % 4
    if side == "b":
        columns = {
            (4, 32): [thread],
            (8, 32): [thread, thread + 4],
            (8, 16): [thread * 2 + (i & 1) for i in range(2)],
            (16, 16): [thread * 2 + (i & 1) + (8 if i >= 2 else 0) for i in range(4)],
            (32, 8): [thread * 4 + (i & 3) + (16 if i >= 4 else 0) for i in range(8)],
        }
        return [(group, at) for at in columns[k, bits]]
    rows = {
        (4, 32): [(group, thread), (group + 8, thread)],
        (8, 32): [(group, thread), (group + 8, thread), (group, thread + 4), (group + 8, thread + 4)],
        (8, 16): [(group if i < 2 else group + 8, thread * 2 + (i & 1)) for i in range(4)],
        (16, 16): [
            (group if i in (0, 1, 4, 5) else group + 8, thread * 2 + (i & 1) + (8 if i >= 4 else 0)) for i in range(8)
        ],
        (32, 8): [
            (group if i < 4 or 8 <= i < 12 else group + 8, thread * 4 + (i & 3) + (16 if i >= 8 else 0))
            for i in range(16)
        ],
    }
    return rows[k, bits]


@pytest.mark.parametrize("side", ["a", "b"])
@pytest.mark.parametrize("name", [name for name in INSTRUCTIONS if name.startswith("mma.")])
def test_registers_hold_every_k_where_the_ptx_isa_says(
    name: str, side: str, packing: dict[tuple[str, str], list[list[int]]]
) -> None:
    one = words(name)
    bits = BITS[one.a]
    held = {}
    for lane, place, word in packing[name, side]:
        held[lane, place] = [word * 32 // bits + at for at in range(32 // bits)]
    seen: dict[int, list[int]] = {}
    for lane in range(32):
        wanted = places(one.k, bits, side, lane)
        registers = len(wanted) * bits // 32
        got = [k for place in range(registers) for k in held.pop((lane, place))]
        assert got == [k for _, k in wanted]
        for line, k in wanted:
            seen.setdefault(line, []).append(k)
    assert not held
    # Over the lanes, every row of A and every column of B has every k once.
    assert {line: sorted(ks) for line, ks in seen.items()} == {
        line: list(range(one.k)) for line in range(16 if side == "a" else 8)
    }


@pytest.mark.parametrize("name", [name for name in INSTRUCTIONS if name.startswith("wgmma.")])
def test_shared_memory_holds_every_k_where_the_descriptor_says(
    name: str, packing: dict[tuple[str, str], list[list[int]]]
) -> None:
    # PTX ISA 9.0, "Matrix Descriptor Format": 14 bits each from bits 0, 16 and 32, in units of 16 bytes.
    ((descriptor,),) = packing[name, "descriptor"]
    start, leading, stride = ((descriptor >> low & 0x3FFF) * 16 for low in (0, 16, 32))
    assert (start, descriptor >> 46, descriptor >> 14 & 3, descriptor >> 30 & 3) == (0x12340, 0, 0, 0)
    # "Strides", K-major without swizzling: core matrices of 8 rows of 16 bytes; the leading offset leads to the next
    # one along k, the stride offset to the next 8 rows.
    assert packing[name, "core"] == [
        [row, word, (row // 8 * stride + word // 4 * leading + row % 8 * 16 + word % 4 * 4) // 4]
        for row in range(64)
        for word in range(8)
    ]
    # No two share a place, and A's 64 rows fill 2 KiB.
    assert sorted(at for _, _, at in packing[name, "core"]) == list(range(512))


MUTANTS = {
    "a's registers in another order": (
        "fragments.hpp",
        "return place / 2 * 4 + lane % 4;",
        "return place % 2 * 4 + lane % 4;",
        "rows or columns differ",
    ),
    "lanes in another order": (
        "fragments.hpp",
        "return place * 4 + lane % 4;",
        "return place * 4 + 3 - lane % 4;",
        "operands are out of place",
    ),
    "halves of k exchanged for a and b alike": (
        "fragments.hpp",
        "word / 4 * (LEADING_BYTES / 4)",
        "(1 - word / 4) * (LEADING_BYTES / 4)",
        "",
    ),
    "leading and stride offsets exchanged": (
        "fragments.hpp",
        "descriptor_field(LEADING_BYTES) << 16 | descriptor_field(STRIDE_BYTES) << 32",
        "descriptor_field(STRIDE_BYTES) << 16 | descriptor_field(LEADING_BYTES) << 32",
        "an element is beyond what is filled",
    ),
    "codes in a word from the top": (
        "cases.cpp",
        "|= code << bit;",
        "|= code << (32 - bits - static_cast<int>(bit));",
        "",
    ),
    "one step of a chain for another": (
        "standin.cpp",
        "&words.at(at)",
        "&words.at(one.first)",
        "",
    ),
}


@pytest.mark.parametrize("mutant", others_slow(MUTANTS, [*MUTANTS][::2]))
def test_operands_that_are_packed_wrongly_show(
    mutant: str, build: Build, sections: dict[str, Section], tmp_path: Path
) -> None:
    name, old, new, message = MUTANTS[mutant]
    folder = tmp_path / "capture"
    shutil.copytree(SOURCE, folder)
    text = (folder / name).read_text()
    assert text.count(old) == 1
    (folder / name).write_text(text.replace(old, new))
    changed = "cases" if name == "cases.cpp" else "standin"
    objects = {**build.objects, changed: tmp_path / "changed.o"}
    compile_one = [build.compiler, "-std=c++17", "-c", str(folder / f"{changed}.cpp"), "-o", str(objects[changed])]
    subprocess.run(compile_one, check=True)
    subprocess.run([build.compiler, "-o", tmp_path / "program", *objects.values()], check=True)
    chosen = [sections["mma.m16n8k32.f32.e4m3.e4m3"], sections["wgmma.m64n8k32.f32.e4m3.e4m3"]]
    cases = case_file(tmp_path / "cases", *(one.lines for one in chosen))
    done = capture(tmp_path / "program", cases, tmp_path / "results")
    if message:
        assert done.returncode != 0
        assert message in done.stderr
    else:
        assert done.returncode == 0, done.stderr
        assert after_head(tmp_path / "results") != [*(line for one in chosen for line in one.results), "end"]
