"""A bench in plain Verilog for a stream in and a stream out: it plays a trace and compares, without Python."""

from __future__ import annotations

from hwsim.cosim.bench import PortMap

BENCH = "hwsim_stream_bench"
MOST_CYCLES = 1 << 20  # that one run can hold
MEMORY = 25  # log2 of the bits that its payloads, or its results, can have

# A word of `cycles`: bit 0 the input is valid, 1 the output is ready, 2 reset; 3 the input is to be ready, 4 the output
# is to be valid; from 8 on: which payload.
TEMPLATE = """// Plays payloads into {top}, and holds every cycle against what is promised of it.
`timescale 1ns/1ps
module {bench};
  reg clk = 0;
  reg [31:0] word = 4;
  reg [31:0] cycles [0:{last}];
  reg [{input_high}:0] payloads [0:{last_row}];
  reg [{output_high}:0] results [0:{last_row}];
  integer count, rows, planned, cycle, index, wrong;
  wire input_ready, output_valid;
  wire [{output_high}:0] out;
  {top} dut (
    .{clock}(clk),
    .{reset}(word[2]),
    .{i.payload}(payloads[word[31:8]]),
    .{i.valid}(word[0]),
    .{i.ready}(input_ready),
    .{o.payload}(out),
    .{o.valid}(output_valid),
    .{o.ready}(word[1])
  );
  task differs(input [63:0] kind, input integer at, input [{output_high}:0] got, input [{output_high}:0] want);
    begin
      wrong = wrong + 1;
      if (wrong <= {most}) $display("%0s %0d %0d %h %h", kind, cycle, at, got, want);
    end
  endtask
  initial begin
    if (!$value$plusargs("cycles=%d", count)) $finish;
    if (!$value$plusargs("payloads=%d", rows)) $finish;
    if (!$value$plusargs("results=%d", planned)) $finish;
    $readmemh("cycles.hex", cycles, 0, count - 1);
    $readmemh("payloads.hex", payloads, 0, rows - 1);
    if (planned > 0) $readmemh("results.hex", results, 0, planned - 1);
    index = 0;
    wrong = 0;
    for (cycle = 0; cycle < count; cycle = cycle + 1) begin
      word = cycles[cycle];
      #4;
      if (!word[2]) begin
        if (word[0] && input_ready !== word[3]) differs("ready", 0, input_ready, word[3]);
        if (output_valid !== word[4]) differs("valid", 0, output_valid, word[4]);
        if (output_valid === 1'b1 && index < planned && out !== results[index])
          differs("result", index, out, results[index]);
        if (output_valid === 1'b1 && word[1]) index = index + 1;
      end
      clk = 1;
      #5 clk = 0;
      #1;
    end
    $display("end %0d %0d", index < planned ? index : planned, wrong);
    $finish;
  end
endmodule
"""


def most_rows(ports: PortMap) -> int:
    """Payloads, and results, that one run can hold: fewer where they are wider."""
    return 1 << min(20, MEMORY - (max(ports.input.width, ports.output.width) - 1).bit_length())


def stream_bench(ports: PortMap, most: int) -> str:
    """The bench's Verilog. most: mismatches that it prints."""
    return TEMPLATE.format(
        bench=BENCH,
        top=ports.top,
        clock=ports.clock,
        reset=ports.reset,
        i=ports.input,
        o=ports.output,
        last=MOST_CYCLES - 1,
        last_row=most_rows(ports) - 1,
        input_high=ports.input.width - 1,
        output_high=ports.output.width - 1,
        most=most,
    )
