"""What users' files make of the header: parts of it used, in several files, by either compiler, as C and as C++."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from c.export_library import C99, CPP17, STRICT, syntax

from hwsim.compute.c import HEADER, UnitInC, render
from hwsim.spec import load_unit

UNITS = ("hopper-wgmma-e4m3-f32", "exact-e4m3-f32")
COMPILED_AS = {
    ("gcc", False): ("gcc", *C99), ("gcc", True): ("g++", *CPP17),
    ("clang", False): ("clang", *C99), ("clang", True): ("clang++", *CPP17),
}  # fmt: skip
STANDARDS = ("c99", "c11", "c17", "gnu99", "c++11", "c++14", "c++17", "c++20")

# Two files, each of which uses a part of the header; 1 x 1 is 1, whichever file asks.
CODE = """#include "{name}.h"
uint32_t one(void);
uint32_t one(void)
{{
    return (uint32_t){name}_e4m3_from_f64(0x3FF0000000000000u, {name}_RNE, {name}_SATURATE, {name}_MISSING_ERROR);
}}
"""
DOT = """#include "{name}.h"
uint32_t one(void);
int main(void)
{{
    const uint8_t a[32] = {{(uint8_t)one()}}{scale};
    return {name}_dot(a, a, 0{scales}, 32) != 0x3F800000u;
}}
"""


def header(name: str, folder: Path) -> Path:
    plan = UnitInC(load_unit(name), "0.0.0")
    path = folder / f"{plan.prefix}.h"
    path.write_text(render(HEADER, plan))
    return path


def run(folder: Path, *command: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, ""), " ".join(command)


@pytest.fixture(params=["gcc", "clang"])
def compiler(request: pytest.FixtureRequest) -> str:
    if request.param == "clang":
        request.getfixturevalue("clang")
    return str(request.param)


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize("cpp", [False, True])
def test_two_files_that_use_parts_of_it(name: str, compiler: str, cpp: bool, tmp_path: Path) -> None:
    prefix, scaled = header(name, tmp_path).stem, load_unit(name).scale is not None
    (tmp_path / "code.c").write_text(CODE.format(name=prefix))
    scale, scales = (", scale[1] = {127}", ", scale, scale") if scaled else ("", "")
    (tmp_path / "dot.c").write_text(DOT.format(name=prefix, scale=scale, scales=scales))
    run(tmp_path, *COMPILED_AS[compiler, cpp], "-o", "both", "code.c", "dot.c")
    run(tmp_path, "./both")


@pytest.mark.parametrize("standard", STANDARDS)
def test_every_standard_takes_it(standard: str, compiler: str, tmp_path: Path) -> None:
    cpp = ("-x", "c++") if "++" in standard else ()
    for name in UNITS:
        syntax(header(name, tmp_path), compiler, f"-std={standard}", *STRICT, *cpp)


def test_several_headers_in_one_file(tmp_path: Path) -> None:
    paths = [header(name, tmp_path) for name in (*UNITS, "mxfp8-e4m3-f32", "deepseek-v3-e4m3-f32-scaled")]
    included = "".join(f'#include "{path.name}"\n' for path in [*paths, *paths])
    (tmp_path / "all.c").write_text(f"{included}#ifdef u_\n#error u_ is left\n#endif\n")
    for command in (["gcc", *C99], ["g++", *CPP17]):
        run(tmp_path, *command, "-fsyntax-only", "all.c")
