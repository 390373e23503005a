"""Where the sources of a user's design are: lists, libraries, FuseSoC, and the order that simulators get them in."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml
from cosim.dut_files import DESIGNS, variant

from hwsim.base.errors import InputError
from hwsim.base.processes import Spent, bounded
from hwsim.cli import main
from hwsim.cosim import elaborate
from hwsim.cosim.dutdesign import DutDesign, dut_design
from hwsim.cosim.dutfile import load_dut
from hwsim.cosim.elaborate import Packed, Range, read_module
from hwsim.cosim.sources import DesignSources
from hwsim.cosim.tools import find_icarus, find_verilator

# Four products, as `dot4_comb` has them: packages that name each other, an include, a define, a module of a library.
FILES = {
    "rtl/top.sv": """`include "ports.svh"
module top import types_pkg::*; (input four_t a, b, input logic [31:0] c, output logic [`WIDTH-1:0] d);
  dot4_core core (.a(a), .b(b), .c(c), .d(d));
endmodule
""",
    "rtl/types_pkg.sv": "package types_pkg; typedef logic [/* as */ sizes_pkg::BITS-1:0] four_t; endpackage\n",
    "rtl/sizes_pkg.sv": "package sizes_pkg; localparam int BITS = 32; endpackage\n",
    "rtl/inc/ports.svh": "`ifndef WIDTH\n`error_no_width\n`endif\n",
    "rtl/lib/dot4_core.v": (DESIGNS / "dot4_core.v").read_text(),
}
GIVEN = ["top.sv", "types_pkg.sv", "sizes_pkg.sv"]
ORDERED = ["sizes_pkg.sv", "types_pkg.sv", "top.sv", "dot4_core.v"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def design(project: Path, **keys: object) -> DutDesign:
    ports = {"a": "a", "b": "b", "c": "c", "result": "d"}
    return dut_design(load_dut(variant(project, "comb", top="top", ports=ports, **keys)))


def names(paths: Sequence[Path]) -> list[str]:
    return [path.name for path in paths]


def accepted(simulator: str, made: DutDesign, files: Sequence[Path]) -> bool:
    """Whether a simulator takes the sources in that order."""
    hdl = made.sources(simulator)
    program = [find_icarus(), "-g2012", "-t", "null", "-s", "top"]
    if simulator == "verilator":
        program = [find_verilator().program, "--lint-only", "-Wno-fatal", "--top-module", "top"]
    done = subprocess.run([*program, *hdl.arguments, *map(str, files)], capture_output=True, check=False)
    return done.returncode == 0


KEYS = {
    "keys": {
        "sources": [f"rtl/{name}" for name in GIVEN],
        "include": ["rtl/inc"],
        "defines": {"WIDTH": 32},
        "libraries": ["rtl/lib"],
    },
    "list": {"sources": None, "filelists": ["rtl.f"]},
    "list of its own base": {"sources": None, "filelists": [{"file": "rtl/own.f", "base": "rtl"}]},
    "list of slang's": {"sources": None, "filelists": ["slang.f"]},
    "core": {"sources": None, "core": "rtl/four.core", "defines": {"WIDTH": 32}},
    "resolved": {"sources": None, "core": "rtl/four.eda.yml"},
}
LISTS = {
    "rtl.f": "/* the sources\n of all */\n+incdir+rtl/inc +define+WIDTH=32 -y rtl/lib // behind\n-F rtl/nested.f\n",
    "rtl/nested.f": "# from here on\ntop.sv\n${FOLDER_OF_PACKAGES}/types_pkg.sv\nsizes_pkg.sv -Wno-WIDTH\n",
    "rtl/own.f": '-f "nested.f"\n-I inc\n-D WIDTH=32\n-v lib/dot4_core.v\n+timescale+1ns/1ps --timescale 1ns/1ns\n',
    "slang.f": "rtl/top.sv rtl/types_pkg.sv rtl/sizes_pkg.sv --include-directory=rtl/inc --define-macro WIDTH=32\n"
    "--libdir rtl/lib --libext .v,.sv --allow-use-before-declare\n",
    "rtl/four.core": yaml.safe_dump(
        {
            "CAPI=2": None,
            "name": "::four:0",
            "filesets": {
                "rtl": {
                    "files": [*GIVEN, "lib/dot4_core.v", {"inc/ports.svh": {"is_include_file": True}}],
                    "file_type": "systemVerilogSource",
                },
                "notes": {"files": ["notes.txt"], "file_type": "user"},
            },
            "targets": {"default": {"filesets": ["rtl"], "filesets_append": ["notes"]}},
        }
    ),
    "rtl/four.eda.yml": yaml.safe_dump(
        {
            "files": [
                *({"name": name, "file_type": "systemVerilogSource"} for name in (*GIVEN, "lib/dot4_core.v")),
                {"name": "inc/ports.svh", "file_type": "systemVerilogSource", "is_include_file": True},
            ],
            "parameters": {"WIDTH": {"datatype": "int", "default": 32, "paramtype": "vlogdefine"}},
            "toplevel": "top",
        }
    ),
}


@pytest.fixture
def lists(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLDER_OF_PACKAGES", ".")
    for name, text in LISTS.items():
        (project / name).write_text(text)


@pytest.mark.parametrize("form", KEYS)
def test_every_way_to_name_sources_names_the_same(project: Path, lists: None, form: str) -> None:
    made = design(project, **KEYS[form])
    assert sorted(names(made.module.ordered)) == sorted(ORDERED)
    assert names(made.module.ordered)[:3] == ORDERED[:3]
    assert made.sources("icarus").defines == ("WIDTH=32",)
    assert (project / "rtl/inc").resolve() in made.sources("icarus").include
    # What is included counts for a build too.
    assert (project / "rtl/inc/ports.svh").resolve() in made.sources("icarus").read


def test_simulators_take_the_order_and_not_the_one_given(project: Path, icarus: None, verilator: None) -> None:
    made = design(project, **KEYS["keys"])
    assert names(made.module.ordered) == ORDERED
    backwards = [*reversed(made.module.ordered)]
    for simulator in ("icarus", "verilator"):
        assert accepted(simulator, made, made.module.ordered)
        assert not accepted(simulator, made, backwards)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rtl/top.sv\nrtl/none.sv\n", r"wrong\.f:2: is no file: .*rtl/none\.sv"),
        ("\n\n-y rtl/none", r"wrong\.f:3: is no folder: .*rtl/none"),
        ("+incdir+rtl/inc+rtl/none", r"wrong\.f:1: is no folder"),
        ("--top-module top", r"wrong\.f:1: must be a file, -f, .*, not --top-module"),
        ("+librescan", r"wrong\.f:1: must be a file, .*, not \+librescan"),
        ("--timescale", r"wrong\.f:1: --timescale must be followed by a name"),
        ("/* \n */ -f", r"wrong\.f:2: -f must be followed by a name"),
        ("-f wrong.f", r"wrong\.f:1: -f must not name a list that names this one"),
        ("-D 3=4", r"wrong\.f:1: a define must be NAME or NAME=value, not 3=4"),
        ("$NOT_THERE/x.v", r"wrong\.f:1: \$NOT_THERE/x\.v names the variable NOT_THERE"),
        ("", r"dut\.yaml: sources, filelists and core name no source"),
    ],
)
def test_a_list_that_is_wrong_is_refused(project: Path, text: str, said: str) -> None:
    (project / "wrong.f").write_text(text)
    with pytest.raises(InputError, match=said):
        design(project, sources=None, filelists=["wrong.f"])


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"sources": None}, r"dut\.yaml:\d+: sources must name a file, unless filelists or core does"),
        ({"libraries": ["none"]}, r"dut\.yaml:\d+: libraries\.0 is neither file nor folder: .*none"),
        (
            {"slang": ["--top"]},
            r"dut\.yaml:\d+: slang\.0 must be --single-unit, .* or a -W option .*, not --top",
        ),
        (
            {"slang": ["-Wno-such-thing"]},
            r"dut\.yaml:\d+: slang\.0 must be .*, not -Wno-such-thing",
        ),
        ({"filelists": ["none.f"]}, r"dut\.yaml:\d+: filelists\.0 is no file: .*none\.f"),
        ({"filelists": [{"file": "rtl.f", "base": "none"}]}, r"filelists\.0\.base is no folder"),
        ({"core": {"file": "rtl/four.core", "target": "sim"}}, r"four\.core:\d+: targets are default, not sim"),
        ({"core": "needs.core"}, r"needs\.core:2: filesets\.rtl\.depend must be empty, not ::other:0: `fusesoc run"),
        ({"core": "asks.core"}, r"asks\.core:2: targets\.default\.filesets must name file sets \(rtl\), not tool_"),
        ({"core": "maybe.core"}, r"maybe\.core:1: filesets\.rtl\.files must name files, not tool_icarus\? \(a\.v\)"),
        ({"core": "vhdl.core"}, r"vhdl\.core:1: .* must be Verilog or SystemVerilog, not x\.vhd \(vhdlSource-2008\)"),
    ],
)
def test_keys_that_are_wrong_are_refused(project: Path, lists: None, keys: dict[str, object], said: str) -> None:
    (project / "needs.core").write_text("filesets: {rtl: {files: [rtl/top.sv],\n  depend: ['::other:0']}}\n")
    asks = "filesets: {rtl: {files: [rtl/top.sv]}}\ntargets: {default: {filesets: ['tool_icarus? (rtl)']}}\n"
    (project / "asks.core").write_text(asks)
    (project / "maybe.core").write_text("filesets: {rtl: {files: ['tool_icarus? (a.v)'], file_type: verilogSource}}\n")
    (project / "vhdl.core").write_text("filesets: {rtl: {files: [x.vhd: {file_type: vhdlSource-2008}]}}\n")
    with pytest.raises(InputError, match=said):
        design(project, **{"sources": ["rtl/top.sv"], **keys})


LATE = "module m(input [7:0] a, output [7:0] y);\n  assign y = late;\n  wire [7:0] late = a;\nendmodule\n"


def test_what_slang_alone_refuses_can_be_eased(tmp_path: Path) -> None:
    late, uses = tmp_path / "late.v", tmp_path / "uses.v"
    late.write_text(LATE)
    with pytest.raises(InputError, match=r"late\.v:2: .* before its declaration; .*\[--allow-use-before-declare\]"):
        read_module(DesignSources(files=(late,)), "m")
    assert read_module(DesignSources(files=(late,), easing=("--allow-use-before-declare",)), "m").name == "m"
    # A definition of another file holds where all are one unit, as in both simulators.
    (tmp_path / "first.v").write_text("`define BITS 5\n")
    uses.write_text("module n(input [`BITS-1:0] a); endmodule\n")
    both = (tmp_path / "first.v", uses)
    with pytest.raises(InputError, match=r"uses\.v:1: .*BITS.*; where simulators take it, .* \[--single-unit\]"):
        read_module(DesignSources(files=both), "n")
    assert read_module(DesignSources(files=both, easing=("--single-unit",)), "n").by_name["a"].width == 5


SCALED = {
    "top.v": "`timescale 1ns/1ps\nmodule top(input clk, input [7:0] a, b, output reg [31:0] y);\n  wire [31:0] p;\n"
    "  cell_mul u(.a(a), .b(b), .p(p));\n  always @(posedge clk) y <= p;\nendmodule\n",
    "cells/cell_mul.v": "module cell_mul(input signed [7:0] a, b, output signed [31:0] p);\n"
    "  assign p = late;\n  wire signed [31:0] late = a * b;\nendmodule\n",
}


def test_a_first_file_says_what_slang_was_told_and_scales_of_time_may_be_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cells").mkdir()
    for name, text in SCALED.items():
        (tmp_path / name).write_text(text)
    asked = ["dut-init", "top.v", "-y", "cells", "-o", "dut.yaml"]
    assert main(asked) == 2 and "before its declaration" in capsys.readouterr().err
    assert main([*asked, "--slang", "--allow-nothing"]) == 2
    assert main([*asked, "--slang", "--allow-use-before-declare"]) == 0
    data = yaml.safe_load((tmp_path / "dut.yaml").read_text())
    assert (data["libraries"], data["slang"]) == (["cells"], ["--allow-use-before-declare"])
    (tmp_path / "dut.yaml").write_text(yaml.safe_dump({**data, "unit": str(DESIGNS / "mac-int8.yaml")}))
    assert names(dut_design(load_dut(tmp_path / "dut.yaml")).module.ordered) == ["top.v", "cell_mul.v"]


def test_a_parameter_may_be_a_type(tmp_path: Path) -> None:
    source = tmp_path / "typed.sv"
    source.write_text("module typed #(parameter type T = logic, parameter int N = 2) (input T [N-1:0] a); endmodule\n")
    sources = DesignSources(files=(source,))
    assert read_module(sources, "typed").parameters == (("T", "logic"), ("N", "2"))
    assert read_module(sources, "typed", {"N": 3}).by_name["a"].shape == Packed(Range(2, 0))
    assert read_module(sources, "typed", {"T": "logic [4:0]", "N": 3}).by_name["a"].width == 15


INTERFACE = """interface bus(input clk);
  logic [7:0] data;
  logic valid;
  modport sink(input data, output valid);
endinterface
module m(input clk, bus.sink k); endmodule
"""


def test_an_interface_is_refused_with_what_a_wrapper_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.sv").write_text(INTERFACE)
    assert main(["dut-init", str(tmp_path / "m.sv")]) == 2
    said = "m: port k must be bits, not bus: write a module around m with its signals: input logic[7:0] data, output"
    assert said in capsys.readouterr().err


def test_a_first_file_names_lists_and_an_order(
    project: Path, lists: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    assert main(["dut-init", "-f", "rtl.f", "--top", "top", "-o", "listed.yaml"]) == 0
    assert yaml.safe_load((project / "listed.yaml").read_text())["filelists"] == ["rtl.f"]
    assert names(load_dut(project / "listed.yaml").sources.files) == GIVEN
    files = [f"rtl/{name}" for name in (*GIVEN, "lib/dot4_core.v")]
    assert main(["dut-init", *files, "-I", "rtl/inc", "-D", "WIDTH=32", "-o", "rtl/first.yaml"]) == 0
    data = yaml.safe_load((project / "rtl/first.yaml").read_text())
    assert data["sources"] == ["sizes_pkg.sv", "types_pkg.sv", "top.sv", "lib/dot4_core.v"]
    assert (data["include"], data["defines"]) == (["inc"], {"WIDTH": 32})
    # A list elsewhere has paths from the folder of the command, as simulators have them.
    assert main(["dut-init", "--filelist", "rtl.f", "-o", "rtl/far.yaml"]) == 0
    assert yaml.safe_load((project / "rtl/far.yaml").read_text())["filelists"] == [{"file": "../rtl.f", "base": ".."}]
    assert load_dut(project / "rtl/far.yaml").sources.files == load_dut(project / "listed.yaml").sources.files
    assert main(["dut-init"]) == 2
    assert "dut-init must have a source or --filelist" in capsys.readouterr().err


def test_sources_that_slang_comes_to_no_end_with_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elaborate, "MEMORY", 1 << 28)
    doubled = "".join(f"`define A{at} `A{at - 1}+`A{at - 1}\n" for at in range(1, 40))
    sources = {
        "bomb": f"`define A0 1+1\n{doubled}module m(output y); assign y = `A39; endmodule\n",
        "zero": '`include "/dev/zero"\nmodule m(output y); assign y = 0; endmodule\n',
    }
    for name, text in sources.items():
        (tmp_path / f"{name}.sv").write_text(text)
        with pytest.raises(InputError, match=rf"{name}\.sv: slang takes more than (256 MiB|60 s)"):
            read_module(DesignSources(files=(tmp_path / f"{name}.sv",)), "m")


def test_what_takes_too_long_or_waits_in_a_fork_is_ended() -> None:
    def forever() -> None:
        while True:
            pass

    with pytest.raises(Spent, match="more than 1 s of processor time"):
        bounded(forever, 1, 1 << 30)
    with pytest.raises(Spent, match="waiting for something"):
        bounded(lambda: time.sleep(60), 1, 1 << 30, idle=0.5)
    assert bounded(lambda: 7, 1, 1 << 30) == 7
    with pytest.raises(KeyError, match="as it is"):
        bounded(lambda: {}["as it is"], 1, 1 << 30)
