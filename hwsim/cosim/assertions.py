"""SystemVerilog assertions for the ports of a stream device, bound to it."""

from __future__ import annotations

from pathlib import Path

from hwsim.cosim.ports import PortMap

CHECKS = Path(__file__).with_name("hwsim_stream_checks.sv")

BIND = """
bind {top} hwsim_stream_checks #(.INPUT_WIDTH({input_width}), .OUTPUT_WIDTH({output_width}), .LAST({last})) checks (
  .clk({clock}), .rst({reset}),
  .i_payload({i.payload}), .i_valid({i.valid}), .i_ready({i.ready}),
  .o_payload({o.payload}), .o_valid({o.valid}), .o_ready({o.ready}));
"""


def checks(ports: PortMap) -> str:
    """The checker and its binding to a device with these ports, as SystemVerilog."""
    last = next((field.offset for field in ports.input.fields if field.name == "last"), -1)
    return CHECKS.read_text(encoding="utf-8") + BIND.format(
        top=ports.top,
        input_width=ports.input.width,
        output_width=ports.output.width,
        last=last,
        clock=ports.clock,
        reset=ports.reset,
        i=ports.input,
        o=ports.output,
    )
