"""What an export writes: names, text, the same bytes again, and what it leaves alone."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from c.export_library import C99, CPP17, Library
from cli.cli_run import Done, Run, fails
from odd_units import ODD

import hwsim
from hwsim.cli import main
from hwsim.compute.c import HEADER, UnitInC, export_c, identifier, render
from hwsim.compute.c.text import WIDTH, short
from hwsim.compute.c.unit import format_names
from hwsim.formats import parse
from hwsim.spec import NotImplementedYet, Unit, load_unit
from hwsim.spec.arguments import check_length

HOPPER, MX = "hopper-wgmma-e4m3-f32", "mxfp8-e4m3-f32"
NAMES = [
    "hopper_wgmma_e4m3_f32.h", "hopper_wgmma_e4m3_f32_dpi.c", "hopper_wgmma_e4m3_f32_dpi_pkg.sv",
    "example.c", "example.cpp", "example.sv", "README.md",
]  # fmt: skip


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.delenv("HWSIM_DEBUG", raising=False)

    def call(*arguments: str) -> Done:
        status = main(arguments)
        return Done(status, *capsys.readouterr())

    return call


def changed(name: str, **keys: dict[str, Any]) -> Unit:
    """A preset with other keys."""
    data = load_unit(name).model_dump(mode="json", exclude_unset=True)
    for part, values in keys.items():
        data[part] = {**data.get(part, {}), **values} if isinstance(values, dict) else values
    return Unit.model_validate(data)


def test_the_same_bytes_from_the_same_unit(run: Run, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        assert run("export-c", HOPPER, "-o", str(tmp_path / folder)).status == 0
    one, two = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("one", "two"))
    assert sorted(one) == sorted([".hwsim-files", *NAMES])
    assert one == two
    assert all(hwsim.__version__ in one[name].decode().partition("\n")[0] for name in NAMES)


def test_a_file_that_stays_as_it_is_keeps_its_time(run: Run, tmp_path: Path) -> None:
    run("export-c", HOPPER, "-o", str(tmp_path))
    for path in tmp_path.iterdir():
        os.utime(path, (1, 1))
    (tmp_path / "example.c").unlink()
    assert run("export-c", HOPPER, "-o", str(tmp_path)).status == 0
    assert {path.name for path in tmp_path.iterdir() if path.stat().st_mtime > 1} == {"example.c", ".hwsim-files"}


def test_files_that_are_not_its_own_stay(run: Run, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine\n")
    fails(run("export-c", HOPPER, "-o", str(tmp_path)), r"README\.md is there already, and hwsim did not write it")
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]
    assert (tmp_path / "README.md").read_text() == "mine\n"
    (tmp_path / "README.md").unlink()
    (tmp_path / "example.c").mkdir()
    fails(run("export-c", HOPPER, "-o", str(tmp_path)), r"example\.c is a folder, not a file")


def test_another_unit_goes_beside_the_first(run: Run, tmp_path: Path) -> None:
    for name in (HOPPER, MX):
        assert run("export-c", name, "-o", str(tmp_path)).status == 0
    assert {"hopper_wgmma_e4m3_f32.h", "mxfp8_e4m3_f32.h"} < {path.name for path in tmp_path.iterdir()}
    assert "mxfp8_e4m3_f32_dot" in (tmp_path / "example.c").read_text()


def test_bad_input(run: Run, tmp_path: Path) -> None:
    fails(
        run("export-c", "hopper-wgmma-e4m3", "-o", str(tmp_path)), "unknown unit .*: did you mean hopper-wgmma-e4m3-f32"
    )
    (tmp_path / "file").touch()
    fails(run("export-c", HOPPER, "-o", str(tmp_path / "file")), "--output must be a folder, not the file")
    fails(run("export-c", HOPPER, "-o", str(tmp_path / "file" / "under")), "file")
    fails(run("export-c", HOPPER, "-o", "-"), "--output must be a folder, not -, the output")
    fails(run("export-c", HOPPER), "Missing option '--output'")


@pytest.mark.quick
def test_what_c_has_no_integers_for_is_refused_by_name(run: Run, tmp_path: Path) -> None:
    # 11 exponent bits, twice: products from 2^-2148 on.
    far = {"name": "far", "kind": "float", "exponent_bits": 11, "fraction_bits": 20, "bias": 1023, "nan": "ieee",
           "infinities": True}  # fmt: skip
    large = changed("exact-e4m3-f32", operands={"a": far, "b": far}, scale="none")
    with pytest.raises(NotImplementedYet, match=r"unit exact-e4m3-f32: an integer of 4,\d\d\d bits .* not in C"):
        UnitInC(large, "")
    with pytest.raises(NotImplementedYet, match="max_exp_floor: 99999999 is in the model, but not in C"):
        UnitInC(changed(HOPPER, sum={"max_exp_floor": 99999999}), "")
    path = tmp_path / "unsigned.yaml"
    path.write_text("unit: x\noperands: {a: ue4m3, b: e4m3}\ninstruction: {k: 4, lanes: 4}\nsum: {method: exact}\n"
                    "result: {format: f32, rounding: rne}\n")  # fmt: skip
    fails(run("export-c", str(path), "-o", str(tmp_path / "out")), "unsigned factors is not implemented yet")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("hopper-wgmma-e4m3-f32", "hopper_wgmma_e4m3_f32"),
        ("8bit.a--b_", "unit_8bit_a_b"),
        ("int", "int"),
        ("u_x", "unit_u_x"),
        ("svdpi", "unit_svdpi"),
    ],
)
def test_identifiers(name: str, made: str) -> None:
    assert identifier(name) == made


def test_formats_of_one_identifier_are_numbered() -> None:
    keys = {"kind": "float", "exponent_bits": 3, "fraction_bits": 2, "bias": 3}
    formats = [parse({"name": name, **keys}) for name in ("a.b", "a-b", "a_b", "a.b")]
    assert list(format_names(formats).values()) == ["a_b", "a_b_2", "a_b_3"]


def test_text_in_comments_stays_there(tmp_path: Path) -> None:
    odd = {**ODD["nan-any"], "unit": "u_K-b", "summary": "*/ int x; /* u_LANES ??/ é \\", "source": ["a long\\ " * 30]}
    made = Unit.model_validate(odd)
    assert "u_LANES" in render(HEADER, UnitInC(made, "")).partition("*/")[0]
    for compiler, flags in (("gcc", C99), ("g++", CPP17)):
        Library(made, tmp_path, compiler, ("-O0", *flags))


def code_of(header: str) -> str:
    """A header without comments."""
    return re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)


@pytest.mark.parametrize(
    "name", [HOPPER, MX, "exact-e4m3-f32", "cdna3-mfma-e4m3fnuz-f32", "hfp8-forward-e4m3-dlfloat16"]
)
def test_a_header_needs_stdint_and_nothing_else(name: str) -> None:
    text = code_of(render(HEADER, UnitInC(load_unit(name), "")))
    assert re.findall(r"#include (.*)", text) == ["<stdint.h>"]
    assert not re.search(r"\b(double|float|malloc|free|memcpy|memset|printf|extern|size_t|long|__\w+)\b", text)
    functions = re.findall(r"^(\w+) .*\)\n\{|^(\w+) .*\) \{", text, re.MULTILINE)
    assert {one or other for one, other in functions} == {"static"}
    # Only what the unit has.
    assert ("u_(STEPS)" in text) == ("hfp8" in name)
    assert ("u_(carry)" in text) == ("exact" in name)
    assert ("u_(max_exp)" in text) == ("cdna3" in name or name in (HOPPER, MX))
    assert ("u_(add_in_window)" in text or "_add_in_window" in text) == ("cdna3" in name)


# The longest names, and every method.
@pytest.mark.parametrize(
    "name", [HOPPER, MX, "cdna3-mfma-e5m2fnuzxe4m3fnuz-f32", "hfp8-backward-e4m3xe5m2-dlfloat16",
             "intel-amx-e5m2xe4m3-f32-subnormals", "blackwell-mxf4nvf4-e2m1-f32", "deepseek-v3-e4m3-f32-scaled"]
)  # fmt: skip
def test_lines_stay_short_whatever_the_name(name: str) -> None:
    for file, text in export_c(load_unit(name), "0.0.0").items():
        if file != "README.md":
            assert [line for line in text.splitlines() if len(line) > WIDTH] == [], file


def test_long_lines_are_broken_after_commas_outside_of_parentheses() -> None:
    long, short_ = "x" * 60, "y" * 30
    assert short(f"    f({long}, g({short_}, {short_}), z);") == [
        f"    f({long},", f"      g({short_}, {short_}), z);"
    ]  # fmt: skip
    assert short(f"static int f(int {long}) {{ return {short_}({long}); }}") == [
        f"static int f(int {long})", "{", f"    return {short_}({long});", "}"
    ]  # fmt: skip
    assert short(f" *   f({long}, {short_}, {short_});") == [f" *   f({long}, {short_},", f" *       {short_});"]
    assert short("x" * 200) == ["x" * 200]


@pytest.mark.parametrize("name", [HOPPER, "rvbna-e4m3-f32-n8", MX, "exact-e4m3-f32", "blackwell-mma-e4m3-f32"])
def test_lengths_that_are_taken(name: str, tmp_path: Path) -> None:
    one = load_unit(name)
    library = Library(one, tmp_path)
    for k in [*range(70), 128, 4096]:
        try:
            check_length(one, k)
            taken = True
        except ValueError:
            taken = False
        assert library.takes(k) == taken, k
    assert library.takes(1 << 41) == (name != "exact-e4m3-f32" and not name.startswith("rvbna"))
