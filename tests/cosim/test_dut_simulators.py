"""Which designs a simulator cannot simulate, as far as slang sees it before."""

from __future__ import annotations

from pathlib import Path

import pytest

from hwsim.cosim.designsources import DesignSources
from hwsim.cosim.dutdesign import unfit
from hwsim.cosim.elaborate import read_module

INNER = "module inner(input logic [7:0] w [2], output logic [7:0] y); assign y = w[0] + w[1]; endmodule\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("module m(input [7:0] a, output [7:0] y); assign y = a; endmodule", ""),
        ("module m(input [7:0] a [2], output [7:0] y); assign y = a[0]; endmodule", "a"),
        (INNER + "module m(input [7:0] a, output [7:0] y); logic [7:0] w [2]; inner i(.w, .y); endmodule", "inner.w"),
        (
            INNER
            + "module m(input [7:0] a, output [7:0] y); if (1) begin : g for (genvar k = 0; k < 2; k++) begin : h\n"
            "logic [7:0] w [2]; logic [7:0] z; inner i [0:0] (.w(w), .y(z)); end end endmodule",
            "inner.w",
        ),
        # A module that nothing instantiates is none of the design's.
        (INNER + "module m(input [7:0] a, output [7:0] y); assign y = a; endmodule", ""),
    ],
)
def test_arrays_as_ports_are_seen_wherever_they_are(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "m.sv").write_text(text + "\n")
    module = read_module(DesignSources(files=(tmp_path / "m.sv",)), "m")
    assert unfit(module, "icarus") == (f"Icarus takes no arrays as ports ({said})" if said else "")
    assert unfit(module, "verilator") == ""
