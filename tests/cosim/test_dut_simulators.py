"""Which designs a simulator cannot simulate, as far as slang sees it before."""

from __future__ import annotations

from pathlib import Path

import pytest

from hwsim.cosim.dutdesign import unfit
from hwsim.cosim.elaborate import read_module
from hwsim.cosim.sources import DesignSources

INNER = "module inner(input logic [7:0] w [2], output logic [7:0] v [2]);\n  assign v[0] = w[0];\nendmodule\n"
HEAD = "module m(input logic [7:0] a [2], output logic [7:0] y);\n"
UNKNOWN = "Icarus leaves all bits unknown of arrays that are outputs of modules inside and stand at variables (inner.v)"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("module m(input [7:0] a, output [7:0] y); assign y = a; endmodule", ""),
        (HEAD + "assign y = a[0]; endmodule", ""),
        ("module m(input bit [7:0] a [2], b [2], output y); endmodule", "no arrays of two-state words as ports (a, b)"),
        ("module m(input [7:0] a [1:1], output [7:0] y); endmodule", "Icarus takes no arrays of one word as ports (a)"),
        (INNER + HEAD + "wire [7:0] v [2]; inner i(.w(a), .v); endmodule", ""),
        (INNER + HEAD + "logic [7:0] v [2]; inner i(.w(a), .v); endmodule", UNKNOWN),
        (INNER + HEAD + "if (1) begin : g logic [7:0] v [2]; inner i(.w(a), .v(v)); end endmodule", UNKNOWN),
        # A module that nothing instantiates is none of the design's.
        (INNER + HEAD + "assign y = a[0]; endmodule", ""),
    ],
)
def test_arrays_as_ports_that_icarus_does_not_take_are_seen(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "m.sv").write_text(text + "\n")
    module = read_module(DesignSources(files=(tmp_path / "m.sv",)), "m")
    assert (said in unfit(module, "icarus")) if said else not unfit(module, "icarus")
    assert unfit(module, "verilator") == ""
