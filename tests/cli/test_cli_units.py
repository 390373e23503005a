"""explain and rtl: what they print, write and refuse."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from built_presets import one_of_each_family
from cli.cli_run import Run, fails

import hwsim
from hwsim.base.files import written
from hwsim.spec import as_yaml, load_unit, presets
from hwsim.spec.standard import SCHEMA_FILE, canonical, fingerprint

HOPPER = "hopper-wgmma-e4m3-f32"


def test_explain_shows_every_stage(run: Run) -> None:
    done = run("explain", HOPPER, "--a", "0x3c,1", "--b", "0xb9,0x38", "--c-value", "0.25")
    assert done.status == 0
    assert done.err == ""
    assert done.out == str(hwsim.explain(HOPPER, [0x3C, 1], [0xB9, 0x38], 0x3E800000)) + "\n"
    values = run("explain", HOPPER, "--a-values", "1.5,0x1p-9", "--b-values=-9/8,1", "--c", "0x3e800000")
    assert values.out == done.out


def test_units_prints_the_schema_and_the_canonical_form_with_its_hash(run: Run) -> None:
    unit = load_unit(HOPPER)
    assert run("units", HOPPER, "--canonical").out == f"{canonical(unit)}\n"
    assert run("units", HOPPER, "--hash").out == f"{fingerprint(unit)}\n"
    assert run("units", "--schema").out == SCHEMA_FILE.read_text("utf-8")
    for option in ("--canonical", "--hash"):
        fails(run("units", option), f"{option} goes with the name of a unit")


def test_explain_makes_an_example(run: Run) -> None:
    first, again = run("explain", HOPPER), run("explain", HOPPER, "--seed", "0")
    assert first == again
    assert "note: a random example, --seed 0" in first.err
    assert run("explain", HOPPER, "--seed", "1").out != first.out
    for name in one_of_each_family(presets()):
        done = run("explain", name, "--seed", "5")
        assert done.status == 0
        assert "nan" not in done.out
        method = load_unit(name).sum.method
        assert {"aligned": "max_exp", "even-odd": "max_exp", "exact": "exact sum"}.get(method, "addition") in done.out


def test_explain_shows_promotions_and_one_group(run: Run) -> None:
    whole = run("explain", "deepseek-v3-e4m3-f32", "--products", "300")
    assert whole.out.count("promotion: register") == 3
    one = run("explain", "deepseek-v3-e4m3-f32", "--products", "300", "--group", "3")
    assert [line for line in one.out.splitlines() if line.startswith("group")] == ["group 3: products 96 to 127"]
    assert one.out.splitlines()[-1] == whole.out.splitlines()[-1]
    fails(run("explain", HOPPER, "--a", "1", "--b", "1", "--group", "1"), r"--group must be less than .* \(1\), not 1")


def test_explain_shows_a_late_addend(run: Run) -> None:
    name = "hopper-mma-e4m3-f16"
    whole = run("explain", name, "--products", "40", "--seed", "3")
    assert [line for line in whole.out.splitlines() if line.startswith("group")] == [
        "group 0: products 0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21, 24, 25, 28, 29",
        "group 1: products 2, 3, 6, 7, 10, 11, 14, 15, 18, 19, 22, 23, 26, 27, 30, 31",
        "group 2: products 32, 33, 36, 37",
        "group 3: products 34, 35, 38, 39",
    ]
    assert whole.out.count("late: addend") == 2
    assert run("explain", name, "--products", "40", "--seed", "3", "--group", "2").out.count("late: addend") == 0
    one = run("explain", name, "--products", "40", "--seed", "3", "--group", "3").out
    assert one.count("late: addend") == 1
    assert one.splitlines()[-1] == whole.out.splitlines()[-1]
    # Without a number of products: an instruction of a unit that takes whole ones, else a group.
    assert run("explain", name).out.count("\ngroup") == 2
    assert run("explain", "ada-mma-e4m3-f32").out.count("\ngroup") == 1


def test_explain_takes_scales(run: Run) -> None:
    ones = ",".join(["0x38"] * 32)
    done = run("explain", "mxfp8-e4m3-f32", "--a", ones, "--b", ones, "--scale-a", "128", "--scale-b", "127")
    assert done.out.splitlines()[-1] == "= 0x42800000 = 64 (f32)"
    done = run("explain", "mxfp8-e4m3-f32", "--a", ones, "--b", ones, "--scale-a", "255", "--scale-b", "127")
    assert done.out.splitlines()[-1] == "= 0x7fffffff = nan (f32)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([HOPPER, "--a", "1"], r"--b or --b-values is missing"),
        ([HOPPER, "--c", "1"], r"--a or --a-values is missing"),
        ([HOPPER, "--a", "1", "--a-values", "1", "--b", "1"], r"--a does not go with --a-values"),
        ([HOPPER, "--a", "1", "--b", "1", "--c", "0", "--c-value", "0"], r"--c does not go with --c-value"),
        ([HOPPER, "--a", "1", "--b", "1", "--seed", "1"], r"--seed and --products choose a random example"),
        ([HOPPER, "--a", "1,2", "--b", "1"], r"b must have shape \(2,\), as a, not \(1,\)"),
        ([HOPPER, "--a", "1,,2", "--b", "1"], r"--a must be an integer such as .*, not ''"),
        ([HOPPER, "--a", "300", "--b", "1"], r"a\[0\] is 300"),
        ([HOPPER, "--a-values", "1,x", "--b", "1"], r"--a-values must be a number .*, not 'x'"),
        ([HOPPER, "--a", "1", "--b", "1", "--scale-a", "1"], r"scale_a must be None"),
        (["mxfp8-e4m3-f32", "--a", "1", "--b", "1"], r"K, .* must be a multiple of scale\.a\.block"),
        (["mxfp8-e4m3-f32", "--products", "40"], r"K, .* must be a multiple of scale\.a\.block"),
    ],
)
def test_explain_refuses(run: Run, arguments: list[str], message: str) -> None:
    fails(run("explain", *arguments), message)


SMALL = as_yaml(load_unit(HOPPER)).replace("k: 32, lanes: 32", "k: 2, lanes: 2").replace(HOPPER, "small-unit", 1)


@pytest.fixture
def small(tmp_path: Path) -> str:
    """A unit of two lanes, whose Verilog is quickly made."""
    file = tmp_path / "small.yaml"
    file.write_text(SMALL)
    return str(file)


def test_rtl_writes_a_file_named_after_its_top(run: Run, tmp_path: Path, small: str) -> None:
    folder = tmp_path / "out"
    done = run("rtl", small, "-o", f"{folder}/")
    assert done.status == 0
    assert sorted(path.name for path in folder.iterdir()) == [".hwsim-files", "small_unit.sv"]
    text = (folder / "small_unit.sv").read_text()
    assert re.search(r"^module small_unit \(", text, re.MULTILINE)
    assert text.endswith("endmodule\n")
    piped = run("rtl", small, "-o", "-")
    assert (piped.status, piped.out) == (0, text)
    assert run("rtl", small, "-o", str(tmp_path / "x.v"), "--cuts", "sum, multiply", "--contexts", "5").status == 0
    assert "// options: --cuts multiply,sum,round --contexts 5\n// latency: 3\n" in (tmp_path / "x.v").read_text()
    assert run("rtl", small, "--modules", "-o", "-").out == text  # as scripts of before ask for it


def test_rtl_replaces_a_file_whole_or_not_at_all(
    run: Run, tmp_path: Path, small: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "small_unit.sv"
    with written(target) as file:
        file.write(b"old")
    target.chmod(0o640)

    def full(self: Path, other: Path) -> None:
        raise OSError(28, "No space left on device", str(self))

    monkeypatch.setattr(Path, "replace", full)
    fails(run("rtl", small, "-o", str(target)), "No space left on device")
    monkeypatch.undo()
    assert target.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == [".hwsim-files", "small.yaml", "small_unit.sv"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "no/such/folder/x.v"], r"--output must be in a folder that exists, not no/such/folder/x\.v"),
        (["-o", "-", "--cuts", "multiply,nowhere"], r"cuts must be steps of small-unit \(decode, .*\), not nowhere"),
        (["-o", "-", "--contexts", "0"], r"contexts must be 1 to 256, not 0"),
        (["-o", "-", "--contexts", "257"], r"contexts must be 1 to 256, not 257"),
    ],
)
def test_rtl_refuses(run: Run, small: str, arguments: list[str], message: str) -> None:
    fails(run("rtl", small, *arguments), message)


def test_a_missing_tool_is_status_3(run: Run, small: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "amaranth" else real(name))
    fails(run("rtl", small, "-o", "-"), r"amaranth is missing: .* -m pip install amaranth", status=3)


def test_commands_refuse_sparse_units_by_name(run: Run, tmp_path: Path) -> None:
    name = "hopper-wgmma-sp-e4m3-f32"
    words = f"unit {name} is sparse, and a dense one is wanted: take hopper-wgmma-e4m3-f32, its dense one, with the"
    made = ["-o", str(tmp_path / "made")]
    for command in (["export-sv", name, *made], ["capture", "cases", name, *made], ["study", "--unit", name, *made]):
        fails(run(*command), words)
    fails(run("diff", name, "hopper-wgmma-e4m3-f32"), f"{name} is sparse and .* is not: they take no input in common")
    assert list(tmp_path.iterdir()) == []
    shown = run("units", name).out
    assert "dense: hopper-wgmma-e4m3-f32\nsparsity: {keep: 2, of: 4}\n" in shown
    assert "# Of every 4 neighbours along K, a keeps 2" in shown
    assert "hwsim vectors, hwsim explain, hwsim diff, hwsim qualify and hwsim synth take it; what else" in shown


HALF = "unit: half\ndense: hopper-wgmma-e4m3-f32\nsparsity: {keep: 2, of: 4}\n"


def test_commands_take_sparse_units(run: Run, tmp_path: Path) -> None:
    name, file = "hopper-wgmma-sp-e4m3-f32", tmp_path / "half.yaml"
    file.write_text(HALF)
    assert run("units", name, "--hash").out == run("units", str(file), "--hash").out
    assert '"sparsity":{"keep":2,"of":4,"run":1}' in run("units", name, "--canonical").out
    file.write_text(HALF.replace("of: 4", "of: 8"))
    assert run("units", name, "--hash").out != run("units", str(file), "--hash").out
    text = re.sub(" +", " ", run("rtl", str(file), "-o", "-").out)
    for port in ("[31:0][7:0] in_a,", "[127:0][7:0] in_b,", "[31:0][2:0] in_metadata,"):
        assert f"input logic {port}" in text
    a, b, metadata = (np.full(shape, code, np.uint8) for shape, code in (((1, 4), 0x38), ((16, 2), 0x7F), ((1, 4), 1)))
    metadata[0, 1::2], b[[1, 3, 9, 11]] = 3, 0x38
    for array_name, array in (("a", a), ("b", b), ("m", metadata)):
        np.save(tmp_path / f"{array_name}.npy", array)
    given = [str(tmp_path / f"{array_name}.npy") for array_name in "abmd"]
    run("gemm", str(file), *given[:2], "--metadata", given[2], "-o", given[3])
    assert np.load(given[3]).tolist() == [[4.0, 4.0]]
    fails(run("gemm", str(file), *given[:2], "-o", given[3]), "--metadata is missing: half is sparse")
    fails(
        run("gemm", str(file), *given[:2], "--metadata", given[2], "--alpha", "1", "-o", given[3]),
        "--alpha does not go",
    )
    fails(run("gemm", "hopper-wgmma-e4m3-f32", *given[:2], "--metadata", given[2], "-o", given[3]), "takes no metadata")
    run("export-c", str(file), "-o", str(tmp_path / "golden"))
    assert "half_sparse_dot(" in (tmp_path / "golden" / "half.h").read_text()


def test_a_selection_is_explained(run: Run) -> None:
    operands = ["--a-values", "3,1", "--b-values", "0,1,2,3"]
    name = "hopper-wgmma-sp-e4m3-f32"
    shown = run("explain", name, *operands, "--metadata", "1,3").out
    assert "0-3       00  [38]  40  [44]\n" in shown and "result 0x40c00000 = 6 (e8m13)" in shown
    assert json.loads(run("explain", name, *operands, "--metadata", "1,3", "--json").out)["places"] == [1, 3]
    assert "[" in run("explain", name, "--seed", "3").out
    fails(run("explain", name, *operands), "--metadata is missing")
    fails(run("explain", "hopper-wgmma-e4m3-f32", "--a", "1", "--b", "1", "--metadata", "1"), "goes with a sparse unit")
    fails(run("explain", name, *operands, "--metadata", "3,1"), "must ascend")
    fails(run("explain", name, "--a", "1,2,3", "--b", "1,2,3,4", "--metadata", "0,1,2"), "K a multiple of the 2")
