// Sums of products on valid and ready that are active low: clear_n in a cycle before the first beat, done in the second
// cycle after the last one, and two clock enables.
//
// FAULT = 1: runs while a clock enable is low. 2: while the other one is. 3: valid falls under back-pressure.
// 4: clear_n does nothing. 5: takes a beat that it is not ready for.
module pulsed #(parameter FAULT = 0) (
  input             clk,
  input             rst_n,
  input       [1:0] run,
  input             clear_n,
  input             done,
  input             in_valid_n,
  output            in_ready_n,
  input       [7:0] a,
  input       [7:0] b,
  output reg [31:0] sum,
  output            out_valid_n,
  input             out_ready_n
);
  reg signed [31:0] total, product;
  reg               full, got, stalled;
  wire              runs = (run[0] || FAULT == 1) && (run[1] || FAULT == 2);
  assign in_ready_n  = full;
  assign out_valid_n = !full || FAULT == 3 && stalled;
  always @(posedge clk)
    if (!rst_n) begin
      full    <= 1'b0;
      got     <= 1'b0;
      stalled <= 1'b0;
    end else if (runs) begin
      stalled <= full && out_ready_n;
      got     <= !in_valid_n && (!in_ready_n || FAULT == 5);
      product <= $signed(a) * $signed(b);
      if (!clear_n && FAULT != 4) total <= 0;
      else if (got) total <= total + product;
      if (done) sum <= total;
      full <= done || full && out_ready_n;
    end
endmodule
