// Sums of products of INT8, four in a beat, and an addend that comes with the first beat; a result after the last.
// FAULT 1: the addend counts in every beat.
module int8mac #(parameter int FAULT = 0) (
  input  logic               clk, rst,
  input  logic               in_valid, in_first, in_last,
  output logic               in_ready,
  input  logic [31:0]        in_a, in_b,  // a code a byte, lane 0 in the low bits
  input  logic signed [31:0] in_c,
  output logic               out_valid,
  input  logic               out_ready,
  output logic signed [31:0] out_result
);
  wire signed [7:0] a0 = in_a[7:0], a1 = in_a[15:8], a2 = in_a[23:16], a3 = in_a[31:24];
  wire signed [7:0] b0 = in_b[7:0], b1 = in_b[15:8], b2 = in_b[23:16], b3 = in_b[31:24];
  wire signed [31:0] products = a0 * b0 + a1 * b1 + a2 * b2 + a3 * b3;
  wire signed [31:0] addend = (in_first || FAULT == 1) ? in_c : 32'sd0;
  logic signed [31:0] sum;
  wire signed [31:0] next = products + addend + (in_first ? 32'sd0 : sum);

  assign in_ready = !out_valid || out_ready;
  always_ff @(posedge clk)
    if (rst) out_valid <= 0;
    else if (in_ready) begin
      out_valid <= in_valid && in_last;
      if (in_valid) begin
        sum <= next;
        out_result <= next;
      end
    end
endmodule
