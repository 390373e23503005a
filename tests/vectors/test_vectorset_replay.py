"""The set's own testbench on both simulators: right designs pass, broken ones do not."""

import pytest
from built_presets import others_slow
from vectors.vectorset_units import changed, made, unit_of

from hwsim.cosim.vectors.check import Answers, check, stored
from hwsim.rtl import verilog
from hwsim.spec import Unit, pipeline
from vectors import vectorset_bench as bench

SMALL = ("tiny-promoted", "small-scaled")

TINY_MUTANTS = {
    "floor": ("sum", {"lost": "floor"}),
    "one bit less": ("sum", {"fraction_bits": 2}),
    "to nearest even": ("sum", {"lost": "rne"}),
}


def design_of(unit, into, name=None):
    """The RTL of a unit, as a file. name: whose place it takes."""
    renamed = Unit.model_validate({**unit.model_dump(mode="json", exclude_unset=True), "unit": name or unit.name})
    path = into / "design.v"
    path.write_text(verilog(renamed, pipeline(renamed)))
    return [path]


@pytest.fixture(scope="module")
def icarus_bench(icarus, tmp_path_factory):
    into = tmp_path_factory.mktemp("icarus")
    folder = made(into / "set", "tiny", suite="smoke", cases=400).folder
    return folder, bench.icarus(folder, design_of(unit_of("tiny"), into), into)


@pytest.mark.simulator
def test_our_rtl_passes_on_icarus(icarus_bench, tmp_path):
    folder, command = icarus_bench
    for stall in (0, 40, 200):
        done = bench.replay(command, folder, f"+stall={stall}", f"+results={tmp_path}/results.txt")
        assert done.returncode == 0, done.stdout
        assert "PASS: 400 results equal" in done.stdout
        found = check(stored(folder), (tmp_path / "results.txt").read_text().splitlines(), "results.txt")
        assert found.row.passed


@pytest.mark.simulator
def test_either_zero_passes_where_its_sign_is_not_promised(icarus, tmp_path):
    """A design whose sums of zero have IEEE 754's signs, against results that are +0."""
    unit = unit_of("tiny-any-zero")
    folder = made(tmp_path / "set", "tiny-any-zero", suite="smoke", cases=200).folder
    design = design_of(changed(unit, "sum", zero="ieee"), tmp_path, unit.name)
    done = bench.replay(bench.icarus(folder, design, tmp_path), folder, f"+results={tmp_path}/results.txt")
    assert (done.returncode, "PASS: 200 results equal" in done.stdout) == (0, True), done.stdout
    results = (tmp_path / "results.txt").read_text().split()
    lines = (folder / "expected.hex").read_text().split()
    assert any(got != code for got, code in zip(results, lines, strict=True)), "the design has zeros of other signs"
    zero = next(at for at, code in enumerate(lines) if code == "0000")
    lines[zero] = "0001"
    (folder / "expected.hex").write_text("\n".join(lines) + "\n")
    assert bench.replay(bench.icarus(folder, design, tmp_path), folder).returncode != 0


@pytest.mark.simulator
@pytest.mark.parametrize(
    "name", others_slow([*SMALL, "hopper-mma-f64-f64", "deepseek-v3-e4m3-f32", "mxfp4-e2m1-f32"], SMALL[:1])
)
def test_sums_of_several_lines_pass_on_icarus(icarus, name, tmp_path):
    folder = made(tmp_path / "set", name, suite="gemm", cases=20).folder
    command = bench.icarus(folder, design_of(unit_of(name), tmp_path), tmp_path)
    done = bench.replay(command, folder, "+stall=30")
    assert (done.returncode, "PASS: 20 results equal" in done.stdout) == (0, True), done.stdout


@pytest.mark.simulator
def test_our_rtl_passes_on_verilator_and_a_broken_one_does_not(verilator, tmp_path):
    """One build: the broken design is the right one, held against another unit's results."""
    folder = made(tmp_path / "set", "tiny", suite="smoke", cases=400).folder
    command = bench.verilator(folder, design_of(unit_of("tiny"), tmp_path), tmp_path)
    for stall in (0, 60):
        done = bench.replay(command, folder, f"+stall={stall}")
        assert (done.returncode, "PASS: 400 results equal" in done.stdout) == (0, True), done.stdout
    lines = (folder / "expected.hex").read_text().split()
    lines[399] = f"{int(lines[399], 16) ^ 0x8000:04x}"
    (folder / "expected.hex").write_text("\n".join(lines) + "\n")
    done = bench.replay(command, folder)
    assert done.returncode != 0
    assert "FAIL: 1 of 400 results wrong" in done.stdout
    assert f"case 399: expected {lines[399]}" in done.stdout


@pytest.mark.simulator
@pytest.mark.parametrize("mutant", others_slow(TINY_MUTANTS, ["one bit less"]))
def test_broken_designs_fail_on_icarus(icarus, icarus_bench, mutant, tmp_path):
    folder, _ = icarus_bench
    part, values = TINY_MUTANTS[mutant]
    broken = changed(unit_of("tiny"), part, **values)
    command = bench.icarus(folder, design_of(broken, tmp_path, "tiny-e2m1-f16"), tmp_path)
    done = bench.replay(command, folder, f"+results={tmp_path}/results.txt")
    assert done.returncode != 0
    assert "FAIL" in done.stdout
    wrong = int(done.stdout.split("FAIL: ")[1].split()[0])
    known = stored(folder)
    found = check(known, (tmp_path / "results.txt").read_text().splitlines(), "results.txt")
    assert found.wrong == wrong > 0
    assert len(list(Answers(known, "").read((tmp_path / "results.txt").read_text().splitlines()))) == 400


SILENT = """module tiny_e2m1_f16 (
  input clk, input rst, input in_valid, output in_ready, input [63:0] in_a, in_b, in_c, input in_first, in_last,
  input [1:0] in_context, output out_valid, input out_ready, output [15:0] out_result, output [1:0] out_context,
  output misuse
);
  assign in_ready = 1'b1;
  assign out_valid = {valid};
  assign out_result = {payload};
  assign misuse = 1'b0;
endmodule
"""


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("valid", "payload", "said"),
    [
        ("1'b0", "0", "nothing moved"),
        ("1'bx", "0", "FAIL"),
        ("1'b1", "0", "FAIL"),
        ("1'b1", "16'bx", "case 0: expected"),
    ],
)
def test_dead_and_unknown_designs_fail(icarus, icarus_bench, valid, payload, said, tmp_path):
    folder, _ = icarus_bench
    design = tmp_path / "dead.v"
    design.write_text(SILENT.format(valid=valid, payload=payload))
    command = bench.icarus(folder, [design], tmp_path)
    done = bench.replay(command, folder)
    assert done.returncode != 0
    assert said in done.stdout and "PASS" not in done.stdout


@pytest.mark.simulator
def test_cut_files_fail(icarus_bench, tmp_path):
    folder, command = icarus_bench
    for name in ("operands.hex", "expected.hex"):
        for each in ("operands.hex", "expected.hex"):
            lines = (folder / each).read_text().splitlines()
            (tmp_path / each).write_text("\n".join(lines[:300] if each == name else lines) + "\n")
        done = bench.replay(command, tmp_path)
        assert done.returncode != 0
        assert f"{name} ends after 300 of" in done.stdout
