"""`hwsim converter` and `hwsim quantizer`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from cli.cli_run import Run, fails


def test_converters_are_written_and_named_after_their_formats(run: Run, tmp_path: Path) -> None:
    done = run("converter", "f32", "e4m3", "e2m1", "-o", f"{tmp_path}/")
    assert done.status == 0, done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == [".hwsim-files", "f32_to_e2m1.sv", "f32_to_e4m3.sv"]
    text = (tmp_path / "f32_to_e4m3.sv").read_text()
    assert re.search(r"^module f32_to_e4m3 \(", text, re.MULTILINE)
    assert "latency 2, a payload each cycle" in done.err
    piped = run("converter", "f32", "e4m3", "--cuts", "", "-o", "-")
    assert "// rounding: rne; overflow: saturate; missing: nan; cuts: round (latency 1)" in piped.out


@pytest.mark.slow
def test_quantisers_and_dequantisers_are_written(run: Run, tmp_path: Path) -> None:
    done = run("quantizer", "mxfp4-e2m1", "--lanes", "2", "--set", "select=rceil", "-o", f"{tmp_path}/")
    assert done.status == 0, done.err
    text = (tmp_path / "mxfp4_e2m1_from_f32.sv").read_text()
    assert "// select: rceil\n" in text
    ports = re.findall(r"^  (?:in|out)put +logic +(\S*) +((?:in|out)_\w+),?$", text, re.MULTILINE)
    assert {("[1:0][31:0]", "in_x"), ("[1:0][3:0]", "out_codes"), ("[7:0]", "out_scale")} <= set(ports), ports
    back = run("quantizer", "nvfp4", "--dequantize", "--source", "bf16", "-o", "-")
    for port in ("[15:0][3:0] in_codes", "[6:0] in_scale", "[31:0] in_tensor_scale"):
        assert port in " ".join(back.out.split())


@pytest.mark.simulator
def test_a_table_says_that_all_is_equal(run: Run, verilator: None, icarus: None, tmp_path: Path) -> None:
    folder = tmp_path / "report"
    done = run("converter", "e4m3", "e2m1", "--cosim", "--seed", "1", "--report", str(folder))
    assert done.status == 0, done.out + done.err
    assert re.search(r"^e4m3-to-e2m1 +every code +icarus +256 +0 +260 +[\d,]+ +ok$", done.out, re.MULTILINE)
    assert re.search(r"^all equal: [\d,]+ comparisons in \d+ s, seed 1$", done.out, re.MULTILINE)
    assert "again: hwsim converter e4m3 e2m1 --cosim --sim both --seed 1\n" in done.out
    assert json.loads((folder / "results.json").read_text())["summary"]["passed"] is True


@pytest.mark.slow
@pytest.mark.simulator
def test_a_quantisers_table_says_that_all_is_equal(run: Run, verilator: None) -> None:
    quantised = run("quantizer", "mxfp4-e2m1", "--lanes", "2", "--cosim", "--sim", "verilator", "--cases", "50")
    assert quantised.status == 0, quantised.out
    assert re.search(r"^mxfp4-e2m1-from-f32 +boundaries +verilator +50 +0", quantised.out, re.MULTILINE)


@pytest.mark.slow
def test_claims_are_decided(run: Run) -> None:
    done = run("converter", "e4m3", "e2m1", "--prove")
    assert done.status == 0, done.out + done.err
    assert re.search(r"^e4m3-to-e2m1: 6 of 6 claims proved, [\d.]+ s, \d+ MB$", done.out, re.MULTILINE)
    assert done.out.endswith("equal for every input, under any traffic\n")
    blocks = run("quantizer", "mxfp4-e2m1", "--lanes", "1", "--source", "f16", "--prove")
    assert "mxfp4-e2m1: 17 of 17 claims proved" in blocks.out
    back = run("quantizer", "mxfp4-e2m1", "--lanes", "2", "--dequantize", "--prove")
    assert "mxfp4-e2m1: 7 of 7 claims proved" in back.out


@pytest.mark.simulator
def test_a_mismatch_is_status_1(run: Run, verilator: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from hwsim.rtl import encode

    real = encode.last_place
    monkeypatch.setattr(encode, "last_place", lambda rounding, *others: real("rz", *others))
    done = run("converter", "e4m3", "e2m1", "--cosim", "--sim", "verilator", "--seed", "1")
    assert done.status == 1
    assert "MISMATCH e4m3-to-e2m1" in done.out
    assert "FAILED" in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["converter", "f32", "e4m3"], r"nothing to do: --output FILE writes Verilog, --cosim"),
        (["converter", "f32", "e4m4", "--cosim"], r"unknown format 'e4m4': did you mean e4m3"),
        (["converter", "f32", "e4m3", "--cuts", "align", "-o", "-"], r"cuts must be among decode, normalize, round"),
        (["converter", "f64", "e4m3", "-o", "-"], r"f64 has codes of 64 bits"),
        (["converter", "f32", "e4m3", "--overflow", "infinity", "-o", "-"], r"overflow must be one of"),
        (["converter", "f32", "e4m3", "-o", "no/such/x.v"], r"--output must be in a folder that exists"),
        (["quantizer", "mxfp9", "-o", "-"], r"unknown rule 'mxfp9': did you mean"),
        (["quantizer", "mxfp8-e4m3", "--set", "select", "-o", "-"], r"--set must be KEY=VALUE, not select"),
        (["quantizer", "mxfp8-e4m3", "--set", "flush=1", "-o", "-"], r"--set flush must be true or false, not 1"),
        (
            ["quantizer", "mxfp8-e4m3", "--set", "mode=ceil", "-o", "-"],
            r"unknown field of a rule 'mode': did you mean select",
        ),
        (["quantizer", "mxfp8-e4m3", "--set", "least_amax=x", "-o", "-"], r"--set least_amax must be a number, not x"),
        (["quantizer", "mxfp8-e4m3", "--set", "block=4", "-o", "-"], r"--set block is --lanes here"),
        (
            ["quantizer", "deepseek-v3-1x128", "-o", "-"],
            r"rule deepseek-v3-1x128: scale_format: f32 .* not in the RTL yet",
        ),
        (["quantizer", "tensor-e4m3", "-o", "-"], r"lanes must be given"),
    ],
)
def test_what_is_wrong_is_said(run: Run, arguments: list[str], message: str) -> None:
    fails(run(*arguments), message)
