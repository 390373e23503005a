"""Our own Verilog as a user's design: in a module around it that opens and closes a sum with every beat."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from hwsim.prove.readback import fields_of_header
from hwsim.rtl import verilog
from hwsim.rtl.numbers import WindowRanges
from hwsim.spec import load_unit, pipeline

MODULE = """module wrapped (
  input clk, input rst, input valid, output done, {inputs}, output [31:0] y
);
  wire [{out}:0] o;
  {top} unit (
    .clk(clk), .rst(rst), .i__valid(valid), .i__ready(), .o__valid(done), .o__ready(1'b1), .misuse(),
    .i__payload({{{context}'d0, 2'b11, {names}}}), .o__payload(o)
  );
  assign y = o[31:0];
endmodule
"""


def wrapped(name: str, folder: Path, mistake: tuple[str, str] | None = None) -> Path:
    """The file of a design that is a unit's Verilog, of a binary32 addend. mistake: text in it, and what stands there
    instead.
    """
    unit = load_unit(name)
    built = pipeline(unit, None, None)
    text = verilog(unit, built)
    fields, ports = fields_of_header(text), dict(re.findall(r"\[(\d+):0\] ([io]__payload);", text)[::-1])
    widths = {port: int(high) for high, port in ports.items()}
    top = re.search(r"^module (\w+)", text, re.MULTILINE)
    assert top is not None
    operands = [name.removeprefix("i.") for name in fields if name.startswith("i.")][:-3]  # first, last and context
    bits = {name: sum(size for _, size in fields[f"i.{name}"]) for name in operands}
    outside = {"out": widths["o__payload"], "top": top[1], "context": fields["i.context"][0][1]}
    inputs = ", ".join(f"input [{size - 1}:0] {name}" for name, size in bits.items())
    module = MODULE.format(inputs=inputs, names=", ".join(reversed(operands)), **outside)
    if mistake is not None:
        assert mistake[0] in text
        text = text.replace(*mistake)
    (folder / "unit.v").write_text(text)
    (folder / "wrapped.v").write_text(module)
    lanes, inside = unit.instruction.lanes, "unit.datapath_"
    # A term's significand has no wire of its own: it is the high end of the term's.
    of_lane = f"{inside}multiply_lane{{}}_term"
    term, exp = (
        int(re.search(rf"wire \[(\d+):0\] \\?datapath_multiply_lane0_term{part};", text)[1])  # type: ignore[index]
        for part in ("", r"\.exp ")
    )
    terms = {"sign": f"{of_lane}.sign", "exp": f"{of_lane}.exp", "sig": f"{of_lane}[{term}:{exp + 2}]"}
    signs = [terms["sign"].format(lane) for lane in range(lanes)]
    kept = WindowRanges(unit).addend_fraction_bits
    sign_of_c = f"{inside}decode_addend_code[31]"
    data = {
        "unit": name,
        "sources": ["unit.v", "wrapped.v"],
        "top": "wrapped",
        "clock": "clk",
        "reset": "rst",
        "protocol": {"kind": "latency", "cycles": built.latency, "input_valid": "valid", "output_valid": "done"},
        "ports": {**{name: name for name in operands}, "result": "y"},
        "steps": {
            "multiply": {
                "terms": terms,
                "addend": {
                    "sign": sign_of_c,
                    "exp": f"{inside}decode_addend_exp",
                    "sig": f"{inside}decode_addend_o[32:{32 - kept}]",
                },
                "special": {flag: f"{inside}multiply_o__special__{flag}" for flag in ("nan", "positive", "negative")},
            },
            "maximum": {"max_exp": f"{inside}align_i__max_exp"},
            "align": {"aligned": {"ones": f"{inside}align_o__aligned__{{}}__ones", "carry": [*signs, sign_of_c]}},
            "sum": {"total": f"{inside}o__total"},
        },
    }  # fmt: skip
    path = folder / "dut.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False, width=1000))
    return path
