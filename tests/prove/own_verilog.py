"""Our own Verilog as a user's design: in a module around it that opens and closes a sum with every beat."""

from __future__ import annotations

from pathlib import Path

import yaml

from hwsim.rtl import beat_layout, fields_of, top_name, verilog
from hwsim.spec import load_unit, pipeline

MODULE = """module wrapped (
  input clk, input rst, input valid, output done, {inputs}, output [31:0] y
);
  {top} unit (
    .clk(clk), .rst(rst), .in_valid(valid), .in_ready(), .out_valid(done), .out_ready(1'b1), .misuse(),
    .in_first(1'b1), .in_last(1'b1), .in_context({context}'d0), {pins}, .out_result(y), .out_context()
  );
endmodule
"""


def wrapped(name: str, folder: Path, mistake: tuple[str, str] | None = None) -> Path:
    """The file of a design that is a unit's Verilog, of a binary32 addend. mistake: text in it, and what stands there
    instead.
    """
    unit = load_unit(name)
    built = pipeline(unit, None, None)
    text = verilog(unit, built)
    bits = {field.name: field.bits * (field.elements or 1) for field in fields_of(beat_layout(unit, built))}
    operands = [name for name in bits if name not in ("first", "last", "context")]
    module = MODULE.format(
        top=top_name(unit),
        inputs=", ".join(f"input [{bits[name] - 1}:0] {name}" for name in operands),
        pins=", ".join(f".in_{name}({name})" for name in operands),
        context=bits["context"],
    )
    if mistake is not None:
        assert mistake[0] in text
        text = text.replace(*mistake)
    (folder / "unit.sv").write_text(text)
    (folder / "wrapped.v").write_text(module)
    data = {
        "unit": name,
        "sources": ["unit.sv", "wrapped.v"],
        "top": "wrapped",
        "clock": "clk",
        "reset": "rst",
        "protocol": {"kind": "latency", "cycles": built.latency, "input_valid": "valid", "output_valid": "done"},
        "ports": {**{name: name for name in operands}, "result": "y"},
    }
    path = folder / "dut.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False, width=1000))
    return path
