"""The bench: a little Verilog around a device, so that one write and one or two reads play a cycle.

A testbench in Python costs what crosses between it and the simulator. Payloads are hundreds of bits wide, so they
wait in a memory of the bench, which the simulator fills from a file; what crosses is an index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from hwsim.cosim.ports import PortMap

TOP = "hwsim_bench"
PUBLIC = ("clk", "drive", "seen", "result")  # and `beside`, where something stands beside the results
WORD = 32  # bits of what says a result, at least
ROOM = 1 << 17  # payloads that one run can hold
DEPTH = ROOM - 1  # beats of a suite: one payload stands at the input where none of them does

T = TypeVar("T")

# What `drive` and `seen` hold, bit by bit, is in hwsim.tb.job too.
TEMPLATE = """// Plays payloads into {top}, one index a cycle.
module {bench} (
  input clk,
  // bit 0: the input is valid; 1: the output is ready; 2: reset; from 3 on: which payload
  input [31:0] drive,
  // bit 0: the input is ready; 1: the output is valid; 2: misuse; 3: an unknown bit in these; 4: in a valid result;
  // from 5 on: the context
  output [31:0] seen,
  output [{code_high}:0] result{beside_port}
);
  reg [{input_high}:0] payloads [0:{depth_high}];
  integer last;
  initial if ($value$plusargs("last=%d", last)) $readmemh("payloads.hex", payloads, 0, last);

  wire input_ready, output_valid, misuse;
  wire [{output_high}:0] out;
  {top} dut (
    .{clock}(clk),
    .{reset}(drive[2]),
    .{input_payload}(payloads[drive[{index_high}:3]]),
    .{input_valid}(drive[0]),
    .{input_ready}(input_ready),
    .{output_payload}(out),
    .{output_valid}(output_valid),
    .{output_ready}(drive[1]){misuse_port}
  );{no_misuse}
  wire lost = (^{{input_ready, output_valid, misuse}} === 1'bx);
  // A result that is not valid may be anything; an unknown bit anywhere else is a fault.
  wire unknown = !lost & output_valid & (^out === 1'bx);
  wire [{output_high}:0] known = (!lost & output_valid & !unknown) ? out : {output_width}'d0;
  wire [{context_high_}:0] owner = known[{context_high}:{context_low}];
  assign seen = lost ? 32'd8 : {{ {seen_padding}'d0, owner, unknown, 1'b0, misuse, output_valid, input_ready }};
  assign result = {{ {result_padding}known[{result_high}:{result_low}] }};{beside}
endmodule
"""


def bench(ports: PortMap) -> str:
    """The bench's Verilog."""
    i, o = ports.input, ports.output
    fields = {field.name: field for field in o.fields}
    result, context = fields["result"], fields["context"]
    low, high = o.width - ports.beside_width, o.width - 1
    return TEMPLATE.format(
        bench=TOP,
        top=ports.top,
        clock=ports.clock,
        reset=ports.reset,
        misuse_port=f",\n    .{ports.misuse}(misuse)" if ports.misuse else "",
        no_misuse="" if ports.misuse else "\n  assign misuse = 1'b0;",
        input_payload=i.payload,
        input_valid=i.valid,
        input_ready=i.ready,
        output_payload=o.payload,
        output_valid=o.valid,
        output_ready=o.ready,
        input_high=i.width - 1,
        output_high=o.width - 1,
        output_width=o.width,
        depth_high=ROOM - 1,
        index_high=2 + (ROOM - 1).bit_length(),
        result_high=result.offset + result.bits - 1,
        result_low=result.offset,
        code_high=max(WORD, result.bits) - 1,
        result_padding=f"{WORD - result.bits}'d0, " if result.bits < WORD else "",
        context_high=context.offset + context.bits - 1,
        context_low=context.offset,
        context_high_=context.bits - 1,
        seen_padding=27 - context.bits,
        beside_port=f",\n  output [{high - low}:0] beside" if ports.beside else "",
        beside=f"\n  assign beside = known[{high}:{low}];" if ports.beside else "",
    )


def public(ports: PortMap) -> tuple[str, ...]:
    """The bench's ports."""
    return (*PUBLIC, "beside") if ports.beside else PUBLIC


def fitting(items: Iterable[T], beats: Callable[[T], int], most: int, depth: int | None = None) -> Iterator[list[T]]:
    """Items in parts of at most `most`, and of at most `depth` beats, by default as many as a suite can have."""
    depth = DEPTH if depth is None else depth
    part: list[T] = []
    held = 0
    for item in items:
        if part and (len(part) == most or held + beats(item) > depth):
            yield part
            part, held = [], 0
        part.append(item)
        held += beats(item)
    if part:
        yield part
