"""`hwsim dut-init`: what it guesses of the designs of the tests, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from cosim.dut_files import DESIGNS

from hwsim.cli import main
from hwsim.cosim.dutdesign import dut_design
from hwsim.cosim.dutfile import load_dut

EXPECTED = {
    "latency": (["dot4_latency.v", "dot4_core.v"], {"protocol": {"kind": "latency", "cycles": 1}}),
    "stream": (["dot4_stream.v", "dot4_core.v"], {"reset": {"port": "rst_ni", "active": "low"}}),
    "faulty": (["faulty_stream.v"], {"reset": {"port": "rst", "active": "high"}}),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_what_is_guessed_is_what_was_written_by_hand(name: str, tmp_path: Path) -> None:
    files, also = EXPECTED[name]
    unit = DESIGNS / yaml.safe_load((DESIGNS / f"{name}.yaml").read_text())["unit"]
    made = tmp_path / "first.yaml"
    assert main(["dut-init", *(str(DESIGNS / file) for file in files), "--unit", str(unit), "-o", str(made)]) == 0
    guessed, written = load_dut(made), load_dut(DESIGNS / f"{name}.yaml")
    assert guessed.unit == written.unit
    assert guessed.sources == written.sources
    # The bits of every field are the same, whatever the words: `a{}_i`, or a list of four ports.
    assert dut_design(guessed).wiring == dut_design(written).wiring
    assert guessed.file.clock == written.file.clock
    data = yaml.safe_load(made.read_text())
    assert {key: data[key] for key in also} == also
    if name != "latency":
        assert guessed.file.protocol == written.file.protocol
    # Only what no port says is marked as not known.
    marked = [line.split(":")[0] for line in made.read_text().splitlines()[1:] if "# ?" in line]
    assert marked == (["protocol"] if name == "latency" else [])


STRUCTS = """package p;
  typedef struct packed { logic [7:0] x, w; logic spare; } lane_t;
  typedef struct packed { logic [1:0] mode; lane_t [1:0] lanes; logic [15:0] acc; } req_t;
  typedef struct packed { logic nv, nx; logic [15:0] sum; } resp_t;
endpackage
module structs(input clk, input p::req_t req_i, output p::resp_t resp_o, output of); endmodule
"""


def test_fields_of_structs_are_guessed_by_their_names(tmp_path: Path) -> None:
    (tmp_path / "m.sv").write_text(STRUCTS)
    unit = str(DESIGNS / "sdotp-unit.yaml")
    assert main(["dut-init", str(tmp_path / "m.sv"), "--unit", unit, "-o", str(tmp_path / "first.yaml")]) == 0
    data = yaml.safe_load((tmp_path / "first.yaml").read_text())
    ports = {"a": "req_i.lanes[{}].x", "b": "req_i.lanes[{}].w", "c": "req_i.acc", "result": "resp_o.sum"}
    assert data["ports"] == ports
    assert data["flags"] == {"invalid": "resp_o.nv", "overflow": "of", "inexact": "resp_o.nx"}
    assert data["constants"] == {"req_i.mode": 0, "req_i.lanes[0].spare": 0, "req_i.lanes[1].spare": 0}
    assert dut_design(load_dut(tmp_path / "first.yaml")).ports.extra_width == 3
    # Of a unit that rounds more than once they are not.
    assert main(["dut-init", str(tmp_path / "m.sv"), "--unit", "hopper-wgmma-e4m3-f16", "-o", str(tmp_path / "x")]) == 0
    assert "flags" not in yaml.safe_load((tmp_path / "x").read_text())


def test_floats_as_structs_are_whole_and_a_unit_is_found_from_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "m.sv").write_text("""package p;
  typedef struct packed { logic s; logic [4:0] e; logic [9:0] f; } half_t;
endpackage
module m(input clk, input struct packed { p::half_t a, b, c; } op_i, output p::half_t result_o); endmodule
""")
    (tmp_path / "unit.yaml").write_text((DESIGNS / "f16-fma.yaml").read_text())
    (tmp_path / "made").mkdir()
    monkeypatch.chdir(tmp_path)
    assert main(["dut-init", "m.sv", "--unit", "unit.yaml", "-o", "made/first.yaml"]) == 0
    guessed = load_dut(tmp_path / "made" / "first.yaml")
    assert dut_design(guessed).unit.name == "f16-fma"
    ports = yaml.safe_load((tmp_path / "made" / "first.yaml").read_text())["ports"]
    assert ports == {"a": "op_i.a", "b": "op_i.b", "c": "op_i.c", "result": "result_o"}


def test_a_scale_beside_a_result_makes_it_an_integer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = tmp_path / "first.yaml"
    unit = str(DESIGNS / "mx-pair-unit.yaml")
    assert main(["dut-init", str(DESIGNS / "mx_pair.v"), "--unit", unit, "-o", str(made)]) == 0
    assert yaml.safe_load(made.read_text())["ports"]["result"] == {"port": "dp", "scale": {"port": "scale", "bias": 0}}
    assert "ports.result.scale.bias" in capsys.readouterr().err


def test_what_no_name_explains_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "odd.v").write_text("module odd(input [7:0] p, input [7:0] mode, output [31:0] far); endmodule\n")
    assert main(["dut-init", str(tmp_path / "odd.v")]) == 0
    printed = capsys.readouterr()
    text = (tmp_path / "odd.yaml").read_text()
    data = yaml.safe_load(text)
    assert data["constants"] == {"p": 0, "mode": 0}
    assert data["ports"]["result"] == "far"
    assert "to be answered: unit, ports.a, ports.b, constants" in printed.err
    assert text.count("# ?") == 5  # the heading explains the mark


def test_a_register_that_is_cleared_is_guessed(tmp_path: Path) -> None:
    ports = "input clk, clr_n, en, input [7:0] a, b, output [31:0] sum"
    (tmp_path / "mac.v").write_text(f"module mac({ports}); endmodule\n")
    assert main(["dut-init", str(tmp_path / "mac.v"), "--unit", str(DESIGNS / "int8.yaml")]) == 0
    data = yaml.safe_load((tmp_path / "mac.yaml").read_text())
    clear = {"port": "clr_n", "active": "low", "when": "before"}
    assert data["protocol"] == {"kind": "accumulate", "cycles": 1, "clear": clear, "enable": "en"}
    assert data["ports"] == {"a": "a", "b": "b", "result": "sum"}
    assert dut_design(load_dut(tmp_path / "mac.yaml")).chains


@pytest.mark.parametrize(
    ("ports", "clock", "reset"),
    [
        ("clk_mac, core_clk_i, clk, clk_en, nrst", ["clk", "clk_mac", "core_clk_i"], "nrst"),
        ("aclk_i, arst_n", "aclk_i", "arst_n"),
        ("core_clk, resetn", "core_clk", "resetn"),
        ("clock, reset_b", "clock", "reset_b"),
    ],
)
def test_clocks_and_resets_are_guessed(tmp_path: Path, ports: str, clock: str | list[str], reset: str) -> None:
    (tmp_path / "m.v").write_text(f"module m(input {ports}, input [7:0] a, b, output [31:0] y); endmodule\n")
    assert main(["dut-init", str(tmp_path / "m.v"), "--unit", str(DESIGNS / "int8.yaml")]) == 0
    data = yaml.safe_load((tmp_path / "m.yaml").read_text())
    assert (data["clock"], data["reset"]) == (clock, {"port": reset, "active": "low"})


GENERATED = """module gen(input clock, input reset, output io_in_ready, input io_in_valid, input stall,
  input [7:0] io_in_bits_a_0, io_in_bits_a_1, input [7:0] B0_IN, B1_IN,
  input io_out_ready, output io_out_valid, output [31:0] io_out_bits); endmodule
"""
FIELDS = """package p; typedef struct packed { logic valid; logic [1:0][7:0] a, b; } req_t;
typedef struct packed { logic valid; logic [31:0] sum; } rsp_t; endpackage
module fields import p::*; (input clk_i, rst_ni, stall, input req_t req_i, output rsp_t rsp_o); endmodule
"""


def test_names_as_generators_and_structs_have_them_are_guessed(tmp_path: Path) -> None:
    for name, text in (("gen.v", GENERATED), ("fields.sv", FIELDS)):
        (tmp_path / name).write_text(text)
        assert main(["dut-init", str(tmp_path / name), "--unit", str(DESIGNS / "int8.yaml")]) == 0
    data = yaml.safe_load((tmp_path / "gen.yaml").read_text())
    assert data["ports"] == {"a": "io_in_bits_a_{}", "b": "B{}_IN", "result": "io_out_bits"}
    handshake = {"input_valid": "io_in_valid", "input_ready": "io_in_ready", "output_valid": "io_out_valid"}
    assert data["protocol"] == {"kind": "stream", **handshake, "output_ready": "io_out_ready"}
    data = yaml.safe_load((tmp_path / "fields.yaml").read_text())
    enable = {"port": "stall", "active": "low"}
    valids = {"input_valid": "req_i.valid", "output_valid": "rsp_o.valid"}
    assert data["protocol"] == {"kind": "latency", "cycles": 1, "enable": enable, **valids}
    assert "constants" not in data


def test_a_file_that_is_there_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "mine.yaml"
    target.write_text("mine\n")
    assert main(["dut-init", str(DESIGNS / "dot4_comb.v"), str(DESIGNS / "dot4_core.v"), "-o", str(target)]) == 2
    assert "is there already" in capsys.readouterr().err
    assert target.read_text() == "mine\n"


def test_sources_without_one_top_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "two.v").write_text("module one; endmodule\nmodule two; endmodule\n")
    assert main(["dut-init", str(tmp_path / "two.v")]) == 2
    assert "must have one top module, not one, two" in capsys.readouterr().err
