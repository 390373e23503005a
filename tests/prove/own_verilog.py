"""Our own Verilog as a user's design: in a module around it that opens and closes a sum with every beat."""

from __future__ import annotations

import re
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
    inside, lanes = "unit.u_datapath.", unit.instruction.lanes
    datapath = text[text.index(f"module {top_name(unit)}_datapath (") :].partition("endmodule")[0]
    widths = {net: int(high) + 1 for high, net in re.findall(r"logic \[\d+:0\]\[(\d+):0\] (\w+);", datapath)}

    def elements(net: str) -> list[str]:
        size = widths[net]
        return [f"{inside}{net}[{at * size + size - 1}:{at * size}]" for at in range(lanes)]

    signs = [f"{inside}multiply_terms_sign[{at}]" for at in range(lanes)]
    sign_of_c = f"{inside}decode_addend_sign"
    addend = {part: f"{inside}decode_addend_{part}" for part in ("sign", "exp", "sig")}
    flags = {flag: f"decode_special_{flag}" for flag in ("nan", "positive", "negative")}
    flags |= {flag: f"multiply_special_{flag}" for flag in flags if f"multiply_special_{flag};" in datapath}
    ones = [*elements("align_aligned_ones"), f"{inside}align_aligned_{lanes}_ones"]
    data = {
        "unit": name,
        "sources": ["unit.sv", "wrapped.v"],
        "top": "wrapped",
        "clock": "clk",
        "reset": "rst",
        "protocol": {"kind": "latency", "cycles": built.latency, "input_valid": "valid", "output_valid": "done"},
        "ports": {**{name: name for name in operands}, "result": "y"},
        "steps": {
            "multiply": {
                "terms": {"sign": signs, "exp": elements("multiply_terms_exp"), "sig": elements("multiply_terms_sig")},
                "addend": addend,
                "special": {flag: f"{inside}{net}" for flag, net in flags.items()},
            },
            "maximum": {"max_exp": f"{inside}maximum_max_exp"},
            "align": {"aligned": {"ones": ones, "carry": [*signs, sign_of_c]}},
            "sum": {"total": f"{inside}sum_total"},
        },
    }  # fmt: skip
    path = folder / "dut.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False, width=1000))
    return path
